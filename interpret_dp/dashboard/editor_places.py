"""Where the bins of a term stand on the editor's plot, and which of them a gesture means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.dashboard.editor_cells import CellPlaces, cell_places
from interpret_dp.editor import TermView
from interpret_dp.explanation.axes import FeatureAxis
from interpret_dp.explanation.figure_parts import literal, number_text, shortened
from interpret_dp.released import AdditiveModel
from interpret_dp.schema import Continuous

__all__ = ["Places", "places_of"]

FloatArray = NDArray[np.float64]

_OCCUPIED = 3.0  # noise units of a count from which on a bin is taken to hold rows at all
# The missing bin beside a curve, in shares of the axis: where it stands, and half its width.
_ASIDE, _HALF_WIDTH = 0.07, 0.03
_HALF_LEVEL = 0.4


@dataclass(frozen=True, eq=False)
class Places:
    """The drawn bins from left to right, in units of the horizontal axis.

    Attributes
    ----------
    codes : tuple of int, shape (n_drawn,)
        Indices into the term's scores.
    left, right : ndarray of float64, shape (n_drawn,)
    n_steps : int
        How many of them, from the left, form a curve; the others stand by themselves.
    tick_positions : tuple of float
    tick_labels : tuple of str
        As plotly writes them literally.
    """

    codes: tuple[int, ...]
    left: FloatArray
    right: FloatArray
    n_steps: int
    tick_positions: tuple[float, ...]
    tick_labels: tuple[str, ...]

    @property
    def centres(self) -> FloatArray:
        """Middle of each bin."""
        return np.asarray((self.left + self.right) / 2)

    @property
    def edges(self) -> FloatArray:
        """Borders of the bins that form a curve, shape (n_steps + 1,)."""
        return np.append(self.left[: self.n_steps], self.right[self.n_steps - 1])

    def between(self, low: float, high: float) -> list[int]:
        """Return the bins that a range of the axis touches."""
        touched = (self.left < high) & (self.right > low)
        return [code for code, is_in in zip(self.codes, touched, strict=True) if is_in]

    def within(self, ranges: Mapping[str, Sequence[float]]) -> list[int]:
        """Return the bins that a rectangle touches, given by plotly's ``range``."""
        return self.between(min(ranges["x"]), max(ranges["x"]))

    def reaching(self, chosen: Collection[int], code: int) -> list[int]:
        """Return the drawn bins from the chosen ones to another."""
        positions = [self.codes.index(c) for c in {*chosen, code} if c in self.codes]
        return list(self.codes[min(positions) : max(positions) + 1])

    def whole(self) -> list[int]:
        """Return every drawn bin that has a place among the others: levels, or the curve."""
        return list(self.codes[: self.n_steps or None])

    def runs(self, chosen: Collection[int]) -> list[tuple[float, float]]:
        """Return the ranges of the axis that chosen bins cover, neighbours as one."""
        ranges: list[tuple[float, float]] = []
        previous = -2
        for position, code in enumerate(self.codes):
            if code not in chosen:
                continue
            low, high = float(self.left[position]), float(self.right[position])
            if position == previous + 1 and position != self.n_steps:
                ranges[-1] = (ranges[-1][0], high)
            else:
                ranges.append((low, high))
            previous = position
        return ranges


def places_of(model: AdditiveModel, term: int, view: TermView) -> Places | CellPlaces:
    """Return where a term's bins or cells stand; missing and unseen ones if they hold rows.

    Parameters
    ----------
    model : AdditiveModel
        The base model of the session.
    term : int
    view : TermView
        The same term, as it is now.
    """
    if model.terms[term].partner is not None:
        return cell_places(model, model.terms[term])
    spec = model.features[model.terms[term].feature].spec
    special = [
        code
        for code in (0, len(view.labels) - 1)
        if view.weights[code] > _OCCUPIED * model.noise_scale_binning
        or not np.array_equal(view.current[code], view.original[code])
    ]
    if isinstance(spec, Continuous) and view.edges is not None:
        return _of_curve(FeatureAxis(spec), view, [code for code in special if code == 0])
    return _of_levels(view, special)


def _of_curve(axis: FeatureAxis, view: TermView, special: Sequence[int]) -> Places:
    edges = axis.at(view.edges)
    if edges[0] == edges[-1]:
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, len(edges))
    ticks = axis.ticks()
    positions, labels = axis.at(ticks).tolist(), [number_text(tick) for tick in ticks]
    left, right = edges[:-1], edges[1:]
    width = edges[-1] - edges[0]
    if special:
        place = edges[-1] + _ASIDE * width
        left = np.r_[left, place - _HALF_WIDTH * width]
        right = np.r_[right, place + _HALF_WIDTH * width]
        positions, labels = [*positions, float(place)], [*labels, "missing"]
    return Places(
        codes=(*range(1, len(edges)), *special),
        left=left,
        right=right,
        n_steps=len(edges) - 1,
        tick_positions=tuple(positions),
        tick_labels=tuple(labels),
    )


def _of_levels(view: TermView, special: Sequence[int]) -> Places:
    codes = list(range(1, len(view.labels) - 1))
    if view.kind == "nominal":
        # By the released scores, so that the order stays while one edits.
        first = view.original.reshape(len(view.labels), -1)[:, 0]
        codes.sort(key=lambda code: -first[code])
    codes += special
    centres = np.arange(len(codes), dtype=np.float64)
    names = ["undeclared" if c == len(view.labels) - 1 else view.labels[c] for c in codes]
    return Places(
        codes=tuple(codes),
        left=centres - _HALF_LEVEL,
        right=centres + _HALF_LEVEL,
        n_steps=0,
        tick_positions=tuple(centres.tolist()),
        tick_labels=tuple(shortened(literal(name)) for name in names),
    )
