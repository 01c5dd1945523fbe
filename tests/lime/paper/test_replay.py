"""Every method of the explainer on neighbouring explanation data, with the noise frozen."""

import numpy as np
import pandas as pd
import pytest

from interpret_dp.audit import replay
from interpret_dp.audit.neighbours import explanation_parts
from interpret_dp.lime.black_box import BlackBox
from tests.lime.paper.explanation_sets import RELATIONS
from tests.lime.paper.test_explainer import explainer
from tests.lime.tables import Risk, Three, table

METHODS = ["interactive", "adaptive", "enhanced"]
QUERIES = pd.concat([table(3, seed=8), pd.DataFrame({"age": np.nan, "site": [None], "noise": 9.0})])
ODD = pd.DataFrame({"age": [1e300, -np.inf], "site": ["never seen", "c"], "noise": [np.nan, 1.0]})


class Touchy(Risk):
    """Fails on some rows, and says nothing of others."""

    def predict_proba(self, X):
        if (X["age"] > 1e200).any():
            raise ValueError("too old")
        found = super().predict_proba(X)
        found[np.isinf(X["age"].to_numpy())] = np.nan
        return found


def published(explanations):
    return {
        f"{at}": (explanation_parts(one), one.privacy.per_row.to_dict("list"))
        for at, one in enumerate(explanations)
    }


def replayed(method, relation, first, second, **given):
    model = given.pop("model", Touchy())
    asked = {"epsilon": 2.0, "per_query": 0.5, "method": method, "neighboring": relation}

    def explain(data):
        own = explainer(model, data, steps=24, **asked, **given)
        queries = QUERIES.iloc[:3] if isinstance(model, Touchy) else QUERIES
        return [own.explain_local(queries), own.explain_local(queries.iloc[::-1])]

    return replay(explain, first, second, published=published)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("odd", [0, 1])
def test_neighbours_differ_only_in_what_was_charged(method, relation, odd):
    rows = table(60)
    with_odd = pd.concat([rows.iloc[:20], ODD.iloc[[odd]], rows.iloc[20:]])
    other = (
        rows
        if relation == "add_or_remove_one"
        else pd.concat([rows.iloc[:20], table(1, seed=77), rows.iloc[20:]])
    )
    report = replayed(method, relation, with_odd, other)
    assert report.ok, report
    assert report.mu > 0


ROWS = table(60)


@pytest.mark.parametrize("method", METHODS)
def test_several_classes(method):
    report = replayed(method, "add_or_remove_one", ROWS, ROWS.iloc[1:], model=Three())
    assert report.ok, report


def test_labels_that_depend_on_the_other_rows_are_found(monkeypatch):
    """The control: a model that breaks the listed assumption must fail the replay."""
    labels = BlackBox.labels

    def turned(box, X, n_rows, n_outputs):
        return labels(box, X, n_rows, n_outputs) * np.int16((-1) ** n_rows)

    monkeypatch.setattr(BlackBox, "labels", turned)
    rows = table(60)
    report = replayed("interactive", "add_or_remove_one", rows, rows.iloc[1:], model=Risk())
    assert any(violation.kind == "sensitivity" for violation in report.violations)
