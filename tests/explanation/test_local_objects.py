"""Explanations of rows and of many of them: interpret's objects, with noise and cost."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from interpret.api.templates import FeatureValueExplanation

from interpret_dp.explanation.local_objects import local_explanation
from interpret_dp.explanation.objects import PrivateExplanation
from tests.contract.explainers.test_copies import MADE_UP
from tests.explanation.influences import (
    ADULT,
    SOURCES,
    adult_explanation,
    adult_record,
    adult_totals,
    explainer_spend,
)

# ------------------------------------------------------------------------ interpret's protocol


@pytest.mark.parametrize("kind", MADE_UP)
def test_they_are_interprets_and_ours(kind):
    explanation = MADE_UP[kind]()
    assert isinstance(explanation, FeatureValueExplanation)
    assert isinstance(explanation, PrivateExplanation)
    is_global = kind == "totals" or "classes" in kind
    assert explanation.explanation_type == ("global" if is_global else "local")
    internal = explanation.data(-1)
    assert {"overall", "specific", "mli"} <= set(internal)
    assert len(explanation.selector) == len(internal["specific"])
    assert len(explanation.selector.columns) >= 3
    assert "id" not in explanation.selector
    json.dumps(internal["specific"])
    assert "privacy" in explanation._repr_html_()
    # The dashboard takes a `model` for an additive one that can be edited.
    assert not hasattr(explanation, "model")


def test_a_row_is_listed_with_origin_and_cost_and_what_came_true():
    explanation = MADE_UP["text"]()
    table = explanation.selector
    assert list(table.columns[:3]) == ["Predicted", "Origin", "Actual"]
    assert table["Resid"][0] == pytest.approx(0.12)
    assert list(explanation.data(-1)["mli"][1]["value"]["dataset_y"]) == [1.0, 1.0]
    unknown = adult_explanation()
    assert unknown.data(-1)["mli"][1]["value"]["dataset_y"] is None
    assert not {"Actual", "Resid"} & set(unknown.selector)
    origins = ["released now", "released now", "reused", "from history", "from surrogate"]
    assert list(unknown.selector["Origin"]) == origins
    assert list(unknown.selector["Epsilon"]) == [0.1, 0.1, 0.0, 0.0, 0.0]


def test_a_list_of_rows_can_be_given():
    own = pd.DataFrame({"Name": list("abcde")})
    table = adult_explanation(selector=own).selector
    assert list(table.columns) == ["Name", "Epsilon", "Origin"]
    assert list(own.columns) == ["Name"]


@pytest.mark.parametrize("kind", ["table", "totals", "images"])
def test_every_view_can_be_shown_inline(kind, monkeypatch):
    from interpret.provider import InlineProvider

    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *page, **_: shown.extend(page))
    monkeypatch.setattr("interpret.visual._inline._build_error_frame", pytest.fail)
    InlineProvider(js_url="https://example.org/none.js").render(MADE_UP[kind]())
    page = "".join(str(getattr(part, "data", part)) for part in shown)
    assert "Privacy cost of this explanation" in page


def test_each_figure_carries_the_cost_of_its_part():
    explanation = adult_explanation()

    def cost(key):
        (note,) = explanation.visualize(key).layout.annotations
        return note.text.partition("explanation: ")[2].partition(" ·")[0]

    assert [cost(None), cost(0), cost(2)] == ["0.145", "0.1", "0"]
    assert explanation.visualize(0, title="mine").layout.title.text == "mine"
    assert explanation.visualize(("mli", 0)).to_json() == explanation.visualize(0).to_json()
    assert explanation.figure(0, line="").layout.annotations[0].text == (
        "Released now for epsilon 0.1, method statistics<br>7 of 14 effects stand out from the "
        "noise"
    )


# -------------------------------------------------------------------------------- wrong input


def without_errors():
    record = adult_record()
    del record["standard_errors"]
    return record


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([adult_record(scores=[0.1])], "lengths"),
        ([adult_record(origin="guessed")], "origin is 'guessed'"),
        ([adult_record(image_shape=[3, 3])], "one effect for each pixel"),
        ([adult_record(names=list("abcdefghijklmn"))], "in order"),
        ([adult_record(method="interactive")], "must agree row by row"),
        (
            [adult_record(coordinates={"names": ["a"], "scores": [], "standard_errors": [1]})],
            "lengths",
        ),
        ([without_errors()], r"lacks \['standard_errors'\]"),
        ([], "records is empty"),
        ([adult_record()] * 2, "tells of 1 rows and there are 2"),
    ],
)
def test_records_that_do_not_fit_are_refused(records, message):
    with pytest.raises(ValueError, match=message):
        local_explanation(
            records,
            privacy=explainer_spend(SOURCES[:1]),
            name="wrong",
            feature_names=list(ADULT),
            feature_types=["continuous"] * 14,
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": np.zeros(3)}, "must agree"),
        ({"effects": np.zeros(2)}, "must agree"),
        ({"effects": np.zeros((0, 14))}, "at least one"),
        ({"effects": np.zeros((4, 3))}, "n_explanations, 14"),
        ({"image_shape": (2, 2)}, "14 features"),
    ],
)
def test_totals_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        adult_totals(**changes)


def test_totals_hold_no_query():
    explanation = adult_totals()
    told = json.dumps(explanation.data(-1)) + explanation.selector.to_json()
    assert "Bachelors" not in told
    assert "values" not in told
    assert list(explanation.selector["Noise alone"]) == [0.0239] * 14
