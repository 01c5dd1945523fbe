"""Playing several users of one ledger, and moving its clock."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from unittest import mock

from interpret_dp.ledger.core import names


@contextlib.contextmanager
def acting_as(user: str) -> Iterator[None]:
    """Let the operating system name another user."""
    with mock.patch.object(names, "_name_of", return_value=user):
        yield


@contextlib.contextmanager
def days_later(days: float) -> Iterator[None]:
    """Let the machine's clock show another day."""
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    with mock.patch.object(names, "now", return_value=moment):
        yield
