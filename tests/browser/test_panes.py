"""Cards of the full dashboard: a tick draws one of them, and the others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier
from tests.browser.editor_page import EditorPage
from tests.ebm.pairs.pair_problems import LABELS, problem

pytestmark = pytest.mark.browser

_MARK = """
() => document.querySelectorAll('.js-plotly-plot').forEach((plot, place) => {
    plot.mark = place;
    plot.drawings = 0;
    plot.on('plotly_afterplot', () => plot.drawings++);
})
"""
_MARKS = "() => [...document.querySelectorAll('.js-plotly-plot')].map(p => [p.mark, p.drawings])"
_RANGES = """
() => [...document.querySelectorAll('.idp-editor .js-plotly-plot')].map(plot =>
    [plot._fullLayout.xaxis.range, plot._fullLayout.yaxis.range])
"""


def test_a_zoom_survives_selections_and_a_tick_draws_its_own_card_alone(dashboard, shown):
    pane = dashboard([shown.total, shown.local])
    pane.open_tab("Global")
    pane.choose_explanation("Global", "all patients")
    pane.tick_row(0)
    editor = EditorPage(pane)
    plot = editor.card.locator(".js-plotly-plot")
    plot.hover()
    plot.locator('.modebar-btn[data-title="Zoom in"]').click()
    pane.settle()
    (zoomed,) = pane.page.evaluate(_RANGES)
    editor.press("select-all")
    assert pane.page.evaluate(_RANGES) == [zoomed]
    editor.press("flatten")
    editor.press("select-none")
    assert pane.page.evaluate(_RANGES)[0][0] == zoomed[0]
    editor.press("undo")

    pane.tick_row(1)
    second = EditorPage(pane, 0)
    second.press("select-all")
    pane.page.evaluate(_MARK)
    requests: list[str] = []
    pane.page.on("request", lambda request: requests.append(request.url))
    pane.tick_row(2)
    # The new card is on top; the others, the overview among them, were not drawn again.
    marks = pane.page.evaluate(_MARKS)
    assert [mark for mark, _ in marks] == [None, 0, 1, 2]
    assert all(not drawings for _, drawings in marks[1:])
    assert "the whole curve" in EditorPage(pane, 1).text("selected")
    pane.tick_row(1)
    assert [mark for mark, _ in pane.page.evaluate(_MARKS)] == [None, 1, 2]
    pane.tick_row(1)
    assert [mark for mark, _ in pane.page.evaluate(_MARKS)] == [None, None, 1, 2]
    assert pane.text().count("What does this mean?") == 1

    requests.clear()
    pane.page.wait_for_timeout(2_500)
    # One clock, however many cards there are; it has two answers, for cards and for bars.
    assert len([url for url in requests if url.endswith("_dash-update-component")]) <= 6
    for row in (2, 1, 0):
        pane.tick_row(row)
    assert [mark for mark, _ in pane.page.evaluate(_MARKS)] == [2]
    pane.screenshot("panes")
    pane.assert_clean()


# --------------------------------------------------------------------------- the heat map of a pair


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
