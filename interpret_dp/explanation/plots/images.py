"""Figures of the maps of a model of images."""

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
    percent_text,
    row_words,
    use_words,
)
from interpret_dp.explanation.plots.cells import reach_of, signed_cells
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


def mean_filters(model: LocallyLinearModel, line: str) -> Figure:
    """Return the mean of the maps of each class as a picture, all on one scale.

    Of many classes the first forty are drawn.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images.
    line : str
        The privacy cost; left out if empty.
    """
    shown = range(min(len(model.classes), _MOST_PICTURES))
    pictures = [picture_of(model, model.weights[index].mean(axis=0)) for index in shown]
    titles = [literal(label_text(model.classes, index)) for index in shown]
    cut = cut_words(" · first {} of {:,} classes", len(shown), len(model.classes))
    words = f"The mean of its {model.n_maps} maps{cut}\n{_colors(model)}\n{NOISE_WORDS}"
    title = "The mean filter of each class"
    return picture_grid(pictures, titles, title, f"{words}\n{line}", "weight")


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


def contribution_images(
    model: LocallyLinearModel, readings: Sequence[ClassReading], line: str
) -> Figure:
    """Return what the pixels of several images add to the score of the predicted class.

    The first twelve rows are drawn, on one scale.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images.
    readings : sequence of ClassReading, shape (n_rows,)
    line : str
        The privacy cost; left out if empty.
    """
    shown = readings[:_MOST_ROWS]
    pictures = [picture_of(model, one.contributions) for one in shown]
    titles = [
        f"row {row}: {literal(label_text(model.classes, one.index))}, "
        f"{percent_text(one.probability)}"
        for row, one in enumerate(shown)
    ]
    cut = cut_words(" · first {} of {:,} rows", len(shown), len(readings))
    words = f"The weighted map times the image, less its background{cut}"
    words = f"{words}\n{_colors(model)}\n{NOISE_WORDS}"
    title = "What each pixel adds to the predicted class"
    return picture_grid(pictures, titles, title, f"{words}\n{line}", "contribution")


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
    for number, one in enumerate(readings):
        maps = [one.weighted_map, *(model.weights[one.index, m] for m in one.top)]
        places = [(1, 3), (2, 1), (2, 2), (2, 3)]
        options: dict[str, Any] = {"hovertemplate": HOVER, "visible": number == 0}
        contributions = picture_of(model, one.contributions)
        figure.add_trace(signed_cells(contributions, coloraxis="coloraxis", **options), 1, 2)
        for place, values in zip(places, maps, strict=False):
            cells = signed_cells(picture_of(model, values), coloraxis="coloraxis2", **options)
            figure.add_trace(cells, *place)
    _color_axes(figure, readings, model)
    dress(figure, height=400, margin={"l": 8, "r": 90, "b": 14})
    as_pictures(figure)
    figure.update_annotations(font_size=12.5)
    title, words = row_words(model, readings[0], actual)
    # A menu over the figure costs as much room as a row of buttons.
    many = len(readings) > 1
    add_heading(
        figure,
        title,
        f"{words}\n{CLASS_WORDS}\n{_colors(model)}\n{NOISE_WORDS}\n{line}",
        with_menu=many,
        letters=_LETTERS,
        over_panels=True,
    )
    fit_height(figure, 2 * _READING_PANEL + _TITLE_ROOM)
    if many:
        changes = [
            {
                f"annotations[{place}].text": text
                for place, text in enumerate(_panel_titles(one), start=1)
            }
            for one in readings
        ]
        add_class_menu(figure, model, readings, actual, changes, n_shared=1)
    return figure


def _panel_titles(reading: ClassReading) -> list[str]:
    tops = [f"map {m} · counts {percent_text(reading.shares[m])}" for m in reading.top]
    return ["contributions, against background", "the weighted map", *tops]


def _color_axes(
    figure: Figure, readings: Sequence[ClassReading], model: LocallyLinearModel
) -> None:
    """Give contributions and weights a scale each, about zero and the same for every class."""
    drawn = [model.weights[one.index, list(one.top)] for one in readings]
    reaches = {
        "coloraxis": [picture_of(model, one.contributions) for one in readings],
        "coloraxis2": [picture_of(model, values) for maps in drawn for values in maps]
        + [picture_of(model, one.weighted_map) for one in readings],
    }
    for name, title, y in (("coloraxis", "contribution", 0.77), ("coloraxis2", "weight", 0.23)):
        figure.update_layout({name: signed_axis(reaches[name], title, y=y, length=0.46)})


# ----------------------------------------------------------------------------------- their parts


def signed_axis(
    pictures: Sequence[FloatArray], title: str, *, y: float = 0.5, length: float = 1.0
) -> dict[str, Any]:
    """Return one scale about zero for several pictures."""
    reach = max(map(reach_of, pictures), default=1.0)
    return {
        "colorscale": SIGNED_SCALE,
        "cmin": -reach,
        "cmax": reach,
        "colorbar": {
            "title": {"text": title, "font": {"size": 11}},
            "thickness": 12,
            "len": length,
            "y": y,
            "nticks": 5,
            "tickfont": {"size": 10},
        },
    }


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
        figure.add_trace(cells, number // n_columns + 1, number % n_columns + 1)
    axis = signed_axis(pictures, scale)
    axis["colorbar"]["len"] = min(1.0, 320 / height)
    figure.update_layout(coloraxis=axis)
    dress(figure, height=400, margin={"l": 8, "r": 80, "b": 12})
    as_pictures(figure)
    figure.update_annotations(font_size=12)
    add_heading(figure, title, words, letters=_LETTERS, over_panels=True)
    fit_height(figure, height)
    return figure


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
