"""Checks of the promise itself: replays on neighbouring tables, and attacks that bound epsilon.

What these functions return is private where they were given private tables.
"""

from __future__ import annotations

import warnings
from typing import Any

from interpret_dp.audit.membership import (
    AttackBound,
    MembershipReport,
    attack_bound,
    epsilon_lower_bound,
    membership_attack,
    mu_lower_bound,
)
from interpret_dp.audit.neighbours import (
    CanaryTables,
    canary_tables,
    differences,
    metric_statistics,
    model_statistics,
    published_parts,
    refit,
    replay,
)
from interpret_dp.audit.one_run import (
    MapsAudit,
    OneRunBound,
    audit_maps,
    guesses_for,
    judge_guesses,
    one_run_epsilon,
    one_run_p_value,
)
from interpret_dp.audit.replaying import LessNoise, ReleaseCheck, ReplayReport, Violation, Watching

__all__ = [
    "AttackBound",
    "CanaryTables",
    "LessNoise",
    "MapsAudit",
    "MembershipReport",
    "OneRunBound",
    "ReleaseCheck",
    "ReplayReport",
    "Violation",
    "Watching",
    "attack_bound",
    "audit_maps",
    "canary_tables",
    "differences",
    "epsilon_lower_bound",
    "guesses_for",
    "judge_guesses",
    "membership_attack",
    "metric_statistics",
    "model_statistics",
    "mu_lower_bound",
    "one_run_epsilon",
    "one_run_p_value",
    "published_parts",
    "refit",
    "replay",
]

_RENAMED = {"metric_facts": metric_statistics, "model_facts": model_statistics}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _RENAMED[name]
    warnings.warn(f"{name} is now {new.__name__}.", DeprecationWarning, stacklevel=2)
    return new
