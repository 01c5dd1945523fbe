"""The layout of a feature's codes, which follows from its declaration alone and is public.

Code 0 is a missing cell, 1 to F are the fine bins, F + 1 is a level that is not declared.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from interpret_dp._validate import check_int
from interpret_dp.schema.declarations import (
    MAX_BINS,
    SYMLOG_UNIT,
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    level_labels,
)

# Of the larger bound: rows are looked for from a millionth of it on, by factors.
_SEARCH_UNIT = 2.0**-20
# From here on there are no floats between the integers.
_LAST_HALF = 2.0**52


def fine_edges(
    spec: Continuous, n_bins: int, *, unit: float = SYMLOG_UNIT
) -> npt.NDArray[np.float64]:
    """Return the inner cut points of equally wide bins, on the feature's scale.

    Those of an :class:`Integer` lie halfway between two integers: between all neighbours where
    there are at most ``n_bins`` values, and otherwise next to the cut points of equally wide bins.

    A value belongs to bin ``searchsorted(edges, value, side="right")`` counted from 0: one that
    lies on a cut belongs to the bin above, as in interpret.

    Parameters
    ----------
    spec : Continuous
        The declared bounds and scale.
    n_bins : int
        Number of bins asked for, 1 to ``MAX_BINS``.
    unit : float
        Share of the larger bound up to which a "symlog" scale is linear.

    Returns
    -------
    ndarray of float64, shape (<= n_bins - 1,)
        Strictly increasing, in raw units, above ``lower`` and not above ``upper``. Fewer than
        asked for if there are not that many floats, or integers, in the range; none if the bounds
        are equal. Public.

    Raises
    ------
    TypeError, ValueError
        If ``n_bins`` is not such an integer.
    """
    n_bins = check_int("n_bins", n_bins, low=1, high=MAX_BINS)
    is_integer = isinstance(spec, Integer)
    edges = _evenly_spaced(spec, n_bins, unit)
    if is_integer:
        edges = _between_integers(spec, n_bins, edges)
    edges = np.unique(edges)
    return edges[(edges > spec.lower) & (edges <= spec.upper)]


def search_edges(spec: Continuous, n_bins: int) -> npt.NDArray[np.float64]:
    """Return cut points of fine bins that find the rows wherever they are between the bounds.

    On a linear scale half of the bins are equally wide, and half of them on a symmetric log scale:
    rows may fill a small part of generous bounds, or have a long tail.

    Parameters
    ----------
    spec, n_bins
        As for :func:`fine_edges`.

    Returns
    -------
    ndarray of float64, shape (<= n_bins - 1,)
        As those of :func:`fine_edges`.
    """
    edges = fine_edges(spec, n_bins)
    has_all_values = isinstance(spec, Integer) and spec.upper - spec.lower < n_bins
    if spec.scale != "linear" or len(edges) < n_bins - 1 or has_all_values:
        return edges
    half = n_bins // 2
    logarithmic = fine_edges(replace(spec, scale="symlog"), n_bins - half, unit=_SEARCH_UNIT)
    return np.union1d(fine_edges(spec, half), logarithmic) if half > 1 else edges


def outer_edges(spec: Continuous) -> tuple[float, float]:
    """Return the cut points below and from which on cells are beyond the bounds.

    A bound in single precision is no such cell, though it may be a bit more than the bound.
    """
    bounds = np.array([spec.lower, spec.upper])
    with np.errstate(over="ignore"):
        single = bounds.astype(np.float32).astype(np.float64)
    lower, upper = np.where(np.isfinite(single), single, bounds).tolist()
    return min(lower, spec.lower), float(np.nextafter(max(upper, spec.upper), np.inf))


def _between_integers(
    spec: Continuous, n_bins: int, edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the point below the first integer of each bin but the first."""
    if spec.upper - spec.lower < n_bins:
        firsts = np.arange(spec.lower + 1.0, spec.upper + 1.0)
    else:
        firsts = np.ceil(edges)
    # An integer that lies on a cut is in the bin above.
    return np.where(np.abs(firsts) > _LAST_HALF, firsts, firsts - 0.5)


def _evenly_spaced(spec: Continuous, n_bins: int, unit: float) -> npt.NDArray[np.float64]:
    """Return ``n_bins - 1`` points at equal steps of the scale, up to rounding."""
    steps = np.arange(1, n_bins, dtype=np.float64)
    width = spec.upper - spec.lower
    if spec.scale == "log":
        return np.asarray(spec.lower + np.expm1(np.log1p(width) * (steps / n_bins)))
    if spec.scale == "symlog" and width > 0:
        largest = max(abs(spec.lower), abs(spec.upper))
        # Divided in this order, the unit of tiny bounds does not vanish.
        first, last = np.arcsinh(np.array([spec.lower, spec.upper]) / largest / unit)
        positions = first + (last - first) * (steps / n_bins)
        return np.asarray(np.sinh(positions) * unit * largest)
    if width <= np.finfo(np.float64).max / n_bins:
        # Multiplying before dividing keeps cuts between integers exact.
        return spec.lower + width * steps / n_bins
    return spec.lower + width * (steps / n_bins)


def fine_bin_count(spec: FeatureSpec, n_bins: int) -> int:
    """Return F, the number of fine bins that a feature gets; its codes run from 0 to F + 1.

    Parameters
    ----------
    spec : Continuous or Categorical
        The declaration. A categorical feature has one bin a level, whatever ``n_bins`` is.
    n_bins : int
        Number of bins asked for.
    """
    if isinstance(spec, Categorical):
        return len(spec.levels)
    return len(fine_edges(spec, n_bins)) + 1


def unseen_label(spec: Categorical) -> str:
    """Return a text that is no level's name, by which undeclared levels are shown.

    Parameters
    ----------
    spec : Categorical
        The declared levels.
    """
    labels = set(level_labels(spec))
    label = "(undeclared)"
    while label in labels:
        label = f"({label})"
    return label
