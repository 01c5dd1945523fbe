"""The horizontal axis of a continuous feature: raw values, on the scale of the declaration."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.schema.declarations import SYMLOG_UNIT, Continuous, Integer

__all__ = ["FeatureAxis"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureAxis:
    """Where a value stands on the axis of its feature.

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
        """Where a symmetric-log axis turns from linear to logarithmic; 0 for other scales."""
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
        kept = [lower]
        gap = float(self.at(upper) - self.at(lower)) / 9
        if is_integer:
            candidates = {value for value in candidates if value.is_integer()}
        for value in sorted(v for v in candidates | {0.0} if lower < v <= upper):
            if self.at(value) - self.at(kept[-1]) >= gap:
                kept.append(value)
        return np.array(kept)


def _round_step(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= width))
