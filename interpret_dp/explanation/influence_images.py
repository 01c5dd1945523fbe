"""Figures of released linear explanations of images: maps of influence, pixel by pixel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.figure_parts import (
    COLORS,
    SIGNED_SCALE,
    add_heading,
    dress,
    literal,
    number_text,
)
from interpret_dp.explanation.influence import VEIL, FloatArray, RowInfluence

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["image_figure", "images_figure", "lift_heading"]

_GREY_LEVELS = [[0.0, "#000000"], [1.0, "#ffffff"]]
_LEAST_HEIGHT, _PANEL, _SMALL_PANEL = 360, 260, 200  # pixels of a figure and of its rows
_MOST_MAPS = 12
_MAPS_IN_ROW = 4


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
    titles += ["influence: blue for, red against", "signal to noise"]
    figure = make_subplots(rows=1, cols=len(titles), horizontal_spacing=0.05, subplot_titles=titles)
    column = 1
    if image is not None:
        _add_map(figure, (1, column), image, colorscale=_GREY_LEVELS, showscale=False,
                 hovertemplate="row %{y}, column %{x}: %{z:.4g}<extra>image</extra>")  # fmt: skip
        column += 1
    reach = float(np.abs(row.features.effects).max())
    scale = _scale(figure, (1, column), "effect", reach)
    _add_influence(figure, (1, column), row, reach, colorbar=scale)
    _add_ratio(figure, (1, column + 1), row)
    dress(figure, height=_LEAST_HEIGHT, margin={"l": 10, "r": 10, "b": 70})
    _square(figure)
    figure.update_annotations(font_size=12.5)
    words = (
        f"{row.heading.replace(' effects ', ' pixels ')} · faded: noise alone could give it\n"
        f"Effect of a pixel: {row.change} "
        f"{row.meaning.replace('a number', 'the pixel')}"
    )
    add_heading(figure, row.outcome, f"{words}\n{line}")
    lift_heading(figure)
    figure.update_layout(height=figure.layout.margin.t + figure.layout.margin.b + _PANEL)
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
    from plotly.subplots import make_subplots

    shown = rows[:_MOST_MAPS]
    n_columns = min(_MAPS_IN_ROW, len(shown))
    n_lines = math.ceil(len(shown) / n_columns)
    titles = [f"row {i}: {literal(_short_outcome(row))}" for i, row in enumerate(shown)]
    figure = make_subplots(
        rows=n_lines,
        cols=n_columns,
        subplot_titles=titles,
        horizontal_spacing=0.03,
        vertical_spacing=0.3 / n_lines / 2,
    )
    reach = max(float(np.abs(row.features.effects).max()) for row in shown)
    for index, row in enumerate(shown):
        place = (index // n_columns + 1, index % n_columns + 1)
        scale = {"thickness": 12, "title": "effect"}
        _add_influence(figure, place, row, reach, showscale=index == 0, colorbar=scale)
    dress(figure, height=_LEAST_HEIGHT, margin={"l": 10, "r": 10, "b": 20})
    _square(figure)
    figure.update_annotations(font_size=11.5)
    cut = f" (first {_MOST_MAPS} of {len(rows):,})" if len(rows) > _MOST_MAPS else ""
    words = "Influence of each pixel: blue for, red against; faded where noise alone could give it"
    add_heading(figure, f"What speaks for and against{cut}", f"{words}\n{line}")
    lift_heading(figure)
    height = figure.layout.margin.t + figure.layout.margin.b + _SMALL_PANEL * n_lines
    figure.update_layout(height=max(_LEAST_HEIGHT, height))
    return figure


def _add_influence(
    figure: Figure, place: tuple[int, int], row: RowInfluence, reach: float, **scale: Any
) -> None:
    """Add the map of one image's effects up to ``reach``, under a veil where noise may be all."""
    shape, features = _shape(row), row.features
    _add_map(
        figure,
        place,
        features.effects.reshape(shape),
        colorscale=SIGNED_SCALE,
        zmin=-(reach or 1.0),
        zmax=reach or 1.0,
        customdata=features.errors.reshape(shape),
        hovertemplate="row %{y}, column %{x}: %{z:+.3g}, standard error "
        "%{customdata:.2g}<extra></extra>",
        **scale,
    )
    noise = ~features.stands_out
    if noise.any():
        _add_map(
            figure,
            place,
            np.where(noise, 1.0, np.nan).reshape(shape),
            colorscale=[[0.0, VEIL], [1.0, VEIL]],
            zmin=0.0,
            zmax=1.0,
            showscale=False,
            hoverinfo="skip",
            name="noise alone could give it",
        )


def _add_ratio(figure: Figure, place: tuple[int, int], row: RowInfluence) -> None:
    features = row.features
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = features.effects / features.errors
    ratio[~np.isfinite(ratio)] = np.nan
    reach = float(np.nanmax(np.abs(ratio))) if np.isfinite(ratio).any() else 1.0
    _add_map(
        figure,
        place,
        ratio.reshape(_shape(row)),
        colorscale=SIGNED_SCALE,
        zmin=-(reach or 1.0),
        zmax=reach or 1.0,
        colorbar=_scale(figure, place, "in standard errors", reach),
        hovertemplate="row %{y}, column %{x}: %{z:+.2f} standard errors<extra></extra>",
    )


def _add_map(
    figure: Figure, place: tuple[int, int], values: NDArray[np.float64], **options: Any
) -> None:
    import plotly.graph_objects as go

    figure.add_trace(go.Heatmap(z=values, **options), row=place[0], col=place[1])


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


def _square(figure: Figure) -> None:
    """Draw pixels as squares, the first line on top, in a frame and without numbers."""
    frame = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "linecolor": COLORS["grid"],
    }
    figure.update_xaxes(constrain="domain", **frame)
    figure.update_yaxes(**frame)
    for number, axis in enumerate(figure.select_yaxes(), start=1):
        axis.update(
            autorange="reversed",
            scaleanchor="x" if number == 1 else f"x{number}",
            constrain="domain",
            constraintoward="top",
        )


def lift_heading(figure: Figure) -> None:
    """Put the lines that :func:`add_heading` added last above the titles of the panels."""
    figure.layout.annotations[-1].yshift += 22
    figure.update_layout(margin_t=figure.layout.margin.t + 22)


def _grey(row: RowInfluence) -> FloatArray | None:
    """Return the image with missing pixels as NaN, or None if a pixel is no number."""
    if not all(value is None or isinstance(value, int | float) for value in row.values):
        return None
    return np.array(row.values, dtype=np.float64).reshape(_shape(row))


def _shape(row: RowInfluence) -> tuple[int, int]:
    if row.image_shape is None:
        raise ValueError("image_shape is None; only an image can be drawn as one.")
    return row.image_shape


def _short_outcome(row: RowInfluence) -> str:
    return row.outcome.removeprefix("Probability of ")
