"""Figures of what a model does as a whole, and of what it does with one row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.explanation.figure_parts import (
    COLORS,
    dress,
    literal,
    score_unit,
    shortened,
    value_text,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, AdditiveTerm

__all__ = ["importance_figure", "local_figure", "term_importance"]

_MOST_CONTRIBUTIONS = 15


def term_importance(term: AdditiveTerm) -> tuple[float, float]:
    """Return the mean absolute score over the released rows, and what noise alone would give.

    The second figure is the mean of |N(0, s)| with each bin's standard deviation s; NaN where the
    noise is not known. A term whose importance is not above it may be nothing but noise.
    """
    total = max(float(term.weights.sum()), 1e-300)
    importance = float(term.weights @ np.abs(term.scores)) / total
    deviations = term.standard_deviations
    if deviations is None:
        return importance, math.nan
    return importance, float(term.weights @ deviations) * math.sqrt(2.0 / math.pi) / total


def importance_figure(model: AdditiveModel) -> Figure:
    """Return every term's importance as a bar, with a mark at what noise alone would give."""
    import plotly.graph_objects as go

    measured = [(model.features[t.feature].name, *term_importance(t)) for t in model.terms]
    measured.sort(key=lambda entry: entry[1])
    names = [literal(name) for name, _, _ in measured]
    positions = list(range(len(names)))
    figure = go.Figure(
        [
            go.Bar(
                x=[importance for _, importance, _ in measured],
                y=positions,
                orientation="h",
                marker_color=COLORS["curve"],
                customdata=names,
                hovertemplate="%{customdata}: %{x:.4g}<extra></extra>",
            ),
            go.Scatter(
                x=[noise for _, _, noise in measured],
                y=positions,
                mode="markers",
                marker={
                    "symbol": "line-ns",
                    "size": 15,
                    "line": {"width": 2.5, "color": COLORS["truth"]},
                },
                customdata=names,
                hovertemplate="%{customdata}: noise alone would give %{x:.4g}<extra></extra>",
            ),
        ]
    )
    dress(figure, height=80 + 26 * len(names), margin={"l": 160, "r": 20, "t": 10, "b": 45})
    figure.update_xaxes(title=f"mean absolute effect ({score_unit(model)})", rangemode="tozero")
    figure.update_yaxes(tickvals=positions, ticktext=[shortened(n) for n in names], showgrid=False)
    return figure


def local_figure(model: AdditiveModel, record: Mapping[str, Any]) -> Figure:
    """Return the contributions to one prediction, largest first.

    Parameters
    ----------
    model : AdditiveModel
        The model that predicted.
    record : mapping
        ``explanation.data(row)`` of interpret's local explanation. The row is the asker's own:
        nothing protects it.
    """
    import plotly.graph_objects as go

    parts = sorted(
        zip(record["names"], record["values"], map(float, record["scores"]), strict=True),
        key=lambda part: -abs(part[2]),
    )
    shown = [(f"{literal(str(n))} = {value_text(v)}", s) for n, v, s in parts[:_MOST_CONTRIBUTIONS]]
    rest = sum(score for _, _, score in parts[_MOST_CONTRIBUTIONS:])
    if len(parts) > _MOST_CONTRIBUTIONS:
        shown.append((f"{len(parts) - _MOST_CONTRIBUTIONS} others", rest))
    shown.reverse()
    scores = [score for _, score in shown]
    figure = go.Figure(
        go.Bar(
            x=scores,
            y=list(range(len(shown))),
            orientation="h",
            marker_color=[COLORS["up" if score > 0 else "down"] for score in scores],
            customdata=[name for name, _ in shown],
            hovertemplate="%{customdata}: %{x:+.4g}<extra></extra>",
        )
    )
    dress(figure, height=70 + 23 * len(shown), margin={"l": 185, "r": 14, "t": 6, "b": 40})
    figure.update_xaxes(title=score_unit(model))
    figure.update_yaxes(
        tickvals=list(range(len(shown))),
        ticktext=[shortened(name, 28) for name, _ in shown],
        showgrid=False,
    )
    return figure
