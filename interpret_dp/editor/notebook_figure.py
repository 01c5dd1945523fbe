"""The editor's figure of one term: original, last and current scores, noise band, rows below.

Every bin is a horizontal piece. Bins of a continuous feature touch each other; levels, and the
missing and the unseen bin, stand apart. Drawn from released figures alone.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.editor.bins import TermView
from interpret_dp.explanation.axes import FeatureAxis
from interpret_dp.explanation.figure_parts import (
    COLORS,
    band_texts,
    dress,
    literal,
    number_text,
    score_unit,
    shortened,
)
from interpret_dp.released import AdditiveModel, Band
from interpret_dp.schema import Categorical

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["CURRENT", "LAST", "ORIGINAL", "POINTS", "BinPlaces", "editor_figure", "redraw"]

FloatArray = NDArray[np.float64]

BAND, ORIGINAL, LAST, CURRENT, POINTS, ROWS = range(6)
"""Position of each trace in the figure."""

_OCCUPIED = 3.0  # noise units of a count from which on a bin is taken to hold rows at all
_HALF_LEVEL = 0.32  # half the width of a level; levels are 1 apart
_SPECIAL_STEP = 0.09  # from one bin that stands apart to the next, in widths of the axis
_LONGEST_TICKS = 55  # letters of labels that fit side by side
_TICK_ANGLE = 35


@dataclass(frozen=True, eq=False)
class BinPlaces:
    """Where the bins of a term stand on the horizontal axis.

    Attributes
    ----------
    codes : tuple of int
        Bins that are drawn, from left to right; indices into the term's scores.
    left, right : ndarray of float64, shape (len(codes),)
        Their ends on the axis.
    n_joined : int
        So many of the first bins touch each other.
    ticks : tuple of (float, str)
        Positions and labels.
    """

    codes: tuple[int, ...]
    left: FloatArray
    right: FloatArray
    n_joined: int
    ticks: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, model: AdditiveModel, view: TermView, selected: Collection[int]) -> BinPlaces:
        """Place the bins of a term.

        The missing and the unseen bin are drawn if they hold rows, were edited, or are selected.
        """
        last = len(view.labels) - 1
        threshold = _OCCUPIED * model.noise_scale_binning
        special = [
            code
            for code in (0, last)
            if view.weights[code] > threshold
            or code in selected
            or not np.array_equal(view.current[code], view.original[code])
        ]
        spec = next(f.spec for f in model.features if f.name == view.name)
        if isinstance(spec, Categorical) or view.edges is None:
            return cls._levels(view, special)
        axis = FeatureAxis(spec)
        edges = axis.at(np.clip(view.edges, *spec.extent))
        if edges[0] == edges[-1]:
            edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, len(edges))
        span = float(edges[-1] - edges[0])
        centres = edges[-1] + span * _SPECIAL_STEP * np.arange(1, len(special) + 1)
        half = 0.25 * span * _SPECIAL_STEP
        texts = [number_text(tick) for tick in axis.ticks()]
        ticks = [
            *zip(axis.at(axis.ticks()).tolist(), texts, strict=True),
            *((float(c), view.labels[code]) for c, code in zip(centres, special, strict=True)),
        ]
        return cls(
            (*range(1, last), *special),
            np.r_[edges[:-1], centres - half],
            np.r_[edges[1:], centres + half],
            last - 1,
            tuple(ticks),
        )

    @classmethod
    def _levels(cls, view: TermView, special: list[int]) -> BinPlaces:
        order = list(range(1, len(view.labels) - 1))
        if view.kind == "nominal":
            first = view.original.reshape(len(view.labels), -1)[:, 0]
            order.sort(key=lambda code: -first[code])
        codes = (*order, *special)
        centres = np.arange(len(codes), dtype=np.float64)
        names = [shortened(literal(view.labels[code])) for code in codes]
        ticks = tuple(zip(centres.tolist(), names, strict=True))
        return cls(codes, centres - _HALF_LEVEL, centres + _HALF_LEVEL, 0, ticks)

    def between(self, low: float, high: float) -> tuple[int, ...]:
        """Return the drawn bins that overlap a range of the axis, from left to right."""
        chosen = (self.left < high) & (self.right > low)
        return tuple(code for code, inside in zip(self.codes, chosen, strict=True) if inside)

    @property
    def groups(self) -> list[slice]:
        """Runs of bins that touch each other."""
        joined = [slice(0, self.n_joined)] if self.n_joined else []
        return joined + [slice(i, i + 1) for i in range(self.n_joined, len(self.codes))]

    def steps(self, heights: FloatArray) -> tuple[list[Any], list[Any]]:
        """Return x and y of the scores as a line, broken where bins stand apart."""
        return _broken([self._top(group, heights) for group in self.groups])

    def areas(self, low: FloatArray, high: FloatArray) -> tuple[list[Any], list[Any]]:
        """Return x and y of polygons between two heights of each bin."""
        outlines = []
        for group in self.groups:
            below, above = self._top(group, low), self._top(group, high)
            outlines.append((above[0] + below[0][::-1], above[1] + below[1][::-1]))
        return _broken(outlines)

    def _top(self, group: slice, heights: FloatArray) -> tuple[list[float], list[float]]:
        x = np.column_stack([self.left[group], self.right[group]]).ravel()
        return x.tolist(), np.repeat(heights[group], 2).tolist()


def _broken(pieces: Sequence[tuple[list[Any], list[Any]]]) -> tuple[list[Any], list[Any]]:
    gap = ([None], [None])
    parts = list(itertools.chain.from_iterable((piece, gap) for piece in pieces))[:-1]
    x, y = zip(*parts, strict=True)
    return functools.reduce(operator.add, x, []), functools.reduce(operator.add, y, [])


def editor_figure(
    model: AdditiveModel, view: TermView, column: int, selected: Collection[int]
) -> tuple[Figure, BinPlaces]:
    """Draw one term, for one class.

    Parameters
    ----------
    model : AdditiveModel
        The base model.
    view : TermView
    column : int
        Which class' scores; 0 unless there are more than two classes.
    selected : collection of int
        Bins that are marked; none if the whole curve is selected.

    Returns
    -------
    Figure
        The same traces for every term, so that one can be updated to show another.
    BinPlaces
        Where the bins stand.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    places = BinPlaces.of(model, view, selected)
    codes = list(places.codes)
    original, last, current = (
        scores.reshape(len(view.labels), -1)[codes, column]
        for scores in (view.original, view.last, view.current)
    )
    band = None if view.band is None else view.band.of_class(column).at(codes)
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.82, 0.18], vertical_spacing=0.03
    )
    lines = (
        (ORIGINAL, original, "original", {"color": "#6b7785", "width": 1.5, "dash": "dot"}),
        (LAST, last, "before the last edit", {"color": "#e69f00", "width": 2, "dash": "dash"}),
        (CURRENT, current, "now", {"color": COLORS["curve"], "width": 2.5}),
    )
    drawn = (original, original) if band is None else band.drawn_around(original)
    band_x, band_y = places.areas(*drawn)
    figure.add_trace(
        go.Scatter(
            x=band_x,
            y=band_y,
            fill="toself",
            fillcolor=COLORS["band"],
            line={"width": 0},
            mode="lines",
            name="95 % noise band",
            visible=band is not None,
            hoverinfo="skip",
        ),
        row=1,
        col=1,
    )
    for _, scores, name, style in lines:
        x, y = places.steps(scores)
        line = go.Scatter(x=x, y=y, mode="lines", name=name, line=style, hoverinfo="skip")
        figure.add_trace(line, row=1, col=1)
    figure.add_trace(_points(view, places, original, current, band), row=1, col=1)
    figure.add_trace(_rows(view, places), row=2, col=1)
    _lay_out(figure, places, selected)
    figure.update_yaxes(title=score_unit(model), row=1)
    return figure, places


def _points(
    view: TermView,
    places: BinPlaces,
    original: FloatArray,
    current: FloatArray,
    band: Band | None,
) -> Any:
    """Return unseen marks at the bins' centres: for the texts under the mouse, and to select."""
    import plotly.graph_objects as go

    rows = [
        (
            literal(view.labels[code]),
            f"{before:.4g}{noise}",
            f"{view.weights[code]:,.0f}",
        )
        for code, before, noise in zip(
            places.codes, original, band_texts(band, len(original)), strict=True
        )
    ]
    return go.Scatter(
        x=((places.left + places.right) / 2).tolist(),
        y=current.tolist(),
        mode="markers",
        marker={"opacity": 0, "size": 10, "color": COLORS["curve"]},
        customdata=rows,
        hovertemplate=(
            "%{customdata[0]}<br>now %{y:.4g}<br>original %{customdata[1]}<br>"
            "about %{customdata[2]} rows (noisy count)<extra></extra>"
        ),
        showlegend=False,
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )


def _rows(view: TermView, places: BinPlaces) -> Any:
    """Return the area below the curve: rows by unit of the axis, or by level."""
    import plotly.graph_objects as go

    counts = np.maximum(view.weights[list(places.codes)], 0.0)
    if places.n_joined:
        # A bin that stands apart has no width, so that its density would mean nothing.
        counts[places.n_joined :] = 0.0
        counts /= np.maximum(places.right - places.left, np.finfo(float).tiny)
    x, y = places.areas(np.zeros(len(counts)), counts)
    return go.Scatter(
        x=x,
        y=y,
        fill="toself",
        fillcolor=COLORS["weight"],
        line={"width": 0},
        mode="lines",
        name="where the rows are (noisy counts)",
        hoverinfo="skip",
    )


def _lay_out(figure: Figure, places: BinPlaces, selected: Collection[int]) -> None:
    positions, texts = zip(*places.ticks, strict=True)
    is_upright = bool(places.n_joined) or sum(map(len, texts)) <= _LONGEST_TICKS
    depth = 0 if is_upright else 4 * max(map(len, texts))
    dress(figure, height=420 + depth, margin={"l": 62, "r": 12, "t": 70, "b": 30 + depth})
    room = 0.015 * float(places.right.max() - places.left.min())
    figure.update_xaxes(
        tickvals=positions,
        ticktext=texts,
        tickangle=0 if is_upright else -_TICK_ANGLE,
        range=[float(places.left.min()) - room, float(places.right.max()) + room],
    )
    figure.update_yaxes(showticklabels=False, showgrid=False, rangemode="tozero", row=2)
    shapes = [_rule({"xref": "x domain", "x0": 0, "x1": 1, "yref": "y", "y0": 0, "y1": 0}, "solid")]
    marks = [
        {
            "type": "rect",
            "xref": "x",
            "x0": float(places.left[group].min()),
            "x1": float(places.right[group].max()),
            "yref": "y domain",
            "y0": 0,
            "y1": 1,
            "fillcolor": "#e69f00",
            "opacity": 0.16,
            "line": {"width": 0},
            "layer": "below",
        }
        for group in _runs(places, selected)
    ]
    if 0 < places.n_joined < len(places.codes):
        middle = float(places.right[places.n_joined - 1] + places.left[places.n_joined]) / 2
        apart = {"xref": "x", "x0": middle, "x1": middle, "yref": "y domain", "y0": 0, "y1": 1}
        shapes.append(_rule(apart, "dot"))
    figure.update_layout(
        shapes=[*shapes, *marks],
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        dragmode="select",
        selectdirection="h",
        autosize=True,
    )


def _rule(ends: dict[str, Any], dash: str) -> dict[str, Any]:
    style = {"color": COLORS["line"], "width": 1, "dash": dash}
    return {"type": "line", **ends, "line": style, "layer": "below"}


def _runs(places: BinPlaces, selected: Collection[int]) -> list[list[int]]:
    """Return runs of selected bins side by side, as positions in the drawing."""
    runs: list[list[int]] = []
    for position, code in enumerate(places.codes):
        if code not in selected:
            continue
        if runs and runs[-1][-1] == position - 1 and position != places.n_joined:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def redraw(widget: Any, figure: Figure) -> None:
    """Make a FigureWidget show another figure of :func:`editor_figure`, in one message."""
    with widget.batch_update():
        for shown, new in zip(widget.data, figure.data, strict=True):
            shown.update(x=new.x, y=new.y, customdata=new.customdata, visible=new.visible)
        for name in ("height", "margin", "shapes"):
            widget.layout[name] = figure.layout[name]
        for axis in ("xaxis", "xaxis2"):
            for name in ("tickvals", "ticktext", "tickangle", "range"):
                widget.layout[axis][name] = figure.layout[axis][name]
