"""The figure of one shape function: its scores, the band of its noise, where the rows are.

Drawn from the released model alone: the band is that of the added noise, counts are noisy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.figure_parts import (
    COLORS,
    LONGEST_LABEL,
    dress,
    literal,
    number_text,
    score_unit,
    shortened,
)
from interpret_dp.schema.declarations import (
    SYMLOG_UNIT,
    Categorical,
    Continuous,
    level_labels,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm

__all__ = ["TrueCurve", "shape_figure"]

FloatArray = NDArray[np.float64]
TrueCurve = Callable[[Any], FloatArray]
"""Scores of raw values of a feature; known for simulated data only."""

_QUANTILE_95 = 1.96
_OCCUPIED = 3.0  # noise units of a count from which on a bin is taken to hold rows at all
_TRUTH_POINTS = 400
# Labels of levels are upright if all of them fit side by side, and lean otherwise.
_LETTERS_IN_WIDTH = 55
_LABEL_ANGLE = 40
_LETTER_DEPTH = 4.2  # pixels down per letter of a leaning label


@dataclass(frozen=True)
class _Axis:
    """A continuous feature's horizontal axis: raw values, on the scale of the declaration."""

    spec: Continuous

    def at(self, values: Any) -> FloatArray:
        raw = np.asarray(values, dtype=np.float64)
        if self.spec.scale == "log":
            return np.asarray(np.log1p(np.maximum(raw - self.spec.lower, 0.0)))
        if self._unit:
            return np.asarray(np.arcsinh(raw / self._unit))
        return raw

    def values(self, positions: FloatArray) -> FloatArray:
        if self.spec.scale == "log":
            return np.asarray(np.expm1(positions) + self.spec.lower)
        if self._unit:
            return np.asarray(np.sinh(positions) * self._unit)
        return positions

    @property
    def _unit(self) -> float:
        """Where a symmetric-log axis turns from linear to logarithmic; 0 for other scales."""
        if self.spec.scale != "symlog":
            return 0.0
        return max(abs(self.spec.lower), abs(self.spec.upper)) * SYMLOG_UNIT

    def ticks(self) -> FloatArray:
        """Return round values, no two of them too close on the axis."""
        lower, upper = self.spec.lower, self.spec.upper
        if lower == upper:
            return np.array([lower])
        if self.spec.scale == "linear":
            step = _round_step((upper - lower) / 5)
            multiples = np.arange(math.ceil(lower / step), math.floor(upper / step) + 1)
            return np.asarray(multiples * step, dtype=np.float64)
        largest = math.ceil(math.log10(max(abs(lower), abs(upper))))
        decades = -round(math.log10(SYMLOG_UNIT)) if self._unit else 4
        exponents = range(largest - decades, largest + 1)
        candidates = {sign * m * 10.0**e for e in exponents for m in (1, 2, 5) for sign in (-1, 1)}
        kept = [lower]
        gap = float(self.at(upper) - self.at(lower)) / 9
        for value in sorted(v for v in candidates | {0.0} if lower < v <= upper):
            if self.at(value) - self.at(kept[-1]) >= gap:
                kept.append(value)
        return np.array(kept)


def shape_figure(
    model: AdditiveModel, term: AdditiveTerm, truth: TrueCurve | None = None
) -> Figure:
    """Return one term: its scores, the 95 % band of the added noise, and where the rows are.

    Parameters
    ----------
    model : AdditiveModel
        The model of the term.
    term : AdditiveTerm
        One of its terms.
    truth : callable, default=None
        The true curve, drawn dashed. Scores of an array of raw values or levels; NaN and None are
        missing.
    """
    from plotly.subplots import make_subplots

    feature = model.features[term.feature]
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.82, 0.18], vertical_spacing=0.03
    )
    figure.update_yaxes(title=score_unit(model), row=1)
    if isinstance(feature.spec, Continuous):
        depth = 0
        _draw_continuous(figure, model, feature, term, feature.spec, truth)
    else:
        depth = _draw_levels(figure, model, term, feature.spec, truth)
    figure.add_hline(y=0, line={"color": COLORS["line"], "width": 1}, row=1, col=1)
    dress(figure, height=330 + depth, margin={"l": 58, "r": 14, "t": 8, "b": 40 + depth})
    figure.update_yaxes(showticklabels=False, showgrid=False, rangemode="tozero", row=2)
    return figure


def _draw_continuous(
    figure: Figure,
    model: AdditiveModel,
    feature: AdditiveFeature,
    term: AdditiveTerm,
    spec: Continuous,
    truth: TrueCurve | None,
) -> None:
    axis = _Axis(spec)
    cuts = np.zeros(0) if feature.cuts is None else feature.cuts
    edges = axis.at(np.r_[spec.lower, np.clip(cuts, spec.lower, spec.upper), spec.upper])
    if edges[0] == edges[-1]:
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, len(edges))
    inner = slice(1, len(edges))
    scores, band = term.scores[inner], _half_band(term)
    if band is not None:
        for sign, fill in ((1.0, None), (-1.0, "tonexty")):
            limit = scores + sign * band[inner]
            _add_steps(figure, edges, limit, {"width": 0}, fill=fill, fillcolor=COLORS["band"])
    _add_steps(figure, edges, scores, {"color": COLORS["curve"], "width": 2})
    if truth is not None:
        grid = np.linspace(edges[0], edges[-1], _TRUTH_POINTS)
        raw = np.clip(axis.values(grid), spec.lower, spec.upper)
        _add_truth_line(figure, grid, truth(raw))
    widths = np.maximum(np.diff(edges), 1e-12 * max(edges[-1] - edges[0], 1e-300))
    density = term.weights[inner] / widths
    _add_steps(
        figure, edges, density, {"width": 0}, row=2, fill="tozeroy", fillcolor=COLORS["weight"]
    )
    bounds = [number_text(v) for v in axis.values(edges)]
    labels = [f"{low} to {high}" for low, high in pairwise(bounds)]
    _add_hover(figure, (edges[:-1] + edges[1:]) / 2, labels, term, inner)

    ticks = axis.ticks()
    positions, texts = axis.at(ticks).tolist(), [number_text(tick) for tick in ticks]
    if _is_occupied(model, term.weights[0]):
        # Beside the numbers, so that nobody reads it as one of them.
        place = float(edges[-1] + 0.07 * (edges[-1] - edges[0]))
        _add_points(figure, [place], term, [0], ["missing"])
        if truth is not None:
            _add_truth_marks(figure, [place], truth(np.array([math.nan])))
        figure.add_vline(
            x=float(edges[-1] + 0.035 * (edges[-1] - edges[0])),
            line={"color": COLORS["line"], "width": 1, "dash": "dot"},
        )
        positions, texts = [*positions, place], [*texts, "missing"]
    figure.update_xaxes(tickvals=positions, ticktext=texts)


def _draw_levels(
    figure: Figure,
    model: AdditiveModel,
    term: AdditiveTerm,
    spec: Categorical,
    truth: TrueCurve | None,
) -> int:
    """Draw one point a level; return how much room its labels need below, in pixels."""
    labels = ["missing", *level_labels(spec), "undeclared"]
    codes = list(range(1, len(labels) - 1))
    if not spec.ordered:
        codes.sort(key=lambda code: -term.scores[code])
    codes += [c for c in (0, len(labels) - 1) if _is_occupied(model, term.weights[c])]
    positions = [float(p) for p in range(len(codes))]
    names = [literal(labels[code]) for code in codes]
    longest = min(max(len(labels[code]) for code in codes), LONGEST_LABEL)
    is_upright = longest * len(codes) <= _LETTERS_IN_WIDTH
    _add_points(figure, positions, term, codes, names)
    if truth is not None:
        known = [code for code in codes if code != len(labels) - 1]
        values = [None if code == 0 else spec.levels[code - 1] for code in known]
        _add_truth_marks(figure, positions[: len(known)], truth(np.array(values, dtype=object)))
    figure.update_xaxes(
        tickvals=positions,
        ticktext=[shortened(name) for name in names],
        range=[-0.6, len(codes) - 0.4],
        showgrid=False,
        tickangle=0 if is_upright else -_LABEL_ANGLE,
    )
    return 0 if is_upright else int(_LETTER_DEPTH * longest)


def _half_band(term: AdditiveTerm) -> FloatArray | None:
    deviations = term.standard_deviations
    return None if deviations is None else _QUANTILE_95 * deviations


def _is_occupied(model: AdditiveModel, weight: float) -> bool:
    return bool(weight > _OCCUPIED * model.noise_scale_binning)


def _add_steps(
    figure: Figure,
    edges: FloatArray,
    heights: FloatArray,
    line: dict[str, Any],
    *,
    row: int = 1,
    **style: Any,
) -> None:
    figure.add_scatter(
        x=edges.tolist(),
        y=np.r_[heights, heights[-1]].tolist(),
        mode="lines",
        line={"shape": "hv", **line},
        hoverinfo="skip",
        row=row,
        col=1,
        **style,
    )


def _add_hover(
    figure: Figure, positions: FloatArray, labels: list[str], term: AdditiveTerm, codes: Any
) -> None:
    figure.add_scatter(
        x=positions.tolist(),
        y=term.scores[codes].tolist(),
        mode="markers",
        marker={"opacity": 0},
        customdata=_hover_rows(labels, term, codes),
        hovertemplate=_HOVER,
        row=1,
        col=1,
    )


_HOVER = (
    "%{customdata[0]}<br>%{y:.4g}%{customdata[1]}<br>about %{customdata[2]} rows (noisy count)"
    "<extra></extra>"
)


def _hover_rows(labels: list[str], term: AdditiveTerm, codes: Any) -> list[list[str]]:
    band = _half_band(term)
    halves = [""] * len(labels) if band is None else [f" ± {half:.4g}" for half in band[codes]]
    weights = [f"{weight:,.0f}" for weight in term.weights[codes]]
    return [list(row) for row in zip(labels, halves, weights, strict=True)]


def _add_points(
    figure: Figure,
    positions: list[float],
    term: AdditiveTerm,
    codes: list[int],
    names: list[str],
) -> None:
    """Draw bins that have no neighbours: a point, its band as a bar, its rows below."""
    band = _half_band(term)
    figure.add_scatter(
        x=positions,
        y=term.scores[codes].tolist(),
        mode="markers",
        marker={"color": COLORS["curve"], "size": 8},
        error_y=None
        if band is None
        else {"array": band[codes].tolist(), "color": COLORS["curve"], "thickness": 1.5},
        customdata=_hover_rows(names, term, codes),
        hovertemplate=_HOVER,
        row=1,
        col=1,
    )
    if len(codes) > 1:
        figure.add_bar(
            x=positions,
            y=term.weights[codes].tolist(),
            marker_color=COLORS["weight"],
            hoverinfo="skip",
            row=2,
            col=1,
        )


def _add_truth_line(figure: Figure, positions: FloatArray, scores: FloatArray) -> None:
    figure.add_scatter(
        x=positions.tolist(),
        y=np.asarray(scores).tolist(),
        mode="lines",
        line={"color": COLORS["truth"], "width": 2, "dash": "dash"},
        hoverinfo="skip",
        row=1,
        col=1,
    )


def _add_truth_marks(figure: Figure, positions: list[float], scores: FloatArray) -> None:
    figure.add_scatter(
        x=positions,
        y=np.asarray(scores).tolist(),
        mode="markers",
        marker={
            "symbol": "line-ew",
            "size": 22,
            "line": {"width": 2.5, "color": COLORS["truth"]},
        },
        hovertemplate="truth: %{y:.4g}<extra></extra>",
        row=1,
        col=1,
    )


def _round_step(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= width))
