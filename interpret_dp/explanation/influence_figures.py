"""Figures of released linear explanations of rows of a table: one row, and many side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.explanation.figure_parts import (
    COLORS,
    SIGNED_SCALE,
    add_heading,
    dress,
    literal,
    number_text,
    place_legend,
    shortened,
    value_text,
)
from interpret_dp.explanation.influence import (
    ERROR_BARS,
    FADED,
    GREY,
    VEIL,
    Influence,
    RowInfluence,
    faded_words,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["influences_figure", "row_figure"]

_MOST_BARS = 15
_LONGEST_BAR_LABEL = 34
_MOST_ROWS = 200
_MOST_FEATURES = 30
_BAR_WIDTH = 0.7
_LETTERS_BESIDE_LABELS = 80
_LEAST_HEIGHT, _BAR = 360, 25  # pixels of a figure and of one bar
_SYMBOLS = {
    "released now": "circle",
    "reused from a near query": "circle-open",
    "from the released history": "diamond-open",
    "from the surrogate": "square-open",
    "from the background": "circle",
}


def row_figure(row: RowInfluence, line: str) -> Figure:
    """Return the effects of one row's features as bars, largest first.

    Parameters
    ----------
    row : RowInfluence
    line : str
        The privacy cost; left out if empty.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    labels = _row_labels(row)
    _add_bars(figure, row, labels)
    n_bars = min(len(labels), _MOST_BARS + 1)
    dress(figure, height=_LEAST_HEIGHT, margin={"l": 10, "r": 14, "b": 50})
    figure.update_layout(showlegend=True, barmode="overlay")
    figure.update_xaxes(title=row.axis, title_font_size=12)
    figure.update_yaxes(automargin=True, showgrid=False, **_ticks(row.features, labels))
    figure.add_vline(x=0, line={"color": COLORS["line"], "width": 1})
    add_heading(
        figure,
        row.outcome,
        f"{row.heading}{' · unnumbered ones are 0 in this row' * row.is_sparse}\n{line}",
        letters=_LETTERS_BESIDE_LABELS,
    )
    place_legend(figure, below=58, height=_LEAST_HEIGHT)
    top, bottom = figure.layout.margin.t, figure.layout.margin.b
    # Entries of the legend may need two lines on a narrow page.
    figure.update_layout(height=top + bottom + 20 + _BAR * max(6, n_bars), margin_b=bottom + 20)
    return figure


def _row_labels(row: RowInfluence) -> list[str]:
    """Return each feature's name with the row's value; of many columns, unless it is 0."""
    texts = [value_text(value) for value in row.values]
    names = [literal(name) for name in row.features.names]
    if not row.is_sparse:
        return [f"{name} = {text}" for name, text in zip(names, texts, strict=True)]
    return [
        name if text == "0" else f"{name} = {text}" for name, text in zip(names, texts, strict=True)
    ]


def _add_bars(figure: Figure, row: RowInfluence, labels: Sequence[str]) -> None:
    shown = row.features
    order = shown.order[:_MOST_BARS]
    rest = shown.order[_MOST_BARS:]
    positions = {index: -place for place, index in enumerate(order)}
    stands_out = shown.stands_out
    raises, lowers = row.raised
    for name, sign, color in ((raises, 1, COLORS["up"]), (lowers, -1, COLORS["down"])):
        for out in (True, False):
            chosen = [i for i in order if stands_out[i] == out and shown.effects[i] * sign > 0]
            _add_bar(figure, shown, labels, chosen, positions, color, 1.0 if out else FADED)
        # Legends of our own: bars of one colour may all be faded, and both kinds are to be named.
        _add_swatch(figure, name, color, 1.0)
    if not stands_out[order].all():
        _add_swatch(figure, faded_words(len(shown.names)), GREY, FADED)
    known = [i for i in order if np.isfinite(shown.errors[i]) and shown.errors[i] > 0]
    if known:
        figure.add_scatter(
            x=shown.effects[known],
            y=[positions[i] for i in known],
            mode="markers",
            marker={"size": 0.1, "color": COLORS["ink"]},
            error_x={
                "array": ERROR_BARS * shown.errors[known],
                "color": COLORS["ink"],
                "thickness": 1.3,
                "width": 4,
            },
            name=f"95 % of {row.errors_of}",
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            line={"color": COLORS["ink"], "width": 1.3},
            name=f"95 % of {row.errors_of}, for each by itself",
        )
    if rest:
        lowest, highest = float(shown.effects[rest].min()), float(shown.effects[rest].max())
        count = int(stands_out[rest].sum())
        figure.add_bar(
            x=[max(highest, 0.0) - min(lowest, 0.0)],
            base=[min(lowest, 0.0)],
            y=[-len(order)],
            orientation="h",
            width=_BAR_WIDTH,
            marker={"color": GREY, "opacity": 0.5},
            name="range of the others",
            showlegend=False,
            hovertemplate=f"{len(rest):,} others, between {lowest:+.4g} and {highest:+.4g}; "
            f"{count:,} of them {'stands' if count == 1 else 'stand'} out<extra></extra>",
        )


def _add_bar(
    figure: Figure,
    shown: Influence,
    labels: Sequence[str],
    chosen: Sequence[int],
    positions: dict[int, int],
    color: str,
    opacity: float,
) -> None:
    if not chosen:
        return
    figure.add_bar(
        x=shown.effects[list(chosen)],
        y=[positions[i] for i in chosen],
        orientation="h",
        width=_BAR_WIDTH,
        marker={"color": color, "opacity": opacity},
        customdata=[[labels[i], _error_text(shown.errors[i])] for i in chosen],
        hovertemplate="%{customdata[0]}: %{x:+.4g}%{customdata[1]}<extra></extra>",
        meta="effects",
        showlegend=False,
    )


def _error_text(error: float) -> str:
    return f" ± {ERROR_BARS * error:.2g}" if np.isfinite(error) else " (noise not known)"


def _add_swatch(figure: Figure, name: str, color: str, opacity: float) -> None:
    """Add an entry of the legend that stands for no point."""
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"symbol": "square", "size": 11, "color": color, "opacity": opacity},
        name=name,
    )


def _ticks(shown: Influence, labels: Sequence[str]) -> dict[str, Any]:
    order = shown.order
    texts = [shortened(labels[i], _LONGEST_BAR_LABEL) for i in order[:_MOST_BARS]]
    if len(order) > _MOST_BARS:
        texts.append(f"{len(order) - _MOST_BARS:,} others (range)")
    return {
        "tickvals": [-place for place in range(len(texts))],
        "ticktext": texts,
        "range": [0.6 - len(texts), 0.6],
    }


def influences_figure(rows: Sequence[RowInfluence], line: str) -> Figure:
    """Return the effects of all features at all explained rows, with where each row comes from.

    The first 200 rows, and of many features the 30 that do most, are drawn.

    Parameters
    ----------
    rows : sequence of RowInfluence, shape (n_rows,)
        At least one; all of the same features.
    line : str
        The privacy cost; left out if empty.
    """
    import plotly.graph_objects as go

    shown = rows[:_MOST_ROWS]
    effects = np.array([row.features.effects for row in shown])
    strongest = np.argsort(-np.abs(effects).mean(axis=0), kind="stable")[:_MOST_FEATURES]
    kept = np.sort(strongest) if effects.shape[1] <= _MOST_FEATURES else strongest
    names = [literal(shown[0].features.names[i]) for i in kept]
    z = effects[:, kept].T
    reach = float(np.abs(z).max()) if z.size else 0.0
    texts = [[_cell_text(row, i) for row in shown] for i in kept]
    grid = {"x": list(range(len(shown))), "y": list(range(len(names)))}
    figure = go.Figure(
        go.Heatmap(
            z=z,
            **grid,
            zmin=-(reach or 1.0),
            zmax=reach or 1.0,
            colorscale=SIGNED_SCALE,
            colorbar={"title": "effect", "thickness": 14, "len": 1.0},
            customdata=texts,
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    _add_veil(figure, np.array([~row.features.stands_out[kept] for row in shown]).T, effects)
    _add_sources(figure, shown)
    dress(figure, height=_LEAST_HEIGHT, margin={"l": 10, "r": 10, "b": 56})
    figure.update_layout(showlegend=True)
    figure.update_yaxes(
        tickvals=grid["y"],
        ticktext=[shortened(name) for name in names],
        range=[len(names) - 0.5, -1.6],
        automargin=True,
        showgrid=False,
    )
    few = len(shown) <= 12
    figure.update_xaxes(
        title="explained row",
        range=[-0.5, len(shown) - 0.5],
        showgrid=False,
        **({"tickvals": grid["x"]} if few else {"tickformat": "d"}),
    )
    add_heading(
        figure,
        "What each feature does",
        f"{_outputs_words(shown)}\n{_cuts(rows, len(names))}\n{line}",
        letters=_LETTERS_BESIDE_LABELS,
    )
    place_legend(figure, below=52, height=_LEAST_HEIGHT)
    top, bottom = figure.layout.margin.t, figure.layout.margin.b
    height = top + bottom + 20 + 22 * (len(names) + 1)
    figure.update_layout(height=max(_LEAST_HEIGHT, height), margin_b=bottom + 20)
    return figure


def _add_veil(figure: Figure, noise: Any, effects: Any) -> None:
    """Fade the cells that noise alone could give."""
    if not noise.any():
        return
    figure.add_heatmap(
        z=np.where(noise, 1.0, np.nan),
        x=figure.data[0].x,
        y=figure.data[0].y,
        colorscale=[[0.0, VEIL], [1.0, VEIL]],
        zmin=0.0,
        zmax=1.0,
        showscale=False,
        hoverinfo="skip",
        name="noise alone could give it",
    )
    _add_swatch(figure, faded_words(effects.shape[1]), GREY, FADED)


def _add_sources(figure: Figure, rows: Sequence[RowInfluence]) -> None:
    """Mark above each row where its explanation comes from."""
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(_source(row), []).append(index)
    for source, indices in groups.items():
        figure.add_scatter(
            x=indices,
            y=[-1.0] * len(indices),
            mode="markers",
            marker={
                "symbol": _SYMBOLS[source],
                "size": 9,
                "color": COLORS["ink"],
                "line": {"width": 1.6, "color": COLORS["ink"]},
            },
            name=source if source == "released now" else f"{source}, free",
            customdata=[rows[i].source for i in indices],
            hovertemplate="row %{x}: %{customdata}<extra></extra>",
        )


def _source(row: RowInfluence) -> str:
    return row.source if row.spend is None else row.spend.source


def _cell_text(row: RowInfluence, index: int) -> str:
    features = row.features
    name, value = literal(features.names[index]), value_text(row.values[index])
    return (
        f"{name} = {value}<br>{features.effects[index]:+.4g}"
        f"{_error_text(features.errors[index])} on the {literal(row.output)}"
    )


def _cuts(rows: Sequence[RowInfluence], n_drawn: int) -> str:
    """Say what is not drawn; empty if everything is."""
    cuts = []
    if len(rows) > _MOST_ROWS:
        cuts.append(f"the first {_MOST_ROWS} of {len(rows):,} rows")
    n_features = len(rows[0].features.names)
    if n_features > n_drawn:
        cuts.append(f"the {n_drawn} strongest of {n_features:,} features")
    return f"Drawn: {', '.join(cuts)}" if cuts else ""


def _outputs_words(rows: Sequence[RowInfluence]) -> str:
    outputs = list(dict.fromkeys(row.output for row in rows))
    if len(outputs) == 1:
        predicted = [row.predicted for row in rows]
        low, high = number_text(min(predicted)), number_text(max(predicted))
        return f"Effect on the {outputs[0]}, predicted between {low} and {high}"
    return f"Effect on the output that is explained at each row: one of {len(outputs)}"
