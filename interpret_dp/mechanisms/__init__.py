"""The only place where noise for releases is drawn."""

from __future__ import annotations

from interpret_dp.mechanisms.additive import (
    Selection,
    exponential_mechanism,
    gaussian_mechanism,
    gaussian_thresholding,
)
from interpret_dp.mechanisms.entropy import (
    Randomness,
    SeededRandomness,
    SystemRandomness,
    active_randomness,
    use_randomness,
)

__all__ = [
    "Randomness",
    "SeededRandomness",
    "Selection",
    "SystemRandomness",
    "active_randomness",
    "exponential_mechanism",
    "gaussian_mechanism",
    "gaussian_thresholding",
    "use_randomness",
]
