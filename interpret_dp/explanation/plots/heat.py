"""Heat maps: a pair of features, and what every feature does at many rows or in many classes.

Colours are about zero. Cells of a pair are drawn equally wide, whatever range they stand for, and
the missing values of a feature only where rows have them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.influence import (
    FADED,
    RowInfluence,
    error_text,
    faded_words,
)
from interpret_dp.explanation.maps import NOISE_WORDS, ClassReading, label_text
from interpret_dp.explanation.plots.axes import OCCUPIED, bin_texts
from interpret_dp.explanation.plots.parts import (
    COLORS,
    LONGEST_LINE,
    SIGNED_SCALE,
    TOO_FEW_ROWS,
    add_heading,
    add_swatch,
    blank_figure,
    buttons,
    cut_words,
    fit_height,
    label_angle,
    literal,
    number_text,
    place_legend,
    row_noun,
    score_text,
    score_unit,
    short_labels,
    shown_scores,
    value_text,
    wrapped,
)
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm, FeaturePair
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.summary import term_sentence
from interpret_dp.schema.declarations import Continuous

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


# Cells of heat maps, in colours about zero.

FloatArray = NDArray[np.float64]

MOST_COLUMNS = 25
"""Columns of which each finds room for its label, and its cells for a sign."""

_SIGN_SIZE = 14


def reach_of(values: FloatArray) -> float:
    """Return the largest size of numbers, at which a signed scale ends; 1 where all are zero."""
    known = values[np.isfinite(values)]
    return float(np.abs(known).max(initial=0.0)) or 1.0


def signed_cells(
    z: Any, reach: float | None = None, *, has_signs: bool = False, **options: Any
) -> Any:
    """Return a trace of cells in colours about zero.

    Parameters
    ----------
    z : array of float, shape (n_lines, n_columns)
    reach : float, default=None
        Value at the ends of the colours; by default the largest.
    has_signs : bool
        Write the signs into the cells, so that they are not to be seen by colour alone; where there
        are few enough cells.
    **options
        As plotly's heat map has them; with ``coloraxis`` the scale is that of the figure.
    """
    import plotly.graph_objects as go

    values = np.nan_to_num(np.asarray(z, dtype=np.float64))
    if has_signs and values.shape[-1] <= MOST_COLUMNS:
        signs = np.array(["", "+", "\N{MINUS SIGN}"])[np.sign(values).astype(int)]
        options |= {"text": signs.tolist(), "texttemplate": "%{text}", "textfont_size": _SIGN_SIZE}
    cells = go.Heatmap(z=z, **options)
    if "coloraxis" not in options:
        reach = reach_of(np.asarray(z)) if reach is None else reach
        cells.update(zmin=-reach, zmax=reach, colorscale=SIGNED_SCALE)
    return cells


def veil(noise: NDArray[np.bool_]) -> Any:
    """Return a trace that fades the cells that noise alone could give."""
    import plotly.graph_objects as go

    return go.Heatmap(
        z=np.where(noise, 1.0, np.nan),
        zmin=0.0,
        zmax=1.0,
        colorscale=[[0.0, COLORS["veil"]], [1.0, COLORS["veil"]]],
        showscale=False,
        hoverinfo="skip",
        name="could be noise",
        meta="within noise",
    )


_QUANTILE_95 = 1.96
_MOST_ROWS, _MOST_FEATURES, _MOST_CLASSES = 200, 30, 60
_LINE, _LEAST_HEIGHT = 23, 360  # pixels of a feature's line, and of a figure
_LETTERS = 84

COLORS_SAY = "Orange raises the class's score as the input grows, blue lowers it"
"""Meaning of the colours of weights."""


# ------------------------------------------------------------------------- one pair of features


@dataclass(frozen=True, eq=False)
class _PairAxis:
    """The drawn bins of one feature of a pair, side by side and equally wide.

    Attributes
    ----------
    name : str
        As plotly shows it literally.
    codes : tuple of int
        Drawn bins, from left to right or from below.
    tick_positions : tuple of float
        Bin k stands between k - 0.5 and k + 0.5.
    tick_labels : tuple of str
    """

    name: str
    codes: tuple[int, ...]
    tick_positions: tuple[float, ...]
    tick_labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CellPlaces:
    """The drawn cells of a heat map; bin k of an axis stands between k - 0.5 and k + 0.5.

    Attributes
    ----------
    pair : FeaturePair
    across, up : _PairAxis
        Bins of each feature; missing and undeclared ones where rows have them.
    cells : ndarray of int64, shape (n_up, n_across)
        Index of each drawn cell into the term's scores.
    """

    pair: FeaturePair
    across: _PairAxis
    up: _PairAxis
    cells: NDArray[np.int64]

    #: No cell is part of a curve.
    n_steps = 0

    @classmethod
    def of(cls, model: AdditiveModel, term: AdditiveTerm) -> CellPlaces:
        """Return where a pair's cells stand."""
        pair = model.subject(term)
        if not isinstance(pair, FeaturePair):
            raise ValueError(f"{pair.name!r} is no pair of features; it has a curve.")
        weights = term.weights.reshape(pair.shape)
        noise = OCCUPIED * model.noise_scale_binning
        across = _axis(pair.first, weights.sum(axis=1), noise * pair.second.n_codes**0.5)
        up = _axis(pair.second, weights.sum(axis=0), noise * pair.first.n_codes**0.5)
        cells = np.arange(pair.n_codes).reshape(pair.shape)[np.ix_(across.codes, up.codes)].T
        return cls(pair, across, up, cells)

    @property
    def codes(self) -> tuple[int, ...]:
        """The drawn cells."""
        return tuple(int(cell) for cell in self.cells.ravel())

    @property
    def every(self) -> list[int]:
        """The drawn cells."""
        return list(self.codes)

    def whole(self) -> list[int]:
        """Return every drawn cell that has a place among the others."""
        return sorted(set(self.pair.regular).intersection(self.codes))

    def within(self, ranges: Mapping[str, Sequence[float]]) -> list[int]:
        """Return the cells that a rectangle touches, given by plotly's ``range``."""
        sides = []
        for axis, count in (("y", self.cells.shape[0]), ("x", self.cells.shape[1])):
            low, high = sorted(ranges.get(axis) or (-np.inf, np.inf))
            places = np.arange(count)
            sides.append(places[(places - 0.5 < high) & (places + 0.5 > low)])
        return sorted(int(cell) for cell in self.cells[np.ix_(*sides)].ravel())

    def reaching(self, chosen: Collection[int], code: int) -> list[int]:
        """Return the chosen cells and another."""
        return sorted({*chosen, code})


def _axis(feature: AdditiveFeature, totals: FloatArray, threshold: float) -> _PairAxis:
    last = feature.n_codes - 1
    inner = list(range(1, last))
    special = [code for code in (0, last) if totals[code] > threshold]
    texts = bin_texts(feature)
    if isinstance(feature.spec, Continuous) and feature.integers is None:
        # At the borders between bins, where a value changes its cell.
        spec = feature.spec
        borders = [spec.lower, *np.asarray(feature.cuts).tolist(), spec.upper]
        ticks = [(place - 0.5, number_text(border)) for place, border in enumerate(borders)]
    else:
        names = short_labels([literal(texts[code]) for code in inner])
        ticks = [(float(place), name) for place, name in enumerate(names)]
    ticks += [(float(len(inner) + k), texts[code]) for k, code in enumerate(special)]
    positions, labels = zip(*ticks, strict=True)
    return _PairAxis(literal(feature.name), (*inner, *special), positions, labels)


def _cell_texts(pair: FeaturePair) -> list[str]:
    """Return what each cell holds, such as "age 40 to 60, bmi 20 to 25", shape (n_codes,)."""
    firsts, seconds = (
        [f"{feature.name} {text}" for text in bin_texts(feature)]
        for feature in (pair.first, pair.second)
    )
    return [f"{first}, {second}" for first in firsts for second in seconds]


def heat_figure(
    model: AdditiveModel,
    term: AdditiveTerm,
    *,
    selected: Sequence[int] = (),
    reach: float | None = None,
    column: int | None = None,
) -> Figure:
    """Return the heat map of a pair.

    Parameters
    ----------
    model : AdditiveModel
    term : AdditiveTerm
        One of its pairs, or an edited version of one.
    selected : sequence of int
        Cells to be framed.
    reach : float, default=None
        Score at the ends of the colour scale; by default the largest of the term.
    column : int, default=None
        Which of several classes is drawn; by default all, with a button for each.

    Returns
    -------
    Figure
        With the first feature across. Under the pointer are each cell's effect, the 95 % range of
        the added noise and the noisy count of rows; cells whose effect noise alone could give are
        pale.
    """
    places = CellPlaces.of(model, term)
    reach = reach_of(term.scores) if reach is None else reach
    figure = _blank_map(places.across, places.up)
    shown = range(term.scores[0].size) if column is None else (column,)
    cells, texts = places.cells, _cell_texts(places.pair)
    bar = {"title": {"text": wrapped(score_unit(model)), "side": "right"}, "thickness": 14}
    hover = (
        "%{customdata[0]}<br>%{customdata[1]}<br>about %{customdata[2]} "
        f"{literal(row_noun(model))} (noisy count)<extra></extra>"
    )
    for number in shown:
        own = term.of_class(number)
        scores = own.scores[cells]
        style = {"visible": number == shown[0], "legendgroup": str(number)}
        rows = _hover_rows(texts, own, cells)
        style_of_cells = {"customdata": rows, "hovertemplate": hover, "meta": "released", **style}
        figure.add_trace(
            signed_cells(scores.tolist(), reach, has_signs=True, colorbar=bar, **style_of_cells)
        )
        if own.noise_deviations is not None:
            # Zero where no noise was added.
            within = np.abs(scores) < _QUANTILE_95 * own.noise_deviations[cells]
            if within.any():
                figure.add_trace(veil(within).update(style))
    if len(shown) > 1:
        groups = [trace.legendgroup for trace in figure.data]
        every = list(range(len(groups)))
        entries = [
            (literal(str(label)), "restyle", [{"visible": [g == str(k) for g in groups]}, every])
            for k, label in enumerate(model.classes or ())
        ]
        menu = buttons(entries, type="dropdown", direction="down", x=0, xanchor="left")
        figure.update_layout(updatemenus=[menu], margin_t=40)
    figure.update_layout(meta={"alternative": term_sentence(model, term)})
    return figure.update_layout(shapes=_frames(places.cells, selected))


def _hover_rows(texts: Sequence[str], term: AdditiveTerm, cells: NDArray[np.int64]) -> list[Any]:
    deviations = term.standard_deviations
    lacks_rows = term.too_few_rows
    rows = []
    for line in cells.tolist():
        entries = []
        for cell in line:
            effect = score_text(term.scores[cell], "+.4g")
            before = term.as_released.scores[cell]
            if before != term.scores[cell]:
                effect += f", released {score_text(before, '+.4g')}"
            if lacks_rows[cell]:
                effect += f", {TOO_FEW_ROWS}"
            elif deviations is not None and deviations[cell] > 0:
                half = _QUANTILE_95 * deviations[cell]
                pale = abs(term.scores[cell]) < half
                effect += f" ± {half:.3g}" + (": within the noise" if pale else "")
            entries.append((literal(texts[cell]), effect, f"{term.weights[cell]:,.0f}"))
        rows.append(entries)
    return rows


def _frames(cells: NDArray[np.int64], selected: Sequence[int]) -> list[dict[str, Any]]:
    line = {"color": COLORS["preview"], "width": 2}
    places = np.argwhere(np.isin(cells, list(selected)))
    return [
        {"type": "rect", "x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y + 0.5, "line": line}
        for y, x in places.tolist()
    ]


def _blank_map(across: _PairAxis, up: _PairAxis) -> Figure:
    angle, depth = label_angle(across.tick_labels, sum(map(len, across.tick_labels)))
    margin = {"l": 70, "r": 14, "t": 8, "b": 52 + depth}
    figure = blank_figure(height=360 + depth, margin=margin)
    figure.update_xaxes(
        title={"text": wrapped(across.name, 2 * LONGEST_LINE), "standoff": 8},
        tickvals=across.tick_positions,
        ticktext=across.tick_labels,
        tickangle=angle,
        ticklabelstandoff=4,
        range=[-0.5, len(across.codes) - 0.5],
        showgrid=False,
        automargin=True,
    )
    figure.update_yaxes(
        title={"text": wrapped(up.name), "standoff": 8},
        tickvals=up.tick_positions,
        ticktext=up.tick_labels,
        range=[-0.5, len(up.codes) - 0.5],
        showgrid=False,
        automargin=True,
    )
    return figure.update_layout(plot_bgcolor=COLORS["grid"])


# ------------------------------------------------- features by rows, and by classes of a model


def contributions_figure(rows: Sequence[Mapping[str, Any]], line: str) -> Figure:
    """Return the contribution of every term to the prediction of every explained row.

    Parameters
    ----------
    rows : sequence of mapping, shape (n_rows,)
        ``names`` and ``scores`` of the terms of each row, as interpret's local explanation holds
        them; with several classes, the contributions to the predicted one are drawn. The first
        200 rows are drawn.
    line : str
        The privacy cost; left out if empty.
    """
    shown = rows[:_MOST_ROWS]
    scores = np.array([shown_scores(row) for row in shown], dtype=np.float64)
    names = [literal(str(name)) for name in shown[0]["names"]] if shown else []
    cut = cut_words(" (first {} of {} rows)", len(shown), len(rows))
    figure = _features_figure(
        scores.reshape(len(shown), len(names)).T,
        names,
        [f"row {index}" for index in range(len(shown))],
        title=f"What each term adds to the predictions{cut}",
        words=line,
        axis="explained row",
        scale="score",
        letters=100,
    )
    return figure.update_layout(height=max(420, figure.layout.height))


def influences_figure(rows: Sequence[RowInfluence], line: str) -> Figure:
    """Return the effects of all features at all explained rows, with their noise.

    The first 200 rows, and of many features the 30 that do most, are drawn.

    Parameters
    ----------
    rows : sequence of RowInfluence, shape (n_rows,)
        At least one; all of the same features.
    line : str
        The privacy cost; left out if empty.
    """
    shown = rows[:_MOST_ROWS]
    effects = np.array([row.features.effects for row in shown])
    strongest = _strongest(effects)
    drawn = np.sort(strongest) if effects.shape[1] <= _MOST_FEATURES else strongest
    names = [literal(shown[0].features.names[i]) for i in drawn]
    z = effects[:, drawn].T
    noise = np.array([~row.features.significant[drawn] for row in shown]).T
    figure = _features_figure(
        z,
        names,
        [str(index) for index in range(len(shown))],
        title="What each feature does",
        words=f"{_outputs_words(shown)}\n{_cuts(rows, len(names))}\n{line}",
        axis="explained row",
        scale="effect",
        texts=[[_cell_text(row, i) for row in shown] for i in drawn],
    )
    if noise.any():
        figure.add_trace(veil(noise))
        add_swatch(figure, faded_words(effects.shape[1]), COLORS["weak"], FADED)
    figure.update_yaxes(range=[len(names) - 0.5, -0.5])
    figure.update_layout(showlegend=True)
    # Entries of the legend may need two lines on a narrow page.
    height = max(_LEAST_HEIGHT, figure.layout.height + 36)
    place_legend(figure, below=72, height=height)
    return figure


def _strongest(values: FloatArray) -> NDArray[np.int64]:
    """Return the columns of largest mean size that a figure has room for."""
    return np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:_MOST_FEATURES]


def _cell_text(row: RowInfluence, index: int) -> str:
    features = row.features
    name, value = literal(features.names[index]), value_text(row.values[index])
    return (
        f"{name} = {value}<br>{features.effects[index]:+.4g}"
        f"{error_text(features.errors[index])} on the {literal(row.output)}"
    )


def _cuts(rows: Sequence[RowInfluence], n_drawn: int) -> str:
    """Say what is not drawn; empty if everything is."""
    cuts = cut_words(", the first {} of {:,} rows", min(len(rows), _MOST_ROWS), len(rows))
    cuts += cut_words(", the {} strongest of {:,} features", n_drawn, len(rows[0].features.names))
    return f"Drawn: {cuts[2:]}" if cuts else ""


def _outputs_words(rows: Sequence[RowInfluence]) -> str:
    outputs = list(dict.fromkeys(row.output for row in rows))
    if len(outputs) == 1:
        predicted = [row.predicted for row in rows]
        low, high = number_text(min(predicted)), number_text(max(predicted))
        return f"Effect on the {outputs[0]}, predicted between {low} and {high}"
    return f"Effect on the output that is explained at each row: one of {len(outputs)}"


def mean_maps(model: LocallyLinearModel, line: str) -> Figure:
    """Return the mean of the maps of every class as a heat map, strongest inputs first.

    Of many inputs the thirty strongest are drawn, of many classes the first sixty.

    Parameters
    ----------
    model : LocallyLinearModel
    line : str
        The privacy cost; left out if empty.
    """
    classes = range(min(len(model.classes), _MOST_CLASSES))
    means = model.weights.mean(axis=1)
    strongest = _strongest(means)
    columns = [literal(label_text(model.classes, index)) for index in classes]
    words = f"The mean of a class's {model.n_maps} maps, by standardised input"
    words += cut_words(" · {} strongest of {:,} inputs", len(strongest), model.n_inputs)
    words += cut_words(" · first {} of {:,} classes", len(classes), len(model.classes))
    names = [literal(model.input_names[i]) for i in strongest]
    return _features_figure(
        means[: len(classes), strongest].T,
        names,
        columns,
        title="What each class looks for",
        words=f"{words}\n{COLORS_SAY}\n{NOISE_WORDS}\n{line}",
        axis="class",
        scale="weight",
    )


def contributions_of_rows(
    model: LocallyLinearModel, readings: Sequence[ClassReading], line: str
) -> Figure:
    """Return what each feature adds to the score of the predicted class at every row.

    The first 200 rows, and of many features the 30 that add most, are drawn.

    Parameters
    ----------
    model : LocallyLinearModel
    readings : sequence of ClassReading, shape (n_rows,)
    line : str
        The privacy cost; left out if empty.
    """
    shown = readings[:_MOST_ROWS]
    values = np.array([model.per_feature(one.contributions) for one in shown])
    strongest = _strongest(values)
    words = "Contribution to the score of each row's predicted class"
    words += cut_words(" · first {} of {:,} rows", len(shown), len(readings))
    words += cut_words(" · {} strongest of {:,} features", len(strongest), values.shape[1])
    columns = [
        f"{row}: {literal(label_text(model.classes, one.index))}" for row, one in enumerate(shown)
    ]
    return _features_figure(
        values[:, strongest].T,
        [literal(model.feature_names[i]) for i in strongest],
        columns,
        title="Evidence for the predicted class",
        words=f"{words}\nOrange raises its score, blue lowers it\n{NOISE_WORDS}\n{line}",
        axis="explained row: predicted class",
        scale="contribution",
    )


def _features_figure(
    z: FloatArray,
    names: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    words: str,
    axis: str,
    scale: str,
    texts: Sequence[Sequence[str]] | None = None,
    letters: int = _LETTERS,
) -> Figure:
    """Return a signed heat map with one line a feature; names, columns and texts are literal."""
    value = "" if texts else ": %{z:+.4g}"
    texts = texts or [[f"{name}<br>{column}" for column in columns] for name in names]
    cells = signed_cells(
        z,
        has_signs=True,
        colorbar={"title": scale, "thickness": 12, "nticks": 5},
        customdata=texts,
        hovertemplate=f"%{{customdata}}{value}<extra></extra>",
        xgap=1,
        ygap=1,
    )
    figure = blank_figure(height=400, margin={"l": 10, "r": 10, "b": 70}).add_trace(cells)
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=short_labels(names, 30),
        range=[len(names) - 0.5, -0.5],
        automargin=True,
        showgrid=False,
    )
    # More labels than these run into one another.
    step = max(1, -(-len(columns) // MOST_COLUMNS))
    figure.update_xaxes(
        tickvals=list(range(0, len(columns), step)),
        ticktext=short_labels(columns[::step], 16),
        title=axis,
        title_font_size=11.5,
        range=[-0.5, len(columns) - 0.5],
        automargin=True,
        showgrid=False,
    )
    add_heading(figure, title, words, letters=letters)
    fit_height(figure, max(220, _LINE * len(names)))
    return figure
