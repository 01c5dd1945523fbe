"""Conclusions from plausible curves: what draws of whole models say, and where it is shown."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
from interpret_dp.explanation.influence import decision_shares, of_hundred, top_shares
from interpret_dp.explanation.plots.bars import overview_figure
from interpret_dp.explanation.plots.prediction import prediction_figure
from interpret_dp.explanation.plots.shape import term_figure
from tests.editor.models import build_model, changed
from tests.explanation.test_figures import labels, press

N_DRAWS = 2_000
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", params=[(2, 0.5), (3, 2.0)])
def fitted(request):
    """Return a model of 600 rows, whose noise decides much, and its rows."""
    n_classes, epsilon = request.param
    X = pd.DataFrame(RNG.uniform(-1, 1, (600, 4)), columns=list("abcd"))
    noise = RNG.normal(size=600)
    y = np.digitize(2 * X["a"] + X["b"] + noise, np.linspace(-1, 1, n_classes + 1)[1:-1])
    schema = Schema({name: Continuous(-1, 1) for name in X}, target=Categorical(range(n_classes)))
    model = DPExplainableBoostingClassifier(epsilon=epsilon, schema=schema, max_rounds=8, n_jobs=1)
    return model.fit(X, y), X


def test_ranks_are_those_of_drawn_models(fitted):
    """Seeded draws of 500 and of 2,000 curves; five standard errors of their difference are 0.13.

    One that ranked the released scores alone would give shares of 0 and 1.
    """
    model, _ = fitted
    draws = zip(model.sample_curves(N_DRAWS, random_state=7), model.bin_weights_, strict=True)
    sizes = [np.abs(d).reshape(N_DRAWS, len(w), -1).mean(axis=2) @ w / w.sum() for d, w in draws]
    ranks = np.argsort(np.argsort(-np.stack(sizes, axis=1), axis=1), axis=1)
    shares = model.explain_global().top_terms(2)
    assert sum(shares.values()) == pytest.approx(2)
    assert list(shares) == model.term_names_
    np.testing.assert_allclose(list(shares.values()), (ranks < 2).mean(axis=0), atol=0.13)
    assert shares == top_shares(model.to_released(), 2)
    with pytest.raises(ValueError, match="k is 5"):
        model.explain_global().top_terms(5)


def test_decisions_are_those_of_drawn_models(fitted):
    """Shares of 2,000 draws, and of 500 where there are more classes than two."""
    model, X = fitted
    X = X[:25]
    released = model.to_released()
    scores = np.broadcast_to(np.ravel(model.intercept_), (N_DRAWS, 25, len(released.intercept)))
    for term, draws in zip(
        released.terms, model.sample_curves(N_DRAWS, random_state=7), strict=True
    ):
        feature = released.features[term.feature]
        codes = [feature.code_of(value) for value in X[feature.name]]
        scores = scores + draws[:, codes].reshape(N_DRAWS, 25, -1)
    labels_drawn = (scores[..., 0] > 0) if scores.shape[2] == 1 else scores.argmax(axis=2)
    same = (labels_drawn == model.predict(X)).mean(axis=0)
    explanation = model.explain_local(X)
    shares = [explanation.data(row)["same_decision"] for row in range(25)]
    assert min(shares) < 0.8 < max(shares)
    np.testing.assert_allclose(shares, same, atol=0.055 if scores.shape[2] == 1 else 0.13)
    text = f"the same in {of_hundred(shares[0])} plausible models"
    assert text in explanation.figure(0).layout.annotations[0].text.replace("<br>", " ")


def test_a_decision_that_no_noise_can_change_is_certain_and_an_unknown_one_is_not_stated():
    uncertain = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, np.nan]])
    assert decision_shares(uncertain) == [1.0, 1.0, 0.5, None]
    classes = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 1.0, 0.0], [np.nan, 0.0, 0.0]]])
    assert decision_shares(classes) == [1.0, None]
    record = {"names": ["age"], "values": [41], "scores": [0.1], "perf": None}
    figure = prediction_figure(build_model(), record | {"extra": {"scores": [0.0]}}, "")
    assert "plausible" not in figure.to_json()


def test_a_share_is_never_rounded_to_none_or_all():
    shares = {1.0: "100", 0.9999: "more than 99", 0.974: "97", 0.001: "fewer than 1", 0.0: "0"}
    for share, count in shares.items():
        assert of_hundred(share) == f"{count} of 100"


def test_the_overview_says_how_often_a_term_leads():
    model = build_model()
    bars = overview_figure(model, "").data[0]
    shares = top_shares(model, 3)
    for name, text in zip(bars.customdata, bars.hovertext, strict=True):
        assert text.endswith(
            f"among the 3 most important in {of_hundred(shares[name])} plausible models"
        )
    single = dataclasses.replace(model, terms=model.terms[:1])
    assert overview_figure(single, "").data[0].hovertext is None


@pytest.mark.parametrize("index", [0, 3])
def test_a_button_shows_plausible_curves_beside_the_band(index):
    model = build_model()
    figure = term_figure(model, index, "")
    own = [trace for trace in figure.data if trace.meta == "plausible curves"]
    assert not any(trace.visible for trace in own)
    press(figure, "plausible curves")
    assert all(trace.visible for trace in own)
    scores = model.terms[index].scores
    drawn = np.array([y for y in own[0].y if y is not None])
    assert scores.min() - 1 < drawn.min() < drawn.max() < scores.max() + 1
    press(figure, "as released")
    assert not any(trace.visible for trace in own)
    hidden = term_figure(changed(model, index, covariance=None), index, "")
    assert "plausible curves" not in labels(hidden)
    # Of several classes, those of the shown one are one click in the legend away.
    own = [t for t in term_figure(build_model(3), 0, "").data if t.meta == "plausible curves"]
    assert {(t.legendgroup, t.visible) for t in own if t.visible} == {("b", "legendonly")}
