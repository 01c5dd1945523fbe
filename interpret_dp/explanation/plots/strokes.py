"""Figures of models of wavelet features: evidence for a class by place, stroke and direction.

Numbers of features are summed in three ways: over all features of a cell of the picture, over the
scales of a direction in a cell, and over the whole picture by direction and scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.maps import (
    CLASS_WORDS,
    NOISE_WORDS,
    ClassReading,
    label_text,
    mean_evidence,
    percent_text,
    row_words,
)
from interpret_dp.explanation.plots.cells import reach_of, signed_cells
from interpret_dp.explanation.plots.images import (
    HOVER,
    add_image,
    as_pictures,
    picture_grid,
    picture_of,
    signed_axis,
)
from interpret_dp.explanation.plots.maps import add_class_menu
from interpret_dp.explanation.plots.parts import (
    COLORS,
    add_heading,
    cut_words,
    dress,
    fit_height,
    literal,
)
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.scattering import CELL, ORIENTATIONS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FloatArray = NDArray[np.float64]

_MOST_PICTURES, _MOST_ROWS = 40, 12
_PANEL, _LETTERS = 300, 90
# Strokes that are drawn, over the longest one, and its length in cells.
_SHORTEST, _LONGEST = 0.2, 1.8
_PANELS = ("where: the sum of each cell", "the strongest strokes of each cell", "by direction")
_RINGS = ("brightness", "coarse strokes", "fine strokes", "changes along fine strokes")
_WHEEL = "Wheel, from the middle: brightness, coarse strokes, fine strokes, changes along fine ones"
_COLORS = "Orange raises the score of the class, blue lowers it"


def evidence_of_classes(model: LocallyLinearModel, line: str) -> Figure:
    """Return the mean evidence for each class by place, all on one scale.

    Of many classes the first forty are drawn.

    Parameters
    ----------
    model : LocallyLinearModel
        Of wavelet features.
    line : str
        The privacy cost; left out if empty.
    """
    shown = range(min(len(model.classes), _MOST_PICTURES))
    pictures = [picture_of(model, values) for values in mean_evidence(model)[: len(shown)]]
    titles = [literal(label_text(model.classes, index)) for index in shown]
    cut = cut_words(" · first {} of {:,} classes", len(shown), len(model.classes))
    words = f"{_evidence_words(model)}{cut}\n{_COLORS}\n{NOISE_WORDS}"
    return picture_grid(pictures, titles, "The evidence of each class", f"{words}\n{line}", "score")


def class_strokes(model: LocallyLinearModel, index: int, against: int | None, line: str) -> Figure:
    """Return the mean evidence of one class, or of it less another: places, strokes, directions.

    Parameters
    ----------
    model : LocallyLinearModel
        Of wavelet features.
    index : int
        Of the class.
    against : int or None
        Of the other class.
    line : str
        The privacy cost; left out if empty.
    """
    evidence = mean_evidence(model)
    values = evidence[index] if against is None else evidence[index] - evidence[against]
    figure = _panels([[{}, {}], [None, {"type": "polar"}]], _PANELS)
    _add_evidence(figure, ((1, 1), (1, 2), (2, 2)), model, values, _longest([values], model))
    title = f"The evidence of {label_text(model.classes, index)}"
    if against is not None:
        title += f", compared with {label_text(model.classes, against)}"
    words = f"{_evidence_words(model)}\n{_COLORS}\n{_WHEEL}\n{NOISE_WORDS}\n{line}"
    return _finished(figure, model, [values], title, words)


def leads_of_rows(
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    images: Sequence[FloatArray],
    line: str,
) -> Figure:
    """Return the evidence of several pictures for one class rather than another, by place.

    The first twelve rows are drawn, on one scale, with the outlines of the pictures.

    Parameters
    ----------
    model : LocallyLinearModel
        Of wavelet features.
    readings : sequence of ClassReading, shape (n_rows,)
        Each against another class.
    images : sequence of ndarray, shape (n_rows,)
        The pictures, each of shape (height, width).
    line : str
        The privacy cost; left out if empty.
    """
    shown = readings[:_MOST_ROWS]
    pictures = [picture_of(model, one.contributions) for one in shown]
    titles = [f"row {row}: {literal(_lead_text(model, one))}" for row, one in enumerate(shown)]
    cut = cut_words(" · first {} of {:,} rows", len(shown), len(readings))
    words = f"The predicted class compared with the actual one, or the second most probable{cut}"
    title = "Evidence for the predicted class, by place"
    words = f"{words}\n{_COLORS}\n{NOISE_WORDS}\n{line}"
    figure = picture_grid(pictures, titles, title, words, "difference")
    n_columns = len(figure._grid_ref[0])
    for row, image in enumerate(images[: len(shown)]):
        _add_outline(figure, (row // n_columns + 1, row % n_columns + 1), image)
    return figure


def stroke_reading(
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    image: FloatArray,
    actual: int | None,
    line: str,
) -> Figure:
    """Return the evidence of one picture for a class, by place, stroke and direction.

    A menu chooses the classes; the first reading is shown.

    Parameters
    ----------
    model : LocallyLinearModel
        Of wavelet features.
    readings : sequence of ClassReading
        Of one row.
    image : ndarray of float, shape (height, width)
    actual : int or None
        The class that came true.
    line : str
        The privacy cost; left out if empty.
    """
    figure = _panels([[{}, {}], [{}, {"type": "polar"}]], ["the image", *_PANELS])
    places = (1, 2), (2, 1), (2, 2)
    add_image(figure, image)
    for place in places[:2]:
        _add_outline(figure, place, image)
    contributions = [one.contributions for one in readings]
    longest = _longest(contributions, model)
    for number, values in enumerate(contributions):
        _add_evidence(figure, places, model, values, longest, visible=number == 0)
    title, words = row_words(model, readings[0], actual)
    compared = CLASS_WORDS if readings[0].against is None else _COLORS
    words = f"{words}\n{compared}\n{_WHEEL}\n{NOISE_WORDS}\n{line}"
    many = len(readings) > 1
    figure = _finished(figure, model, contributions, title, words, with_menu=many)
    if many:
        add_class_menu(figure, model, readings, actual, [{} for _ in readings], n_shared=3)
    return figure


# ----------------------------------------------------------------------------------- their parts


def _panels(specs: list[list[Any]], titles: Sequence[str]) -> Figure:
    from plotly.subplots import make_subplots

    return make_subplots(
        rows=2,
        cols=2,
        specs=specs,
        subplot_titles=titles,
        horizontal_spacing=0.12,
        vertical_spacing=0.08,
    )


def _finished(
    figure: Figure,
    model: LocallyLinearModel,
    drawn: Sequence[FloatArray],
    title: str,
    words: str,
    *,
    with_menu: bool = False,
) -> Figure:
    """Give a figure of evidence its scales, frames and heading."""
    wheels = [_wheel(model, values)[0] for values in drawn]
    pictures = [picture_of(model, values) for values in drawn]
    figure.update_layout(coloraxis=signed_axis(pictures, "a pixel", y=0.78, length=0.44))
    figure.update_layout(coloraxis2=signed_axis(wheels, "a direction", y=0.22, length=0.44))
    dress(figure, height=400, margin={"l": 8, "r": 90, "b": 20})
    as_pictures(figure)
    height, width = pictures[0].shape
    figure.update_xaxes(range=[-0.5, width - 0.5])
    figure.update_yaxes(range=[height - 0.5, -0.5], autorange=False)
    low, high = figure.layout.polar.domain.y
    figure.update_polars(
        # Room for the labels of directions, below the panel's title and above the figure's end.
        domain_y=[low + 0.06 * (high - low), high - 0.12 * (high - low)],
        bgcolor="rgba(0,0,0,0)",
        radialaxis={"visible": False, "range": [0, 4]},
        angularaxis={
            "tickvals": list(range(0, 360, 45)),
            "ticktext": ["0°", "45°", "90°", "135°"] * 2,
            "showline": False,
            "gridcolor": "rgba(0,0,0,0)",
        },
    )
    figure.update_annotations(font_size=12.5)
    add_heading(figure, title, words, with_menu=with_menu, letters=_LETTERS, over_panels=True)
    fit_height(figure, 2 * _PANEL)
    return figure


def _add_evidence(
    figure: Figure,
    places: Sequence[tuple[int, int]],
    model: LocallyLinearModel,
    values: FloatArray,
    longest: float,
    *,
    visible: bool = True,
) -> None:
    """Add what features sum up to: cells, strokes for and against, and the wheel."""
    where, strokes, wheel = places
    cells = signed_cells(picture_of(model, values), coloraxis="coloraxis", hovertemplate=HOVER)
    figure.add_trace(cells.update(visible=visible), *where)
    for sign, color in ((1, COLORS["up"]), (-1, COLORS["down"])):
        x, y = _segments(model, sign * values, longest)
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": color, "width": 3},
            hoverinfo="skip",
            visible=visible,
            row=strokes[0],
            col=strokes[1],
        )
    sums, texts = _wheel(model, values)
    rings = np.repeat(np.arange(4.0), [1, *[2 * ORIENTATIONS] * 3])
    turns = np.tile(np.arange(2 * ORIENTATIONS) * 180 / ORIENTATIONS, 3)
    figure.add_barpolar(
        base=rings,
        r=np.ones(len(rings)),
        theta=[0.0, *turns],
        width=[360.0, *[180 / ORIENTATIONS] * len(turns)],
        marker={"color": sums, "coloraxis": "coloraxis2", "line": {"color": "#ffffff", "width": 1}},
        customdata=texts,
        hovertemplate="%{customdata}<extra></extra>",
        visible=visible,
        row=wheel[0],
        col=wheel[1],
    )


def _directions(model: LocallyLinearModel, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    if model.scattering is None:
        raise ValueError("The model's inputs are no wavelet features; they have no strokes.")
    return model.scattering.by_stroke(values)


def _wheel(model: LocallyLinearModel, values: FloatArray) -> tuple[FloatArray, list[str]]:
    """Return the numbers of the fields of the wheel, ring by ring, and their texts."""
    brightness, strokes = _directions(model, values)
    fine, coarse, varying = strokes.sum(axis=(2, 3))
    sums = [float(brightness.sum())]
    texts = [f"{_RINGS[0]}: {sums[0]:+.3g}"]
    for ring, of_ring in zip(_RINGS[1:], (coarse, fine, varying), strict=True):
        # A stroke points both ways.
        for turn in [*range(ORIENTATIONS)] * 2:
            sums.append(float(of_ring[turn]))
            texts.append(f"{ring}, {180 * turn / ORIENTATIONS:g}°: {of_ring[turn]:+.3g}")
    return np.array(sums), texts


def _longest(drawn: Sequence[FloatArray], model: LocallyLinearModel) -> float:
    return max(reach_of(_directions(model, values)[1].sum(axis=0)) for values in drawn)


def _segments(
    model: LocallyLinearModel, values: FloatArray, longest: float
) -> tuple[list[float | None], list[float | None]]:
    """Return the strokes whose sums over scales are positive, as lines through their cells."""
    x: list[float | None] = []
    y: list[float | None] = []
    sums = _directions(model, values)[1].sum(axis=0)
    # One in each cell, so that they do not hide one another.
    sums[sums < sums.max(axis=0)] = 0.0
    for turn, line, column in np.argwhere(sums > _SHORTEST * longest):
        half = 0.5 * CELL * _LONGEST * sums[turn, line, column] / longest
        angle = math.pi * turn / ORIENTATIONS
        right, up = half * math.cos(angle), half * math.sin(angle)
        middle = CELL * np.array([column, line]) + (CELL - 1) / 2
        x += [middle[0] - right, middle[0] + right, None]
        y += [middle[1] + up, middle[1] - up, None]
    return x, y


def _add_outline(figure: Figure, place: tuple[int, int], image: FloatArray) -> None:
    """Add the outline of a picture, half-way between its darkest and its brightest pixel."""
    known = image[np.isfinite(image)]
    if not known.size or known.min() == known.max():
        known = np.array([0.0, 1.0])
    middle = float(known.min() + known.max()) / 2
    figure.add_contour(
        z=image.astype(np.float32),
        contours={"start": middle, "end": middle, "size": 1, "coloring": "none"},
        line={"color": COLORS["ink"], "width": 1.5},
        showscale=False,
        hoverinfo="skip",
        row=place[0],
        col=place[1],
    )


def _evidence_words(model: LocallyLinearModel) -> str:
    usual = "usual size" if model.means is None else "released mean"
    return f"What the wavelet features add to the score at their {usual}"


def _lead_text(model: LocallyLinearModel, one: ClassReading) -> str:
    other = "" if one.against is None else f", not {label_text(model.classes, one.against)}"
    label = label_text(model.classes, one.index)
    return f"{label}{other} ({percent_text(one.probability)})"
