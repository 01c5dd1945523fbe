"""Checks of the promise itself: replays on neighbouring tables, and attacks that bound epsilon.

What these functions return is private where they were given private tables.
"""

from __future__ import annotations

from interpret_dp.audit.bounds import (
    AttackBound,
    attack_bound,
    epsilon_lower_bound,
    mu_lower_bound,
)
from interpret_dp.audit.neighbours import replay
from interpret_dp.audit.published import differences, published_parts
from interpret_dp.audit.report import ReleaseCheck, ReplayReport, Violation

__all__ = [
    "AttackBound",
    "ReleaseCheck",
    "ReplayReport",
    "Violation",
    "attack_bound",
    "differences",
    "epsilon_lower_bound",
    "mu_lower_bound",
    "published_parts",
    "replay",
]
