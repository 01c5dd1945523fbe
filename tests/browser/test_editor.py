"""The shape-function editor in interpret's dashboards, used as a person uses it."""

import json
import threading

import numpy as np
import pytest

from interpret_dp._documents import sealed
from interpret_dp.ui.dash import callbacks
from tests.browser.editor_page import EditorPage
from tests.browser.shared import script

pytestmark = pytest.mark.browser


@pytest.fixture
def open_editor(dashboard, shown, session):
    """Return ``open_editor(term)``, which opens the small dashboard with that term's editor."""

    def open_term(term, width=1300):
        page = dashboard(shown.total, width=width)
        page.open_term(term)
        return EditorPage(page)

    return open_term


def test_a_range_is_edited_undone_and_committed_with_buttons_and_keys(open_editor, session):
    editor = open_editor("age")
    assert "no edits yet" in editor.text("status")
    assert editor.card.locator('[data-action="increasing"]').is_hidden()

    editor.select(40, 80)
    selected = editor.text("selected")
    assert "Selected:" in selected
    editor.press("decreasing")
    view = session.view("age")
    changed = np.flatnonzero(view.current != view.original)
    inside = [c for c in changed if view.edges[c - 1] < 80 and view.edges[c] > 40]
    assert len(changed) > 2
    assert list(changed) == inside
    assert "made decreasing between" in editor.text("line")
    assert "edited: 1 change" in editor.dashboard.text()
    editor.dashboard.screenshot("editor_edited")

    # A second operation takes the same bins, though plotly has forgotten its selection.
    assert editor.text("selected") == selected
    shapes = editor.dashboard.figures()[0]["layout"]["shapes"]
    assert any(shape["type"] == "rect" for shape in shapes)
    editor.type("number", "0.25")
    editor.press("shift")
    first, second = session.to_dict()["edits"]
    assert first["bins"] == second["bins"]

    asked = []
    editor.dashboard.page.on(
        "request", lambda request: asked.append((request.post_data_json or {}).get("output", ""))
    )
    editor.press("undo")
    editor.press("redo")
    assert len(session.history) == 2
    # What appears in the history asks nothing: while Python answers, a card takes no click.
    assert not any("idp-editor-looked" in output for output in asked)
    editor.card.locator('[data-action="shift"]').focus()
    editor.keys("Control+z", "Control+z")
    assert session.history == ()
    editor.keys("Control+Shift+z", "Control+y")
    assert len(session.history) == 2
    # In a field the keys belong to its text, and Enter commits.
    editor.type("why", "for the test")
    editor.keys("Control+z")
    assert len(session.history) == 2
    editor.type("why", "for the test")
    editor.keys("Enter")
    assert [record.why for record in session.history] == ["for the test"] * 2
    editor.unfold("History of this term")
    assert "“for the test”" in editor.text("history")
    editor.unfold("History and files")
    editor.press("total")
    assert "intercept shifted to keep the total" in editor.bar.inner_text()
    editor.dashboard.screenshot("editor_total")
    editor.press("undo")
    # Outside of the card they are somebody else's.
    editor.dashboard.page.locator(".idp-browser .idp-muted").first.click()
    editor.keys("Control+z")
    assert len(session.history) == 2

    # A double click and the button select nothing, which is not everything.
    editor.dashboard.page.mouse.dblclick(*editor.place(position=50)[:2])
    editor.dashboard.settle()
    editor.press("select-none")
    assert "Nothing selected" in editor.text("selected")
    assert editor.card.locator('[data-action="flatten"]').is_hidden()
    editor.dashboard.assert_clean()


def test_dragging_moves_the_selected_range_or_exactly_one_bin(open_editor, session):
    editor = open_editor("age")
    editor.select(45, 65)
    before = session.view("age").current
    # A press on the curve selects, unless it is to drag.
    marked = editor.dashboard.figures()[0]["layout"]["meta"]["selected"]
    editor.drag(marked[1], up=40)
    assert session.history == ()
    editor.select(45, 65)
    editor.choose("Drag")
    bins = list(editor.dashboard.figures()[0]["layout"]["meta"]["selected"])
    by = editor.drag(bins[1], up=40, keep=False)
    editor.mouse.up()
    editor.dashboard.settle()
    after = session.view("age").current
    assert np.flatnonzero(after != before).tolist() == bins
    assert after[bins] - before[bins] == pytest.approx(by, rel=0.05)
    assert "shifted by +" in editor.text("line")

    editor.press("select-none")
    # The chosen one is white on blue, also while it has the focus.
    chosen = editor.card.locator(".idp-editor-segments label:has(input:checked)").first
    assert chosen.evaluate("label => getComputedStyle(label).color") == "rgb(255, 255, 255)"
    before = after
    by = editor.drag(5, up=-30, below=25)
    after = session.view("age").current
    assert np.flatnonzero(after != before).tolist() == [5]
    assert after[5] - before[5] == pytest.approx(by, rel=0.05)

    # A press that goes nowhere, and one that Escape ends, change nothing.
    editor.click(5)
    editor.drag(5, up=30, keep=False)
    editor.keys("Escape")
    editor.mouse.up()
    editor.dashboard.settle()
    assert len(session.history) == 2
    drawn = editor.dashboard.figures()[0]
    entry = drawn["layout"]["meta"]["traces"][0]
    heights = drawn["data"][entry["trace"]]["y"]
    assert heights[entry["codes"].index(5)] == pytest.approx(after[5])
    editor.dashboard.assert_clean()


def test_a_card_at_work_takes_no_second_click_and_files_and_levels_work(
    open_editor, session, tmp_path, monkeypatch
):
    perform, clicked_again = callbacks.perform, threading.Event()

    def slow(*arguments):
        assert clicked_again.wait(60)
        return perform(*arguments)

    editor = open_editor("age")
    page = editor.dashboard.page
    editor.press("select-all")
    editor.type("number", "0.5")
    # An answer within one frame frees the card at once.
    assert editor.card.locator('[data-action="set"]').evaluate(script("clicks_that_count")) == 2
    monkeypatch.setattr(callbacks, "perform", slow)
    button = editor.card.locator('[data-action="shift"]')
    button.dblclick()
    page.wait_for_timeout(600)
    assert editor.card.get_attribute("aria-busy") == "true"
    assert page.locator("body[aria-busy=true]").count() == 1
    editor.dashboard.screenshot("editor_busy")
    button.click()
    clicked_again.set()
    editor.dashboard.settle()
    assert editor.card.get_attribute("aria-busy") == "false"
    assert page.locator("body[aria-busy=false]").count() == 1
    assert len(session.history) == 1
    monkeypatch.undo()

    edited = session.view("age").current
    editor.unfold("History and files")
    with page.expect_download() as download:
        editor.press("download")
    path = tmp_path / "edits.json"
    download.value.save_as(path)
    assert json.loads(path.read_text()) == sealed(session.to_dict())
    for _ in range(2):  # the same file once more
        editor.press("undo")
        with page.expect_file_chooser() as chooser:
            editor.bar.get_by_text("Load a file").click()
        chooser.value.set_files(path)
        editor.bar.locator(".idp-editor-message", has_text="Loaded 1 edit").wait_for()
        editor.dashboard.settle()
        assert np.array_equal(session.view("age").current, edited)
    editor.dashboard.screenshot("editor_files")

    # Clicks choose levels, and after an edit other ones.
    editor.dashboard.open_term("insurance")
    first, second = editor.dashboard.figures()[0]["layout"]["meta"]["codes"][:2]
    editor.click(first, down=20)
    editor.click(second, down=20)
    editor.type("number", "0.5")
    editor.press("set")
    current = session.view("insurance").current
    assert np.flatnonzero(current == 0.5).tolist() == sorted([first, second])
    editor.click(first, down=20)
    editor.press("remove")
    editor.dashboard.screenshot("editor_levels")
    assert session.to_dict()["edits"][-1]["bins"] == [second]
    editor.dashboard.assert_clean()


def test_a_preview_with_metrics_is_accepted_and_left_by_keys(open_editor, session, cohort):
    session.use_public_rows(cohort.X.head(800), cohort.y.head(800), public=True)
    editor = open_editor("age", width=1366)
    page = editor.dashboard.page
    editor.choose("Preview first")
    for field, value in (("from", "40"), ("to", "60")):
        editor.type(field, value)
    editor.keys("Enter")
    assert "between" in editor.text("selected")
    editor.press("remove")
    accept = editor.card.locator('[data-action="accept"]')
    assert accept.is_visible()
    assert "preview" in editor.text("metrics")
    # The button that made the preview still has the focus.
    editor.keys("Escape")
    assert accept.count() == 0
    assert "Selected:" in editor.text("selected")
    assert session.history == ()
    editor.press("remove")
    editor.keys("Enter")
    (record,) = session.history
    assert record.what.endswith("with metrics on 800 public rows")
    assert accept.count() == 0
    # Another button takes the key itself.
    editor.type("number", "0.5")
    editor.press("shift")
    editor.card.locator('[data-action="set"]').focus()
    editor.keys("Enter")
    assert "Preview: age set to 0.5" in editor.text("line")
    editor.dashboard.screenshot("editor_preview")
    editor.press("accept")
    assert len(session.history) == 2

    # The same on a narrow page, with all that can be opened.
    for label in ("Scale of all terms", "Plausible curves"):
        editor.choose(label)
    drawn = editor.dashboard.figures()[0]["data"]
    assert any(trace.get("meta") == "plausible curves" for trace in drawn)
    for title in ("History of this term", "History and files"):
        editor.unfold(title)
    editor.dashboard.narrow(800)
    editor.dashboard.screenshot("editor_narrow")
    assert page.evaluate(script("clipped")) == []
    editor.dashboard.narrow(390)
    editor.dashboard.screenshot("editor_preview_narrow")
    tables = editor.card.locator(".idp-editor-metrics")
    assert tables.evaluate("part => part.scrollWidth - part.clientWidth") <= 0
    editor.dashboard.assert_clean()
