"""Terms of two features in the released model: its file, what it refuses, tables and SQL."""

import dataclasses

import numpy as np
import pytest

from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.released.lookup import lookup_tables
from interpret_dp.released.sql import DIALECTS, scoring_sql
from tests.released.models import build_model


def with_pair(**changes):
    base = build_model(2)
    age, job = base.features
    features = (AdditiveFeature("age", age.spec, age.cuts, np.array([20.0])), job)
    pair = AdditiveTerm(0, np.linspace(-1, 2, 16), np.arange(16.0), np.eye(16) / 9, partner=1)
    pair = dataclasses.replace(pair, **changes)
    return dataclasses.replace(base, features=features, terms=(*base.terms, pair))


def test_files_with_pairs_have_a_version_that_older_readers_refuse():
    model = with_pair()
    document = model.to_dict()
    assert document["version"] == 2
    assert build_model(2).to_dict()["version"] == 1
    again = AdditiveModel.from_dict(document)
    assert again.digest == model.digest
    assert again.terms[2].partner == 1
    assert again.features[0].pair_cuts.tolist() == [20.0]
    assert "partner" not in document["terms"][0]
    assert "pair_cuts" not in document["features"][1]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"partner": 0}, "one is given twice"),
        ({"partner": 2}, "feature 2 is not one"),
        ({"partner": -1}, "feature -1 is not one"),
        ({"scores": np.zeros(15), "weights": np.zeros(15), "covariance": None}, "has 15 scores"),
        ({"weights": -np.ones(16)}, "must not be negative"),
    ],
)
def test_pairs_that_do_not_fit_are_refused(changes, text):
    with pytest.raises(ValueError, match=text):
        with_pair(**changes)


def test_terms_need_names_of_their_own():
    model = with_pair()
    with pytest.raises(ValueError, match="each needs its own name"):
        dataclasses.replace(model, terms=(*model.terms, model.terms[2]))


@pytest.mark.parametrize(
    ("feature", "cuts", "text"),
    [(0, [20.0, 20.0], "must increase"), (0, [np.nan], "not finite"), (1, [1.0], "cannot have")],
)
def test_cuts_of_pairs_are_checked(feature, cuts, text):
    found = build_model(2).features[feature]
    with pytest.raises(ValueError, match=text):
        AdditiveFeature(found.name, found.spec, found.cuts, cuts)


def test_tables_have_one_row_a_cell():
    table = lookup_tables(with_pair())["age & job"]
    # A continuous feature has no unseen bin.
    assert len(table) == 3 * 4
    assert table["bin_first"].tolist()[4] == "[-inf, 20)"
    assert table["level_second"].tolist()[4:8] == [None, "cook", "it's", None]
    assert table["kind_second"].tolist()[:4] == ["missing", "bin", "bin", "unseen"]
    assert table["score"].tolist() == np.linspace(-1, 2, 16)[:12].tolist()
    assert np.allclose(table["standard_deviation"], 1 / 3)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_writes_pairs(dialect):
    text = scoring_sql(with_pair(), dialect)
    # Once for the first feature, and once a bin of it for the second; and one for each curve.
    assert text.count("CASE") >= 2 + 1 + 3
