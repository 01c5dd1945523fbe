"""Rows as points, and their weights by the distance from the query.

The weight function is evaluated at public distances only, when the table is made. A row's weight
is then looked up by its squared distance, an integer: no float is computed from a row, the user's
function never sees one, and the sensitivity is a maximum over the cells of the table, not a
supremum that must be trusted (docs/proofs/dp_lime.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.schema import Categorical, Continuous, FeatureSpec, Schema
from interpret_dp.schema.containers import Table
from interpret_dp.schema.encode import encode_column, fine_bin_count

# Rows as points: the public map from a schema's columns to integer coordinates.
#
# A number becomes one coordinate, its place between its bounds; a category becomes one coordinate a
# level, of which the row's own is 1. Everything is a table look-up by the codes of
# :mod:`interpret_dp.schema.encode`, so that a row decides its own coordinates and no others, and
# all later sums are sums of integers.

UNITS = 2**8
"""Integer units of one coordinate: the range of a number, or the difference of two levels."""

Points = NDArray[np.int16]
Floats = NDArray[np.float64]

_N_PLACES = UNITS + 1


def differences(points: Points, point: Points) -> NDArray[np.int32]:
    """Return t, other points less one, in units; shape (n_points, n_coordinates)."""
    return np.asarray(points.astype(np.int32) - point)


@dataclass(frozen=True)
class Coordinates:
    """Public map from the columns of a table to coordinates.

    Parameters
    ----------
    names : tuple of str, shape (n_features,)
    specs : tuple of Continuous or Categorical, shape (n_features,)

    Notes
    -----
    In units of 1, a number runs from -1/2 at its lower bound to 1/2 at its upper bound, at equal
    steps of the declared scale; a missing number is 0, the middle. A category's coordinates are 0
    or 1; all are 0 where it is missing or undeclared. So two rows are at most 1 apart in a number
    and at most the square root of 2 in a category.

    Explanations measure distances in ``stretch`` times that, so that 1 is the largest there is:
    weight functions mean the same for 10 columns as for 500.
    """

    names: tuple[str, ...]
    specs: tuple[FeatureSpec, ...]

    @classmethod
    def of_schema(cls, schema: Schema, names: Sequence[str]) -> Coordinates:
        """Return the map of the columns ``names``, as the schema declares them.

        Raises
        ------
        SchemaError
            If the schema and the names do not agree.
        """
        return cls(tuple(names), schema.resolve(names))

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of coordinates of each feature."""
        return tuple(
            len(spec.levels) if isinstance(spec, Categorical) else 1 for spec in self.specs
        )

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates of a point."""
        return sum(self.widths)

    @property
    def largest_square(self) -> int:
        """A bound on the squared distance of two points, in squared units."""
        return UNITS**2 * sum(2 if isinstance(spec, Categorical) else 1 for spec in self.specs)

    @property
    def stretch(self) -> int:
        """Number of features' ranges in a distance of 1; no two rows exceed it."""
        return math.isqrt(self.largest_square // UNITS**2 - 1) + 1

    def points(self, table: Table) -> Points:
        """Return the coordinates of each row, in units.

        Parameters
        ----------
        table : Table
            Rows, of the features in their order.

        Returns
        -------
        ndarray of int16, shape (n_rows, n_coordinates)
            Between ``-UNITS / 2`` and ``UNITS``. Private, if the rows are.
        """
        points: Points = np.zeros((table.n_rows, self.n_coordinates), np.int16)
        # Thousands of columns may share one declaration.
        numbers = {spec for spec in self.specs if isinstance(spec, Continuous)}
        places = {spec: _places(spec) for spec in numbers}
        for index, (spec, coordinates) in enumerate(self._features()):
            column = table.column(index)
            if isinstance(spec, Categorical):
                codes = encode_column(column, spec, _N_PLACES)
                rows = np.flatnonzero((codes >= 1) & (codes <= len(spec.levels)))
                points[rows, coordinates.start + codes[rows].astype(np.intp) - 1] = UNITS
            else:
                number, of_code = places[spec]
                points[:, coordinates.start] = of_code[encode_column(column, number, _N_PLACES)]
        return points

    def effects(self, coefficients: Floats, point: Points) -> Floats:
        """Return the effect of each feature of a point.

        Parameters
        ----------
        coefficients : ndarray of float64, shape (n_coordinates,)
            Of an explanation.
        point : ndarray of int16, shape (n_coordinates,)

        Returns
        -------
        ndarray of float64, shape (n_features,)
            For a number, the change of the model's output over its whole range; for a category,
            that of having the point's level against the mean of all others, and 0 where the point
            has none of its levels.
        """
        effects = np.zeros(len(self.specs))
        for index, (spec, coordinates) in enumerate(self._features()):
            if not isinstance(spec, Categorical):
                effects[index] = coefficients[coordinates.start]
                continue
            is_level = point[coordinates] > 0
            others = coefficients[coordinates][~is_level]
            if is_level.any() and len(others):
                effects[index] = coefficients[coordinates][is_level][0] - others.mean()
        return np.asarray(effects / self.stretch)

    def _features(self) -> Iterator[tuple[FeatureSpec, slice]]:
        """Yield the declaration of each feature with its coordinates."""
        start = 0
        for spec, width in zip(self.specs, self.widths, strict=True):
            yield spec, slice(start, start + width)
            start += width


def _places(spec: Continuous) -> tuple[Continuous, NDArray[np.int16]]:
    """Return the declaration that codes a number, and the coordinate of each code.

    Codes are those of missing, of the bins, and never of 'undeclared'. Bins of integers are not at
    equal steps of the scale; those of a number between the same bounds are.
    """
    number = Continuous(spec.lower, spec.upper, spec.scale)
    n_fine = fine_bin_count(number, _N_PLACES)
    places = np.zeros(n_fine + 2, dtype=np.int16)
    if n_fine > 1:
        steps = np.arange(n_fine)
        places[1:-1] = (2 * steps * UNITS + n_fine - 1) // (2 * (n_fine - 1)) - UNITS // 2
    return number, places


WeightFunction = Callable[[Floats], Floats]

_MOST_CELLS = 2**18
# The enforced bound at the largest distance has this many units, so that cutting off the rest
# changes no weight by more than half a percent of it.
_LEAST_UNITS = 2**8
_LEAST_BITS = 10
# Floats below have a relative error under 1e-14.
_ROUNDING = 1e-12


def stable_weight(distances: Floats) -> Floats:
    """Return 1 everywhere: with the bound that is enforced, this is the paper's equation 5.

    Equal weight up to the distance (sqrt(2 c + 1) - 1) / 2, then c / (2 d (d + 1)).
    """
    return np.ones_like(distances)


def exponential_weight(distances: Floats) -> Floats:
    """Return exp(-d^2), the paper's other example."""
    return np.exp(-(distances**2))


@dataclass(frozen=True)
class WeightTable:
    """Integer weights by squared distance; public.

    Attributes
    ----------
    weights : ndarray of int64, shape (n_cells + 1,)
        ``weights[square >> shift]`` over ``2**bits`` is the weight of a row. The last is 0 and
        stands for every distance beyond the table.
    shift : int
        A cell holds ``2**shift`` squared distances, in squared units.
    bits : int
    stretch : int
        A distance of 1 has ``stretch * UNITS`` units.
    c : float
        The sensitivity constant that was enforced.
    """

    weights: NDArray[np.int64] = field(repr=False)
    shift: int
    bits: int
    stretch: int
    c: float

    def of_squares(self, squares: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weight of each squared distance, in units of ``2**-bits``."""
        cells = np.minimum(squares >> self.shift, len(self.weights) - 1)
        return np.asarray(self.weights[cells])

    @property
    def scale(self) -> float:
        """Lattice units of a second moment of 1: weights by products of two coordinates."""
        return float(2**self.bits * self.unit**2)

    @property
    def unit(self) -> int:
        """Integer units of a distance of 1, and of a label of 1."""
        return self.stretch * UNITS

    @property
    def moments_norm(self) -> int:
        """Bound on the L2 norm of what one row adds to (A, b), in lattice units.

        The largest ``w sqrt(s (s + unit^2))`` over cells of weight w and largest squared distance
        s: the Frobenius norm of A is w s, the norm of b is at most w sqrt(s) unit.
        """
        squares = _largest_squares(len(self.weights) - 1, self.shift)
        return _rounded_up(self.weights[:-1] * np.sqrt(squares * (squares + self.unit**2)))

    @property
    def gradient_norm(self) -> int:
        """Bound on the norm of what one row adds to A phi - b over the unit ball, likewise.

        The largest ``w (s + sqrt(s) unit)``; c / 2 at most, in units of 1.
        """
        squares = _largest_squares(len(self.weights) - 1, self.shift)
        return _rounded_up(self.weights[:-1] * (squares + np.sqrt(squares) * self.unit))


def weight_table(
    weight: WeightFunction, c: float, largest_square: int, stretch: int
) -> WeightTable:
    """Tabulate ``min(weight(d), c / (2 d (d + 1)))``, rounded down, over all distances.

    Parameters
    ----------
    weight : callable
        Maps distances, an array of float64 of any length, to weights; called once, with public
        distances. It need not obey the bound, which is enforced, nor decrease.
    c : float
        Bounds what one row can do: the gradient of the loss, summed over rows, changes by at most
        c when one is added or removed, for every explanation in the unit ball. Between 2**-10 and
        2**10. Larger values count more near rows fully; noise grows alike.
    largest_square : int
        Largest squared distance, in squared units, as ``Coordinates.largest_square``.
    stretch : int
        As ``Coordinates.stretch``: the distance ``stretch * UNITS`` units is 1.

    Raises
    ------
    TypeError, ValueError
        If ``c`` is out of range, or ``weight`` returns anything but as many finite numbers of at
        least 0, not all too small for any row to count.

    Notes
    -----
    Each cell takes the weight at its largest distance, where the bound is smallest. Patel, Shokri
    and Zick (2022), Lemma 3.1. (Their claim that exp(-d^2) obeys it for c = 1 is wrong: it takes
    c = 1.527, so the bound cannot be left to the function.)
    """
    c = check_real("c", c, low=2.0**-10, high=2.0**10, mend="0.5 is a usual choice.")
    largest_square = check_int("largest_square", largest_square, low=1, high=2**40)
    stretch = check_int("stretch", stretch, low=1, high=2**12)
    shift = max(0, (largest_square // _MOST_CELLS).bit_length())
    n_cells = (largest_square >> shift) + 1
    distances = np.sqrt(_largest_squares(n_cells, shift)) / (stretch * UNITS)
    wanted = _checked(weight, distances)
    # Where the only distance is 0 the row adds nothing, whatever its weight.
    bounds = np.zeros_like(distances)
    is_apart = distances > 0
    bounds[is_apart] = c / (2.0 * distances[is_apart] * (distances[is_apart] + 1.0))
    bits = max(_LEAST_BITS, math.ceil(math.log2(_LEAST_UNITS / bounds[-1])))
    enforced = np.minimum(wanted, bounds * (1.0 - _ROUNDING))
    weights = np.append(np.floor(enforced * 2.0**bits), 0.0).astype(np.int64)
    if not weights.any():
        raise ValueError(
            "The weight function is 0, or nearly so, at every distance; it must be above 0 at "
            f"some. Distances between rows run from 0 to {distances[-1]:.3g}: widen the function."
        )
    weights.flags.writeable = False
    return WeightTable(weights, shift, bits, stretch, c)


def _largest_squares(n_cells: int, shift: int) -> Floats:
    """Return the largest squared distance of each cell; exact, being below 2**53."""
    return np.arange(1, n_cells + 1, dtype=np.float64) * 2.0**shift - 1.0


def _rounded_up(norms: NDArray[Any]) -> int:
    return max(1, math.ceil(float(norms.max()) * (1.0 + _ROUNDING)))


def _checked(weight: WeightFunction, distances: Floats) -> Floats:
    if not callable(weight):
        raise TypeError(
            f"weight is {weight!r} ({type(weight).__name__}); it must be a function from distances "
            "to weights, such as lambda d: np.exp(-d)."
        )
    weights = np.asarray(weight(distances.copy()), dtype=np.float64)
    if weights.shape != distances.shape:
        raise ValueError(
            f"The weight function returned shape {weights.shape} for {distances.shape} distances; "
            "it must return one weight for each."
        )
    is_wrong = ~(np.isfinite(weights) & (weights >= 0)) & (distances > 0)
    if is_wrong.any():
        first = int(np.argmax(is_wrong))
        raise ValueError(
            f"The weight function returned {weights[first]:g} at distance {distances[first]:.3g}; "
            "weights must be finite and at least 0. They are cut to c / (2 d (d + 1)) afterwards."
        )
    return np.where(np.isfinite(weights), weights, 0.0)
