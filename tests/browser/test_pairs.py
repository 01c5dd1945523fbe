"""The heat map of a pair in interpret's dashboard, and its editor used as a person uses it."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier
from tests.browser.editor_page import EditorPage
from tests.ebm.pairs.pair_problems import LABELS, problem

pytestmark = pytest.mark.browser

PAIR = 5


def test_the_small_dashboard_shows_and_edits_the_heat_map(dashboard):
    data = problem(4_000)
    model = DPExplainableBoostingClassifier(
        schema=LABELS, epsilon=2.0, delta=1e-6, interactions=[("age", "bmi")]
    ).fit(data.X, data.labels)
    explanation = model.explain_global(name="pairs")
    session = explanation.edit_session
    page = dashboard(explanation)
    page.select("Name (age & bmi)")
    (figure,) = page.figures()
    assert figure["data"][0]["type"] == "heatmap"
    assert np.shape(figure["data"][0]["z"]) == tuple(
        size - 2 for size in model.term_scores_[PAIR].T.shape
    )

    editor = EditorPage(page)
    editor.draw(*_ends_in_the_first_cells(page))
    assert "Selected" in editor.text("selected")
    editor.press("remove")
    assert len(session.history) == 1
    (figure,) = page.figures()
    assert figure["data"][0]["z"][0][0] == 0.0
    page.screenshot("pair_editor")
    editor.press("undo")
    assert not session.history
    page.assert_clean()


def _ends_in_the_first_cells(page):
    """Return two corners of a rectangle within the cells (0, 0), (1, 0), (0, 1) and (1, 1)."""
    page.hold_still()
    return page.page.evaluate(
        """() => {
            const plot = document.querySelector('.idp-editor .js-plotly-plot');
            plot.scrollIntoView();
            const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();
            const at = v => [box.left + xaxis._offset + xaxis.d2p(v),
                             box.top + yaxis._offset + yaxis.d2p(v)];
            return [at(-0.3), at(1.3)];
        }"""
    )
