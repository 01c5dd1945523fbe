"""The shape-function editor in interpret's dashboards, used as a person uses it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from interpret_dp._documents import sealed

pytestmark = pytest.mark.browser


@pytest.fixture
def session(shown):
    """Return the session of all dashboards of the model, and leave it without edits."""
    found = shown.total.edit_session
    yield found
    while found.can_undo:
        found.undo()


@pytest.fixture
def open_editor(dashboard, shown, session):
    """Return ``open_editor(term)``, which opens the small dashboard with that term's editor."""
    from tests.browser.editor_page import EditorPage

    def open_term(term: str, width: int = 1300) -> EditorPage:
        page = dashboard(shown.total, width=width)
        page.select(f"Name ({term})")
        return EditorPage(page)

    return open_term


def test_select_edit_undo_redo_and_commit(open_editor, session):
    editor = open_editor("age")
    assert "no edits yet" in editor.text("status")
    assert editor.card.locator('[data-action="increasing"]').is_disabled()

    editor.select(40, 80)
    selected = editor.text("selected")
    assert "Selected:" in selected
    editor.press("decreasing")
    view = session.view("age")
    edited = view.current
    changed = np.flatnonzero(edited != view.original)
    inside = [c for c in changed if view.edges[c - 1] < 80 and view.edges[c] > 40]
    assert len(changed) > 2
    assert list(changed) == inside
    assert "made decreasing between" in editor.text("line")
    assert "1 edit, 1 not committed" in editor.text("status")
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

    editor.press("undo")
    editor.press("undo")
    assert np.array_equal(session.view("age").current, view.original)
    editor.press("redo")
    assert np.array_equal(session.view("age").current, edited)
    editor.type("why", "for the test")
    editor.press("commit")
    assert [record.why for record in session.history] == ["for the test"]
    editor.unfold("History")
    assert "“for the test”" in editor.text("history")

    # Nothing selected is not everything.
    editor.dashboard.page.mouse.dblclick(*editor.place(position=50)[:2])
    editor.dashboard.settle()
    editor.press("select-none")
    assert "Nothing selected" in editor.text("selected")
    assert editor.card.locator('[data-action="flatten"]').is_disabled()
    editor.press("select-all")
    assert "the whole curve" in editor.text("selected")
    assert len(session.history) == 1
    editor.dashboard.assert_clean()


def test_dragging_moves_the_selected_range_or_exactly_one_bin(open_editor, session):
    editor = open_editor("age")
    editor.select(45, 65)
    before = session.view("age").current
    bins = list(editor.dashboard.figures()[0]["layout"]["meta"]["selected"])
    by = editor.drag(bins[1], up=40, keep=False)
    editor.mouse.up()
    editor.dashboard.settle()
    after = session.view("age").current
    assert np.flatnonzero(after != before).tolist() == bins
    assert after[bins] - before[bins] == pytest.approx(by, rel=0.05)
    assert "shifted by +" in editor.text("line")

    editor.press("select-none")
    editor.choose("Drag")
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


def test_keys_undo_and_redo_in_the_card_that_has_the_focus(open_editor, session):
    editor = open_editor("age")
    editor.press("select-all")
    editor.press("decreasing")
    editor.press("remove")
    assert len(session.history) == 2
    editor.keys("Control+z", "Control+z")
    assert session.history == ()
    editor.keys("Control+Shift+z", "Control+y")
    assert len(session.history) == 2
    # In a field the keys belong to its text, and Enter commits.
    editor.type("why", "no effect is known")
    editor.keys("Control+z")
    assert len(session.history) == 2
    editor.type("why", "no effect is known")
    editor.keys("Enter")
    assert not session.pending
    # Outside of the card they are somebody else's.
    editor.dashboard.page.locator(".card-header").first.click()
    editor.keys("Control+z")
    assert len(session.history) == 2
    editor.dashboard.assert_clean()


def test_levels_are_chosen_by_clicks(open_editor, session):
    editor = open_editor("insurance")
    first, second = editor.dashboard.figures()[0]["layout"]["meta"]["codes"][:2]
    editor.click(first, down=20)
    editor.click(second, down=20)
    editor.type("number", "0.5")
    editor.press("set")
    current = session.view("insurance").current
    assert np.flatnonzero(current == 0.5).tolist() == sorted([first, second])
    editor.click(first, down=20)
    editor.press("cap")
    editor.dashboard.screenshot("editor_levels")
    assert session.to_dict()["edits"][0]["bins"] == sorted([first, second])
    editor.dashboard.assert_clean()


def test_download_and_load(open_editor, session, tmp_path):
    editor = open_editor("age")
    editor.press("select-all")
    editor.press("increasing")
    edited = session.view("age").current
    editor.unfold("Download, load")
    with editor.dashboard.page.expect_download() as download:
        editor.press("download")
    path = tmp_path / "edits.json"
    download.value.save_as(path)
    assert json.loads(path.read_text()) == sealed(session.to_dict())
    editor.press("undo")
    editor.card.locator('input[type="file"]').set_input_files(path)
    editor.card.locator(".idp-editor-line", has_text="Loaded 1 edit").wait_for()
    assert np.array_equal(session.view("age").current, edited)
    editor.dashboard.screenshot("editor_files")
    editor.dashboard.assert_clean()


def test_two_panes_at_a_narrow_width_notice_each_other(dashboard, shown, session):
    from tests.browser.editor_page import EditorPage

    page = dashboard([shown.total, shown.model.explain_global(name="again")])
    page.open_tab("Global")
    page.choose_explanation("Global", "all patients")
    page.choose_explanation("Global", "again")
    page.tick_row(0)
    assert page.page.locator(".idp-editor").count() == 2
    left, right = EditorPage(page, 0), EditorPage(page, 1)
    left.press("select-all")
    left.press("flatten")
    page.page.locator(".idp-editor-status", has_text="1 edit, 1 not").nth(1).wait_for()
    assert "Nothing selected" in right.text("selected")
    page.screenshot("editor_two_panes")
    right.press("undo")
    page.page.locator(".idp-editor-status", has_text="no edits yet").nth(1).wait_for()
    assert left.card.locator('[data-action="redo"]').is_enabled()
    page.assert_clean()


def test_a_narrow_page_clips_nothing(open_editor):
    editor = open_editor("age", width=800)
    editor.select(40, 70)
    editor.press("smooth")
    editor.choose("Scale of all terms")
    editor.choose("Plausible curves")
    drawn = editor.dashboard.figures()[0]["data"]
    assert any(trace.get("meta") == "plausible curves" for trace in drawn)
    editor.unfold("History")
    editor.unfold("Download, load")
    editor.dashboard.screenshot("editor_narrow")
    clipped = editor.dashboard.page.evaluate(
        "() => [...document.querySelectorAll('.idp-editor button, .idp-editor span')]"
        ".filter(e => e.offsetWidth && e.scrollWidth > e.clientWidth + 1 && e.clientWidth)"
        ".map(e => e.textContent)"
    )
    assert clipped == []
    editor.dashboard.assert_fits()
    editor.dashboard.assert_clean()
