"""Figures of a released additive model: importances, shape functions, single predictions.

Drawn from the released model alone: bands are those of the added noise, counts are noisy.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.schema.declarations import Categorical, Continuous, level_labels

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm

__all__ = [
    "COLORS",
    "TrueCurve",
    "importance_figure",
    "local_figure",
    "score_unit",
    "shape_figure",
    "term_importance",
]

FloatArray = NDArray[np.float64]
TrueCurve = Callable[[Any], FloatArray]
"""Scores of raw values of a feature; known for simulated data only."""

COLORS = {
    "curve": "#14609c",
    "band": "rgba(20, 96, 156, 0.20)",
    "truth": "#d9480f",
    "weight": "#cdd6df",
    "ink": "#24323f",
    "grid": "#e9edf1",
    "up": "#d9480f",
    "down": "#14609c",
}

_QUANTILE_95 = 1.96
_OCCUPIED = 3.0  # noise units of a count from which on a bin is taken to hold rows at all
_TRUTH_POINTS = 400
_MOST_CONTRIBUTIONS = 15
_LONGEST_LABEL = 22


@dataclass(frozen=True)
class _Axis:
    """A continuous feature's horizontal axis: raw values, on the scale of the declaration."""

    spec: Continuous

    def at(self, values: Any) -> FloatArray:
        raw = np.asarray(values, dtype=np.float64)
        if self.spec.scale == "log":
            return np.asarray(np.log1p(np.maximum(raw - self.spec.lower, 0.0)))
        return raw

    def values(self, positions: FloatArray) -> FloatArray:
        if self.spec.scale == "log":
            return np.asarray(np.expm1(positions) + self.spec.lower)
        return positions

    def ticks(self) -> FloatArray:
        """Return round values, no two of them too close on the axis."""
        lower, upper = self.spec.lower, self.spec.upper
        if lower == upper:
            return np.array([lower])
        if self.spec.scale == "linear":
            step = _round_step((upper - lower) / 5)
            return np.arange(math.ceil(lower / step), math.floor(upper / step) + 1) * step
        largest = math.ceil(math.log10(max(abs(lower), abs(upper))))
        exponents = range(largest - 4, largest + 1)
        candidates = {sign * m * 10.0**e for e in exponents for m in (1, 2, 5) for sign in (-1, 1)}
        kept = [lower]
        gap = float(self.at(upper) - self.at(lower)) / 9
        for value in sorted(v for v in candidates | {0.0} if lower < v <= upper):
            if self.at(value) - self.at(kept[-1]) >= gap:
                kept.append(value)
        return np.array(kept)


def score_unit(model: AdditiveModel) -> str:
    """Return what a score counts: log-odds of the second class, or the target's own unit."""
    if model.classes is None:
        return "change of the prediction"
    return f"log-odds of {_text(str(model.classes[1]))}"


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
    names = [_text(name) for name, _, _ in measured]
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
    _dress(figure, height=80 + 26 * len(names), margin={"l": 160, "r": 20, "t": 10, "b": 45})
    figure.update_xaxes(title=f"mean absolute effect ({score_unit(model)})", rangemode="tozero")
    figure.update_yaxes(tickvals=positions, ticktext=[_short(n) for n in names], showgrid=False)
    return figure


def shape_figure(model: AdditiveModel, term: AdditiveTerm, truth: TrueCurve | None = None) -> Figure:
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
    figure.add_hline(y=0, line={"color": "#9aa7b3", "width": 1}, row=1, col=1)
    if isinstance(feature.spec, Continuous):
        _draw_continuous(figure, model, feature, term, feature.spec, truth)
    else:
        _draw_levels(figure, model, term, feature.spec, truth)
    _dress(figure, height=330, margin={"l": 58, "r": 14, "t": 8, "b": 40})
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
    bounds = [f"{_plain(v)}" for v in axis.values(edges)]
    labels = [f"{low} to {high}" for low, high in zip(bounds, bounds[1:], strict=False)]
    _add_hover(figure, (edges[:-1] + edges[1:]) / 2, labels, term, inner)

    ticks = axis.ticks()
    positions, texts = axis.at(ticks).tolist(), [_plain(tick) for tick in ticks]
    if _is_occupied(model, term.weights[0]):
        # Beside the numbers, so that nobody reads it as one of them.
        place = float(edges[-1] + 0.07 * (edges[-1] - edges[0]))
        _add_points(figure, [place], term, [0], ["missing"])
        if truth is not None:
            _add_truth_marks(figure, [place], truth(np.array([math.nan])))
        figure.add_vline(
            x=float(edges[-1] + 0.035 * (edges[-1] - edges[0])),
            line={"color": "#9aa7b3", "width": 1, "dash": "dot"},
        )
        positions, texts = [*positions, place], [*texts, "missing"]
    figure.update_xaxes(tickvals=positions, ticktext=texts)


def _draw_levels(
    figure: Figure,
    model: AdditiveModel,
    term: AdditiveTerm,
    spec: Categorical,
    truth: TrueCurve | None,
) -> None:
    labels = ["missing", *level_labels(spec), "undeclared"]
    codes = list(range(1, len(labels) - 1))
    if not spec.ordered:
        codes.sort(key=lambda code: -term.scores[code])
    codes += [c for c in (0, len(labels) - 1) if _is_occupied(model, term.weights[c])]
    positions = [float(p) for p in range(len(codes))]
    names = [_text(labels[code]) for code in codes]
    _add_points(figure, positions, term, codes, names)
    if truth is not None:
        known = [code for code in codes if code != len(labels) - 1]
        values = [None if code == 0 else spec.levels[code - 1] for code in known]
        _add_truth_marks(figure, positions[: len(known)], truth(np.array(values, dtype=object)))
    figure.update_xaxes(
        tickvals=positions,
        ticktext=[_short(name) for name in names],
        range=[-0.6, len(codes) - 0.4],
        showgrid=False,
    )


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
    shown = [(f"{_text(str(n))} = {_value_text(v)}", s) for n, v, s in parts[:_MOST_CONTRIBUTIONS]]
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
    _dress(figure, height=70 + 23 * len(shown), margin={"l": 185, "r": 14, "t": 6, "b": 40})
    figure.update_xaxes(title=score_unit(model))
    figure.update_yaxes(
        tickvals=list(range(len(shown))),
        ticktext=[_short(name, 28) for name, _ in shown],
        showgrid=False,
    )
    return figure


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


def _dress(figure: Figure, *, height: int, margin: dict[str, int]) -> None:
    figure.update_layout(
        height=height,
        margin=margin,
        showlegend=False,
        template="plotly_white",
        bargap=0.35,
        font={"family": "system-ui, sans-serif", "size": 12, "color": COLORS["ink"]},
        hovermode="closest",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    figure.update_xaxes(gridcolor=COLORS["grid"], zerolinecolor=COLORS["grid"])
    figure.update_yaxes(gridcolor=COLORS["grid"], zeroline=False)


def _round_step(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= width))


def _plain(value: float) -> str:
    number = float(f"{value:.4g}") + 0.0
    return f"{int(number):,}" if number.is_integer() and abs(number) < 1e9 else f"{number:.4g}"


def _value_text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return _text(str(value))
    return _plain(float(value))


def _text(name: str) -> str:
    """Return a name as plotly shows it literally: it reads a kind of HTML."""
    return html.escape(name, quote=False)


def _short(name: str, longest: int = _LONGEST_LABEL) -> str:
    # Cutting must not split an escaped character, so it is undone first.
    plain = html.unescape(name)
    return name if len(plain) <= longest else _text(f"{plain[: longest - 1]}…")
