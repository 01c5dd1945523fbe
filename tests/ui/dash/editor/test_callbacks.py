"""The editor's callbacks, called as its page calls them."""

import json
import pickle

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier, EditSession
from interpret_dp.editor.state import effect_text
from tests.editor.models import Holder, build_model, words
from tests.ui.dash.client import AppClient, ids
from tests.ui.dash.editor.client import EditorClient

AGE = 0


@pytest.fixture
def editor(shown, session):
    return EditorClient(AppClient(shown.total), AGE)


# ---------------------------------------------------------------------------------- selecting


def test_a_click_takes_one_bin_and_shift_all_up_to_it(editor):
    editor.change("idp-editor-select", "data", {"bin": 3, "extends": False, "at": 1})
    assert editor.selected == [3]
    for at, (bin_, expected) in enumerate(((6, [3, 4, 5, 6]), (2, [2, 3, 4, 5, 6])), start=2):
        editor.change("idp-editor-select", "data", {"bin": bin_, "extends": True, "at": at})
        assert editor.selected == expected


# ------------------------------------------------------------------------------------- acting


def test_an_edited_model_shows_its_release_and_is_gone_back_to_as_it_was_loaded():
    first = Holder(build_model()).edit()
    first.flatten("age")
    model = DPExplainableBoostingClassifier.from_released(first.released)
    explanation = model.explain_global()
    session, editor = explanation.edit_session, EditorClient(AppClient(explanation), AGE)
    flat = session.view("age").current
    assert editor.text("status") == "1 edit in the loaded model"
    assert {"edited", "released"} <= names_of(editor)
    editor.press("reset")
    assert not session.view("age").is_edited
    assert editor.text("status") == "1 edit in the loaded model; 1 edit, 1 not committed"
    editor.press("look-0")
    assert "as loaded" in names_of(editor)
    editor.press("back-0")
    assert np.array_equal(session.view("age").current, flat)
    assert words(session.history[-1]) == "set back to before these edits"


def names_of(editor):
    return {trace.get("name") for trace in editor.figure["data"]}


def test_a_drag_shifts_the_bins_that_it_grabbed_or_the_page_is_drawn_anew(editor, session):
    before = session.view("age").current
    editor.change(
        "idp-editor-act", "data", {"action": "shift", "bins": [4, 5], "by": -0.5, "at": 1}
    )
    after = session.view("age").current
    assert after[[4, 5]] == pytest.approx(before[[4, 5]] - 0.5)
    assert np.flatnonzero(after != before).tolist() == [4, 5]
    drawn = editor.state.get(("idp-editor-refresh", "data"))
    editor.change("idp-editor-act", "data", {"action": "shift", "bins": [], "by": 0.5, "at": 2})
    assert "Nothing is selected" in editor.text("message")
    assert editor.state["idp-editor-refresh", "data"] != drawn
    assert len(session.history) == 1


def test_the_bar_tells_how_far_edits_move_the_total_and_keeps_it(editor, session):
    editor.press("select-all")
    editor.press("remove")
    assert "the mean predicted probability of readmitted by about -" in session.total_change
    effect = effect_text(session.base, session.base, session.released)
    assert editor.text("message") == f"age: effect removed. {effect}"
    assert not editor.state["idp-model-button-total", "disabled"]
    editor.press("total")
    assert "age: intercept shifted to keep the total. Predictions of" in editor.bar("message")
    assert editor.bar("status") == "2 edits, 2 not committed"
    assert editor.state["idp-model-button-total", "disabled"]


def test_a_card_speaks_of_its_own_term_and_the_bar_of_the_model(editor, session):
    session.shift("bmi", by=0.25, bins=[3])
    editor.press("select-all")
    editor.press("flatten")
    assert editor.text("status") == "1 edit, 1 not committed"
    shared = f"2 edits, 2 not committed; together they move {session.total_change}"
    assert editor.bar("status") == shared
    assert "bmi" not in editor.text("history")
    assert "bmi shifted" in " ".join(editor.bar("history").split())
    session.undo()
    session.undo()
    editor.change("idp-clock", "n_intervals", 1)
    assert editor.text("status") == editor.bar("status") == "no edits yet"
    assert editor.bar("history").count("undone") == 2


def drag(editor, by, at):
    editor.change("idp-editor-act", "data", {"action": "shift", "bins": [20], "by": by, "at": at})
    return editor.state["idp-editor-message", "children"]["props"]["className"]


def test_an_edit_beyond_the_plot_asks_first_and_its_answer_is_not_green(editor, session):
    before, released = session.view("age").current, session.released
    low, high = editor.figure["layout"]["yaxis"]["range"]
    assert "idp-editor-error" in drag(editor, 9.4, 1)
    moved = "It moves scores by 9.4, and the plot is"
    assert f"{moved} {high - low:.3g} high: is that meant?" in editor.text("message")
    assert session.history == ()
    editor.press("discard")
    assert preview_of(editor) is None
    # Of a part that is zoomed in, the height of that part counts.
    assert "idp-editor-done" in drag(editor, 0.5, 2)
    editor.change("idp-editor-view", "data", {"yaxis": [0.0, 0.4]})
    assert "idp-editor-error" in drag(editor, 0.5, 3)
    assert len(session.history) == 1
    editor.press("accept")
    assert session.view("age").current[20] == pytest.approx(before[20] + 1.0)
    editor.press("undo")
    session.undo()
    # One edit that went far does not let the next go further.
    editor.change("idp-editor-view", "data", {})
    drag(editor, 9.4, 4)
    editor.press("accept")
    effect = effect_text(session.base, released, session.released)
    assert "percentage points" in effect
    assert editor.text("message").endswith(effect)
    assert "idp-editor-error" in drag(editor, 9.4, 5)
    assert len(session.history) == 1


def preview_of(editor):
    lines = [trace for trace in editor.figure["data"] if trace.get("name") == "preview"]
    return lines[0]["y"][:-1] if lines and lines[0]["visible"] else None


def test_an_edit_is_previewed_and_then_made_or_left(editor, session):
    before = session.view("age").current
    editor.change("idp-editor-edits", "value", "preview")
    editor.box(40.0, 60.0)
    bins, changed = editor.selected, before.copy()
    editor.change("idp-editor-number", "value", "0.5")
    editor.press("shift")
    changed[bins] += 0.5
    assert editor.text("message").startswith("Preview: age shifted by +0.5 between")
    assert preview_of(editor) == pytest.approx(changed[1:-1])
    assert editor.curve()[:-1] == pytest.approx(before[1:-1])
    editor.press("discard")
    assert preview_of(editor) is None
    assert session.history == ()

    # It is the edit of the selection that it was made for: another selection ends it.
    editor.press("shift")
    editor.box(70.0, 80.0)
    assert preview_of(editor) is None
    editor.press("accept")
    assert "no preview to accept" in editor.text("message")
    editor.box(40.0, 60.0)
    # What is accepted is what was previewed, whatever was typed since.
    editor.press("shift")
    editor.change("idp-editor-number", "value", "7")
    editor.press("accept")
    assert session.view("age").current == pytest.approx(changed)
    assert preview_of(editor) is None
    assert editor.text("status") == "1 edit, 1 not committed"
    # A repair is previewed too, where there is one.
    editor.press("select-none")
    editor.change("idp-editor-shape", "value", "increasing")
    editor.press("repair")
    assert len(session.history) == 1
    text = editor.text("message")
    assert text.startswith(("Preview: age made increasing", "There is nothing to repair"))


def test_a_card_names_the_features_that_its_own_is_correlated_with(editor, session):
    editor.box(70.0, 90.0)
    first = session.correlated("age").index[0]
    assert f"Most correlated features, as released: {first} (" in editor.text("note")


def test_a_chosen_class_is_edited_alone():
    model = DPExplainableBoostingClassifier.from_released(build_model(3))
    explanation = model.explain_global()
    editor = EditorClient(AppClient(explanation), AGE)
    names = {o["label"]: o["value"] for o in editor.state["idp-editor-class", "options"]}
    editor.press("select-all")
    editor.press("verdict")
    assert "choose one class" in editor.text("message")
    editor.change("idp-editor-class", "value", names["b"])
    editor.press("verdict")
    text = explanation.edit_session.verdict("age", class_label="b").text
    assert editor.text("message").startswith(text)
    editor.change("idp-editor-number", "value", "0.5")
    editor.press("shift")
    view = explanation.edit_session.view("age")
    changed = np.flatnonzero((view.current != view.original).any(axis=0))
    assert [explanation.edit_session.class_labels[c] for c in changed] == ["b"]


# ---------------------------------------------------------------------- several views, and errors


def test_two_renderings_share_no_id(shown, session):
    app = AppClient(shown.total)
    first, second = (
        {json.dumps(identity, sort_keys=True) for identity in ids(app.part(AGE))} for _ in range(2)
    )
    assert not {i for i in first & second if "idp-" in i}


@pytest.mark.parametrize("token", ["", "1234", None])
def test_a_page_without_the_token_of_this_process_edits_nothing(editor, session, token):
    own = editor.identities["editor"]
    real, number, rendering = own["uid"].rsplit("-", 2)
    assert len(real) >= 43  # 32 random bytes
    uid = f"{number}-{rendering}" if token is None else f"{token}-{number}-{rendering}"
    editor.press("select-all")
    editor.identities["editor"] = own | {"uid": uid}
    editor.press("flatten")
    assert session.history == ()
    assert "has ended" in editor.text("message")


def test_a_replayed_save_writes_no_file(editor, session, tmp_path):
    path = tmp_path / "edits.json"
    editor.state["idp-editor-path", "value"] = str(path)
    for kind, said in (("model", editor.bar), ("editor", editor.text)):
        editor.report(kind, "save")
        assert "'save'" in said("message")
    assert not path.exists()


def test_an_error_of_ours_is_a_message(editor, session, monkeypatch):
    def fail(self, term, entry=None):
        raise RuntimeError("planted")

    monkeypatch.setattr(EditSession, "view", fail)
    editor.press("verdict")
    assert "planted" in editor.text("message")


# ---------------------------------------------------------------------- the session in Python


def test_explanations_of_one_model_share_a_session(shown, session):
    assert shown.model.explain_global().edit_session is session
    assert shown.local.edit_session is session
    assert shown.earlier.edit_session is not session
    assert shown.model.edit() is not session


def test_an_edited_model_has_a_session_of_its_own(shown, session):
    session.flatten("age")
    edited = session.model.explain_global()
    assert edited.edit_session is not session
    assert edited.edit_session.base.edits == session.history
    assert "edited: 1 change" in edited.privacy.line


def test_an_explanation_is_pickled_without_its_session(shown, session):
    session.flatten("age")
    again = pickle.loads(pickle.dumps(shown.total))
    assert again.edit_session.base.digest == session.base.digest
