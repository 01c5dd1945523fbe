"""Where a live dashboard offers its own view of an explanation.

``dashboard`` registers itself here, because nothing below it may import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["LiveView", "live_view", "register_live_view"]

LiveView = Callable[[Any, int | None], Any]
"""Takes an explanation and a key; returns what to show, or None where it has nothing to say."""

_views: list[LiveView] = []


def register_live_view(view: LiveView) -> None:
    """Let a view answer ``visualize`` before the plain figure does; the same one counts once."""
    if view not in _views:
        _views.append(view)


def live_view(explanation: Any, key: int | None) -> Any:
    """Return what the first registered view shows, or None: then the plain figure is right."""
    for view in _views:
        shown = view(explanation, key)
        if shown is not None:
            return shown
    return None
