"""The shape-function editor as what shows a term in interpret's dashboard.

The state is the explanation's EditSession in Python. A page holds what it selected and which
version of the session it drew last, and nothing else.
"""

from __future__ import annotations

from importlib.resources import files

import dash
from dash.development.base_component import Component

from interpret_dp.dashboard import editor_callbacks
from interpret_dp.dashboard.editor_buttons import Ids
from interpret_dp.dashboard.editor_layout import editor_card
from interpret_dp.dashboard.editor_style import EDITOR_STYLE
from interpret_dp.dashboard.editor_term import EditedTerm
from interpret_dp.dashboard.registry import TermCard

__all__ = ["EditorSlot"]


class EditorSlot:
    """Shows each term with its editor."""

    def build(self, card: TermCard) -> Component:
        """Return the card of one term."""
        ids = Ids(card.uid, str(card.term))
        term = EditedTerm.of(card.explanation.edit_session, card.term)
        figure = term.figure(ids.gestures)
        return editor_card(ids, term.session, term.view, term.places, figure)

    def register(self, app: dash.Dash) -> None:
        """Add callbacks, style and gestures to one of interpret's apps."""
        gestures = files("interpret_dp.dashboard").joinpath("editor_gestures.js").read_text("utf-8")
        head = f"<style>{EDITOR_STYLE}</style><script>{gestures}</script></head>"
        app.index_string = app.index_string.replace("</head>", head)
        editor_callbacks.register(app)
