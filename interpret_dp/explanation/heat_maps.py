"""The heat map of a pair of features: scores of its cells, how large the noise in them is.

Drawn from the released model alone. Cells are drawn equally wide, whatever range they stand for,
and the missing values of a feature only where rows have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.figure_parts import (
    COLORS,
    SIGNED_SCALE,
    TOO_FEW_ROWS,
    dress,
    literal,
    number_text,
    score_unit,
    shortened,
)
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm, FeaturePair
from interpret_dp.released.background import ZERO_ENDS
from interpret_dp.schema.declarations import Continuous, integers_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["PairAxis", "bin_texts", "cell_texts", "heat_figure", "heat_range", "pair_axes"]

FloatArray = NDArray[np.float64]

_QUANTILE_95 = 1.96
_OCCUPIED = 3.0  # noise units of a sum of counts from which on bins are taken to hold rows at all
# Lies over cells whose score noise alone could give.
_VEIL = "rgba(255, 255, 255, 0.62)"
_TICK_ANGLE = 40
_LETTERS_IN_WIDTH = 55


@dataclass(frozen=True, eq=False)
class PairAxis:
    """The drawn bins of one feature of a pair, side by side and equally wide.

    Attributes
    ----------
    name : str
        As plotly shows it literally.
    codes : tuple of int
        Drawn bins, from left to right or from below.
    tick_positions : tuple of float
        Bin k stands between k - 0.5 and k + 0.5.
    tick_labels : tuple of str
    """

    name: str
    codes: tuple[int, ...]
    tick_positions: tuple[float, ...]
    tick_labels: tuple[str, ...]


def pair_axes(
    model: AdditiveModel, pair: FeaturePair, term: AdditiveTerm
) -> tuple[PairAxis, PairAxis]:
    """Return both axes: the bins of each feature, missing and undeclared ones where rows are."""
    weights = term.weights.reshape(pair.shape)
    noise = model.noise_scale_binning
    totals = (weights.sum(axis=1), weights.sum(axis=0))
    first, second = (
        _axis(feature, total, _OCCUPIED * noise * other.n_codes**0.5)
        for feature, other, total in zip(
            (pair.first, pair.second), (pair.second, pair.first), totals, strict=True
        )
    )
    return first, second


def _axis(feature: AdditiveFeature, totals: FloatArray, threshold: float) -> PairAxis:
    last = feature.n_codes - 1
    inner = list(range(1, last))
    special = [code for code in (0, last) if totals[code] > threshold]
    texts = bin_texts(feature)
    if isinstance(feature.spec, Continuous) and feature.integers is None:
        # At the borders between bins, where a value changes its cell.
        spec = feature.spec
        borders = [spec.lower, *np.asarray(feature.cuts).tolist(), spec.upper]
        ticks = [(place - 0.5, number_text(border)) for place, border in enumerate(borders)]
    else:
        ticks = [(float(k), shortened(literal(texts[code]))) for k, code in enumerate(inner)]
    ticks += [(float(len(inner) + k), texts[code]) for k, code in enumerate(special)]
    positions, labels = zip(*ticks, strict=True)
    return PairAxis(literal(feature.name), (*inner, *special), positions, labels)


def bin_texts(feature: AdditiveFeature) -> list[str]:
    """Return what each bin of a feature holds, missing and undeclared ones included."""
    if not isinstance(feature.spec, Continuous):
        return ["missing", *feature.labels, "undeclared"]
    if feature.integers is not None:
        ranges = [integers_text(*bounds) for bounds in feature.integers]
        return ["missing", *ranges, "undeclared"]
    cuts = np.asarray(feature.cuts).tolist()
    borders = [number_text(v) for v in (feature.spec.lower, *cuts, feature.spec.upper)]
    ranges = [f"{low} to {high}" for low, high in pairwise(borders)]
    if ZERO_ENDS in cuts:
        at = cuts.index(ZERO_ENDS)
        ranges[at : at + 2] = ["0", f"above 0 to {borders[at + 2]}"]
    return ["missing", *ranges, "undeclared"]


def cell_texts(pair: FeaturePair) -> list[str]:
    """Return what each cell holds, such as "age 40 to 60, bmi 20 to 25", shape (n_codes,)."""
    firsts, seconds = (
        [f"{feature.name} {text}" for text in bin_texts(feature)]
        for feature in (pair.first, pair.second)
    )
    return [f"{first}, {second}" for first in firsts for second in seconds]


def heat_figure(
    model: AdditiveModel,
    term: AdditiveTerm,
    *,
    selected: Sequence[int] = (),
    reach: float | None = None,
) -> Figure:
    """Return the heat map of a pair.

    Parameters
    ----------
    model : AdditiveModel
    term : AdditiveTerm
        One of its pairs, or an edited version of one.
    selected : sequence of int
        Cells to be framed.
    reach : float, default=None
        Score at the ends of the colour scale; by default the largest of the term.

    Returns
    -------
    Figure
        With the first feature across. Under the pointer are each cell's effect, the 95 % range of
        the added noise and the noisy count of rows; cells whose effect noise alone could give are
        pale.
    """
    import plotly.graph_objects as go

    pair = model.subject(term)
    if not isinstance(pair, FeaturePair):
        raise ValueError(f"{pair.name!r} is no pair of features; it has a curve.")
    across, up = pair_axes(model, pair, term)
    cells = np.arange(pair.n_codes).reshape(pair.shape)[np.ix_(across.codes, up.codes)].T
    scores = term.scores[cells]
    if reach is None:
        reach = heat_range(term)
    x, y = list(range(len(across.codes))), list(range(len(up.codes)))
    figure = go.Figure(
        go.Heatmap(
            z=scores.tolist(),
            x=x,
            y=y,
            zmin=-reach,
            zmax=reach,
            colorscale=SIGNED_SCALE,
            colorbar={"title": {"text": score_unit(model), "side": "right"}, "thickness": 14},
            customdata=_hover_rows(pair, term, cells),
            hovertemplate=(
                "%{customdata[0]}<br>%{customdata[1]}<br>about %{customdata[2]} rows "
                "(noisy count)<extra></extra>"
            ),
            meta="released",
        )
    )
    within = _within_noise(term)
    if within is not None and within[cells].any():
        figure.add_heatmap(
            z=np.where(within[cells], 1.0, np.nan).tolist(),
            x=x,
            y=y,
            zmin=0,
            zmax=1,
            colorscale=[[0, _VEIL], [1, _VEIL]],
            showscale=False,
            hoverinfo="skip",
            meta="within noise",
        )
    _lay_out(figure, across, up)
    figure.update_layout(shapes=_frames(cells, selected))
    return figure


def heat_range(term: AdditiveTerm) -> float:
    """Return the largest size of a term's scores; 1 where all are zero."""
    return float(np.abs(term.scores).max(initial=0.0)) or 1.0


def _within_noise(term: AdditiveTerm) -> NDArray[np.bool_] | None:
    """Return which scores noise alone could give; None where the noise is not known."""
    deviations = term.noise_deviations
    if deviations is None:
        return None
    within: NDArray[np.bool_] = (np.abs(term.scores) < _QUANTILE_95 * deviations) & (deviations > 0)
    return within


def _hover_rows(pair: FeaturePair, term: AdditiveTerm, cells: NDArray[np.int64]) -> list[Any]:
    texts, deviations = cell_texts(pair), term.standard_deviations
    lacks_rows = term.too_few_rows
    rows = []
    for line in cells.tolist():
        entries = []
        for cell in line:
            effect = f"{term.scores[cell]:+.4g}"
            if lacks_rows[cell]:
                effect += f", {TOO_FEW_ROWS}"
            elif deviations is not None and deviations[cell] > 0:
                half = _QUANTILE_95 * deviations[cell]
                pale = abs(term.scores[cell]) < half
                effect += f" ± {half:.3g}" + (": within the noise" if pale else "")
            entries.append((literal(texts[cell]), effect, f"{term.weights[cell]:,.0f}"))
        rows.append(entries)
    return rows


def _frames(cells: NDArray[np.int64], selected: Sequence[int]) -> list[dict[str, Any]]:
    line = {"color": "#c8790a", "width": 2}
    places = np.argwhere(np.isin(cells, list(selected)))
    return [
        {"type": "rect", "x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y + 0.5, "line": line}
        for y, x in places.tolist()
    ]


def _lay_out(figure: Figure, across: PairAxis, up: PairAxis) -> None:
    is_upright = sum(map(len, across.tick_labels)) <= _LETTERS_IN_WIDTH
    depth = 0 if is_upright else int(4.2 * max(map(len, across.tick_labels)))
    dress(figure, height=360 + depth, margin={"l": 70, "r": 14, "t": 8, "b": 52 + depth})
    figure.update_xaxes(
        title={"text": across.name, "standoff": 8},
        tickvals=across.tick_positions,
        ticktext=across.tick_labels,
        tickangle=0 if is_upright else -_TICK_ANGLE,
        range=[-0.5, len(across.codes) - 0.5],
        showgrid=False,
        automargin=True,
    )
    figure.update_yaxes(
        title={"text": up.name, "standoff": 8},
        tickvals=up.tick_positions,
        ticktext=up.tick_labels,
        range=[-0.5, len(up.codes) - 0.5],
        showgrid=False,
        automargin=True,
    )
    figure.update_layout(plot_bgcolor=COLORS["grid"])
