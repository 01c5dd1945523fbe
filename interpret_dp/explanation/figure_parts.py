"""What the figures of a page have in common: colours, layout, and how names are written."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel

__all__ = [
    "COLORS",
    "LONGEST_LABEL",
    "dress",
    "literal",
    "number_text",
    "score_unit",
    "shortened",
    "value_text",
]

COLORS = {
    "curve": "#14609c",
    "band": "rgba(20, 96, 156, 0.20)",
    "truth": "#d9480f",
    "preview": "#d55e00",
    "weight": "#cdd6df",
    "ink": "#24323f",
    "grid": "#e9edf1",
    "line": "#9aa7b3",
    "up": "#d9480f",
    "down": "#14609c",
}

LONGEST_LABEL = 22
"""Letters of a label that a figure shows."""


def score_unit(model: AdditiveModel) -> str:
    """Return what a score counts: log-odds of the second class, or the target's own unit."""
    if model.classes is None:
        return "change of the prediction"
    if len(model.classes) > 2:
        return "score of each class (log scale)"
    # A model of one class has no other to set it against.
    return f"log-odds of {literal(str(model.classes[-1]))}"


def dress(figure: Figure, *, height: int, margin: dict[str, int]) -> None:
    """Give a figure the page's layout; ``height`` and ``margin`` in pixels."""
    figure.update_layout(
        height=height,
        margin=margin,
        showlegend=False,
        template="plotly_white",
        bargap=0.35,
        font={"family": "system-ui, sans-serif", "size": 12, "color": COLORS["ink"]},
        hovermode="closest",
        modebar={
            "bgcolor": "rgba(0,0,0,0)",
            "color": "#9aa7b3",
            "activecolor": COLORS["curve"],
            # plotly's button that uploads a figure to its makers.
            "remove": ["sendChartToCloud"],
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    figure.update_xaxes(gridcolor=COLORS["grid"], zeroline=False)
    figure.update_yaxes(gridcolor=COLORS["grid"], zeroline=False)


def number_text(value: float) -> str:
    """Return a number with four significant digits, whole ones in full."""
    number = float(f"{value:.4g}") + 0.0
    return f"{int(number):,}" if number.is_integer() and abs(number) < 1e9 else f"{number:.4g}"


def value_text(value: Any) -> str:
    """Return a cell of a row as text, "missing" if it is."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return literal(str(value))
    return number_text(float(value))


def literal(name: str) -> str:
    """Return a name as plotly shows it literally: it reads a kind of HTML."""
    return html.escape(name, quote=False)


def shortened(name: str, longest: int = LONGEST_LABEL) -> str:
    """Return a literal name, cut to so many letters."""
    # Cutting must not split an escaped character, so it is undone first.
    plain = html.unescape(name)
    return name if len(plain) <= longest else literal(f"{plain[: longest - 1]}…")
