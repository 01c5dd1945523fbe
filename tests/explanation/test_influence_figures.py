"""Figures of local linear explanations: right bars, honest noise, and names as they are."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.explanation.influence import ERROR_BARS, Influence
from tests.explanation.influences import (
    SOURCES,
    adult_record,
    adult_totals,
    explainer_spend,
    explanation_of,
    image_record,
    text_record,
)


def influence(effects, errors) -> Influence:
    return Influence(tuple(map(str, range(len(effects)))), np.array(effects), np.array(errors))


def few_effects(effects, **changes):
    """Return the record of a row of so many features."""
    size = len(effects)
    fields = {"names": list("abcd")[:size], "values": list(range(size)), "coordinates": None}
    return adult_record() | fields | {"scores": effects, "standard_errors": [0.05] * size} | changes


def bars(figure, *, visible_only=True):
    """Return {place: (effect, opacity, colour)} of the bars of the shown view."""
    return {
        int(place): (float(effect), trace.marker.opacity, trace.marker.color)
        for trace in figure.data
        if trace.meta == "effects" and (trace.visible is not False or not visible_only)
        for place, effect in zip(trace.y, trace.x, strict=True)
    }


def named(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def texts(figure) -> str:
    """Return everything of a figure that plotly reads as its kind of HTML."""
    return json.dumps(figure.to_dict(), default=str)


# ------------------------------------------------------------------------------ what is noise


@pytest.mark.statistical
def test_of_all_noise_something_stands_out_in_one_table_of_twenty():
    """4,000 tables of 500 effects that are noise alone, seeded.

    Expected 4.9 % with anything that stands out, standard deviation 0.34 %; accepted 3.5 to 6.3 %
    (4 deviations). A threshold of 1.96 for each by itself would make it all of them, one of 4.5
    standard errors 0.3 %.
    """
    noise = np.random.default_rng(8).normal(size=(4000, 500))
    found = np.mean([influence(row, np.ones(500)).stands_out.any() for row in noise])
    assert 0.035 < found < 0.063


@given(
    effects=st.lists(st.floats(-5, 5), min_size=1, max_size=40),
    error=st.floats(0.01, 2.0),
)
def test_what_stands_out_is_beyond_its_own_error_bar(effects, error):
    shown = influence(effects, np.full(len(effects), error))
    assert (np.abs(shown.effects[shown.stands_out]) > ERROR_BARS * error).all()
    assert (np.abs(shown.effects[~shown.stands_out]) <= 5 * error).all()
    ordered = np.abs(shown.effects[shown.order])
    assert (np.diff(ordered) <= 0).all()


# ------------------------------------------------------------------------------------ one row


def test_bars_are_the_effects_largest_first_with_their_noise():
    record = adult_record()
    figure = explanation_of([record]).figure(0)
    drawn = bars(figure)
    scores = sorted((s for s in record["scores"] if s), key=lambda s: -abs(s))
    assert [drawn[-place][0] for place in range(13)] == scores
    labels = figure.layout.yaxis.ticktext
    assert labels[0] == "capital-gain = 2,174"
    assert "fnlwgt = 77,516" in labels
    assert labels[-1] == "native-country = missing"
    (errors,) = (t for t in figure.data if t.error_x.array is not None and t.visible is not False)
    np.testing.assert_allclose(errors.error_x.array, 1.96 * 0.03)
    assert len(errors.x) == 13, "what has no noise has no bar of it"


def test_noise_is_faded_and_both_signs_have_their_colour():
    record = few_effects([0.5, -0.5, 0.01, -0.01])
    figure = explanation_of([record]).figure(0)
    drawn = bars(figure)
    assert drawn[0][1] == drawn[-1][1] == 1.0
    assert drawn[-2][1] == drawn[-3][1] < 0.5
    assert drawn[0][2] == drawn[-2][2] != drawn[-1][2] == drawn[-3][2]
    assert "faded: noise alone could give one as large among 4" in named(figure)
    certain = explanation_of([record | {"standard_errors": [0.001] * 4}]).figure(0)
    assert not any(name.startswith("faded") for name in named(certain))


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "Probability of &gt;50K: 73 %"),
        ({"perf": {"actual": 1.0}}, "Probability of &gt;50K: 73 %, actual: &gt;50K"),
        ({"perf": {"actual": 0.0}}, "Probability of &gt;50K: 73 %, actual: not &gt;50K"),
        ({"output": "predicted value", "predicted": 12.345}, "Predicted value: 12.35"),
        ({"output": "probability of " + "very " * 40}, f"Probability of {'very ' * 8}…: 73 %"),
        (
            {"output": "predicted value", "predicted": -3.0, "perf": {"actual": 2.5}},
            "Predicted value: -3, actual: 2.5",
        ),
    ],
)
def test_the_title_says_what_was_predicted(changes, title):
    assert explanation_of([adult_record(**changes)]).figure(0).layout.title.text == title


def test_names_are_shown_literally():
    hostile = "<b>x</b><a href='y'>"
    record = adult_record(output=f"probability of {hostile}")
    record["names"] = [hostile, *record["names"][1:]]
    record["values"] = ["missing", hostile, *record["values"][2:]]
    record["coordinates"]["names"][-1] = hostile
    explanation = explanation_of([record, record])
    total = adult_totals()
    total.data(-1)["overall"]["names"][0] = hostile
    for figure in (
        *(explanation.figure(key) for key in (None, 0)),
        total.figure(),
        total.figure(0),
    ):
        assert "<a" not in texts(figure)
        assert "<b>" not in texts(figure)
        assert "&lt;b&gt;" in texts(figure)


# ---------------------------------------------------------------------------------- many rows


def test_the_overview_of_many_rows_and_features_is_cut_and_says_so():
    explanation = explanation_of([text_record(0, 60)] * 210)
    figure = explanation.figure()
    assert np.shape(figure.data[0].z) == (30, 200)
    assert figure.layout.yaxis.ticktext[0] == "great"
    assert "the first 200 of 210 rows, the 30 strongest of 60 features" in texts(figure)


def test_rows_may_explain_different_classes():
    records = [adult_record(), adult_record(1, output="probability of <=50K")]
    note = explanation_of(records).figure().layout.annotations[0].text
    assert note.startswith("Effect on the output that is explained at each row: one of 2")
    # Of one row, the overview is the row.
    one = explanation_of(records[:1])
    assert one.figure(None, line="").to_json() == one.figure(0, line="").to_json()
    # Without costs, sources are said all the same.
    history = [adult_record(0, *SOURCES[3])] * 2
    figure = explanation_of(history, privacy=explainer_spend([])).figure()
    assert "from the released history, free" in named(figure)


# -------------------------------------------------------------------------------------- images


def test_pixels_without_values_or_noise_leave_their_panels_out():
    record = image_record(side=6)
    words = explanation_of([record | {"values": ["dark"] * 36}]).figure(0)
    assert words.layout.annotations[0].text == "influence: blue for, red against"
    silent = explanation_of([record | {"standard_errors": [float("nan")] * 36}]).figure(0)
    assert "noise alone could give it" not in named(silent)
    still = explanation_of([record | {"scores": [0.0] * 36}]).figure(0)
    assert still.data[1].zmax == 1.0


# -------------------------------------------------------------------------------------- totals


def test_equal_effects_unknown_noise_and_many_explanations_have_a_histogram_too():
    explanation = adult_totals(600)
    explanation.data(-1)["overall"]["noise"] = [float("nan")] * 14
    for value in (0.0, 0.3, -1e-9):
        explanation.data(-1)["specific"][0]["scores"] = [value] * 600
        figure = explanation.figure(0)
        assert sum(figure.data[0].y) == 600
        assert len(figure.data) == 1
        assert not [shape for shape in figure.layout.shapes if shape.type == "rect"]


def test_totals_of_pixels_are_a_map_and_of_many_features_a_part():
    many = {
        "names": [f"f{i}" for i in range(64)],
        "feature_types": ["continuous"] * 64,
        "mean_absolute": np.ones(64),
        "noise": np.ones(64),
        "effects": np.ones((5, 64)),
    }
    maps = adult_totals(**many, image_shape=(8, 8)).figure()
    assert [np.shape(trace.z) for trace in maps.data] == [(8, 8), (8, 8)]
    cut = adult_totals(**many).figure()
    assert len(cut.data[0].x) == 40
    assert "first 40 of 64 features" in texts(cut)
