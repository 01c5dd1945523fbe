"""Plain figures of explanations: complete, labelled, and with buttons that need no server."""

from __future__ import annotations

import dataclasses
import json
from itertools import product

import numpy as np
import pytest

from interpret_dp.accounting import Guarantee, mu_of_budget
from interpret_dp.explanation.curves import common_range, monotone_previews, term_curves
from interpret_dp.explanation.figures import (
    contributions_figure,
    overview_figure,
    prediction_figure,
    term_figure,
)
from interpret_dp.explanation.page_figures import outcome_text
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.schema import Categorical, Continuous, Schema

LINE = (
    "Privacy cost of this explanation: 0 · of the model: epsilon 1 · of all on this data set: "
    "1.46 · left: 4.131 (all at delta 1e-06)"
)


def model_of(n_terms=3, classes=("no", "yes"), seed=0) -> AdditiveModel:
    """Return a model with one nominal term, one ordinal, and continuous ones."""
    rng = np.random.default_rng(seed)
    specs = {"ward": Categorical(["a", "b", "c"])}
    specs["grade"] = Categorical(["low", "middle", "high"], ordered=True)
    specs |= {f"x{k}": Continuous(0, 8) for k in range(n_terms - 2)}
    schema = Schema(specs, target=Categorical(list(classes)))
    shape = (len(classes),) if len(classes) > 2 else ()
    features, terms = [], []
    for index, (name, spec) in enumerate(specs.items()):
        cuts = np.array([2.0, 4.0, 6.0]) if isinstance(spec, Continuous) else None
        features.append(AdditiveFeature(name, spec, cuts))
        size = features[-1].n_codes
        terms.append(
            AdditiveTerm(
                index,
                (index + 1) * rng.normal(size=(size, *shape)),
                rng.uniform(50, 900, size) * (np.arange(size) < size - 1),
                np.broadcast_to(0.04 * np.eye(size), (*shape, size, size)),
            )
        )
    return AdditiveModel(
        task="classification",
        schema=schema,
        features=tuple(features),
        terms=tuple(terms),
        intercept=np.zeros(len(classes) if shape else 1),
        classes=tuple(classes),
        n_rows=1000.0,
        noise_scale_binning=10.0,
        noise_scale_boosting=0.1,
        rounds=40,
        guarantee=Guarantee(
            epsilon=1.0, delta=1e-6, mu=mu_of_budget(1.0, 1e-6), mechanism="discrete Gaussian"
        ),
    )


def press(figure, label):
    """Do to a figure what plotly does when a button is pressed."""
    (button,) = (b for menu in figure.layout.updatemenus for b in menu.buttons if b.label == label)
    if button.method == "relayout":
        for name, value in button.args[0].items():
            figure.layout[name.replace(".", "_")] = value
        return
    changes, indices = button.args
    for name, values in changes.items():
        for value, index in zip(values, indices, strict=True):
            figure.data[index][name] = value


def visible_curves(figure):
    return {
        trace.meta: trace
        for trace in figure.data
        if trace.meta is not None and trace.visible is not False
    }


def labels(figure):
    return [b.label for menu in figure.layout.updatemenus for b in menu.buttons]


# ----------------------------------------------------------------------------- previews


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["increasing", "decreasing"])
def test_previews_are_the_nearest_monotone_curves(name, seed):
    """Against every way to pool neighbouring bins into blocks: one of them is the optimum."""
    model = model_of(seed=seed)
    term = model.terms[2]
    sign = 1 if name == "increasing" else -1
    scores, weights = term.scores[1:-1], term.weights[1:-1]
    candidates = []
    for joints in product([False, True], repeat=len(scores) - 1):
        blocks = np.r_[0, np.cumsum(~np.array(joints))]
        means = [np.average(scores[blocks == b], weights=weights[blocks == b]) for b in blocks]
        if (sign * np.diff(means) >= 0).all():
            candidates.append((float(weights @ (scores - means) ** 2), means))
    preview = monotone_previews(model, term)[name]
    assert (sign * np.diff(preview[1:-1]) >= 0).all()
    np.testing.assert_allclose(preview[1:-1], min(candidates)[1])
    np.testing.assert_array_equal(preview[[0, -1]], term.scores[[0, -1]])


def test_previews_need_an_order_and_two_bins():
    model = model_of()
    assert monotone_previews(model, model.terms[0]) == {}
    assert set(monotone_previews(model, model.terms[1])) == {"increasing", "decreasing"}
    feature = AdditiveFeature("x0", Continuous(0, 8), np.zeros(0))
    single = dataclasses.replace(
        model,
        features=(*model.features[:2], feature),
        terms=(*model.terms[:2], AdditiveTerm(2, np.zeros(3), np.ones(3), None)),
    )
    assert monotone_previews(single, single.terms[2]) == {}
    assert labels(term_figure(single, 2, "")) == ["own scale", "same scale for all terms"]


def test_a_term_without_any_row_has_previews():
    model = model_of()
    empty = dataclasses.replace(model.terms[2], weights=np.zeros(6))
    assert np.isfinite(monotone_previews(model, empty)["increasing"]).all()


@pytest.mark.parametrize("index", [1, 2])
def test_buttons_show_a_version_and_bring_the_released_one_back(index):
    model = model_of()
    figure = term_figure(model, index, LINE)
    before = figure.to_dict()
    assert set(visible_curves(figure)) == {"released"}
    press(figure, "preview increasing")
    shown = visible_curves(figure)
    assert set(shown) == {"released", "increasing"}
    assert shown["released"].opacity < 0.5
    expected = monotone_previews(model, model.terms[index])["increasing"][1:-1]
    assert list(shown["increasing"].y)[:3] == list(expected)[:3]
    press(figure, "preview decreasing")
    assert set(visible_curves(figure)) == {"released", "decreasing"}
    press(figure, "as released")
    assert set(visible_curves(figure)) == {"released"}
    assert visible_curves(figure)["released"].opacity == 1.0
    assert [t["y"] for t in figure.to_dict()["data"]] == [t["y"] for t in before["data"]]


def test_terms_have_their_own_scale_until_the_common_one_is_asked_for():
    model = model_of()
    figure = term_figure(model, 0, LINE)
    assert figure.layout.yaxis.range is None
    press(figure, "same scale for all terms")
    lowest, highest = figure.layout.yaxis.range
    assert (lowest, highest) == common_range(model)
    for term in model.terms:
        for curve in term_curves(model, term):
            for values in (curve.scores, *curve.band):
                assert (lowest <= values).all()
                assert (values <= highest).all()
    press(figure, "own scale")
    assert figure.layout.yaxis.autorange is True


# ---------------------------------------------------------------------- labels and legends


def test_all_terms_are_listed_with_what_noise_would_give():
    model = model_of(n_terms=60)
    figure = overview_figure(model, LINE)
    assert len(figure.layout.yaxis.ticktext) == 60
    assert figure.layout.height > 20 * 60
    assert [t.name for t in figure.data] == ["mean absolute effect", "what noise alone would give"]
    assert "log-odds of yes" in figure.layout.xaxis.title.text


def test_signal_to_noise_stands_behind_each_bar_and_is_explained():
    model = model_of()
    unknown = dataclasses.replace(model.terms[1], covariance=None)
    loud = dataclasses.replace(model.terms[2], covariance=1e-9 * model.terms[2].covariance)
    model = dataclasses.replace(model, terms=(model.terms[0], unknown, loud))
    figure = overview_figure(model, LINE)
    texts = {note.y: note.text for note in figure.layout.annotations if note.yref == "y"}
    ratio = model.terms[0].signal_to_noise
    expected = {"ward": f"{ratio:.1f}", "grade": "not known", "x0": "1000 or more"}
    names = figure.data[0].customdata
    assert {names[int(y)]: text for y, text in texts.items()} == expected
    column = next(note for note in figure.layout.annotations if note.text == "signal to noise")
    assert (column.x, column.y) == (1, 1)
    heading = next(n.text for n in figure.layout.annotations if "Privacy" in n.text)
    assert "root mean squares" in heading
    assert "Below 2" in heading


def test_the_cost_is_in_the_figure_and_broken_between_its_parts():
    for figure in (
        term_figure(model_of(), 2, LINE),
        overview_figure(model_of(), LINE),
        contributions_figure([], LINE),
    ):
        (note,) = (note.text for note in figure.layout.annotations if "Privacy" in note.text)
        assert note.endswith(LINE.replace(" · left", " ·<br>left"))
    assert not term_figure(model_of(), 2, "").layout.annotations


def test_curves_bands_and_rows_are_named():
    named = {t.name for t in term_figure(model_of(), 2, LINE).data if t.showlegend is not False}
    assert {
        "released curve",
        "95 % noise band",
        "where the rows are (noisy counts)",
        "nearest increasing curve",
    } <= named


def test_names_are_shown_literally():
    model = model_of()
    features = (AdditiveFeature("<b>ward</b>", model.features[0].spec), *model.features[1:])
    named = dataclasses.replace(model, features=features)
    assert "<b>" not in term_figure(named, 0, LINE).layout.title.text
    assert "<b>" not in json.dumps(overview_figure(named, LINE).to_dict(), default=str)


# -------------------------------------------------------------------------- several classes


def test_several_classes_have_a_curve_each_in_colours_of_their_own():
    model = model_of(classes=("high", "low", "middle"))
    for index in range(3):
        figure = term_figure(model, index, LINE)
        released = [t for t in figure.data if t.meta == "released" and t.showlegend is not False]
        assert [t.name for t in released] == ["high", "low", "middle"]
        colors = {t.line.color or t.marker.color for t in released}
        assert len(colors) == 3
    press(figure, "preview increasing")
    shown = [t.name for t in figure.data if t.meta == "increasing" and t.visible]
    assert shown == ["high, increasing", "low, increasing", "middle, increasing"]
    assert len(overview_figure(model, LINE).data[0].x) == 3


def _record(scores, intercept, actual=float("nan")):
    return {
        "names": ["ward", "grade", "x0"],
        "values": ["a", "low", 3.0],
        "scores": scores,
        "extra": {"scores": intercept},
        "perf": {"actual": actual},
    }


def test_a_prediction_of_several_classes_is_that_of_the_largest():
    model = model_of(classes=("high", "low", "middle"))
    scores = [[0.0, 1.0, -1.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]
    record = _record(scores, [0.0, 0.0, 0.0], actual=2)
    share = np.exp(1.5) / (1 + np.exp(1.5) + np.exp(-1.0))
    assert outcome_text(model, record) == f"Probability of low: {100 * share:.0f} %, actual: middle"
    figure = prediction_figure(model, record, LINE)
    assert sorted(figure.data[0].x) == [0.0, 0.5, 1.0]
    assert "score of low" in figure.layout.xaxis.title.text


def test_a_prediction_says_where_it_starts():
    figure = prediction_figure(model_of(), _record([0.5, 0.1, -0.2], [-1.0]), LINE)
    assert figure.layout.title.text == "Probability of yes: 35 %"
    assert "starting at -1, the same for everybody" in figure.layout.xaxis.title.text


def test_a_model_of_one_class_is_sure():
    model = dataclasses.replace(model_of(), classes=("no",))
    record = _record([0.0, 0.0, 0.0], [0.0], actual=0)
    assert outcome_text(model, record) == "Probability of no: 100 %, actual: no"
