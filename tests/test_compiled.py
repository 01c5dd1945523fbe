"""Compiled loops: where nothing can be kept on disk they are compiled, and fail nobody."""

from unittest.mock import Mock

import pytest

from interpret_dp._compiled import compiled

FAILURES = [
    # Neither the package's folder nor the user's can be written; the disk is full.
    ("__init__", RuntimeError("cannot cache function: no locator available")),
    ("save_overload", OSError(28, "No space left on device")),
]


@pytest.mark.parametrize(("method", "error"), FAILURES)
def test_code_that_cannot_be_kept_runs(monkeypatch, method, error):
    failing = Mock(side_effect=error)
    monkeypatch.setattr(f"numba.core.caching.FunctionCache.{method}", failing)

    @compiled()
    def doubled(number):
        return 2 * number

    assert doubled(4) == 8
    failing.assert_called_once()
