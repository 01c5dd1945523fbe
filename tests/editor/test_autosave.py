"""Edits on disk as they are made, and their way into the next session."""

import dataclasses
import gc
import json
import os
import stat
import weakref

import pytest

from interpret_dp import DPExplainableBoostingClassifier, load_model
from interpret_dp._documents import sealed
from interpret_dp.editor import autosave as autosave_module
from interpret_dp.editor.autosave import AUTOSAVE_VARIABLE, autosaves
from interpret_dp.released.additive_model import note_file
from tests.editor.models import Holder, build_model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the user's folder of autosave files, which is not there yet."""
    monkeypatch.setenv(AUTOSAVE_VARIABLE, "on")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(autosave_module, "_live", weakref.WeakSet())
    return tmp_path / "data" / "interpret_dp" / "edits"


def opened(path=None, seed=0, **options):
    """Return a session that a screen shows, over a model that is in a file or not."""
    model = build_model(seed=seed)
    note_file(model, path)
    session = Holder(model).edit(**options)
    session.autosave.start()
    return session


def end(session):
    """Leave a session as a process does that ends."""
    session.autosave.stop()
    autosave_module._live.discard(session.autosave)


def test_every_edit_is_in_a_private_file_of_the_user_that_holds_nothing_else(folder, tmp_path):
    session = opened()
    assert not folder.exists()
    session.set_scores("age", 0.25, between=(20, 40))
    path = session.autosave.path
    assert path.parent == folder
    document = json.loads(path.read_text())
    assert document == sealed(session.to_dict())
    assert set(document) == {"format", "version", "base", "edits", "sha256"}
    (edit,) = document["edits"]
    assert set(edit) == {
        *("kind", "term", "bins", "classes", "parameters", "recentre", "scores", "moved"),
        *("who", "when", "why"),
    }
    assert str(tmp_path) not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    session.commit("why not")
    assert "why not" in path.read_text()
    assert os.listdir(folder) == [path.name]
    session.undo()
    assert not path.exists()
    assert session.autosave.path is None


def test_edits_lie_beside_the_file_of_the_model_and_are_taken_or_discarded(folder, tmp_path):
    path = tmp_path / "model.json"
    session = opened(path)
    session.shift("age", 0.1)
    session.flatten("dose")
    assert session.autosave.path == tmp_path / "model.autosave.json"
    # An open session is not an earlier one.
    second = opened(path)
    assert second.autosave.earlier == ()
    document = session.to_dict()
    end(session)

    (found,) = second.autosave.earlier
    assert (found.count, found.who, found.problem) == (2, "Ada", "")
    assert str(found.path) in str(found)
    assert second.autosave.take() == 2
    assert second.to_dict() == document
    # It goes on in the same file.
    second.scale("age", 0.5)
    assert second.autosave.path == found.path
    assert len(json.loads(found.path.read_text())["edits"]) == 3
    assert sorted(os.listdir(tmp_path)) == ["model.autosave.json"]

    end(second)
    third = opened(path)
    third.autosave.discard()
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="0 earlier sessions"):
        third.autosave.take()


def test_a_fitted_model_finds_its_edits_whether_it_was_saved_or_not(folder, cohort, tmp_path):
    model = DPExplainableBoostingClassifier(epsilon=4, schema=cohort.schema, max_rounds=1)
    model.fit(cohort.X, cohort.y)
    session = model.explain_global().edit_session
    session.autosave.start()
    session.flatten("age")
    assert session.autosave.path.parent == folder
    end(session)
    model.save(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="An earlier session left 1 edit, the last by"):
        again = load_model(tmp_path / "model.json").edit()
    assert again.autosave.take() == 1
    assert again.history == session.history
    assert again.autosave.path.parent == folder
    # Off: nothing is read, and so nothing is offered.
    assert load_model(tmp_path / "model.json").edit(autosave=False).autosave.earlier == ()
    del session
    gc.collect()
    shown = load_model(tmp_path / "model.json").explain_global()
    shown.edit_session.autosave.start()
    shown.edit_session.flatten("age")
    assert shown.edit_session.autosave.path == tmp_path / "model.autosave.json"


@pytest.mark.parametrize("switch", ["argument", "variable"])
def test_autosave_can_be_switched_off(folder, tmp_path, monkeypatch, switch):
    if switch == "variable":
        monkeypatch.setenv(AUTOSAVE_VARIABLE, "off")
    session = opened(tmp_path / "model.json", autosave=switch == "variable")
    session.flatten("age")
    assert session.autosave.path is None
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv(AUTOSAVE_VARIABLE, "nowhere")
    with pytest.raises(ValueError, match="must be 'on' or 'off'"):
        assert opened().autosave


DAMAGED_FILES = [
    (b"", "is not valid JSON"),
    (b'{"rows": [1, 2]}', "format"),
    (b"damaged", "changed after it was written"),
    (b"foreign", "was made on the model"),
]


@pytest.mark.parametrize(("content", "message"), DAMAGED_FILES)
def test_a_damaged_or_foreign_file_is_refused_and_stays(folder, tmp_path, content, message):
    path = tmp_path / "model.autosave.json"
    made = Holder(build_model(seed=content == b"foreign")).edit()
    made.flatten("age")
    document = sealed(made.to_dict())
    if content == b"damaged":
        document["edits"][0]["who"] = "Eve"
    if content in (b"damaged", b"foreign"):
        content = json.dumps(document).encode()
    path.write_bytes(content)
    session = opened(tmp_path / "model.json")
    (found,) = session.autosave.earlier
    assert message in str(found)
    for refused in (session.autosave.take, session.autosave.discard):
        with pytest.raises(ValueError, match=message):
            refused(found)
    session.flatten("dose")
    assert session.autosave.path == tmp_path / "model.autosave-2.json"
    assert path.read_bytes() == content


def test_edits_that_would_be_lost_are_not_replaced(folder, tmp_path):
    path = tmp_path / "model.json"
    first = opened(path)
    first.flatten("age")
    end(first)
    second = opened(path)
    second.flatten("dose")
    (found,) = second.autosave.earlier
    own = second.autosave.path
    with pytest.raises(ValueError, match="would be lost"):
        second.autosave.take(found)
    assert second.autosave.path == own
    assert found.path.exists()
    second.undo()
    assert second.autosave.take(found) == 1
    assert not own.exists()


def test_a_file_that_another_session_changed_is_neither_taken_nor_discarded(folder, tmp_path):
    path = tmp_path / "model.json"
    first = opened(path)
    first.flatten("age")
    end(first)
    second, third = opened(path), opened(path)
    (offer,) = third.autosave.earlier
    second.autosave.take()
    second.flatten("dose")
    for refused in (third.autosave.take, third.autosave.discard):
        with pytest.raises(ValueError, match="was changed since it was read"):
            refused(offer)
    # Both took one file: the second writer goes on in another.
    taken = second.autosave.path
    content = dict(json.loads(taken.read_text()), note="written by another process")
    taken.write_text(json.dumps(content))
    second.flatten("grade")
    assert second.autosave.path != taken
    assert json.loads(taken.read_text()) == content
    # A file that was discarded elsewhere is written again: the session is still open.
    second.autosave.path.unlink()
    assert [entry.path for entry in autosaves()] == [second.autosave.path]
    assert len(json.loads(second.autosave.path.read_text())["edits"]) == 3


def test_a_folder_that_cannot_be_written_is_no_end_of_the_edit(folder, tmp_path):
    # Beside a model in no folder: the user's own. That one is a file here, so nothing can be kept.
    session = opened(tmp_path / "absent" / "model.json")
    session.flatten("age")
    assert session.autosave.path.parent == folder
    other = Holder(dataclasses.replace(build_model(), rounds=11)).edit()
    session.undo()
    folder.rmdir()
    folder.touch()
    other.autosave.start()
    with pytest.warns(RuntimeWarning, match="cannot be kept in a file"):
        other.flatten("age")
    assert "session.save" in other.autosave.problem
    assert len(other.history) == 1
