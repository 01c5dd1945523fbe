"""Sample weights and starting scores: what they do, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import interpret_dp as dp
from interpret_dp.fitting import declaring
from interpret_dp.released import AdditiveModel, summarise
from interpret_dp.released.sql import scoring_sql
from tests.ebm.tasks import TARGETS, model_of, table


@pytest.mark.parametrize(
    ("task", "make"), [("binary", list), ("multiclass", pl.Series), ("regression", pd.Series)]
)
def test_weights_are_in_their_own_units(task, make):
    """All weights 3 of at most 4: the same model, and weights in every published count."""
    X, y = table(task)
    plain = model_of(task).fit(X, y)
    weighted = model_of(task, privacy_weight_max=4).fit(X, y, sample_weight=make([3.0] * len(X)))
    assert weighted.bag_weights_[0] == pytest.approx(3 * len(X), rel=0.05)
    for own, others in zip(weighted.bin_weights_, plain.bin_weights_, strict=True):
        assert own.sum() == pytest.approx(3 * others.sum(), rel=0.05)
    assert weighted.noise_scale_binning_ == pytest.approx(4 * plain.noise_scale_binning_, rel=1e-9)
    middle = [np.median(m.predict(X)) if task == "regression" else 0.0 for m in (plain, weighted)]
    assert middle[0] == pytest.approx(middle[1], abs=0.2)


def test_odd_weights_are_clipped_and_never_raise():
    X, y = table("binary", 400)
    weights = np.ones(400, dtype=object)
    weights[:6] = [np.nan, np.inf, -np.inf, -3, 1e300, 0]
    model = model_of("binary", privacy_weight_max=1.0).fit(X, y, sample_weight=weights)
    # NaN, minus infinity, a negative weight and 0 count nothing; the other two are clipped to 1.
    assert model.bag_weights_[0] == pytest.approx(396, abs=15)
    assert "largest sample weight is public" in " ".join(model.guarantee_.assumptions)


def test_an_undeclared_maximum_is_estimated_and_paid_for(monkeypatch):
    monkeypatch.setattr(declaring, "_said", set())
    X, y = table("binary")
    weights = np.random.default_rng(0).uniform(20, 37, len(X))
    with pytest.warns(dp.UndeclaredWarning, match="sample_weight.*privacy_weight_max="):
        model = model_of("binary").fit(X, y, sample_weight=weights)
    names = [share.name for share in model.guarantee_.releases]
    assert "largest weight" in names
    # 37 lies in the quarter octave from 32 to 40.
    assert model.bag_weights_[0] == pytest.approx(weights.sum(), rel=0.02)
    assert model.noise_scale_binning_ == pytest.approx(
        40 * model_of("binary", bin_budget_frac=0.1).fit(X, y).noise_scale_binning_, rel=0.05
    )
    assert "bounds and levels that were not declared" in " ".join(model.guarantee_.assumptions)


@pytest.mark.parametrize("task", TARGETS)
def test_scores_to_start_from_are_learned_around(task):
    """A first model knows one feature; the second learns the other on top of it."""
    X, y = table(task)
    first = model_of(task, exclude=["g"]).fit(X, y)
    second = model_of(task, exclude=["x"]).fit(X, y, init_score=first)
    both = model_of(task).fit(X, y)
    alone = model_of(task, exclude=["x"]).fit(X, y)
    together = loss(task, second, X, y, init_score=first)
    assert together < loss(task, first, X, y) - 0.05
    assert together < loss(task, alone, X, y) - 0.05
    assert together < loss(task, both, X, y) + 0.1
    assert any("init_score" in clause for clause in second.guarantee_.conditions)
    for model, needs in ((first, False), (second, True)):
        read = AdditiveModel.from_dict(model.released_.to_dict())
        assert read.needs_init_score is ("needs_init_score" in read.to_dict()) is needs
        assert ("to be added to each row's init_score" in summarise(read).title) is needs
        assert scoring_sql(read).startswith("/* Not the whole prediction") is needs
        assert (" of their mean" in str(summarise(read))) is (task == "regression" and not needs)


def loss(task, model, X, y, **keywords):
    if task == "regression":
        return float(np.sqrt(np.mean((model.predict(X, **keywords) - y) ** 2)))
    probabilities = model.predict_proba(X, **keywords)
    own = probabilities[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.mean(np.log(np.maximum(own, 1e-12))))


def test_numbers_and_the_model_that_made_them_are_the_same():
    X, y = table("binary")
    columns = pd.DataFrame({"x": X["x"], "g": (X["g"] == "b").astype(float)})
    schema = dp.Schema(
        {"x": dp.Continuous(0, 1), "g": dp.Continuous(0, 1)}, target=TARGETS["binary"]
    )
    first = LogisticRegression().fit(columns, y)
    scores = first.decision_function(columns)
    found = [
        model_of("binary", schema=schema).fit(columns, y, init_score=start).intercept_
        for start in (first, scores, scores.reshape(-1, 1))
    ]
    assert np.ptp(np.ravel(found)) < 0.3
    # The first model is right on average, so that hardly anything is left to add.
    assert np.abs(found).max() < 0.5
    numbers = np.where(y == "yes", 7.0, 2.0)
    schema = dp.Schema(schema.features, target=dp.Continuous(0, 10))
    line = LinearRegression().fit(columns, numbers)
    left = model_of("regression", schema=schema).fit(columns, numbers, init_score=line)
    assert np.abs(left.intercept_) < 0.2


class Sensitive:
    """A model that fails, or warns, because of a row, and quotes it."""

    classes_ = ("no", "yes")

    def __init__(self, how):
        self.how = how

    def predict_proba(self, X):
        if self.how == "fails":
            raise ValueError(f"unknown value {X['x'].max()}")
        warnings.warn(f"odd value {X['x'].max()}", stacklevel=2)
        return np.full((len(X), 2), 0.5)


def test_odd_scores_of_numbers_count_as_none():
    X, y = table("regression", 300)
    scores = np.zeros(300, dtype=object)
    scores[:6] = [np.nan, np.inf, -np.inf, 1e308, "many", None]
    assert np.isfinite(model_of("regression").fit(X, y, init_score=scores).intercept_)


def test_what_a_model_says_of_a_row_is_withheld():
    X, y = table("binary", 50)
    with pytest.raises(dp.ReleaseError, match="Its own message is withheld") as caught:
        model_of("binary").fit(X, y, init_score=Sensitive("fails"))
    assert caught.value.__context__ is None
    with warnings.catch_warnings(record=True, action="always") as seen:
        model_of("binary").fit(X, y, init_score=Sensitive("warns"))
    assert seen == []
