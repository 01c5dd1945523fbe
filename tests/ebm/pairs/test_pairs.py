"""Pairs of features: what a user asks for, what is released for it, and what comes of it.

What is refused: tests/contract/explainers/test_charging.py.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score

import interpret_dp as dp
from interpret_dp.accounting import mu_of_budget
from interpret_dp.ebm.config import MOST_LEVELS, BoostingSettings
from interpret_dp.ebm.interactions import NO_PAIRS, pair_task
from interpret_dp.ebm.pairs import _coarse_bins
from interpret_dp.ebm.trainer.binning import Bins
from tests.ebm.pairs.pair_problems import COSTS, FEATURES, LABELS, interaction, problem
from tests.ebm.tasks import machine

NAMED = [("age", "bmi"), (3, "dose")]


@pytest.fixture(scope="module")
def data():
    return problem(12_000)


@pytest.fixture(scope="module", params=[LABELS, COSTS])
def model(request, data):
    model = machine(request.param, epsilon=2.0, delta=1e-6, interactions=NAMED)
    return model.fit(data.X, target_of(model, data))


def target_of(model, data):
    return data.costs if model.schema is COSTS else data.labels


# --------------------------------------------------------------------- what may be asked for


def _asked(interactions, n_features=5, excluded=frozenset(), specs=None, undeclared=()):
    specs = list(FEATURES.values())[:n_features] if specs is None else specs
    names = list(FEATURES)[:n_features]
    known = {"undeclared": undeclared, "excluded": excluded}
    return pair_task(interactions, names, tuple(range(n_features)), specs, **known)


@pytest.mark.parametrize("nothing", [None, 0, 0.0, [], (), "0x"])
def test_no_interactions_are_no_pairs(nothing):
    assert _asked(nothing) == NO_PAIRS


def test_pairs_are_named_by_name_and_index_in_interprets_order():
    named = [("dose", 0), (-4, "age"), ["bmi", "age"], np.array([2, 3])]
    # Twice the same pair counts once, as it was written first.
    assert _asked(named).named == ((1, 0), (2, 0), (2, 3))
    assert _asked([(3.0, 1)]).named == ((3, 1),)


@pytest.mark.parametrize(("asked", "n_chosen"), [(2, 2), (0.5, 3), ("1.2x", 6), (np.int64(4), 4)])
def test_numbers_ask_for_a_private_choice(asked, n_chosen):
    task = _asked(asked)
    assert (task.named, task.n_chosen, task.eligible) == ((), n_chosen, (0, 1, 2, 3, 4))


def test_as_many_as_there_are_need_no_choice():
    every = _asked("9x", n_features=3)
    assert (every.named, every.n_chosen) == (((0, 1), (0, 2), (1, 2)), 0)
    but_one = _asked(9, n_features=3, excluded=frozenset({(0, 2)}))
    assert but_one.named == ((0, 1), (1, 2))


def test_features_that_cannot_be_in_a_pair():
    wide = [*list(FEATURES.values())[:4], dp.Categorical([f"l{i}" for i in range(MOST_LEVELS + 1)])]
    with pytest.raises(dp.SchemaError, match="has 65 levels, and at most 64"):
        _asked([("age", "grade")], specs=wide)
    with pytest.raises(dp.SchemaError, match="levels that are not declared"):
        _asked([("age", "site")], undeclared=("site",))
    # Undeclared bounds are released before, so that the number of cells stays public.
    assert _asked([("age", "site")], undeclared=("age",)).n_pairs == 1
    assert _asked(2, specs=wide, undeclared=("site",)).eligible == (0, 1, 2)
    with pytest.raises(ValueError, match="no pair can be chosen: 1 features"):
        _asked(1, n_features=2, specs=[FEATURES["age"], wide[4]])


def test_a_feature_may_not_have_the_name_of_a_pair(data):
    features = {"a": FEATURES["age"], "b": FEATURES["bmi"], "a & b": FEATURES["dose"]}
    rows = data.X[["age", "bmi", "dose"]].set_axis(list(features), axis=1)
    schema = dp.Schema(features, target=COSTS.target)
    model = dp.DPExplainableBoostingRegressor(schema=schema, interactions=[("a", "b")])
    with pytest.raises(dp.SchemaError, match="the name of a pair"):
        model.fit(rows, data.costs)


def test_a_monotone_feature_is_not_chosen(data):
    """A pair would undo the constraint."""
    model = dp.DPExplainableBoostingClassifier(
        schema=LABELS, interactions=3, monotone_constraints={"age": 1}, max_rounds=1, epsilon=50.0
    ).fit(data.X, data.labels)
    assert not any("age" in name for name in model.term_names_[5:])
    assert len(model.term_names_) == 8


# ------------------------------------------------------------------------ what it costs


def test_bill_and_guarantee_name_the_pairs(model, data):
    guarantee = model.guarantee_
    assert guarantee.mu == pytest.approx(mu_of_budget(2.0, 1e-6), rel=1e-8)
    names = [share.name for share in guarantee.releases]
    of_pairs = ["target", "bins", "weights", "pair bins", "boosting", "correlations", "pairs"]
    of_number = ["target cells", "total"] if hasattr(model, "min_target_") else []
    assert names == of_pairs + of_number
    chosen = clone(model).set_params(interactions=1, max_rounds=1)
    chosen.fit(data.X, target_of(model, data))
    shares = {share.name: share for share in chosen.guarantee_.releases}
    assert shares["pair selection"].count == 1
    assert "exponential mechanism" in chosen.guarantee_.mechanism
    assert "exponential mechanism" not in guarantee.mechanism
    assert sum(s.mu**2 for s in shares.values()) ** 0.5 == pytest.approx(guarantee.mu, rel=1e-7)
    assert "pair selection" in str(chosen.privacy_spend_.to_dict())


# ------------------------------------------------------------------------ what is released


def test_pairs_use_fewer_cuts_of_the_same_features(model):
    own, in_pairs = model.bins_[0]
    assert len(in_pairs) < len(own)
    assert set(in_pairs) <= set(own)
    assert len(model.bins_[4]) == 1


def test_the_interaction_is_learned(model, data):
    effect = model.eval_terms(data.X)[:, 5]
    true = interaction(data.X["age"], data.X["bmi"])
    assert np.corrcoef(effect, true)[0, 1] > 0.9
    plain = clone(model).set_params(interactions=0).fit(data.X, target_of(model, data))

    def fit_of(estimator):
        return np.corrcoef(estimator._predict_score(estimator._readable(data.X)), data.scores)[0, 1]

    assert fit_of(model) > fit_of(plain) + 0.2


# ------------------------------------------------------------------------------ integers

HOUR, WEEKDAY, FLAG, RATE = range(4)
VALUES = [24, 7, 2, 24]


KEPT_VALUES = [
    (48, [(HOUR, FLAG)], {HOUR: 24, FLAG: 2}),
    # 16,000 rows are 100 for each of 160 cells, whatever the noise.
    (1000, [(HOUR, WEEKDAY)], {HOUR: 5, WEEKDAY: 7}),
    (47, [(HOUR, FLAG)], {HOUR: 5, FLAG: 2}),
    # One pair that can have so many cells is enough.
    (48, [(HOUR, WEEKDAY), (FLAG, HOUR)], {HOUR: 24, WEEKDAY: 7, FLAG: 2}),
    (1000, [(RATE, FLAG)], {RATE: 5, FLAG: 2}),
]


@pytest.mark.parametrize(("cells", "chosen", "kept"), KEPT_VALUES)
def test_integers_keep_their_values_in_pairs_where_noise_allows(cells, chosen, kept):
    bins = [
        Bins(np.arange(n + 2), np.array([0.0, *[16_000 / n] * n, 0.0]), np.arange(n - 1) + 0.5)
        for n in VALUES
    ]
    specs = [*(dp.Integer(0, n - 1) for n in VALUES[:RATE]), dp.Continuous(0, 23)]
    settings = BoostingSettings(noise_level=0.1 / cells, leaves=5, step=0.1)
    found = _coarse_bins(bins, specs, chosen, settings)
    assert {k: coarse.n_codes - 2 for k, coarse in found.items()} == kept
    assert all(int(coarse.code_map[-2]) == kept[k] for k, coarse in found.items())


def test_each_value_of_few_integers_has_a_bin_and_one_in_a_pair():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 24, 5_000), rng.integers(0, 2, 5_000)])
    costs = np.where(X[:, 1] == 1, np.sin(X[:, 0]), np.cos(X[:, 0]))
    schema = dp.Schema(
        {"feature_0000": dp.Integer(0, 23), "feature_0001": dp.Integer(0, 1)},
        target=dp.Continuous(-1, 1),
    )
    model = dp.DPExplainableBoostingRegressor(
        schema=schema, epsilon=20.0, delta=1e-6, interactions=[(0, 1)]
    ).fit(X, costs)
    for cuts in model.bins_[0]:
        assert cuts.tolist() == [hour + 0.5 for hour in range(23)]
    assert r2_score(costs, model.predict(X)) > 0.9
    # As interpret reads rows: what lies between is the nearest integer.
    assert model.predict([[5.4, 1.0]]) == model.predict([[5, 1]])


# ------------------------------------------------------------------------------ other forms


def test_tiny_tables_and_no_rounds(data):
    few = data.X.head(3), data.labels[:3]
    for parameters in ({}, {"max_rounds": 0}, {"interactions": 2}, {"interactions": "9x"}):
        settings = {"schema": LABELS, "interactions": NAMED} | parameters
        model = dp.DPExplainableBoostingClassifier(**settings).fit(*few)
        model.predict(data.X.head())
        model.explain_global()
    empty = dp.DPExplainableBoostingClassifier(schema=LABELS, interactions=2)
    empty.fit(data.X.head(0), data.labels[:0]).predict(data.X.head())


# -------------------------------------------------------------------------------- choosing


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_true_pair_is_found(data, epsilon):
    model = dp.DPExplainableBoostingClassifier(
        schema=LABELS, epsilon=epsilon, delta=1e-6, interactions=1, max_rounds=8
    )
    found = [model.fit(data.X, data.labels).term_names_[5] for _ in range(10)]
    # At epsilon 1 the gap to the next candidate is eight scales of the choice's noise: one of nine
    # others wins with a probability of up to 0.003, and three times of ten with 3e-6.
    assert found.count("age & bmi") > 7
