"""Bars: the importance of each term or feature, to a model and to one row."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.draws import decision_text, top_k, top_shares, top_text
from interpret_dp.explanation.influence import (
    ERROR_BARS,
    FADED,
    GREY,
    RowInfluence,
    error_text,
    faded_words,
)
from interpret_dp.explanation.plots.parts import (
    COLORS,
    TOO_FEW_ROWS,
    add_heading,
    add_swatch,
    buttons,
    dress,
    fit_height,
    literal,
    number_text,
    place_legend,
    predicted,
    score_unit,
    short_labels,
    shown_scores,
    total_scores,
    value_text,
)
from interpret_dp.released import FeaturePair

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, AdditiveTerm

__all__ = [
    "SIGNAL_TO_NOISE",
    "bar_ticks",
    "importance_bars",
    "importance_figure",
    "local_figure",
    "outcome_text",
    "overview_figure",
    "prediction_figure",
    "row_figure",
    "signed_colors",
    "stability_text",
    "term_importance",
]

FloatArray = NDArray[np.float64]

_MOST_BARS = 15
_LONGEST_VALUE, _BESIDE_LABELS = 34, 80  # letters of a label, and of a line beside labels
_LEAST_HEIGHT, _BAR = 360, 25  # pixels of a figure, and of the bar of an effect
_BAR_WIDTH = 0.7
_BAR_PITCH = 26  # pixels from one bar of an importance to the next
# Pixels above the bars for a column's heading and, above that, plotly's buttons.
_ROOM_FOR_HEAD = 46
# Beyond this a ratio of signal to noise says "clear" and no more.
_LARGEST_RATIO = 1000

SIGNAL_TO_NOISE = (
    "Signal to noise: the size of a term over that of its added noise (root mean squares over the "
    "rows). Below 2, the effect may be noise alone: of terms without effect, fewer than one in "
    "twenty reach 2. Sampling error is not counted."
)
"""Explanation of the figures beside the importances."""


def term_importance(term: AdditiveTerm) -> tuple[float, float]:
    """Return the mean absolute score over the released rows, and what noise alone would give.

    The second figure is the mean of |N(0, s)| with each bin's standard deviation s; NaN where the
    noise is not known. A term whose importance is not above it may be nothing but noise. With
    several classes both are means over the classes.
    """
    total = max(float(term.weights.sum()), 1e-300)
    importance = float(term.weights @ _over_classes(np.abs(term.scores))) / total
    deviations = term.noise_deviations
    if deviations is None:
        return importance, math.nan
    noise = float(term.weights @ _over_classes(deviations)) * math.sqrt(2.0 / math.pi)
    return importance, noise / total


def _over_classes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values if values.ndim == 1 else values.mean(axis=1)


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
    measured = [term_importance(term) for term in model.terms]
    figure = importance_bars(
        list(model.term_names),
        [importance for importance, _ in measured],
        [noise for _, noise in measured],
        score_unit(model),
    )
    n_out_of_view = max(len(measured) - _MOST_BARS, 0)
    figure.update_layout(height=figure.layout.height - _BAR_PITCH * n_out_of_view)
    order = sorted(range(len(measured)), key=lambda index: measured[index][0])
    _add_column(
        figure, "signal to noise", [_ratio_text(model.terms[k].signal_to_noise) for k in order]
    )
    if k := top_k(model):
        shares = list(top_shares(model, k).values())
        figure.data[0].update(
            hovertext=[top_text(shares[index], k) for index in order],
            hovertemplate="%{customdata}: %{x:.4g}<br>%{hovertext}<extra></extra>",
        )
    return figure


def _ratio_text(ratio: float | None) -> str:
    """Return a ratio with one digit after the point."""
    if ratio is None:
        return "not known"
    return f"{ratio:.1f}" if ratio < _LARGEST_RATIO else f"{_LARGEST_RATIO} or more"


def _add_column(figure: Figure, heading: str, texts: Sequence[str]) -> None:
    """Write a text to the right of each bar, from below, under a heading.

    The texts are the labels of an axis: plotly draws those in view alone.
    """
    figure.data[1].yaxis = "y2"
    figure.update_layout(
        yaxis2={
            "overlaying": "y",
            "side": "right",
            "matches": "y",
            "showgrid": False,
            "zeroline": False,
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
    if n_bars <= _MOST_BARS:
        return
    height, top = figure.layout.height, n_bars - 0.5
    views = [
        {
            "yaxis.range": [top - count, top],
            "height": height + _BAR_PITCH * (count - _MOST_BARS),
        }
        for count in (_MOST_BARS, n_bars)
    ]
    labels = f"{_MOST_BARS} largest", f"all {n_bars:,}"
    entries = [(label, "relayout", [view]) for label, view in zip(labels, views, strict=True)]
    figure.update_yaxes(range=views[0]["yaxis.range"])
    figure.update_layout(updatemenus=[buttons(entries, x=0, xanchor="left")])


def overview_figure(model: AdditiveModel, line: str) -> Figure:
    """Return the importance of every term, beside what noise alone would give."""
    figure = _importances(model)
    height = figure.layout.height
    figure.update_layout(showlegend=True)
    lines = "\n".join([*textwrap.wrap(SIGNAL_TO_NOISE, 95), line]).strip()
    has_menu = len(model.terms) > _MOST_BARS
    add_heading(figure, "What matters: importance of every term", lines, with_menu=has_menu, gap=24)
    place_legend(figure, below=figure.layout.margin.b + 4, height=max(420, height + 140))
    _begin_with_largest(figure)
    return figure


def importance_bars(
    names: Sequence[str], importances: Sequence[float], noise: Sequence[float], unit: str
) -> Figure:
    """Return importances as bars, largest on top, with marks at what noise alone would give.

    Parameters
    ----------
    names : sequence of str, shape (n,)
        Shown literally.
    importances, noise : sequence of float, shape (n,)
        Mean absolute effects; a NaN of ``noise`` draws no mark.
    unit : str
        What an effect counts, as plotly shows it.
    """
    import plotly.graph_objects as go

    measured = sorted(zip(names, importances, noise, strict=True), key=lambda entry: entry[1])
    shown = [literal(name) for name, _, _ in measured]
    positions = list(range(len(shown)))
    figure = go.Figure(
        [
            go.Bar(
                x=[importance for _, importance, _ in measured],
                y=positions,
                orientation="h",
                marker_color=COLORS["curve"],
                name="mean absolute effect",
                customdata=shown,
                hovertemplate="%{customdata}: %{x:.4g}<extra></extra>",
            ),
            go.Scatter(
                x=[alone for _, _, alone in measured],
                y=positions,
                mode="markers",
                marker={
                    "symbol": "line-ns",
                    "size": 15,
                    "line": {"width": 2.5, "color": COLORS["truth"]},
                },
                name="what noise alone would give",
                customdata=shown,
                hovertemplate="%{customdata}: noise alone would give %{x:.4g}<extra></extra>",
            ),
        ]
    )
    dress(figure, height=80 + _BAR_PITCH * len(shown), margin={"l": 160, "r": 20, "t": 10, "b": 45})
    figure.update_xaxes(title=f"mean absolute effect ({unit})", rangemode="tozero")
    figure.update_yaxes(tickvals=positions, ticktext=short_labels(shown), showgrid=False)
    return figure


def local_figure(model: AdditiveModel, record: Mapping[str, Any]) -> Figure:
    """Return the contributions to one prediction, largest first.

    With several classes they are those to the predicted one.

    Parameters
    ----------
    model : AdditiveModel
        The model that predicted.
    record : mapping
        ``explanation.data(row)`` of interpret's local explanation. The row is the caller's own:
        nothing protects it.
    """
    import plotly.graph_objects as go

    parts = sorted(
        zip(record["names"], record["values"], shown_scores(record), strict=True),
        key=lambda part: -abs(part[2]),
    )
    cells, lacking = _pair_values(model, record), _terms_without_rows(model, record)
    shown = [
        (f"{literal(str(n))} = {cells.get(n) or value_text(v)}", s, n in lacking)
        for n, v, s in parts[:_MOST_BARS]
    ]
    rest = sum(score for _, _, score in parts[_MOST_BARS:])
    if len(parts) > _MOST_BARS:
        shown.append((f"{len(parts) - _MOST_BARS} others", rest, False))
    shown.reverse()
    scores = [score for _, score, _ in shown]
    figure = go.Figure(
        go.Bar(
            x=scores,
            y=list(range(len(shown))),
            orientation="h",
            marker_color=signed_colors(scores),
            customdata=[name for name, _, _ in shown],
            hovertemplate="%{customdata}: %{x:+.4g}<extra></extra>",
        )
    )
    side = "left" if max(scores) >= -min(scores) else "right"
    for place, (_, _, lacks_rows) in enumerate(shown):
        if lacks_rows:
            figure.add_annotation(
                text=TOO_FEW_ROWS, x=0, y=place, xanchor=side, showarrow=False, font={"size": 11}
            )
    dress(figure, height=70 + 23 * len(shown), margin={"l": 185, "r": 14, "t": 6, "b": 40})
    figure.update_xaxes(title=_local_unit(model, record))
    figure.update_yaxes(
        tickvals=list(range(len(shown))),
        ticktext=short_labels([name for name, _, _ in shown], 28),
        showgrid=False,
    )
    return figure


def prediction_figure(model: AdditiveModel, record: Mapping[str, Any], line: str) -> Figure:
    """Return what each value of one row adds to its prediction.

    Parameters
    ----------
    model : AdditiveModel
    record : mapping
        ``explanation.data(row)`` of interpret's local explanation; the row is the caller's own.
    line : str
        The privacy cost; left out if empty.
    """
    line = "\n".join(part for part in (stability_text(record), line) if part)
    figure = local_figure(model, record)
    intercept = np.asarray(record["extra"]["scores"], dtype=np.float64).reshape(-1)
    if len(intercept) == 1:
        start = f" (starting at {intercept[0]:.3g}, the same for everybody)"
        figure.update_xaxes(title=f"{figure.layout.xaxis.title.text}{start}")
    height = figure.layout.height
    add_heading(figure, outcome_text(model, record), line)
    figure.update_layout(height=max(420, height + 70))
    figure.update_layout(margin={"b": 52})
    figure.add_vline(x=0, line={"color": COLORS["line"], "width": 1})
    return figure


def signed_colors(values: Sequence[float] | FloatArray) -> list[str]:
    """Return the colours of bars about zero."""
    return [COLORS["up" if value > 0 else "down"] for value in values]


def bar_ticks(labels: Sequence[str], longest: int, n_bars: int | None = None) -> dict[str, Any]:
    """Return the vertical axis of bars at 0, -1, ... from above, with room for ``n_bars``."""
    return {
        "tickvals": [-place for place in range(len(labels))],
        "ticktext": short_labels(labels, longest),
        "range": [0.6 - (n_bars or len(labels)), 0.6],
    }


def _pair_values(model: AdditiveModel, record: Mapping[str, Any]) -> dict[str, str]:
    """Return both values of each pair of features; interpret gives none."""
    values = dict(zip(record["names"], record["values"], strict=True))
    texts = {}
    for term in model.terms:
        if term.partner is not None:
            names = [model.features[index].name for index in term.features]
            texts[model.subject(term).name] = " & ".join(
                value_text(values[name]) if name in values else "?" for name in names
            )
    return texts


def _terms_without_rows(model: AdditiveModel, record: Mapping[str, Any]) -> set[str]:
    """Return the terms whose bin, for this row, has too few rows to be learned."""
    values = dict(zip(record["names"], record["values"], strict=True))
    names = set()
    for term in model.terms:
        lacks_rows, subject = term.too_few_rows, model.subject(term)
        if not isinstance(subject, FeaturePair) and lacks_rows.any():
            value = values.get(subject.name)
            if lacks_rows[subject.code_of(value)]:
                names.add(subject.name)
    return names


def outcome_text(model: AdditiveModel, record: Mapping[str, Any]) -> str:
    """Say what was predicted for a row, and what came true if that is known."""
    total = total_scores(record)
    actual = float((record["perf"] or {}).get("actual", math.nan))
    if model.classes is None:
        # math.exp raises where a float64 ends.
        mean = math.exp(min(total[0], 700.0)) if model.link == "log" else total[0]
        text, truth = f"Predicted {number_text(mean)}", number_text(actual)
        return text if math.isnan(actual) else f"{text}, actual: {truth}"
    if len(model.classes) == 1:
        index, probability = 0, 1.0
    elif len(total) > 1:
        index = int(np.argmax(total))
        probability = 1.0 / float(np.exp(total - total[index]).sum())
    else:
        index = len(model.classes) - 1
        probability = 0.5 * (1.0 + math.tanh(total[0] / 2.0))
    text = f"Probability of {model.classes[index]}: {100 * probability:.0f} %"
    return text if math.isnan(actual) else f"{text}, actual: {model.classes[int(actual)]}"


def stability_text(record: Mapping[str, Any]) -> str:
    """Say in how many plausible models the decision is the same; "" where that is not known."""
    return decision_text(record["same_decision"]) if "same_decision" in record else ""


def _local_unit(model: AdditiveModel, record: Mapping[str, Any]) -> str:
    if model.classes is None or np.ndim(record["scores"]) == 1:
        return score_unit(model)
    return f"score of {literal(str(model.classes[predicted(record)]))} (log scale)"


# --------------------------------------------------------------------- local linear explanations


def row_figure(row: RowInfluence, line: str) -> Figure:
    """Return the effects of one row's features as bars, largest first.

    Parameters
    ----------
    row : RowInfluence
    line : str
        The privacy cost; left out if empty.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    labels = _row_labels(row)
    _add_bars(figure, row, labels)
    n_bars = min(len(labels), _MOST_BARS + 1)
    dress(figure, height=_LEAST_HEIGHT, margin={"l": 10, "r": 14, "b": 50})
    figure.update_layout(showlegend=True, barmode="overlay")
    figure.update_xaxes(title=row.axis, title_font_size=12)
    figure.update_yaxes(
        automargin=True, showgrid=False, **bar_ticks(_bar_labels(row, labels), _LONGEST_VALUE)
    )
    figure.add_vline(x=0, line={"color": COLORS["line"], "width": 1})
    add_heading(
        figure,
        row.outcome,
        f"{row.heading}{' · unnumbered ones are 0 in this row' * row.is_sparse}\n{line}",
        letters=_BESIDE_LABELS,
    )
    # Entries of the legend may need two lines on a narrow page.
    place_legend(figure, below=78, height=_LEAST_HEIGHT)
    fit_height(figure, _BAR * max(6, n_bars))
    return figure


def _row_labels(row: RowInfluence) -> list[str]:
    """Return each feature's name with the row's value; of many columns, unless it is 0."""
    texts = [value_text(value) for value in row.values]
    names = [literal(name) for name in row.features.names]
    if not row.is_sparse:
        return [f"{name} = {text}" for name, text in zip(names, texts, strict=True)]
    return [
        name if text == "0" else f"{name} = {text}" for name, text in zip(names, texts, strict=True)
    ]


def _bar_labels(row: RowInfluence, labels: Sequence[str]) -> list[str]:
    order = row.features.order
    others = [f"{len(order) - _MOST_BARS:,} others (range)"] * (len(order) > _MOST_BARS)
    return [*(labels[i] for i in order[:_MOST_BARS]), *others]


def _add_bars(figure: Figure, row: RowInfluence, labels: Sequence[str]) -> None:
    shown = row.features
    order = shown.order[:_MOST_BARS]
    rest = shown.order[_MOST_BARS:]
    positions = {index: -place for place, index in enumerate(order)}
    significant = shown.significant
    raises, lowers = row.raised
    for name, sign, color in ((raises, 1, COLORS["up"]), (lowers, -1, COLORS["down"])):
        for out in (True, False):
            chosen = [i for i in order if significant[i] == out and shown.effects[i] * sign > 0]
            if chosen:
                figure.add_bar(
                    x=shown.effects[chosen],
                    y=[positions[i] for i in chosen],
                    orientation="h",
                    width=_BAR_WIDTH,
                    marker={"color": color, "opacity": 1.0 if out else FADED},
                    customdata=[[labels[i], error_text(shown.errors[i])] for i in chosen],
                    hovertemplate="%{customdata[0]}: %{x:+.4g}%{customdata[1]}<extra></extra>",
                    meta="effects",
                    showlegend=False,
                )
        # Legends of our own: bars of one colour may all be faded, and both kinds are to be named.
        add_swatch(figure, name, color, 1.0)
    if not significant[order].all():
        add_swatch(figure, faded_words(len(shown.names)), GREY, FADED)
    known = [i for i in order if np.isfinite(shown.errors[i]) and shown.errors[i] > 0]
    if known:
        figure.add_scatter(
            x=shown.effects[known],
            y=[positions[i] for i in known],
            mode="markers",
            marker={"size": 0.1, "color": COLORS["ink"]},
            error_x={
                "array": ERROR_BARS * shown.errors[known],
                "color": COLORS["ink"],
                "thickness": 1.3,
                "width": 4,
            },
            name=f"95 % of {row.errors_of}",
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            line={"color": COLORS["ink"], "width": 1.3},
            name=f"95 % of {row.errors_of}, for each by itself",
        )
    if rest:
        lowest, highest = float(shown.effects[rest].min()), float(shown.effects[rest].max())
        count = int(significant[rest].sum())
        figure.add_bar(
            x=[max(highest, 0.0) - min(lowest, 0.0)],
            base=[min(lowest, 0.0)],
            y=[-len(order)],
            orientation="h",
            width=_BAR_WIDTH,
            marker={"color": GREY, "opacity": 0.5},
            name="range of the others",
            showlegend=False,
            hovertemplate=f"{len(rest):,} others, between {lowest:+.4g} and {highest:+.4g}; "
            f"{count:,} of them {'stands' if count == 1 else 'stand'} out<extra></extra>",
        )
