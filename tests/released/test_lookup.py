"""Lookup tables: they hold the whole model, and a prediction can be made from them alone."""

import numpy as np
import pandas as pd
import pytest

from interpret_dp.released.additive_model import intercept_key, lookup_tables
from tests.released.models import build_model, odd_rows, score_rows


def looked_up(tables, rows, suffix):
    """Score rows by hand, from the tables alone."""
    total = np.full(len(rows), float(tables["intercept"]["score"].iloc[int(suffix[1:] or 0)]))
    for name, table in tables.items():
        if name == "intercept":
            continue
        by_kind = dict(iter(table.groupby("kind", sort=False)))
        bins = by_kind["bin"]
        for row, cell in enumerate(rows[name]):
            if pd.isna(cell):
                found = by_kind["missing"]
            elif bins["level"].notna().any():
                found = bins[[type(cell) is type(v) and cell == v for v in bins["level"]]]
                found = found if len(found) else by_kind["unseen"]
            else:
                found = bins[(bins["lower"] <= cell) & (cell < bins["upper"])]
                found = found if len(found) else bins.tail(1)
            assert len(found) == 1
            total[row] += found[f"score{suffix}"].iloc[0]
    return total


@pytest.mark.parametrize("n_scores", [1, 3])
def test_tables_alone_give_the_scores(n_scores):
    model = build_model(n_classes=n_scores if n_scores > 1 else 2)
    rows = odd_rows()
    tables = lookup_tables(model)
    expected = score_rows(model, rows)
    for k in range(n_scores):
        suffix = f"_{k}" if n_scores > 1 else ""
        np.testing.assert_allclose(looked_up(tables, rows, suffix), expected[:, k], rtol=1e-12)


LINKS = [(0, "identity", [None]), (2, "logit", ["b"]), (3, "mlogit", ["a", "b", "c"])]


@pytest.mark.parametrize(("n_classes", "link", "classes"), LINKS)
def test_intercept_says_what_it_speaks_for(n_classes, link, classes):
    table = lookup_tables(build_model(n_classes=n_classes))["intercept"]
    assert set(table["link"]) == {link}
    assert table["class"].tolist() == classes


def test_a_feature_called_intercept_keeps_its_name():
    model = build_model(n_classes=2, names=("intercept", "job"))
    assert intercept_key(model) == "(intercept)"
    assert list(lookup_tables(model)) == ["intercept", "job", "(intercept)"]
