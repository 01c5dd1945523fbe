"""The curves that a term's figure draws: one, or one a class, each with the band of its noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.figure_parts import COLORS, literal
from interpret_dp.released.intervals import Band
from interpret_dp.released.isotonic import isotonic
from interpret_dp.schema.declarations import Categorical

if TYPE_CHECKING:
    from interpret_dp.released import AdditiveModel, AdditiveTerm

__all__ = ["CLASS_COLORS", "Curve", "common_range", "monotone_previews", "term_curves"]

FloatArray = NDArray[np.float64]


CLASS_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#3c3c3c")
"""Wong's palette without its yellow, which is hard to see on white."""

_DASHES = ("solid", "dash", "dot")
_CLASS_BAND_OPACITY = 0.12


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a term's figure.

    Attributes
    ----------
    name : str
        What the legend calls it, literally.
    scores : ndarray of float64, shape (n_codes,)
    band : Band or None
        Ends of the 95 % band; None where the noise is not known.
    color, band_color, dash : str
        In plotly's words.
    is_class : bool
        One of several classes.
    """

    name: str
    scores: FloatArray
    band: Band | None
    color: str = COLORS["curve"]
    band_color: str = COLORS["band"]
    dash: str = "solid"
    is_class: bool = False


def term_curves(
    model: AdditiveModel, term: AdditiveTerm, scores: FloatArray | None = None
) -> list[Curve]:
    """Return the curves of a term, in the order of the classes.

    Parameters
    ----------
    model : AdditiveModel
    term : AdditiveTerm
    scores : ndarray of float64, shape of the term's scores, default=None
        Other scores for the same bins, drawn without a band: a preview.
    """
    band = None if scores is not None else term.band()
    shown = term.scores if scores is None else scores
    if shown.ndim == 1:
        return [Curve("released curve", shown, band)]
    curves = []
    for index, label in enumerate(model.classes or ()):
        color = CLASS_COLORS[index % len(CLASS_COLORS)]
        curves.append(
            Curve(
                name=literal(str(label)),
                scores=shown[:, index],
                band=None if band is None else band.of_class(index),
                color=color,
                band_color=_transparent(color),
                dash=_DASHES[index // len(CLASS_COLORS) % len(_DASHES)],
                is_class=True,
            )
        )
    return curves


def monotone_previews(model: AdditiveModel, term: AdditiveTerm) -> Mapping[str, FloatArray]:
    """Return the nearest increasing and decreasing versions of a term, by name.

    Nearest in squared distance, weighted by the released numbers of rows, over the bins that have
    an order; the missing and the unseen bin stay. Empty for pairs, for nominal features and for
    fewer than two bins. Costs nothing: it is computed from released figures.

    Returns
    -------
    mapping of str to ndarray, shape of the term's scores
    """
    if term.partner is not None:
        return {}
    spec = model.features[term.feature].spec
    if len(term.scores) < 4 or (isinstance(spec, Categorical) and not spec.ordered):
        return {}
    return {
        name: _isotonic(term, increasing=increasing)
        for name, increasing in (("increasing", True), ("decreasing", False))
    }


def _isotonic(term: AdditiveTerm, *, increasing: bool) -> FloatArray:
    result = np.array(term.scores)
    columns = result.reshape(len(result), -1)
    for column in columns.T:
        column[1:-1] = isotonic(column[1:-1], term.weights[1:-1], increasing=increasing)
    return result


def common_range(model: AdditiveModel) -> tuple[float, float]:
    """Return the range of scores that holds every term's curve and band, with some room."""
    ends = [0.0]
    for term in model.terms:
        for curve in term_curves(model, term):
            band = () if curve.band is None else curve.band.drawn_around(curve.scores)
            for values in (curve.scores, *band):
                ends += [float(values.min()), float(values.max())]
    # plotly's own range leaves a twentieth of the axis on each side, 0.056 of what is drawn: with
    # less, the term with both extremes would be drawn larger on the common scale than alone.
    room = 0.06 * (max(ends) - min(ends)) or math.ulp(1.0)
    return min(ends) - room, max(ends) + room


def _transparent(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {_CLASS_BAND_OPACITY})"
