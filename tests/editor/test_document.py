"""The file of a session: the same model again, and a refusal of everything else."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

from interpret_dp.editor import KINDS, EditSession
from tests.editor.models import Holder, build_model, session
from tests.editor.test_operations import ARGUMENTS


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
    return editing


def test_a_file_gives_the_same_model_and_history_again(edited, tmp_path):
    edited.undo()
    edited.save(tmp_path / "edits.json")
    again = EditSession.load(tmp_path / "edits.json", Holder(edited.base), author="Grace")
    assert again.released.digest == edited.released.digest
    assert again.history == edited.history
    assert (again.author, again.version, again.can_redo) == ("Grace", 0, False)
    assert again.undo() == edited.undo()
    assert again.released.digest == edited.released.digest


def test_every_kind_is_in_the_document_with_its_parameters(edited):
    document = edited.to_dict()
    assert {entry["kind"] for entry in document["edits"]} == {*KINDS, "reset"}
    smoothing = next(entry for entry in document["edits"] if entry["kind"] == "smooth")
    assert set(smoothing["parameters"]) == {"length", "amplitude", "noise"}
    assert smoothing["why"] == "a reason - with a dash"


def test_recorded_results_count_where_rounding_differs(edited):
    """As on another machine, whose linear algebra rounds otherwise."""
    document = edited.to_dict()
    last = document["edits"][-2]
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


CITY, AGE = {"term": "city"}, {"term": "age"}


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("shift", {"kind": "paint"}, "one of 'make_monotone'"),
        ("shift", {"term": "height"}, "no term 'height'"),
        ("shift", {"term": 0}, "must be a name"),
        ("shift", {"bins": []}, "not empty"),
        ("shift", {"bins": [3, 2]}, "must increase"),
        ("shift", {"bins": [99]}, "at most 9"),
        ("shift", {"bins": [1.5]}, "integer"),
        ("shift", {"bins": "all"}, "list of indices"),
        ("shift", {"classes": [1]}, "at most 0"),
        ("shift", {"recentre": 1}, "true or false"),
        ("shift", {"parameters": {}}, "exactly"),
        ("shift", {"parameters": {"by": "1"}}, "real number"),
        ("shift", {"parameters": {"by": 0.75}}, "not what its operation gives"),
        ("shift", {"scores": [0.0] * 10}, "not what its operation gives"),
        ("shift", {"scores": [0.0]}, "has shape"),
        ("shift", {"scores": "x"}, "convert"),
        ("shift", {"moved": [9.0]}, "moved are not what"),
        ("shift", {"who": ""}, "who of an edit"),
        ("shift", {"when": "yesterday"}, "time in UTC"),
        ("shift", {"when": "2026-01-31T12:00:00+02:00"}, "time in UTC"),
        ("shift", {"why": None}, "must be a text"),
        ("shift", {"extra": 1}, "exactly the keys"),
        ("make_monotone", {"parameters": {"increasing": ["auto"]}}, "'auto'"),
        ("make_monotone", {"parameters": {"increasing": True}}, "one value for each"),
        ("make_monotone", {"bins": [0, 1, 2]}, "no place in it"),
        ("smooth", {"parameters": {"length": [None], "amplitude": [1], "noise": [None]}}, "length"),
        ("set_scores", {"parameters": {"scores": [[0.25]]}}, "for each of 5 bins"),
        ("reset", {"bins": [1]}, "whole term"),
    ],
)
def test_damaged_edits_are_refused_with_their_number(edited, kind, changes, message):
    document = copy.deepcopy(edited.to_dict())
    number, entry = next(
        (number, entry)
        for number, entry in enumerate(document["edits"], start=1)
        if entry["kind"] == kind
    )
    entry.update(changes)
    with pytest.raises(ValueError, match=f"damaged in edit {number} .*{message}"):
        EditSession.from_dict(document, Holder(edited.base))


def test_removed_parts_and_what_cannot_be_edited_are_refused(edited):
    document = edited.to_dict()
    for parts, message in (
        (document["edits"][1:], "damaged in edit"),
        ([{"kind": "shift"}], "damaged in edit 1 .*exactly the keys"),
        ({}, "edits must be a list"),
    ):
        with pytest.raises(ValueError, match=message):
            EditSession.from_dict({**document, "edits": parts}, Holder(edited.base))
    for model in (None, "model.json", build_model()):
        with pytest.raises(TypeError, match="it must be the fitted estimator"):
            EditSession.from_dict(document, model)
