"""The history: undo, redo, messages, views of one session, and what it never changes."""

import copy
import dataclasses
import gc
import json
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp.editor import EditSession
from interpret_dp.editor.session import shared_session
from interpret_dp.editor.state import find_term
from interpret_dp.released import AdditiveModel
from tests.editor import test_pairs as pairs
from tests.editor.models import (
    Holder,
    as_older_version,
    build_model,
    changed,
    mean_score,
    session,
    words,
)
from tests.editor.test_operations import ARGUMENTS

MODELS = {n: build_model(n) for n in (0, 2, 3)} | {"pair": pairs.build()}
BETWEEN = st.tuples(st.floats(0, 100), st.floats(0, 100)).map(
    lambda ends: {"between": (min(ends), max(ends))}
)
BINS = st.lists(st.integers(0, 9), max_size=4).map(lambda bins: {"bins": bins})
PLACES = st.one_of(
    st.tuples(st.sampled_from(["age", "dose", "grade", "city"]), st.just({})),
    st.tuples(st.sampled_from(["age", "dose"]), st.one_of(BETWEEN, BINS)),
    st.sampled_from([("grade", {"levels": ["low", "top"]}), ("city", {"levels": ["Lyon", 3]})]),
    st.tuples(st.just(4), st.sampled_from([{}, {"between": {"age": (31, 40)}}, {"bins": [6, 7]}])),
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
    st.tuples(st.just("scale"), st.floats(-2, 2).map(lambda value: {"factor": value})),
    st.tuples(st.just("shift"), st.floats(-3, 3).map(lambda value: {"by": value})),
    st.tuples(st.just("cap"), st.floats(0, 3).map(lambda value: {"magnitude": value})),
)
EDITS = st.tuples(OPERATIONS, PLACES, st.booleans())
STEPS = st.one_of(
    *(EDITS, EDITS, st.sampled_from(["undo", "redo", "commit", "cancel", "keep_total"])),
    st.integers(0, 20),
)


class Reference:
    """A session, and lists of what was done and undone in it."""

    def __init__(self, base):
        self.base = base
        self.digest = base.digest
        self.session = Holder(base).edit()
        self.start = self.state()
        # Each record with the scores and the intercept after it.
        self.done = []
        self.undone = []
        self.seen = []
        self.n_changes = 0
        self.session.subscribe(lambda changed: self.seen.append(changed.version))

    def state(self):
        return self.bytes_of(self.session.released)

    @staticmethod
    def bytes_of(model):
        return b"".join(term.scores.tobytes() for term in model.terms), model.intercept.tobytes()

    def edit(self, operation, place, recentre):
        """Edit, and compare with a preview, which does nothing."""
        (kind, arguments), (term, selection) = operation, place
        if kind != "reset":
            arguments = {**arguments, **selection, "recentre": recentre}
        before = self.session.released
        try:
            preview = self.session.preview(kind, term, **arguments)
        except ValueError:
            with pytest.raises(ValueError, match=r"."):
                getattr(self.session, kind)(term, **arguments)
            return
        assert self.session.released.digest == before.digest
        record = getattr(self.session, kind)(term, **arguments)
        after = self.session.released
        assert preview.changed == (record is not None)
        np.testing.assert_array_equal(preview.after, self.session.view(term).current)
        np.testing.assert_array_equal(preview.released.intercept, after.intercept)
        if record is None:
            return
        assert preview.record.what == record.what
        if kind == "reset":
            assert not self.session.view(term).is_edited
            # The intercept gets back exactly what the term had moved into it.
            index = find_term(self.base, term)
            assert not self.session._state.moved[index].any()
            assert words(record) == "reset to the scores of the release"
        else:
            self.check_bins(before, after, term, kind, selection)
            if recentre:
                np.testing.assert_allclose(mean_score(after), mean_score(before), atol=1e-9)
            else:
                np.testing.assert_array_equal(after.intercept, before.intercept)
        self.check_kept(before)
        self.done.append((record, self.state()))
        self.n_changes += 1

    def keep_total(self):
        """Keep the total, which a second call finds kept; no score changes."""
        if not self.done:
            with pytest.raises(ValueError, match="no edit that has moved"):
                self.session.keep_total()
            return
        before = self.session.released
        if (record := self.session.keep_total()) is None:
            return
        after = self.session.released
        assert self.session.keep_total() is None
        assert self.session.total_change == ""
        assert self.bytes_of(after)[0] == self.bytes_of(before)[0]
        self.check_kept(before)
        self.done.append((record, self.state()))
        self.n_changes += 1

    def check_kept(self, before):
        """Check that an edit after an undo erases no committed entry: others take it back."""
        kept = list(reversed(self.undone))
        while kept and not kept[-1][0].why:
            kept.pop()
        self.undone = []
        self.done += kept
        self.take_restored(len(self.session.history) - 1)
        assert self.done[-1:] == [] or self.done[-1][1] == self.bytes_of(before)

    def take_restored(self, stop):
        """Take over the entries that set terms back."""
        document = self.session.to_dict()
        for number in range(len(self.done), stop):
            record = self.session.history[number]
            assert record.what.startswith("set back to ")
            part = {**document, "edits": document["edits"][: number + 1]}
            again = EditSession.from_dict(part, Holder(self.base))
            self.done.append((record, self.bytes_of(again.released)))

    def go_back(self, entry):
        """Go back to an entry, or on to an undone one."""
        entries = [*self.done, *reversed(self.undone)]
        entry %= len(entries) + 1
        target = entries[entry - 1][1] if entry else self.start
        is_redo, before = entry > len(self.done), self.state()
        records = self.session.go_back(entry)
        assert self.state() == target
        if is_redo:
            while len(self.done) < entry:
                self.done.append(self.undone.pop())
        elif before != target:
            while self.undone and not self.undone[0][0].why:
                self.undone.pop(0)
            self.done += reversed(self.undone)
            self.undone = []
            self.take_restored(len(self.session.history))
        assert records == () or records[-1] == self.done[-1][0]
        self.n_changes += is_redo or before != target

    def check_bins(self, before, after, term, kind, selection):
        """Nothing but the selected bins changes: the missing and unseen ones not by default."""
        bins = self.session.to_dict()["edits"][-1]["bins"]
        for index, (old, new) in enumerate(zip(before.terms, after.terms, strict=True)):
            is_edited = term in (index, self.session.terms[index])
            kept = np.setdiff1d(np.arange(len(old.weights)), bins if is_edited else [])
            np.testing.assert_array_equal(new.scores[kept], old.scores[kept])
        if not selection:
            size = len(self.session.view(term).labels)
            reaches_all = kind in ("cap", "remove_effect")
            if reaches_all:
                assert bins == list(range(size))
            elif term != 4:
                assert bins == list(range(1, size - 1))

    def undo(self):
        self.move("undo", self.done, self.undone)

    def redo(self):
        self.move("redo", self.undone, self.done)

    def move(self, name, source, target):
        if not source:
            with pytest.raises(ValueError, match=f"no edit to {name}"):
                getattr(self.session, name)()
            return
        assert getattr(self.session, name)() == source[-1][0]
        target.append(source.pop())
        self.n_changes += 1

    def pending(self):
        return [record for record, _ in self.done if not record.why]

    def commit(self):
        message = f"reason {self.n_changes} - with a dash"
        if not self.pending():
            with pytest.raises(ValueError, match="nothing to commit"):
                self.session.commit(message)
            return
        assert self.session.commit(message) == len(self.pending())
        self.done = [
            (record if record.why else dataclasses.replace(record, why=message), state)
            for record, state in self.done
        ]
        self.n_changes += 1

    def cancel(self):
        """Take back what was done after the last message, as one change."""
        count = 0
        while self.done and not self.done[-1][0].why:
            self.undone.append(self.done.pop())
            count += 1
        assert self.session.cancel() == count
        self.n_changes += count > 0

    def check(self):
        session = self.session
        assert session.history == session.released.edits == tuple(r for r, _ in self.done)
        assert session.undone == tuple(record for record, _ in reversed(self.undone))
        assert session.pending == tuple(self.pending())
        assert self.state() == (self.done[-1][1] if self.done else self.start)
        assert self.seen == list(range(1, self.n_changes + 1))
        assert session.version == self.n_changes
        assert session.released.guarantee is self.base.guarantee
        assert session.base.digest == self.digest

    def check_end(self):
        """Replay a document, which gives the same; undo everything, which gives the base itself."""
        now = self.session.released
        document = self.session.to_dict()
        read_back = AdditiveModel.from_dict(json.loads(json.dumps(self.base.to_dict())))
        for base in (self.base, read_back):
            again = EditSession.from_dict(copy.deepcopy(document), Holder(base), author="Grace")
            assert again.released.digest == now.digest
            assert again.history == self.session.history
            assert (again.author, again.version, again.undone) == ("Grace", 0, ())
        while self.session.history:
            self.session.undo()
        assert self.session.released is self.base
        for _ in self.done:
            self.session.redo()
        assert self.session.released.digest == now.digest


@settings(max_examples=40)
@given(st.sampled_from([*MODELS]), st.lists(STEPS, min_size=8, max_size=16))
def test_any_sequence_of_steps_keeps_history_bins_and_guarantee(name, steps):
    reference = Reference(MODELS[name])
    for step in steps:
        if isinstance(step, str):
            getattr(reference, step)()
        elif isinstance(step, int):
            reference.go_back(step)
        else:
            reference.edit(*step)
        reference.check()
    reference.check_end()


def test_committed_entries_stay_and_any_can_be_looked_at_and_gone_back_to():
    editing = session()
    editing.shift("age", 0.5)
    editing.shift("city", 0.25)
    assert repr(editing) == "EditSession(4 terms, 2 edits, 2 of them pending)"
    editing.commit("first reason")
    editing.flatten("age")
    editing.commit("second reason")
    flat = editing.view("age").current
    editing.undo()
    editing.scale("city", 2.0)
    assert words(editing.history[3]) == "set back to edit 2"
    np.testing.assert_array_equal(editing.view("age", entry=3).last, flat)
    np.testing.assert_array_equal(editing.view("age", entry=0).last, editing.base.terms[0].scores)

    (record,) = editing.go_back(3, "age")
    assert (record.term, words(record)) == ("age", "set back to edit 3")
    np.testing.assert_array_equal(editing.view("age").current, flat)
    assert editing.go_back(3, "age") == ()
    assert [r.term for r in editing.go_back(0)] == ["age", "city"]
    assert words(editing.history[-1]) == "set back to before these edits"
    assert editing.diff().empty
    assert len(editing.history) == 8
    # The covariance of the noise comes back with the scores, as it does not by hand.
    assert editing.view("age").current_band is not None
    for entry in (-1, 9, True, "first"):
        with pytest.raises((TypeError, ValueError), match="entry"):
            editing.go_back(entry)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_edited_model_that_was_saved_still_knows_its_release(n_classes):
    first = session(n_classes)
    first.make_monotone("age")
    first.shift("city", 0.7, levels=["Lyon"])
    first.commit("known")
    base, ratio = first.base, first.base.terms[0].signal_to_noise
    saved = AdditiveModel.from_dict(json.loads(json.dumps(first.released.to_dict())))
    assert saved.digest == first.released.digest
    age = saved.terms[0]
    assert ratio is not None
    assert (age.is_edited, age.signal_to_noise) == (True, None)
    assert age.released.signal_to_noise == pytest.approx(ratio)
    assert [term.is_edited for term in saved.terms] == [True, False, False, True]

    again = Holder(saved).edit()
    view = again.view("age")
    np.testing.assert_array_equal(view.original, base.terms[0].scores)
    np.testing.assert_array_equal(view.current, age.scores)
    np.testing.assert_allclose(view.current_band, age.band(), rtol=1e-5)
    np.testing.assert_allclose(view.band, base.terms[0].band(), rtol=1e-5)
    label = "b" if n_classes > 2 else None
    found = again.verdict("age", "increasing", class_label=label)
    assert found == first.verdict("age", "increasing", class_label=label)
    again.shift("city", -0.2, levels=["Bonn"])
    for name in ("age", "city"):
        again.reset(name)
    reset = again.released
    assert not any(term.is_edited for term in reset.terms)
    assert set(map(words, again.history[-2:])) == {"reset to the scores of the release"}
    for term, original in zip(reset.terms, base.terms, strict=True):
        np.testing.assert_array_equal(term.scores, original.scores)
    np.testing.assert_allclose(reset.intercept, base.intercept, rtol=0, atol=1e-12)
    assert EditSession.from_dict(again.to_dict(), Holder(saved)).released.digest == reset.digest


def test_a_model_that_an_older_version_edited_does_not_claim_to_know_its_release():
    first = session()
    first.shift("age", 0.5)
    old = as_older_version(first.released)
    assert "released" not in old.to_dict()["terms"][0]
    assert (old.terms[0].is_edited, old.terms[0].signal_to_noise) == (True, None)
    again = Holder(old).edit()
    again.shift("age", 0.1)
    assert words(again.reset("age")) == "reset to the scores of the loaded model"
    assert again.released.terms[0].released is None
    with pytest.raises(ValueError, match="as it was fitted"):
        Holder(changed(old, 0, covariance=None)).edit().verdict("age")


def test_messages_must_say_something_and_authors_have_a_name(monkeypatch):
    editing = session()
    editing.shift("age", 1.0)
    for message, error in (("  ", ValueError), (None, TypeError), ("x" * 2001, ValueError)):
        with pytest.raises(error, match=r"say why|says why|at most 2000"):
            editing.commit(message)
    assert editing.pending
    for author, error in ((" ", ValueError), (7, TypeError)):
        with pytest.raises(error, match=r"not be empty|must be a text"):
            Holder(MODELS[2]).edit(author)
    monkeypatch.setattr("getpass.getuser", lambda: "grace")
    assert Holder(MODELS[2]).edit(None).author == "grace"
    monkeypatch.setattr("getpass.getuser", Mock(side_effect=OSError("no such user")))
    assert Holder(MODELS[2]).edit(None).author == "unknown"


# ------------------------------------------------------------------------------------- views


def test_a_view_that_fails_does_not_undo_the_edit():
    editing = session()
    seen = []

    end_failing = editing.subscribe(Mock(side_effect=KeyError("gone")))
    end = editing.subscribe(seen.append)
    with pytest.warns(RuntimeWarning, match="change of the model stands"):
        editing.shift("age", 1.0)
    assert seen == [editing]
    assert len(editing.history) == 1
    with pytest.raises(TypeError, match="function of the session"):
        editing.subscribe("view")
    end_failing()
    end()
    editing.flatten("city")
    assert seen == [editing]


def test_edits_from_many_threads_are_all_counted():
    editing = session()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(160):
            pool.submit(editing.shift, "age", 0.5)
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
    # A repair keeps the mean, but for rounding.
    editing = session()
    editing.make_monotone("age", increasing=True)
    assert editing.diff()["moved"].tolist() == [0.0]


# ------------------------------------------------------------- one session for all views of a model


def test_models_of_one_digest_share_a_session_while_somebody_holds_it():
    model = build_model()
    session = shared_session(model, Holder)
    assert shared_session(build_model(), Holder) is session
    assert shared_session(build_model(seed=1), Holder) is not session
    session.flatten("age")
    del session
    gc.collect()
    assert shared_session(model, Holder).history == ()


def test_a_document_continues_the_session_that_it_began_as_and_no_other():
    first, second = session(), Holder(build_model()).edit("Grace")
    empty = first.to_dict()
    first.flatten("age", bins=[2, 3])
    second.continue_from(first.to_dict())
    first.shift("dose", 0.5)
    first.commit("known")
    versions = []
    second.subscribe(lambda session: versions.append(session.version))
    assert second.continue_from(first.to_dict()) == 1
    assert second.history == first.history
    assert np.array_equal(second.view("dose").current, first.view("dose").current)
    assert versions == [second.version]
    assert second.continue_from(first.to_dict()) == 0
    assert versions == [second.version]
    # Without its edits it would be lost, and so it would with another message.
    other = session()
    other.flatten("age", bins=[2, 3])
    other.shift("dose", 0.5)
    other.commit("for another reason")
    for document in (empty, other.to_dict()):
        with pytest.raises(ValueError, match="would be lost"):
            second.continue_from(document)
    assert second.to_dict() == first.to_dict()


# ------------------------------------------------------------------------------- files of a session


@pytest.fixture
def edited():
    editing = session()
    for kind, arguments in ARGUMENTS.items():
        # Aligning a flat range would change nothing.
        last = 8 if kind == "align" else 7
        getattr(editing, kind)("age", bins=list(range(2, last)), **arguments)
        if kind == "smooth":
            editing.commit("a reason - with a dash")
    editing.shift("city", 1.0, levels=["Lyon"])
    editing.reset("age")
    editing.go_back(1)
    return editing


def test_recorded_results_count_where_rounding_differs(edited):
    """As on another machine, whose linear algebra rounds otherwise."""
    document = edited.to_dict()
    document["edits"] = document["edits"][:-3]
    last = document["edits"][-1]
    last["scores"] = [score * (1 + 1e-9) for score in last["scores"]]
    again = EditSession.from_dict(document, Holder(edited.base))
    np.testing.assert_array_equal(again.view("city").current, last["scores"])


def test_a_file_for_another_model_is_refused(edited, tmp_path):
    edited.save(tmp_path / "edits.json")
    other = dataclasses.replace(edited.base, intercept=0.0)
    with pytest.raises(ValueError, match=r"was made on the model .* this model is"):
        EditSession.load(tmp_path / "edits.json", Holder(other))
    with pytest.raises(ValueError, match="estimator that edit"):
        EditSession.load(tmp_path / "edits.json", Holder(edited.released))


DAMAGED_EDITS = [
    ("shift", {"kind": "paint"}, "one of 'make_monotone'"),
    ("shift", {"term": "height"}, "no term 'height'"),
    ("shift", {"bins": [3, 2]}, "must increase"),
    ("shift", {"bins": [99]}, "at most 9"),
    ("shift", {"parameters": {"by": 0.75}}, "not what its operation gives"),
    ("shift", {"moved": [9.0]}, "moved are not what"),
    ("make_monotone", {"parameters": {"increasing": ["auto"]}}, "'auto'"),
    ("make_monotone", {"parameters": {"increasing": True}}, "one value for each"),
    ("reset", {"bins": [1]}, "whole term"),
    ("restore", {"parameters": {"entry": 99}}, "at most"),
]


@pytest.mark.parametrize(("kind", "changes", "message"), DAMAGED_EDITS)
def test_damaged_edits_are_refused_with_their_number(edited, kind, changes, message):
    document = copy.deepcopy(edited.to_dict())
    number, entry = next(
        (number, entry)
        for number, entry in enumerate(document["edits"], start=1)
        if entry["kind"] == kind
    )
    entry.update(changes)
    with pytest.raises(ValueError, match=f"Edit {number} of the session file .*{message}"):
        EditSession.from_dict(document, Holder(edited.base))


def test_removed_edits_and_what_cannot_be_edited_are_refused(edited):
    document = edited.to_dict()
    without_first = {**document, "edits": document["edits"][1:]}
    with pytest.raises(ValueError, match="Edit 1 of the session file"):
        EditSession.from_dict(without_first, Holder(edited.base))
    for model in (None, "model.json", build_model()):
        with pytest.raises(TypeError, match="it must be the fitted estimator"):
            EditSession.from_dict(document, model)
