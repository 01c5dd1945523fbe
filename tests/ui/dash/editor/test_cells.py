"""The editor's card of a pair: its heat map, rectangles that select cells, and its tools."""

import pytest

from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.ui.figure import EditedTerm
from tests.editor.test_pairs import build
from tests.ui.dash.client import AppClient
from tests.ui.dash.editor.client import EditorClient

PAIR = 4


@pytest.fixture(scope="module")
def explanation():
    return DPExplainableBoostingClassifier.from_released(build()).explain_global(name="pairs")


@pytest.fixture
def session(explanation):
    return explanation.edit_session


@pytest.fixture
def editor(explanation):
    return EditorClient(AppClient(explanation), PAIR)


def rectangle(editor, x, y):
    box = {"range": {"x": list(x), "y": list(y)}, "points": []}
    editor.change("idp-editor-plot", "selectedData", box)


def test_a_rectangle_selects_the_cells_that_it_touches(editor, session):
    width = session.base.subject(session.base.terms[PAIR]).shape[1]
    rectangle(editor, (0.2, 1.4), (1.6, 2.1))
    assert editor.selected == [1 * width + 3, 2 * width + 3]
    assert "between 10 and 55 of 'age' and for '3' of 'city'" in editor.text("selected")
    assert "(about " in editor.text("selected")
    assert len(editor.figure["layout"]["shapes"]) == 2
    rectangle(editor, (50, 60), (50, 60))
    assert len(editor.selected) == 2
    editor.press("select-all")
    assert editor.selected == session.base.subject(session.base.terms[PAIR]).regular
    assert "all" in editor.text("selected")
    assert "cells" in editor.text("selected")


def test_the_verdict_is_about_the_heat_map(editor):
    editor.press("verdict")
    assert "more than noise: at " in editor.text("message")


def test_places_are_those_of_the_heat_map(session):
    places = EditedTerm.of(session, PAIR).places
    assert places.whole() == session.base.subject(session.base.terms[PAIR]).regular
    assert places.within({"x": [-9, 9**9], "y": [-9, 9**9]}) == sorted(places.codes)
    with pytest.raises(ValueError, match="no pair"):
        CellPlaces.of(session.base, session.base.terms[0])
