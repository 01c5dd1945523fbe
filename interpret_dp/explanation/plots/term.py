"""The figure of a term with heading, privacy cost, legend, and buttons for previews and scales."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from interpret_dp.explanation.plots.heat import heat_figure, heat_range
from interpret_dp.explanation.plots.parts import add_heading, buttons, place_legend
from interpret_dp.explanation.plots.plausible import DRAWS, DRAWS_OPACITY
from interpret_dp.explanation.plots.shape import (
    FADED,
    common_range,
    edit_note,
    monotone_previews,
    shape_figure,
    with_bands,
)
from interpret_dp.released.sentences import term_sentence

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.released import AdditiveModel, AdditiveTerm


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
    figure = shape_figure(model, term, previews=previews, draws=True)
    bottom = figure.layout.margin.b
    menus = [scale_menu(model)]
    if any(trace.meta not in (None, "released") for trace in figure.data):
        state = "edited" if term.is_edited else "released"
        menus.append(_preview_menu(figure, list(previews), state))
    figure.update_layout(updatemenus=menus, showlegend=True)
    kind = f"{feature.kind}, edited" if term.is_edited else feature.kind
    says = [term_sentence(model, term), edit_note(*with_bands(term))]
    words = "\n".join([*textwrap.wrap(" ".join(says).strip(), 95), line]).strip()
    add_heading(figure, f"Term: {feature.name} ({kind})", words, with_menu=True)
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
    figure.update_layout(updatemenus=[buttons(scales, x=1, xanchor="right")])
    names = " & ".join(model.features[index].name for index in term.features)
    kind = "interaction, edited" if term.is_edited else "interaction"
    title = f"Term: {names} ({kind}; pale: within the noise)"
    height = figure.layout.height
    add_heading(figure, title, line, with_menu=True)
    figure.update_layout(height=max(480, height + 110))
    return figure


def scale_menu(model: AdditiveModel) -> dict[str, Any]:
    """Return buttons for the term's own range of scores and for that of all terms."""
    lowest, highest = common_range(model)
    return buttons(
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


def _preview_menu(figure: Figure, names: list[str], state: str) -> dict[str, Any]:
    """Return buttons that show one version and fade the model's curve behind a preview."""
    metas = [trace.meta for trace in figure.data]
    indices = [index for index, meta in enumerate(metas) if meta is not None]

    def version(shown: str | None) -> list[Any]:
        visible = [metas[i] in ("released", shown) for i in indices]
        opacity = {"released": FADED if shown in names else 1.0, DRAWS: DRAWS_OPACITY}
        faded = [opacity.get(metas[i], 1.0) for i in indices]
        return [{"visible": visible, "opacity": faded}, indices]

    entries = [(f"as {state}", "restyle", version(None))]
    entries += [(f"preview {name}", "restyle", version(name)) for name in names]
    if DRAWS in metas:
        entries.append((DRAWS, "restyle", version(DRAWS)))
    return buttons(entries, x=0, xanchor="left")
