"""Puts our callbacks and styles into an app that interpret has made."""

from __future__ import annotations

import atexit
import time
from importlib.resources import files

import dash

from interpret_dp.dashboard import editor_callbacks, privacy_tab
from interpret_dp.dashboard.cards import live_card
from interpret_dp.dashboard.guard import refuse_foreign_requests
from interpret_dp.dashboard.host import runners
from interpret_dp.explanation.objects import register_live_view

__all__ = ["set_up", "stop_interprets_server"]

_PATIENCE = 3.0  # seconds: a script may end before its server has begun to listen
_PAUSE = 0.05


def set_up(app: dash.Dash) -> None:
    """Add everything to one of interpret's apps while it is being made.

    Parameters
    ----------
    app : dash.Dash
        Of interpret's own class: others are none of our business.
    """
    # First: without it nothing of ours is served.
    refuse_foreign_requests(app)
    # Registered again, so that it runs once, and before what was registered earlier.
    atexit.unregister(stop_interprets_server)
    atexit.register(stop_interprets_server)
    folder = files("interpret_dp.dashboard")
    style, gestures = (
        (folder / name).read_text("utf-8") for name in ("style.css", "editor_gestures.js")
    )
    head = f"<style>{style}</style><script>{gestures}</script></head>"
    app.index_string = app.index_string.replace("</head>", head)
    privacy_tab.register(app)
    editor_callbacks.register(app)
    register_live_view(live_card)


def stop_interprets_server() -> None:
    """Stop the server behind ``interpret.show``, if there is one.

    With its thread alive the process would crash when it ends.
    """
    deadline = time.monotonic() + _PATIENCE
    for runner in runners():
        while not runner.stop() and time.monotonic() < deadline:
            time.sleep(_PAUSE)
