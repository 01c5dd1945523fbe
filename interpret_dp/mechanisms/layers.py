"""Layers of equal area that cover a discrete Gaussian's curve, after Marsaglia and Tsang.

Layer i reaches from 0 to ``width_i`` and from the height where the layer below it ends to about
``area / width_i`` above that. Together the layers cover the curve exp(-z**2 / (2 sigma**2)), whose
top is 1, so that a uniform point of a uniformly chosen layer lies below the curve with the
probability of its z, up to one factor for all (docs/proofs/vectorised_sampler.md).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_LAYERS", "Layers", "layers_of"]

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
    widths: NDArray[np.uint64]
    inner: NDArray[np.uint64]
    bottoms: NDArray[np.float64]
    heights: NDArray[np.float64]

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
