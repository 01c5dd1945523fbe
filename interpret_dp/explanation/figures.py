"""The figures of an explanation: with a title, the privacy cost, a legend and buttons.

They need no server: the buttons are plotly's own, and what they show is computed beforehand from
released figures. plotly is imported when one is drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.curves import common_range, monotone_previews
from interpret_dp.explanation.figure_parts import (
    COLORS,
    SIGNED_SCALE,
    add_heading,
    dress,
    literal,
    place_legend,
)
from interpret_dp.explanation.heat_maps import heat_figure, heat_range
from interpret_dp.explanation.page_figures import (
    SIGNAL_TO_NOISE,
    importance_figure,
    local_figure,
    outcome_text,
    shown_scores,
)
from interpret_dp.explanation.shape_figures import shape_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, AdditiveTerm

FloatArray = NDArray[np.float64]

__all__ = [
    "contributions_figure",
    "dependence_figure",
    "overview_figure",
    "prediction_figure",
    "term_figure",
]

_MOST_ROWS = 200
_LETTERS = 95
_FADED = 0.35
# What the parts of a term's figure are called in a figure of partial dependence.
_OF_DEPENDENCE = {
    "released curve": "partial dependence",
    "released score": "partial dependence",
    "95 % noise band": "95 % of noise and sampling",
    " (noisy counts)": "",
}
_LINES_NAME = "your rows, one by one (ICE)"


def term_figure(model: AdditiveModel, index: int, line: str) -> Figure:
    """Return one term, with buttons for monotone previews and for the scale of the scores.

    Parameters
    ----------
    model : AdditiveModel
    index : int
        Which of its terms.
    line : str
        The privacy cost; left out if empty.
    """
    term = model.terms[index]
    feature = model.subject(term)
    if term.partner is not None:
        return _pair_figure(model, term, line)
    previews = monotone_previews(model, term)
    figure = shape_figure(model, term, previews=previews)
    bottom = figure.layout.margin.b
    menus = [_scale_menu(model)]
    if previews:
        menus.append(_preview_menu(figure, list(previews)))
    figure.update_layout(updatemenus=menus, showlegend=True)
    add_heading(figure, f"Term: {feature.name} ({feature.kind})", line, with_menu=True)
    place_legend(figure, below=bottom + 6, height=480)
    return figure


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
        trace.update(visible=True, opacity=_FADED, name=_LINES_NAME, showlegend=is_first)
        trace.update(legendgroup=_LINES_NAME, line_width=1, marker_size=5)
        if model.classes is None:
            trace.update(line_color=COLORS["ink"], marker_color=COLORS["ink"])
    # Below the curves and their bands.
    figure.data = sorted(figure.data, key=lambda trace: trace.meta not in lines)
    bottom = figure.layout.margin.b
    figure.update_yaxes(title=f"change of the {literal(output)}", row=1, col=1)
    figure.update_layout(updatemenus=[_scale_menu(model)], showlegend=True)
    words = "Partial dependence, against the mean over the rows of the background"
    title = f"Partial dependence: {feature.name} ({feature.kind})"
    add_heading(figure, title, f"{words}\n{line}".strip(), with_menu=True)
    place_legend(figure, below=bottom + 6, height=480)
    return figure


def _pair_figure(model: AdditiveModel, term: AdditiveTerm, line: str) -> Figure:
    figure = heat_figure(model, term)
    lowest, highest = common_range(model)
    own, common = heat_range(term), max(-lowest, highest)
    scales = [
        (name, "restyle", [{"zmin": -reach, "zmax": reach}, [0]])
        for name, reach in (("own scale", own), ("same scale for all terms", common))
    ]
    figure.update_layout(updatemenus=[_buttons(scales, x=1, xanchor="right")])
    names = " & ".join(model.features[index].name for index in term.features)
    title = f"Term: {names} (interaction; pale: within the noise)"
    height = figure.layout.height
    add_heading(figure, title, line, with_menu=True)
    figure.update_layout(height=max(480, height + 110))
    return figure


def overview_figure(model: AdditiveModel, line: str) -> Figure:
    """Return the importance of every term, beside what noise alone would give."""
    figure = importance_figure(model)
    height = figure.layout.height
    figure.update_layout(showlegend=True)
    lines = "\n".join([*textwrap.wrap(SIGNAL_TO_NOISE, _LETTERS), line]).strip()
    add_heading(figure, "What matters: importance of every term", lines, gap=24)
    place_legend(figure, below=figure.layout.margin.b + 4, height=max(420, height + 140))
    return figure


def prediction_figure(model: AdditiveModel, record: Mapping[str, Any], line: str) -> Figure:
    """Return what each value of one row adds to its prediction.

    Parameters
    ----------
    model : AdditiveModel
    record : mapping
        ``explanation.data(row)`` of interpret's local explanation; the row is the asker's own.
    line : str
        The privacy cost; left out if empty.
    """
    figure = local_figure(model, record)
    intercept = np.asarray(record["extra"]["scores"], dtype=np.float64).reshape(-1)
    if len(intercept) == 1:
        start = f" (starting at {intercept[0]:.3g}, the same for everybody)"
        figure.update_xaxes(title=f"{figure.layout.xaxis.title.text}{start}")
    height = figure.layout.height
    add_heading(figure, outcome_text(model, record), line)
    figure.update_layout(height=max(420, height + 70))
    figure.update_layout(margin={"b": 52})
    figure.add_vline(x=0, line={"color": COLORS["line"], "width": 1})
    return figure


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
    import plotly.graph_objects as go

    shown = rows[:_MOST_ROWS]
    scores = np.array([shown_scores(row) for row in shown], dtype=np.float64)
    names = [literal(str(name)) for name in shown[0]["names"]] if shown else []
    reach = float(np.abs(scores).max()) if scores.size else 1.0
    figure = go.Figure(
        go.Heatmap(
            z=scores.T,
            x=[f"row {index}" for index in range(len(shown))],
            y=names,
            zmin=-reach,
            zmax=reach,
            colorscale=SIGNED_SCALE,
            colorbar={"title": "score"},
            hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
        )
    )
    cut = f" (first {_MOST_ROWS} of {len(rows)} rows)" if len(rows) > _MOST_ROWS else ""
    dress(figure, height=max(420, 190 + 22 * len(names)), margin={"l": 80, "r": 20, "b": 50})
    figure.update_yaxes(autorange="reversed", automargin=True, showgrid=False)
    figure.update_xaxes(showgrid=False)
    add_heading(figure, f"What each term adds to the predictions{cut}", line)
    return figure


def _scale_menu(model: AdditiveModel) -> dict[str, Any]:
    lowest, highest = common_range(model)
    return _buttons(
        [
            ("own scale", "relayout", [{"yaxis.autorange": True}]),
            (
                "same scale for all terms",
                "relayout",
                [{"yaxis.autorange": False, "yaxis.range": [lowest, highest]}],
            ),
        ],
        x=1,
        xanchor="right",
    )


def _preview_menu(figure: Figure, names: list[str]) -> dict[str, Any]:
    """Return buttons that show one version and fade the released curve behind a preview."""
    metas = [trace.meta for trace in figure.data]
    indices = [index for index, meta in enumerate(metas) if meta is not None]

    def version(shown: str | None) -> list[Any]:
        visible = [metas[i] in ("released", shown) for i in indices]
        faded = [_FADED if metas[i] == "released" and shown else 1.0 for i in indices]
        return [{"visible": visible, "opacity": faded}, indices]

    entries = [("as released", "restyle", version(None))]
    entries += [(f"preview {name}", "restyle", version(name)) for name in names]
    return _buttons(entries, x=0, xanchor="left")


def _buttons(entries: list[tuple[str, str, list[Any]]], **place: Any) -> dict[str, Any]:
    return {
        "type": "buttons",
        "direction": "right",
        "showactive": True,
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 6, "t": 0, "l": 0, "r": 0},
        "font": {"size": 11.5, "color": COLORS["ink"]},
        "bgcolor": "#ffffff",
        "bordercolor": "#c6d0d9",
        "buttons": [{"label": t, "method": m, "args": a} for t, m, a in entries],
        **place,
    }
