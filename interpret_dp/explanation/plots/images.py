"""Figures of images: the influence of each pixel, and the maps of a model of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.influence import VEIL, RowInfluence
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
from interpret_dp.explanation.plots.cells import reach_of, signed_cells, veil
from interpret_dp.explanation.plots.maps import add_class_menu, ranked_maps
from interpret_dp.explanation.plots.parts import (
    COLORS,
    SIGNED_SCALE,
    add_heading,
    cut_words,
    dress,
    fit_height,
    literal,
    number_text,
)
from interpret_dp.released.locally_linear import LocallyLinearModel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FloatArray = NDArray[np.float64]

_GREY_LEVELS = [[0.0, "#000000"], [1.0, "#ffffff"]]
# Pixels of a figure, of a row of large pictures, and of the lines of a grid of small ones.
_LEAST_HEIGHT, _PANEL, _READING_PANEL, _SMALL_PANEL = 360, 260, 225, 170
_TITLE_ROOM = 26
_IN_ROW = 5
_MOST_PICTURES, _MOST_ROWS = 40, 12
_LETTERS = 90

HOVER = "row %{y}, column %{x}: %{z:+.3g}<extra></extra>"
"""Text over a pixel."""


# --------------------------------------------------------------------- local linear explanations


def image_figure(row: RowInfluence, line: str) -> Figure:
    """Return an image in grey beside the influence of its pixels, where noise is faded.

    Parameters
    ----------
    row : RowInfluence
        With an ``image_shape``.
    line : str
        The privacy cost; left out if empty.
    """
    from plotly.subplots import make_subplots

    image = _grey(row)
    titles = ["the image"] if image is not None else []
    titles += ["influence: orange for, blue against", "signal to noise"]
    figure = make_subplots(rows=1, cols=len(titles), horizontal_spacing=0.05, subplot_titles=titles)
    column = 1
    if image is not None:
        add_image(figure, image)
        column += 1
    scale = _scale(figure, (1, column), "effect", reach_of(row.features.effects))
    _add_influence(figure, (1, column), row, colorbar=scale)
    _add_ratio(figure, (1, column + 1), row)
    dress(figure, height=_LEAST_HEIGHT, margin={"l": 10, "r": 10, "b": 70})
    as_pictures(figure)
    figure.update_annotations(font_size=12.5)
    words = (
        f"{row.heading.replace(' effects ', ' pixels ')} · faded: could be noise\n"
        f"Effect of a pixel: {row.change} "
        f"{row.meaning.replace('a number', 'the pixel')}"
    )
    add_heading(figure, row.outcome, f"{words}\n{line}", over_panels=True)
    fit_height(figure, _PANEL)
    return figure


def images_figure(rows: Sequence[RowInfluence], line: str) -> Figure:
    """Return the maps of influence of several images, up to twelve, on one scale.

    Parameters
    ----------
    rows : sequence of RowInfluence, shape (n_rows,)
        Each with an ``image_shape``.
    line : str
        The privacy cost; left out if empty.
    """
    shown = rows[:_MOST_ROWS]
    titles = [
        f"row {i}: {literal(row.outcome.removeprefix('Probability of '))}"
        for i, row in enumerate(shown)
    ]
    cut = cut_words(" (first {} of {:,})", len(shown), len(rows))
    words = "Influence of each pixel: orange for, blue against; faded where it could be noise"
    return _grid(
        lambda figure, place, n: _add_influence(figure, place, shown[n], coloraxis="coloraxis"),
        titles,
        signed_axis([row.features.effects for row in shown], "effect"),
        f"Evidence for and against{cut}",
        f"{words}\n{line}",
    )


def _add_influence(
    figure: Figure, place: tuple[int, int], row: RowInfluence, **options: Any
) -> None:
    """Add the map of one image's effects, under a veil where noise may be all."""
    shape, features = _shape(row), row.features
    cells = signed_cells(
        features.effects.reshape(shape).astype(np.float32),
        customdata=features.errors.reshape(shape),
        hovertemplate="row %{y}, column %{x}: %{z:+.3g}, standard error "
        "%{customdata:.2g}<extra></extra>",
        **options,
    )
    figure.add_trace(cells, *place)
    noise = ~features.significant
    if noise.any():
        figure.add_trace(veil(noise.reshape(shape), VEIL), *place)


def _add_ratio(figure: Figure, place: tuple[int, int], row: RowInfluence) -> None:
    features = row.features
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = features.effects / features.errors
    ratio[~np.isfinite(ratio)] = np.nan
    cells = signed_cells(
        ratio.reshape(_shape(row)),
        colorbar=_scale(figure, place, "in standard errors", reach_of(ratio)),
        hovertemplate="row %{y}, column %{x}: %{z:+.2f} standard errors<extra></extra>",
    )
    figure.add_trace(cells, *place)


def _scale(figure: Figure, place: tuple[int, int], title: str, reach: float) -> dict[str, Any]:
    """Return a scale of colours that lies under a panel, with few and round ticks up to reach."""
    left, right = figure.get_subplot(*place).xaxis.domain
    digit = 10.0 ** math.floor(math.log10(reach)) if reach > 0 else 1.0
    tick = math.floor(reach / digit) * digit if reach > 0 else 1.0
    return {
        "orientation": "h",
        "thickness": 10,
        "len": 0.9 * (right - left),
        "x": (left + right) / 2,
        "xanchor": "center",
        "y": -0.02,
        "yanchor": "top",
        "title": {"text": title, "side": "bottom", "font": {"size": 11}},
        "tickfont": {"size": 10},
        "tickangle": 0,
        "tickvals": [-tick, 0.0, tick],
        "ticktext": [number_text(-tick), "0", number_text(tick)],
    }


def _grey(row: RowInfluence) -> FloatArray | None:
    """Return the image with missing pixels as NaN, or None if a pixel is no number."""
    if not all(value is None or isinstance(value, int | float) for value in row.values):
        return None
    return np.array(row.values, dtype=np.float64).reshape(_shape(row))


def _shape(row: RowInfluence) -> tuple[int, int]:
    if row.image_shape is None:
        raise ValueError("image_shape is None; only an image can be drawn as one.")
    return row.image_shape


# ------------------------------------------------------------------ maps of a model of images


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

    def add(figure: Figure, place: tuple[int, int], number: int) -> None:
        cells = signed_cells(pictures[number], coloraxis="coloraxis", hovertemplate=HOVER)
        figure.add_trace(cells, *place)

    return _grid(add, titles, signed_axis(pictures, scale), title, words)


def _grid(
    add: Callable[[Figure, tuple[int, int], int], None],
    titles: Sequence[str],
    axis: dict[str, Any],
    title: str,
    words: str,
) -> Figure:
    """Return a figure of panels in lines of five, to which ``add`` adds one after the other."""
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
    for number in range(len(titles)):
        add(figure, (number // n_columns + 1, number % n_columns + 1), number)
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
