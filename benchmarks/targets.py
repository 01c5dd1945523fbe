"""Accuracy and time that must hold; every summary says whether they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.records import Comparison

__all__ = ["TARGETS", "Target", "check_targets"]


@dataclass(frozen=True)
class Target:
    """One requirement.

    Attributes
    ----------
    problem : str
    epsilon : float or None
        None: at every epsilon that was measured.
    requirement : str
    measure : callable
        The number that is compared, or None where an engine was not measured.
    least, most : float
        The range that the number must lie in.
    """

    problem: str
    epsilon: float | None
    requirement: str
    measure: Callable[[Comparison], float | None]
    least: float = float("-inf")
    most: float = float("inf")


def _ours(row: Comparison) -> float | None:
    return row.ours


def _difference(row: Comparison) -> float | None:
    return row.difference


def _ratio(row: Comparison) -> float | None:
    if row.ours is None or row.reference is None:
        return None
    return row.ours / row.reference


def _time_ratio(row: Comparison) -> float | None:
    if row.ours_seconds is None or row.reference_seconds is None:
        return None
    return row.ours_seconds / row.reference_seconds


TARGETS = (
    Target("adult", 0.5, "AUROC at least 0.893", _ours, least=0.893),
    Target("adult", 1.0, "AUROC at least 0.897", _ours, least=0.897),
    Target("wine_quality", 0.5, "RMSE at most 0.80", _ours, most=0.80),
    Target("wine_quality", 1.0, "RMSE at most 0.76", _ours, most=0.76),
    Target("pol", 0.5, "RMSE at most 0.95 times the reference's", _ratio, most=0.95),
    Target("elevators", 0.5, "RMSE at most 0.95 times the reference's", _ratio, most=0.95),
    Target("credit_fraud", None, "AUROC not below the reference's", _difference, least=0.0),
    Target("adult", None, "warm fit time at most the reference's", _time_ratio, most=1.0),
)


def check_targets(rows: Sequence[Comparison]) -> list[list[str]]:
    """Compare the measurements with the targets.

    Returns
    -------
    list of [requirement, measured, "yes" or "no"]
        Targets without a measurement are left out.
    """
    checked = []
    for target in TARGETS:
        for row in rows:
            if row.problem != target.problem or target.epsilon not in (None, row.epsilon):
                continue
            measured = target.measure(row)
            if measured is not None:
                checked.append(
                    [
                        f"{target.problem}, epsilon {row.epsilon:g}: {target.requirement}",
                        f"{measured:.4g}",
                        "yes" if target.least <= measured <= target.most else "no",
                    ]
                )
    return checked
