"""Exact discrete Gaussian noise: rejection sampling over whole arrays.

A point is drawn in one of 256 layers of equal area that together cover the curve
exp(-z**2 / (2 sigma**2)), and accepted where it lies below it: most points surely do. For the
others the curve is computed in floating point together with a bound on its error; a height that
falls within the bound is extended, and compared with the curve in integer arithmetic, until the
comparison is decided. So no rounding takes part in the law of a draw
(docs/proofs/vectorised_sampler.md).

Layer i reaches from 0 to ``width_i`` and from the height where the layer below it ends to about
``area / width_i`` above that (after Marsaglia and Tsang). The top of the curve is 1, and a uniform
point of a uniformly chosen layer lies below the curve with the probability of its z, up to one
factor for all.
"""

from __future__ import annotations

import itertools
import math
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
WordSource = Callable[[int], Words]

# A difference of height and curve is trusted beyond this. The proof needs a curve that is right to
# half of it, which leaves exp 2,048 units in the last place; libraries err by at most four.
_MARGIN = 2.0**-40

# Bits of the uniforms that floating point compares; a float64 holds all of them.
_UNIFORM_BITS = 53

# Proposals at a time: their arrays together stay within a few megabytes.
_BATCH = 2**15

# At the largest scale the farthest draw that can be proposed is below 2**62.1. The smallest scale
# only keeps z / sigma in range.
_SMALLEST_SIGMA = 2.0**-10
LARGEST_SIGMA = 2.0**56

N_LAYERS = 256

# That say a step: all of 32 bits.
_WORDS = 2**32

# Scales are at most 2**12 steps, so that a place in a layer is a step, of few bits, and low bits
# that are uniform as they come.
_BITS_OF_STEPS = 12

# The lowest layer ends here; the curve beyond weighs less than 2**-2900.
_REACH = 64

# The layers end surely, not just about, above the top of the curve.
_TOP = 1.0 + 2.0**-20
_CLOSE = 1.0 + 2.0**-14


def discrete_gaussian(sigma: float, size: int) -> Integers:
    """Draw exact discrete Gaussian noise.

    Parameters
    ----------
    sigma : float
        Scale, in lattice units, between 2**-10 and 2**56. It is taken as the rational number that
        the float is.
    size : int
        Number of independent draws.

    Returns
    -------
    ndarray of int64, shape (size,)
        Probability proportional to ``exp(-z**2 / (2 sigma**2))`` at every integer ``z`` with
        ``abs(z) < 64 sigma``; probability zero from ``64 sigma`` and a step on, where the discrete
        Gaussian has less than 2**-2900 in all.

    Raises
    ------
    TypeError
        If ``sigma`` is not a real number or ``size`` not an integer.
    ValueError
        If ``sigma`` lies outside the limits, or ``size`` is negative.

    Notes
    -----
    All bits come from OpenSSL's generator, which the operating system seeds and which reseeds
    after a fork; nobody can reproduce a draw. Besides its result a call holds a few megabytes,
    whatever ``size`` is. Its running time depends on how many proposals were dropped, and is not
    protected.

    Layers of equal area are Marsaglia and Tsang's, "The Ziggurat Method for Generating Random
    Variables" (2000); Buchmann, Cabarcas, Goepfert, Huelsing and Weiden, "Discrete Ziggurat"
    (2013), take them to the integers. Here heights are compared exactly, and the layers go on
    below the tail, for which both need a method of its own or cut it off.
    """
    scale = check_real(
        "sigma",
        sigma,
        low=_SMALLEST_SIGMA,
        high=LARGEST_SIGMA,
        mend="Choose a coarser or a finer lattice.",
    )
    return _draw(layers_of(scale), check_int("size", size, low=0), _system_words)


def _system_words(count: int) -> Words:
    return np.frombuffer(ssl.RAND_bytes(8 * count), dtype=np.uint64)


def _draw(layers: Layers, size: int, source: WordSource) -> Integers:
    """Return the first ``size`` proposals that are kept, in the order they were proposed."""
    draws = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        # How many are proposed depends on how many were kept, never on which.
        missing = size - filled
        count = min(_BATCH, missing + missing // 16 + 64)
        accepted = _kept_proposals(layers, count, source)[:missing]
        draws[filled : filled + len(accepted)] = accepted
        filled += len(accepted)
    return draws


def _kept_proposals(layers: Layers, count: int, source: WordSource) -> Integers:
    # It imports numba.
    from interpret_dp.mechanisms.proposals import LOW_BITS, propose

    words = source(count)
    low_words = source(count if layers.shift > LOW_BITS else 0)
    points, open_at, open_layers = propose(
        words, low_words, layers.shift, layers.widths, layers.inner
    )
    prefix = source(len(open_at)) >> np.uint64(64 - _UNIFORM_BITS)
    below = _is_below(layers, np.abs(points[open_at]), open_layers, prefix, source)
    return np.delete(points, open_at[~below])


def _is_below(
    layers: Layers, magnitude: Integers, layer: Integers, prefix: Words, source: WordSource
) -> Flags:
    """Return whether points of uniform height in their layers lie below the curve, exactly.

    Parameters
    ----------
    magnitude, layer : ndarray of int64, shape (n,)
    prefix : ndarray of uint64, shape (n,)
        The first 53 bits of where, between bottom and top of the layer, each point lies.
    source : callable
        For further bits.
    """
    difference = prefix.astype(np.float64) * 2.0**-_UNIFORM_BITS
    difference *= layers.heights[layer]
    difference += layers.bottoms[layer]
    difference -= _curve(layers.sigma, magnitude)
    below = difference < -_MARGIN
    for undecided in np.flatnonzero(np.abs(difference) <= _MARGIN):
        exponent = Fraction(int(magnitude[undecided])) ** 2 / (2 * Fraction(layers.sigma) ** 2)
        bottom, height = layers.exact[int(layer[undecided])]
        below[undecided] = _is_below_exactly(
            exponent, bottom, height, int(prefix[undecided]), source
        )
    return below


def _curve(sigma: float, magnitude: Integers) -> Floats:
    """Return ``exp(-magnitude**2 / (2 sigma**2))``, right to half of ``_MARGIN``."""
    curve = magnitude / sigma
    curve *= curve
    curve *= -0.5
    # The lowest layer reaches far: nothing there is an error, whatever the caller has made one.
    with np.errstate(under="ignore"):
        return np.exp(curve, out=curve)


def _is_below_exactly(
    exponent: Fraction,
    bottom: Fraction,
    height: Fraction,
    prefix: int,
    source: WordSource,
    bits: int = _UNIFORM_BITS,
) -> bool:
    """Compare bottom + U height, U known to its first ``bits`` bits, with exp(-exponent).

    Both are bounded ever closer until they are apart. That happens at once but for a chance that
    falls by 2**-64 each time.
    """
    while True:
        # 64 bits finer than the uniform is known.
        low, high = _exp_bounds(exponent, bits + 64)
        if (bottom + height * Fraction(prefix + 1, 2**bits)) * 2 ** (bits + 64) <= low:
            return True
        if (bottom + height * Fraction(prefix, 2**bits)) * 2 ** (bits + 64) >= high:
            return False
        prefix = prefix << 64 | int(source(1)[0])
        bits += 64


def _exp_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers ``low <= 2**bits * exp(-exponent) <= high``, for ``exponent >= 0``.

    Every step rounds ``low`` down and ``high`` up. The series of exp is taken at an argument of
    at most one half, which the squarings at the end make up for.
    """
    squarings = (exponent.numerator // exponent.denominator).bit_length() + 1
    numerator, denominator = exponent.numerator, exponent.denominator << squarings
    one = 1 << bits
    low_term = high_term = low_sum = high_sum = one
    index = 1
    while high_term > 1:
        low_term = low_term * numerator // (index * denominator)
        high_term = _divide_up(high_term * numerator, index * denominator)
        low_sum += low_term
        high_sum += high_term
        index += 1
    # Each further term is at most half of the one before, so that together they are at most the
    # last one.
    high_sum += high_term
    low, high = one * one // high_sum, _divide_up(one * one, low_sum)
    for _ in range(squarings):
        low, high = low * low // one, _divide_up(high * high, one)
    return low, high


def _divide_up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


@dataclass(frozen=True)
class Layers:
    """Layers for one scale, from the lowest, which is the widest, to that at the curve's top.

    Attributes
    ----------
    sigma : float
    shift : int
        A step is 2**shift integers.
    area : float
        What a point that is proposed stands for: heights are ``area`` times the share of words of
        32 bits that say one given step of the layer, which is a little less than one by its width.
    widths : ndarray of uint64, shape (N_LAYERS,)
        In steps, at least 1 and below 2**19.
    inner : ndarray of uint64, shape (N_LAYERS,)
        The curve is above the layer in all of so many first steps.
    bottoms, heights : ndarray of float64, shape (N_LAYERS,)
        Right to 2**-44.
    """

    sigma: float
    shift: int
    area: float
    widths: Words
    inner: Words
    bottoms: Floats
    heights: Floats

    @cached_property
    def exact(self) -> list[tuple[Fraction, Fraction]]:
        """Bottom and height of each layer, as the rational numbers that they are."""
        area = Fraction(self.area)
        heights = [area * _words_of_a_step(int(width)) / _WORDS for width in self.widths]
        bottoms = itertools.accumulate(heights, initial=Fraction(0))
        return list(zip(bottoms, heights, strict=False))


@lru_cache(maxsize=32)
def layers_of(sigma: float) -> Layers:
    """Return the layers for a scale from 2**-10 to 2**56, which takes some milliseconds once."""
    _, exponent = math.frexp(sigma)
    shift = max(0, exponent - _BITS_OF_STEPS)
    scale = math.ldexp(sigma, -shift)
    low, high = math.sqrt(math.pi / 2) * scale / N_LAYERS, float(math.ceil(_REACH * scale))
    while high > low * _CLOSE:
        area = math.sqrt(low * high)
        _, levels = _stacked(area, scale)
        low, high = (low, area) if levels[-1] >= _TOP else (area, high)
    widths, levels = _stacked(high, scale)
    # Two steps and a bit inside of where the next layer begins, see _width.
    inner = [max(0, width - 3) for width in widths[1:]] + [0]
    return Layers(
        sigma,
        shift,
        high,
        np.array(widths, dtype=np.uint64),
        np.array(inner, dtype=np.uint64),
        np.array(levels[:-1]),
        np.array([_height(high, width) for width in widths]),
    )


def _stacked(area: float, scale: float) -> tuple[list[int], list[float]]:
    """Return the widths of layers of this area, and the heights between which they lie."""
    widths, levels = [math.ceil(_REACH * scale)], [0.0]
    for _ in range(N_LAYERS - 1):
        levels.append(levels[-1] + _height(area, widths[-1]))
        widths.append(_width(levels[-1], scale))
    levels.append(levels[-1] + _height(area, widths[-1]))
    return widths, levels


def _words_of_a_step(width: int) -> int:
    """Return how many words say one step of a layer; up to ``width - 1`` words say none."""
    return _WORDS // width


def _height(area: float, width: int) -> float:
    return area * (_words_of_a_step(width) / _WORDS)


def _width(level: float, scale: float) -> int:
    """Return a number of steps at whose end, and beyond, the curve is surely below the level.

    It is between one and two steps more than where the curve crosses the level: far more than what
    rounding moves.
    """
    return 1 if level >= 1 else math.ceil(scale * math.sqrt(-2 * math.log(level))) + 1
