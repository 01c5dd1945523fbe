"""Figures of models of images: their maps, and evidence by place, stroke and direction."""

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
    MapUse,
    label_text,
    mean_evidence,
    percent_text,
    row_words,
    use_words,
)
from interpret_dp.explanation.plots.heat import reach_of, signed_cells
from interpret_dp.explanation.plots.maps import add_class_menu, ranked_maps
from interpret_dp.explanation.plots.parts import (
    COLORS,
    SIGNED_SCALE,
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

_GREY_LEVELS = [[0.0, "#000000"], [1.0, "#ffffff"]]
# Pixels of a row of large pictures, and of a line of small ones.
_READING_PANEL, _SMALL_PANEL = 225, 170
_TITLE_ROOM = 26
_IN_ROW = 5
_MOST_PICTURES, _MOST_ROWS = 40, 12
_LETTERS = 90

HOVER = "row %{y}, column %{x}: %{z:+.3g}<extra></extra>"
"""Text over a pixel."""


def class_pictures(model: LocallyLinearModel, line: str) -> Figure:
    """Return a picture of each class, all on one scale: the mean of its maps, or its evidence.

    Of many classes the first forty are drawn.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images, or of wavelet features: then the mean evidence by place is drawn.
    line : str
        The privacy cost; left out if empty.
    """
    shown = range(min(len(model.classes), _MOST_PICTURES))
    titles = [literal(label_text(model.classes, index)) for index in shown]
    cut = cut_words(" · first {} of {:,} classes", len(shown), len(model.classes))
    if model.scattering is None:
        values, scale, title = model.weights.mean(axis=1), "weight", "The mean filter of each class"
        words = f"The mean of its {model.n_maps} maps{cut}\n{_colors(model)}"
    else:
        values, scale, title = mean_evidence(model), "score", "The evidence of each class"
        words = f"{_evidence_words(model)}{cut}\n{_COLORS}"
    pictures = [picture_of(model, values[index]) for index in shown]
    return picture_grid(pictures, titles, title, f"{words}\n{NOISE_WORDS}\n{line}", scale)


def class_filters(model: LocallyLinearModel, index: int, use: MapUse | None, line: str) -> Figure:
    """Return all maps of one class as pictures: those most often on top first.

    Without rows to count on, the longest first. Of many maps the first forty are drawn.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images.
    index : int
        Of the class.
    use : MapUse or None
    line : str
        The privacy cost; left out if empty.
    """
    order, titles, sorting = ranked_maps(model, index, use, _MOST_PICTURES)
    cut = cut_words(", {} of {:,}", len(order), model.n_maps)
    words = f"{sorting.capitalize()}{cut}\n{use_words(use)}{_colors(model)}\n{NOISE_WORDS}"
    title = f"The maps of {label_text(model.classes, index)}"
    pictures = [picture_of(model, model.weights[index, m]) for m in order]
    return picture_grid(pictures, titles, title, f"{words}\n{line}", "weight")


def row_pictures(
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    images: Sequence[FloatArray],
    line: str,
) -> Figure:
    """Return what several pictures add to the score of the predicted class, by place.

    The first twelve rows are drawn, on one scale; evidence of wavelet features with the outlines of
    the pictures.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images, or of wavelet features.
    readings : sequence of ClassReading, shape (n_rows,)
        Of wavelet features each against another class.
    images : sequence of ndarray, shape (n_rows,)
        The pictures, each of shape (height, width); read of wavelet features alone.
    line : str
        The privacy cost; left out if empty.
    """
    shown = readings[:_MOST_ROWS]
    pictures = [picture_of(model, one.contributions) for one in shown]
    titles = []
    for row, one in enumerate(shown):
        label, share = label_text(model.classes, one.index), percent_text(one.probability)
        if one.against is not None:
            label += f", not {label_text(model.classes, one.against)}"
        text = f"{label}, {share}" if model.scattering is None else f"{label} ({share})"
        titles.append(f"row {row}: {literal(text)}")
    cut = cut_words(" · first {} of {:,} rows", len(shown), len(readings))
    if model.scattering is None:
        scale, title = "contribution", "What each pixel adds to the predicted class"
        words = f"The weighted map times the image, less its background{cut}\n{_colors(model)}"
    else:
        scale, title = "difference", "Evidence for the predicted class, by place"
        words = "The predicted class compared with the actual one, or the second most probable"
        words += f"{cut}\n{_COLORS}"
    figure = picture_grid(pictures, titles, title, f"{words}\n{NOISE_WORDS}\n{line}", scale)
    if model.scattering is not None:
        for row, image in enumerate(images[: len(shown)]):
            _add_outline(figure, _place_in_grid(row, len(shown)), image)
    return figure


def image_reading(
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    inputs: FloatArray,
    actual: int | None,
    line: str,
) -> Figure:
    """Return one image beside its contributions, the weighted map and the top three maps.

    A menu chooses the class; the first reading is shown.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images.
    readings : sequence of ClassReading
        Of one row: the predicted class first.
    inputs : ndarray of float, shape (n_inputs,)
        The row, standardised.
    actual : int or None
        The class that came true.
    line : str
        The privacy cost; left out if empty.
    """
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=2,
        cols=3,
        subplot_titles=["the image", *_panel_titles(readings[0])],
        horizontal_spacing=0.04,
        vertical_spacing=0.09,
    )
    add_image(figure, model.pixels(inputs).mean(axis=2))
    contributions = [picture_of(model, one.contributions) for one in readings]
    maps = [
        [picture_of(model, m) for m in (one.weighted_map, *model.weights[one.index, list(one.top)])]
        for one in readings
    ]
    for number, (added, weights) in enumerate(zip(contributions, maps, strict=True)):
        options: dict[str, Any] = {"hovertemplate": HOVER, "visible": number == 0}
        figure.add_trace(signed_cells(added, coloraxis="coloraxis", **options), 1, 2)
        for place, picture in zip([(1, 3), (2, 1), (2, 2), (2, 3)], weights, strict=False):
            figure.add_trace(signed_cells(picture, coloraxis="coloraxis2", **options), *place)
    _add_scales(
        figure, (contributions, "contribution"), ([m for own in maps for m in own], "weight")
    )
    as_pictures(figure)
    title, words = row_words(model, readings[0], actual)
    words = f"{words}\n{CLASS_WORDS}\n{_colors(model)}\n{NOISE_WORDS}\n{line}"
    # A menu over the figure costs as much room as a row of buttons.
    many = len(readings) > 1
    _add_head(figure, title, words, 2 * _READING_PANEL + _TITLE_ROOM, with_menu=many)
    if many:
        titles = [enumerate(_panel_titles(one), start=1) for one in readings]
        changes = [{f"annotations[{place}].text": text for place, text in own} for own in titles]
        add_class_menu(figure, model, readings, actual, changes, n_shared=1)
    return figure


def _panel_titles(reading: ClassReading) -> list[str]:
    tops = [f"map {m} · counts {percent_text(reading.shares[m])}" for m in reading.top]
    return ["contributions, against background", "the weighted map", *tops]


# ----------------------------------------------------------------------------------- their parts


def _add_scales(figure: Figure, *scales: tuple[Sequence[FloatArray], str]) -> None:
    """Add scales about zero, from above, each for several pictures and with a title."""
    for number, (pictures, title) in enumerate(scales):
        reach = max(map(reach_of, pictures), default=1.0)
        axis = {
            "colorscale": SIGNED_SCALE,
            "cmin": -reach,
            "cmax": reach,
            "colorbar": {
                "title": {"text": title, "font": {"size": 11}},
                "thickness": 12,
                "len": 0.92 / len(scales),
                "y": 1 - (number + 0.5) / len(scales),
                "nticks": 5,
                "tickfont": {"size": 10},
            },
        }
        figure.update_layout({f"coloraxis{number + 1 if number else ''}": axis})


def picture_grid(
    pictures: Sequence[FloatArray], titles: Sequence[str], title: str, words: str, scale: str
) -> Figure:
    """Return pictures in lines of five on one scale about zero."""
    from plotly.subplots import make_subplots

    n_columns = min(_IN_ROW, len(titles))
    n_lines = math.ceil(len(titles) / n_columns)
    height = n_lines * _SMALL_PANEL
    figure = make_subplots(
        rows=n_lines,
        cols=n_columns,
        subplot_titles=list(titles),
        horizontal_spacing=0.02,
        vertical_spacing=_TITLE_ROOM / height if n_lines > 1 else 0.0,
    )
    for number, picture in enumerate(pictures):
        cells = signed_cells(picture, coloraxis="coloraxis", hovertemplate=HOVER)
        figure.add_trace(cells, *_place_in_grid(number, len(titles)))
    _add_scales(figure, (pictures, scale))
    figure.update_coloraxes(colorbar_len=min(1.0, 320 / height))
    as_pictures(figure)
    _add_head(figure, title, words, height)
    return figure


def _add_head(
    figure: Figure, title: str, words: str, inner: int, *, with_menu: bool = False
) -> None:
    """Write the heading, and fit the height to panels of ``inner`` pixels together."""
    add_heading(figure, title, words, with_menu=with_menu, letters=_LETTERS, over_panels=True)
    fit_height(figure, inner)


def _place_in_grid(number: int, n_pictures: int) -> tuple[int, int]:
    """Return the line and the column of a picture, counted from 1."""
    line, column = divmod(number, min(_IN_ROW, n_pictures))
    return line + 1, column + 1


def add_image(figure: Figure, image: FloatArray) -> None:
    """Add an image in grey as the first panel."""
    hover = "row %{y}, column %{x}: %{z:.4g}<extra>the image</extra>"
    figure.add_heatmap(
        z=image.astype(np.float32),
        colorscale=_GREY_LEVELS,
        showscale=False,
        hovertemplate=hover,
        row=1,
        col=1,
    )


def as_pictures(figure: Figure) -> None:
    """Draw pixels as squares, the first line on top, in a frame and without numbers."""
    dress(figure, height=400, margin={"l": 8, "r": 90, "b": 20})
    figure.update_annotations(font_size=12.5)
    frame = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "linecolor": COLORS["grid"],
        "constrain": "domain",
    }
    figure.update_xaxes(**frame)
    figure.update_yaxes(**frame)
    for axis, other in zip(figure.select_yaxes(), figure.select_xaxes(), strict=True):
        name = other.plotly_name.replace("axis", "")
        axis.update(autorange="reversed", scaleanchor=name, constraintoward="top")


def picture_of(model: LocallyLinearModel, values: FloatArray) -> FloatArray:
    """Return numbers of inputs as a picture; channels are added up."""
    # Six digits are more than a colour shows, and halve what a page weighs.
    return np.asarray(model.pixels(values).sum(axis=2), dtype=np.float32)


def _colors(model: LocallyLinearModel) -> str:
    channels = model.pixels(np.zeros(model.n_inputs)).shape[2]
    added = f" · the {channels} channels of a pixel added up" if channels > 1 else ""
    return f"Orange raises the score, blue lowers it; of a map: where the image is bright{added}"


# Figures of models of wavelet features: evidence for a class by place, stroke and direction.
#
# Numbers of features are summed in three ways: over all features of a cell of the picture, over the
# scales of a direction in a cell, and over the whole picture by direction and scale.

_PANEL = 300
# Strokes that are drawn, over the longest one, and its length in cells.
_SHORTEST, _LONGEST = 0.2, 1.8
_PANELS = ("where: the sum of each cell", "the strongest strokes of each cell", "by direction")
_RINGS = ("brightness", "coarse strokes", "fine strokes", "changes along fine strokes")
_WHEEL = "Wheel, from the middle: brightness, coarse strokes, fine strokes, changes along fine ones"
_COLORS = "Orange raises the score of the class, blue lowers it"


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
    title = f"The evidence of {label_text(model.classes, index)}"
    if against is not None:
        title += f", compared with {label_text(model.classes, against)}"
    words = f"{_evidence_words(model)}\n{_COLORS}\n{_WHEEL}\n{NOISE_WORDS}\n{line}"
    return _evidence_figure(model, [values], None, title, words)


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
    title, words = row_words(model, readings[0], actual)
    compared = CLASS_WORDS if readings[0].against is None else _COLORS
    words = f"{words}\n{compared}\n{_WHEEL}\n{NOISE_WORDS}\n{line}"
    figure = _evidence_figure(model, [one.contributions for one in readings], image, title, words)
    if len(readings) > 1:
        add_class_menu(figure, model, readings, actual, [{} for _ in readings], n_shared=3)
    return figure


# ----------------------------------------------------------------------------------- their parts


def _evidence_figure(
    model: LocallyLinearModel,
    drawn: Sequence[FloatArray],
    image: FloatArray | None,
    title: str,
    words: str,
) -> Figure:
    """Return evidence by place, stroke and direction, the first of several shown."""
    from plotly.subplots import make_subplots

    has_image = image is not None
    figure = make_subplots(
        rows=2,
        cols=2,
        specs=[[{}, {}], [{} if has_image else None, {"type": "polar"}]],
        subplot_titles=[*["the image"] * has_image, *_PANELS],
        horizontal_spacing=0.12,
        vertical_spacing=0.08,
    )
    places = [(1, 2), (2, 1), (2, 2)] if has_image else [(1, 1), (1, 2), (2, 2)]
    if image is not None:
        add_image(figure, image)
        for place in places[:2]:
            _add_outline(figure, place, image)
    longest = max(reach_of(_directions(model, values)[1].sum(axis=0)) for values in drawn)
    for number, values in enumerate(drawn):
        _add_evidence(figure, places, model, values, longest, visible=number == 0)
    pictures = [picture_of(model, values) for values in drawn]
    wheels = [_wheel(model, values)[0] for values in drawn]
    _add_scales(figure, (pictures, "a pixel"), (wheels, "a direction"))
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
    _add_head(figure, title, words, 2 * _PANEL, with_menu=len(drawn) > 1)
    return figure


def _add_evidence(
    figure: Figure,
    places: Sequence[tuple[int, int]],
    model: LocallyLinearModel,
    values: FloatArray,
    longest: float,
    *,
    visible: bool,
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
