"""The privacy filter: which requests a budget admits. Pure arithmetic over the log.

An analyst chooses each request after seeing earlier outputs. Under such adaptive choice a running
total of privacy loss distributions is no valid stopping rule, but these two conditions are:
sum mu_i^2 <= B^2 and sum delta_i <= delta_x, each on its own, open reservations counted. The first
request, which no output has preceded, may use the whole budget instead. Statement and proof:
``docs/proofs/ledger-filter.md``.
"""

from __future__ import annotations

import math

from interpret_dp._figures import ceil_text
from interpret_dp._validate import check_real
from interpret_dp.accounting.composition import GdpPair, gaussian_part
from interpret_dp.accounting.gaussian import epsilon_of_mu, largest_mu, mu_of_budget
from interpret_dp.exceptions import BudgetExceededError
from interpret_dp.ledger.core.account import Account, Budget

_ROUNDING = 1e-12
"""Relative room for rounding errors of the sums. The limits are fixed below what the budget's
epsilon and delta allow by as much, so that using up the room keeps the promise."""


_LEFTOVER = 1e-9
"""A share of B^2 that is left over by calibration and rounding, and is of use to nobody."""


class DeltaExceededError(BudgetExceededError):
    """A request's own delta does not fit into the budget's ``delta_x``; nothing was spent.

    Attributes
    ----------
    requested_delta_part : float
        The delta of the request's (mu, delta) pair.
    remaining_delta_part : float
        What is left of ``delta_x``.
    mend : str
        The call that raises the budget far enough.
    """

    def __init__(
        self,
        error: BudgetExceededError,
        requested_delta_part: float,
        remaining_delta_part: float,
        mend: str,
    ) -> None:
        super().__init__(error.dataset, **error._figures())
        self.requested_delta_part = requested_delta_part
        self.remaining_delta_part = remaining_delta_part
        self.mend = mend
        self.args = (
            f"The budget of data set {error.dataset!r} does not cover this request: it needs "
            f"delta {requested_delta_part:.4g} for selections, and {remaining_delta_part:.4g} of "
            "the budget's delta_x is left. Nothing was spent. Either declare every level and class "
            "label in the schema, so that the fit of an additive model selects none (a "
            "DPLocallyLinearClassifier always needs some delta); or let the data's owner raise the "
            f"budget: {mend}, or `interpret-dp ledger raise`.",
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the carried figures, so that the error crosses process borders."""
        error = BudgetExceededError(self.dataset, **self._figures())
        parts = (self.requested_delta_part, self.remaining_delta_part, self.mend)
        return DeltaExceededError, (error, *parts)


def fix_budget(
    dataset: str, epsilon: float, delta: float, delta_x: float = 0.0, purpose: str = ""
) -> Budget:
    """Return the budget whose limits keep everything (epsilon, delta)-differentially private.

    B is the largest mu with delta_x + (1 - delta_x) delta_G(epsilon; B) <= delta.

    Raises
    ------
    TypeError, ValueError
        If epsilon is not above 0, delta is not between 0 and 1, or delta_x is not below delta.
    """
    epsilon = check_real("epsilon", epsilon, low=0, low_open=True)
    delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    delta_x = check_real(
        "delta_x",
        delta_x,
        low=0,
        high=delta,
        high_open=True,
        mend="It is the part of delta that requests which are not purely Gaussian may use up.",
    )
    left = gaussian_part(delta, delta_x * (1.0 + 2.0 * _ROUNDING))
    if left <= 0:
        raise ValueError(
            f"delta_x is {delta_x!r}, which leaves nothing of delta {delta!r} for Gaussian "
            "releases; it must be clearly below delta. Half of delta is a common choice."
        )
    mu = largest_mu(epsilon, left) * (1.0 - _ROUNDING)
    return Budget(dataset, epsilon, delta, delta_x, mu, purpose)


def admits(account: Account, pair: GdpPair) -> bool:
    """Whether the filter lets one more request of this pair through."""
    if within_limits(account, pair):
        return True
    budget = account.budget
    if budget is None or account.counted or not admits_delta(account, pair.delta):
        return False
    # Its mu is above B, and a commit charges all of it: nothing else fits any more.
    return pair.epsilon_at(budget.delta) <= budget.epsilon


def within_limits(account: Account, pair: GdpPair) -> bool:
    """Whether one more request of this pair keeps both sums within B^2 and delta_x."""
    if account.budget is None:
        return True
    squares = math.fsum((*(r.mu * r.mu for r in account.counted), pair.mu * pair.mu))
    within_mu = squares <= account.budget.mu**2 * (1.0 + _ROUNDING)
    return within_mu and admits_delta(account, pair.delta)


def admits_delta(account: Account, delta: float) -> bool:
    """Whether delta_x has room for one more request of this delta, whatever its mu."""
    if account.budget is None:
        return True
    deltas = math.fsum((*(r.delta for r in account.counted), delta))
    return deltas <= account.budget.delta_x * (1.0 + _ROUNDING)


def remaining_mu(account: Account) -> float:
    """Return the largest mu of one more Gaussian release; infinite without a budget.

    0.0 once less than a share of 1e-9 of the budget's B^2 is left.
    """
    if account.budget is None:
        return math.inf
    if not account.counted:
        return largest_mu(account.budget.epsilon, account.budget.delta) * (1.0 - _ROUNDING)
    limit = account.budget.mu**2
    left = math.fsum((limit, *(-r.mu * r.mu for r in account.counted)))
    return math.sqrt(left) if left > _LEFTOVER * limit else 0.0


def remaining_delta_x(account: Account) -> float:
    """Return what is left of the budget's delta_x; infinite without a budget."""
    if account.budget is None:
        return math.inf
    return max(0.0, math.fsum((account.budget.delta_x, *(-r.delta for r in account.counted))))


def largest_epsilon(mu: float, delta: float) -> float:
    """Return the largest epsilon whose request, calibrated at this delta, needs at most ``mu``.

    Parameters
    ----------
    mu : float
        What is left; infinite if no limit was declared.
    delta : float
        Of the request, between 0 and 1.
    """
    if math.isinf(mu):
        return math.inf
    epsilon = epsilon_of_mu(mu, delta)
    # Ten digits, so that an untouched budget answers 4.0 and not 3.999999999996.
    epsilon = float(f"{epsilon:.10g}")
    while epsilon > 0.0 and mu_of_budget(epsilon, delta) > mu:
        epsilon *= 1.0 - 1e-11
    return epsilon


def refusal(
    account: Account, pair: GdpPair, epsilon: float, epsilon_delta: float
) -> BudgetExceededError:
    """Return the error for a request that the filter does not admit."""
    # A request without a delta of its own is told what still fits at the budget's delta.
    delta = epsilon_delta or (account.budget.delta if account.budget else 0.0)
    left = remaining_mu(account)
    error = BudgetExceededError(
        account.dataset,
        requested_epsilon=epsilon,
        requested_delta=epsilon_delta,
        requested_mu=pair.mu,
        remaining_mu=left,
        largest_epsilon=largest_epsilon(left, delta),
    )
    if admits_delta(account, pair.delta):
        return error
    return DeltaExceededError(
        error, pair.delta, remaining_delta_x(account), _raise_for(account, pair.delta)
    )


def _raise_for(account: Account, delta: float) -> str:
    """Return the call that makes room for one more request of this delta."""
    budget = account.budget
    if budget is None:
        raise ValueError(f"Data set {account.dataset!r} has no budget; every delta fits.")
    delta_x = ceil_text(math.fsum((*(r.delta for r in account.counted), delta)))
    # As much more in all as for selections: a raise may not lower mu.
    total_delta = ceil_text(budget.delta + max(0.0, float(delta_x) - budget.delta_x))
    return (
        f"ledger.raise_budget({budget.dataset!r}, epsilon={budget.epsilon!r}, delta={total_delta}, "
        f"delta_x={delta_x}, reason=...)"
    )
