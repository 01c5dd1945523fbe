"""A data set's account in the ledger, as explanations show it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Protocol

from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import FALSE_ALARMS

OF_SEVERAL_ROWS = "A person who has several rows is protected less: k rows count k times in mu."
"""The sentence wherever the promise is about rows."""


def spent_shares(
    mu: float, delta_x: float, spent_mu: float, spent_delta: float
) -> tuple[float, float]:
    """Return the parts of a budget's mu squared and ``delta_x`` that are spent, 0 to 1."""
    of_mu = (spent_mu / mu) ** 2 if mu else 1.0
    of_delta = spent_delta / delta_x if delta_x else 0.0
    return min(1.0, of_mu), min(1.0, of_delta)


class ReadableLedger(Protocol):
    """The part of a ledger that an explanation reads; reading costs nothing."""

    def budget(self, dataset: str) -> Any:
        """Return the budget, or None if no limit was declared."""

    def spent(self, dataset: str) -> Any:
        """Return what was spent, with ``.mu``, ``.delta``, ``.n_requests`` and so on."""

    def remaining(self, dataset: str, delta: float | None = None) -> float:
        """Return the largest epsilon of one more Gaussian release."""


@dataclass(frozen=True, kw_only=True)
class BudgetState:
    """One data set's account at one moment: figures of the ledger alone, none of the rows.

    Attributes
    ----------
    dataset : str
        Its name.
    epsilon, delta : float
        What may ever be spent.
    mu, delta_x : float
        The same as the filter counts it: the limit on sqrt(sum mu_i^2), and the part of delta for
        requests that are not purely Gaussian.
    spent_mu, spent_delta : float
        What was spent of the two.
    remaining_epsilon : float
        Largest epsilon, at the budget's delta, of one more Gaussian release.
    n_requests, open_reservations : int
        Requests that count as spent, and those of them that run or were left by a crash.
    ever : GdpPair or None
        What was ever spent, if that is more: before a renewal for new people.
    expired : bool
        Whether the budget's time is over, so that nothing more fits.
    doubts : str
        On what promises depend that count against it, and why some do not hold; empty if all hold.
    """

    dataset: str
    epsilon: float
    delta: float
    mu: float
    delta_x: float
    spent_mu: float
    spent_delta: float
    remaining_epsilon: float
    n_requests: int
    open_reservations: int
    ever: GdpPair | None = None
    expired: bool = False
    doubts: str = ""

    @classmethod
    def of(cls, budget: Any, spent: Any, remaining_epsilon: float) -> BudgetState:
        """Return the state from the ledger's records."""
        return cls(
            dataset=budget.dataset,
            epsilon=budget.epsilon,
            delta=budget.delta,
            mu=budget.mu,
            delta_x=budget.delta_x,
            spent_mu=spent.mu,
            spent_delta=spent.delta,
            remaining_epsilon=remaining_epsilon,
            n_requests=spent.n_requests,
            open_reservations=spent.open_reservations,
            ever=spent.ever if spent.ever.mu > spent.mu or spent.ever.delta > spent.delta else None,
            expired=budget.has_expired,
            doubts=spent.doubts.sentence,
        )

    @property
    def spent_epsilon(self) -> float:
        """Everything spent, as the epsilon at the budget's delta; 0 if nothing was spent."""
        if not self.n_requests:
            return 0.0
        return GdpPair(self.spent_mu, self.spent_delta).epsilon_at(self.delta)

    @property
    def spent_shares(self) -> tuple[float, float]:
        """The parts of mu squared and of ``delta_x`` that are spent, 0 to 1."""
        return spent_shares(self.mu, self.delta_x, self.spent_mu, self.spent_delta)

    @property
    def spent_share(self) -> float:
        """The part of the budget that is spent, 0 to 1.

        Of mu squared, which adds up exactly from request to request as epsilon does not; of the
        reserved delta instead where that is the scarcer one.
        """
        return max(self.spent_shares)

    def share_of(self, pair: GdpPair) -> float:
        """Return the part of the budget that one request took, measured as ``spent_share`` is."""
        of_mu, of_delta = self.spent_shares
        if of_delta > of_mu:
            part = pair.delta / self.delta_x
        else:
            part = (pair.mu / self.mu) ** 2 if self.mu else 1.0
        return min(part, self.spent_share)

    def more_like(self, pair: GdpPair) -> int:
        """Return how many more requests of this cost, which is not 0, the ledger lets through."""
        if self.expired:
            return 0
        # The first request may use the whole budget, and what is kept for selections with it.
        first = int(not self.n_requests and pair.epsilon_at(self.delta) <= self.epsilon)
        rooms = []
        if pair.mu > 0:
            rooms.append((self.mu**2 - self.spent_mu**2) / pair.mu**2)
        if pair.delta > 0:
            rooms.append((self.delta_x - self.spent_delta) / pair.delta)
        # A budget made for a whole number of requests leaves room for the last of them up to
        # rounding, which the ledger's filter forgives as well.
        return max(first, math.floor(min(rooms) * (1.0 + 1e-9) + 1e-9))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, and what follows from them, as plain JSON values."""
        epsilon = self.spent_epsilon
        ever = self.ever or GdpPair(self.spent_mu, self.spent_delta)
        return dataclasses.asdict(self) | {
            "spent_epsilon": epsilon if math.isfinite(epsilon) else None,
            "spent_share": self.spent_share,
            "spent_shares": list(self.spent_shares),
            "detection_spent": detection_power(ever.mu, FALSE_ALARMS, ever.delta),
            "detection_limit": detection_power(self.mu, FALSE_ALARMS, self.delta_x),
        }
