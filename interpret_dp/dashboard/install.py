"""Puts our callbacks and styles into an app that interpret has made."""

from __future__ import annotations

import atexit

import dash

from interpret_dp.dashboard import privacy_tab, registry
from interpret_dp.dashboard.cards import live_card
from interpret_dp.dashboard.editor_view import EditorSlot
from interpret_dp.dashboard.guard import refuse_foreign_requests
from interpret_dp.dashboard.shutdown import stop_interprets_server
from interpret_dp.dashboard.style import STYLE
from interpret_dp.explanation.registry import register_live_view

__all__ = ["set_up"]

registry.use_term_slot(EditorSlot())


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
    app.index_string = app.index_string.replace("</head>", f"<style>{STYLE}</style></head>")
    privacy_tab.register(app)
    registry.term_slot().register(app)
    register_live_view(live_card)
