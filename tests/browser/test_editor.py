"""The shape-function editor in interpret's dashboards, used as a person uses it."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from interpret_dp import load_model
from interpret_dp._documents import sealed
from interpret_dp.ui.dash.editor import callbacks
from tests.browser.editor_page import EditorPage

pytestmark = pytest.mark.browser


@pytest.fixture
def open_editor(dashboard, shown, session):
    """Return ``open_editor(term)``, which opens the small dashboard with that term's editor."""

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
    editor.unfold("History of this term")
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


def test_an_edited_model_shows_its_release_and_any_entry_can_be_gone_back_to(
    dashboard, shown, session, tmp_path
):
    """A model that was edited, saved and shown again says so, and can be reset to its release."""
    session.make_monotone("age")
    session.commit("risk grows with age")
    session.model.save(tmp_path / "edited.json")
    explanation = load_model(tmp_path / "edited.json").explain_global(name="edited before")
    page = dashboard(explanation, width=1366)
    assert "edited" in page.figures()[0]["layout"]["yaxis2"]["ticktext"]
    page.select("Name (age)")
    editor = EditorPage(page)
    assert "1 edit in the loaded model" in editor.text("status")
    names = {trace.get("name") for trace in page.figures()[0]["data"]}
    assert {"edited", "released"} <= names
    assert "an edit was not linear" in editor.text("plot")
    page.screenshot("editor_of_an_edited_model")

    editor.press("reset")
    own = explanation.edit_session
    assert not own.view("age").is_edited
    assert "an edit was not linear" not in editor.text("plot")
    editor.type("from", "40")
    editor.type("to", "60")
    editor.keys("Enter")
    assert "between" in editor.text("selected")
    editor.press("flatten")
    editor.press("verdict")
    assert "the released curve of 'age' between" in editor.text("line").lower()
    editor.unfold("History of this term")
    editor.press("look-0")
    assert "as loaded" in {trace.get("name") for trace in page.figures()[0]["data"]}
    page.screenshot("editor_history")
    editor.bar.locator("summary", has_text="History").click()
    editor.bar.locator('[data-action="back-0"]').click()
    page.settle()
    assert [record.what for record in own.history][-1] == "set back to before these edits"
    assert np.array_equal(own.view("age").current, session.view("age").current)
    assert "2 edits in the loaded model" not in editor.text("status")
    page.assert_fits()
    page.assert_clean()


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


def test_a_preview_with_metrics_is_accepted_and_left_by_keys(open_editor, session, cohort):
    session.use_public_rows(cohort.X.head(800), cohort.y.head(800), public=True)
    editor = open_editor("age", width=1366)
    page = editor.dashboard.page
    editor.choose("Preview first")
    editor.select(40, 60)
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
    for name, value in (("Feature of the slice", "sex"), ("Values of the slice", "female")):
        editor.card.get_by_role("group", name=name).click()
        page.locator(".dash-dropdown-option", has_text=value).first.click()
        editor.dashboard.settle()
    # It closes the list of values, which stays open for more of them, and leaves the preview.
    editor.keys("Escape")
    assert "Slice for 'female' of 'sex'" in editor.text("metrics")
    editor.dashboard.screenshot("editor_preview")
    editor.press("accept")
    assert len(session.history) == 2
    editor.dashboard.narrow(390)
    editor.dashboard.screenshot("editor_preview_narrow")
    tables = editor.card.locator(".idp-editor-metrics")
    assert tables.evaluate("part => part.scrollWidth - part.clientWidth") <= 0
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
    for _ in range(2):  # the same file once more
        editor.press("undo")
        with editor.dashboard.page.expect_file_chooser() as chooser:
            editor.bar.get_by_text("Load a file").click()
        chooser.value.set_files(path)
        editor.bar.locator(".idp-editor-message", has_text="Loaded 1 edit").wait_for()
        editor.dashboard.settle()
        assert np.array_equal(session.view("age").current, edited)
    editor.dashboard.screenshot("editor_files")
    editor.dashboard.assert_clean()


def test_two_panes_at_a_narrow_width_notice_each_other(dashboard, shown, session):
    page = dashboard([shown.total, shown.model.explain_global(name="again")])
    page.open_tab("Global")
    page.choose_explanation("Global", "all patients")
    page.choose_explanation("Global", "again")
    page.tick_row(0)
    assert page.page.locator(".idp-editor-plot").count() == 2
    # Both explanations are of one model.
    assert page.page.locator(".idp-editor-model").count() == 1
    left, right = EditorPage(page, 0), EditorPage(page, 1)
    left.press("select-all")
    left.press("flatten")
    page.page.locator(".idp-editor-status", has_text="1 edit, 1 not").nth(2).wait_for()
    assert "Nothing selected" in right.text("selected")
    page.screenshot("editor_two_panes")
    right.press("undo")
    page.page.locator(".idp-editor-status", has_text="no edits yet").nth(2).wait_for()
    assert left.bar.locator('[data-action="redo"]').is_enabled()
    page.assert_clean()


def test_a_card_keeps_what_was_done_in_it_when_another_one_opens(dashboard, shown, session):
    page = dashboard([shown.total, shown.costs])
    page.open_tab("Global")
    page.choose_explanation("Global", "all patients")
    page.tick_row(0)
    first = EditorPage(page)
    name = first.text("name")
    first.select(40, 60)
    selected = first.text("selected")
    first.type("number", "0.25")
    first.type("why", "half a mess")
    first.choose("Scale of all terms")
    first.unfold("History of this term")
    page.tick_row(1)
    page.page.locator(".idp-editor-plot").nth(1).wait_for()
    page.settle()
    cards = [EditorPage(page, place) for place in (0, 1)]
    same, other = sorted(cards, key=lambda card: card.text("name") != name)
    assert same.text("selected") == selected
    assert same.card.locator(".idp-editor-number input").input_value() == "0.25"
    assert same.bar.locator(".idp-editor-why-field input").input_value() == "half a mess"
    chosen = same.card.locator(".idp-editor-segments label:has(input:checked)")
    assert "Scale of all terms" in chosen.all_inner_texts()
    assert same.card.locator("details", has_text="History").get_attribute("open") is not None
    page.screenshot("editor_fields")
    assert "Nothing selected" in other.text("selected")
    same.press("shift")
    assert len(session.history) == 1
    page.assert_clean()


def test_a_card_at_work_takes_no_second_click(open_editor, session, monkeypatch):
    perform = callbacks.perform

    def slow(*arguments):
        time.sleep(1.5)
        return perform(*arguments)

    editor = open_editor("age")
    editor.press("select-all")
    editor.type("number", "0.5")
    monkeypatch.setattr(callbacks, "perform", slow)
    button = editor.card.locator('[data-action="shift"]')
    button.dblclick()
    editor.dashboard.page.wait_for_timeout(600)
    assert editor.card.get_attribute("aria-busy") == "true"
    editor.dashboard.screenshot("editor_busy")
    button.click()
    editor.dashboard.settle()
    assert editor.card.get_attribute("aria-busy") == "false"
    assert len(session.history) == 1
    monkeypatch.undo()
    editor.press("shift")
    assert len(session.history) == 2
    editor.dashboard.assert_clean()


def test_a_narrow_page_clips_nothing(open_editor):
    editor = open_editor("age", width=800)
    editor.select(40, 70)
    editor.press("smooth")
    editor.choose("Scale of all terms")
    editor.choose("Plausible curves")
    drawn = editor.dashboard.figures()[0]["data"]
    assert any(trace.get("meta") == "plausible curves" for trace in drawn)
    editor.unfold("History of this term")
    editor.unfold("Download, load")
    editor.dashboard.screenshot("editor_narrow")
    clipped = editor.dashboard.page.evaluate(
        "() => [...document.querySelectorAll('.idp-editor button, .idp-editor span')]"
        # Names for those who do not see the screen.
        ".filter(e => !e.closest('.idp-unseen') && e.offsetWidth)"
        ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)"
        ".map(e => e.textContent)"
    )
    assert clipped == []
    editor.dashboard.assert_fits()
    editor.dashboard.assert_clean()
