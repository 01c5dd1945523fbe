"""Stops interpret's server when the process ends: with its thread alive the process crashes."""

from __future__ import annotations

import time

from interpret_dp.dashboard.host import runners

__all__ = ["stop_interprets_server"]

_PATIENCE = 3.0  # seconds: a script may end before its server has begun to listen
_PAUSE = 0.05


def stop_interprets_server() -> None:
    """Stop the server behind ``interpret.show``; does nothing where there is none."""
    deadline = time.monotonic() + _PATIENCE
    for runner in runners():
        while not runner.stop() and time.monotonic() < deadline:
            time.sleep(_PAUSE)
