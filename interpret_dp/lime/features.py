"""Rows as points: the public map from a schema's columns to integer coordinates.

As "values", a number becomes one coordinate, its place between its bounds; a category becomes one
coordinate a level, of which the row's own is 1. As "bins", every feature is one coordinate, the bin
that the row is in, and two rows are in the same bin or not. Everything is a table look-up by the
codes of :mod:`interpret_dp.schema.encode`, so that a row decides its own coordinates and no others,
and all later sums are sums of integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice, check_int
from interpret_dp.schema import (
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    Schema,
    level_labels,
)
from interpret_dp.schema.declarations import integer_ranges
from interpret_dp.schema.encode import encode_column
from interpret_dp.schema.fine_bins import fine_bin_count, fine_edges
from interpret_dp.schema.tables import Table

__all__ = [
    "REPRESENTATIONS",
    "UNITS",
    "Centering",
    "LocalFeatures",
    "Points",
    "are_bins",
    "differences",
    "distances",
]

#: Integer units of one coordinate: the range of a number, or the difference of two levels or bins.
UNITS = 2**8

REPRESENTATIONS = ("values", "bins")

#: Signed integers are places, which are subtracted; unsigned ones are bins, which are the same or
#: not. So points say themselves what they are, wherever they are kept.
Points: TypeAlias = NDArray[np.int16] | NDArray[np.uint16]

_N_PLACES = UNITS + 1
# The code of a bin must fit into the 16 bits of a point, with two to spare.
_MOST_BINS = 2**8


def are_bins(points: Points) -> bool:
    """Return whether points are bins, and not places."""
    return points.dtype.kind == "u"


def differences(points: Points, point: Points) -> NDArray[np.int32]:
    """Return t, the way from one point to others, in units.

    Parameters
    ----------
    points : ndarray of int16 or uint16, shape (n_points, n_coordinates)
    point : ndarray of the same dtype, shape (n_coordinates,)

    Returns
    -------
    ndarray of int32, shape (n_points, n_coordinates)
        Of places, what they differ by. Of bins, 0 where they are the same and ``-UNITS`` where they
        are not: what is elsewhere has lost the bin of ``point``.
    """
    if are_bins(points):
        return np.where(points == point, np.int32(0), np.int32(-UNITS))
    found: NDArray[np.int32] = points.astype(np.int32) - point
    return found


def distances(points: Points, point: Points) -> NDArray[np.float64]:
    """Return how far points are from one of them, in units; shape (n_points,).

    Parameters
    ----------
    points : ndarray of int16 or uint16, shape (n_points, n_coordinates)
    point : ndarray of the same dtype, shape (n_coordinates,)
    """
    found: NDArray[np.float64] = np.linalg.norm(differences(points, point), axis=1)
    return found


@dataclass(frozen=True)
class Centering:
    """Projection of coefficients onto what rows tell of them; public.

    Where a query has a level of a category and a row has one, the way from one to the other has +1
    at a level and -1 at another, or nothing: it is orthogonal to the vector of ones. So a constant
    in the coefficients of all levels changes no explanation, and would be all noise.

    Attributes
    ----------
    n_coordinates : int
    categories : tuple of slice
        The coordinates of each category in which the query has a level.
    """

    n_coordinates: int
    categories: tuple[slice, ...]

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return vectors, shape (..., n_coordinates), without such constants."""
        found = np.array(values, dtype=np.float64)
        if self.categories:
            starts, lengths, factors = self._segments
            means = np.add.reduceat(found, starts, axis=-1) * factors
            found[..., starts[0] :] -= np.repeat(means, lengths, axis=-1)
        return found

    @cached_property
    def _segments(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Where segments start from the first category on, their lengths, and 1 / length or 0.

        What lies between two categories is a segment with the factor 0. A descent projects in
        each step, and a loop over categories would take most of its time.
        """
        sizes = {levels.start: levels.stop - levels.start for levels in self.categories}
        edges = {*sizes, *(levels.stop for levels in self.categories)} - {self.n_coordinates}
        starts = np.array(sorted(edges), dtype=np.intp)
        lengths = np.diff(starts, append=self.n_coordinates)
        factors = np.array([1.0 / sizes[at] if at in sizes else 0.0 for at in starts.tolist()])
        return starts, lengths, factors

    @property
    def shares(self) -> NDArray[np.float64]:
        """How much of the variance of equal noise in all coordinates is left in each."""
        found = np.ones(self.n_coordinates)
        for levels in self.categories:
            found[levels] -= 1.0 / (levels.stop - levels.start)
        return found


@dataclass(frozen=True)
class LocalFeatures:
    """Public map from the columns of a table to coordinates.

    Parameters
    ----------
    names : tuple of str, shape (n_features,)
    specs : tuple of Continuous or Categorical, shape (n_features,)
    representation : {"values", "bins"}, default="values"
    n_bins : int, default=4
        How many bins of a number "bins" makes, 2 to 256; public. LIME's own default is four.

    Raises
    ------
    TypeError, ValueError
        If ``representation`` or ``n_bins`` is not one of these.

    Notes
    -----
    Values, in units of 1: a number runs from -1/2 at its lower bound to 1/2 at its upper bound, at
    equal steps of the declared scale; a missing number is 0, the middle. A category's coordinates
    are 0 or 1; all are 0 where it is missing or undeclared. So two rows are at most 1 apart in a
    number and at most the square root of 2 in a category.

    Bins: those of a number are equally wide on its declared scale, those of a category are its
    levels. Missing is a bin of its own, and so is whatever is undeclared. Two rows are 1 apart in
    a feature if they are in different bins of it.

    Explanations measure distances in ``stretch`` times that, so that 1 is the largest there is:
    weight functions mean the same for 10 columns as for 500.
    """

    names: tuple[str, ...]
    specs: tuple[FeatureSpec, ...]
    representation: str = "values"
    n_bins: int = 4

    def __post_init__(self) -> None:
        """Check the choices."""
        check_choice("representation", self.representation, REPRESENTATIONS)
        mend = "4 is usual, as quartiles are."
        check_int("n_bins", self.n_bins, low=2, high=_MOST_BINS, mend=mend)

    @classmethod
    def of_schema(
        cls,
        schema: Schema,
        names: Sequence[str],
        *,
        representation: str = "values",
        n_bins: int = 4,
    ) -> LocalFeatures:
        """Return the map of the columns ``names``, as the schema declares them.

        Raises
        ------
        SchemaError
            If the schema and the names do not agree.
        TypeError, ValueError
            If ``representation`` or ``n_bins`` is out of range.
        """
        return cls(tuple(names), schema.resolve(names), representation, n_bins)

    @property
    def has_bins(self) -> bool:
        """Whether points are bins, and not places."""
        return self.representation == "bins"

    @property
    def widths(self) -> tuple[int, ...]:
        """How many coordinates each feature has."""
        return tuple(
            len(spec.levels) if isinstance(spec, Categorical) and not self.has_bins else 1
            for spec in self.specs
        )

    @property
    def n_coordinates(self) -> int:
        """How many coordinates a point has."""
        return sum(self.widths)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each coordinate: the feature's, or ``feature = level``."""
        if self.has_bins:
            return self.names
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
        if self.has_bins:
            return UNITS**2 * len(self.specs)
        return UNITS**2 * sum(2 if isinstance(spec, Categorical) else 1 for spec in self.specs)

    @property
    def stretch(self) -> int:
        """How many numbers' ranges, or bins apart, make a distance of 1; no two rows exceed it."""
        return math.isqrt(self.largest_square // UNITS**2 - 1) + 1

    def points(self, table: Table) -> Points:
        """Return the coordinates of each row, in units.

        Parameters
        ----------
        table : Table
            Rows, of the features in their order.

        Returns
        -------
        ndarray, shape (n_rows, n_coordinates)
            As values, int16 between ``-UNITS / 2`` and ``UNITS``. As bins, uint16: 0 missing, then
            the bins in their order, and last what is undeclared. Private, if the rows are.
        """
        shape = (table.n_rows, self.n_coordinates)
        points: Points = np.zeros(shape, np.uint16) if self.has_bins else np.zeros(shape, np.int16)
        # Thousands of columns may share one declaration.
        numbers = {spec for spec in self.specs if isinstance(spec, Continuous)}
        places = {} if self.has_bins else {spec: _places(spec) for spec in numbers}
        start = 0
        for index, (spec, width) in enumerate(zip(self.specs, self.widths, strict=True)):
            column = table.column(index)
            if self.has_bins:
                points[:, start] = encode_column(column, spec, self.n_bins)
            elif isinstance(spec, Categorical):
                codes = encode_column(column, spec, _N_PLACES)
                rows = np.flatnonzero((codes >= 1) & (codes <= width))
                points[rows, start + codes[rows].astype(np.intp) - 1] = UNITS
            else:
                number, of_code = places[spec]
                points[:, start] = of_code[encode_column(column, number, _N_PLACES)]
            start += width
        return points

    def own_coordinates(self, point: Points) -> NDArray[np.intp]:
        """Return the coordinate by which each feature of a point acts.

        Parameters
        ----------
        point : ndarray of int16 or uint16, shape (n_coordinates,)
            A query, as :meth:`points` returns it; public.

        Returns
        -------
        ndarray of intp, shape (n_features,)
            That of the number, or of the point's own level; -1 where the category is missing or
            undeclared, which has none. As bins, every feature has its one coordinate.
        """
        if self.has_bins:
            return np.arange(len(self.specs))
        own, start = [], 0
        for spec, width in zip(self.specs, self.widths, strict=True):
            place = 0
            if isinstance(spec, Categorical):
                is_own = point[start : start + width] > 0
                place = int(np.argmax(is_own)) if is_own.any() else -start - 1
            own.append(start + place)
            start += width
        return np.array(own, dtype=np.intp)

    def bin_labels(self, point: Points) -> tuple[str, ...]:
        """Return the bin of each feature of a point in words, such as ``25 <= age < 50``.

        Parameters
        ----------
        point : ndarray of uint16, shape (n_features,)
            A query of bins; public.
        """
        return tuple(
            _bin_text(name, spec, int(code), self.n_bins)
            for name, spec, code in zip(self.names, self.specs, point, strict=True)
        )

    def centering(self, point: Points) -> Centering:
        """Return the projection of coefficients at a point onto what rows tell of them.

        Parameters
        ----------
        point : ndarray of int16 or uint16, shape (n_coordinates,)
            Categories in which it has no level are left as they are: there a constant says what
            any level does.
        """
        return Centering(self.n_coordinates, tuple(self._own_categories(point).values()))

    def per_feature(self, coefficients: NDArray[np.float64], point: Points) -> NDArray[np.float64]:
        """Return what each feature of a point does by itself.

        Parameters
        ----------
        coefficients : ndarray of float64, shape (n_coordinates,)
            Of an explanation.
        point : ndarray of int16 or uint16, shape (n_coordinates,)

        Returns
        -------
        ndarray of float64, shape (n_features,)
            Of values: for a number, the change of the model's output over its whole range; for a
            category, that of having the point's level against the mean of all others; NaN where
            the point has no level. Of bins: the change that being in the point's own bin makes,
            against being in any other.
        """
        own = self.own_coordinates(point)
        found = np.where(own < 0, np.nan, coefficients[own])
        for index, levels in self._own_categories(point).items():
            n_others = levels.stop - levels.start - 1
            total = coefficients[levels].sum()
            found[index] -= (total - found[index]) / n_others if n_others else found[index]
        effects: NDArray[np.float64] = found / self.stretch
        return effects

    def errors_per_feature(self, errors: NDArray[np.float64], point: Points) -> NDArray[np.float64]:
        """Return the standard errors of :meth:`per_feature`.

        Parameters
        ----------
        errors : ndarray of float64, shape (n_coordinates,)
            Of coefficients after :meth:`centering`: of these, the difference from the mean of the
            others is a multiple.
        point : ndarray of int16 or uint16, shape (n_coordinates,)
        """
        own = self.own_coordinates(point)
        found = np.where(own < 0, np.nan, errors[own])
        for index, levels in self._own_categories(point).items():
            n_levels = levels.stop - levels.start
            found[index] *= n_levels / (n_levels - 1) if n_levels > 1 else 0.0
        scaled: NDArray[np.float64] = found / self.stretch
        return scaled

    def _own_categories(self, point: Points) -> dict[int, slice]:
        """Return the coordinates of each category in which a point has a level."""
        if self.has_bins:
            return {}
        found, start = {}, 0
        for index, (spec, width) in enumerate(zip(self.specs, self.widths, strict=True)):
            if isinstance(spec, Categorical) and (point[start : start + width] > 0).any():
                found[index] = slice(start, start + width)
            start += width
        return found


def _bin_text(name: str, spec: FeatureSpec, code: int, n_bins: int) -> str:
    """Say in words which bin of a feature a code is."""
    if code == 0:
        return f"{name} is missing"
    if isinstance(spec, Categorical):
        labels = level_labels(spec)
        is_declared = code <= len(labels)
        return f"{name} = {labels[code - 1]}" if is_declared else f"{name} is undeclared"
    cuts = fine_edges(spec, n_bins)
    if not len(cuts):
        return f"{name} is not missing"
    if isinstance(spec, Integer):
        return _integers_text(name, integer_ranges(spec, cuts), code)
    edges = [f"{edge:.6g}" for edge in cuts]
    if code == 1:
        return f"{name} < {edges[0]}"
    above = f"{edges[code - 2]} <= {name}"
    return above if code > len(edges) else f"{above} < {edges[code - 1]}"


def _integers_text(name: str, ranges: Sequence[tuple[int, int]], code: int) -> str:
    """Say in words which range of integers a code is; the first and the last have one end."""
    first, last = ranges[code - 1]
    if code == 1:
        return f"{name} <= {last}"
    if code == len(ranges):
        return f"{first} <= {name}"
    return f"{name} = {first}" if first == last else f"{first} <= {name} <= {last}"


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
