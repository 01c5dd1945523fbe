"""The notebook editor, driven through its buttons and fields; no browser is needed for that."""

import html
import json
import re
import sys
import threading
from types import SimpleNamespace
from unittest.mock import Mock

import ipywidgets
import numpy as np
import pytest
from plotly.callbacks import BoxSelector, Points

from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.editor.autosave import AUTOSAVE_VARIABLE
from interpret_dp.released.additive_model import note_file
from interpret_dp.ui.actions import TOOLS
from interpret_dp.ui.figure import BINS
from interpret_dp.ui.notebook.editor import NotebookEditor
from tests.editor.models import Holder, build_model, changed, session

AGE, DOSE, GRADE, CITY = range(4)


@pytest.fixture
def editor():
    shown = session().widget("age")
    shown.controls.whole_curve.click()
    yield shown
    shown.close()


def _click(editor, label):
    next(b for b in editor.controls.tools.values() if b.description == label).click()


def _text(widget):
    return html.unescape(re.sub(r"<[^>]+>", " ", widget.value))


ORIGINAL, LAST, CURRENT = ["released"], ["before the last edit"], ["edited", "released scores"]


def _heights(editor, names):
    """Return the scores that a curve shows, one for each drawn bin."""
    drawn = [trace for trace in editor.figure.data if trace.name in names]
    # A step line ends at the right border of its last bin.
    is_line = [trace.to_plotly_json().get("mode") == "lines" for trace in drawn]
    return [y for t, line in zip(drawn, is_line, strict=True) for y in t.y[: -1 if line else None]]


def _has_band(editor):
    drawn = [trace for trace in editor.figure.data if trace.visible is not False]
    return any((trace.name or "").startswith("95 % noise") for trace in drawn)


def _bins(editor):
    return next(trace for trace in editor.figure.data if trace.meta == BINS)


def _brush(editor, low, high):
    """Draw a range as the page reports it."""
    _bins(editor)._dispatch_on_selection(Points(), BoxSelector(xrange=[high, low], yrange=[0, 1]))


# ------------------------------------------------------------------------------- what is drawn


def check_shown(editor):
    """Check that an editor draws and offers what its session holds."""
    edits, controls = editor.session, editor.controls
    view = edits.view(controls.term.value)
    codes = list(editor._edited.places.codes)
    label = controls.class_label.value
    column = 0 if label == "all" else label
    for trace, scores in ((ORIGINAL, view.original), (LAST, view.last), (CURRENT, view.current)):
        drawn = scores.reshape(len(view.labels), -1)[codes, column]
        assert _heights(editor, trace) == drawn.tolist()
    assert set(range(1, len(view.labels) - 1)) <= set(codes)
    assert _has_band(editor) == (view.current_band is not None)
    text = _bins(editor).text[0]
    if view.current_band is None:
        assert "band" not in text
    else:
        low, high = (e.reshape(len(view.labels), -1)[codes[0], column] for e in view.current_band)
        assert f"band {low:.3g} to {high:.3g}" in text
    assert (editor._edited.places.left < editor._edited.places.right).all()
    found = edits.verdict(
        view.name,
        controls.shape.value,
        class_label=edits.class_labels[column] if edits.class_labels else None,
        **({"bins": editor.selected} if editor.selected else {}),
    )
    assert str(found) in _text(controls.verdict)
    enabled = {name for name, b in controls.history_buttons.items() if not b.disabled}
    useful = {"undo": edits.history, "redo": edits.undone, "reset": view.is_edited}
    useful |= dict.fromkeys(("commit", "cancel"), bool(edits.pending))
    useful["total"] = bool(edits.total_change)
    assert enabled == {name for name, is_useful in useful.items() if is_useful}
    offered = {name for name, button in controls.tools.items() if not button.disabled}
    suiting = {name for name, tool in TOOLS.items() if tool.suits(view.kind)}
    assert offered == (suiting if editor.selected else set())
    history = " ".join(_text(controls.history).split())
    assert ("Moved by all edits: " in history) == bool(edits.total_change)
    assert all(record.what in history for record in edits.history)
    assert history.count("undone") == len(edits.undone)
    privacy, n_edits = _text(controls.privacy), len(edits.history)
    assert "Editing costs no privacy" in privacy
    assert "epsilon 1 at delta 1e-05" in privacy
    assert (f"edited: {n_edits} change" in privacy) is (n_edits > 0)


def _flatten_in_a_thread(editor):
    thread = threading.Thread(target=lambda: editor.session.flatten("dose"))
    thread.start()
    thread.join()


STEPS = [
    lambda editor: editor.controls.whole_curve.click(),
    lambda editor: _click(editor, "Increasing"),
    lambda editor: _click(editor, "Flatten"),
    lambda editor: editor.controls.history_buttons["undo"].click(),
    lambda editor: editor.controls.history_buttons["redo"].click(),
    lambda editor: editor.controls.history_buttons["reset"].click(),
    lambda editor: setattr(editor.controls.shape, "value", "flat"),
    lambda editor: setattr(editor.controls.term, "value", GRADE),
    _flatten_in_a_thread,
    lambda editor: setattr(editor.controls.term, "value", CITY),
]


def test_two_editors_show_after_every_step_what_their_session_holds():
    editor = session(0).widget("age")
    other = editor.session.widget("dose")
    for step in STEPS:
        step(editor)
        check_shown(editor)
        check_shown(other)
    assert editor.controls.shape.value == "flat"
    assert len(editor.session.history) == 4


def test_empty_bin_is_drawn_once_it_is_selected_or_edited():
    base = build_model()
    weights = np.array(base.terms[AGE].weights)
    weights[0] = weights[-1] = 0.0
    edits = Holder(changed(base, AGE, weights=weights)).edit()
    editor = edits.widget("age")
    assert 0 not in editor._edited.places.codes
    editor.select([0])
    assert 0 in editor._edited.places.codes
    editor.select([])
    assert 0 not in editor._edited.places.codes
    edits.shift("age", 0.5, bins=0)
    assert 0 in editor._edited.places.codes


# ---------------------------------------------------------------------------------- selecting


def test_range_drawn_on_the_curve_selects_the_bins_it_overlaps(editor):
    _brush(editor, 27.0, 58.0)
    assert editor.selected == (3, 4, 5, 6)
    assert "between 25 and 60 (about " in _text(editor.controls.selected)
    mark = editor.figure.layout.shapes[0]
    assert (mark.x0, mark.x1) == (25.0, 60.0)
    before = editor.session.view("age").current
    _click(editor, "Flatten")
    after = editor.session.view("age").current
    assert set(np.flatnonzero(after != before)) == {3, 4, 5, 6}
    editor.figure.plotly_relayout({"selections": [{"type": "rect", "x0": 1, "x1": 2}]})
    assert not editor.figure.layout.to_plotly_json().get("selections")
    # Beside every bin nothing new is selected.
    _brush(editor, -50.0, -40.0)
    assert editor.selected == (3, 4, 5, 6)


def test_there_are_ways_to_everything_and_to_nothing(editor):
    controls = editor.controls
    for act, is_whole in (
        (controls.whole_curve.click, True),
        (controls.clear.click, False),
        (lambda: _bins(editor)._dispatch_on_deselect(Points()), False),
        (lambda: setattr(controls.term, "value", DOSE), False),
    ):
        controls.term.value = AGE
        _brush(editor, 21, 24)
        assert editor.selected == (2,)
        assert "between 20 and 25 (about " in _text(controls.selected)
        act()
        text = _text(controls.selected)
        assert ("the whole curve" in text, "nothing" in text) == (is_whole, not is_whole)
        assert bool(editor.selected) is is_whole


def test_ends_and_levels_are_typed(editor):
    controls = editor.controls
    controls.low.value = "40"
    assert editor.selected == (5, 6, 7, 8)
    controls.high.value = "58"
    assert editor.selected == (5, 6)
    controls.low.value = "forty"
    assert "must be a number" in _text(controls.error)
    assert editor.selected == (5, 6)
    controls.term.value = CITY
    assert editor.selected == ()
    controls.levels.value = (3, 1)
    assert editor.selected == (1, 3)
    editor.select([2])
    assert controls.levels.value == (2,)


def test_an_entry_is_looked_at_and_gone_back_to(editor):
    controls = editor.controls
    assert controls.back.disabled
    _click(editor, "Increasing")
    increasing = editor.session.view("age").current
    _click(editor, "Flatten")
    controls.entry.value = 1
    assert (
        _heights(editor, ["after edit 1"]) == increasing[list(editor._edited.places.codes)].tolist()
    )
    controls.back.click()
    assert np.array_equal(editor.session.view("age").current, increasing)
    assert "set back to edit 1" in _text(controls.history)
    assert controls.entry.value is None
    label, _ = controls.entry.options[-1]
    assert label.startswith("3: age set back to edit 1, which moves the mean")


def test_the_missing_bin_alone_can_be_selected(editor):
    before = editor.session.view("age").current
    places = editor._edited.places
    at = places.codes.index(0)
    _brush(editor, places.left[at], places.right[at])
    _click(editor, "Shift by")
    after = editor.session.view("age").current
    assert np.flatnonzero(after != before).tolist() == [0]


# -------------------------------------------------------------------------------- the buttons


def test_every_tool_has_a_button(editor):
    rows = [row.children for row in editor.box.children if isinstance(row, ipywidgets.HBox)]
    shown = {widget for row in rows for widget in row}
    assert {name for name, b in editor.controls.tools.items() if b in shown} == set(TOOLS)
    editor.select(range(2, 7))
    editor.controls.number.value = -0.25
    _click(editor, "Set to")
    assert (editor.session.view("age").current[2:7] == -0.25).all()
    assert "age: set to -0.25 between" in _text(editor.controls.note)


def test_an_edit_is_previewed_with_its_metrics():
    model = DPExplainableBoostingClassifier.from_released(build_model())
    editor = model.edit().widget("age")
    before = editor.session.view(AGE).current
    assert editor.controls.metrics.value == ""
    rows = [[age, 3.0, "mid", "Lyon"] for age in (15, 50, 57, 80)]
    editor.session.use_public_rows(rows, list("abba"), public=True)
    assert "All public rows (4)" in _text(editor.controls.metrics)
    editor.controls.preview_first.value = True
    editor.select([5, 6])
    assert "Selection between 40 and 60 of 'age' (2)" in _text(editor.controls.metrics)
    assert editor.controls.accept.disabled
    _click(editor, "Remove effect")
    assert "Preview: age effect removed between 40 and 60" in _text(editor.controls.note)
    assert _heights(editor, ["preview"])[4:6] == [0.0, 0.0]
    assert _text(editor.controls.metrics).count("preview") == 2
    editor.controls.discard.click()
    assert editor.session.history == ()
    assert editor.controls.accept.disabled
    assert not _text(editor.controls.metrics).count("preview")
    _click(editor, "Remove effect")
    editor.controls.accept.click()
    after = editor.session.view(AGE).current
    assert np.flatnonzero(after != before).tolist() == [5, 6]
    assert editor.session.history[0].what.endswith("with metrics on 4 public rows")
    assert editor.controls.accept.disabled
    editor.close()


def test_error_is_shown_and_goes_with_the_next_success(editor, monkeypatch, caplog):
    editor.controls.number.value = -1.0
    _click(editor, "Cap at")
    assert "magnitude" in _text(editor.controls.error)
    assert "alert" in editor.controls.error.value
    assert editor.session.history == ()
    _click(editor, "Smooth")
    assert _text(editor.controls.error) == ""
    assert "smoothed" in _text(editor.controls.note)
    for _ in range(2):
        _click(editor, "Remove effect")
    assert "Nothing changed" in _text(editor.controls.note)
    monkeypatch.setattr(editor.session, "flatten", Mock(side_effect=RuntimeError("broken")))
    _click(editor, "Flatten")
    # ipywidgets logs what a handler raises.
    assert "RuntimeError: broken" in caplog.text
    assert "RuntimeError: broken" in _text(editor.controls.error)


# -------------------------------------------------------------------------------- the history


def test_commit_writes_the_message_and_cancel_leaves_it_alone(editor):
    controls = editor.controls
    _click(editor, "Increasing")
    assert "pending" in _text(controls.history)
    controls.message.value = "<img src=x onerror=alert(1)>"
    controls.history_buttons["commit"].click()
    assert editor.session.history[0].why == "<img src=x onerror=alert(1)>"
    assert controls.message.value == ""
    assert "<img" not in controls.history.value
    assert "<img src=x onerror=alert(1)>" in _text(controls.history)
    _click(editor, "Flatten")
    _click(editor, "Shift by")
    controls.history_buttons["cancel"].click()
    assert len(editor.session.history) == 1


def test_a_page_that_is_loaded_again_gets_the_figure_as_it_is_now(editor):
    editor.session.flatten("age")
    editor.select((2, 3))
    state = editor.figure.get_state()
    shown = editor.figure.to_plotly_json()
    (bins,) = [t for t in state["_widget_data"] if t.get("meta") == BINS]
    (now,) = [t for t in shown["data"] if t.get("meta") == BINS]
    assert json.dumps(bins, default=np.ndarray.tolist) == json.dumps(now, default=np.ndarray.tolist)
    assert len(state["_widget_layout"]["shapes"]) == len(shown["layout"]["shapes"]) > 0


def test_edits_of_an_earlier_session_are_offered_and_taken(tmp_path, monkeypatch):
    monkeypatch.setenv(AUTOSAVE_VARIABLE, "on")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    model = build_model()
    note_file(model, tmp_path / "model.json")
    earlier = Holder(model).edit()
    earlier.flatten("age")
    earlier.save(tmp_path / "model.autosave.json")
    (tmp_path / "model.autosave-2.json").write_text("no session")
    editor = Holder(model).edit().widget("age")
    offer, damaged = editor.earlier.offers.children
    text, take, _ = offer.children
    assert "1 edit, the last by Ada" in _text(text)
    assert "is not valid JSON" in _text(damaged.children[0])
    assert len(damaged.children) == 1
    take.click()
    assert _text(editor.controls.note).strip().startswith("Took 1 edit. Predictions of b:")
    assert editor.session.history == earlier.history
    assert len(editor.earlier.offers.children) == 1
    editor.session.flatten("dose")
    assert "model.autosave.json" in _text(editor.earlier.place)
    other = Holder(model).edit().widget("age")
    assert len(other.earlier.offers.children) == 1
    editor.close()
    assert take.comm is None
    editor.session.autosave.path.unlink()
    earlier.save(tmp_path / "model.autosave.json")
    other.earlier.look()
    other.earlier.offers.children[0].children[2].click()
    assert _text(other.controls.note).strip() == "Discarded 1 edit."
    assert not (tmp_path / "model.autosave.json").exists()
    other.close()


@pytest.mark.parametrize("close", [NotebookEditor.close, lambda editor: editor.box.close()])
def test_closed_editor_no_longer_follows_the_session(close):
    edits = session()
    editor = edits.widget("age")
    button = editor.controls.history_buttons["undo"]
    close(editor)
    assert not editor.is_open
    assert button.comm is None
    before = _heights(editor, CURRENT)
    edits.flatten("age")
    assert _heights(editor, CURRENT) == before
    editor.close()


# ------------------------------------------------------------------- verdict, privacy, classes


def test_where_the_noise_is_not_known_there_is_neither_band_nor_verdict():
    editor = session(covariance=False).widget("age")
    assert not _has_band(editor)
    assert "covariance" in _text(editor.controls.verdict)
    assert _text(editor.controls.error) == ""


def test_class_that_is_chosen_is_drawn_and_edited_alone():
    editor = session(3).widget("age")
    controls = editor.controls
    assert [label for label, _ in controls.class_label.options] == ["All classes", "a", "b", "c"]
    assert "choose one class" in _text(controls.verdict)
    controls.class_label.value = 1
    controls.whole_curve.click()
    check_shown(editor)
    base = editor.session.base.terms[AGE].scores
    for label, expected in ((1, [False, True, False]), ("all", [True] * 3)):
        controls.class_label.value = label
        _click(editor, "Flatten")
        changed = (editor.session.view("age").current != base).any(axis=0)
        assert changed.tolist() == expected
    assert session().widget("age").controls.class_label.layout.display == "none"


# ------------------------------------------------------------------------------ in a notebook


def _pretend_kernel(monkeypatch, kernel):
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=kernel))


def test_session_shows_one_editor_in_a_notebook_however_often_it_is_shown(monkeypatch):
    _pretend_kernel(monkeypatch, object())
    edits = session()
    first = edits._repr_mimebundle_(include=None, exclude=None)
    again = edits._repr_mimebundle_(include=None, exclude=None)
    view = "application/vnd.jupyter.widget-view+json"
    assert first[view]["model_id"] == again[view]["model_id"]
    edits._shown.close()
    with pytest.raises(ValueError, match="no term 'height'"):
        edits.widget("height")
    anew = edits._repr_mimebundle_(include=None, exclude=None)
    assert anew[view]["model_id"] != first[view]["model_id"]


def test_session_is_a_line_of_text_where_there_is_no_kernel(monkeypatch):
    _pretend_kernel(monkeypatch, None)
    edits = session()
    bundle = edits._repr_mimebundle_()
    assert bundle == {"text/plain": f"{edits!r}. Open it in a notebook to edit it."}


@pytest.mark.parametrize("library", ["ipywidgets", "anywidget"])
def test_without_the_extra_the_hint_says_how_to_install_it(monkeypatch, library):
    _pretend_kernel(monkeypatch, object())
    monkeypatch.setitem(sys.modules, library, None)
    edits = session()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'interpret-dp\[notebook\]'"):
        edits.widget()
    bundle = edits._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" not in bundle
    assert "interpret-dp[notebook]" in bundle["text/plain"]
