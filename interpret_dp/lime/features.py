"""Rows as points: the public map from a schema's columns to integer coordinates.

A number becomes one coordinate, its place between its bounds; a category becomes one coordinate a
level, of which the row's own is 1. Everything is a table look-up by the codes of
:mod:`interpret_dp.schema.encode`, so that a row decides its own coordinates and no others, and
all later sums are sums of integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.schema import Categorical, Continuous, FeatureSpec, Schema, level_labels
from interpret_dp.schema.encode import encode_column
from interpret_dp.schema.fine_bins import fine_bin_count
from interpret_dp.schema.tables import Table

__all__ = ["UNITS", "LocalFeatures"]

#: Integer units of one coordinate: the range of a number, or the difference of two levels.
UNITS = 2**8

Points = NDArray[np.int16]
_N_BINS = UNITS + 1


@dataclass(frozen=True)
class LocalFeatures:
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
    and at most the square root of 2 in a category. Explanations measure distances in ``stretch``
    times that, so that 1 is the largest there is: weight functions mean the same for 10 columns as
    for 500.
    """

    names: tuple[str, ...]
    specs: tuple[FeatureSpec, ...]

    @classmethod
    def of_schema(cls, schema: Schema, names: Sequence[str]) -> LocalFeatures:
        """Return the map of the columns ``names``, as the schema declares them.

        Raises
        ------
        SchemaError
            If the schema and the names do not agree.
        """
        return cls(tuple(names), schema.resolve(names))

    @property
    def widths(self) -> tuple[int, ...]:
        """How many coordinates each feature has."""
        return tuple(
            len(spec.levels) if isinstance(spec, Categorical) else 1 for spec in self.specs
        )

    @property
    def n_coordinates(self) -> int:
        """How many coordinates a point has."""
        return sum(self.widths)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each coordinate: the feature's, or ``feature = level``."""
        found: list[str] = []
        for name, spec in zip(self.names, self.specs, strict=True):
            if isinstance(spec, Categorical):
                found += [f"{name} = {level}" for level in level_labels(spec)]
            else:
                found.append(name)
        return tuple(found)

    @property
    def largest_square(self) -> int:
        """A bound on the squared distance of two points, in squared units."""
        return UNITS**2 * sum(2 if isinstance(spec, Categorical) else 1 for spec in self.specs)

    @property
    def stretch(self) -> int:
        """The range of how many numbers makes a distance of 1, which no two rows exceed."""
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
        points = np.zeros((table.n_rows, self.n_coordinates), dtype=np.int16)
        start = 0
        for index, (spec, width) in enumerate(zip(self.specs, self.widths, strict=True)):
            codes = encode_column(table.column(index), spec, _N_BINS)
            if isinstance(spec, Categorical):
                rows = np.flatnonzero((codes >= 1) & (codes <= width))
                points[rows, start + codes[rows].astype(np.intp) - 1] = UNITS
            else:
                points[:, start] = _places(spec)[codes]
            start += width
        return points

    def own_coordinates(self, point: Points) -> NDArray[np.intp]:
        """Return the coordinate by which each feature of a point acts.

        Parameters
        ----------
        point : ndarray of int16, shape (n_coordinates,)
            A query, as :meth:`points` returns it; public.

        Returns
        -------
        ndarray of intp, shape (n_features,)
            That of the number, or of the point's own level; -1 where the category is missing or
            undeclared, which has none.
        """
        own, start = [], 0
        for spec, width in zip(self.specs, self.widths, strict=True):
            place = 0
            if isinstance(spec, Categorical):
                is_own = point[start : start + width] > 0
                place = int(np.argmax(is_own)) if is_own.any() else -start - 1
            own.append(start + place)
            start += width
        return np.array(own, dtype=np.intp)

    def per_feature(self, values: NDArray[np.float64], point: Points) -> NDArray[np.float64]:
        """Return what each feature of a point does by itself.

        Parameters
        ----------
        values : ndarray of float64, shape (n_coordinates,)
            The coefficients of an explanation, or their standard errors.
        point : ndarray of int16, shape (n_coordinates,)

        Returns
        -------
        ndarray of float64, shape (n_features,)
            For a number, the change of the model's output over its whole range; for a category,
            that of having the point's level; NaN where the point has no level.
        """
        own = self.own_coordinates(point)
        return np.where(own < 0, np.nan, values[own]) / self.stretch


def _places(spec: Continuous) -> Points:
    """Return the coordinate of each code of a number: missing, the bins, and never 'undeclared'."""
    n_fine = fine_bin_count(spec, _N_BINS)
    places = np.zeros(n_fine + 2, dtype=np.int16)
    if n_fine > 1:
        steps = np.arange(n_fine)
        places[1:-1] = (2 * steps * UNITS + n_fine - 1) // (2 * (n_fine - 1)) - UNITS // 2
    return places
