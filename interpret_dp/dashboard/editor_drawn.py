"""What a plot of the editor shows, as values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.dashboard.editor_places import Places
from interpret_dp.editor import TermView
from interpret_dp.explanation.figure_parts import number_text

__all__ = ["Drawn", "bin_text", "joined", "score_range"]

FloatArray = NDArray[np.float64]

_QUANTILE_95 = 1.96
_ROOM = 0.07  # above and below the curves, as a share of their range


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What a plot shows and how.

    Attributes
    ----------
    view : TermView
    places : Places
    unit : str
        What a score counts.
    classes : tuple of str
        Labels of the classes; empty unless there are more than two.
    column : int or None
        The class that is shown; None for all of them.
    selected : frozenset of int
        The chosen bins.
    drags : bool
        Whether a gesture moves bins; otherwise it selects them.
    common_range : (float, float) or None
        Vertical range of all terms; None for the term's own.
    """

    view: TermView
    places: Places
    unit: str
    classes: tuple[str, ...] = ()
    column: int | None = None
    selected: frozenset[int] = frozenset()
    drags: bool = False
    common_range: tuple[float, float] | None = None

    def on(self, score_range: tuple[float, float]) -> Drawn:
        """Return the same on a given vertical range."""
        return dataclasses.replace(self, common_range=score_range)

    @property
    def columns(self) -> list[int]:
        """Indices of the shown curves."""
        if self.column is not None:
            return [self.column]
        return list(range(max(1, len(self.classes))))

    def scores(self, which: str, column: int) -> FloatArray:
        """Return one curve of ``original``, ``last`` or ``current``, shape (n_codes,)."""
        scores: FloatArray = getattr(self.view, which)
        return scores.reshape(len(scores), -1)[:, column]

    def half_band(self, column: int) -> FloatArray | None:
        """Return the half width of the noise band, shape (n_codes,); None if it is not known."""
        deviations = self.view.standard_deviations
        if deviations is None:
            return None
        return np.asarray(_QUANTILE_95 * deviations.reshape(len(deviations), -1)[:, column])


def score_range(drawn: Drawn) -> tuple[float, float]:
    """Return the vertical range that holds all shown curves and the noise band."""
    codes = list(drawn.places.codes)
    ends = [0.0]
    for column in drawn.columns:
        half = drawn.half_band(column)
        reach = 0.0 if half is None else half[codes]
        released = drawn.scores("original", column)[codes]
        ends += [float((released - reach).min()), float((released + reach).max())]
        for which in ("last", "current"):
            scores = drawn.scores(which, column)[codes]
            ends += [float(scores.min()), float(scores.max())]
    room = _ROOM * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room


def joined(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the range that holds both."""
    return min(first[0], second[0]), max(first[1], second[1])


def bin_text(view: TermView, code: int) -> str:
    """Return what a bin holds: a range in the feature's units, or a level."""
    if view.edges is None or not 0 < code < len(view.labels) - 1:
        return view.labels[code]
    return f"{number_text(view.edges[code - 1])} to {number_text(view.edges[code])}"
