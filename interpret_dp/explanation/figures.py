"""Figures that interpret does not have; plotly is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["contributions_heatmap"]

_MOST_ROWS = 200


def contributions_heatmap(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the contribution of every term to the prediction of every explained row.

    Parameters
    ----------
    rows : sequence of mapping, shape (n_rows,)
        ``names`` and ``scores`` of the terms of each row, as interpret's local explanation holds
        them; with several classes, the contributions to the predicted one are drawn. The first
        200 rows are drawn.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    import plotly.graph_objects as go

    shown = rows[:_MOST_ROWS]
    scores = np.array([_predicted_scores(row) for row in shown], dtype=np.float64)
    names = list(shown[0]["names"]) if shown else []
    reach = float(np.abs(scores).max()) if scores.size else 1.0
    figure = go.Figure(
        go.Heatmap(
            z=scores.T,
            x=[f"row {index}" for index in range(len(shown))],
            y=names,
            zmin=-reach,
            zmax=reach,
            colorscale="RdBu_r",
            colorbar={"title": "Score"},
            hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
        )
    )
    cut = f" (first {_MOST_ROWS} of {len(rows)} rows)" if len(rows) > _MOST_ROWS else ""
    figure.update_layout(title=f"Contributions to the predictions{cut}")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def _predicted_scores(row: Mapping[str, Any]) -> Any:
    """Return the terms' scores; with several classes, those of the predicted one."""
    scores = np.asarray(row["scores"], dtype=np.float64)
    if scores.ndim == 1:
        return scores
    intercept = np.asarray(row["extra"]["scores"], dtype=np.float64).reshape(-1)
    return scores[:, int(np.argmax(scores.sum(axis=0) + intercept))]
