"""The editors' plot of one term: released, last and present scores, band and rows.

A pair of features is drawn as a heat map. Both are drawn from released figures alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from interpret_dp.editor.bins import TermView
from interpret_dp.explanation.plots.axes import Places, term_places
from interpret_dp.explanation.plots.heat import CellPlaces, heat_figure, reach_of
from interpret_dp.explanation.plots.parts import COLORS, LEGEND_BELOW, literal, transparent
from interpret_dp.explanation.plots.shape import (
    TermCurve,
    TermPlot,
    add_draws,
    band_name,
    common_range,
    edit_note,
    term_curves,
)
from interpret_dp.released import AdditiveTerm, Band

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.editor import EditSession, Preview

FloatArray = NDArray[np.float64]

BINS = "bins"
"""``meta`` of the unseen points, one a bin at its present score, or one a cell."""

PREVIEW = "preview"
"""Name of the scores that an edit would lead to."""

_HEIGHT = 440  # pixels, if labels are upright
_ROOM = 0.07  # above and below the curves, as a share of their range
_RANKS = {"now": 1, "other": 2, "noise": 3, "rows": 4}  # in the legend, from left to right
_RELEASED, _LAST, _WHISKER = "#5c6b78", "#c8790a", transparent(COLORS["ink"], 0.65)
_SELECTED, _SELECTED_EDGE = "rgba(230, 159, 0, 0.13)", "rgba(200, 121, 10, 0.55)"


@dataclass(frozen=True, eq=False)
class EditedTerm:
    """One term of a session as of one moment, with the positions of its bins or cells on the plot.

    Attributes
    ----------
    session : EditSession
    index : int
        Number of the term.
    view : TermView
    places : Places or CellPlaces
    entry : int or None
        Entry of the history that is looked at.
    preview : Preview or None
        An edit of this term that was not made, drawn dashed beside the present scores.
    """

    session: EditSession
    index: int
    view: TermView
    places: Places | CellPlaces
    entry: int | None = None
    preview: Preview | None = None

    @classmethod
    def of(
        cls,
        session: EditSession,
        index: int,
        selected: Collection[int] = (),
        entry: int | None = None,
    ) -> Self:
        """Read a term off its session.

        The missing and the undeclared bin are drawn if they hold rows, were edited, or are
        selected. ``entry`` is the entry of the history that is drawn beside the present scores;
        by default the last but one.
        """
        view, model = session.view(index, entry=entry), session.base
        term = model.terms[index].as_released
        if term.partner is not None:
            return cls(session, index, view, CellPlaces.of(model, term), entry)
        changed = (view.current != view.original).reshape(len(view.labels), -1).any(axis=1)
        also = {*np.flatnonzero(changed).tolist(), *selected}
        return cls(session, index, view, term_places(model, term, also), entry)

    def with_preview(self, preview: Preview) -> Self:
        """Return the term with an edit that was not made in the place of an earlier entry."""
        return replace(self, preview=preview, view=replace(self.view, last=preview.after))

    @property
    def note(self) -> str:
        """What the plot cannot show, in a sentence or two; empty if there is nothing."""
        view = self.view
        return edit_note(self.session.base.terms[self.index], view.current_band, view.band)

    def figure(
        self,
        *,
        column: int | None = None,
        selected: Collection[int] = (),
        on_common_scale: bool = False,
        drags: bool = False,
        draws: bool = False,
        gestures: dict[str, Any] | None = None,
    ) -> Figure:
        """Return the plot.

        Parameters
        ----------
        column : int or None
            The class that is shown; None for all.
        selected : collection of int
            Bins or cells that are marked.
        on_common_scale : bool
            Whether the range of the scores is that of all terms.
        drags : bool
            Whether a gesture moves bins; otherwise it selects them.
        draws : bool
            Whether plausible versions of the released curves are drawn.
        gestures : dict, default=None
            The stores that take clicks and drags; see ``dash/assets/gestures.js``. Without it a
            click on the legend hides curves, as plotly's own.

        Returns
        -------
        Figure
            With the same traces after each edit of the same drawn bins.
        """
        if isinstance(self.places, CellPlaces):
            return self._heat_map(column, selected, on_common_scale, gestures)
        model, view, places = self.session.base, self.view, self.places
        term = _marked(model.terms[self.index].as_released, view.is_edited)
        plot = TermPlot.of(model, term, places)
        versions = [
            scores.reshape(len(scores), -1).T for scores in (view.original, view.last, view.current)
        ]
        curves = [
            replace(curve, scores=scores, band=view.current_band and view.current_band.of_class(n))
            for n, (curve, scores) in enumerate(
                zip(term_curves(model, plot.term), versions[-1], strict=True)
            )
        ]
        columns = range(len(curves)) if column is None or len(curves) == 1 else [column]
        draggable = []
        for place, number in enumerate(columns):
            own = tuple(scores[number] for scores in versions)
            shown = curves[number], own, view.current, self._last_name
            draggable += _add_curve(plot, *shown, place, len(columns))
        plot.rows(legendrank=_RANKS["rows"])
        if draws:
            add_draws(plot, curves, columns, visible=True)
        plot.lay_out(_HEIGHT, {"l": 62, "r": 12, "t": 10, "b": 78})
        lowest, highest = _score_range(
            [(curves[number], [v[number] for v in versions]) for number in columns], places
        )
        if on_common_scale:
            # An edit may have gone beyond what any released curve does.
            common = range_of(self.session.released)
            lowest, highest = min(lowest, common[0]), max(highest, common[1])
        figure = plot.figure
        figure.update_yaxes(range=[lowest, highest], row=1)
        figure.update_xaxes(title={"text": literal(view.name), "standoff": 8}, row=2, col=1)
        figure.update_shapes(layer="below")
        figure.layout.shapes = (*_marks(places, selected), *figure.layout.shapes)
        figure.update_layout(
            showlegend=True,
            # Filled curves would turn the order round.
            legend={**LEGEND_BELOW, "traceorder": "normal"},
            dragmode="select",
            selectdirection="h",
            newselection={"line": {"color": _SELECTED_EDGE, "width": 1, "dash": "solid"}},
        )
        if gestures is not None:
            figure.update_layout(
                legend={"itemclick": False, "itemdoubleclick": False},
                dragmode=False if drags else "select",
                meta={
                    **figure.layout.meta,
                    "editor": gestures,
                    "version": view.version,
                    "codes": list(places.codes),
                    "left": places.left.tolist(),
                    "right": places.right.tolist(),
                    "selected": sorted(selected),
                    "drags": drags,
                    "traces": draggable,
                },
                uirevision=f"{column} {on_common_scale}",
            )
        return figure

    @property
    def _last_name(self) -> str:
        """Name of the scores beside the present and the released ones."""
        if self.preview is not None:
            return PREVIEW
        if self.entry is None:
            return "before the last edit"
        loaded = len(self.session.base.edits)
        if not self.entry:
            return "as loaded" if loaded else "as released"
        return f"after edit {loaded + self.entry}"

    def _heat_map(
        self,
        column: int | None,
        selected: Collection[int],
        on_common_scale: bool,
        gestures: dict[str, Any] | None,
    ) -> Figure:
        """Return the plot of a pair, as it is now or as a preview has it."""
        released = self.session.released if self.preview is None else self.preview.released
        term = released.terms[self.index]
        reach = reach_of(term.scores)
        if on_common_scale:
            lowest, highest = range_of(self.session.released)
            reach = max(reach, -lowest, highest)
        figure = heat_figure(released, term, selected=sorted(selected), reach=reach, column=column)
        rows, columns = np.indices(np.shape(figure.data[0].z))
        # plotly selects marks, never the cells of a heat map.
        figure.add_scatter(
            x=columns.ravel().tolist(),
            y=rows.ravel().tolist(),
            mode="markers",
            marker={"opacity": 0, "size": 4},
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
            hoverinfo="skip",
            showlegend=False,
            meta=BINS,
        )
        figure.update_layout(dragmode="select", selectdirection="any")
        if gestures is not None:
            cells = {"codes": list(self.places.codes), "columns": rows.shape[1]}
            meta = {"editor": gestures, "selected": sorted(selected), "drags": False}
            figure.update_layout(meta={**figure.layout.meta, **meta, **cells})
        figure.update_layout(height=max(_HEIGHT, figure.layout.height))
        return figure


@lru_cache(maxsize=16)
def _marked(term: AdditiveTerm, is_edited: bool) -> AdditiveTerm:
    """Return a released term that says whether it was edited since; terms are immutable."""
    return term if term.is_edited == is_edited else replace(term, is_edited=is_edited)


# A model is immutable, so that the range of all its terms is computed once.
range_of = lru_cache(maxsize=8)(common_range)


def axis_height(figure: Figure) -> float:
    """Return the height of the axis of scores that is plotted; of a heat map, of its colours."""
    if getattr(cells := figure.data[0], "zmax", None) is not None:
        return float(cells.zmax - cells.zmin)
    low, high = figure.layout.yaxis.range
    return abs(float(high) - float(low))


def _score_range(
    shown: Sequence[tuple[TermCurve, list[FloatArray]]], places: Places
) -> tuple[float, float]:
    """Return the vertical range that holds all versions of the curves and the bands."""
    codes = list(places.codes)
    ends = [0.0]
    for curve, versions in shown:
        band = () if curve.band is None else curve.band.drawn_around(curve.scores)
        for values in (*versions, *band):
            ends += [float(values[codes].min()), float(values[codes].max())]
    room = _ROOM * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room


def _marks(places: Places, selected: Collection[int]) -> list[dict[str, Any]]:
    """Return the shapes behind what is selected."""
    edge = {"width": 1, "color": _SELECTED_EDGE}
    mark = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    return [
        {**mark, "x0": low, "x1": high, "fillcolor": _SELECTED, "line": edge}
        for low, high in places.runs(selected)
    ]


# --------------------------------------------------------------------------- one curve's versions


def _add_curve(
    plot: TermPlot,
    curve: TermCurve,
    versions: Sequence[FloatArray],
    of_all: FloatArray,
    last_name: str,
    place: int,
    count: int,
) -> list[dict[str, Any]]:
    """Draw one curve in all its versions; return which traces a drag moves, and which bins.

    ``of_all`` has the present scores of all classes.
    """
    released, last, now = versions
    codes, many = list(plot.places.codes), count > 1
    style: dict[str, Any] = {"legendrank": _RANKS["other"]}
    x = plot.places.beside(place, count).tolist()
    is_edited = not np.array_equal(released[codes], now[codes])
    of_which = "edited" if is_edited else "released"
    # Hidden where it is not known, so that an edit adds and removes no trace.
    band = Band(now, now) if curve.band is None else curve.band
    plot.band(
        replace(curve, band=band),
        name=f"{band_name(plot.term)}, {of_which} curve",
        legendrank=_RANKS["noise"],
        showlegend=place == 0,
        visible=curve.band is not None,
    )
    if place == 0:
        plot.too_few_rows(released, width=8, legendrank=_RANKS["noise"])
    # Under the present scores while both are the same: a drag uncovers it.
    name = f"{curve.name}, released" if many else "released"
    color = curve.color if many else _RELEASED
    plot.version(released, color, x, name=name, showlegend=is_edited, **style)
    is_present = np.array_equal(last[codes], now[codes])
    is_preview = last_name == PREVIEW
    is_other = not (many or np.array_equal(released[codes], last[codes]))
    differs = not is_present and (is_preview or is_other)
    style |= {"name": last_name, "showlegend": differs, "visible": differs}
    plot.version(last, _LAST, x, "dash" if is_preview else "dot", **style)
    name = "edited" if is_edited else "released scores"
    if many:
        name = f"{curve.name}, edited" if is_edited else curve.name
    # On top of the others: it is what a drag takes hold of.
    draggable = _add_present(plot, curve, x, now, name, count)
    _add_whiskers(plot, curve, x, in_legend=place == 0)
    shown = [
        (f"edited {now[c]:.4g}, " if now[c] != released[c] else "") + f"released {released[c]:.4g}"
        for c in codes
    ]
    plot.points(
        [*plot.places.centres[: plot.places.n_steps].tolist(), *x],
        now[codes].tolist(),
        plot.hover_texts(curve, codes, shown, of_all),
        {"opacity": 0, "size": 12, "color": curve.color},
        unselected={"marker": {"opacity": 0}},
        selected={"marker": {"opacity": 0}},
        hoverlabel={"align": "left"},
        showlegend=False,
        meta=BINS,
    )
    return draggable


def _add_present(
    plot: TermPlot, curve: TermCurve, x: list[float], scores: FloatArray, name: str, count: int
) -> list[dict[str, Any]]:
    """Draw the scores as they are now."""
    figure, places, traces = plot.figure, plot.places, []
    style: dict[str, Any] = {"name": name, "legendrank": _RANKS["now"]}
    if places.n_steps:
        plot.line(scores, {"color": curve.color, "width": 2.6}, **style)
        # A step line ends at the right border of its last bin.
        codes = [*places.steps, places.steps[-1]]
        traces.append({"trace": len(figure.data) - 1, "codes": codes})
    if not x:
        return traces
    heights = scores[places.alone].tolist()
    if places.n_steps:
        marker = {"color": curve.color, "size": 10}
        plot.add(x, heights, mode="markers", marker=marker, showlegend=False, **style)
    else:
        # With a border, so that a bar of height 0 can be seen.
        edge = {"color": curve.color, "width": 2}
        figure.add_bar(
            x=x,
            y=heights,
            width=(0.9 / count * (places.right - places.left)).tolist(),
            marker={"color": curve.color, "opacity": 0.6, "line": edge},
            unselected={"marker": {"opacity": 0.6}},
            hoverinfo="skip",
            row=1,
            col=1,
            **style,
        )
    traces.append({"trace": len(figure.data) - 1, "codes": places.alone})
    return traces


def _add_whiskers(plot: TermPlot, curve: TermCurve, x: list[float], *, in_legend: bool) -> None:
    """Draw the noise of bins that stand by themselves, around their scores."""
    if not x:
        return
    codes, is_known = plot.places.alone, curve.band is not None
    plot.add(
        x,
        curve.scores[codes].tolist(),
        mode="markers",
        marker={"symbol": "line-ns", "size": 8, "line": {"width": 1.4, "color": _WHISKER}},
        unselected={"marker": {"opacity": 1}},
        error_y=plot.error_bars(curve, codes, color=_WHISKER, thickness=1.4, width=5),
        name="95 % noise range",
        legendrank=_RANKS["noise"],
        visible=is_known,
        showlegend=in_legend and not plot.places.n_steps,
    )
