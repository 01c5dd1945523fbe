"""The loops over rows between the two matrix products of a step, compiled by numba.

Rows are lanes: each number is computed from numbers of the same row alone, by additions,
multiplications, divisions and comparisons that are rounded as IEEE says, without fastmath. So what
a row adds is the same bits beside any other rows, in a vector register or left over at the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from interpret_dp._compiled import compiled

__all__ = ["clipped_limbs"]

_Floats = NDArray[np.float32]

_LANES = 128

# exp by Cody and Waite's reduction and the polynomial of Moshier's Cephes library.
_LOWEST = np.float32(-87.0)
_LOG2_E = np.float32(1.44269504)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_P0, _P1 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3)
_P2, _P3 = np.float32(8.3334519073e-3), np.float32(4.1665795894e-2)
_P4, _P5 = np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_ONE, _HALF, _ZERO, _BASE = np.float32(1.0), np.float32(0.5), np.float32(0.0), np.float32(256.0)
_INFINITY = np.float32(np.inf)
_BITS, _LOW, _SIGNED = np.int32(8), np.int32(255), np.int32(128)
# 2**-n for all n that can occur
_HALVES = (0.5 ** np.arange(128)).astype(np.float32)


@compiled(error_model="numpy")
def _exp(x: np.float32) -> np.float32:
    """Return exp(x) for x from -87 to 0, to which x is clipped; NaN counts as -87."""
    x = x if x > _LOWEST else _LOWEST
    x = x if x < _ZERO else _ZERO
    n = np.floor(x * _LOG2_E + _HALF)
    f = x - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_P0 * f + _P1) * f + _P2) * f + _P3) * f + _P4) * f + _P5
    return np.float32((p * f * f + f + _ONE) * _HALVES[np.uintp(-n)])


@compiled(error_model="numpy")
def _weigh_maps(
    products: NDArray[np.int32],
    scales: _Floats,
    biases: _Floats,
    steps: _Floats,
    temperature: np.float32,
    values: _Floats,
    powers: _Floats,
    scores: _Floats,
    sums: _Floats,
) -> None:
    """Fill in values, powers, the sums of powers of each class, and the scores."""
    n_limbs, n_maps, n_classes, width = products.shape
    peak = np.empty(width, dtype=np.float32)
    for k in range(n_classes):
        for r in range(width):
            peak[r] = -_INFINITY
            sums[k, r] = _ZERO
            scores[k, r] = _ZERO
        for m in range(n_maps):
            scale, bias = scales[m, k], biases[m, k]
            for r in range(width):
                values[m, k, r] = np.float32(products[0, m, k, r])
            for i in range(1, n_limbs):
                for r in range(width):
                    values[m, k, r] = values[m, k, r] * _BASE + np.float32(products[i, m, k, r])
            for r in range(width):
                value = values[m, k, r] * scale * steps[r] + bias
                values[m, k, r] = value
                peak[r] = value if value > peak[r] else peak[r]
        for m in range(n_maps):
            for r in range(width):
                power = _exp(temperature * (values[m, k, r] - peak[r]))
                powers[m, k, r] = power
                sums[k, r] += power
                scores[k, r] += power * values[m, k, r]
        for r in range(width):
            scores[k, r] /= sums[k, r]


@compiled(error_model="numpy")
def _divide_errors(classes: NDArray[np.int64], scores: _Floats, sums: _Floats) -> None:
    """Replace the sums of powers by the errors of the classes over them."""
    n_classes, width = scores.shape
    peak = np.empty(width, dtype=np.float32)
    total = np.empty(width, dtype=np.float32)
    for r in range(width):
        peak[r] = scores[0, r]
        total[r] = _ZERO
    for k in range(1, n_classes):
        for r in range(width):
            peak[r] = scores[k, r] if scores[k, r] > peak[r] else peak[r]
    for k in range(n_classes):
        for r in range(width):
            total[r] += _exp(scores[k, r] - peak[r])
    for k in range(n_classes):
        for r in range(width):
            error = _exp(scores[k, r] - peak[r]) / total[r]
            error = error - _ONE if classes[r] == k else error
            sums[k, r] = error / sums[k, r] if classes[r] >= 0 else _ZERO


@compiled(error_model="numpy")
def _find_gradients(
    temperature: np.float32,
    scores: _Floats,
    errors: _Floats,
    powers: _Floats,
    norms: _Floats,
    values: _Floats,
    lengths: _Floats,
) -> None:
    """Replace values by the gradients by them, and find the squared norms of the rows' own."""
    n_maps, n_classes, width = values.shape
    squares = np.empty(width, dtype=np.float32)
    lengths[:] = _ZERO
    for m in range(n_maps):
        squares[:] = _ZERO
        for k in range(n_classes):
            for r in range(width):
                slope = _ONE + temperature * (values[m, k, r] - scores[k, r])
                gradient = errors[k, r] * powers[m, k, r] * slope
                values[m, k, r] = gradient
                squares[r] += gradient * gradient
        group = m if len(norms) > 1 else 0
        for r in range(width):
            lengths[r] += squares[r] * norms[group, r]


@compiled(error_model="numpy")
def _round_rows(
    gradients: _Floats,
    factors: _Floats,
    norms: _Floats,
    largest: np.float32,
    most: np.float64,
    wholes: _Floats,
    shortened: _Floats,
) -> bool:
    """Round each row's numbers, to the nearest or, where it is marked, towards zero.

    Marks the rows whose squared norm is above ``most``, and returns whether there are any.
    """
    n_maps, n_classes, width = gradients.shape
    squares = np.empty(width, dtype=np.float64)
    norm = np.zeros(width, dtype=np.float64)
    for m in range(n_maps):
        squares[:] = 0.0
        for k in range(n_classes):
            for r in range(width):
                x = gradients[m, k, r] * factors[r]
                # What is no number is large here, and so its row is dropped for its norm.
                x = x if x < largest else largest
                x = x if x > -largest else -largest
                size = np.floor(abs(x))
                towards = size if x > _ZERO else -size
                whole = np.floor(x + _HALF) if shortened[r] == _ZERO else towards
                wholes[m, k, r] = whole
                squares[r] += np.float64(whole) * np.float64(whole)
        group = m if len(norms) > 1 else 0
        for r in range(width):
            norm[r] += squares[r] * np.float64(norms[group, r])
    count = 0
    for r in range(width):
        is_long = not norm[r] <= most
        shortened[r] = _ONE if is_long else _ZERO
        count += is_long
    return count > 0


@compiled(error_model="numpy")
def _split(wholes: _Floats, dropped: _Floats, limbs: NDArray[np.int8]) -> None:
    """Write integers of the rows that are not dropped as limbs of base 256, high ones first."""
    n_limbs, n_maps, n_classes, width = limbs.shape
    left = np.empty(width, dtype=np.int32)
    for m in range(n_maps):
        for k in range(n_classes):
            for r in range(width):
                left[r] = np.int32(wholes[m, k, r] if dropped[r] == _ZERO else _ZERO)
            for i in range(n_limbs - 1, -1, -1):
                for r in range(width):
                    low = np.int32(((left[r] + _SIGNED) & _LOW) - _SIGNED)
                    limbs[i, m, k, r] = np.int8(low)
                    left[r] = np.int32((left[r] - low) >> _BITS)


@compiled(error_model="numpy")
def clipped_limbs(
    products: NDArray[np.int32],
    scales: NDArray[np.float32],
    biases: NDArray[np.float32],
    steps: NDArray[np.float32],
    norms: NDArray[np.float32],
    classes: NDArray[np.int64],
    temperature: np.float32,
    unit: np.float32,
    aim: np.float32,
    most: np.float64,
    largest: np.float32,
    limbs: NDArray[np.int8],
) -> None:
    """Fill ``limbs`` with the clipped gradients of each row, by the values of the maps.

    Parameters
    ----------
    products : ndarray of int32, shape (n_limbs, n_maps, n_classes, n_rows)
        Limbs of the weights times the rows' bytes, high ones first; ``n_rows`` is a multiple of
        128.
    scales, biases : ndarray of float32, shape (n_maps, n_classes)
        One unit of the weights' integers, and the biases.
    steps : ndarray of float32, shape (n_rows,)
        One unit of each row's bytes.
    norms : ndarray of float32, shape (1 or n_maps, n_rows)
        Bounds on the squared norms of what a coefficient of 1 adds.
    classes : ndarray of int64, shape (n_rows,)
        -1 for none.
    temperature : float
        Inverse temperature of the softmax over maps.
    unit, aim : float
        A coefficient is the gradient times the step times ``unit`` where the row is not clipped;
        else the norm is ``aim``.
    most : float
        Bound on the squared norm; rows that rounding leaves above it are shortened.
    largest : float
        Bound on a coefficient.
    limbs : ndarray of int8, shape (n_limbs, n_maps, n_classes, n_rows)
        Filled.
    """
    _, n_maps, n_classes, n_rows = products.shape
    values = np.empty((n_maps, n_classes, _LANES), dtype=np.float32)
    powers = np.empty((n_maps, n_classes, _LANES), dtype=np.float32)
    scores = np.empty((n_classes, _LANES), dtype=np.float32)
    sums = np.empty((n_classes, _LANES), dtype=np.float32)
    lengths = np.empty(_LANES, dtype=np.float32)
    factors = np.empty(_LANES, dtype=np.float32)
    marks = np.empty(_LANES, dtype=np.float32)
    for start in range(0, n_rows, _LANES):
        stop = start + _LANES
        lane_norms = norms[:, start:stop]
        _weigh_maps(
            products[:, :, :, start:stop],
            scales,
            biases,
            steps[start:stop],
            temperature,
            values,
            powers,
            scores,
            sums,
        )
        _divide_errors(classes[start:stop], scores, sums)
        _find_gradients(temperature, scores, sums, powers, lane_norms, values, lengths)
        for r in range(_LANES):
            whole = unit * steps[start + r]
            clipped = aim / np.sqrt(lengths[r])
            factors[r] = clipped if clipped < whole else whole
            marks[r] = _ZERO
        if _round_rows(values, factors, lane_norms, largest, most, powers, marks):
            _round_rows(values, factors, lane_norms, largest, most, powers, marks)
        _split(powers, marks, limbs[:, :, :, start:stop])
