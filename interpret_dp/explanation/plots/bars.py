"""Bars: the importance of each term to a model, and of each feature to one row."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.influence import (
    ERROR_BARS,
    FADED,
    RowInfluence,
    error_text,
    faded_words,
    top_k,
    top_shares,
    top_text,
)
from interpret_dp.explanation.plots.parts import (
    COLORS,
    RIGHT_AXIS,
    ROUNDED,
    add_heading,
    add_swatch,
    blank_figure,
    buttons,
    fit_height,
    literal,
    place_legend,
    score_unit,
    short_labels,
    value_text,
    wrapped,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, AdditiveTerm

FloatArray = NDArray[np.float64]

MOST_BARS = 15
"""Bars that a figure has, or begins with."""

_LONGEST_VALUE, _BESIDE_LABELS = 34, 80  # letters of a label, and of a line beside labels
_LEAST_HEIGHT, _BAR = 360, 25  # pixels of a figure, and of the bar of an effect
BAR_PITCH = 26
"""Pixels from one bar of an importance, or of a prediction, to the next."""

# Pixels above the bars for a column's heading and, above that, plotly's buttons.
_ROOM_FOR_HEAD = 46
# Beyond this a ratio of signal to noise says "clear" and no more.
_LARGEST_RATIO = 1000

SIGNAL_TO_NOISE = (
    "Signal to noise is a term's bar over its mark. Below 2 (grey), the effect may be noise "
    "alone. Sampling error is not counted."
)
"""Explanation of the figures beside the importances."""


def importance_figure(model: AdditiveModel) -> Figure:
    """Return every term's importance as a bar, with what noise alone would give.

    That is a mark in the bar, and its signal to noise behind it
    (:attr:`interpret_dp.released.AdditiveTerm.signal_to_noise`). The largest terms are in view at
    first; buttons show them, or all terms.
    """
    figure = _importances(model)
    _begin_with_largest(figure)
    return figure


def _importances(model: AdditiveModel) -> Figure:
    figure = importance_bars(model.term_names, model.terms, score_unit(model))
    n_out_of_view = max(len(model.terms) - MOST_BARS, 0)
    figure.update_layout(height=figure.layout.height - BAR_PITCH * n_out_of_view)
    order = sorted(range(len(model.terms)), key=lambda index: model.terms[index].size)
    _add_column(figure, "signal to noise", [ratio_text(model.terms[k]) for k in order])
    if k := top_k(model):
        shares = list(top_shares(model, k).values())
        figure.data[0].update(
            hovertext=[top_text(shares[index], k) for index in order],
            hovertemplate="%{customdata}: %{x:.4g}<br>%{hovertext}<extra></extra>",
        )
    return figure


def ratio_text(term: AdditiveTerm) -> str:
    """Return a term's signal to noise with one digit after the point.

    It is rounded down, so that what is below the threshold does not look like it.
    """
    ratio = term.signal_to_noise
    if ratio is None:
        return "edited" if term.is_edited else "not known"
    return f"{int(10 * ratio) / 10:.1f}" if ratio < _LARGEST_RATIO else f"{_LARGEST_RATIO} or more"


def _add_column(figure: Figure, heading: str, texts: Sequence[str]) -> None:
    """Write a text to the right of each bar, from below, under a heading.

    The texts are the labels of an axis: plotly draws those in view alone.
    """
    figure.data[1].yaxis = "y2"
    figure.update_layout(
        yaxis2={
            **RIGHT_AXIS,
            "tickvals": list(range(len(texts))),
            "ticktext": list(texts),
            "tickfont": {"size": 11.5},
        }
    )
    figure.add_annotation(
        text=heading,
        xref="paper",
        yref="paper",
        x=1,
        y=1,
        xanchor="left",
        yanchor="bottom",
        xshift=2,
        showarrow=False,
        font_size=11,
    )
    missing = max(_ROOM_FOR_HEAD - figure.layout.margin.t, 0)
    figure.update_layout(
        margin={"r": 100, "t": figure.layout.margin.t + missing},
        height=figure.layout.height + missing,
    )


def _begin_with_largest(figure: Figure) -> None:
    """Show the largest bars at first, if there are many, with buttons for these and for all."""
    n_bars = len(figure.data[0].y)
    if n_bars <= MOST_BARS:
        return
    height, top = figure.layout.height, n_bars - 0.5
    views = [
        {
            "yaxis.range": [top - count, top],
            "height": height + BAR_PITCH * (count - MOST_BARS),
        }
        for count in (MOST_BARS, n_bars)
    ]
    labels = f"{MOST_BARS} largest", f"all {n_bars:,}"
    entries = [(label, "relayout", [view]) for label, view in zip(labels, views, strict=True)]
    figure.update_yaxes(range=views[0]["yaxis.range"])
    figure.update_layout(updatemenus=[buttons(entries, x=0, xanchor="left")])


def overview_figure(model: AdditiveModel, line: str) -> Figure:
    """Return the importance of every term, beside what noise alone would give."""
    figure = _importances(model)
    height = figure.layout.height
    figure.update_layout(showlegend=True)
    lines = "\n".join([*textwrap.wrap(SIGNAL_TO_NOISE, 64), line]).strip()
    has_menu = len(model.terms) > MOST_BARS
    add_heading(figure, "What matters: importance of every term", lines, with_menu=has_menu, gap=24)
    place_legend(figure, below=figure.layout.margin.b + 4, height=max(420, height + 140))
    _begin_with_largest(figure)
    return figure


def importance_bars(names: Sequence[str], terms: Sequence[AdditiveTerm], unit: str) -> Figure:
    """Return sizes of terms as bars, largest on top, with marks at what noise alone would give.

    Terms whose signal to noise is below the threshold are grey.

    Parameters
    ----------
    names : sequence of str, shape (n,)
        Shown literally.
    terms : sequence of AdditiveTerm, shape (n,)
    unit : str
        What an effect counts, as plotly shows it.
    """
    measured = sorted(zip(names, terms, strict=True), key=lambda entry: entry[1].size)
    shown = [literal(name) for name, _ in measured]
    is_weak = [term.may_be_noise for _, term in measured]
    positions = list(range(len(shown)))
    margin = {"l": 10, "r": 20, "t": 10, "b": 58}
    figure = blank_figure(height=80 + BAR_PITCH * len(shown), margin=margin)
    figure.add_bar(
        x=[term.size if term.size > ROUNDED else 0.0 for _, term in measured],
        y=positions,
        orientation="h",
        marker_color=[COLORS["weak"] if weak else COLORS["curve"] for weak in is_weak],
        showlegend=False,
        customdata=shown,
        hovertemplate="%{customdata}: %{x:.4g}<extra></extra>",
    )
    figure.add_scatter(
        x=[term.noise_size for _, term in measured],
        y=positions,
        mode="markers",
        marker={"symbol": "line-ns", "size": 15, "line": {"width": 2.5, "color": COLORS["noise"]}},
        name="what noise alone would give",
        legendrank=1001,
        customdata=shown,
        hovertemplate="%{customdata}: noise alone would give %{x:.4g}<extra></extra>",
    )
    # The legend has both colours, whatever the first bar has.
    add_swatch(figure, "root mean square effect", COLORS["curve"], 1.0)
    if any(is_weak):
        add_swatch(figure, "less than twice the mark: may be noise", COLORS["weak"], 1.0)
    title = f"root mean square effect<br>({wrapped(unit)})"
    figure.update_xaxes(title=title, automargin=True, rangemode="tozero")
    labels = short_labels(shown)
    figure.update_yaxes(tickvals=positions, ticktext=labels, automargin=True, showgrid=False)
    return figure


# ------------------------------------------------------------------- contributions to one row


class RowBar(NamedTuple):
    """One contribution to a row's output, as a bar.

    Attributes
    ----------
    effect : float
    text : str
        Literal, under the pointer.
    color : str
    opacity : float
    band : (float, float) or None
        Ends of 95 % of its noise; None where that is not known.
    base : float
        Where the bar begins.
    """

    effect: float
    text: str
    color: str
    opacity: float = 1.0
    band: tuple[float, float] | None = None
    base: float = 0.0


def signed_color(effect: float) -> str:
    """Return the colour of a bar about zero."""
    return COLORS["up" if effect > 0 else "down"]


def add_row_bars(figure: Figure, bars: Sequence[RowBar], **options: Any) -> None:
    """Add bars at 0, -1, ... from above, with their noise as whiskers."""
    figure.add_bar(
        x=[bar.effect for bar in bars],
        y=[-place for place in range(len(bars))],
        base=[bar.base for bar in bars],
        orientation="h",
        marker={"color": [bar.color for bar in bars], "opacity": [bar.opacity for bar in bars]},
        customdata=[bar.text for bar in bars],
        hovertemplate="%{customdata}<extra></extra>",
        meta="contributions",
        showlegend=False,
        **options,
    )
    known = [(bar.effect, -place, *bar.band) for place, bar in enumerate(bars) if bar.band]
    if known:
        x, y, low, high = np.array(known).T
        # plotly draws whiskers of no length at bars without a band, if they are of the same trace.
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            marker={"size": 0.1, "color": COLORS["ink"]},
            error_x={
                "symmetric": False,
                "array": high - x,
                "arrayminus": x - low,
                "color": COLORS["ink"],
                "thickness": 1.3,
                "width": 4,
            },
            hoverinfo="skip",
            showlegend=False,
            **options,
        )


def bar_ticks(labels: Sequence[str], n_bars: int | None = None) -> dict[str, Any]:
    """Return the vertical axis of bars at 0, -1, ... from above, with room for ``n_bars``."""
    return {
        "tickvals": [-place for place in range(len(labels))],
        "ticktext": list(labels),
        "range": [0.6 - (n_bars or len(labels)), 0.6],
    }


def row_bars_figure(bars: Sequence[RowBar], labels: Sequence[str]) -> Figure:
    """Return the contributions to one row's output, from above, with labels beside them."""
    figure = blank_figure(height=_LEAST_HEIGHT, margin={"l": 10, "r": 14, "t": 6, "b": 40})
    add_row_bars(figure, bars)
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True, showgrid=False, **bar_ticks(labels))
    figure.add_vline(x=0, line={"color": COLORS["line"], "width": 1})
    return figure


def row_figure(row: RowInfluence, line: str) -> Figure:
    """Return the effects of one row's features as bars, largest first.

    Parameters
    ----------
    row : RowInfluence
    line : str
        The privacy cost; left out if empty.
    """
    features, labels = row.features, _row_labels(row)
    significant = features.significant
    drawn, rest = features.order[:MOST_BARS], features.order[MOST_BARS:]
    shown = [labels[i] for i in drawn]
    bars = [
        RowBar(
            effect := float(features.effects[i]),
            f"{labels[i]}: {effect:+.4g}{error_text(features.errors[i])}",
            signed_color(effect),
            1.0 if significant[i] else FADED,
            _error_band(effect, ERROR_BARS * float(features.errors[i])),
        )
        for i in drawn
    ]
    if rest:
        lowest, highest = float(features.effects[rest].min()), float(features.effects[rest].max())
        count = int(significant[rest].sum())
        text = (
            f"{len(rest):,} others, between {lowest:+.4g} and {highest:+.4g}; {count:,} of them "
            f"{'stands' if count == 1 else 'stand'} out"
        )
        base = min(lowest, 0.0)
        bars.append(RowBar(max(highest, 0.0) - base, text, COLORS["weak"], 0.5, base=base))
        shown.append(f"{len(rest):,} others (range)")
    figure = row_bars_figure(bars, short_labels(shown, _LONGEST_VALUE))
    # Legends of our own: bars of one colour may all be faded, and both kinds are to be named.
    add_swatch(figure, f"raises the {literal(row.output)}", COLORS["up"], 1.0)
    add_swatch(figure, "lowers it", COLORS["down"], 1.0)
    if not significant[drawn].all():
        add_swatch(figure, faded_words(len(features.names)), COLORS["weak"], FADED)
    if any(bar.band for bar in bars):
        name = "95 % of noise and sampling, for each by itself"
        line_of = {"color": COLORS["ink"], "width": 1.3}
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line_of, name=name)
    figure.update_layout(showlegend=True)
    figure.update_xaxes(title=row.axis, title_font_size=12)
    note = " · unnumbered ones are 0 in this row" if row.is_sparse else ""
    add_heading(figure, row.outcome, f"{row.heading}{note}\n{line}", letters=_BESIDE_LABELS)
    # Entries of the legend may need two lines on a narrow page.
    place_legend(figure, below=78, height=_LEAST_HEIGHT)
    fit_height(figure, _BAR * max(6, len(bars)))
    return figure


def _error_band(effect: float, half: float) -> tuple[float, float] | None:
    """Return the ends of an error bar; None where the error is not known, or there is none."""
    return (effect - half, effect + half) if half > 0 and math.isfinite(half) else None


def _row_labels(row: RowInfluence) -> list[str]:
    """Return each feature's name with the row's value; of many columns, unless it is 0."""
    is_sparse, labels = row.is_sparse, []
    for name, value in zip(row.features.names, row.values, strict=True):
        text = value_text(value)
        labels.append(literal(name) if is_sparse and text == "0" else f"{literal(name)} = {text}")
    return labels
