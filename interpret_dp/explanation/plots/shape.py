"""The figure of one shape function: scores, band, plausible curves, rows, heading and legend.

Drawn from the released model alone. The band is ``AdditiveTerm.band``: Pratt's interval with the
posterior, widened to the score. Counts are noisy.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.influence import drawn_curves
from interpret_dp.explanation.plots.axes import FeatureAxis, Places, bin_texts, term_places
from interpret_dp.explanation.plots.heat import heat_figure, reach_of
from interpret_dp.explanation.plots.parts import (
    CLASS_COLORS,
    COLORS,
    TOO_FEW_ROWS,
    add_heading,
    band_texts,
    buttons,
    dress,
    error_bars,
    label_angle,
    literal,
    percent,
    place_legend,
    probabilities,
    row_noun,
    score_unit,
    transparent,
    wrapped,
)
from interpret_dp.released.arrays import isotonic
from interpret_dp.released.summary import term_sentence
from interpret_dp.released.terms import Band
from interpret_dp.schema.declarations import Categorical, Continuous

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, AdditiveTerm


FloatArray = NDArray[np.float64]
TrueCurve = Callable[[Any], FloatArray]
"""Scores of raw values of a feature; known for simulated data only."""

_NO_BAND = "No band is drawn: the file does not say how large the noise of the edited curve is."
_UNKNOWN_RELEASE = "An older version edited this model: its file lacks the released curve."
_DASHES = ("solid", "dash", "dot")
_CLASS_BAND_OPACITY = 0.12
_TRUTH_POINTS = 400
_NARROWEST = 0.01  # share of an axis
BEHIND_OPACITY = 0.35
"""Opacity of curves behind the one that is looked at."""


# ------------------------------------------------------------------------------- what is drawn


@dataclass(frozen=True, eq=False)
class TermCurve:
    """One line of a term's figure.

    Attributes
    ----------
    name : str
        What the legend calls it, literally.
    scores : ndarray of float64, shape (n_codes,)
    band : Band or None
        Ends of the 95 % band; None where the noise is not known.
    color, band_color, dash : str
        In plotly's words.
    is_class : bool
        One of several classes.
    column : int
        Which of them.
    """

    name: str
    scores: FloatArray
    band: Band | None
    color: str = COLORS["curve"]
    band_color: str = COLORS["band"]
    dash: str = "solid"
    is_class: bool = False
    column: int = 0


def term_curves(
    model: AdditiveModel, term: AdditiveTerm, scores: FloatArray | None = None
) -> list[TermCurve]:
    """Return the curves of a term, in the order of the classes.

    Parameters
    ----------
    model : AdditiveModel
    term : AdditiveTerm
    scores : ndarray of float64, shape of the term's scores, default=None
        Other scores for the same bins, drawn without a band: a preview.
    """
    band = None if scores is not None else term.band(sampling=True)
    shown = term.scores if scores is None else scores
    if shown.ndim == 1:
        return [TermCurve("edited curve" if term.is_edited else "released curve", shown, band)]
    curves = []
    for index, label in enumerate(model.classes or ()):
        color = CLASS_COLORS[index % len(CLASS_COLORS)]
        curves.append(
            TermCurve(
                name=literal(str(label)),
                scores=shown[:, index],
                band=None if band is None else band.of_class(index),
                color=color,
                band_color=transparent(color, _CLASS_BAND_OPACITY),
                dash=_DASHES[index // len(CLASS_COLORS) % len(_DASHES)],
                is_class=True,
                column=index,
            )
        )
    return curves


def band_name(term: AdditiveTerm) -> str:
    """Return what the band of a term holds, for legends."""
    has_sampling = term.sampling_variances is not None
    return "95 % band of noise and sampling" if has_sampling else "95 % noise band"


def edit_note(term: AdditiveTerm, band: Band | None, released_band: Band | None) -> str:
    """Return what a figure of an edited term cannot show, in a sentence or two; "" if nothing.

    Parameters
    ----------
    term : AdditiveTerm
    band, released_band : Band or None
        Of its scores, and of those before the edits.
    """
    notes = [_UNKNOWN_RELEASE] if term.is_edited and term.released is None else []
    if band is None and released_band is not None:
        notes.append(_NO_BAND)
    return " ".join(notes)


def monotone_previews(model: AdditiveModel, term: AdditiveTerm) -> Mapping[str, FloatArray]:
    """Return the nearest increasing and decreasing versions of a term, by name.

    Nearest in squared distance, weighted by the released numbers of rows, over the bins that have
    an order; the missing and the unseen bin stay. Empty for pairs, for nominal features and for
    fewer than two bins. Costs nothing: it is computed from released figures.

    Returns
    -------
    mapping of str to ndarray, shape of the term's scores
    """
    if term.partner is not None:
        return {}
    spec = model.features[term.feature].spec
    if len(term.scores) < 4 or (isinstance(spec, Categorical) and not spec.ordered):
        return {}
    return {
        name: _isotonic(term, increasing=increasing)
        for name, increasing in (("increasing", True), ("decreasing", False))
    }


def _isotonic(term: AdditiveTerm, *, increasing: bool) -> FloatArray:
    result = np.array(term.scores)
    columns = result.reshape(len(result), -1)
    for column in columns.T:
        column[1:-1] = isotonic(column[1:-1], term.weights[1:-1], increasing=increasing)
    return result


def common_range(model: AdditiveModel) -> tuple[float, float]:
    """Return the range of scores that holds all that is drawn of every term, with some room."""
    ends = [0.0]
    for term in model.terms:
        is_pair = term.partner is not None
        # Heat maps have no bands, and bins without rows are not drawn.
        codes = range(len(term.scores)) if is_pair else term_places(model, term).codes
        for curve in term_curves(model, term):
            band = None if is_pair else curve.band
            ranges = () if band is None else band.drawn_around(curve.scores)
            for values in (curve.scores, *ranges):
                ends += [float(values[list(codes)].min()), float(values[list(codes)].max())]
    # plotly's own range leaves a twentieth of the axis on each side, 0.056 of what is drawn: with
    # less, the term with both extremes would be drawn larger on the common scale than alone.
    room = 0.06 * (max(ends) - min(ends)) or math.ulp(1.0)
    return min(ends) - room, max(ends) + room


@cache
def _dressed() -> Figure:
    """Return an upper and a lower part without content, to be copied: plotly takes long for it."""
    from plotly.subplots import make_subplots

    heights = [0.82, 0.18]
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=heights, vertical_spacing=0.03)
    dress(figure, height=330, margin={})
    figure.update_yaxes(showticklabels=False, showgrid=False, rangemode="tozero", row=2)
    figure.add_hline(y=0, line={"color": COLORS["line"], "width": 1}, row=1, col=1)
    return figure


@dataclass(frozen=True, eq=False)
class TermPlot:
    """A figure whose upper part shows scores of bins, and whose lower part counts of rows.

    Bins of a number form a curve; levels, and missing values, stand by themselves.

    Attributes
    ----------
    figure : Figure
    model : AdditiveModel
    term : AdditiveTerm
        As it was released.
    places : Places
    has_link : bool
        Whether the scores are on the scale of the model's link, and not a black box's outputs.
    """

    figure: Figure
    model: AdditiveModel
    term: AdditiveTerm
    places: Places
    has_link: bool = True

    @classmethod
    def of(
        cls,
        model: AdditiveModel,
        term: AdditiveTerm,
        places: Places | None = None,
        has_link: bool = True,
    ) -> TermPlot:
        """Return the plot of a term, still empty."""
        import plotly.graph_objects as go

        figure = go.Figure(_dressed())
        return cls(figure, model, term, places or term_places(model, term), has_link)

    def add(self, x: Any, y: Any, **style: Any) -> None:
        """Add points or a line to the upper part."""
        place = {"row": 1, "col": 1, "hoverinfo": "skip"}
        self.figure.add_scatter(x=list(x), y=list(y), **place | style)

    def line(self, scores: FloatArray, line: Mapping[str, Any], **style: Any) -> None:
        """Draw one score a bin as the steps of a line, where bins form a curve."""
        heights = scores[self.places.steps]
        if len(heights):
            heights = np.r_[heights, heights[-1]].tolist()
            style["line"] = {"shape": "hv", **line}
            self.add(self.places.edges.tolist(), heights, mode="lines", **style)

    def band(self, curve: TermCurve, **style: Any) -> None:
        """Draw the band of a curve."""
        if curve.band is None:
            return
        style = {"name": band_name(self.term), "fillcolor": curve.band_color, **style}
        shows = style.pop("showlegend", True)
        band = curve.band.drawn_around(curve.scores)
        self.line(band.upper, {"width": 0}, **style, showlegend=False)
        self.line(band.lower, {"width": 0}, **style, fill="tonexty", showlegend=shows)

    def version(
        self, scores: FloatArray, color: str, x: Sequence[float], dash: str = "dash", **style: Any
    ) -> None:
        """Draw other scores of the same bins as a thin line, or as a mark across each level.

        Parameters
        ----------
        scores : ndarray of float64, shape (n_codes,)
        color, dash : str
        x : sequence of float
            Where the bins that stand by themselves are drawn.
        **style
            Of both traces; only one is in the legend.
        """
        self.line(scores, {"color": color, "width": 1.4, "dash": dash}, **style)
        if len(x):
            has_steps = bool(self.places.n_steps)
            edge = {"width": 2.2, "color": color}
            marker = {"symbol": "line-ew", "size": 16 if has_steps else 26, "line": edge}
            style["showlegend"] = style.get("showlegend", True) and not has_steps
            self.add(x, scores[self.places.alone].tolist(), mode="markers", marker=marker, **style)

    def too_few_rows(self, scores: FloatArray, width: int = 5, **style: Any) -> None:
        """Draw the steps of a curve that have too few rows in another colour."""
        x: list[float | None] = []
        y: list[float | None] = []
        for left, right, code in zip(
            self.places.left, self.places.right, self.places.steps, strict=False
        ):
            if self.term.too_few_rows[code]:
                x += [float(left), float(right), None]
                y += [float(scores[code]), float(scores[code]), None]
        if x:
            line = {"color": COLORS["line"], "width": width}
            self.add(x, y, mode="lines", line=line, name=TOO_FEW_ROWS, **style)

    def rows(self, **style: Any) -> None:
        """Draw where the rows are: by unit of the axis, or by level."""
        places = self.places
        weights = np.maximum(self.term.weights[list(places.codes)], 0.0)
        rows = f"where the {literal(row_noun(self.model))} are (noisy counts)"
        style = {"name": rows, "hoverinfo": "skip", **style}
        if not places.n_steps:
            self.figure.add_bar(
                x=places.centres.tolist(),
                y=weights.tolist(),
                width=(places.right - places.left).tolist(),
                marker_color=COLORS["weight"],
                unselected={"marker": {"opacity": 1}},
                row=2,
                col=1,
                **style,
            )
            return
        edges = places.edges
        # A bin too narrow to be seen would make all others too low to be seen.
        widths = np.maximum(np.diff(edges), _NARROWEST * max(edges[-1] - edges[0], 1e-300))
        density = np.zeros(len(self.term.weights))
        density[places.steps] = weights[: places.n_steps] / widths
        color = COLORS["weight"]
        style |= {"fill": "tozeroy", "fillcolor": color, "row": 2}
        self.line(density, {"width": 1, "color": color}, **style)

    def error_bars(
        self, curve: TermCurve, codes: Sequence[int], **style: Any
    ) -> dict[str, Any] | None:
        """Return the bands of some bins as bars around their points."""
        bars = error_bars(curve.scores[codes], curve.band and curve.band.at(codes))
        return bars and {"color": curve.color, "thickness": 1.5, **bars, **style}

    def hover_texts(
        self,
        curve: TermCurve,
        codes: Sequence[int],
        shown: Sequence[str] | None = None,
        scores: FloatArray | None = None,
    ) -> list[str]:
        """Return what stands under the pointer at each bin.

        Parameters
        ----------
        curve : TermCurve
        codes : sequence of int
        shown : sequence of str, default=None
            Each bin's score in words; by default the curve's.
        scores : ndarray of float64, shape of the term's scores, default=None
            Whose probabilities are given; by default the term's.
        """
        texts = bin_texts(self.model.features[self.term.feature])
        head = f"{curve.name}: " if curve.is_class else ""
        noise = band_texts(curve.band and curve.band.at(codes), self.term.too_few_rows[list(codes)])
        shown = shown or [f"{curve.scores[code]:.4g}" for code in codes]
        scores = self.term.scores if scores is None else scores
        outputs = self._output_texts(scores[list(codes)], curve)
        noun = literal(row_noun(self.model))
        return [
            f"<b>{head}{literal(texts[code])}</b><br>{score}{band}{output}"
            f"<br>about {max(0.0, self.term.weights[code]):,.0f} {noun} (noisy count)"
            for code, score, band, output in zip(codes, shown, noise, outputs, strict=True)
        ]

    def _output_texts(self, scores: FloatArray, curve: TermCurve) -> list[str]:
        """Return a line on what each score does to the prediction, where it is on another scale."""
        shares = probabilities(self.model, scores) if self.has_link else None
        if shares is not None and (shares.ndim == 1 or curve.is_class):
            own = shares if shares.ndim == 1 else shares[:, curve.column]
            return [f"<br>probability {percent(p)} (other terms at 0)" for p in own]
        if self.has_link and self.model.link == "log":
            with np.errstate(over="ignore"):
                return [f"<br>multiplies the prediction by {f:.3g}" for f in np.exp(scores)]
        return [""] * len(scores)

    def points(self, x: Any, y: Any, texts: Sequence[str], marker: Any, **style: Any) -> None:
        """Add points that say something under the pointer."""
        hover = {"hovertemplate": "%{text}<extra></extra>", "hoverinfo": None}
        self.add(x, y, mode="markers", marker=marker, text=list(texts), **hover, **style)

    def lay_out(self, height: int, margin: dict[str, int]) -> None:
        """Set axes and size; both grow where labels of levels lean."""
        figure, places = self.figure, self.places
        # plotly leans numbers where they find no room.
        angle: int | None = None
        depth = 0
        if not places.n_steps:
            longest = max(map(len, places.tick_labels))
            angle, depth = label_angle(places.tick_labels, longest * len(places.tick_labels))
        figure.update_layout(height=height + depth, margin=margin | {"b": margin["b"] + depth})
        figure.update_xaxes(
            tickvals=list(places.tick_positions),
            ticktext=list(places.tick_labels),
            tickangle=angle,
            range=list(places.range),
            showgrid=bool(places.n_steps),
        )
        figure.update_yaxes(title=wrapped(score_unit(self.model)), automargin=True, row=1)
        figure.update_layout(meta={"alternative": term_sentence(self.model, self.term)})
        if places.border is not None:
            line = {"color": COLORS["line"], "width": 1, "dash": "dot"}
            figure.add_vline(x=places.border, line=line)


# ---------------------------------------------------------------------------------- the figure


def shape_figure(
    model: AdditiveModel,
    term: AdditiveTerm,
    truth: TrueCurve | None = None,
    *,
    previews: Mapping[str, FloatArray] | None = None,
    draws: bool = False,
    has_link: bool = True,
) -> Figure:
    """Return one term: its scores, the 95 % band, and where the rows are.

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
    draws : bool, default=False
        Draw plausible curves too, hidden; their ``meta`` is ``"plausible curves"``.
    has_link : bool
        Whether the scores are on the scale of the model's link, and not a black box's outputs.
    """
    # Levels stand in the order of the release, whatever an edit did to them.
    places = term_places(model, term.as_released)
    plot, curves = TermPlot.of(model, term, places, has_link), term_curves(model, term)
    for place, curve in enumerate(curves):
        plot.band(curve, legendgroup=_group(curve), showlegend=not curve.is_class)
        line = {"color": curve.color, "width": 2, "dash": curve.dash}
        plot.line(curve.scores, line, **_style(curve))
        _add_points(plot, curve, plot.places.beside(place, len(curves)))
    if term.is_edited and term.released is not None:
        for place, curve in enumerate(term_curves(model, term.released)):
            color = curve.color if curve.is_class else COLORS["ink"]
            name = f"{curve.name}, released" if curve.is_class else "released"
            x = plot.places.beside(place, len(curves)).tolist()
            plot.version(curve.scores, color, x, **_style(curve) | {"name": name})
    _mark_too_few_rows(plot, curves[0])
    if truth is not None:
        _add_truth(plot, truth)
    plot.rows()
    for curve in curves:
        _add_hover(plot, curve)
    for name, scores in (previews or {}).items():
        versions = term_curves(model, term, scores)
        for place, curve in enumerate(versions):
            _add_preview(plot, curve, name, plot.places.beside(place, len(versions)))
    if draws:
        add_draws(plot, curves, range(len(curves)))
    plot.lay_out(330, {"l": 58, "r": 14, "t": 8, "b": 40})
    return plot.figure


def _group(curve: TermCurve) -> str | None:
    """Return what a click in the legend hides together; groups would be stacked in its row."""
    return curve.name if curve.is_class else None


def _style(curve: TermCurve) -> dict[str, Any]:
    return {"name": curve.name, "legendgroup": _group(curve), "meta": "released"}


def _add_points(plot: TermPlot, curve: TermCurve, positions: FloatArray) -> None:
    """Draw bins that stand by themselves: a point each, and its band as a bar."""
    alone, lacks_rows = plot.places.alone, plot.term.too_few_rows
    known = [place for place, code in enumerate(alone) if not lacks_rows[code]]
    codes = [alone[place] for place in known]
    if not alone:
        return
    style = _style(curve)
    if not curve.is_class:
        state = "edited" if plot.term.is_edited else "released"
        style["name"] = f"{state} score" + (
            "" if curve.band is None else f", {band_name(plot.term)}"
        )
    plot.points(
        positions[known].tolist(),
        curve.scores[codes].tolist(),
        plot.hover_texts(curve, codes),
        {"color": curve.color, "size": 8},
        error_y=plot.error_bars(curve, codes),
        showlegend=not plot.places.n_steps,
        **style,
    )


def _mark_too_few_rows(plot: TermPlot, curve: TermCurve) -> None:
    """Draw levels with too few rows as one hollow point each; of steps a line."""
    plot.too_few_rows(curve.scores)
    lacks_rows, alone = plot.term.too_few_rows, plot.places.alone
    places = [place for place, code in enumerate(alone) if lacks_rows[code]]
    codes = [alone[place] for place in places]
    if codes:
        x = plot.places.beside()[places].tolist()
        # Of all classes.
        texts = plot.hover_texts(TermCurve("", curve.scores, curve.band), codes)
        marker = {"color": COLORS["line"], "size": 8, "symbol": "circle-open"}
        bars = plot.error_bars(curve, codes, color=COLORS["line"], thickness=1)
        y = curve.scores[codes].tolist()
        plot.points(x, y, texts, marker, error_y=bars, name=TOO_FEW_ROWS)


def _add_hover(plot: TermPlot, curve: TermCurve) -> None:
    """Say what a step of a curve is, wherever the pointer is near it."""
    codes = plot.places.steps
    if codes:
        plot.points(
            plot.places.centres[: len(codes)].tolist(),
            curve.scores[codes].tolist(),
            plot.hover_texts(curve, codes),
            {"opacity": 0, "color": curve.color},
            showlegend=False,
            legendgroup=_group(curve),
        )


def _add_preview(plot: TermPlot, curve: TermCurve, preview: str, positions: FloatArray) -> None:
    """Draw another version of a curve, or of levels, hidden."""
    name = f"{curve.name}, {preview}" if curve.is_class else f"nearest {preview} curve"
    color = curve.color if curve.is_class else COLORS["preview"]
    style = {"name": name, "legendgroup": _group(curve), "meta": preview, "visible": False}
    plot.line(curve.scores, {"color": color, "width": 2.5, "dash": curve.dash}, **style)
    if not plot.places.n_steps:
        plot.add(
            positions.tolist(),
            curve.scores[plot.places.alone].tolist(),
            mode="markers",
            marker={"color": color, "size": 10, "symbol": "diamond"},
            hovertemplate="%{y:.4g}<extra></extra>",
            **style | {"hoverinfo": None},
        )


def _add_truth(plot: TermPlot, truth: TrueCurve) -> None:
    """Draw the true curve as a dashed line, and a mark at each bin that stands by itself."""
    places, spec = plot.places, plot.model.features[plot.term.feature].spec
    known = [code for code in places.alone if code != len(plot.term.scores) - 1]
    if isinstance(spec, Continuous):
        grid = np.linspace(places.edges[0], places.edges[-1], _TRUTH_POINTS)
        raw = np.clip(FeatureAxis(spec).values(grid), spec.lower, spec.upper)
        line = {"color": COLORS["truth"], "width": 2, "dash": "dash"}
        y = np.asarray(truth(raw)).tolist()
        plot.add(grid.tolist(), y, mode="lines", line=line, name="true curve")
        values = np.full(len(known), math.nan)
    else:
        levels = [None if code == 0 else spec.levels[code - 1] for code in known]
        values = np.array(levels, dtype=object)
    if known:
        mark = {"symbol": "line-ew", "size": 22, "line": {"width": 2.5, "color": COLORS["truth"]}}
        plot.add(
            places.beside()[: len(known)].tolist(),
            np.asarray(truth(values)).tolist(),
            mode="markers",
            marker=mark,
            name="true curve",
            showlegend=False,
            hovertemplate="truth: %{y:.4g}<extra></extra>",
            hoverinfo=None,
        )


# Plausible curves in the figure of a term: what a fit without noise could have had.

DRAWS = "plausible curves"
"""``meta`` of plausible curves, and the label of the button that shows them."""
DRAWS_OPACITY = 0.5


def add_draws(
    plot: TermPlot, curves: Sequence[TermCurve], columns: Sequence[int], *, visible: bool = False
) -> None:
    """Add plausible versions of curves as thin lines, and of levels as small points.

    Parameters
    ----------
    plot : TermPlot
        Of a term; unchanged where the noise of the term is not known.
    curves : sequence of TermCurve
        Those of the term, one a class.
    columns : sequence of int
        Which of them.
    visible : bool, default=False
    """
    if plot.term.noise_deviations is None:
        return
    drawn, places = drawn_curves(plot.term), plot.places
    for place, number in enumerate(columns):
        curve = curves[number]
        own = (drawn[..., number] if curve.is_class else drawn).round(4)
        name = f"{len(own)} {DRAWS}"
        style: dict[str, Any] = {
            "name": f"{curve.name}, {name}" if curve.is_class else name,
            "legendgroup": curve.name if curve.is_class else None,
            "meta": DRAWS,
            "opacity": DRAWS_OPACITY,
            "visible": visible,
        }
        if places.n_steps:
            # None divides the lines of one trace.
            steps = own[:, places.steps]
            x = [edge for _ in steps for edge in (*places.edges.tolist(), None)]
            y = [score for line in steps.tolist() for score in (*line, line[-1], None)]
            line = {"color": curve.color, "width": 1, "shape": "hv"}
            plot.add(x, y, mode="lines", line=line, **style)
        if places.alone:
            x = np.tile(places.beside(place, len(columns)), len(own)).tolist()
            y = own[:, places.alone].ravel().tolist()
            style["showlegend"] = not places.n_steps
            plot.add(x, y, mode="markers", marker={"color": curve.color, "size": 4}, **style)


# The figure of a term with heading, privacy cost, legend, and buttons for previews and scales.


def term_figure(model: AdditiveModel, index: int, line: str) -> Figure:
    """Return one term, with buttons for monotone previews and for the scale of the scores.

    Parameters
    ----------
    model : AdditiveModel
    index : int
        Which of its terms.
    line : str
        The privacy cost; left out if empty.
    """
    term = model.terms[index]
    feature = model.subject(term)
    if term.partner is not None:
        return _pair_figure(model, term, line)
    previews = monotone_previews(model, term)
    figure = shape_figure(model, term, previews=previews, draws=True)
    bottom = figure.layout.margin.b
    menus = [scale_menu(model)]
    if any(trace.meta not in (None, "released") for trace in figure.data):
        state = "edited" if term.is_edited else "released"
        menus.append(_preview_menu(figure, list(previews), state))
    figure.update_layout(updatemenus=menus, showlegend=True)
    kind = f"{feature.kind}, edited" if term.is_edited else feature.kind
    says = [term_sentence(model, term), edit_note(term, term.band(), term.as_released.band())]
    words = "\n".join([*textwrap.wrap(" ".join(says).strip(), 95), line]).strip()
    add_heading(figure, f"Term: {feature.name} ({kind})", words, with_menu=True)
    place_legend(figure, below=bottom + 6, height=480)
    return figure


def _pair_figure(model: AdditiveModel, term: AdditiveTerm, line: str) -> Figure:
    figure = heat_figure(model, term)
    lowest, highest = common_range(model)
    own, common = reach_of(term.scores), max(-lowest, highest)
    maps = [place for place, trace in enumerate(figure.data) if trace.meta == "released"]
    scales = [
        (name, "restyle", [{"zmin": -reach, "zmax": reach}, maps])
        for name, reach in (("own scale", own), ("same scale for all terms", common))
    ]
    menus = [*figure.layout.updatemenus, buttons(scales, x=1, xanchor="right")]
    figure.update_layout(updatemenus=menus)
    names = " & ".join(model.features[index].name for index in term.features)
    kind = "interaction, edited" if term.is_edited else "interaction"
    title = f"Term: {names} ({kind}; pale: within the noise)"
    height = figure.layout.height
    add_heading(figure, title, line, with_menu=True)
    figure.update_layout(height=max(480, height + 110))
    return figure


def scale_menu(model: AdditiveModel) -> dict[str, Any]:
    """Return buttons for the term's own range of scores and for that of all terms."""
    lowest, highest = common_range(model)
    return buttons(
        [
            ("own scale", "relayout", [{"yaxis.autorange": True}]),
            (
                "same scale for all terms",
                "relayout",
                [{"yaxis.autorange": False, "yaxis.range": [lowest, highest]}],
            ),
        ],
        x=1,
        xanchor="right",
    )


def _preview_menu(figure: Figure, names: list[str], state: str) -> dict[str, Any]:
    """Return buttons that show one version and fade the model's curve behind a preview."""
    metas = [trace.meta for trace in figure.data]
    indices = [index for index, meta in enumerate(metas) if meta is not None]

    def version(shown: str | None) -> list[Any]:
        visible = [metas[i] in ("released", shown) for i in indices]
        opacity = {"released": BEHIND_OPACITY if shown in names else 1.0, DRAWS: DRAWS_OPACITY}
        faded = [opacity.get(metas[i], 1.0) for i in indices]
        return [{"visible": visible, "opacity": faded}, indices]

    entries = [(f"as {state}", "restyle", version(None))]
    entries += [(f"preview {name}", "restyle", version(name)) for name in names]
    if DRAWS in metas:
        entries.append((DRAWS, "restyle", version(DRAWS)))
    return buttons(entries, x=0, xanchor="left")
