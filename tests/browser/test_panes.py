"""Cards of the full dashboard: a tick draws one of them, and the others stay as they are."""

import numpy as np
import pytest

from tests.browser.editor_page import EditorPage
from tests.browser.shared import script

pytestmark = pytest.mark.browser

_MARKS = "() => [...document.querySelectorAll('.js-plotly-plot')].map(p => [p.mark, p.drawings])"


@pytest.mark.slow
def test_a_tick_draws_its_own_card_alone_and_the_others_keep_what_was_done_in_them(
    dashboard, shown, session
):
    again = shown.model.explain_global(name="again")
    pane = dashboard([shown.total, again, shown.local])
    pane.open_tab("Global")
    pane.choose_explanation("Global", "all patients")
    pane.tick_row(0)
    editor = EditorPage(pane)
    plot = editor.card.locator(".js-plotly-plot")
    plot.hover()
    plot.locator('.modebar-btn[data-title="Zoom in"]').click()
    pane.settle()
    (zoomed,) = pane.page.evaluate(script("ranges"))
    editor.press("select-all")
    assert pane.page.evaluate(script("ranges")) == [zoomed]
    editor.press("flatten")
    editor.press("select-none")
    assert pane.page.evaluate(script("ranges"))[0][0] == zoomed[0]
    editor.press("undo")

    pane.tick_row(1)
    second = EditorPage(pane, 0)
    second.press("select-all")
    second.type("number", "0.25")
    second.type("why", "half a mess")
    second.unfold("History of this term")
    pane.page.evaluate(script("mark"))
    requests = []
    pane.page.on("request", lambda request: requests.append(request.url))
    pane.tick_row(2)
    # The new card is on top; the others, the overview among them, were not drawn again.
    marks = pane.page.evaluate(_MARKS)
    assert [mark for mark, _ in marks] == [None, 0, 1, 2]
    assert all(not drawings for _, drawings in marks[1:])
    second = EditorPage(pane, 1)
    assert "the whole curve" in second.text("selected")
    assert second.card.locator(".idp-editor-number input").input_value() == "0.25"
    assert second.card.locator("details", has_text="History").get_attribute("open") is not None
    assert second.bar.locator(".idp-editor-why-field input").input_value() == "half a mess"
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

    # Two panes of one model have one bar, and each notices the edits in the other.
    pane.choose_explanation("Global", "again")
    pane.tick_row(0)
    assert pane.page.locator(".idp-editor-plot").count() == 2
    assert pane.page.locator(".idp-editor-model").count() == 1
    left, right = EditorPage(pane, 0), EditorPage(pane, 1)
    left.press("select-all")
    left.press("flatten")
    status = pane.page.locator(".idp-editor-status")
    status.filter(has_text="1 edit, 1 not").nth(2).wait_for()
    assert "Nothing selected" in right.text("selected")
    pane.screenshot("editor_two_panes")
    right.press("undo")
    status.filter(has_text="no edits yet").nth(2).wait_for()
    assert left.bar.locator('[data-action="redo"]').is_enabled()
    pane.assert_clean()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1366, 390])
def test_all_that_is_on_the_screen_is_of_the_current_model(dashboard, shown, session, width):
    pane = dashboard([shown.total, shown.local], width=width)
    pane.open_tab("Global")
    pane.choose_explanation("Global", "all patients")
    pane.tick_row(0)
    # Somebody edits in Python, and then on the page.
    session.scale("systolic_bp", 3.0)
    EditorPage(pane).press("select-all")
    EditorPage(pane).press("flatten")
    EditorPage(pane).bar.get_by_text("2 edits, 2 not committed").wait_for()
    pane.settle()
    terms = dict(zip(session.terms, session.released.terms, strict=True))
    sizes = {n: np.average(t.scores**2, weights=t.weights) ** 0.5 for n, t in terms.items()}
    bars = next(f["data"] for f in pane.figures() if f["data"][0].get("orientation") == "h")
    drawn = dict(zip(bars[0]["customdata"], bars[0]["x"], strict=True))
    assert drawn == pytest.approx(sizes)
    ratios = pane.figures()[-1]["layout"]["yaxis2"]["ticktext"]
    assert ratios.count("edited") == 2
    rows = pane.page.locator(".dash-spreadsheet tr:visible").all_inner_texts()
    cells = {row.split()[0]: row.split()[3:] for row in rows if row.split()}
    for name in ("age", "systolic_bp"):
        assert cells[name] == [f"{float(f'{sizes[name]:.3g}')}"]
    assert len(cells["bmi"]) == 2
    assert pane.page.locator(".dash-select-cell input:checked").count() == 1
    pane.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    box = EditorPage(pane).bar.bounding_box()
    assert box["y"] == 0
    assert box["height"] < 230
    pane.assert_clean()
