"""Harder, Bauer and Park (2020): locally linear maps."""

from __future__ import annotations

from benchmarks.papers import Paper

__all__ = ["PAPER"]

PAPER = Paper("Harder, Bauer and Park (2020): locally linear maps", (), {})
