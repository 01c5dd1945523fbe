"""Figures of the maps of a model of images: filters of classes, and what they see in one image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.figure_parts import COLORS, SIGNED_SCALE, add_heading, dress, literal
from interpret_dp.explanation.influence_images import lift_heading
from interpret_dp.explanation.maps import (
    CLASS_WORDS,
    NOISE_WORDS,
    ClassReading,
    MapUse,
    label_text,
)
from interpret_dp.explanation.maps_choice import (
    add_class_menu,
    heading_changes,
    percent_text,
    row_words,
    use_words,
)
from interpret_dp.released.locally_linear import LocallyLinearModel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["class_filters", "contribution_images", "image_reading", "mean_filters"]

FloatArray = NDArray[np.float64]

_GREY_LEVELS = [[0.0, "#000000"], [1.0, "#ffffff"]]
_MOST_PICTURES = 40
_MOST_ROWS = 12
_IN_ROW = 5
_PANEL, _LARGE_PANEL = 170, 225  # pixels of one line of pictures
_TITLE_ROOM = 26
_HOVER = "row %{y}, column %{x}: %{z:+.3g}<extra></extra>"
_LETTERS = 90


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
    pictures = [_picture(model, model.weights[index].mean(axis=0)) for index in shown]
    titles = [literal(label_text(model.classes, index)) for index in shown]
    cut = f" · first {len(shown)} of {len(model.classes):,} classes" if _is_cut(model) else ""
    words = f"The mean of its {model.n_maps} maps{cut}\n{_colors(model)}\n{NOISE_WORDS}"
    return _grid(pictures, titles, "The mean filter of each class", f"{words}\n{line}", "weight")


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
    weights = model.weights[index]
    rank = np.linalg.norm(weights, axis=1) if use is None else use.shares[index]
    order = [int(m) for m in np.argsort(-rank, kind="stable")][:_MOST_PICTURES]
    share = [""] * model.n_maps
    if use is not None:
        share = [f": {percent_text(value)}" for value in use.shares[index]]
    titles = [f"map {m}{share[m]}" for m in order]
    sorting = "largest weights first" if use is None else "most often on top first"
    cut = f", {len(order)} of {model.n_maps:,}" if len(order) < model.n_maps else ""
    words = f"{sorting.capitalize()}{cut}\n{use_words(use)}{_colors(model)}\n{NOISE_WORDS}"
    title = f"The maps of {label_text(model.classes, index)}"
    pictures = [_picture(model, weights[m]) for m in order]
    return _grid(pictures, titles, title, f"{words}\n{line}", "weight")


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
    pictures = [_picture(model, one.contributions) for one in shown]
    titles = [
        f"row {row}: {literal(label_text(model.classes, one.index))}, "
        f"{percent_text(one.probability)}"
        for row, one in enumerate(shown)
    ]
    cut = f" · first {_MOST_ROWS} of {len(readings):,} rows" if len(readings) > _MOST_ROWS else ""
    words = f"The weighted map times the image{cut}\n{_colors(model)}\n{NOISE_WORDS}"
    title = "What each pixel adds to the predicted class"
    return _grid(pictures, titles, title, f"{words}\n{line}", "contribution")


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
    _add_picture(
        figure, (1, 1), model.pixels(inputs).mean(axis=2), colorscale=_GREY_LEVELS,
        showscale=False, hovertemplate="row %{y}, column %{x}<extra>the image</extra>",
    )  # fmt: skip
    for number, one in enumerate(readings):
        maps = [one.weighted_map, *(model.weights[one.index, m] for m in one.top)]
        places = [(1, 3), (2, 1), (2, 2), (2, 3)]
        options = {"hovertemplate": _HOVER, "visible": number == 0}
        contributions = _picture(model, one.contributions)
        _add_picture(figure, (1, 2), contributions, coloraxis="coloraxis", **options)
        for place, values in zip(places, maps, strict=False):
            _add_picture(figure, place, _picture(model, values), coloraxis="coloraxis2", **options)
    _color_axes(figure, readings, model)
    dress(figure, height=400, margin={"l": 8, "r": 90, "b": 14})
    _as_pictures(figure)
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
    )
    lift_heading(figure)
    margin = figure.layout.margin
    figure.update_layout(height=margin.t + margin.b + 2 * _LARGE_PANEL + _TITLE_ROOM)
    if many:
        _choose_class(figure, model, readings, actual)
    return figure


def _choose_class(
    figure: Figure,
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    actual: int | None,
) -> None:
    """Let a menu show another class's five pictures, with their titles."""
    per_class = (len(figure.data) - 1) // len(readings)
    changes = []
    for one in readings:
        title, words = row_words(model, one, actual)
        texts = {
            f"annotations[{place}].text": text
            for place, text in enumerate(_panel_titles(one), start=1)
        }
        changes.append(texts | heading_changes(figure, title, words))
    owners = [None, *(number for number in range(len(readings)) for _ in range(per_class))]
    labels = [
        f"{label_text(model.classes, one.index)}: {percent_text(one.probability)}"
        for one in readings
    ]
    add_class_menu(figure, labels, owners, changes, lift=22)


def _panel_titles(reading: ClassReading) -> list[str]:
    tops = [f"map {m} · counts {percent_text(reading.shares[m])}" for m in reading.top]
    return ["map times image: contributions", "the weighted map", *tops]


def _color_axes(
    figure: Figure, readings: Sequence[ClassReading], model: LocallyLinearModel
) -> None:
    """Give contributions and weights a scale each, about zero and the same for every class."""
    drawn = [model.weights[one.index, list(one.top)] for one in readings]
    reaches = {
        "coloraxis": [_picture(model, one.contributions) for one in readings],
        "coloraxis2": [_picture(model, values) for maps in drawn for values in maps]
        + [_picture(model, one.weighted_map) for one in readings],
    }
    for name, title, y in (("coloraxis", "contribution", 0.77), ("coloraxis2", "weight", 0.23)):
        figure.update_layout({name: _signed_axis(reaches[name], title, y=y, length=0.46)})


def _signed_axis(
    pictures: Sequence[FloatArray], title: str, *, y: float, length: float
) -> dict[str, Any]:
    reach = max((float(np.abs(picture).max()) for picture in pictures), default=0.0) or 1.0
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


def _grid(
    pictures: Sequence[FloatArray], titles: Sequence[str], title: str, words: str, scale: str
) -> Figure:
    """Return pictures in lines of five on one scale about zero."""
    from plotly.subplots import make_subplots

    n_columns = min(_IN_ROW, len(pictures))
    n_lines = math.ceil(len(pictures) / n_columns)
    height = n_lines * _PANEL
    figure = make_subplots(
        rows=n_lines,
        cols=n_columns,
        subplot_titles=list(titles),
        horizontal_spacing=0.02,
        vertical_spacing=_TITLE_ROOM / height if n_lines > 1 else 0.0,
    )
    for number, picture in enumerate(pictures):
        place = (number // n_columns + 1, number % n_columns + 1)
        _add_picture(figure, place, picture, coloraxis="coloraxis", hovertemplate=_HOVER)
    figure.update_layout(
        coloraxis=_signed_axis(pictures, scale, y=0.5, length=min(1.0, 320 / height))
    )
    dress(figure, height=400, margin={"l": 8, "r": 80, "b": 12})
    _as_pictures(figure)
    figure.update_annotations(font_size=12)
    add_heading(figure, title, words, letters=_LETTERS)
    lift_heading(figure)
    figure.update_layout(height=figure.layout.margin.t + figure.layout.margin.b + height)
    return figure


def _add_picture(
    figure: Figure, place: tuple[int, int], values: FloatArray, **options: Any
) -> None:
    import plotly.graph_objects as go

    # Six digits are more than a colour shows, and halve what a page weighs.
    figure.add_trace(go.Heatmap(z=values.astype(np.float32), **options), *place)


def _as_pictures(figure: Figure) -> None:
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


def _picture(model: LocallyLinearModel, values: FloatArray) -> FloatArray:
    """Return numbers of inputs as a picture; channels are added up."""
    return np.asarray(model.pixels(values).sum(axis=2))


def _colors(model: LocallyLinearModel) -> str:
    channels = model.pixels(np.zeros(model.n_inputs)).shape[2]
    added = f" · the {channels} channels of a pixel added up" if channels > 1 else ""
    return f"Orange raises the score, blue lowers it; of a map: where the image is bright{added}"


def _is_cut(model: LocallyLinearModel) -> bool:
    return len(model.classes) > _MOST_PICTURES
