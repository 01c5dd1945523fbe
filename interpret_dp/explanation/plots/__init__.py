"""Figures of explanations, for notebooks, the dashboard, the editors and pages of HTML.

A figure is drawn with plotly, which is imported when one is drawn. Each class of explanations has
figures of its own; further ones are registered here by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_choice

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["FIGURES", "draw_figure", "register_figure"]

#: Registered figures by name. Each is drawn from an explanation and a key of it.
FIGURES: dict[str, Callable[[Any, Any], Figure]] = {}


def register_figure(name: str, draw: Callable[[Any, Any], Figure]) -> None:
    """Register a figure, so that ``explanation.draw(name, key)`` draws it.

    Parameters
    ----------
    name : str
    draw : callable
        From an explanation and a key (None, or the number of a part) to a figure with a title. An
        explanation holds released numbers alone, so that a figure costs nothing; it must not be
        given rows by another way.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    if name in FIGURES:
        raise ValueError(f"A figure named {name!r} is registered; choose another name.")
    FIGURES[name] = draw


def draw_figure(name: str, explanation: Any, key: Any, line: str) -> Figure:
    """Return a registered figure with the privacy cost above it, which no figure can leave out."""
    from interpret_dp.explanation.plots.parts import LEGEND_BELOW, add_heading, dress

    figure = FIGURES[check_choice("name", name, tuple(FIGURES))](explanation, key)
    title, shows_legend = figure.layout.title.text or name, figure.layout.showlegend
    dress(figure, height=430, margin={"l": 10, "r": 14, "b": 50})
    if shows_legend:
        figure.update_layout(showlegend=True, legend=LEGEND_BELOW, margin={"b": 90})
    add_heading(figure, title, line)
    return figure
