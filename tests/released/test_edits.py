"""Records of edits: checked, and part of a model's file and digest."""

from __future__ import annotations

import dataclasses
import json

import pytest

from interpret_dp.released import AdditiveModel, EditRecord
from interpret_dp.released.edits import edits_text
from tests.released.models import build_model

RECORD = EditRecord(
    term="age", what="made increasing", who="Ada", when="2026-01-31T12:00:00Z", why="literature"
)


def test_edits_come_back_from_the_models_file_and_change_its_digest():
    model = build_model(2)
    edited = dataclasses.replace(model, edits=(RECORD, RECORD))
    again = AdditiveModel.from_dict(json.loads(json.dumps(edited.to_dict())))
    assert again.edits == (RECORD, RECORD)
    assert again.digest == edited.digest != model.digest


def test_files_from_before_there_were_edits_are_read_and_keep_their_digest():
    document = build_model(2).to_dict()
    assert "edits" not in document
    assert AdditiveModel.from_dict(document).edits == ()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"what": ""}, ValueError, "what of an edit"),
        ({"who": "  "}, ValueError, "who of an edit"),
        ({"why": None}, TypeError, "must be a text"),
        ({"term": 3}, TypeError, "must be a text"),
        ({"why": "x" * 2001}, ValueError, "at most 2000"),
        ({"when": "2026-01-31"}, ValueError, "time in UTC"),
        ({"when": "2026-01-31T12:00:00+01:00"}, ValueError, "time in UTC"),
        ({"when": "soon"}, ValueError, "time in UTC"),
    ],
)
def test_records_that_say_nothing_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        dataclasses.replace(RECORD, **changes)


@pytest.mark.parametrize("entry", [{}, [], {**RECORD.to_dict(), "row": 1}, None])
def test_damaged_records_in_a_models_file_are_refused(entry):
    document = build_model(2).to_dict() | {"edits": [entry]}
    with pytest.raises(ValueError, match="exactly the keys term, what, who, when, why"):
        AdditiveModel.from_dict(document)


def test_edits_must_be_records():
    with pytest.raises(TypeError, match="EditRecord"):
        dataclasses.replace(build_model(2), edits=("made increasing",))


def test_one_change_and_many_are_counted_in_words():
    assert (edits_text(1), edits_text(3)) == ("edited: 1 change", "edited: 3 changes")
