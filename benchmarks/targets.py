"""Accuracy and time that must hold, or are aimed at; every summary says whether they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.paired import paired
from benchmarks.problems import EPSILONS, PUBLISHED, TABLES
from benchmarks.records import Comparison, Results

__all__ = ["TARGETS", "Check", "Target", "check_targets"]

_OURS_AT = 0.5
_LARGEST = EPSILONS[-1]
_ALL = len(TABLES)
#: How much worse than a constant prediction is let pass, as a share.
_OF_CONSTANT = 0.01
_MOST_CELLS_BETTER = 36
_HALF = 0.5


@dataclass(frozen=True)
class Check:
    """A requirement and what was measured.

    Attributes
    ----------
    kind : {"floor", "goal"}
    requirement, measured : str
    holds : bool or None
        None: too little was measured to say.
    """

    kind: str
    requirement: str
    measured: str
    holds: bool | None

    @property
    def cells(self) -> list[str]:
        """The row of a table."""
        said = {True: "yes", False: "no", None: "open"}[self.holds]
        return [self.kind, self.requirement, self.measured, said]


@dataclass(frozen=True)
class Target:
    """One requirement on one problem.

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
    kind : {"floor", "goal"}
    """

    problem: str
    epsilon: float | None
    requirement: str
    measure: Callable[[Comparison], float | None]
    least: float = float("-inf")
    most: float = float("inf")
    kind: str = "floor"


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
    *(
        Target("adult_complete", epsilon, f"AUROC at least S-BDT's {score}", _ours, least=score)
        for epsilon, score in PUBLISHED["adult_complete"].items()
    ),
    *(
        Target("abalone", epsilon, f"RMSE at most S-BDT's {score}", _ours, most=score, kind="goal")
        for epsilon, score in PUBLISHED["abalone"].items()
    ),
)
#: Cells on which the reference is measured, and all cells.
_CELLS = frozenset((problem, epsilon) for problem in TABLES for epsilon in EPSILONS)
_ALL_CELLS = _CELLS | {
    (problem, epsilon) for problem in PUBLISHED for epsilon in PUBLISHED[problem]
}


def check_targets(results: Results, rows: Sequence[Comparison]) -> list[Check]:
    """Compare the measurements with what is required.

    Parameters
    ----------
    results : Results
    rows : sequence of Comparison
        The same results, aggregated by ``benchmarks.summary.compare``.
    """
    return [
        _at_least_as_good(results, 2.0, TABLES, _ALL, "floor"),
        _at_least_as_good(results, 4.0, TABLES, 6, "floor"),
        _at_least_as_good(results, _LARGEST, ("adult", "pol"), 2, "floor"),
        _at_least_as_good(results, _LARGEST, TABLES, _ALL, "goal"),
        _not_worse(rows),
        _better(rows),
        _no_worse_than_constant(rows),
        _half_of_the_distance(results),
        *_of_one_problem(rows),
    ]


def _of_one_problem(rows: Sequence[Comparison]) -> Iterator[Check]:
    """Yield a check of each of ``TARGETS`` and cell; what was not measured is left out."""
    for target in TARGETS:
        for row in rows:
            if row.problem != target.problem or target.epsilon not in (None, row.epsilon):
                continue
            measured = target.measure(row)
            if measured is not None:
                yield Check(
                    target.kind,
                    f"{target.problem}, epsilon {row.epsilon:g}: {target.requirement}",
                    f"{measured:.4g}",
                    target.least <= measured <= target.most,
                )


def _at_least_as_good(
    results: Results, reference_epsilon: float, problems: Sequence[str], n_least: int, kind: str
) -> Check:
    """Compare ours at a small epsilon with the reference at a larger one."""
    lost = []
    n_good = 0
    for problem in problems:
        pair = paired(
            results.by_split(problem, "ours", _OURS_AT),
            results.by_split(problem, "reference", reference_epsilon),
        )
        if pair is not None and pair.gain >= 0.0:
            n_good += 1
        elif pair is not None:
            lost.append(f"{problem} {pair.one:.4g} against {pair.other:.4g}")
    n_known = n_good + len(lost)
    where = f"{n_least} of {len(problems)}" if len(problems) == _ALL else " and ".join(problems)
    return Check(
        kind,
        f"ours at epsilon {_OURS_AT:g} at least as good as the reference at "
        f"{reference_epsilon:g} on {where}",
        _counted(n_good, n_known, len(problems), lost),
        _at_least(n_least, n_good, n_known, len(problems)),
    )


def _leads(rows: Sequence[Comparison]) -> dict[str, tuple[float, float]]:
    """Return how much better ours is than the reference and the error of that, by cell."""
    found = {}
    for row in rows:
        if (row.problem, row.epsilon) not in _CELLS:
            continue
        if row.difference is None or row.standard_error is None:
            continue
        gain = row.difference if row.metric == "AUROC" else -row.difference
        found[_cell(row)] = (gain, row.standard_error)
    return found


def _not_worse(rows: Sequence[Comparison]) -> Check:
    leads = _leads(rows)
    worse = [cell for cell, (gain, error) in leads.items() if gain < -error]
    n_good, n_all = len(leads) - len(worse), len(_CELLS)
    return Check(
        "floor",
        "not worse than the reference by more than one corrected standard error, at every epsilon",
        _counted(n_good, len(leads), n_all, worse),
        _at_least(n_all, n_good, len(leads), n_all),
    )


def _better(rows: Sequence[Comparison]) -> Check:
    leads = _leads(rows)
    rest = [cell for cell, (gain, error) in leads.items() if gain <= error]
    n_good, n_all = len(leads) - len(rest), len(_CELLS)
    return Check(
        "floor",
        "better than the reference by more than one corrected standard error in "
        f"{_MOST_CELLS_BETTER} of {n_all} cells",
        _counted(n_good, len(leads), n_all, rest),
        _at_least(_MOST_CELLS_BETTER, n_good, len(leads), n_all),
    )


def _no_worse_than_constant(rows: Sequence[Comparison]) -> Check:
    known = {
        _cell(row): _share_lost(row.metric, row.ours, row.constant)
        for row in rows
        if (row.problem, row.epsilon) in _ALL_CELLS
        and row.ours is not None
        and row.constant is not None
    }
    lost = [f"{cell} by {share:.1%}" for cell, share in known.items() if share > _OF_CONSTANT]
    n_good, n_all = len(known) - len(lost), len(_ALL_CELLS)
    return Check(
        "floor",
        f"not worse than predicting a constant by more than {_OF_CONSTANT:.0%}",
        _counted(n_good, len(known), n_all, lost),
        _at_least(n_all, n_good, len(known), n_all),
    )


def _share_lost(metric: str, ours: float, constant: float) -> float:
    sign = 1.0 if metric == "AUROC" else -1.0
    return sign * (constant - ours) / constant


def _half_of_the_distance(results: Results) -> Check:
    """Compare what ours gains on the reference with what the EBM without privacy gains on it."""
    shares: dict[str, float] = {}
    none = []
    for problem in TABLES:
        fits = [
            results.by_split(problem, "ours", _LARGEST),
            results.by_split(problem, "reference", _LARGEST),
            results.by_split(problem, "nonprivate", None),
        ]
        splits = set.intersection(*map(set, fits))
        ours, reference, without = ({s: one[s] for s in splits} for one in fits)
        distance, gain = paired(without, reference), paired(ours, reference)
        if distance is None or gain is None or distance.standard_error is None:
            continue
        if distance.gain <= distance.standard_error:
            none.append(problem)
        else:
            shares[problem] = gain.gain / distance.gain
    n_known, short = len(shares) + len(none), [p for p, share in shares.items() if share < _HALF]
    said = [f"{problem} {share:.0%}" for problem, share in shares.items()]
    said += [f"{problem} has none" for problem in none]
    return Check(
        "goal",
        f"at epsilon {_LARGEST:g} half of the reference's distance to the EBM without privacy is "
        "gone, where that is more than its corrected standard error",
        _counted(n_known - len(short), n_known, _ALL, said),
        _at_least(_ALL, n_known - len(short), n_known, _ALL),
    )


def _cell(row: Comparison) -> str:
    return f"{row.problem} at {row.epsilon:g}"


def _counted(n_good: int, n_known: int, n_all: int, said: Sequence[str]) -> str:
    missing = f", {n_all - n_known} not measured" if n_known < n_all else ""
    return "; ".join([f"{n_good} of {n_known}{missing}", *said])


def _at_least(n_least: int, n_good: int, n_known: int, n_all: int) -> bool | None:
    """Say whether at least so many of all hold; None while that rests on what is not measured."""
    if n_good >= n_least:
        return True
    return None if n_good + n_all - n_known >= n_least else False
