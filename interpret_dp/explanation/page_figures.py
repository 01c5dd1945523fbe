"""Figures of what a model does as a whole, and of what it does with one row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.figure_parts import (
    COLORS,
    TOO_FEW_ROWS,
    dress,
    literal,
    number_text,
    score_unit,
    shortened,
    value_text,
)
from interpret_dp.released import FeaturePair

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, AdditiveTerm

__all__ = [
    "SIGNAL_TO_NOISE",
    "importance_bars",
    "importance_figure",
    "local_figure",
    "outcome_text",
    "shown_scores",
    "term_importance",
]

_MOST_CONTRIBUTIONS = 15
# Pixels above the bars for a column's heading and, above that, plotly's buttons.
_ROOM_FOR_HEAD = 46
# Beyond this a ratio of signal to noise says "clear" and no more.
_LARGEST_RATIO = 1000

SIGNAL_TO_NOISE = (
    "Signal to noise: how large a term is against the noise added to it (root mean squares over "
    "the rows). Below 2, noise alone may explain the term: of terms that are nothing else, fewer "
    "than one in twenty reach 2. The luck of the sample is not counted."
)
"""What the figures beside the importances mean."""


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
    (:attr:`interpret_dp.released.AdditiveTerm.signal_to_noise`).
    """
    measured = [term_importance(term) for term in model.terms]
    figure = importance_bars(
        list(model.term_names),
        [importance for importance, _ in measured],
        [noise for _, noise in measured],
        score_unit(model),
    )
    order = sorted(range(len(measured)), key=lambda index: measured[index][0])
    _add_column(
        figure, "signal to noise", [_ratio_text(model.terms[k].signal_to_noise) for k in order]
    )
    return figure


def _ratio_text(ratio: float | None) -> str:
    """Return a ratio with one digit after the point."""
    if ratio is None:
        return "not known"
    return f"{ratio:.1f}" if ratio < _LARGEST_RATIO else f"{_LARGEST_RATIO} or more"


def _add_column(figure: Figure, heading: str, texts: Sequence[str]) -> None:
    """Write a text to the right of each bar, from below, under a heading."""
    place: dict[str, Any] = {
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": 8,
        "showarrow": False,
        "font": {"size": 11.5},
    }
    column = [
        {"text": text, "yref": "y", "y": position, "yanchor": "middle", **place}
        for position, text in enumerate(texts)
    ]
    head = {"text": heading, "yref": "paper", "y": 1, "yanchor": "bottom", **place}
    # All at once: plotly checks every annotation again for each that is added.
    figure.layout.annotations = (
        *figure.layout.annotations,
        *column,
        head | {"font": {"size": 11}},
    )
    missing = max(_ROOM_FOR_HEAD - figure.layout.margin.t, 0)
    figure.update_layout(
        margin={"r": 100, "t": figure.layout.margin.t + missing},
        height=figure.layout.height + missing,
    )


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
    dress(figure, height=80 + 26 * len(shown), margin={"l": 160, "r": 20, "t": 10, "b": 45})
    figure.update_xaxes(title=f"mean absolute effect ({unit})", rangemode="tozero")
    figure.update_yaxes(tickvals=positions, ticktext=[shortened(n) for n in shown], showgrid=False)
    return figure


def local_figure(model: AdditiveModel, record: Mapping[str, Any]) -> Figure:
    """Return the contributions to one prediction, largest first.

    With several classes they are those to the predicted one.

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
        zip(record["names"], record["values"], shown_scores(record), strict=True),
        key=lambda part: -abs(part[2]),
    )
    cells, lacking = _pair_values(model, record), _terms_without_rows(model, record)
    shown = [
        (f"{literal(str(n))} = {cells.get(n) or value_text(v)}", s, n in lacking)
        for n, v, s in parts[:_MOST_CONTRIBUTIONS]
    ]
    rest = sum(score for _, _, score in parts[_MOST_CONTRIBUTIONS:])
    if len(parts) > _MOST_CONTRIBUTIONS:
        shown.append((f"{len(parts) - _MOST_CONTRIBUTIONS} others", rest, False))
    shown.reverse()
    scores = [score for _, score, _ in shown]
    figure = go.Figure(
        go.Bar(
            x=scores,
            y=list(range(len(shown))),
            orientation="h",
            marker_color=[COLORS["up" if score > 0 else "down"] for score in scores],
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
        ticktext=[shortened(name, 28) for name, _, _ in shown],
        showgrid=False,
    )
    return figure


def _pair_values(model: AdditiveModel, record: Mapping[str, Any]) -> dict[str, str]:
    """Return both values of each pair of features; interpret gives none."""
    values = dict(zip(record["names"], record["values"], strict=True))
    found = {}
    for term in model.terms:
        if term.partner is not None:
            names = [model.features[index].name for index in term.features]
            found[model.subject(term).name] = " & ".join(
                value_text(values[name]) if name in values else "?" for name in names
            )
    return found


def _terms_without_rows(model: AdditiveModel, record: Mapping[str, Any]) -> set[str]:
    """Return the terms whose bin, for this row, has too few rows to be learned."""
    values = dict(zip(record["names"], record["values"], strict=True))
    found = set()
    for term in model.terms:
        lacks_rows, subject = term.too_few_rows, model.subject(term)
        if not isinstance(subject, FeaturePair) and lacks_rows.any():
            value = values.get(subject.name)
            if lacks_rows[subject.code_of(value)]:
                found.add(subject.name)
    return found


def shown_scores(record: Mapping[str, Any]) -> list[float]:
    """Return the terms' scores of a row; with several classes, those of the predicted one."""
    scores = np.asarray(record["scores"], dtype=np.float64)
    return [float(s) for s in (scores if scores.ndim == 1 else scores[:, _predicted(record)])]


def outcome_text(model: AdditiveModel, record: Mapping[str, Any]) -> str:
    """Say what was predicted for a row, and what came true if that is known."""
    total = _total_scores(record)
    actual = float((record["perf"] or {}).get("actual", math.nan))
    if model.classes is None:
        # math.exp raises where a float64 ends.
        mean = math.exp(min(total[0], 700.0)) if model.link == "log" else total[0]
        text, truth = f"Predicted {number_text(mean)}", number_text(actual)
        return text if math.isnan(actual) else f"{text}, actual: {truth}"
    if len(model.classes) == 1:
        predicted, probability = 0, 1.0
    elif len(total) > 1:
        predicted = int(np.argmax(total))
        probability = 1.0 / float(np.exp(total - total[predicted]).sum())
    else:
        predicted = len(model.classes) - 1
        probability = 0.5 * (1.0 + math.tanh(total[0] / 2.0))
    text = f"Probability of {model.classes[predicted]}: {100 * probability:.0f} %"
    return text if math.isnan(actual) else f"{text}, actual: {model.classes[int(actual)]}"


def _total_scores(record: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the sums of all contributions and the intercept, one a class."""
    scores = np.asarray(record["scores"], dtype=np.float64)
    intercept = np.asarray(record["extra"]["scores"], dtype=np.float64).reshape(-1)
    return np.asarray(scores.reshape(len(scores), -1).sum(axis=0) + intercept)


def _predicted(record: Mapping[str, Any]) -> int:
    return int(np.argmax(_total_scores(record)))


def _local_unit(model: AdditiveModel, record: Mapping[str, Any]) -> str:
    if model.classes is None or np.ndim(record["scores"]) == 1:
        return score_unit(model)
    return f"score of {literal(str(model.classes[_predicted(record)]))} (log scale)"
