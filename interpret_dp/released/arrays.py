"""Numbers of released objects as immutable arrays, and isotonic regression of them."""

from __future__ import annotations

import math
import sys
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LARGEST_COUNT, LARGEST_SCORE = 1e30, 1e120
"""Sizes that no released count and no score exceeds: sums of their squares stay finite."""


def frozen(
    values: Any,
    shape: tuple[int, ...] | None,
    what: str,
    *,
    order: Literal["K", "C"] = "K",
    low: float = -math.inf,
    largest: float = sys.float_info.max,
) -> FloatArray:
    """Return an immutable float copy of the expected shape, or raise.

    Parameters
    ----------
    values : array-like
        Numbers; no bools, and no texts that say numbers.
    shape : tuple of int, or None
        None: any.
    what : str
        For messages.
    order : {"K", "C"}
    low, largest : float
        The lowest value, and the largest size of one.

    Raises
    ------
    ValueError
        If they are something else, or out of range.
    """
    wanted = "of one shape" if shape is None else f"of shape {shape}"
    try:
        if not _are_numbers(values):
            raise TypeError
        array = np.array(values, dtype=np.float64, order=order)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be numbers {wanted}.") from None
    if shape is not None and array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}; it must have shape {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} has values that are not finite; all must be.")
    if (np.abs(array) > largest).any() or (array < low).any():
        lowest = f"at least {low:g} and " if low > -math.inf else ""
        allowed = f"they must be {lowest}at most {largest:g} in size"
        raise ValueError(f"{what} has values out of range; {allowed}.")
    array.setflags(write=False)
    return array


def freeze(
    owner: object, name: str, shape: tuple[int, ...] | None, what: str, **checks: Any
) -> None:
    """Replace an attribute of a frozen dataclass by :func:`frozen` of it; None stays."""
    values = getattr(owner, name)
    if values is not None:
        object.__setattr__(owner, name, frozen(values, shape, what, **checks))


def _are_numbers(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "iuf"
    if isinstance(values, list | tuple):
        return all(map(_are_numbers, values))
    return isinstance(values, Real) and not isinstance(values, bool)


def softmax(values: FloatArray) -> FloatArray:
    """Return the softmax over the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


# Isotonic regression of released scores, weighted by released counts.


def positive_weights(weights: FloatArray) -> FloatArray:
    """Return weights in which bins without rows weigh next to nothing instead of nothing.

    A least-squares fit is not unique over bins of weight zero; with a millionth of the smallest
    other weight they take the fitted value that is nearest to their own score.
    """
    if not (weights > 0).any():
        return np.ones_like(weights)
    return np.where(weights > 0, weights, weights[weights > 0].min() * 1e-6)


def isotonic(scores: FloatArray, weights: FloatArray, *, increasing: bool) -> FloatArray:
    """Return the monotone curve of least weighted squared distance, shape (n_bins,).

    Source: pool adjacent violators, scikit-learn's ``isotonic_regression``. A curve that is
    monotone already comes back bit for bit.
    """
    steps = np.diff(scores)
    if (steps >= 0 if increasing else steps <= 0).all():
        return scores
    from sklearn.isotonic import isotonic_regression

    fitted: FloatArray = isotonic_regression(
        scores, sample_weight=positive_weights(weights), increasing=increasing
    )
    return fitted
