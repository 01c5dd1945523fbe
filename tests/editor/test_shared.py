"""One session for all views of a model, and documents that continue it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from interpret_dp.editor.shared import shared_session
from tests.editor.models import Holder, build_model


def test_models_of_one_digest_share_a_session_while_somebody_holds_it():
    model = build_model()
    session = shared_session(model, Holder)
    assert shared_session(build_model(), Holder) is session
    assert shared_session(build_model(seed=1), Holder) is not session
    session.flatten("age")
    del session
    gc.collect()
    assert shared_session(model, Holder).history == ()


def test_a_document_continues_the_session_that_it_began_as():
    first, second = Holder(build_model()).edit(), Holder(build_model()).edit("Grace")
    first.flatten("age", bins=[2, 3])
    second.continue_from(first.to_dict())
    first.shift("dose", 0.5)
    first.commit("known")
    heard = []
    second.subscribe(lambda session: heard.append(session.version))
    assert second.continue_from(first.to_dict()) == 1
    assert second.history == first.history
    assert np.array_equal(second.view("dose").current, first.view("dose").current)
    assert heard == [second.version]
    assert second.continue_from(first.to_dict()) == 0
    assert heard == [second.version]


def test_a_document_without_the_sessions_edits_is_refused():
    session = Holder(build_model()).edit()
    empty = session.to_dict()
    session.flatten("age")
    session.commit("because")
    committed = session.to_dict()
    for document in (empty, Holder(build_model()).edit().to_dict()):
        with pytest.raises(ValueError, match="would be lost"):
            session.continue_from(document)
    other = Holder(build_model()).edit()
    other.flatten("age")
    # The same edit by somebody else, or with another message, is another edit.
    other.commit("for another reason")
    with pytest.raises(ValueError, match="would be lost"):
        session.continue_from(other.to_dict())
    assert session.to_dict() == committed
