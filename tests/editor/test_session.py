"""The history: undo, redo, messages, views of one session, and what it never changes."""

from __future__ import annotations

import copy
import re
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.editor import EditSession
from interpret_dp.released import AdditiveModel, EditRecord
from tests.editor.models import Holder, build_model, session

MODELS = {n: build_model(n) for n in (0, 2, 3)}
TERMS = st.sampled_from(["age", "dose", "grade", "city"])
RANGES = st.one_of(
    st.just({}),
    st.tuples(st.floats(0, 100), st.floats(0, 100)).map(
        lambda ends: {"between": (min(ends), max(ends))}
    ),
    st.lists(st.integers(0, 9), max_size=4).map(lambda bins: {"bins": bins}),
    st.lists(st.sampled_from(["Bonn", "Lyon", 3, "low", "top"]), max_size=3).map(
        lambda levels: {"levels": levels}
    ),
)
OPERATIONS = st.one_of(
    st.tuples(
        st.sampled_from(["make_monotone", "make_convex", "make_concave", "smooth", "flatten"]),
        st.just({}),
    ),
    st.tuples(st.just("make_monotone"), st.booleans().map(lambda up: {"increasing": up})),
    st.tuples(st.sampled_from(["remove_effect", "reset"]), st.just({})),
    st.tuples(st.just("interpolate"), st.sampled_from([{"method": "ends"}, {"method": "fit"}])),
    st.tuples(st.just("align"), st.sampled_from([{"to": s} for s in ("left", "right", "mean")])),
    st.tuples(st.just("set_scores"), st.floats(-3, 3).map(lambda value: {"scores": value})),
    st.tuples(st.just("shift"), st.floats(-3, 3).map(lambda value: {"by": value})),
    st.tuples(st.just("cap"), st.floats(0, 3).map(lambda value: {"magnitude": value})),
)
STEPS = st.one_of(
    st.tuples(st.just("edit"), OPERATIONS, TERMS, RANGES, st.booleans()),
    st.sampled_from(["undo", "redo", "commit", "cancel"]).map(lambda name: (name,)),
)


def perform(editing: EditSession, step: tuple) -> None:
    """Do one step; those that the session refuses change nothing."""
    before = (editing.released.digest, editing.version)
    try:
        if step[0] == "edit":
            _, (kind, arguments), term, selection, recentre = step
            more = {} if kind == "reset" else {**selection, "recentre": recentre}
            getattr(editing, kind)(term, **arguments, **more)
        elif step[0] == "commit":
            editing.commit("because")
        else:
            getattr(editing, step[0])()
    except ValueError:
        assert (editing.released.digest, editing.version) == before


@settings(max_examples=60)
@given(st.sampled_from([0, 2, 3]), st.lists(STEPS, max_size=12))
def test_any_sequence_can_be_undone_replayed_and_never_touches_base_or_guarantee(n_classes, steps):
    base = MODELS[n_classes]
    digest = base.digest
    editing = Holder(base).edit()
    for step in steps:
        perform(editing, step)
    now = editing.released
    assert now.guarantee is base.guarantee
    assert now.edits == editing.history

    again = EditSession.from_dict(copy.deepcopy(editing.to_dict()), Holder(base))
    assert again.released.digest == now.digest
    read_back = AdditiveModel.from_dict(base.to_dict())
    assert EditSession.from_dict(editing.to_dict(), Holder(read_back)).released.digest == now.digest

    undone = 0
    while editing.can_undo:
        editing.undo()
        undone += 1
    assert editing.released is base
    assert base.digest == digest
    for _ in range(undone):
        editing.redo()
    assert editing.released.digest == now.digest


@given(st.lists(STEPS, min_size=1, max_size=8), STEPS)
def test_a_preview_tells_what_an_edit_does_and_does_nothing(steps, last):
    editing = Holder(MODELS[2]).edit()
    for step in steps:
        perform(editing, step)
    if last[0] != "edit":
        return
    _, (kind, arguments), term, selection, recentre = last
    more = {} if kind == "reset" else {**selection, "recentre": recentre}
    before = (editing.released.digest, editing.version, editing.history)
    try:
        preview = editing.preview(kind, term, **arguments, **more)
    except ValueError:
        return
    assert (editing.released.digest, editing.version, editing.history) == before
    record = getattr(editing, kind)(term, **arguments, **more)
    assert preview.changed == (record is not None)
    np.testing.assert_array_equal(preview.after, editing.view(term).current)
    np.testing.assert_array_equal(preview.intercept, editing.released.intercept)
    if record is not None:
        np.testing.assert_array_equal(preview.before, editing.view(term).last)
        assert preview.record.what == record.what


def test_records_say_who_when_what_and_why():
    editing = session()
    record = editing.shift("age", 0.5, between=(20, 30))
    assert isinstance(record, EditRecord)
    assert (record.term, record.who, record.why) == ("age", "Ada", "")
    assert record.what == "shifted by +0.5 between 20 and 30"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record.when)
    editing.flatten("city")
    assert editing.commit("literature says so") == 2
    assert [entry.why for entry in editing.history] == ["literature says so"] * 2
    assert editing.released.edits == editing.history


def test_commit_changes_no_prediction_and_can_be_undone_with_its_edits():
    editing = session()
    editing.shift("age", 0.5)
    scores = editing.view("age").current
    editing.commit("first")
    assert editing.pending == ()
    np.testing.assert_array_equal(editing.view("age").current, scores)
    editing.flatten("city")
    assert [entry.term for entry in editing.pending] == ["city"]
    assert editing.undo().term == "city"
    assert editing.undo().why == "first"
    assert [entry.term for entry in editing.undone] == ["age", "city"]
    assert editing.redo().why == "first"
    assert editing.redo().why == ""
    with pytest.raises(ValueError, match="no edit to redo"):
        editing.redo()


def test_cancel_takes_back_pending_edits_alone():
    editing = session()
    editing.shift("age", 0.5)
    editing.commit("kept")
    editing.flatten("city")
    editing.flatten("grade")
    assert editing.cancel() == 2
    assert [entry.term for entry in editing.history] == ["age"]
    assert editing.cancel() == 0
    assert editing.redo().term == "city"


def test_an_edit_after_an_undo_forgets_what_was_undone():
    editing = session()
    editing.shift("age", 0.5)
    editing.undo()
    editing.flatten("city")
    assert editing.undone == ()
    assert not editing.can_redo


def test_a_reset_gives_back_the_term_and_its_share_of_the_intercept_exactly():
    editing = session()
    editing.shift("age", 0.3)
    alone = editing.released
    editing.shift("city", 0.7, levels=["Bonn"])
    editing.flatten("city")
    editing.reset("city")
    np.testing.assert_array_equal(editing.released.intercept, alone.intercept)
    np.testing.assert_array_equal(editing.view("city").current, editing.view("city").original)
    editing.reset("age")
    np.testing.assert_array_equal(editing.released.intercept, editing.base.intercept)
    assert editing.history[-1].what == "reset to the original"
    assert editing.diff().empty


def test_nothing_to_undo_redo_or_commit_is_said():
    editing = session()
    for method, message in (("undo", "no edit to undo"), ("redo", "no edit to redo")):
        with pytest.raises(ValueError, match=message):
            getattr(editing, method)()
    with pytest.raises(ValueError, match="nothing to commit"):
        editing.commit("why")


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        ("  ", ValueError, "must say why"),
        (None, TypeError, "says why"),
        ("x" * 2001, ValueError, "at most 2000"),
    ],
)
def test_messages_must_say_something(message, error, text):
    editing = session()
    editing.shift("age", 1.0)
    with pytest.raises(error, match=text):
        editing.commit(message)
    assert editing.pending


@pytest.mark.parametrize(
    ("author", "error", "message"),
    [(" ", ValueError, "not be empty"), (7, TypeError, "must be a text")],
)
def test_the_author_must_have_a_name(author, error, message):
    with pytest.raises(error, match=message):
        Holder(MODELS[2]).edit(author)


def test_the_author_is_the_login_name_if_none_is_given(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "grace")
    assert Holder(MODELS[2]).edit(None).author == "grace"

    def fail():
        raise OSError("no such user")

    monkeypatch.setattr("getpass.getuser", fail)
    assert Holder(MODELS[2]).edit(None).author == "unknown"


# ------------------------------------------------------------------------------------- views


def test_a_view_holds_original_last_and_current_scores():
    editing = session()
    view = editing.view("age")
    np.testing.assert_array_equal(view.last, view.original)
    editing.shift("age", 1.0)
    editing.shift("age", 2.0)
    view = editing.view(0)
    np.testing.assert_allclose((view.last - view.original)[1:-1], 1.0)
    np.testing.assert_allclose((view.current - view.original)[1:-1], 3.0)
    assert view.version == editing.version == 2
    assert (view.name, view.kind) == ("age", "continuous")
    assert len(view.labels) == len(view.weights) == len(view.current)
    assert view.band.lower.shape == view.band.upper.shape == view.current.shape
    assert session().view("city").edges is None
    assert session(covariance=False).view("age").band is None


def test_open_views_notice_each_change_once():
    editing = session()
    seen = []
    end = editing.subscribe(lambda changed: seen.append(changed.version))
    editing.shift("age", 1.0)
    editing.commit("why")
    editing.shift("age", 0.0)
    editing.undo()
    editing.redo()
    editing.cancel()
    assert seen == [1, 2, 3, 4]
    end()
    editing.flatten("city")
    assert seen == [1, 2, 3, 4]
    with pytest.raises(TypeError, match="function of the session"):
        editing.subscribe("view")


def test_a_view_that_fails_does_not_undo_the_edit():
    editing = session()
    seen = []

    def fail(changed):
        raise KeyError("gone")

    editing.subscribe(fail)
    editing.subscribe(lambda changed: seen.append(changed))
    with pytest.warns(RuntimeWarning, match="change of the model stands"):
        editing.shift("age", 1.0)
    assert seen == [editing]
    assert len(editing.history) == 1


def test_a_view_may_read_and_edit_the_session_while_it_is_told():
    editing = session()

    def mend(changed):
        if changed.version == 1:
            threading.Thread(target=changed.flatten, args=("city",)).start()
            changed.shift("grade", 1.0)

    editing.subscribe(mend)
    editing.shift("age", 1.0)
    assert len(editing.history) >= 2


def test_edits_from_many_threads_are_all_counted():
    editing = session()
    threads = [
        threading.Thread(target=lambda: [editing.shift("age", 0.5) for _ in range(20)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert editing.version == len(editing.history) == 160
    change = editing.view("age").current - editing.view("age").original
    np.testing.assert_allclose(change[1:-1], 80.0)


def test_diff_lists_changed_terms_and_classes_with_their_largest_change():
    editing = session(3)
    assert editing.diff().empty
    editing.set_scores("age", 9.0, bins=3, classes="b")
    editing.shift("city", 1.0, levels=["Lyon"])
    table = editing.diff()
    assert table["term"].tolist() == ["age", "city", "city", "city"]
    assert table["class"].tolist() == ["b", "a", "b", "c"]
    assert table["bins"].tolist() == [1, 1, 1, 1]
    assert table["at"].tolist() == ["25 to 30", "Lyon", "Lyon", "Lyon"]
    first = table.iloc[0]
    assert first["largest_change"] == 9.0 - editing.view("age").original[3, 1]


def test_the_session_shows_how_many_edits_there_are():
    editing = session()
    editing.shift("age", 1.0)
    assert repr(editing) == "EditSession(4 terms, 1 edits, 1 of them pending)"
    assert editing.terms == ("age", "dose", "grade", "city")
    assert editing.class_labels == ()
    assert session(3).class_labels == ("a", "b", "c")
