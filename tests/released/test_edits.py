"""Records of edits: checked, and part of a model's file and digest."""

import dataclasses

import pytest

from interpret_dp.released import AdditiveModel, EditRecord
from tests.released.models import build_model

RECORD = EditRecord(
    term="age", what="made increasing", who="Ada", when="2026-01-31T12:00:00Z", why="literature"
)


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
    with pytest.raises(ValueError, match=r"An edit (lacks|has unknown keys|is of type)"):
        AdditiveModel.from_dict(document)


def test_edits_must_be_records():
    with pytest.raises(TypeError, match="EditRecord"):
        dataclasses.replace(build_model(2), edits=("made increasing",))
