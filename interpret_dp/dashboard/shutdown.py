"""Stops interpret's server when the process ends: with its thread alive the process crashes."""

from __future__ import annotations

import sys
import time
from typing import Any

__all__ = ["stop_interprets_server"]

_PATIENCE = 3.0  # seconds: a script may end before its server has begun to listen
_PAUSE = 0.05


def stop_interprets_server() -> None:
    """Stop the server behind ``interpret.show``; does nothing where there is none."""
    interactive = sys.modules.get("interpret.visual._interactive")
    outer = None if interactive is None else interactive.get_visualize_provider()
    # `show` alone puts the provider that serves into another one.
    runners = [getattr(provider, "app_runner", None) for provider in (outer, _inner(outer))]
    deadline = time.monotonic() + _PATIENCE
    for runner in runners:
        while runner is not None and not runner.stop() and time.monotonic() < deadline:
            time.sleep(_PAUSE)


def _inner(provider: Any) -> Any:
    return getattr(provider, "provider", None)
