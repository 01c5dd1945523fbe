"""The editor's card of a pair: its heat map, rectangles that select cells, and its tools."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.ui.figure import EditedTerm
from tests.ebm.pairs.pair_problems import LABELS, problem
from tests.ui.dash.client import AppClient
from tests.ui.dash.editor.client import EditorClient

PAIR = 5


@pytest.fixture(scope="module")
def explanation():
    from interpret_dp import DPExplainableBoostingClassifier

    data = problem(6_000)
    model = DPExplainableBoostingClassifier(
        schema=LABELS, epsilon=2.0, delta=1e-6, interactions=[("age", "bmi")]
    )
    return model.fit(data.X, data.labels).explain_global(name="pairs")


@pytest.fixture
def session(explanation):
    found = explanation.edit_session
    while found.can_undo:
        found.undo()
    return found


@pytest.fixture
def editor(explanation, session):
    return EditorClient(AppClient(explanation), PAIR)


def rectangle(editor, x, y):
    box = {"range": {"x": list(x), "y": list(y)}, "points": []}
    editor.change("idp-editor-plot", "selectedData", box)


def test_a_rectangle_selects_the_cells_that_it_touches(editor, session):
    width = session.base.subject(session.base.terms[PAIR]).shape[1]
    rectangle(editor, (0.2, 1.4), (1.6, 2.1))
    assert editor.selected == [1 * width + 3, 2 * width + 3]
    assert "of 'age' and between" in editor.text("selected")
    assert "(about " in editor.text("selected")
    assert len(editor.figure["layout"]["shapes"]) == 2
    rectangle(editor, (50, 60), (50, 60))
    assert len(editor.selected) == 2
    editor.press("all")
    assert editor.selected == session.base.subject(session.base.terms[PAIR]).regular
    assert "all" in editor.text("selected")
    assert "cells" in editor.text("selected")


@pytest.mark.thorough
def test_tools_edit_the_cells_and_undo_brings_them_back(editor, session):
    before = session.view(PAIR).current
    rectangle(editor, (-0.4, 0.4), (-0.4, 0.4))
    (cell,) = editor.selected
    editor.press("remove")
    assert session.view(PAIR).current[cell] == 0.0
    assert editor.figure["data"][0]["z"][0][0] == 0.0
    editor.change("idp-editor-number", "value", "0.5")
    editor.press("all")
    editor.press("scale")
    # Cells of the missing, which are not selected, are zero but for rounding.
    halved = np.where(before == before[cell], 0, before / 2)
    assert np.allclose(session.view(PAIR).current, halved, atol=1e-6)
    editor.press("smooth")
    assert len(session.history) == 3
    for _ in range(3):
        editor.press("undo")
    assert np.array_equal(session.view(PAIR).current, before)


def test_the_verdict_is_about_the_heat_map(editor):
    editor.press("verdict")
    assert "more than noise: at " in editor.text("message")


def test_places_are_those_of_the_heat_map(session):
    places = EditedTerm.of(session, PAIR).places
    assert places.whole() == session.base.subject(session.base.terms[PAIR]).regular
    assert places.within({"x": [-9, 9**9], "y": [-9, 9**9]}) == sorted(places.codes)
    with pytest.raises(ValueError, match="no pair"):
        CellPlaces.of(session.base, session.base.terms[0])
