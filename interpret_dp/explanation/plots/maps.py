"""The maps of a model of tables as signed bars: those of a class, and what one row adds up to.

Weights are those of standardised inputs, so that the bars of different columns can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.maps import (
    CLASS_WORDS,
    NOISE_WORDS,
    TOP_MAPS,
    ClassReading,
    MapUse,
    label_text,
    percent_text,
    row_words,
    use_words,
)
from interpret_dp.explanation.plots.bars import RowBar, add_row_bars, bar_ticks, signed_color
from interpret_dp.explanation.plots.heat import COLORS_SAY
from interpret_dp.explanation.plots.parts import (
    COLORS,
    PANEL_TITLE,
    add_heading,
    buttons,
    cut_words,
    dress,
    fit_height,
    literal,
    place_legend,
    short_labels,
    value_text,
)
from interpret_dp.released.locally_linear import LocallyLinearModel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FloatArray = NDArray[np.float64]

_MOST_BARS, _MOST_MAPS, _MAPS_IN_ROW = 15, 12, 4
_BAR, _LEAST_PANEL = 23, 130  # pixels of one bar, and of the least panel
_LONGEST_LABEL, _LETTERS = 30, 84
_MARKS = ("circle", "diamond", "square")
_OTHERS, _BIAS = "others (sum)", "bias"


def class_maps(model: LocallyLinearModel, index: int, use: MapUse | None, line: str) -> Figure:
    """Return the maps of one class as signed bars, panel by panel, over the same ranked inputs.

    Of many maps the twelve most often on top (without rows to count on, the largest) are drawn,
    of many inputs the fifteen strongest.

    Parameters
    ----------
    model : LocallyLinearModel
    index : int
        Of the class.
    use : MapUse or None
    line : str
        The privacy cost; left out if empty.
    """
    from plotly.subplots import make_subplots

    weights = model.weights[index]
    maps, titles, order = ranked_maps(model, index, use, _MOST_MAPS)
    strongest = np.argsort(-np.abs(weights).mean(axis=0), kind="stable")[:_MOST_BARS]
    n_columns = min(_MAPS_IN_ROW, len(maps))
    n_lines = math.ceil(len(maps) / n_columns)
    panel = max(_LEAST_PANEL, _BAR * len(strongest))
    figure = make_subplots(
        rows=n_lines,
        cols=n_columns,
        subplot_titles=titles,
        shared_yaxes=True,
        horizontal_spacing=0.02,
        vertical_spacing=60 / (n_lines * (panel + 60)) if n_lines > 1 else 0.0,
    )
    names = [literal(model.input_names[i]) for i in strongest]
    ticks = bar_ticks(short_labels(names, _LONGEST_LABEL))
    reach = 1.08 * (float(np.abs(weights[maps][:, strongest]).max(initial=0.0)) or 1.0)
    for number, m in enumerate(maps):
        figure.add_bar(
            x=weights[m, strongest],
            y=ticks["tickvals"],
            orientation="h",
            marker_color=[signed_color(weight) for weight in weights[m, strongest]],
            customdata=names,
            hovertemplate=f"%{{customdata}}: %{{x:+.4g}}<extra>map {m}</extra>",
            meta="weights",
            row=number // n_columns + 1,
            col=number % n_columns + 1,
        )
    dress(figure, height=400, margin={"l": 10, "r": 14, "b": 52})
    figure.update_xaxes(
        range=[-reach, reach], nticks=4, zeroline=True, zerolinecolor=COLORS["line"]
    )
    texts = ticks.pop("ticktext")
    figure.update_yaxes(showgrid=False, **ticks)
    figure.update_yaxes(col=1, automargin=True, ticktext=texts)
    figure.update_xaxes(row=n_lines, title="weight", title_font_size=11.5)
    figure.update_annotations(font_size=12)
    words = f"Weights of standardised inputs, {order}"
    words += cut_words(" · {} of {:,} maps", len(maps), model.n_maps)
    words += cut_words(" · {} strongest of {:,} inputs", len(strongest), model.n_inputs)
    words = f"{words}\n{use_words(use)}".rstrip("\n")
    add_heading(
        figure,
        f"The maps of {label_text(model.classes, index)}",
        f"{words}\n{COLORS_SAY}\n{NOISE_WORDS}\n{line}",
        letters=_LETTERS,
        over_panels=True,
    )
    fit_height(figure, n_lines * (panel + 60) - 60)
    return figure


def table_reading(
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    inputs: FloatArray,
    values: Sequence[Any],
    actual: int | None,
    line: str,
) -> Figure:
    """Return contributions that add up to a class's score, beside the weighted and the top maps.

    A menu chooses the class; the first reading is shown.

    Parameters
    ----------
    model : LocallyLinearModel
    readings : sequence of ClassReading
        Of one row: the predicted class first.
    inputs : ndarray of float, shape (n_inputs,)
        The row, standardised.
    values : sequence, shape (n_features,)
        Its cells.
    actual : int or None
        The class that came true.
    line : str
        The privacy cost; left out if empty.
    """
    from plotly.subplots import make_subplots

    names = [
        f"{literal(name)} = {value_text(value)}"
        for name, value in zip(model.feature_names, values, strict=True)
    ]
    figure = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        column_widths=[0.55, 0.45],
        horizontal_spacing=0.03,
        subplot_titles=["contributions: they add up to the score", "weights at this row"],
    )
    sides = [_RowBars.of(model, one, inputs, names) for one in readings]
    for number, side in enumerate(sides):
        _add_row_bars(figure, side, visible=number == 0)
    n_bars = max(len(side.labels) for side in sides)
    ticks = [bar_ticks(short_labels(side.labels, _LONGEST_LABEL), n_bars) for side in sides]
    dress(figure, height=400, margin={"l": 10, "r": 14, "b": 50})
    figure.update_layout(showlegend=True, barmode="overlay")
    figure.update_annotations(font_size=12.5)
    figure.update_xaxes(zeroline=True, zerolinecolor=COLORS["line"], nticks=6)
    figure.update_xaxes(title="added to the score", title_font_size=11.5, col=1)
    figure.update_xaxes(title="weight of the standardised input", title_font_size=11.5, col=2)
    figure.update_yaxes(showgrid=False, **ticks[0])
    figure.update_yaxes(automargin=True, col=1)
    title, words = row_words(model, readings[0], actual)
    many = len(readings) > 1
    lines = f"{words}\n{CLASS_WORDS}\n{NOISE_WORDS}\n{line}"
    add_heading(figure, title, lines, with_menu=many, letters=_LETTERS, over_panels=True)
    place_legend(figure, below=70, height=400)
    fit_height(figure, max(_LEAST_PANEL, _BAR * (n_bars + 1)))
    if many:
        changes = [{f"yaxis.{part}": value for part, value in own.items()} for own in ticks]
        add_class_menu(figure, model, readings, actual, changes)
    return figure


@dataclass(frozen=True)
class _RowBars:
    """Bars and marks of one class at one row, line by line from the top.

    ``weights`` and each of ``tops`` have NaN in the lines of the others and of the bias.
    """

    labels: list[str]
    contributions: FloatArray
    weights: FloatArray
    tops: list[tuple[str, FloatArray]]

    @classmethod
    def of(
        cls, model: LocallyLinearModel, one: ClassReading, inputs: FloatArray, names: Sequence[str]
    ) -> _RowBars:
        added = model.per_feature(one.contributions)
        order = [int(i) for i in np.argsort(-np.abs(added), kind="stable")]
        drawn, rest = order[:_MOST_BARS], order[_MOST_BARS:]
        # A level's weight counts where the row has it; a number's always.
        counted = np.repeat(np.array(model.feature_types) == "continuous", model.widths) | (
            np.asarray(inputs) != 0
        )
        others = [f"{len(rest):,} {_OTHERS}"] if rest else []
        blank = np.full(len(others) + 1, np.nan)

        def at_row(weights: FloatArray) -> FloatArray:
            return np.concatenate([model.per_feature(weights * counted)[drawn], blank])

        tail = [float(added[rest].sum())] * bool(rest) + [one.bias]
        return cls(
            [*(names[i] for i in drawn), *others, _BIAS],
            np.concatenate([added[drawn], tail]),
            at_row(one.weighted_map),
            [
                (
                    f"map {m}: counts {percent_text(one.shares[m])}",
                    at_row(model.weights[one.index, m]),
                )
                for m in one.top
            ],
        )


def _add_row_bars(figure: Figure, side: _RowBars, *, visible: bool) -> None:
    """Add one class's bars and marks: 2 + 3 traces, whatever the number of maps."""
    bars = [
        RowBar(float(added), f"{label}: {added:+.4g}", signed_color(added))
        for label, added in zip(side.labels, side.contributions, strict=True)
    ]
    add_row_bars(figure, bars, visible=visible, row=1, col=1)
    places = [-place for place in range(len(side.labels))]
    common: dict[str, Any] = {"y": places, "customdata": side.labels, "visible": visible, "row": 1}
    figure.add_bar(
        x=side.weights,
        orientation="h",
        marker={"color": COLORS["weak"], "opacity": 0.55},
        name="the weighted map",
        hovertemplate="%{customdata}: %{x:+.4g}<extra>the weighted map</extra>",
        meta="weights",
        col=2,
        **common,
    )
    for rank, (name, weights) in enumerate(side.tops[:TOP_MAPS]):
        figure.add_scatter(
            x=weights,
            mode="markers",
            name=name,
            marker={
                "symbol": f"{_MARKS[rank]}-open",
                "size": 9 - rank,
                "color": COLORS["ink"],
                "line": {"width": 1.6},
            },
            hovertemplate=f"%{{customdata}}: %{{x:+.4g}}<extra>{name}</extra>",
            col=2,
            **common,
        )


# --------------------------------------------------------------- shared with pictures of maps


def ranked_maps(
    model: LocallyLinearModel, index: int, use: MapUse | None, most: int
) -> tuple[list[int], list[str], str]:
    """Return the maps of a class to draw, their titles, and their order in words.

    Those most often on top come first; without rows to count on, those of the largest weights.
    """
    rank = np.linalg.norm(model.weights[index], axis=1) if use is None else use.shares[index]
    maps = [int(m) for m in np.argsort(-rank, kind="stable")][:most]
    if use is None:
        return maps, [f"map {m}" for m in maps], "largest weights first"
    titles = [f"map {m}: {percent_text(use.shares[index, m])}" for m in maps]
    return maps, titles, "most often on top first"


def add_class_menu(
    figure: Figure,
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    actual: int | None,
    changes: Sequence[Mapping[str, Any]],
    n_shared: int = 0,
) -> None:
    """Add a menu that shows another class's traces, with its words in the heading.

    Parameters
    ----------
    figure : Figure
        Its last annotation is the heading. The first class is shown.
    model : LocallyLinearModel
    readings : sequence of ClassReading, shape (n_choices,)
        Each with as many traces, one after the other.
    actual : int or None
        The class that came true.
    changes : sequence of mapping, shape (n_choices,)
        Further changes of the layout with each choice.
    n_shared : int
        Traces in front that are always shown.
    """
    number, n_traces = len(figure.layout.annotations) - 1, len(figure.data)
    n_lines = row_words(model, readings[0], actual)[1].count("\n") + 1
    below = figure.layout.annotations[number].text.split("<br>")[n_lines:]
    per_class = (n_traces - n_shared) // len(readings)
    entries = []
    for place, (one, change) in enumerate(zip(readings, changes, strict=True)):
        title, words = row_words(model, one, actual)
        heading = {
            "title.text": literal(title),
            f"annotations[{number}].text": "<br>".join([*literal(words).split("\n"), *below]),
        }
        visible = [
            trace < n_shared or (trace - n_shared) // per_class == place
            for trace in range(n_traces)
        ]
        label = f"class {literal(label_text(model.classes, one.index))}"
        if one.against is not None:
            label += f" compared with {literal(label_text(model.classes, one.against))}"
        else:
            label += f": {percent_text(one.probability)}"
        entries.append((label, "update", [{"visible": visible}, {**heading, **change}]))
    menu = buttons(entries, type="dropdown", direction="down", x=0, xanchor="left")
    menu["pad"]["b"] += PANEL_TITLE
    figure.update_layout(updatemenus=[menu])
