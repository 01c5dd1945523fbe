"""Which explanation a card on a page belongs to; the state itself never leaves Python."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from typing import Any

__all__ = ["explanation_of", "new_uid"]

_lock = threading.Lock()
_explanations: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_tokens: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_serial_numbers = itertools.count(1)
# A page of an earlier process must not find an explanation of this one.
_process = f"{time.time_ns():x}"


def new_uid(explanation: Any) -> str:
    """Return a name for one rendering of an explanation; no two renderings share it.

    The explanation is held weakly: interpret's app keeps it as long as it shows it.
    """
    with _lock:
        token = _tokens.get(explanation)
        if token is None:
            token = f"{_process}-{next(_serial_numbers)}"
            _tokens[explanation] = token
            _explanations[token] = explanation
        return f"{token}-{next(_serial_numbers)}"


def explanation_of(uid: str) -> Any:
    """Return the explanation of a rendering, or None if it is gone or of another process."""
    with _lock:
        return _explanations.get(uid.rpartition("-")[0])
