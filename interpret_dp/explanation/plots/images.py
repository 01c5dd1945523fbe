"""Figures of models of images: heat maps of evidence, over the picture where one is explained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.maps import (
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
    OVERLAY_SCALE,
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

_PALE = "#cccccc"  # black of a picture under colours
# Pixels of large and of small pictures.
_PANEL, _SMALL_PANEL = 330, 170
_TITLE_ROOM = 26
_IN_ROW = 5
_MOST_PICTURES, _MOST_ROWS = 40, 12
_LETTERS = 98
_COLORS = "Orange speaks for the class, blue against it"

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
        words = f"The mean of its {model.n_maps} maps{cut}\n{_weight_colors(model)}"
    else:
        values, scale, title = mean_evidence(model), "score", "The evidence of each class"
        words = f"{_evidence_words(model)}{cut}\n{_COLORS}"
    pictures = [picture_of(model, values[index]) for index in shown]
    return picture_grid(pictures, titles, title, f"{words}\n{NOISE_WORDS}\n{line}", scale)


def class_evidence(model: LocallyLinearModel, index: int, against: int | None, line: str) -> Figure:
    """Return the mean evidence of one class by place, and compared with each other class.

    Parameters
    ----------
    model : LocallyLinearModel
        Of wavelet features.
    index : int
        Of the class.
    against : int or None
        The only class that it is compared with.
    line : str
        The privacy cost; left out if empty.
    """
    evidence, label = mean_evidence(model), label_text(model.classes, index)
    others = [k for k in range(len(evidence)) if k != index] if against is None else [against]
    others = others[: _MOST_PICTURES - 1]
    values = [evidence[index], *(evidence[index] - evidence[other] for other in others)]
    titles = ["by itself", *(f"not {label_text(model.classes, other)}" for other in others)]
    words = f"{_evidence_words(model)}\n{_COLORS}\n{NOISE_WORDS}\n{line}"
    pictures = [picture_of(model, own) for own in values]
    return picture_grid(
        pictures, list(map(literal, titles)), f"The evidence of {label}", words, "score"
    )


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
    words = f"{sorting.capitalize()}{cut}\n{use_words(use)}{_weight_colors(model)}\n{NOISE_WORDS}"
    title = f"The maps of {label_text(model.classes, index)}"
    pictures = [picture_of(model, model.weights[index, m]) for m in order]
    return picture_grid(pictures, titles, title, f"{words}\n{line}", "weight")


def row_pictures(
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    images: Sequence[FloatArray],
    line: str,
) -> Figure:
    """Return the evidence for the predicted class of several pictures, over the pictures.

    The first twelve rows are drawn, on one scale.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images, or of wavelet features.
    readings : sequence of ClassReading, shape (n_rows,)
        Each against another class.
    images : sequence of ndarray, shape (n_rows,)
        The pictures, each of shape (height, width).
    line : str
        The privacy cost; left out if empty.
    """
    shown = readings[:_MOST_ROWS]
    titles = []
    for row, one in enumerate(shown):
        label = label_text(model.classes, one.index)
        if one.against is not None:
            label += f", not {label_text(model.classes, one.against)}"
        titles.append(f"{row}: {literal(label)} ({percent_text(one.probability)})")
    words = "The predicted class compared with the actual one, or the second most probable"
    words += cut_words(" · first {} of {:,} rows", len(shown), len(readings))
    words += f"\n{_COLORS}{_channels(model)}\n{NOISE_WORDS}\n{line}"
    pictures = [picture_of(model, one.contributions) for one in shown]
    title = "Evidence for the predicted class, by place"
    return picture_grid(pictures, titles, title, words, "difference", images[: len(shown)])


def image_reading(
    model: LocallyLinearModel,
    readings: Sequence[ClassReading],
    image: FloatArray,
    actual: int | None,
    line: str,
) -> Figure:
    """Return one picture, and beside it what speaks for a class, over the picture.

    A menu chooses the classes; the first reading is shown.

    Parameters
    ----------
    model : LocallyLinearModel
        Of images, or of wavelet features.
    readings : sequence of ClassReading
        Of one row.
    image : ndarray of float, shape (height, width)
    actual : int or None
        The class that came true.
    line : str
        The privacy cost; left out if empty.
    """
    from plotly.subplots import make_subplots

    titles = ["the picture", "what speaks for the class"]
    figure = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.03)
    add_image(figure, image, (1, 1))
    add_image(figure, image, (1, 2), darkest=_PALE)
    evidence = [picture_of(model, one.contributions) for one in readings]
    for number, picture in enumerate(evidence):
        cells = signed_cells(picture, coloraxis="coloraxis", hovertemplate=HOVER)
        figure.add_trace(cells.update(visible=number == 0), 1, 2)
    _add_scale(figure, evidence, "evidence", OVERLAY_SCALE)
    as_pictures(figure)
    (title, words), many = row_words(model, readings[0], actual), len(readings) > 1
    words = f"{words}\n{_COLORS}{_channels(model)}\n{NOISE_WORDS}\n{line}"
    _add_head(figure, title, words, _PANEL, with_menu=many)
    if many:
        add_class_menu(figure, model, readings, actual, [{} for _ in readings], n_shared=2)
    return figure


def _add_scale(
    figure: Figure, pictures: Sequence[FloatArray], title: str, colors: Sequence[Any]
) -> None:
    """Add a scale about zero for several pictures, with a title."""
    reach = max(map(reach_of, pictures), default=1.0)
    bar = {"title": {"text": title, "font_size": 11}, "thickness": 12, "nticks": 5}
    bar |= {"tickfont_size": 10, "len": 0.92}
    figure.update_layout(
        coloraxis={"colorscale": colors, "cmin": -reach, "cmax": reach, "colorbar": bar}
    )


def picture_grid(
    pictures: Sequence[FloatArray],
    titles: Sequence[str],
    title: str,
    words: str,
    scale: str,
    images: Sequence[FloatArray] = (),
) -> Figure:
    """Return pictures in lines of five on one scale about zero, over images where there are any."""
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
    places = [(k // n_columns + 1, k % n_columns + 1) for k in range(len(pictures))]
    for place, image in zip(places, images, strict=False):
        add_image(figure, image, place, darkest=_PALE)
    for place, picture in zip(places, pictures, strict=True):
        cells = signed_cells(picture, coloraxis="coloraxis", hovertemplate=HOVER)
        figure.add_trace(cells, *place)
    _add_scale(figure, pictures, scale, OVERLAY_SCALE if len(images) else SIGNED_SCALE)
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


def add_image(
    figure: Figure, image: FloatArray, place: tuple[int, int], darkest: str = "#000000"
) -> None:
    """Add an image in grey to a panel; its lightest pixels are white."""
    figure.add_heatmap(
        z=image.astype(np.float32),
        colorscale=[[0.0, darkest], [1.0, "#ffffff"]],
        showscale=False,
        hoverinfo="skip",
        row=place[0],
        col=place[1],
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


def _weight_colors(model: LocallyLinearModel) -> str:
    return f"Orange raises the score where the image is bright, blue lowers it{_channels(model)}"


def _channels(model: LocallyLinearModel) -> str:
    """Say that channels are added up, where there are several."""
    channels = model.pixels(np.zeros(model.n_inputs)).shape[2]
    return f" · the {channels} channels of a pixel added up" if channels > 1 else ""


def _evidence_words(model: LocallyLinearModel) -> str:
    usual = "usual size" if model.means is None else "released mean"
    return f"What the wavelet features add to the score at their {usual}"
