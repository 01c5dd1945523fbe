"""Bars of one prediction: what each value of a row adds to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from interpret_dp.explanation.influence import of_hundred
from interpret_dp.explanation.plots.bars import BAR_PITCH, MOST_BARS, signed_colors
from interpret_dp.explanation.plots.parts import (
    COLORS,
    LONGEST_LABEL,
    TOO_FEW_ROWS,
    add_heading,
    dress,
    literal,
    number_text,
    percent,
    predicted,
    probabilities,
    score_unit,
    shown_scores,
    total_scores,
    value_labels,
    value_text,
    wrapped,
)
from interpret_dp.released import FeaturePair

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel

_CUT_FROM = 3  # times the largest effect: an intercept's bar beyond it is cut
_SAME_SCORE = 1e-9
_ROOM = 1.08  # at both ends of an axis about zero, times what is drawn
_SECOND_LINE = 10  # pixels more from bar to bar, where labels have two lines


class _Part(NamedTuple):
    """One bar of a prediction; texts are literal.

    Attributes
    ----------
    name : str
    score : float
    value : str or None
        Of the row; None if the bar stands for several terms.
    lacks_rows : bool
    band : (float, float) or None
        Ends of the 95 % noise band; None where it is not known.
    """

    name: str
    score: float
    value: str | None
    lacks_rows: bool = False
    band: tuple[float, float] | None = None


def local_figure(model: AdditiveModel, record: Mapping[str, Any]) -> Figure:
    """Return the contributions to one prediction, largest first.

    With several classes they are those to the predicted one. The intercept is on top; whiskers are
    the 95 % noise bands.

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
    column = predicted(record) if np.ndim(record["scores"]) > 1 else 0
    known = _term_parts(model, record, column)
    start = float(model.intercept[column])
    shown = [_Part("intercept", start, number_text(start))]
    shown += [
        known.get(name) or _Part(literal(str(name)), score, value_text(value))
        for name, value, score in parts[:MOST_BARS]
    ]
    rest = sum(score for _, _, score in parts[MOST_BARS:])
    if len(parts) > MOST_BARS:
        shown.append(_Part(f"{len(parts) - MOST_BARS} others", rest, None))
    shown.reverse()
    scores = [part.score for part in shown]
    figure = go.Figure(
        go.Bar(
            x=scores,
            y=list(range(len(shown))),
            orientation="h",
            marker_color=[*signed_colors(scores[:-1]), COLORS["line"]],
            customdata=_part_texts(model, record, shown, column),
            hovertemplate="%{customdata}<extra></extra>",
            error_x={
                "symmetric": False,
                "array": [part.band and part.band[1] - part.score for part in shown],
                "arrayminus": [part.band and part.score - part.band[0] for part in shown],
                "color": COLORS["ink"],
                "thickness": 1.3,
                "width": 4,
            },
        )
    )
    side = "left" if max(scores) >= -min(scores) else "right"
    for place, part in enumerate(shown):
        if part.lacks_rows:
            figure.add_annotation(
                text=TOO_FEW_ROWS, x=0, y=place, xanchor=side, showarrow=False, font={"size": 11}
            )
    labels = value_labels([part.name for part in shown], [part.value for part in shown])
    pitch = BAR_PITCH + _SECOND_LINE * any("<br>" in label for label in labels)
    dress(figure, height=70 + pitch * len(shown), margin={"l": 10, "r": 14, "t": 6, "b": 40})
    figure.update_xaxes(title=wrapped(_local_unit(model, record), LONGEST_LABEL), automargin=True)
    figure.update_yaxes(
        tickvals=list(range(len(shown))), ticktext=labels, automargin=True, showgrid=False
    )
    _cut_intercept(figure, shown)
    return figure


def _cut_intercept(figure: Figure, shown: Sequence[_Part]) -> None:
    """Cut the bar of an intercept that would leave the others too small to be seen."""
    start = shown[-1].score
    reached = [part.score for part in shown[:-1]]
    reached += [end for part in shown for end in part.band or ()]
    reach = max(map(abs, reached), default=0.0)
    if abs(start) > _CUT_FROM * reach > 0:
        figure.update_xaxes(range=[-_ROOM * reach, _ROOM * reach])
        figure.add_annotation(
            text="the bar is cut",
            x=0,
            y=len(shown) - 1,
            xanchor="left" if start > 0 else "right",
            showarrow=False,
            font={"size": 11, "color": COLORS["ink"]},
        )


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
    height = figure.layout.height
    add_heading(figure, outcome_text(model, record), line)
    # On a narrow page labels leave the title too little room.
    title = {"xref": "container", "pad": {"t": 12, "l": 10}}
    figure.update_layout(height=max(420, height + 70), title=title)
    figure.update_layout(margin={"b": 52})
    figure.add_vline(x=0, line={"color": COLORS["line"], "width": 1})
    return figure


def _term_parts(model: AdditiveModel, record: Mapping[str, Any], column: int) -> dict[str, _Part]:
    """Return the bar of each term by its name, with the ends of its noise band where known."""
    values = dict(zip(record["names"], record["values"], strict=True))
    scores = dict(zip(record["names"], shown_scores(record), strict=True))
    parts = {}
    for term in model.terms:
        subject = model.subject(term)
        features = (
            [subject.first, subject.second] if isinstance(subject, FeaturePair) else [subject]
        )
        code = 0
        for feature in features:
            code = code * feature.n_codes + feature.code_of(values.get(feature.name))
        score, band = scores.get(subject.name, math.nan), None
        if (of_term := term.band()) is not None:
            own = term.scores.reshape(len(term.scores), -1)[code, column]
            low, high = (float(end) for end in of_term.of_class(column).at(code))
            # A value that no bin of the model stands for has no band.
            if low < high and math.isclose(own, score, abs_tol=_SAME_SCORE):
                band = low, high
        # Of a pair interpret gives no values.
        texts = [value_text(values[f.name]) if f.name in values else "?" for f in features]
        lacks_rows = len(features) == 1 and bool(term.too_few_rows[code])
        name = literal(subject.name)
        parts[subject.name] = _Part(name, score, " & ".join(texts), lacks_rows, band)
    return parts


def _part_texts(
    model: AdditiveModel,
    record: Mapping[str, Any],
    shown: Sequence[_Part],
    column: int,
) -> list[str]:
    """Return what stands under the pointer at each bar: score, noise, and what it changes."""
    texts = []
    n_scores = len(model.intercept)
    total = np.reshape(record["scores"], (-1, n_scores)).sum(axis=0) + model.intercept
    for part in shown:
        text = f"{part.name}{f' = {part.value}' * (part.value is not None)}: {part.score:+.4g}"
        if part.band is not None:
            text += f", noise band {part.band[0]:.3g} to {part.band[1]:.3g}"
        without = total.copy()
        without[column] -= part.score
        intercepts = np.stack([total, without]) - model.intercept
        pair = probabilities(model, intercepts if n_scores > 1 else intercepts[:, 0])
        if pair is not None:
            now, before = pair.reshape(2, n_scores)[:, column].tolist()
            text += f"<br>probability {percent(now)}, without it {percent(before)}"
        elif model.link == "log":
            text += f"<br>multiplies the prediction by {math.exp(min(part.score, 700.0)):.3g}"
        texts.append(text)
    return texts


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


def _local_unit(model: AdditiveModel, record: Mapping[str, Any]) -> str:
    if model.classes is None or np.ndim(record["scores"]) == 1:
        return score_unit(model)
    return f"score of {literal(str(model.classes[predicted(record)]))} (log scale)"


def stability_text(record: Mapping[str, Any]) -> str:
    """Say in how many plausible models the decision is the same; "" where that is not known."""
    if "same_decision" not in record:
        return ""
    share = of_hundred(record["same_decision"])
    return f"Without noise the decision would be the same in {share} plausible models."
