"""InterpretML's own DP-EBM with strong composition in place of Gaussian differential privacy."""

from __future__ import annotations

from benchmarks.engines.reference import engine

__all__ = ["ENGINE"]

ENGINE = engine("classic", composition="classic")
