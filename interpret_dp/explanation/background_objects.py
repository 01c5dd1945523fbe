"""interpret's explanation of a released background: the distribution of each column."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.objects import PrivateExplanation, private_explanation
from interpret_dp.explanation.plots.axes import bin_texts
from interpret_dp.explanation.plots.parts import (
    COLORS,
    add_heading,
    dress,
    literal,
    place_legend,
    short_labels,
)
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released.background import Background, BackgroundColumn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FloatArray = NDArray[np.float64]

_ERROR_BARS = 1.96
_MOST_BARS = 30
_HEIGHT = 430


def background_explanation(background: Background, *, privacy: PrivacySpend, name: str) -> Any:
    """Return interpret's explanation of the data, one part a column.

    Parameters
    ----------
    background : Background
    privacy : PrivacySpend
    name : str

    Returns
    -------
    interpret's FeatureValueExplanation
        With ``privacy``, and with ``figure(key)``; a key is a column.
    """
    columns = background.columns
    misplaced = [_misplaced(column, background.n_rows) for column in columns]
    specific = [
        {
            "type": "univariate",
            "names": texts,
            "scores": shares.tolist(),
            "counts": column.counts.tolist(),
            "noise": column.noise.tolist(),
        }
        for column, shares, texts in zip(
            columns, background.shares(), map(_texts, columns), strict=True
        )
    ]
    names, kinds = list(background.names), [column.feature.kind for column in columns]
    return private_explanation(
        PrivateBackgroundExplanation,
        "data",
        specific,
        privacy=privacy,
        feature_names=names,
        feature_types=kinds,
        name=name,
        selector={
            "Name": names,
            "Type": kinds,
            "Cells": [column.feature.n_codes - 2 for column in columns],
            "Noise misplaces": [f"{share:.1%}" for share in misplaced],
        },
        background=background,
    )


class PrivateBackgroundExplanation(PrivateExplanation):
    """The columns of a background, with their noise and their privacy cost."""

    background: Background

    def figure(self, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return the plain figure of a part: None is the overview, a number a column."""
        line = self.privacy.line if line is None else line
        if key is None:
            return _overview(self.background, line)
        return _column_figure(self.background, key, line)


def _misplaced(column: BackgroundColumn, n_rows: float) -> float:
    """Return the share of rows that noise alone puts into another cell, on average and at most."""
    noise = float(column.noise.sum()) * math.sqrt(2.0 / math.pi)
    return min(1.0, noise / 2.0 / n_rows)


def _texts(column: BackgroundColumn) -> list[str]:
    """Return what each counted cell holds."""
    return bin_texts(column.feature)[column.counted]


def _overview(background: Background, line: str) -> Figure:
    import plotly.graph_objects as go

    shares = np.array([_misplaced(c, background.n_rows) for c in background.columns])
    order = np.argsort(shares, kind="stable")[-_MOST_BARS:]
    figure = go.Figure(
        go.Bar(
            x=100 * shares[order],
            y=short_labels([literal(background.names[k]) for k in order]),
            orientation="h",
            marker={"color": COLORS["weight"]},
            hovertemplate="%{y}: %{x:.2g} %<extra></extra>",
        )
    )
    dress(figure, height=140 + 22 * max(8, len(order)), margin={"l": 10, "r": 14, "b": 50})
    figure.update_xaxes(title="rows that noise puts into another cell, on average (%)")
    figure.update_yaxes(automargin=True, showgrid=False)
    words = f"{len(background.columns):,} columns · about {background.n_rows:,.0f} rows"
    add_heading(figure, "How much noise is in each column", f"{words}\n{line}")
    return figure


def _column_figure(background: Background, key: int, line: str) -> Figure:
    import plotly.graph_objects as go

    column, n_rows = background.columns[key], background.n_rows
    counted = column.counted
    drawn = np.zeros(counted.stop)
    own = background.shares()[key]
    drawn[: len(own)] = own
    texts = _texts(column)
    shown = np.arange(counted.stop)
    if not column.has_missing:
        shown = shown[1:]
    hidden = max(0, len(shown) - _MOST_BARS)
    if hidden and column.feature.cuts is None:
        shown = np.sort(shown[np.argsort(-drawn[shown], kind="stable")[:_MOST_BARS]])
    labels = short_labels([literal(texts[at]) for at in shown])
    figure = go.Figure(
        go.Bar(
            x=list(range(len(shown))),
            y=100 * drawn[shown],
            marker={"color": COLORS["weight"]},
            name="share that rows are drawn with",
            hovertemplate="%{customdata}: %{y:.3g} %<extra></extra>",
            customdata=[literal(texts[at]) for at in shown],
        )
    )
    figure.add_scatter(
        x=list(range(len(shown))),
        y=100 * column.counts[counted][shown] / n_rows,
        mode="markers",
        marker={"color": COLORS["curve"], "size": 5},
        error_y={
            "type": "data",
            "array": 100 * _ERROR_BARS * column.noise[counted][shown] / n_rows,
            "thickness": 1.2,
            "width": 3,
        },
        name="as released, with 95 % of the noise",
        hovertemplate="released: %{y:.3g} %<extra></extra>",
    )
    dress(figure, height=_HEIGHT, margin={"l": 62, "r": 16, "b": 90})
    figure.update_layout(showlegend=True)
    figure.update_xaxes(tickvals=list(range(len(shown))), ticktext=labels, tickangle=-90)
    figure.update_yaxes(title="share of the rows (%)", rangemode="tozero")
    words = f"about {n_rows:,.0f} rows"
    if hidden and column.feature.cuts is None:
        words += f" · {hidden:,} rarer levels are not drawn"
    add_heading(figure, column.feature.name, f"{words}\n{line}")
    place_legend(figure, below=100, height=_HEIGHT)
    return figure
