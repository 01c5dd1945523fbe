"""The shape-function editor in interpret's dashboards, used as a person uses it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger
from interpret_dp._documents import sealed
from interpret_dp.editor import EditSession

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def fitted(cohort, tmp_path_factory):
    """Return a model of the cohort with its ledger; each test has a model, hence a session."""
    ledger = PrivacyLedger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'privacy.db'}")
    ledger.create_budget("cohort", epsilon=4, delta=1e-5)
    model = DPExplainableBoostingClassifier(
        epsilon=1.0, delta=1e-6, schema=cohort.schema, ledger=ledger, dataset="cohort"
    ).fit(cohort.X, cohort.y)
    return SimpleNamespace(model=model, ledger=ledger, X=cohort.X)


@pytest.fixture
def shown(fitted):
    """Return the explanation with a session that no other test has edited."""
    explanation = fitted.model.explain_global(name="all patients")
    session = explanation.edit_session
    while session.can_undo:
        session.undo()
    return explanation


@pytest.fixture
def open_editor(dashboard, shown):
    """Return ``open_editor(term)``, which opens the small dashboard with that term's editor."""
    from tests.browser.editor_page import EditorPage

    def open_term(term: str) -> EditorPage:
        page = dashboard(shown)
        page.page.set_viewport_size({"width": 1300, "height": 1100})
        page.select(f"Name ({term})")
        return EditorPage(page)

    return open_term


def edits(session):
    return [(record.term, record.what.split(" (")[0]) for record in session.history]


def is_increasing(scores):
    return bool((np.diff(scores) >= 0).all())


def test_select_repair_undo_redo_and_commit(open_editor, shown, fitted):
    session, entries = shown.edit_session, len(fitted.ledger.entries("cohort"))
    before = fitted.model.predict_proba(fitted.X)
    editor = open_editor("age")
    assert "no edits yet" in editor.text("status")
    assert editor.card.locator('[data-action="increasing"]').is_disabled()
    editor.dashboard.screenshot("editor_start")

    editor.select(40, 80)
    assert "Selected:" in editor.text("selected")
    editor.press("decreasing")
    view = session.view("age")
    changed = np.flatnonzero(view.current != view.original)
    inside = [c for c in changed if view.edges[c - 1] < 80 and view.edges[c] > 40]
    assert len(changed) > 2
    assert list(changed) == inside
    assert "made decreasing between" in editor.text("line")
    assert "1 edit, 1 not committed" in editor.text("status")
    assert "edited: 1 change" in editor.dashboard.text()
    editor.dashboard.screenshot("editor_monotone")
    edited = shown.edit_session.model.predict_proba(fitted.X)
    assert not np.allclose(edited, before)

    editor.press("undo")
    assert np.array_equal(session.view("age").current, view.original)
    assert np.array_equal(session.model.predict_proba(fitted.X), before)
    editor.press("redo")
    assert np.array_equal(session.model.predict_proba(fitted.X), edited)

    editor.press("commit")
    assert "must say why" in editor.text("line")
    assert session.pending
    editor.type("why", "for the test")
    editor.press("commit")
    assert [record.why for record in session.history] == ["for the test"]
    editor.unfold("History")
    assert "“for the test”" in editor.text("history")
    editor.dashboard.screenshot("editor_committed")
    assert len(fitted.ledger.entries("cohort")) == entries
    assert session.model.guarantee_ == fitted.model.guarantee_
    editor.dashboard.assert_clean()


def test_selection_outlives_a_new_figure_and_none_is_not_everything(open_editor, shown):
    editor = open_editor("age")
    editor.select(40, 60)
    selected = editor.text("selected")
    editor.press("flatten")
    assert editor.text("selected") == selected
    assert is_drawn(editor)
    # A second operation takes the same bins, though plotly has forgotten its selection.
    editor.type("number", "0.25")
    editor.press("shift")
    first, second = shown.edit_session.to_dict()["edits"]
    assert first["bins"] == second["bins"]
    assert len(first["bins"]) < len(shown.edit_session.view("age").labels) - 2

    editor.dashboard.page.mouse.dblclick(*editor.place(position=50)[:2])
    editor.dashboard.settle()
    editor.press("select-none")
    assert "Nothing selected" in editor.text("selected")
    assert editor.card.locator('[data-action="flatten"]').is_disabled()
    assert len(shown.edit_session.history) == 2
    editor.press("select-all")
    assert "the whole curve" in editor.text("selected")
    editor.dashboard.assert_clean()


def is_drawn(editor):
    shapes = editor.dashboard.figures()[0]["layout"]["shapes"]
    return any(shape["type"] == "rect" for shape in shapes)


def test_dragging_moves_the_selected_range(open_editor, shown):
    editor = open_editor("age")
    editor.select(45, 65)
    before = shown.edit_session.view("age").current
    bins = list(editor.dashboard.figures()[0]["layout"]["meta"]["selected"])
    by = editor.drag(bins[1], up=40, keep=False)
    editor.dashboard.screenshot("editor_dragging")
    editor.mouse.up()
    editor.dashboard.settle()
    after = shown.edit_session.view("age").current
    assert np.flatnonzero(after != before).tolist() == bins
    assert after[bins] - before[bins] == pytest.approx(by, rel=0.05)
    assert "shifted by +" in editor.text("line")
    editor.dashboard.screenshot("editor_dragged")
    editor.dashboard.assert_clean()


def test_dragging_moves_exactly_one_bin(open_editor, shown):
    editor = open_editor("age")
    editor.choose("Drag")
    before = shown.edit_session.view("age").current
    by = editor.drag(5, up=-30, below=25)
    after = shown.edit_session.view("age").current
    assert np.flatnonzero(after != before).tolist() == [5]
    assert after[5] - before[5] == pytest.approx(by, rel=0.05)
    assert "Nothing selected" in editor.text("selected")

    # A press that goes nowhere, and one that Escape ends, change nothing.
    editor.click(5)
    editor.drag(5, up=30, keep=False)
    editor.keys("Escape")
    editor.mouse.up()
    editor.dashboard.settle()
    assert len(shown.edit_session.history) == 1
    drawn = editor.dashboard.figures()[0]
    entry = drawn["layout"]["meta"]["traces"][0]
    heights = drawn["data"][entry["trace"]]["y"]
    assert heights[entry["codes"].index(5)] == pytest.approx(after[5])
    editor.dashboard.assert_clean()


def test_keys_undo_and_redo_in_the_card_that_has_the_focus(open_editor, shown):
    session = shown.edit_session
    editor = open_editor("age")
    editor.press("select-all")
    editor.press("decreasing")
    editor.press("remove")
    assert edits(session) == [("age", "made decreasing"), ("age", "effect removed")]
    editor.keys("Control+z", "Control+z")
    assert edits(session) == []
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


def test_levels_are_chosen_by_clicks(open_editor, shown):
    editor = open_editor("insurance")
    editor.dashboard.screenshot("editor_levels")
    first, second = editor.dashboard.figures()[0]["layout"]["meta"]["codes"][:2]
    editor.click(first, down=20)
    editor.click(second, down=20)
    editor.press("set")
    assert "needs a number" in editor.text("line")
    editor.type("number", "many")
    editor.press("set")
    assert "'many' is none" in editor.text("line")
    editor.type("number", "0.5")
    editor.press("set")
    current = shown.edit_session.view("insurance").current
    assert (current[[first, second]] == 0.5).all()
    assert (current == 0.5).sum() == 2
    editor.dashboard.screenshot("editor_levels_edited")
    editor.click(first, down=20)
    editor.press("cap")
    assert shown.edit_session.to_dict()["edits"][0]["bins"] == sorted([first, second])
    editor.dashboard.assert_clean()


def test_save_download_and_load(open_editor, shown, fitted, tmp_path):
    session = shown.edit_session
    editor = open_editor("age")
    editor.press("select-all")
    editor.press("increasing")
    edited = session.view("age").current
    editor.unfold("Save, load")
    path = tmp_path / "edits.json"
    editor.type("path", str(path))
    editor.press("save")
    assert "Saved 1 edit" in editor.text("line")
    assert np.array_equal(EditSession.load(path, fitted.model).view("age").current, edited)

    other = tmp_path / "notes.json"
    other.write_text("{}")
    editor.type("path", str(other))
    editor.press("save")
    assert "another kind of file" in editor.text("line")
    assert other.read_text() == "{}"

    with editor.dashboard.page.expect_download() as download:
        editor.press("download")
    document = json.loads(download.value.path().read_text())
    assert document == sealed(session.to_dict())

    editor.press("undo")
    editor.card.locator('input[type="file"]').set_input_files(path)
    editor.dashboard.settle()
    assert "Loaded 1 edit" in editor.text("line")
    assert np.array_equal(session.view("age").current, edited)
    editor.card.locator('input[type="file"]').set_input_files(other)
    editor.dashboard.settle()
    assert "not a file of an editing session" in editor.text("line")
    editor.dashboard.screenshot("editor_files")
    editor.dashboard.assert_clean()


def test_two_panes_at_a_narrow_width(dashboard, shown, fitted):
    from tests.browser.editor_page import EditorPage

    page = dashboard([shown, fitted.model.explain_global(name="again")], full=True)
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
    page.assert_clean()


def test_a_narrow_page_clips_nothing(open_editor):
    editor = open_editor("age")
    editor.dashboard.page.set_viewport_size({"width": 800, "height": 1100})
    editor.dashboard.settle()
    editor.select(40, 70)
    editor.press("smooth")
    editor.choose("Scale of all terms")
    editor.unfold("History")
    editor.unfold("Save, load")
    editor.dashboard.screenshot("editor_narrow")
    clipped = editor.dashboard.page.evaluate(
        "() => [...document.querySelectorAll('.idp-editor button, .idp-editor span')]"
        ".filter(e => e.offsetWidth && e.scrollWidth > e.clientWidth + 1 && e.clientWidth)"
        ".map(e => e.textContent)"
    )
    assert clipped == []
    width = editor.dashboard.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 800
    editor.dashboard.assert_clean()
