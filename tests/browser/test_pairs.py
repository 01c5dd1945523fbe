"""The heat map of a pair in interpret's dashboards, and its editor used as a person uses it."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier
from tests.browser.editor_page import EditorPage
from tests.ebm.pairs.pair_problems import LABELS, problem

pytestmark = pytest.mark.browser

PAIR = 5


@pytest.fixture(scope="module")
def model():
    data = problem(8_000)
    return DPExplainableBoostingClassifier(
        schema=LABELS, epsilon=2.0, delta=1e-6, interactions=[("age", "bmi")]
    ).fit(data.X, data.labels)


def test_the_small_dashboard_shows_and_edits_the_heat_map(dashboard, model):
    explanation = model.explain_global(name="pairs")
    session = explanation.edit_session
    page = dashboard(explanation)
    page.page.set_viewport_size({"width": 1300, "height": 1100})
    page.select("Name (age & bmi)")
    (figure,) = page.figures()
    assert figure["data"][0]["type"] == "heatmap"
    assert np.shape(figure["data"][0]["z"]) == tuple(
        size - 2 for size in model.term_scores_[PAIR].T.shape
    )
    page.screenshot("pair_editor")

    editor = EditorPage(page)
    _drag_over_first_cells(page)
    assert "Selected" in editor.text("selected")
    editor.press("remove")
    assert len(session.history) == 1
    (figure,) = page.figures()
    assert figure["data"][0]["z"][0][0] == 0.0
    page.screenshot("pair_editor_removed")
    editor.press("undo")
    assert not session.history
    page.assert_clean()


def _drag_over_first_cells(page):
    """Draw a rectangle within the cells (0, 0), (1, 0), (0, 1) and (1, 1)."""
    ends = page.page.evaluate(
        """() => {
            const plot = document.querySelector('.idp-editor .js-plotly-plot');
            plot.scrollIntoView();
            const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();
            const at = v => [box.left + xaxis._offset + xaxis.d2p(v),
                             box.top + yaxis._offset + yaxis.d2p(v)];
            return [at(-0.3), at(1.3)];
        }"""
    )
    mouse = page.page.mouse
    mouse.move(*ends[0])
    mouse.down()
    mouse.move((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2, steps=4)
    mouse.move(*ends[1], steps=4)
    mouse.up()
    page.settle()


def test_an_exported_page_draws_it_without_a_network(browser_page, model, tmp_path):
    from interpret_dp.explanation.export import write_html
    from tests.browser.driver import Dashboard

    path = tmp_path / "model.html"
    write_html(path, model.to_released(), model.privacy_spend_)
    page = Dashboard(browser_page)
    browser_page.context.set_offline(True)
    browser_page.goto(path.as_uri())
    page.settle()
    assert browser_page.locator(".pair .js-plotly-plot .heatmaplayer").count() > 0
    # The common scale is one of curves: the heat map's axis is the other feature.
    script = "() => document.querySelector('.pair .js-plotly-plot')._fullLayout.yaxis.range"
    before = browser_page.evaluate(script)
    browser_page.locator("#same-scale").click()
    page.settle()
    assert browser_page.evaluate(script) == before
    page.screenshot("pair_page")
    page.assert_clean()
