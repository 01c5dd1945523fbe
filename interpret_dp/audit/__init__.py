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
from interpret_dp.audit.one_run import (
    OneRunBound,
    guesses_for,
    judge_guesses,
    one_run_epsilon,
    one_run_p_value,
)
from interpret_dp.audit.published import differences, published_parts
from interpret_dp.audit.report import ReleaseCheck, ReplayReport, Violation

__all__ = [
    "AttackBound",
    "OneRunBound",
    "ReleaseCheck",
    "ReplayReport",
    "Violation",
    "attack_bound",
    "differences",
    "epsilon_lower_bound",
    "guesses_for",
    "judge_guesses",
    "mu_lower_bound",
    "one_run_epsilon",
    "one_run_p_value",
    "published_parts",
    "replay",
]
