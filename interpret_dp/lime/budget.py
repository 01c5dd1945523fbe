"""An explainer's own budget: a part of the data set's, divided among queries, never overspent.

The explainer promises (epsilon, delta) for everything that it ever releases. Each request is
charged to the ledger as well, which may refuse it earlier: others spend there, too.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from interpret_dp._figures import ceil_text, floor_text
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import epsilon_of_mu, largest_mu, mu_of_budget
from interpret_dp.exceptions import BudgetExceededError, LedgerError

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["USUAL_QUERIES", "ExplainerBudget", "QueriesExceededError"]

#: For how many fully computed explanations a budget lasts if nothing else is said.
USUAL_QUERIES = 100

# Relative room for rounding errors of sums; the limit is below what epsilon and delta allow by as
# much (as in the ledger's filter).
_ROUNDING = 1e-12


class QueriesExceededError(BudgetExceededError):
    """More explanations were asked for than are left in the explainer's budget.

    Attributes
    ----------
    n_asked : int
        How many were to be paid for.
    n_left : int
        How many the budget would have covered.
    advice : str
        What can be done.
    """

    def __init__(
        self, error: BudgetExceededError, n_asked: int, n_left: int, advice: str = ""
    ) -> None:
        super().__init__(
            error.dataset,
            requested_epsilon=error.requested_epsilon,
            requested_delta=error.requested_delta,
            requested_mu=error.requested_mu,
            remaining_mu=error.remaining_mu,
            largest_epsilon=error.largest_epsilon,
        )
        self.n_asked, self.n_left, self.advice = n_asked, n_left, advice
        many = "explanation needs" if n_asked == 1 else "explanations together need"
        self.args = (
            f"{n_asked:,} {many} epsilon {ceil_text(error.requested_epsilon)} at delta "
            f"{error.requested_delta:g}, and the budget of the explainer or of data set "
            f"{error.dataset!r} has room for {n_left:,} more (epsilon "
            f"{floor_text(error.largest_epsilon)}). Nothing was spent on them. {advice}".strip(),
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the carried figures, so that the error crosses process borders."""
        base = super().__reduce__()[:2]
        return _rebuild, (base, self.n_asked, self.n_left, self.advice)


def _rebuild(
    base: tuple[type, tuple[object, ...]], n_asked: int, n_left: int, advice: str
) -> QueriesExceededError:
    kind, arguments = base
    return QueriesExceededError(kind(*arguments), n_asked, n_left, advice)


class ExplainerBudget:
    """What an explainer may spend, has spent, and pays for one query.

    Parameters
    ----------
    epsilon, delta : float
        The promise for everything that the explainer releases.
    per_query : float or None
        Epsilon of one fully computed explanation at ``delta``; None leaves room for a hundred.
    ledger : PrivacyLedger
    dataset : str
        The account to which requests are charged.

    Raises
    ------
    LedgerError
        If the ledger has no budget for the data set, unless it is in memory and has none at all.

    Notes
    -----
    The squares of mu of all requests add up to at most that of ``mu``, whatever earlier outputs
    made the analyst or the method choose: a filter, as the ledger is
    (``docs/proofs/ledger-filter.md``).
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        per_query: float | None,
        ledger: PrivacyLedger,
        dataset: str,
    ) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.ledger, self.dataset = ledger, dataset
        self.mu = largest_mu(epsilon, delta) * (1.0 - _ROUNDING)
        self.query_mu = (
            self.mu / math.sqrt(USUAL_QUERIES)
            if per_query is None
            else min(self.mu, mu_of_budget(per_query, delta))
        )
        self._charged: list[float] = []
        self._owner = os.getpid()

    def admits(self, cost: GdpPair) -> bool:
        """Whether a request fits into what the explainer itself has left."""
        squares = math.fsum((*(mu * mu for mu in self._charged), cost.mu * cost.mu))
        return cost.delta == 0.0 and squares <= self.mu**2 * (1.0 + _ROUNDING)

    def charge(self, mu: float) -> None:
        """Count a request as spent."""
        self._charged.append(mu)

    @property
    def spent_mu(self) -> float:
        """What was spent so far."""
        return math.sqrt(math.fsum(mu * mu for mu in self._charged))

    @property
    def own_left_mu(self) -> float:
        """What the explainer itself has left, whatever the ledger says."""
        return _rest(self.mu, self.spent_mu)

    def left_mu(self) -> float:
        """Return the mu of the largest request that both the explainer and the ledger admit.

        Raises
        ------
        LedgerError
            In a process that was forked from the explainer's, whose copy could spend as much again;
            or if the ledger cannot be read.
        """
        if os.getpid() != self._owner:
            raise LedgerError(
                "The explainer belongs to another process, from which this one was forked. Make a "
                "new explainer here: it is charged to the same ledger."
            )
        budget = self.ledger.budget(self.dataset)
        if budget is None:
            self.ledger.remaining(self.dataset)  # raises if the ledger needs a budget
            return self.own_left_mu
        return min(self.own_left_mu, _rest(budget.mu, self.ledger.spent(self.dataset).mu))

    def n_left(self, left: float | None = None) -> int:
        """Return how many more fully computed explanations fit.

        Parameters
        ----------
        left : float, default=None
            What :meth:`left_mu` said; None: the ledger is read.
        """
        left = self.left_mu() if left is None else left
        return math.floor((left / self.query_mu) ** 2 * (1.0 + _ROUNDING))

    def refusal(self, n_asked: int, advice: str = "") -> QueriesExceededError:
        """Return the error for ``n_asked`` explanations that do not fit."""
        needed, left = self.query_mu * math.sqrt(n_asked), self.left_mu()
        error = BudgetExceededError(
            self.dataset,
            requested_epsilon=epsilon_of_mu(needed, self.delta),
            requested_delta=self.delta,
            requested_mu=needed,
            remaining_mu=left,
            largest_epsilon=epsilon_of_mu(left, self.delta) if left else 0.0,
        )
        return QueriesExceededError(error, n_asked, self.n_left(left), advice)


def _rest(limit: float, spent: float) -> float:
    """Return sqrt(limit^2 - spent^2); 0 where nothing but rounding errors is left."""
    left = (limit - spent) * (limit + spent)
    return math.sqrt(left) if left > 1e-9 * limit * limit else 0.0
