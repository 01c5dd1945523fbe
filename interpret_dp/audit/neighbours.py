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
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.composition import GdpPair, compose
from interpret_dp.accounting.gaussian import mu_of_lattice
from interpret_dp.audit.published import differences, published_parts
from interpret_dp.mechanisms import SeededRandomness, use_randomness

__all__ = ["ReleaseCheck", "ReplayReport", "Violation", "replay"]

_Table = TypeVar("_Table")
Integers = NDArray[np.int64]

_RELATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Violation:
    """One way in which a fit broke its promise on this pair of tables.

    Attributes
    ----------
    kind : {"sensitivity", "sequence", "budget", "outcome", "published"}
        A sum changed by more than was declared; the releases or the public coin flips are not
        the same; they cost more than the guarantee says; errors, warnings or printed text differ;
        a published part differs.
    where : str
        The release, or the path of the part.
    detail : str
        What is wrong, in words.
    """

    kind: str
    where: str
    detail: str

    def __str__(self) -> str:
        """Return the violation as one line."""
        return f"{self.kind}: {self.where}: {self.detail}"


@dataclass(frozen=True)
class ReleaseCheck:
    """One call of the mechanism, of one or more stacked releases.

    Attributes
    ----------
    name : str
    count : int
        Stacked releases.
    sensitivity : int
        Declared for each of them, in lattice units.
    sigma : float
        Noise scale, in lattice units.
    ratio : float
        Largest L2 change of one of them over the declared sensitivity. Private.
    """

    name: str
    count: int
    sensitivity: int
    sigma: float
    ratio: float


@dataclass(frozen=True)
class ReplayReport:
    """What a replay found. Private: the ratios come from sums without noise.

    Attributes
    ----------
    releases : tuple of ReleaseCheck
    violations : tuple of Violation
    """

    releases: tuple[ReleaseCheck, ...]
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        """Whether something was released and nothing broke the promise."""
        return bool(self.releases) and not self.violations

    @property
    def worst_ratio(self) -> float:
        """Largest change of a sum over its declared sensitivity; at most 1 if all is well."""
        return max((release.ratio for release in self.releases), default=0.0)

    @property
    def mu(self) -> float:
        """Gaussian differential privacy of all recorded releases together."""
        pairs = [
            GdpPair(mu_of_lattice(release.sensitivity, release.sigma))
            for release in self.releases
            for _ in range(release.count)
        ]
        return compose(pairs).mu

    def __str__(self) -> str:
        """Return a short table and the verdict."""
        names = dict.fromkeys(release.name for release in self.releases)
        lines = []
        for name in names:
            own = [release for release in self.releases if release.name == name]
            worst = max(release.ratio for release in own)
            count = sum(release.count for release in own)
            lines.append(f"  {name}: {count} releases, largest change / sensitivity {worst:.4g}")
        if self.ok:
            verdict = "Nothing broke the promise on this pair of tables."
        elif self.violations:
            verdict = f"The promise is broken in {len(self.violations)} places:"
        else:
            verdict = "Nothing was released, so nothing was checked."
        return "\n".join([verdict, *(f"  {violation}" for violation in self.violations), *lines])


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
    """
    recording = _Recording(seed)
    first = _run(fit, table, recording, published)
    replaying = _Replaying(seed, recording.record)
    second = _run(fit, neighbour, replaying, published)
    if first.error is not None and first.outcome == second.outcome:
        raise first.error
    replaying.finish(recording)
    report = ReplayReport(
        tuple(replaying.checks),
        (*replaying.violations, *_compared(first, second)),
    )
    promised = getattr(getattr(first.explainer, "guarantee_", None), "mu", None)
    if promised is not None and report.mu > promised * (1.0 + _RELATIVE_TOLERANCE):
        over = Violation(
            "budget",
            "guarantee_",
            f"the releases cost mu {report.mu:.6g}, the guarantee says {promised:.6g}",
        )
        return ReplayReport(report.releases, (*report.violations, over))
    return report


@dataclass(frozen=True)
class _Recorded:
    """One release of the first run."""

    name: str
    exact: Integers
    sensitivity: int
    sigma: float
    output: Integers


class _Recording(SeededRandomness):
    """Seeded noise that keeps what it was asked for and what it answered."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.record: list[_Recorded] = []

    def perturb(self, name: str, exact: Integers, sensitivity: int, sigma: float) -> Integers:
        """Record a release."""
        output = super().perturb(name, exact, sensitivity, sigma)
        self.record.append(_Recorded(name, exact.copy(), sensitivity, sigma, output.copy()))
        return output


class _Replaying(SeededRandomness):
    """Answers every release with the first run's output, and checks what it replaces."""

    def __init__(self, seed: int, record: list[_Recorded]) -> None:
        super().__init__(seed)
        self._record = record
        self.checks: list[ReleaseCheck] = []
        self.violations: list[Violation] = []
        self._calls = 0

    def perturb(self, name: str, exact: Integers, sensitivity: int, sigma: float) -> Integers:
        """Check a release against its counterpart and return the counterpart's output."""
        number, self._calls = self._calls, self._calls + 1
        where = f"{name} (call {number})"
        if number >= len(self._record):
            self.violations.append(Violation("sequence", where, "only on the neighbour"))
            return super().perturb(name, exact, sensitivity, sigma)
        twin = self._record[number]
        for what, mine, its in (
            ("name", name, twin.name),
            ("shape", exact.shape, twin.exact.shape),
            ("sensitivity", sensitivity, twin.sensitivity),
            ("sigma", sigma, twin.sigma),
        ):
            if mine != its:
                self.violations.append(Violation("sequence", where, f"its {what} differs"))
        if exact.shape != twin.exact.shape:
            return super().perturb(name, exact, sensitivity, sigma)
        squares = [
            _squared_distance(one, other) for one, other in zip(exact, twin.exact, strict=True)
        ]
        worst = max(squares, default=0)
        ratio = math.sqrt(worst) / twin.sensitivity
        self.checks.append(
            ReleaseCheck(name, len(squares), twin.sensitivity, min(sigma, twin.sigma), ratio)
        )
        if worst > twin.sensitivity**2:
            self.violations.append(
                Violation("sensitivity", where, f"it changed by {ratio:.4g} of what was declared")
            )
        return twin.output.copy()

    def finish(self, recording: _Recording) -> None:
        """Check that nothing is left of the first run's releases and public coin flips."""
        for number in range(self._calls, len(self._record)):
            where = f"{self._record[number].name} (call {number})"
            self.violations.append(Violation("sequence", where, "not on the neighbour"))
        if self.public.bit_generator.state != recording.public.bit_generator.state:
            self.violations.append(
                Violation("sequence", "public coin flips", "another number of them was drawn")
            )


def _squared_distance(one: Integers, other: Integers) -> int:
    """Return the squared L2 distance, exactly: Python's integers do not overflow."""
    changed = one != other
    return sum(
        (int(a) - int(b)) ** 2
        for a, b in zip(one[changed].tolist(), other[changed].tolist(), strict=True)
    )


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
