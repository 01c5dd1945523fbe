"""Cells of heat maps, in colours about zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.plots.parts import SIGNED_SCALE

FloatArray = NDArray[np.float64]

MOST_COLUMNS = 25
"""Columns of which each finds room for its label, and its cells for a sign."""

_SIGN_SIZE = 14


def reach_of(values: FloatArray) -> float:
    """Return the largest size of numbers, at which a signed scale ends; 1 where all are zero."""
    known = values[np.isfinite(values)]
    return float(np.abs(known).max(initial=0.0)) or 1.0


def signed_cells(
    z: Any, reach: float | None = None, *, has_signs: bool = False, **options: Any
) -> Any:
    """Return a trace of cells in colours about zero.

    Parameters
    ----------
    z : array of float, shape (n_lines, n_columns)
    reach : float, default=None
        Value at the ends of the colours; by default the largest.
    has_signs : bool
        Write the signs into the cells, so that they are not to be seen by colour alone; where there
        are few enough cells.
    **options
        As plotly's heat map has them; with ``coloraxis`` the scale is that of the figure.
    """
    import plotly.graph_objects as go

    values = np.nan_to_num(np.asarray(z, dtype=np.float64))
    if has_signs and values.shape[-1] <= MOST_COLUMNS:
        signs = np.array(["", "+", "\N{MINUS SIGN}"])[np.sign(values).astype(int)]
        options |= {"text": signs.tolist(), "texttemplate": "%{text}", "textfont_size": _SIGN_SIZE}
    cells = go.Heatmap(z=z, **options)
    if "coloraxis" not in options:
        reach = reach_of(np.asarray(z)) if reach is None else reach
        cells.update(zmin=-reach, zmax=reach, colorscale=SIGNED_SCALE)
    return cells


def veil(noise: NDArray[np.bool_], color: str) -> Any:
    """Return a trace that fades the cells that noise alone could give."""
    import plotly.graph_objects as go

    return go.Heatmap(
        z=np.where(noise, 1.0, np.nan),
        zmin=0.0,
        zmax=1.0,
        colorscale=[[0.0, color], [1.0, color]],
        showscale=False,
        hoverinfo="skip",
        name="could be noise",
        meta="within noise",
    )
