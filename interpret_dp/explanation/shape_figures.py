"""The figure of one shape function: its scores, the band of its noise, where the rows are.

Drawn from the released model alone: the band is that of the added noise, counts are noisy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.axes import FeatureAxis
from interpret_dp.explanation.curves import Curve, term_curves
from interpret_dp.explanation.figure_parts import (
    COLORS,
    TOO_FEW_ROWS,
    band_texts,
    dress,
    error_bars,
    literal,
    number_text,
    score_unit,
    shortened,
)
from interpret_dp.explanation.heat_maps import bin_texts
from interpret_dp.released.background import ZERO_ENDS
from interpret_dp.schema.declarations import Categorical, Continuous, level_labels

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm

__all__ = ["TrueCurve", "shape_figure"]

FloatArray = NDArray[np.float64]
TrueCurve = Callable[[Any], FloatArray]
"""Scores of raw values of a feature; known for simulated data only."""

_OCCUPIED = 3.0  # noise units of a count from which on a bin is taken to hold rows at all
_TRUTH_POINTS = 400
_CLASS_SPREAD = 0.3  # width over which the points of several classes stand side by side
_BAR_WIDTH = 0.8
_LEAST_WIDTH = 0.008  # of the axis, for a bin that holds one number
# Levels with too few rows that are named below a figure: more of them share a name and some room.
_MOST_NAMED = 12
# Labels of levels are upright if all of them fit side by side, and lean otherwise.
_LETTERS_IN_WIDTH = 55
_LABEL_ANGLE = 40
_LETTER_DEPTH = 4.2  # pixels down per letter of a leaning label

_BAND_NAME = "95 % noise band"
_ROWS_NAME = "where the rows are (noisy counts)"


@dataclass(frozen=True)
class _Drawing:
    """What the parts of a figure are drawn from."""

    figure: Figure
    model: AdditiveModel
    term: AdditiveTerm
    truth: TrueCurve | None
    curves: Sequence[Curve]
    previews: Mapping[str, Sequence[Curve]]

    def is_occupied(self, code: int) -> bool:
        weight = float(self.term.weights[code])
        return weight > _OCCUPIED * self.model.noise_scale_binning


def shape_figure(
    model: AdditiveModel,
    term: AdditiveTerm,
    truth: TrueCurve | None = None,
    *,
    previews: Mapping[str, FloatArray] | None = None,
) -> Figure:
    """Return one term: its scores, the 95 % noise band, and where the rows are.

    With several classes there is one curve a class.

    Parameters
    ----------
    model : AdditiveModel
        The model of the term.
    term : AdditiveTerm
        One of its terms.
    truth : callable, default=None
        The true curve, drawn dashed. Scores of an array of raw values or levels; NaN and None are
        missing.
    previews : mapping of str to ndarray, default=None
        Other versions of the scores by name, drawn but hidden. ``meta`` of a trace is
        ``"released"`` for the term's own curves and the name for those of a preview.
    """
    from plotly.subplots import make_subplots

    spec = model.features[term.feature].spec
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.82, 0.18], vertical_spacing=0.03
    )
    drawing = _Drawing(
        figure,
        model,
        term,
        truth,
        term_curves(model, term),
        {name: term_curves(model, term, scores) for name, scores in (previews or {}).items()},
    )
    figure.update_yaxes(title=score_unit(model), row=1)
    if isinstance(spec, Continuous):
        depth = 0
        _draw_continuous(drawing, spec)
    else:
        depth = _draw_levels(drawing, spec)
    figure.add_hline(y=0, line={"color": COLORS["line"], "width": 1}, row=1, col=1)
    dress(figure, height=330 + depth, margin={"l": 58, "r": 14, "t": 8, "b": 40 + depth})
    figure.update_yaxes(showticklabels=False, showgrid=False, rangemode="tozero", row=2)
    return figure


# -------------------------------------------------------------------- continuous features


def _draw_continuous(drawing: _Drawing, spec: Continuous) -> None:
    figure, term = drawing.figure, drawing.term
    axis = FeatureAxis(spec)
    feature = drawing.model.features[term.feature]
    cuts = np.zeros(0) if feature.cuts is None else feature.cuts
    lower, upper = spec.extent
    edges = axis.at(np.r_[lower, np.clip(cuts, lower, upper), upper])
    if edges[0] == edges[-1]:
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, len(edges))
    _widen(feature, edges)
    inner = slice(1, len(edges))
    for curve in drawing.curves:
        _add_band(figure, edges, curve, inner)
        _add_curve(figure, edges, curve, inner)
    _mark_ranges(drawing, edges)
    if drawing.truth is not None:
        grid = np.linspace(edges[0], edges[-1], _TRUTH_POINTS)
        raw = np.clip(axis.values(grid), spec.lower, spec.upper)
        _add_truth_line(figure, grid, drawing.truth(raw))
    widths = np.maximum(np.diff(edges), 1e-12 * max(edges[-1] - edges[0], 1e-300))
    density = term.weights[inner] / widths
    style = {"fill": "tozeroy", "fillcolor": COLORS["weight"], "name": _ROWS_NAME}
    _add_steps(figure, edges, density, {"width": 0}, row=2, **style)
    labels = bin_texts(feature)[1:-1]
    for curve in drawing.curves:
        _add_hover(figure, (edges[:-1] + edges[1:]) / 2, labels, term, curve, inner)
    for name, curves in drawing.previews.items():
        for curve in curves:
            _add_curve(figure, edges, curve, inner, preview=name)

    ticks = axis.ticks()
    positions, texts = axis.at(ticks).tolist(), [number_text(tick) for tick in ticks]
    if drawing.is_occupied(0):
        # Beside the numbers, so that nobody reads it as one of them.
        place = float(edges[-1] + 0.07 * (edges[-1] - edges[0]))
        _add_points(drawing, [place], [0], ["missing"])
        if drawing.truth is not None:
            _add_truth_marks(figure, [place], drawing.truth(np.array([math.nan])))
        figure.add_vline(
            x=float(edges[-1] + 0.035 * (edges[-1] - edges[0])),
            line={"color": COLORS["line"], "width": 1, "dash": "dot"},
        )
        positions, texts = [*positions, place], [*texts, "missing"]
    last = float(edges[-1] + 0.11 * (edges[-1] - edges[0])) if "missing" in texts else edges[-1]
    figure.update_xaxes(tickvals=positions, ticktext=texts, range=[float(edges[0]), float(last)])


def _widen(feature: AdditiveFeature, edges: FloatArray) -> None:
    """Give bins that hold one number, such as 0, a width that can be seen, where there is room."""
    singles = np.flatnonzero(np.asarray(feature.cuts) == ZERO_ENDS)
    if feature.integers is not None:
        singles = np.flatnonzero([low == high for low, high in feature.integers[:-1]])
    least = _LEAST_WIDTH * (edges[-1] - edges[0])
    for at in singles + 1:
        if edges[at] - edges[at - 1] < least < edges[at + 1] - edges[at - 1] - least:
            edges[at] = edges[at - 1] + least


def _add_band(figure: Figure, edges: FloatArray, curve: Curve, codes: slice) -> None:
    if curve.band is None:
        return
    band = curve.band.drawn_around(curve.scores)
    for end, fill in ((band.upper, None), (band.lower, "tonexty")):
        _add_steps(
            figure,
            edges,
            end[codes],
            {"width": 0},
            name=_BAND_NAME,
            legendgroup=_group(curve),
            fill=fill,
            fillcolor=curve.band_color,
            showlegend=fill is not None and not curve.is_class,
        )


def _mark_ranges(drawing: _Drawing, edges: FloatArray) -> None:
    """Draw the curve of bins with too few rows in another colour."""
    bins = np.flatnonzero(drawing.term.too_few_rows[1 : len(edges)])
    if not len(bins):
        return
    places: list[float | None] = []
    heights: list[float | None] = []
    for index in bins:
        height = float(drawing.curves[0].scores[index + 1])
        places += [float(edges[index]), float(edges[index + 1]), None]
        heights += [height, height, None]
    drawing.figure.add_scatter(
        x=places,
        y=heights,
        mode="lines",
        line={"color": COLORS["line"], "width": 5},
        name=TOO_FEW_ROWS,
        hoverinfo="skip",
        row=1,
        col=1,
    )


def _add_curve(
    figure: Figure, edges: FloatArray, curve: Curve, codes: slice, preview: str = ""
) -> None:
    style = _preview_style(curve, preview)
    color = COLORS["preview"] if preview and not curve.is_class else curve.color
    line = {"color": color, "width": 2.5 if preview else 2, "dash": curve.dash}
    _add_steps(figure, edges, curve.scores[codes], line, **style)


def _preview_style(curve: Curve, preview: str) -> dict[str, Any]:
    """Return how a released curve and a preview of it differ, drawn as a line or as points."""
    if not preview:
        return {"name": curve.name, "legendgroup": _group(curve), "meta": "released"}
    name = f"{curve.name}, {preview}" if curve.is_class else f"nearest {preview} curve"
    return {"name": name, "legendgroup": _group(curve), "meta": preview, "visible": False}


def _group(curve: Curve) -> str | None:
    """Return what a click in the legend hides together; groups would be stacked in its row."""
    return curve.name if curve.is_class else None


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
    figure: Figure,
    positions: FloatArray,
    labels: list[str],
    term: AdditiveTerm,
    curve: Curve,
    codes: slice,
) -> None:
    figure.add_scatter(
        x=positions.tolist(),
        y=curve.scores[codes].tolist(),
        mode="markers",
        marker={"opacity": 0, "color": curve.color},
        customdata=_hover_rows(labels, term, curve, codes),
        hovertemplate=_HOVER,
        showlegend=False,
        legendgroup=_group(curve),
        row=1,
        col=1,
    )


_HOVER = (
    "%{customdata[0]}<br>%{y:.4g}%{customdata[1]}<br>about %{customdata[2]} rows (noisy count)"
    "<extra></extra>"
)


def _hover_rows(labels: list[str], term: AdditiveTerm, curve: Curve, codes: Any) -> list[list[str]]:
    bands = band_texts(curve.band and curve.band.at(codes), len(labels))
    weights = [f"{weight:,.0f}" for weight in term.weights[codes]]
    named = [f"{curve.name}: {label}" for label in labels] if curve.is_class else labels
    return [list(row) for row in zip(named, bands, weights, strict=True)]


# -------------------------------------------------------------------- levels, and missing


def _draw_levels(drawing: _Drawing, spec: Categorical) -> int:
    """Draw one point a level; return how much room its labels need below, in pixels."""
    labels = ["missing", *level_labels(spec), "undeclared"]
    codes = list(range(1, len(labels) - 1))
    lacks_rows = drawing.term.too_few_rows
    if not spec.ordered:
        first = drawing.curves[0].scores
        codes.sort(key=lambda code: (lacks_rows[code], -first[code]))
    codes += [code for code in (0, len(labels) - 1) if drawing.is_occupied(code)]
    crowd = [place for place, code in enumerate(codes) if lacks_rows[code]]
    if spec.ordered or len(crowd) <= _MOST_NAMED:
        crowd = []
    widths = np.ones(len(codes))
    widths[crowd] = min(1.0, (len(codes) - len(crowd) + 1) / max(len(crowd), 1))
    positions = (np.cumsum(widths) - widths / 2 - 0.5).tolist()
    names = [literal(labels[code]) for code in codes]
    _add_points(drawing, positions, codes, names)
    ticks = [(positions[p], shortened(n)) for p, n in enumerate(names) if p not in set(crowd)]
    if crowd:
        middle = (positions[crowd[0]] + positions[crowd[-1]]) / 2
        ticks.append((middle, f"{len(crowd)} with too few rows"))
    longest = max(len(text) for _, text in ticks)
    is_upright = longest * len(ticks) <= _LETTERS_IN_WIDTH
    if drawing.truth is not None:
        known = [code for code in codes if code != len(labels) - 1]
        values = [None if code == 0 else spec.levels[code - 1] for code in known]
        scores = drawing.truth(np.array(values, dtype=object))
        _add_truth_marks(drawing.figure, positions[: len(known)], scores)
    drawing.figure.update_xaxes(
        tickvals=[position for position, _ in ticks],
        ticktext=[text for _, text in ticks],
        range=[-0.6, float(widths.sum()) - 0.4],
        showgrid=False,
        tickangle=0 if is_upright else -_LABEL_ANGLE,
    )
    return 0 if is_upright else int(_LETTER_DEPTH * longest)


def _add_points(
    drawing: _Drawing, positions: list[float], codes: list[int], names: list[str]
) -> None:
    """Draw bins that have no neighbours: a point, its band as a bar, its rows below."""
    figure, term = drawing.figure, drawing.term
    beside_a_curve = len(codes) == 1
    width = 0.0 if beside_a_curve else _CLASS_SPREAD
    lacks_rows = term.too_few_rows[codes]
    known = np.flatnonzero(~lacks_rows)
    known_codes = [codes[place] for place in known]
    for curve, shift in zip(drawing.curves, _side_by_side(drawing.curves, width), strict=True):
        figure.add_scatter(
            x=[positions[place] + shift for place in known],
            y=curve.scores[known_codes].tolist(),
            mode="markers",
            marker={"color": curve.color, "size": 8},
            error_y=_bars(curve, known_codes),
            customdata=_hover_rows([names[place] for place in known], term, curve, known_codes),
            hovertemplate=_HOVER,
            showlegend=not beside_a_curve,
            row=1,
            col=1,
            **_preview_style(curve, "") | _point_name(curve),
        )
    if beside_a_curve:
        return
    if lacks_rows.any():
        _mark_levels(drawing, positions, codes, names)
    figure.add_bar(
        x=positions,
        y=term.weights[codes].tolist(),
        width=_BAR_WIDTH,
        marker_color=COLORS["weight"],
        name=_ROWS_NAME,
        hoverinfo="skip",
        row=2,
        col=1,
    )
    for name, curves in drawing.previews.items():
        for curve, shift in zip(curves, _side_by_side(curves, width), strict=True):
            color = curve.color if curve.is_class else COLORS["preview"]
            figure.add_scatter(
                x=[position + shift for position in positions],
                y=curve.scores[codes].tolist(),
                mode="markers",
                marker={"color": color, "size": 10, "symbol": "diamond"},
                hovertemplate="%{y:.4g}<extra></extra>",
                row=1,
                col=1,
                **_preview_style(curve, name),
            )


def _mark_levels(
    drawing: _Drawing, positions: list[float], codes: list[int], names: list[str]
) -> None:
    """Draw levels with too few rows: one hollow point each, without a band."""
    places = np.flatnonzero(drawing.term.too_few_rows[codes])
    chosen = [codes[place] for place in places]
    curve = replace(drawing.curves[0], is_class=False)
    drawing.figure.add_scatter(
        x=[positions[place] for place in places],
        y=curve.scores[chosen].tolist(),
        mode="markers",
        marker={"color": COLORS["line"], "size": 8, "symbol": "circle-open"},
        customdata=_hover_rows([names[place] for place in places], drawing.term, curve, chosen),
        hovertemplate=_HOVER,
        name=TOO_FEW_ROWS,
        row=1,
        col=1,
    )


def _bars(curve: Curve, codes: list[int]) -> dict[str, Any] | None:
    bars = error_bars(curve.scores[codes], curve.band and curve.band.at(codes))
    return bars and bars | {"color": curve.color, "thickness": 1.5}


def _point_name(curve: Curve) -> dict[str, str]:
    if curve.is_class:
        return {}
    return {"name": "released score" + ("" if curve.band is None else f", {_BAND_NAME}")}


def _side_by_side(curves: Sequence[Curve], width: float) -> list[float]:
    if len(curves) == 1:
        return [0.0]
    return [float(shift) for shift in np.linspace(-width, width, len(curves))]


# ------------------------------------------------------------------------------- the truth


def _add_truth_line(figure: Figure, positions: FloatArray, scores: FloatArray) -> None:
    figure.add_scatter(
        x=positions.tolist(),
        y=np.asarray(scores).tolist(),
        mode="lines",
        line={"color": COLORS["truth"], "width": 2, "dash": "dash"},
        name="true curve",
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
        name="true curve",
        showlegend=False,
        hovertemplate="truth: %{y:.4g}<extra></extra>",
        row=1,
        col=1,
    )
