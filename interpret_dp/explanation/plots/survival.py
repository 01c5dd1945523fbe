"""The figure of survival by level: one curve for each level of a feature, all else average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.explanation.plots.axes import bin_texts
from interpret_dp.explanation.plots.parts import CLASS_COLORS, literal, transparent
from interpret_dp.released import AdditiveFeature
from interpret_dp.released.survival import survival_curves
from interpret_dp.schema import Continuous

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# More curves cannot be distinguished. Those of a number are at quantiles of the rows.
_MOST_LEVELS = 7
_QUANTILES = 0.1, 0.3, 0.5, 0.7, 0.9


def survival_figure(explanation: Any, key: int | None) -> Figure:
    """Draw survival by level of one term, with the others at their mean score.

    Parameters
    ----------
    explanation : PrivateEBMExplanation
        Of a model of survival.
    key : int or None
        Number of the term; None is the first.

    Raises
    ------
    ValueError
        If the model is none of survival, or the term is a pair.
    """
    import plotly.graph_objects as go

    model, figure = explanation.model, go.Figure()
    term = model.terms[key or 0]
    feature, (baseline, latest) = model.subject(term), model.baseline_of_times
    if not isinstance(feature, AdditiveFeature):
        raise ValueError(f"{feature.name!r} is a pair. Draw the term of one feature.")
    weights = np.maximum(term.weights, 0.0)
    if isinstance(feature.spec, Continuous):
        below = np.cumsum(weights) / max(float(weights.sum()), 1e-300)
        bins = np.unique(np.searchsorted(below, _QUANTILES))
    else:
        known = np.argsort(-weights[1:-1])[:_MOST_LEVELS]  # without missing and undeclared cells
        bins = np.sort(known) + 1
    deviations = term.standard_deviations
    spread = np.zeros_like(term.scores) if deviations is None else deviations
    scores = np.stack([model.intercept[0] + term.scores, spread], axis=1)[bins]
    curves = survival_curves(baseline, latest, scores, None, 0.95)
    texts = bin_texts(feature)
    for place, code in enumerate(bins):
        color, name = CLASS_COLORS[place % len(CLASS_COLORS)], literal(texts[code])
        if deviations is not None:
            edge = np.concatenate([curves.lower[place], curves.upper[place][::-1]])
            figure.add_scatter(
                x=np.concatenate([curves.times, curves.times[::-1]]),
                y=edge,
                fill="toself",
                fillcolor=transparent(color, 0.15),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
            )
        figure.add_scatter(
            x=curves.times,
            y=curves.survival[place],
            mode="lines",
            line={"color": color},
            name=name,
            hovertemplate=f"{name}: %{{y:.1%}} without event at %{{x:.3g}}<extra></extra>",
        )
    figure.update_layout(
        title=f"Survival by {literal(feature.name)}, with 95 % noise bands",
        xaxis_title="time",
        showlegend=True,
    )
    figure.update_yaxes(title="without event", range=[0, 1], tickformat=".0%")
    return figure
