"""Pairs where predictions bend with the score: counts, and two classes or more."""

import json
import warnings

import numpy as np
import pytest

import interpret_dp as dp
from interpret_dp.ebm import pairs as pairs_of_fits
from interpret_dp.explanation.plots.heat import heat_figure
from interpret_dp.released import AdditiveModel
from tests.ebm.pairs.pair_problems import FEATURES, interaction, problem
from tests.released.test_sql import run_sqlite

N_ROWS = 20_000
SETTINGS = {"epsilon": 4.0, "delta": 1e-6, "n_jobs": 1}
PAIR = [("age", "bmi")]


@pytest.fixture(scope="module")
def data():
    return problem(N_ROWS)


def counts(data):
    return np.random.default_rng(1).poisson(0.4 * np.exp(data.scores))


def classes(data):
    """Return one of three classes; the last one depends on no feature."""
    scores = np.stack([data.scores, -data.scores, np.full(N_ROWS, -1.0)], axis=1)
    noise = np.random.default_rng(1).gumbel(size=scores.shape)
    return np.array(["a", "b", "c"])[(scores + noise).argmax(axis=1)]


def rare(data):
    """Return labels of which the second one is rare."""
    chance = 1.0 / (1.0 + np.exp(3.0 - 1.5 * data.scores))
    return (np.random.default_rng(1).uniform(size=N_ROWS) < chance).astype(str)


def fitted(X, y, interactions):
    settings = SETTINGS | {"interactions": interactions}
    if y.dtype.kind == "i":
        schema = dp.Schema(FEATURES, target=dp.Continuous(0, 20))
        model = dp.DPExplainableBoostingRegressor(
            schema=schema, objective="poisson_deviance", **settings
        )
    else:
        schema = dp.Schema(FEATURES, target=dp.Categorical(np.unique(y).tolist()))
        model = dp.DPExplainableBoostingClassifier(schema=schema, **settings)
    return model.fit(X, y)


@pytest.mark.thorough
@pytest.mark.parametrize("target", [counts, classes])
def test_an_interaction_is_chosen_and_learned(data, target):
    y = target(data)
    plain, model = (fitted(data.X, y, interactions) for interactions in (0, 1))
    assert model.term_names_[5] == "age & bmi"

    def scores_of(estimator):
        """Return the contribution of each term to the first class, or to the logarithm."""
        return estimator.eval_terms(data.X).reshape(N_ROWS, len(estimator.term_names_), -1)[..., 0]

    true = interaction(data.X["age"], data.X["bmi"])
    assert 0.7 < np.polyfit(true, scores_of(model)[:, 5], 1)[0] < 1.05
    before, after = (
        np.corrcoef(scores_of(estimator).sum(axis=1), data.scores)[0, 1]
        for estimator in (plain, model)
    )
    assert after > max(0.75, before + 0.15)


@pytest.mark.thorough
@pytest.mark.parametrize("target", [counts, rare])
def test_a_pair_keeps_the_mean_prediction_of_every_bin(data, target, monkeypatch):
    """Control: the mean of exp(8 u v) over v is up to 1.8 at the ends of u, and 1 in the middle."""
    y = target(data)
    observed = y if target is counts else y == "True"
    fifths = np.digitize(data.X["age"], [20, 40, 60, 80])

    def worst(are_balanced):
        model = fitted(data.X, y, PAIR)
        is_count = target is counts
        predicted = model.predict(data.X) if is_count else model.predict_proba(data.X)[:, 1]
        if is_count and are_balanced:
            assert abs(predicted.mean() - y.mean()) < 4 * model.total_error_
            # Cells of a pair are not independent of its features.
            assert model.released_.mean_prediction == pytest.approx(predicted.mean(), rel=0.02)
        means = [np.bincount(fifths, v) for v in (predicted, observed)]
        return np.abs(means[0] / means[1] - 1).max()

    assert worst(are_balanced=True) < 0.12
    monkeypatch.setattr(pairs_of_fits, "_BALANCING_STEPS", 0)
    assert worst(are_balanced=False) > 0.14


@pytest.fixture(scope="module")
def model(data):
    return fitted(data.X, classes(data), [*PAIR, ("site", "dose")])


def test_pairs_of_classes_in_files_tables_and_databases(model, data):
    rows = data.X.head(200)
    released = model.released_
    assert [scores.shape[2:] for scores in model.term_scores_[5:]] == [(3,), (3,)]
    document = json.loads(json.dumps(released.to_dict()))
    assert AdditiveModel.from_dict(document).digest == released.digest
    answer = run_sqlite(model.to_sql("sqlite", table="people", keep=["position"]), rows)
    np.testing.assert_allclose(
        answer.filter(like="probability"), model.predict_proba(rows), atol=1e-9
    )
    values = model.shap_values(rows)
    scores = model.predict_with_uncertainty(rows)[:, 0]
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, scores, atol=1e-9)
    assert model.sample_curves(2)[5].shape == (2, *model.term_scores_[5].shape)


def test_explanations_show_pairs_of_every_class(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # interpret would leave them out, and warn
        explanation = model.explain_global()
    assert explanation.feature_names == model.term_names_
    importances = explanation.data(-1)["overall"]["scores"]
    np.testing.assert_allclose(importances, model.term_importances())
    assert explanation.data(0)["meta"]["label_names"] == ["a", "b", "c"]
    assert explanation.data(5)["type"] == "interaction"
    for row in (0, None):
        explanation_of_rows = model.explain_local(data.X.head(3))
        explanation_of_rows.figure(row)
    figure = explanation.figure(5)
    maps = [trace for trace in figure.data if trace.meta == "released"]
    assert [trace.visible for trace in maps] == [True, False, False]
    menu = figure.layout.updatemenus[0].buttons
    assert [button.label for button in menu] == ["a", "b", "c"]
    # The last button shows the last class alone, with its veil.
    shown = menu[2].args[0]["visible"]
    assert [t.legendgroup for t, is_shown in zip(figure.data, shown, strict=True) if is_shown] == [
        "2" for is_shown in shown if is_shown
    ]
    term = model.released_.terms[5]
    single = heat_figure(model.released_, term, column=1)
    assert single.data[0].z == maps[1].z
    assert not single.layout.updatemenus


def test_pairs_of_classes_are_edited_class_by_class(model):
    session = model.edit(author="Ada", autosave=False)
    before = model.term_scores_[5].copy()
    session.scale("age & bmi", 0.5)
    np.testing.assert_allclose(session.model.term_scores_[5], before / 2, atol=1e-9)
    term = session.released.terms[5]
    for column in range(3):
        own = term.of_class(column)
        np.testing.assert_array_equal(own.scores, term.scores[:, column])
        np.testing.assert_allclose(own.noise_deviations, term.noise_deviations[:, column])
        np.testing.assert_allclose(own.as_released.scores, term.as_released.scores[:, column])
        for mine, all_of_them in zip(own.band(), term.band().of_class(column), strict=True):
            np.testing.assert_allclose(mine, all_of_them)
