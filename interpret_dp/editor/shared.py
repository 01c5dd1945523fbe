"""One editing session for all views of one model."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from interpret_dp.editor.session import EditSession
from interpret_dp.released import AdditiveModel

__all__ = ["shared_session"]

_lock = threading.Lock()
_sessions: weakref.WeakValueDictionary[str, EditSession] = weakref.WeakValueDictionary()


def shared_session(base: AdditiveModel, build: Callable[[AdditiveModel], Any]) -> EditSession:
    """Return the session that all explanations of a model share; open it if there is none.

    It lives as long as one of them is alive. ``model.edit()`` opens one that nobody shares.

    Parameters
    ----------
    base : AdditiveModel
        The model; two of the same digest are one.
    build : callable
        Makes a fitted estimator of a released model; used by whoever comes first.
    """
    identity = base.digest
    with _lock:
        session = _sessions.get(identity)
        if session is None:
            session = _sessions[identity] = EditSession(base, build)
        return session
