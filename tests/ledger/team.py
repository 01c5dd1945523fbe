"""Playing several users of one ledger, and moving its clock."""

import contextlib
import datetime
from unittest import mock

from interpret_dp.ledger import chain


@contextlib.contextmanager
def acting_as(user):
    """Let the operating system name another user."""
    with mock.patch.object(chain, "_name_of", return_value=user):
        yield


@contextlib.contextmanager
def days_later(days):
    """Let the machine's clock show another day."""
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    with mock.patch.object(chain, "now", return_value=moment):
        yield
