"""One line of an audit's table: what was claimed, what was proved, what would have been found."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from interpret_dp.audit.report import ReplayReport

__all__ = ["STANDS", "AttackLine", "ReplayLine"]

STANDS, REFUTED = "stands", "refuted"
"""What is expected of a claim: no attack may refute it, or the attack must (a control)."""


@dataclass(frozen=True)
class AttackLine:
    """One attack on one claim.

    Attributes
    ----------
    subject : str
        Whose claim.
    attack : str
        By what.
    epsilon, delta : float
        The claim.
    bound : float
        Lower bound on epsilon at ``delta``, proved by events.
    gaussian_bound : float or None
        The same from a bound on mu, where Gaussian differential privacy is claimed.
    confidence : float
    runs : int
        Fits with the row and as many without; 1 for a one-run audit.
    evidence : str
        What the larger bound rests on.
    finds : float
        Smallest true epsilon that this attack would refute the claim at, with 90 %.
    is_refuted : bool
    expected : {"stands", "refuted"}
    seconds : float
        Of the processor.
    """

    subject: str
    attack: str
    epsilon: float
    delta: float
    bound: float
    gaussian_bound: float | None
    confidence: float
    runs: int
    evidence: str
    finds: float
    is_refuted: bool
    expected: str
    seconds: float

    @property
    def best(self) -> float:
        """The larger of the two bounds."""
        return max(self.bound, self.gaussian_bound or 0.0)

    @property
    def is_as_expected(self) -> bool:
        """Whether the claim stands that must, and the control is refuted."""
        return self.is_refuted == (self.expected == REFUTED)

    def to_dict(self) -> dict[str, Any]:
        """Return the line for JSON; an infinite ``finds`` becomes None."""
        document = asdict(self)
        document["finds"] = None if math.isinf(self.finds) else self.finds
        return document


@dataclass(frozen=True)
class ReplayLine:
    """Frozen-noise replays of one explainer.

    Attributes
    ----------
    subject : str
    pairs : int
        Pairs of neighbouring tables, each replayed in both directions.
    releases : int
        Checked releases.
    worst_ratio : float
        Largest change of a release over its declared sensitivity; at most 1 if all is well.
    violations : tuple of str
    seconds : float
        Of the processor.
    """

    subject: str
    pairs: int
    releases: int
    worst_ratio: float
    violations: tuple[str, ...]
    seconds: float

    @property
    def is_as_expected(self) -> bool:
        """Whether something was released and nothing broke the promise."""
        return self.releases > 0 and not self.violations

    @classmethod
    def of(cls, subject: str, reports: list[ReplayReport], seconds: float) -> ReplayLine:
        """Sum up replays in both directions of some pairs of tables."""
        return cls(
            subject,
            len(reports) // 2,
            sum(release.count for report in reports for release in report.releases),
            max((report.worst_ratio for report in reports), default=0.0),
            tuple(str(violation) for report in reports for violation in report.violations),
            seconds,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return asdict(self)
