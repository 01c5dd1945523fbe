"""What a plot of the editor shows, as values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.dashboard.editor_places import Places
from interpret_dp.editor import TermView
from interpret_dp.explanation.figure_parts import number_text
from interpret_dp.released import Band
from interpret_dp.schema.declarations import integers_text

__all__ = ["Drawn", "bin_text", "joined", "range_text", "score_range"]

FloatArray = NDArray[np.float64]

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

    def band(self, column: int) -> Band | None:
        """Return the noise band of one curve; None if it is not known."""
        return None if self.view.band is None else self.view.band.of_class(column)


def score_range(drawn: Drawn) -> tuple[float, float]:
    """Return the vertical range that holds all shown curves and the noise band."""
    codes = list(drawn.places.codes)
    ends = [0.0]
    for column in drawn.columns:
        band = drawn.band(column)
        shown = [drawn.scores(which, column)[codes] for which in ("original", "last", "current")]
        if band is not None:
            shown += band.at(codes).drawn_around(shown[0])
        for values in shown:
            ends += [float(values.min()), float(values.max())]
    room = _ROOM * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room


def joined(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the range that holds both."""
    return min(first[0], second[0]), max(first[1], second[1])


def bin_text(view: TermView, code: int) -> str:
    """Return what a bin holds: a range in the feature's units, or a level."""
    if view.edges is None or not 0 < code < len(view.labels) - 1:
        return view.labels[code]
    return range_text(view, code, code)


def range_text(view: TermView, first: int, last: int) -> str:
    """Return the range of regular bins of a number, from one to another."""
    if view.integers is not None:
        return integers_text(view.integers[first - 1][0], view.integers[last - 1][1])
    edges = np.asarray(view.edges)
    return f"{number_text(edges[first - 1])} to {number_text(edges[last])}"
