"""Reports of the ledger: a table and a JSON document."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interpret_dp._figures import ceil_text, floor_text, left_for_selections, selections_text
from interpret_dp.accounting.composition import GdpPair, compose_each, gaussian_part
from interpret_dp.accounting.gaussian import epsilons_of_mu
from interpret_dp.accounting.state import Doubts
from interpret_dp.ledger.core.account import Account, Request, total_of
from interpret_dp.ledger.core.filter import largest_epsilon, remaining_mu

if TYPE_CHECKING:
    import pandas as pd

NO_LIMIT = "no limit declared"

REPORT_COLUMNS = (
    "dataset",
    "time",
    "explainer",
    "purpose",
    "user",
    "host",
    "asked_epsilon",
    "asked_delta",
    "mu",
    "delta",
    "state",
    "guarantee_state",
    "total_mu",
    "total_epsilon",
)
_REQUEST_FIELDS = [
    {"asked_epsilon": "epsilon", "asked_delta": "epsilon_delta"}.get(name, name)
    for name in REPORT_COLUMNS[:-2]
]


def report_frame(accounts: Sequence[Account]) -> pd.DataFrame:
    """Return one row per request, with what had been spent up to it.

    Totals are over everything that was ever spent. ``total_epsilon`` is at the delta of the budget
    in force now, and missing without a budget.
    """
    import pandas as pd

    rows = [row for account in accounts for row in _rows(account)]
    return pd.DataFrame(rows, columns=list(REPORT_COLUMNS))


def _rows(account: Account) -> Iterator[tuple[Any, ...]]:
    totals = list(compose_each(request.pair for request in account.requests))
    epsilons = _epsilons(totals, account.budget.delta if account.budget else None)
    for request, total, epsilon in zip(account.requests, totals, epsilons, strict=True):
        yield (*(getattr(request, name) for name in _REQUEST_FIELDS), total.mu, epsilon)


def _epsilons(totals: Sequence[GdpPair], delta: float | None) -> list[float]:
    """Return the epsilon of each total: NaN without a delta, infinite if it is too small."""
    import numpy as np

    if delta is None:
        return [math.nan] * len(totals)
    mus = np.array([total.mu for total in totals])
    left = np.array([gaussian_part(delta, total.delta) for total in totals])
    epsilons = np.full(len(totals), math.inf)
    epsilons[left > 0] = epsilons_of_mu(mus[left > 0], left[left > 0])
    return [float(epsilon) for epsilon in epsilons]


def account_document(account: Account) -> dict[str, Any]:
    """Return an account for JSON; figures that no limit bounds are None."""
    budget = account.budget
    expired = budget is not None and budget.has_expired
    return {
        "dataset": account.dataset,
        "names": list(account.names),
        "limit": NO_LIMIT if budget is None else "declared",
        "protected": account.protected,
        "budget": None if budget is None else dataclasses.asdict(budget) | {"expired": expired},
        "approval_above": account.approval_above,
        "spent": account.spent.to_dict(),
        "remaining_epsilon": _remaining(account),
        **clauses_document(account),
        # Their fields are plain values or lists of text, which need no deep copy.
        "requests": [vars(request) | clauses_document(request) for request in account.requests],
    }


def clauses_document(part: Account | Request) -> dict[str, Any]:
    """Return the state of the guarantees of an account or a request, and why, for JSON."""
    return {
        "guarantee_state": part.guarantee_state,
        "guarantee_sentence": Doubts(part.conditions, part.failures).sentence,
        "conditions": list(part.conditions),
        "failures": list(part.failures),
    }


def overview_row(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return names, state, budget, spending, rest and number of requests of an account."""
    budget, spent = document["budget"], document["spent"]
    names, n_requests = " = ".join(document["names"]), str(spent["n_requests"])
    state = document["guarantee_state"]
    if budget is None:
        total = f"mu {ceil_text(spent['mu'])}"
        return names, state, document["limit"], total, "no limit", n_requests
    at_delta = f"at delta {budget['delta']:g}"
    total = ceil_text(spent["epsilon"]) if spent["n_requests"] else "0"
    left = document["remaining_epsilon"]
    return (
        names,
        state,
        f"epsilon {budget['epsilon']:g} {at_delta}{selections_text(budget['delta_x'])}",
        f"epsilon {total}",
        "nothing: expired"
        if budget["expired"]
        else f"epsilon {floor_text(left) if left else 0}"
        f"{left_for_selections(left, budget['delta_x'], spent['delta'])}",
        n_requests,
    )


def oversight_document(account: Account) -> dict[str, Any]:
    """Return an account for an officer: also totals over time, by class, user and purpose, acts."""
    spent, delta = account.spent, account.budget.delta if account.budget else None
    pairs = list(compose_each(request.pair for request in account.requests))
    totals = [
        {"mu": pair.mu, "delta": pair.delta, "epsilon": value if math.isfinite(value) else None}
        for pair, value in zip(pairs, _epsilons(pairs, delta), strict=True)
    ]
    return account_document(account) | {
        "spent_epsilon": {
            "budget": _epsilon(GdpPair(spent.mu, spent.delta), delta),
            "period": _epsilon(spent.period, delta),
            "ever": _epsilon(spent.ever, delta),
        },
        "totals": totals,
        "periods": [{"number": entry.number, "time": entry.date} for entry in account.renewed],
        "by_explainer": _grouped(account, "explainer"),
        "by_user": _grouped(account, "user"),
        "by_purpose": _grouped(account, "purpose"),
        "approvals": [
            dataclasses.asdict(approval) | {"status": approval.status}
            for approval in account.approvals
        ],
        "acts": [entry.to_dict() | {"user": entry.user} for entry in account.acts],
    }


def _grouped(account: Account, field: str) -> list[dict[str, Any]]:
    """Return what each group of requests cost together, the dearest first.

    ``share`` is the part of the account's mu squared, which adds up as epsilon does not.
    """
    groups: dict[str, list[Request]] = {}
    for request in account.ever:
        groups.setdefault(getattr(request, field), []).append(request)
    delta = account.budget.delta if account.budget else None
    pairs = {name: total_of(requests) for name, requests in groups.items()}
    total = math.fsum(pair.mu**2 for pair in pairs.values())
    lines = []
    for name, requests in groups.items():
        pair = pairs[name]
        lines.append(
            {
                field: name,
                "n_requests": len(requests),
                "mu": pair.mu,
                "delta": pair.delta,
                "epsilon": _epsilon(pair, delta),
                "share": pair.mu**2 / total if total else 0.0,
            }
        )
    return sorted(lines, key=lambda line: (-line["mu"], line[field]))


def _epsilon(pair: GdpPair, delta: float | None) -> float | None:
    """Return the epsilon of a pair; None without a delta, or where no figure can state it."""
    if delta is None:
        return None
    if pair == GdpPair(0.0):
        return 0.0
    epsilon = pair.epsilon_at(delta)
    return epsilon if math.isfinite(epsilon) else None


def _remaining(account: Account) -> float | None:
    if account.budget is None:
        return None
    if account.budget.has_expired:
        return 0.0
    return largest_epsilon(remaining_mu(account), account.budget.delta)
