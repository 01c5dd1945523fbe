"""Plausible curves in the figure of a term: what a fit without noise could have had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.explanation.draws import drawn_curves

if TYPE_CHECKING:
    from interpret_dp.explanation.plots.shape import Curve, TermPlot

DRAWS = "plausible curves"
"""``meta`` of plausible curves, and the label of the button that shows them."""
DRAWS_OPACITY = 0.5


def add_draws(
    plot: TermPlot, curves: Sequence[Curve], columns: Sequence[int], *, visible: bool = False
) -> None:
    """Add plausible versions of curves as thin lines, and of levels as small points.

    Parameters
    ----------
    plot : TermPlot
        Of a term; unchanged where the noise of the term is not known.
    curves : sequence of Curve
        Those of the term, one a class.
    columns : sequence of int
        Which of them.
    visible : bool, default=False
    """
    if plot.term.noise_deviations is None:
        return
    drawn, places = drawn_curves(plot.term), plot.places
    for place, number in enumerate(columns):
        curve = curves[number]
        own = (drawn[..., number] if curve.is_class else drawn).round(4)
        name = f"{len(own)} {DRAWS}"
        style: dict[str, Any] = {
            "name": f"{curve.name}, {name}" if curve.is_class else name,
            "legendgroup": curve.name if curve.is_class else None,
            "meta": DRAWS,
            "opacity": DRAWS_OPACITY,
            "visible": visible,
        }
        if places.n_steps:
            # None divides the lines of one trace.
            steps = own[:, places.steps]
            x = [edge for _ in steps for edge in (*places.edges.tolist(), None)]
            y = [score for line in steps.tolist() for score in (*line, line[-1], None)]
            line = {"color": curve.color, "width": 1, "shape": "hv"}
            plot.add(x, y, mode="lines", line=line, **style)
        if places.alone:
            x = np.tile(places.beside(place, len(columns)), len(own)).tolist()
            y = own[:, places.alone].ravel().tolist()
            style["showlegend"] = not places.n_steps
            plot.add(x, y, mode="markers", marker={"color": curve.color, "size": 4}, **style)
