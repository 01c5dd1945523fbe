"""Positions of values and of bins on the axis of a feature, and the names of its bins."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.plots.parts import literal, number_text, short_labels
from interpret_dp.released.background import ZERO_ENDS
from interpret_dp.schema.declarations import SYMLOG_UNIT, Continuous, Integer, integers_text

if TYPE_CHECKING:
    from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm

FloatArray = NDArray[np.float64]

OCCUPIED = 3.0
"""Noise units of a count from which on a bin is taken to hold rows at all."""

# The missing bin beside a curve, in shares of the axis: where it stands, and half its width.
_ASIDE, _HALF_WIDTH = 0.07, 0.03
_HALF_LEVEL = 0.4  # half the width of a level; levels are 1 apart
_LEAST_WIDTH = 0.008  # of the axis, for a bin that holds one number
# Of more nominal levels the highest and the lowest are drawn, and a few more on request.
_MOST_LEVELS, _AT_EACH_END, _MOST_REQUESTED = 40, 15, 10
_MOST_NAMED = 12  # levels with too few rows: of more of them one is drawn
_MOST_LABELS = 50
_PERCENTS = 7


@dataclass(frozen=True)
class FeatureAxis:
    """Position of a value on the axis of its feature.

    Attributes
    ----------
    spec : Continuous
        The declaration: bounds and scale.
    """

    spec: Continuous

    def at(self, values: Any) -> FloatArray:
        """Return the positions of raw values."""
        raw = np.asarray(values, dtype=np.float64)
        if self.spec.scale == "log":
            return np.asarray(np.log1p(np.maximum(raw - self.spec.extent[0], 0.0)))
        if self._unit:
            return np.asarray(np.arcsinh(raw / self._unit))
        return raw

    def values(self, positions: FloatArray) -> FloatArray:
        """Return the raw values at positions: the reverse of :meth:`at`."""
        if self.spec.scale == "log":
            return np.asarray(np.expm1(positions) + self.spec.extent[0])
        if self._unit:
            return np.asarray(np.sinh(positions) * self._unit)
        return positions

    @property
    def _unit(self) -> float:
        """Border between linear and logarithmic of a symmetric-log axis; 0 for other scales."""
        if self.spec.scale != "symlog":
            return 0.0
        return max(abs(self.spec.lower), abs(self.spec.upper)) * SYMLOG_UNIT

    def ticks(self) -> FloatArray:
        """Return round values, no two of them too close on the axis; integers of integers."""
        is_integer = isinstance(self.spec, Integer)
        lower, upper = self.spec.lower, self.spec.upper
        if lower == upper:
            return np.array([lower])
        if (upper - lower) / 5 < sys.float_info.min:
            # Among subnormal numbers none is round.
            return np.array([lower, upper])
        if self.spec.scale == "linear":
            step = max(_round_step((upper - lower) / 5), 1.0 if is_integer else 0.0)
            multiples = np.arange(math.ceil(lower / step), math.floor(upper / step) + 1)
            return np.asarray(multiples * step, dtype=np.float64)
        largest = math.ceil(math.log10(max(abs(lower), abs(upper))))
        decades = -round(math.log10(SYMLOG_UNIT)) if self._unit else 4
        exponents = range(largest - decades, min(largest, sys.float_info.max_10_exp) + 1)
        candidates = {sign * m * 10.0**e for e in exponents for m in (1, 2, 5) for sign in (-1, 1)}
        ticks = [lower]
        gap = float(self.at(upper) - self.at(lower)) / 9
        if is_integer:
            candidates = {value for value in candidates if value.is_integer()}
        for value in sorted(v for v in candidates | {0.0} if lower < v <= upper):
            if self.at(value) - self.at(ticks[-1]) >= gap:
                ticks.append(value)
        return np.array(ticks)


def _round_step(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= width))


def percent_ticks(model: AdditiveModel, low: float, high: float) -> dict[str, list[Any]]:
    """Return round percentages between two log-odds, and where they are on the axis of scores."""
    start = float(model.intercept[0])
    shares = 50 * (1 + np.tanh((start + np.linspace(low, high, _PERCENTS)) / 2))
    steps = [_round_step(max(gap / 2.5, 1e-9)) for gap in np.diff(shares).tolist()]
    # Each step is at most the gap, so that no two are the same.
    rounded = [round(share / step) * step for share, step in zip(shares[1:], steps, strict=True)]
    ticks = [share for share in rounded if 0 < share < 100]
    places = [math.log(share / (100 - share)) - start for share in ticks]
    return {"tickvals": places, "ticktext": [f"{share:.6g} %" for share in ticks]}


def bin_texts(feature: AdditiveFeature) -> list[str]:
    """Return what each bin of a feature holds, missing and undeclared ones included."""
    if not isinstance(feature.spec, Continuous):
        return ["missing", *feature.labels, "undeclared"]
    if feature.integers is not None:
        ranges = [integers_text(*bounds) for bounds in feature.integers]
        return ["missing", *ranges, "undeclared"]
    cuts = np.asarray(feature.cuts).tolist()
    borders = [number_text(v) for v in (feature.spec.lower, *cuts, feature.spec.upper)]
    ranges = [f"{low} to {high}" for low, high in pairwise(borders)]
    if ZERO_ENDS in cuts:
        at = cuts.index(ZERO_ENDS)
        ranges[at : at + 2] = ["0", f"above 0 to {borders[at + 2]}"]
    return ["missing", *ranges, "undeclared"]


@dataclass(frozen=True, eq=False)
class Places:
    """The drawn bins of a term from left to right, in units of the horizontal axis.

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
    rest : tuple of int
        Levels that are not drawn, as there are very many.
    """

    codes: tuple[int, ...]
    left: FloatArray
    right: FloatArray
    n_steps: int
    tick_positions: tuple[float, ...]
    tick_labels: tuple[str, ...]
    rest: tuple[int, ...] = ()

    @property
    def every(self) -> list[int]:
        """The bins, those that are not drawn included."""
        return [*self.codes, *self.rest]

    @property
    def steps(self) -> list[int]:
        """The bins that form a curve."""
        return list(self.codes[: self.n_steps])

    @property
    def alone(self) -> list[int]:
        """The bins that stand by themselves."""
        return list(self.codes[self.n_steps :])

    @property
    def centres(self) -> FloatArray:
        """Middle of each bin."""
        return np.asarray((self.left + self.right) / 2)

    @property
    def edges(self) -> FloatArray:
        """Borders of the bins that form a curve, shape (n_steps + 1,)."""
        return np.append(self.left[: self.n_steps], self.right[self.n_steps - 1])

    @property
    def border(self) -> float | None:
        """Border between a curve and the bins beside it; None if one of them is not drawn."""
        if not 0 < self.n_steps < len(self.codes):
            return None
        return float(self.right[self.n_steps - 1] + self.left[self.n_steps]) / 2

    @property
    def range(self) -> tuple[float, float]:
        """Ends of the axis, with some room."""
        low, high = float(self.left.min()), float(self.right.max())
        room = 0.01 * (high - low) if self.n_steps else 0.2
        return low - room, high + room

    def beside(self, place: int = 0, count: int = 1) -> FloatArray:
        """Return where bins that stand by themselves are drawn, for one of several classes."""
        width = (self.right - self.left)[self.n_steps :] * (not self.n_steps)
        shift = (place - (count - 1) / 2) / count
        return np.asarray(self.centres[self.n_steps :] + shift * width)

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
        return self.steps or self.every

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


def term_places(model: AdditiveModel, term: AdditiveTerm, also: Collection[int] = ()) -> Places:
    """Return where the bins of a term of one feature stand.

    The missing and the undeclared bin are drawn if they hold rows, or are among ``also``. Of more
    than 40 nominal levels the 15 of highest and of lowest score are drawn, a few of ``also``, and
    one for those with too few rows.

    Parameters
    ----------
    model : AdditiveModel
    term : AdditiveTerm
        As it was released: nominal levels are ordered by its scores.
    also : collection of int
    """
    feature = model.features[term.feature]
    threshold = OCCUPIED * model.noise_scale_binning
    ends = (0, feature.n_codes - 1)
    special = [code for code in ends if term.weights[code] > threshold or code in also]
    if isinstance(feature.spec, Continuous):
        # No number is undeclared.
        return _curve_places(feature, feature.spec, [code for code in special if code == 0])
    return _level_places(feature, term, special, also)


def _curve_places(feature: AdditiveFeature, spec: Continuous, special: list[int]) -> Places:
    axis = FeatureAxis(spec)
    cuts = np.zeros(0) if feature.cuts is None else feature.cuts
    lower, upper = spec.extent
    edges = axis.at(np.r_[lower, np.clip(cuts, lower, upper), upper])
    if edges[0] == edges[-1]:
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, len(edges))
    _widen(feature, edges)
    ticks = axis.ticks()
    positions, labels = axis.at(ticks).tolist(), [number_text(tick) for tick in ticks]
    left, right = edges[:-1], edges[1:]
    width = edges[-1] - edges[0]
    if special:
        # Beside the numbers, so that nobody reads it as one of them.
        place = float(edges[-1] + _ASIDE * width)
        left = np.r_[left, place - _HALF_WIDTH * width]
        right = np.r_[right, place + _HALF_WIDTH * width]
        positions, labels = [*positions, place], [*labels, "missing"]
    codes = (*range(1, len(edges)), *special)
    return Places(codes, left, right, len(edges) - 1, tuple(positions), tuple(labels))


def _widen(feature: AdditiveFeature, edges: FloatArray) -> None:
    """Give bins that hold one number, such as 0, a width that can be seen, where there is room."""
    singles = np.flatnonzero(np.asarray(feature.cuts) == ZERO_ENDS)
    if feature.integers is not None:
        singles = np.flatnonzero([low == high for low, high in feature.integers[:-1]])
    least = _LEAST_WIDTH * (edges[-1] - edges[0])
    for at in singles + 1:
        if edges[at] - edges[at - 1] < least < edges[at + 1] - edges[at - 1] - least:
            edges[at] = edges[at - 1] + least


def _level_places(
    feature: AdditiveFeature, term: AdditiveTerm, special: list[int], also: Collection[int]
) -> Places:
    texts, lacks_rows = bin_texts(feature), term.too_few_rows
    known, unknown = list(range(1, len(texts) - 1)), []
    # Codes before the gap, and after it: what is not drawn lies in between.
    head, n_hidden, n_unknown = len(known), 0, 0
    if feature.kind == "nominal":
        first = term.scores.reshape(len(texts), -1)[:, 0]
        known.sort(key=lambda code: -first[code])
        unknown = [code for code in known if lacks_rows[code]]
        known = [code for code in known if not lacks_rows[code]]
        head, n_unknown = len(known), len(unknown)
        if len(known) > _MOST_LEVELS:
            inner = known[_AT_EACH_END:-_AT_EACH_END]
            requested = [code for code in inner if code in also]
            requested = requested if len(requested) <= _MOST_REQUESTED else []
            head, n_hidden = _AT_EACH_END, len(inner) - len(requested)
            known = [*known[:head], *requested, *known[-_AT_EACH_END:]]
        if n_unknown > _MOST_NAMED:
            unknown = unknown[:1]
    codes = [*known, *unknown, *special]
    centres = np.arange(len(codes), dtype=np.float64)
    centres[head:] += n_hidden > 0
    # More labels than these cannot be read; hovering names every level.
    step = max(1, math.ceil(len(known) / _MOST_LABELS))
    labelled = [*range(0, len(known), step), *range(len(known), len(codes))]
    names = short_labels([literal(texts[codes[place]]) for place in labelled])
    ticks = [(float(centres[place]), name) for place, name in zip(labelled, names, strict=True)]
    if len(unknown) < n_unknown:
        place = float(centres[len(known)])
        ticks[-1 - len(special)] = (place, f"{n_unknown:,} with too few rows")
    if n_hidden:
        ticks.append((float(head), f"{n_hidden:,} in between"))
    positions, labels = zip(*ticks, strict=True)
    rest = tuple(sorted({*range(1, len(texts) - 1)} - {*codes}))
    half = _HALF_LEVEL
    return Places(tuple(codes), centres - half, centres + half, 0, positions, labels, rest)
