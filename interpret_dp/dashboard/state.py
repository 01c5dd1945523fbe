"""Which explanation a card on a page belongs to; the state itself never leaves Python."""

from __future__ import annotations

import itertools
import secrets  # noqa: TID251
import threading
import weakref
from typing import Any

__all__ = ["explanation_of", "new_uid"]

_lock = threading.Lock()
_explanations: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_numbers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_serial_numbers = itertools.count(1)
# Nobody who has not read a page of this process can name an explanation of it.
_token = secrets.token_urlsafe()


def new_uid(explanation: Any) -> str:
    """Return a name for one rendering of an explanation; no two renderings share it.

    It begins with the token of this process, so that a request that names it was read off a page.
    The explanation is held weakly: interpret's app keeps it as long as it shows it.
    """
    with _lock:
        number = _numbers.get(explanation)
        if number is None:
            number = str(next(_serial_numbers))
            _numbers[explanation] = number
            _explanations[number] = explanation
        return f"{_token}-{number}-{next(_serial_numbers)}"


def explanation_of(uid: str) -> Any:
    """Return the explanation of a rendering, or None if it is gone or of another process."""
    token, _, number = uid.rpartition("-")[0].rpartition("-")
    if not secrets.compare_digest(token.encode(), _token.encode()):
        return None
    with _lock:
        return _explanations.get(number)
