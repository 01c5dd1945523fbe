"""Costs that explanations show: of single answers, and of a data set's account in the ledger."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Protocol

from interpret_dp._validate import ceil_text, check_choice, check_int, check_real
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import FALSE_ALARMS

OF_SEVERAL_ROWS = "A person who has several rows is protected less: k rows count k times in mu."
"""The sentence wherever the promise is about rows."""

ORIGINS = ("post-processed", "reused", "released")
"""Origins of an explanation: computed from what was released before, taken over from an earlier
explanation as it is, or released anew."""

BACKGROUND = "background"
"""The method whose answers are computed from one released background."""

_SOURCES = {
    "released": "released now",
    "reused": "reused from a near query",
    "post-processed": "from the released history",
}


def spent_shares(
    mu: float, delta_x: float, spent_mu: float, spent_delta: float
) -> tuple[float, float]:
    """Return the parts of a budget's mu squared and ``delta_x`` that are spent, 0 to 1."""
    of_mu = (spent_mu / mu) ** 2 if mu else 1.0
    of_delta = spent_delta / delta_x if delta_x else 0.0
    return min(1.0, of_mu), min(1.0, of_delta)


class Account(Protocol):
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
        """Return how many more requests of this cost the ledger lets through, rounded down."""
        if pair.mu <= 0 and pair.delta <= 0:
            raise ValueError(
                f"The request's cost is mu {pair.mu!r} and delta {pair.delta!r}; one of them must "
                "be above 0, for a request that costs nothing is never refused."
            )
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


@dataclass(frozen=True)
class RowSpend:
    """The cost of one row's explanation; public.

    Attributes
    ----------
    epsilon : float
        At the delta of the explainer's guarantee; 0 unless released. Those of several rows do not
        add up: together they cost less than their sum.
    origin : {"post-processed", "reused", "released"}
        Computed from released history or from a released background; taken over from the released
        explanation of a near query; or computed on the private rows and paid for.
    method : str
        How it was made, such as ``"statistics"`` or ``"background"``.
    remaining_epsilon : float or None
        Largest epsilon of one more answer of the explainer after this row; None if not known.

    Examples
    --------
    >>> from interpret_dp.explanation import RowSpend
    >>> RowSpend(0.1, "released", "adaptive", remaining_epsilon=0.9).epsilon
    0.1
    """

    epsilon: float
    origin: str
    method: str
    remaining_epsilon: float | None = None

    def __post_init__(self) -> None:
        """Check every field."""
        check_choice("origin", self.origin, ORIGINS)
        object.__setattr__(self, "epsilon", check_real("epsilon", self.epsilon, low=0))
        if self.epsilon > 0 and self.origin != "released":
            raise ValueError(
                f"epsilon is {self.epsilon!r} and origin is {self.origin!r}; only what is "
                "'released' costs anything."
            )
        if not isinstance(self.method, str) or not self.method:
            raise TypeError(f"method is {self.method!r}; it must be a name such as 'statistics'.")
        if self.remaining_epsilon is not None:
            left = check_real("remaining_epsilon", self.remaining_epsilon, low=0)
            object.__setattr__(self, "remaining_epsilon", left)

    @property
    def source(self) -> str:
        """The origin in words, one of four; figures distinguish no others."""
        return source_of(self.origin, self.method)

    @property
    def words(self) -> str:
        """The source with its cost, for a figure."""
        source = self.source[0].upper() + self.source[1:]
        if self.origin == "released":
            return f"{source} for epsilon {ceil_text(self.epsilon)}, method {self.method}"
        if self.origin == "reused" or self.method == BACKGROUND:
            return f"{source}: free"
        return f"{source}: free, less exact"


def source_of(origin: str, method: str) -> str:
    """Return the origin of an explanation in words: one of four sources."""
    if origin == "post-processed" and method == BACKGROUND:
        return "from the background"
    return _SOURCES[origin]


@dataclass(frozen=True)
class QueryBudget:
    """Spending of an explainer when an explanation was made; public.

    Attributes
    ----------
    spent : GdpPair
        Everything that it had released, this explanation included.
    remaining_epsilon : float
        Largest epsilon, at the delta of its guarantee, of one more answer.
    more_queries : int or None
        About how many more queries at the usual cost of one are left; None if that is not known.

    Examples
    --------
    >>> from interpret_dp.accounting import GdpPair
    >>> from interpret_dp.explanation import QueryBudget
    >>> QueryBudget(GdpPair(0.1), remaining_epsilon=0.9).more_queries is None
    True
    """

    spent: GdpPair
    remaining_epsilon: float
    more_queries: int | None = None

    def __post_init__(self) -> None:
        """Check the figures."""
        left = check_real("remaining_epsilon", self.remaining_epsilon, low=0)
        object.__setattr__(self, "remaining_epsilon", left)
        if self.more_queries is not None:
            check_int("more_queries", self.more_queries, low=0)
