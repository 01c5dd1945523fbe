"""A data set's account in the ledger, and the words for it on every screen and in the shell."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from interpret_dp._validate import ceil_text, counted, percent_texts, selections_text
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import FALSE_ALARMS

OF_SEVERAL_ROWS = "A person who has several rows is protected less, the more rows the less."
"""The sentence wherever the promise is about rows."""

PERCENT_NOTE = "Percent of a budget add up from request to request; epsilon does not."
"""Beside tables and figures of what requests used."""

_ROUNDING = 1e-12  # as the ledger's filter forgives


def request_shares(account: Mapping[str, Any]) -> list[float]:
    """Return what each request of an account used of the budget in force, by mu squared.

    Without a budget: its share of all that was spent. 0 for what no longer counts.

    Parameters
    ----------
    account : mapping
        One of the data sets of ``PrivacyLedger.to_dict()``.
    """
    budget, requests = account["budget"], account["requests"]
    squares = [request["mu"] ** 2 * request["counts"] for request in requests]
    whole = budget["mu"] ** 2 if budget else math.fsum(squares)
    return [square / whole if whole else 0.0 for square in squares]


def request_texts(account: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the requests of an account, with what each used and the total then, in percent."""
    shares = request_shares(account)
    totals = (percent_texts([total])[0] for total in accumulate(shares))
    figures = zip(account["requests"], percent_texts(shares), totals, strict=True)
    return [{**request, "uses": uses, "total": total} for request, uses, total in figures]


def grouped_shares(account: Mapping[str, Any], by: str) -> list[tuple[str, float, str]]:
    """Return what the requests of each class or user used, the most first: name, share, percent.

    Parameters
    ----------
    account : mapping
    by : {"explainer", "user"}
    """
    groups: Counter[str] = Counter()
    for request, share in zip(account["requests"], request_shares(account), strict=True):
        groups[request[by] or "unknown"] += share  # type: ignore[assignment]
    names, shares = zip(*groups.most_common(), strict=True) if groups else ((), ())
    return list(zip(names, shares, percent_texts(shares), strict=True))


def account_rows(account: Mapping[str, Any]) -> dict[str, str]:
    """Return what an officer has to know of an account, a text for each label.

    Parameters
    ----------
    account : mapping
        One of the data sets of ``PrivacyLedger.to_dict()``.
    """
    state, spent = BudgetState.of(account), account["spent"]
    if state is None:
        n_requests = counted(spent["n_requests"], "request")
        return {"Budget": account["limit"], "Used": f"mu {ceil_text(spent['mu'])}, by {n_requests}"}
    counts = [request for request in account["requests"] if request["counts"]]
    costs = (GdpPair(request["mu"], request["delta"]) for request in reversed(counts))
    rows = state.rows(next((c for c in costs if c.mu or c.delta), None), "the latest request")
    # Beside requests at another delta it would read as if it contradicted them.
    if counts and {request["epsilon_delta"] for request in counts} == {state.delta}:
        together = _at(state.spent_epsilon, state.delta)
        rows["Together"] = f"{together} (epsilon does not add up, percent do)"
    if state.ever is not None:
        ever = _at(state.ever.epsilon_at(state.delta), state.delta)
        rows["Ever"] = f"{ever}, with what was spent before a renewal for new people"
    return rows


def _at(epsilon: float, delta: float) -> str:
    return f"epsilon {ceil_text(epsilon)} at delta {delta:g}"


class ReadableLedger(Protocol):
    """The part of a ledger that an explanation reads; reading costs nothing."""

    def to_dict(self, dataset: str | None = None) -> dict[str, Any]:
        """Return budgets, spending and requests."""


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
    approval_above : float or None
        Requests of more than this epsilon, at the budget's delta, need an approval; None: none do.
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
    approval_above: float | None = None

    @classmethod
    def of(cls, account: Mapping[str, Any]) -> BudgetState | None:
        """Return the state of one of the data sets of a ledger's document; None without a budget.

        Parameters
        ----------
        account : mapping
            One of the data sets of ``PrivacyLedger.to_dict()``.
        """
        budget, spent = account["budget"], account["spent"]
        if budget is None:
            return None
        ever = GdpPair(**spent["ever"])
        return cls(
            **{name: budget[name] for name in ("dataset", "epsilon", "delta", "mu", "delta_x")},
            spent_mu=spent["mu"],
            spent_delta=spent["delta"],
            remaining_epsilon=account["remaining_epsilon"],
            n_requests=spent["n_requests"],
            open_reservations=spent["open_reservations"],
            ever=ever if ever.mu > spent["mu"] or ever.delta > spent["delta"] else None,
            expired=budget["expired"],
            doubts=account["guarantee_sentence"],
            approval_above=account["approval_above"],
        )

    @property
    def spent_epsilon(self) -> float:
        """Everything spent, as the epsilon at the budget's delta; 0 if nothing was spent."""
        if not self.n_requests:
            return 0.0
        return GdpPair(self.spent_mu, self.spent_delta).epsilon_at(self.delta)

    @property
    def spent_share(self) -> float:
        """The part of the budget's mu squared that is spent, 0 to 1.

        It adds up exactly from request to request, as epsilon does not.
        """
        return min(1.0, (self.spent_mu / self.mu) ** 2) if self.mu else 1.0

    def share_of(self, pair: GdpPair) -> float:
        """Return the part of the budget that one request took, measured as ``spent_share`` is."""
        return min((pair.mu / self.mu) ** 2 if self.mu else 1.0, self.spent_share)

    def more_like(self, pair: GdpPair) -> int:
        """Return how many more requests of this cost, which is not 0, the ledger lets through."""
        if self.expired:
            return 0
        rooms = []
        for limit, spent, cost in (
            (self.mu**2, self.spent_mu**2, pair.mu**2),
            (self.delta_x, self.spent_delta, pair.delta),
        ):
            if cost:
                rooms.append(math.floor((limit * (1.0 + _ROUNDING) - spent) / cost))
        # The first request may use the whole budget.
        is_first = not self.n_requests and pair.delta <= self.delta_x * (1.0 + _ROUNDING)
        first = int(is_first and pair.epsilon_at(self.delta) <= self.epsilon)
        return max(first, min(rooms))

    # ------------------------------------------------------------------------------- in words

    def rows(self, pair: GdpPair | None, like: str) -> dict[str, str]:
        """Return what a reader has to know of the budget, a text for each label.

        Parameters
        ----------
        pair : GdpPair or None
            What one more request would cost; None if that is unknown or nothing.
        like : str
            Whose cost that is, such as "this model".
        """
        used = "nothing"
        if self.n_requests:
            (used,) = percent_texts([self.spent_share])
            if self.delta_x and self.spent_delta:
                (of_delta,) = percent_texts([self.spent_delta / self.delta_x])
                used += f", and {of_delta} of the delta for selections"
            used += f", by {counted(self.n_requests, 'request')}"
        limit = f"epsilon {self.epsilon:g} at delta {self.delta:g}{selections_text(self.delta_x)}"
        rows = {"Budget": limit, "Used": used}
        if self.open_reservations:
            rows["Open"] = f"{self.open_reservations:,} of them run or crashed; they count in full"
        if self.expired:
            rows["One more"] = "no: the budget has expired, and an officer may renew it"
        elif pair is not None and (pair.mu or pair.delta):
            rows["One more"] = f"like {like}: {self._answer(pair)}"
        return rows

    def _answer(self, pair: GdpPair) -> str:
        more, above = self.more_like(pair), self.approval_above
        text = "no" if not more else "yes" if more == 1 else f"yes, up to {more:,}"
        needs_approval = above is not None and pair.epsilon_at(self.delta) > above * 1.000001
        return f"{text}, if an officer approves" if more and needs_approval else text

    def bar(self, own: str = "", share: float = 0.0) -> list[tuple[str, float, str]]:
        """Return the parts of the budget: name, share and percent, which add up to 100.

        Parameters
        ----------
        own : str
            Name of the requests that are shown by themselves, if any.
        share : float
            Their share of the budget.
        """
        share, used = min(share, self.spent_share), self.spent_share
        parts = {own: share, "other requests": used - share} if own else {"used": used}
        # Rounding of sums is no request, and no room for one.
        shares = [part if part > 1e-9 else 0.0 for part in (*parts.values(), 1.0 - used)]
        return list(zip((*parts, "left"), shares, percent_texts(shares), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, and what follows from them, as plain JSON values."""
        epsilon = self.spent_epsilon
        ever = self.ever or GdpPair(self.spent_mu, self.spent_delta)
        return dataclasses.asdict(self) | {
            "spent_epsilon": epsilon if math.isfinite(epsilon) else None,
            "spent_share": self.spent_share,
            "detection_spent": detection_power(ever.mu, FALSE_ALARMS, ever.delta),
            "detection_limit": detection_power(self.mu, FALSE_ALARMS, self.delta_x),
        }
