"""What fills the upper part of a term's card: a figure, or an editor that registered itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import dash
from dash import dcc
from dash.development.base_component import Component

from interpret_dp.released import AdditiveModel

__all__ = ["TermCard", "TermSlot", "figure_component", "term_slot", "use_term_slot"]


@dataclass(frozen=True, eq=False)
class TermCard:
    """One term on one page.

    Attributes
    ----------
    explanation : PrivateExplanation
        The global explanation that the card belongs to.
    model : AdditiveModel
        What it explains.
    term : int
        Index of the term.
    uid : str
        Names this rendering: fresh at each, so that two panes never share an id.
    """

    explanation: Any
    model: AdditiveModel
    term: int
    uid: str


class TermSlot(Protocol):
    """What shows a term, above the privacy panel."""

    def build(self, card: TermCard) -> Component:
        """Return the components of one card; ids must hold ``card.uid``."""

    def register(self, app: dash.Dash) -> None:
        """Add the callbacks to one of interpret's apps; called once for each."""


class FigureSlot:
    """Shows the plain figure, with its own buttons and no callback."""

    def build(self, card: TermCard) -> Component:
        """Return the term's figure."""
        return figure_component(card.explanation.figure(card.term, line=""))

    def register(self, app: dash.Dash) -> None:
        """Add nothing: plotly's buttons need no server."""


_slot: TermSlot = FigureSlot()


def term_slot() -> TermSlot:
    """Return what shows the terms."""
    return _slot


def use_term_slot(slot: TermSlot) -> None:
    """Show terms by another slot from now on; apps that exist already keep their callbacks."""
    global _slot
    _slot = slot


def figure_component(figure: Any) -> Component:
    """Return a figure as a component that is as wide as its card."""
    return dcc.Graph(
        figure=figure,
        config={"displayModeBar": "hover", "displaylogo": False, "responsive": True},
        style={"height": f"{figure.layout.height}px"},
    )
