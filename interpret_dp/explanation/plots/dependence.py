"""The figure of partial dependence of a black box on one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.plots.parts import COLORS, add_heading, literal, place_legend
from interpret_dp.explanation.plots.shape import FADED, scale_menu, shape_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel

__all__ = ["dependence_figure"]

FloatArray = NDArray[np.float64]

# Words of a term's figure, and those of a figure of partial dependence in their place.
_OF_DEPENDENCE = {
    "released curve": "partial dependence",
    "released score": "partial dependence",
    "95 % noise band": "95 % of noise and sampling",
    " (noisy counts)": "",
}
_LINES_NAME = "your rows, one by one (ICE)"


def dependence_figure(
    model: AdditiveModel, index: int, asked: Sequence[FloatArray], output: str, line: str
) -> Figure:
    """Return the partial dependence of a black box on one column, and its lines of single rows.

    Parameters
    ----------
    model : AdditiveModel
        With one term a column.
    index : int
        Which of its terms.
    asked : sequence of ndarray, shaped as the term's scores
        Of single rows.
    output : str
        What is explained.
    line : str
        The privacy cost; left out if empty.
    """
    feature = model.features[model.terms[index].feature]
    lines = {f"row {number}": scores for number, scores in enumerate(asked)}
    figure = shape_figure(model, model.terms[index], previews=lines)
    for trace in figure.data:
        for text, meaning in _OF_DEPENDENCE.items():
            trace.name = (trace.name or "").replace(text, meaning)
    singles = [trace for trace in figure.data if trace.meta in lines]
    for trace in singles:
        # Named once: all are of one kind.
        is_first = trace is singles[0]
        trace.update(visible=True, opacity=FADED, name=_LINES_NAME, showlegend=is_first)
        trace.update(legendgroup=_LINES_NAME, line_width=1, marker_size=5)
        if model.classes is None:
            trace.update(line_color=COLORS["ink"], marker_color=COLORS["ink"])
    # Below the curves and their bands.
    figure.data = sorted(figure.data, key=lambda trace: trace.meta not in lines)
    bottom = figure.layout.margin.b
    figure.update_yaxes(title=f"change of the {literal(output)}", row=1, col=1)
    figure.update_layout(updatemenus=[scale_menu(model)], showlegend=True)
    words = "Partial dependence, against the mean over the rows of the background"
    title = f"Partial dependence: {feature.name} ({feature.kind})"
    add_heading(figure, title, f"{words}\n{line}".strip(), with_menu=True)
    place_legend(figure, below=bottom + 6, height=480)
    return figure
