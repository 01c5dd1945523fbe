"""Plain figures of explanations: complete, labelled, and with buttons that need no server."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from interpret_dp.explanation.curves import monotone_previews
from interpret_dp.explanation.figures import (
    contributions_figure,
    overview_figure,
    term_figure,
)
from interpret_dp.explanation.page_figures import outcome_text
from interpret_dp.released import AdditiveFeature, AdditiveTerm
from interpret_dp.released.isotonic import isotonic
from interpret_dp.schema import Continuous
from tests.editor.models import build_model

AGE, GRADE, CITY = 0, 2, 3
LINE = (
    "Privacy cost of this explanation: 0 · of the model: epsilon 1 · of all on this data set: "
    "1.46 · left: 4.131 (all at delta 1e-06)"
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


@pytest.mark.parametrize("index", [AGE, GRADE])
@pytest.mark.parametrize("increasing", [True, False])
def test_previews_are_the_nearest_monotone_curves(increasing, index):
    model = build_model()
    term = model.terms[index]
    preview = monotone_previews(model, term)["increasing" if increasing else "decreasing"]
    nearest = isotonic(term.scores[1:-1], term.weights[1:-1], increasing=increasing)
    np.testing.assert_allclose(preview[1:-1], nearest)
    np.testing.assert_array_equal(preview[[0, -1]], term.scores[[0, -1]])


def test_previews_need_an_order_and_two_bins():
    model = build_model()
    assert monotone_previews(model, model.terms[CITY]) == {}
    feature = AdditiveFeature("age", Continuous(0, 8), np.zeros(0))
    term = AdditiveTerm(AGE, np.zeros(3), np.ones(3), None)
    single = dataclasses.replace(
        model, features=(feature, *model.features[1:]), terms=(term, *model.terms[1:])
    )
    assert monotone_previews(single, single.terms[AGE]) == {}
    assert labels(term_figure(single, AGE, "")) == ["own scale", "same scale for all terms"]
    # Without any row all bins count alike.
    empty = dataclasses.replace(model.terms[AGE], weights=np.zeros(10))
    assert np.isfinite(monotone_previews(model, empty)["increasing"]).all()


@pytest.mark.parametrize("index", [AGE, GRADE])
def test_buttons_show_a_version_and_bring_the_released_one_back(index):
    model = build_model()
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


# ---------------------------------------------------------------------- labels and legends


def test_signal_to_noise_stands_behind_each_bar_and_is_explained():
    model = build_model()
    age, dose, *others = model.terms
    unknown = dataclasses.replace(age, covariance=None)
    clear = dataclasses.replace(dose, covariance=1e-9 * dose.covariance)
    figure = overview_figure(dataclasses.replace(model, terms=(unknown, clear, *others)), LINE)
    texts = {note.y: note.text for note in figure.layout.annotations if note.yref == "y"}
    expected = {"age": "not known", "dose": "1000 or more"}
    expected |= dict(
        zip(("grade", "city"), (f"{t.signal_to_noise:.1f}" for t in others), strict=True)
    )
    names = figure.data[0].customdata
    assert {names[int(y)]: text for y, text in texts.items()} == expected


def test_the_cost_is_in_the_figure_and_broken_between_its_parts():
    for figure in (overview_figure(build_model(), LINE), contributions_figure([], LINE)):
        (note,) = (note.text for note in figure.layout.annotations if "Privacy" in note.text)
        assert note.endswith(LINE.replace(" · left", " ·<br>left"))
    assert not term_figure(build_model(), AGE, "").layout.annotations


def test_names_are_shown_literally():
    model = build_model()
    features = (
        AdditiveFeature("<b>age</b>", model.features[AGE].spec, model.features[AGE].cuts),
        *model.features[1:],
    )
    named = dataclasses.replace(model, features=features)
    assert "<b>" not in term_figure(named, AGE, LINE).layout.title.text
    assert "<b>" not in json.dumps(overview_figure(named, LINE).to_dict(), default=str)


# -------------------------------------------------------------------------- several classes


def test_several_classes_have_a_curve_each_in_colours_of_their_own():
    model = build_model(3)
    for index in (CITY, GRADE, AGE):
        figure = term_figure(model, index, LINE)
        released = [t for t in figure.data if t.meta == "released" and t.showlegend is not False]
        assert [t.name for t in released] == ["a", "b", "c"]
        colors = {t.line.color or t.marker.color for t in released}
        assert len(colors) == 3
    press(figure, "preview increasing")
    shown = [t.name for t in figure.data if t.meta == "increasing" and t.visible]
    assert shown == ["a, increasing", "b, increasing", "c, increasing"]
    assert len(overview_figure(model, LINE).data[0].x) == 4


def _record(scores, intercept, actual=float("nan")):
    return {
        "names": ["ward", "grade", "x0"],
        "values": ["a", "low", 3.0],
        "scores": scores,
        "extra": {"scores": intercept},
        "perf": {"actual": actual},
    }


def test_a_model_of_one_class_is_sure():
    model = dataclasses.replace(build_model(), classes=("a",))
    record = _record([0.0, 0.0, 0.0], [0.0], actual=0)
    assert outcome_text(model, record) == "Probability of a: 100 %, actual: a"
