"""Patel, Shokri and Zick (2022): private explanations."""

from __future__ import annotations

from benchmarks.papers import Paper

__all__ = ["PAPER"]

PAPER = Paper("Patel, Shokri and Zick (2022): private explanations", (), {})
