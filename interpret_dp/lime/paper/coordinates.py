"""Rows as points: the public map from a schema's columns to integer coordinates.

A number becomes one coordinate, its place between its bounds; a category becomes one coordinate a
level, of which the row's own is 1. Everything is a table look-up by the codes of
:mod:`interpret_dp.schema.encode`, so that a row decides its own coordinates and no others, and all
later sums are sums of integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.schema import Categorical, Continuous, FeatureSpec, Schema
from interpret_dp.schema.containers import Table
from interpret_dp.schema.encode import encode_column
from interpret_dp.schema.fine_bins import fine_bin_count

UNITS = 2**8
"""Integer units of one coordinate: the range of a number, or the difference of two levels."""

Points = NDArray[np.int16]

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

    def effects(self, coefficients: NDArray[np.float64], point: Points) -> NDArray[np.float64]:
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
