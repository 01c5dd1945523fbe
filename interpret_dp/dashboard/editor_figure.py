"""The editor's plot of one term: released, last and present scores, noise band, where rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.dashboard.editor_curves import BAR, LEGEND_RANKS, add_curves
from interpret_dp.dashboard.editor_drawn import Drawn, score_range
from interpret_dp.explanation.figure_parts import (
    COLORS,
    LONGEST_LABEL,
    dress,
    literal,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["editor_figure"]

_HEIGHT = 440  # pixels, if labels are upright
_SELECTED, _SELECTED_EDGE = "rgba(230, 159, 0, 0.13)", "rgba(200, 121, 10, 0.55)"
_BELOW = 78  # pixels for tick labels, title and legend
# Labels of levels are upright if all of them fit side by side, and lean otherwise.
_LETTERS_IN_WIDTH, _LABEL_ANGLE, _LETTER_DEPTH = 55, 40, 4.2


def editor_figure(drawn: Drawn, identity: dict[str, Any]) -> Figure:
    """Return the plot.

    Parameters
    ----------
    drawn : Drawn
    identity : dict
        Where the page's gestures report to: ids of the stores ``click`` and ``drag``.
    """
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.83, 0.17], vertical_spacing=0.035
    )
    dress(figure, height=_HEIGHT, margin={"l": 62, "r": 12, "t": 10, "b": _BELOW})
    draggable = [
        entry
        for place, column in enumerate(drawn.columns)
        for entry in add_curves(figure, drawn, column, place)
    ]
    _add_rows(figure, drawn)
    _lay_out_axes(figure, drawn)
    places = drawn.places
    figure.update_layout(
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "font": {"size": 11.5},
            # Filled curves would turn the order round.
            "traceorder": "normal",
            "itemclick": False,
            "itemdoubleclick": False,
        },
        dragmode=False if drawn.drags else "select",
        selectdirection="h",
        newselection={"line": {"color": _SELECTED_EDGE, "width": 1, "dash": "solid"}},
        shapes=_highlights(drawn),
        # What the page's gestures need to know; see editor_gestures.js.
        meta={
            "editor": identity,
            "version": drawn.view.version,
            "codes": list(places.codes),
            "left": places.left.tolist(),
            "right": places.right.tolist(),
            "selected": sorted(drawn.selected),
            "drags": drawn.drags,
            "traces": draggable,
        },
        uirevision=f"{drawn.column} {drawn.common_range is None}",
    )
    return figure


# ------------------------------------------------------------------------- what is around them


def _add_rows(figure: Figure, drawn: Drawn) -> None:
    places, weights = drawn.places, np.maximum(drawn.view.weights, 0.0)
    style = {
        "name": "where the rows are (noisy counts)",
        "legendrank": LEGEND_RANKS["rows"],
        "hoverinfo": "skip",
        "row": 2,
        "col": 1,
    }
    if not places.n_steps:
        figure.add_bar(
            x=places.centres.tolist(),
            y=weights[list(places.codes)].tolist(),
            width=BAR * 0.9,
            marker={"color": COLORS["weight"]},
            unselected={"marker": {"opacity": 1}},
            **style,
        )
        return
    edges = places.edges
    widths = np.maximum(np.diff(edges), 1e-12 * (edges[-1] - edges[0]))
    density = weights[list(places.codes[: places.n_steps])] / widths
    figure.add_scatter(
        x=edges.tolist(),
        y=np.r_[density, density[-1]].tolist(),
        mode="lines",
        line={"shape": "hv", "width": 0},
        fill="tozeroy",
        fillcolor=COLORS["weight"],
        **style,
    )


def _lay_out_axes(figure: Figure, drawn: Drawn) -> None:
    places = drawn.places
    low, high = float(places.left.min()), float(places.right.max())
    margin = 0.01 * (high - low) if places.n_steps else 0.2
    figure.update_xaxes(
        tickvals=list(places.tick_positions),
        ticktext=list(places.tick_labels),
        range=[low - margin, high + margin],
        showgrid=bool(places.n_steps),
    )
    figure.update_xaxes(title={"text": literal(drawn.view.name), "standoff": 8}, row=2, col=1)
    lowest, highest = drawn.common_range or score_range(drawn)
    figure.update_yaxes(
        title=drawn.unit,
        range=[lowest, highest],
        zeroline=True,
        zerolinecolor=COLORS["line"],
        zerolinewidth=1,
        row=1,
        col=1,
    )
    figure.update_yaxes(
        title="", showticklabels=False, showgrid=False, rangemode="tozero", row=2, col=1
    )
    if places.n_steps:
        return
    longest = min(max(map(len, places.tick_labels)), LONGEST_LABEL)
    if longest * len(places.codes) > _LETTERS_IN_WIDTH:
        depth = int(_LETTER_DEPTH * longest)
        figure.update_xaxes(tickangle=-_LABEL_ANGLE)
        figure.update_layout(height=_HEIGHT + depth, margin={"b": _BELOW + depth})


def _highlights(drawn: Drawn) -> list[dict[str, Any]]:
    """Return the shapes behind the curves: what is selected, and what parts missing values off."""
    shapes = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": low,
            "x1": high,
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "fillcolor": _SELECTED,
            "line": {"width": 1, "color": _SELECTED_EDGE},
        }
        for low, high in drawn.places.runs(drawn.selected)
    ]
    places = drawn.places
    if places.n_steps and places.n_steps < len(places.codes):
        border = float(places.edges[-1] + places.left[places.n_steps]) / 2
        line = {"width": 1, "dash": "dot", "color": COLORS["line"]}
        shapes.append(
            {"type": "line", "xref": "x", "yref": "paper", "x0": border, "x1": border, "y0": 0}
            | {"y1": 1, "line": line}
        )
    return shapes
