"""The frozen-noise harness: a fit on a neighbouring table may differ only where it was charged.

A fit is run on a table while every release is recorded, and run again on a neighbour with each
release answered by the recorded output. Both runs then go the same way, so that two things can
be checked exactly, without statistics. Every sum that the second run would have released lies
within its declared sensitivity of the first run's: that is what the noise covers. And whatever
the two fits publish is the same bit for bit: what differs reached the public without noise.

One replay is a test of one pair of tables, not a proof.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from interpret_dp.audit.published import differences, published_parts
from interpret_dp.audit.replaying import Recording, Replaying, ReplayReport, Violation
from interpret_dp.mechanisms import SeededRandomness, use_randomness

__all__ = ["replay"]

_Table = TypeVar("_Table")

_RELATIVE_TOLERANCE = 1e-9


def replay(
    fit: Callable[[_Table], Any],
    table: _Table,
    neighbour: _Table,
    *,
    published: Callable[[Any], Mapping[str, Any]] = published_parts,
    seed: int = 0,
) -> ReplayReport:
    """Fit on two neighbouring tables with the same released outputs, and compare.

    Parameters
    ----------
    fit : callable
        Makes a new explainer, fits it on the table that it is given, and returns it. It must
        draw all randomness through the package (no ``random_state``), do the same each time, and
        charge an in-memory ledger or none.
    table, neighbour : object
        What ``fit`` takes, such as ``(X, y)``; they differ in one unit. Which of the two comes
        first decides the path: try both.
    published : callable
        Returns what a fitted explainer publishes, by name.
    seed : int
        Seed of the first run's noise and of both runs' public coin flips. The result says
        nothing about the noise itself, which has tests of its own.

    Returns
    -------
    ReplayReport
        Private, as the tables are.

    Raises
    ------
    Exception
        If ``fit`` fails in the same way on both tables, its error on the first one.

    Examples
    --------
    >>> from interpret_dp import Categorical, DPExplainableBoostingClassifier, Integer, Schema
    >>> from interpret_dp.audit import canary_tables, refit
    >>> schema = Schema({"age": Integer(0, 120)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema, n_others=20)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=2))
    >>> replay(fit, tables.with_row, tables.without_row).violations
    ()
    """
    recording = Recording(seed)
    first = _run(fit, table, recording, published)
    replaying = Replaying(seed, recording)
    second = _run(fit, neighbour, replaying, published)
    if first.error is not None and first.outcome == second.outcome:
        raise first.error
    replaying.finish()
    report = ReplayReport(
        tuple(replaying.checks),
        (*replaying.violations, *_compared(first, second)),
    )
    guarantee = getattr(first.explainer, "guarantee_", None) or getattr(
        first.explainer, "guarantee", None
    )
    promised = None if guarantee is None else guarantee.pair.mu
    if promised is not None and report.mu > promised * (1.0 + _RELATIVE_TOLERANCE):
        over = Violation(
            "budget",
            "guarantee_",
            f"the releases cost mu {report.mu:.6g}, the guarantee says {promised:.6g}",
        )
        return ReplayReport(report.releases, (*report.violations, over))
    return report


@dataclass(frozen=True)
class _Run:
    """What one fit showed to the outside."""

    explainer: Any
    error: Exception | None
    outcome: dict[str, Any]
    parts: Mapping[str, Any] = field(default_factory=dict)


def _run(
    fit: Callable[[_Table], Any],
    table: _Table,
    randomness: SeededRandomness,
    published: Callable[[Any], Mapping[str, Any]],
) -> _Run:
    explainer, error = None, None
    printed = io.StringIO()
    with (
        use_randomness(randomness),
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            explainer = fit(table)
        except Exception as failure:
            error = failure
    outcome = {
        "error": None if error is None else (type(error).__name__, str(error)),
        "warnings": [(item.category.__name__, str(item.message)) for item in caught],
        "printed": printed.getvalue(),
    }
    parts = {} if error is not None else published(explainer)
    return _Run(explainer, error, outcome, parts)


def _compared(first: _Run, second: _Run) -> list[Violation]:
    """Compare what both fits showed; details name places, never values."""
    found = [
        Violation("outcome", path, "differs between the two fits")
        for path in differences(first.outcome, second.outcome)
    ]
    if first.error is None and second.error is None:
        found += [
            Violation("published", path, "differs, and was not charged")
            for path in differences(dict(first.parts), dict(second.parts))
        ]
    return found
