"""Bars of one prediction: what each value of a row adds to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from interpret_dp.explanation.influence import of_hundred
from interpret_dp.explanation.plots.bars import (
    BAR_PITCH,
    MOST_BARS,
    RowBar,
    row_bars_figure,
    signed_color,
)
from interpret_dp.explanation.plots.parts import (
    COLORS,
    LONGEST_LABEL,
    TOO_FEW_ROWS,
    add_heading,
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
        Ends of the 95 % band; None where it is not known.
    """

    name: str
    score: float
    value: str | None
    lacks_rows: bool = False
    band: tuple[float, float] | None = None


def local_figure(model: AdditiveModel, record: Mapping[str, Any]) -> Figure:
    """Return the contributions to one prediction, largest first.

    With several classes they are those to the predicted one. The intercept is on top; whiskers are
    the 95 % bands.

    Parameters
    ----------
    model : AdditiveModel
        The model that predicted.
    record : mapping
        ``explanation.data(row)`` of interpret's local explanation. The row is the caller's own:
        nothing protects it.
    """
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
    bars = _part_bars(model, record, shown, column)
    bars[0] = bars[0]._replace(color=COLORS["line"])
    labels = value_labels([part.name for part in shown], [part.value for part in shown])
    figure = row_bars_figure(bars, labels)
    scores = [part.score for part in shown]
    side = "left" if max(scores) >= -min(scores) else "right"
    notes = [(TOO_FEW_ROWS, -place, side) for place, part in enumerate(shown) if part.lacks_rows]
    reached = [end for part in shown[1:] for end in (part.score, *(part.band or ()))]
    reach = max(map(abs, reached), default=0.0)
    if abs(start) > _CUT_FROM * reach > 0:
        # Its whole bar would leave the others too small to be seen.
        figure.update_xaxes(range=[-_ROOM * reach, _ROOM * reach])
        notes.append(("the bar is cut", 0, "left" if start > 0 else "right"))
    for text, y, anchor in notes:
        figure.add_annotation(text=text, x=0, y=y, xanchor=anchor, showarrow=False, font_size=11)
    pitch = BAR_PITCH + _SECOND_LINE * any("<br>" in label for label in labels)
    figure.update_layout(height=70 + pitch * len(shown))
    unit = score_unit(model)
    if model.classes is not None and np.ndim(record["scores"]) > 1:
        unit = f"score of {literal(str(model.classes[column]))} (log scale)"
    figure.update_xaxes(title=wrapped(unit, LONGEST_LABEL))
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
    height = figure.layout.height
    add_heading(figure, outcome_text(model, record), line)
    # On a narrow page labels leave the title too little room.
    title = {"xref": "container", "pad": {"t": 12, "l": 10}}
    figure.update_layout(height=max(420, height + 70), title=title)
    return figure.update_layout(margin={"b": 52})


def _term_parts(model: AdditiveModel, record: Mapping[str, Any], column: int) -> dict[str, _Part]:
    """Return the bar of each term by its name, with the ends of its band where known."""
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
        if (of_term := term.band(sampling=True)) is not None:
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


def _part_bars(
    model: AdditiveModel,
    record: Mapping[str, Any],
    shown: Sequence[_Part],
    column: int,
) -> list[RowBar]:
    """Return the bars; under the pointer is each one's score, noise, and what it changes."""
    bars = []
    n_scores = len(model.intercept)
    total = np.reshape(record["scores"], (-1, n_scores)).sum(axis=0) + model.intercept
    for part in shown:
        text = f"{part.name}{f' = {part.value}' * (part.value is not None)}: {part.score:+.4g}"
        if part.band is not None:
            text += f", band {part.band[0]:.3g} to {part.band[1]:.3g}"
        without = total.copy()
        without[column] -= part.score
        intercepts = np.stack([total, without]) - model.intercept
        pair = probabilities(model, intercepts if n_scores > 1 else intercepts[:, 0])
        if pair is not None:
            now, before = pair.reshape(2, n_scores)[:, column].tolist()
            text += f"<br>probability {percent(now)}, without it {percent(before)}"
        elif model.link == "log":
            text += f"<br>multiplies the prediction by {math.exp(min(part.score, 700.0)):.3g}"
        bars.append(RowBar(part.score, text, signed_color(part.score), band=part.band))
    return bars


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
    if "same_decision" not in record:
        return ""
    share = of_hundred(record["same_decision"])
    return f"Without noise the decision would be the same in {share} plausible models."
