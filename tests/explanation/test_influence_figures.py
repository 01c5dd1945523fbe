"""Figures of local linear explanations: right bars, honest noise, and names as they are."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from interpret.api.templates import FeatureValueExplanation
from interpret.provider import InlineProvider

from interpret_dp.explanation.influence import ERROR_BARS, Influence
from interpret_dp.explanation.objects import PrivateExplanation
from tests.contract.explainers.test_copies import MADE_UP
from tests.explanation import influences

NUMBER_OUTPUT = {"output": "predicted value", "predicted": 12.345}


def influence(effects, errors):
    return Influence(tuple(map(str, range(len(effects)))), np.array(effects), np.array(errors))


def texts(figure):
    """Return everything of a figure that plotly reads as its kind of HTML."""
    return json.dumps(figure.to_dict(), default=str)


# ------------------------------------------------------------------------------ what is noise


@pytest.mark.statistical
def test_of_all_noise_something_is_significant_in_one_table_of_twenty():
    """4,000 tables of 500 effects that are noise alone, seeded.

    Expected 4.9 % with anything that stands out, standard deviation 0.34 %; accepted 3.5 to 6.3 %
    (4 deviations). A threshold of 1.96 for each by itself would make it all of them, one of 4.5
    standard errors 0.3 %.
    """
    noise = np.random.default_rng(8).normal(size=(4000, 500))
    share = np.mean([influence(row, np.ones(500)).significant.any() for row in noise])
    assert 0.035 < share < 0.063


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.floats(0.01, 2.0))
def test_what_is_significant_is_beyond_its_own_error_bar(effects, error):
    shown = influence(effects, np.full(len(effects), error))
    assert (np.abs(shown.effects[shown.significant]) > ERROR_BARS * error).all()
    assert (np.abs(shown.effects[~shown.significant]) <= 5 * error).all()
    ordered = np.abs(shown.effects[shown.order])
    assert (np.diff(ordered) <= 0).all()


# ------------------------------------------------------------------------------------ one row


def test_bars_are_the_effects_largest_first_with_their_noise():
    record = influences.adult_record()
    figure = influences.explanation_of([record]).figure(0)
    (bars,) = (trace for trace in figure.data if trace.type == "bar")
    assert list(bars.x) == sorted(record["scores"], key=lambda s: -abs(s))
    labels = figure.layout.yaxis.ticktext
    assert labels[0] == "capital-gain = 2174"
    assert "fnlwgt = 77,516" in labels
    assert labels[-1] == "native-country = missing"
    (errors,) = (trace for trace in figure.data if trace.error_x.array is not None)
    np.testing.assert_allclose(errors.error_x.array, 1.96 * 0.03)
    assert len(errors.x) == 13, "what has no noise has no bar of it"


TITLES = [
    ({}, "Probability of &gt;50K: 73 %"),
    ({"perf": {"actual": 1.0}}, "Probability of &gt;50K: 73 %, actual: &gt;50K"),
    ({"perf": {"actual": 0.0}}, "Probability of &gt;50K: 73 %, actual: not &gt;50K"),
    (NUMBER_OUTPUT, "Predicted value: 12.35"),
    (NUMBER_OUTPUT | {"perf": {"actual": 2.5}}, "Predicted value: 12.35, actual: 2.5"),
    ({"output": "probability of " + "very " * 40}, f"Probability of {'very ' * 8}…: 73 %"),
]


@pytest.mark.parametrize(("changes", "title"), TITLES)
def test_the_title_says_what_was_predicted(changes, title):
    assert (
        influences.explanation_of([influences.adult_record(**changes)]).figure(0).layout.title.text
        == title
    )


def test_names_are_shown_literally():
    hostile = "<b>x</b><a href='y'>"
    record = influences.adult_record(output=f"probability of {hostile}")
    record["names"] = [hostile, *record["names"][1:]]
    record["values"] = ["missing", hostile, *record["values"][2:]]
    explanation = influences.explanation_of([record, record])
    for figure in (explanation.figure(), explanation.figure(0)):
        assert "<a" not in texts(figure)
        assert "<b>" not in texts(figure)
        assert "&lt;b&gt;" in texts(figure)


# ---------------------------------------------------------------------------------- many rows


def test_rows_may_explain_different_classes():
    records = [influences.adult_record(), influences.adult_record(1, output="probability of <=50K")]
    note = influences.explanation_of(records).figure().layout.annotations[0].text
    assert note.startswith("Effect on the output that is explained at each row: one of 2")
    # Of one row, the overview is the row.
    one = influences.explanation_of(records[:1])
    assert one.figure(None, line="").to_json() == one.figure(0, line="").to_json()


# ------------------------------------------------------------------------ interpret's protocol


@pytest.mark.parametrize("kind", MADE_UP)
def test_they_are_interprets_and_ours(kind):
    explanation = MADE_UP[kind]()
    assert isinstance(explanation, FeatureValueExplanation)
    assert isinstance(explanation, PrivateExplanation)
    assert explanation.explanation_type == ("global" if "classes" in kind else "local")
    assert repr(explanation).startswith(f"<{type(explanation).__name__} {explanation.name!r}: ")
    internal = explanation.data(-1)
    assert {"overall", "specific", "mli"} <= set(internal)
    assert len(explanation.selector) == len(internal["specific"])
    assert len(explanation.selector.columns) >= 2
    assert "id" not in explanation.selector
    json.dumps(internal["specific"])
    assert "privacy" in explanation._repr_html_()
    # The dashboard takes a `model` for an additive one that can be edited.
    assert not hasattr(explanation, "model")


def test_a_row_is_listed_with_what_came_true():
    explanation = MADE_UP["text"]()
    table = explanation.selector
    assert list(table.columns[:3]) == ["Predicted", "Actual", "Resid"]
    assert table["Resid"][0] == pytest.approx(0.12)
    assert list(explanation.data(-1)["mli"][1]["value"]["dataset_y"]) == [1.0, 1.0]
    unknown = influences.adult_explanation()
    assert unknown.data(-1)["mli"][1]["value"]["dataset_y"] is None
    assert not {"Actual", "Resid"} & set(unknown.selector)
    assert list(unknown.selector) == ["Predicted", "Explained"]


def test_every_view_can_be_shown_inline(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *page, **_: shown.extend(page))
    monkeypatch.setattr("interpret.visual._inline._build_error_frame", pytest.fail)
    InlineProvider(js_url="https://example.org/none.js").render(MADE_UP["table"]())
    page = "".join(str(getattr(part, "data", part)) for part in shown)
    assert "Privacy cost of this explanation" in page


def test_each_figure_carries_the_cost():
    explanation = influences.adult_explanation()

    def cost(key):
        (note,) = explanation.visualize(key).layout.annotations
        return note.text.partition("explanation: ")[2].partition(" ·")[0]

    assert [cost(None), cost(0), cost(2)] == ["0", "0", "0"]
    assert explanation.visualize(0, title="mine").layout.title.text == "mine"
    assert explanation.visualize(("mli", 0)).to_json() == explanation.visualize(0).to_json()
    note = explanation.figure(0, line="").layout.annotations[0].text
    assert note.startswith("From the background: free<br>7 of 14 effects")
