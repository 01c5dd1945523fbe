"""Figures of many released local explanations together: what matters, and how effects vary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interpret_dp.explanation.figure_parts import (
    COLORS,
    add_heading,
    dress,
    place_legend,
)
from interpret_dp.explanation.influence import ERROR_BARS, FloatArray
from interpret_dp.explanation.influence_images import importance_map, lift_heading
from interpret_dp.explanation.page_figures import importance_bars

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from plotly.graph_objects import Figure

__all__ = ["Influences", "checked_influences", "effects_figure", "influences_overview"]

_MOST_FEATURES = 40
_MOST_MARKS = 500
_MOST_BINS = 30
# E|N(0, s)| = s sqrt(2 / pi).
_MEAN_ABSOLUTE = math.sqrt(2.0 / math.pi)


@dataclass(frozen=True)
class Influences:
    """Effects of each feature in all released local explanations of one explainer; public.

    Attributes
    ----------
    names : tuple of str, shape (n_features,)
    mean_absolute : ndarray of float64, shape (n_features,)
    noise : ndarray of float64, shape (n_features,)
        The mean absolute effect that the added noise alone would give; NaN if not known.
    effects : ndarray of float64, shape (n_explanations, n_features)
    image_shape : (height, width) or None
    """

    names: tuple[str, ...]
    mean_absolute: FloatArray
    noise: FloatArray
    effects: FloatArray
    image_shape: tuple[int, int] | None = None


def influences_overview(shown: Influences, line: str) -> Figure:
    """Return each feature's mean absolute effect, with a mark at what noise alone would give.

    Of many features the 40 that matter most are drawn; of images, all pixels.

    Parameters
    ----------
    shown : Influences
    line : str
        The privacy cost; left out if empty.
    """
    count = len(shown.effects)
    over = f"over {count:,} released explanation{'' if count == 1 else 's'}"
    words = f"mean absolute effect {over}"
    if shown.image_shape is not None:
        figure = importance_map(shown.mean_absolute, shown.noise, shown.image_shape, "effect")
        add_heading(figure, "What matters", f"{words}\n{line}")
        lift_heading(figure)
        figure.update_layout(height=figure.layout.margin.t + figure.layout.margin.b + 330)
        return figure
    order = np.argsort(-shown.mean_absolute, kind="stable")[:_MOST_FEATURES]
    figure = importance_bars(
        [shown.names[i] for i in order],
        shown.mean_absolute[order].tolist(),
        shown.noise[order].tolist(),
        "change of the explained output",
    )
    if len(shown.names) > len(order):
        words += f" · first {len(order)} of {len(shown.names):,} features"
    height = figure.layout.height
    figure.update_layout(showlegend=True)
    add_heading(figure, "What matters", f"{words}\n{line}", letters=80)
    place_legend(figure, below=figure.layout.margin.b + 4, height=max(420, height + 110))
    return figure


def effects_figure(shown: Influences, index: int, line: str) -> Figure:
    """Return how the effect of one feature is spread over the released explanations.

    Neither the queries nor their values are drawn.

    Parameters
    ----------
    shown : Influences
    index : int
        Which feature.
    line : str
        The privacy cost; left out if empty.
    """
    import plotly.graph_objects as go

    effects = shown.effects[:, index]
    counts, edges = _histogram(effects)
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=np.diff(edges),
            marker={"color": COLORS["curve"], "line": {"color": "#ffffff", "width": 1}},
            name="explanations",
            customdata=np.stack([edges[:-1], edges[1:]], axis=1),
            hovertemplate="%{y} explanations between %{customdata[0]:.3g} and "
            "%{customdata[1]:.3g}<extra></extra>",
        )
    )
    if len(effects) <= _MOST_MARKS:
        figure.add_scatter(
            x=effects,
            y=[-0.06 * max(1, int(counts.max()))] * len(effects),
            mode="markers",
            marker={
                "symbol": "line-ns",
                "size": 11,
                "line": {"width": 1.4, "color": COLORS["ink"]},
            },
            name="each explanation",
            hovertemplate="%{x:+.4g}<extra></extra>",
        )
    noise = float(shown.noise[index])
    if math.isfinite(noise) and noise > 0:
        reach = ERROR_BARS * noise / _MEAN_ABSOLUTE
        figure.add_vrect(
            x0=-reach, x1=reach, fillcolor=COLORS["truth"], opacity=0.13, line_width=0,
            layer="below", name="95 % of what noise alone would give", showlegend=True,
        )  # fmt: skip
    figure.add_vline(x=0, line={"color": COLORS["line"], "width": 1})
    dress(figure, height=430, margin={"l": 62, "r": 16, "b": 48})
    figure.update_layout(showlegend=True, bargap=0)
    figure.update_xaxes(title="effect: change of the explained output")
    figure.update_yaxes(title="explanations", rangemode="tozero", tickformat="d")
    add_heading(figure, f"Effect of {shown.names[index]}", f"{_summary(effects)}\n{line}")
    place_legend(figure, below=54, height=430)
    return figure


def _summary(effects: FloatArray) -> str:
    up, down = int((effects > 0).sum()), int((effects < 0).sum())
    return (
        f"raises the output in {up:,} of {len(effects):,} explanations · lowers it in {down:,} · "
        f"median {np.median(effects):+.3g}"
    )


def _histogram(effects: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return counts and edges of bins of equal width, one of them from zero on."""
    largest = float(np.abs(effects).max()) or 1.0
    n_bins = int(np.clip(2 * math.sqrt(len(effects)), 4, _MOST_BINS))
    spread = float(np.ptp(effects)) or largest
    width = spread / n_bins
    first = math.floor(float(effects.min()) / width)
    last = math.floor(float(effects.max()) / width) + 1
    edges = np.arange(first, last + 1) * width
    counts, _ = np.histogram(effects, bins=edges)
    return counts.astype(np.float64), edges.astype(np.float64)


def checked_influences(
    names: Sequence[str],
    mean_absolute: ArrayLike,
    noise: ArrayLike,
    effects: ArrayLike,
    image_shape: Sequence[int] | None,
) -> Influences:
    """Return the figures as arrays, or raise ValueError if their shapes do not agree."""
    found = Influences(
        tuple(str(name) for name in names),
        np.asarray(mean_absolute, dtype=np.float64),
        np.asarray(noise, dtype=np.float64),
        np.asarray(effects, dtype=np.float64),
        None if image_shape is None else (int(image_shape[0]), int(image_shape[1])),
    )
    n = len(found.names)
    shapes = {
        "mean_absolute": found.mean_absolute.shape,
        "noise": found.noise.shape,
        "effects": found.effects.shape,
    }
    if shapes["mean_absolute"] != (n,) or shapes["noise"] != (n,) or found.effects.ndim != 2:
        raise ValueError(f"There are {n} names, and the shapes are {shapes}; they must agree.")
    if found.effects.shape[1] != n or not len(found.effects):
        raise ValueError(
            f"effects has shape {found.effects.shape}; it must be (n_explanations, {n}), with at "
            "least one explanation."
        )
    if found.image_shape is not None and math.prod(found.image_shape) != n:
        raise ValueError(f"image_shape is {found.image_shape} and there are {n} features.")
    return found
