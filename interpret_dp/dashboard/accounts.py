"""The accounts that the explanations of one dashboard were charged to, read off their ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interpret_dp.exceptions import LedgerError
from interpret_dp.explanation.budget import BudgetState
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.ledger import PrivacyLedger

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ShownAccount", "ShownModel", "collect_accounts"]


@dataclass(frozen=True, kw_only=True)
class ShownModel:
    """One model of the dashboard, with the explanations that show it.

    Attributes
    ----------
    spend : PrivacySpend
        What it cost, with the ledger's figures as of now.
    names : tuple of str
        The explanations.
    request : int or None
        Number of its request in the ledger; None if the ledger does not hold it.
    """

    spend: PrivacySpend
    names: tuple[str, ...]
    request: int | None


@dataclass(frozen=True, kw_only=True)
class ShownAccount:
    """One data set's account.

    Attributes
    ----------
    dataset, ledger : str
        Name of the data set and words for its ledger.
    models : tuple of ShownModel
        The models of this dashboard that were charged to it.
    assumptions : tuple of str
        What their promises assume, each clause once.
    budget : BudgetState or None
        None if no limit was declared.
    head : str or None
        Hash of the ledger's last entry.
    requests : DataFrame or None
        The ledger's report, with the number of each request as index.
    problem : str
        Why nothing can be read; empty if all is well.
    """

    dataset: str
    ledger: str
    models: tuple[ShownModel, ...]
    assumptions: tuple[str, ...]
    budget: BudgetState | None = None
    head: str | None = None
    requests: pd.DataFrame | None = field(default=None, compare=False)
    problem: str = ""


def collect_accounts(explanations: Sequence[Any]) -> list[ShownAccount]:
    """Return one account per data set and ledger, in the order of the explanations.

    Explanations of other packages, which have no ``privacy``, are passed over.
    """
    groups: dict[tuple[Any, str], list[Any]] = {}
    for explanation in explanations:
        spend = getattr(explanation, "privacy", None)
        if isinstance(spend, PrivacySpend):
            dataset = spend.guarantee.dataset or "not named"
            groups.setdefault((spend.account, dataset), []).append(explanation)
    return [_account(ledger, dataset, group) for (ledger, dataset), group in groups.items()]


def _account(ledger: Any, dataset: str, explanations: Sequence[Any]) -> ShownAccount:
    clauses = dict.fromkeys(c for e in explanations for c in e.privacy.guarantee.assumptions)
    words = {
        "dataset": dataset,
        "ledger": explanations[0].privacy.ledger,
        "assumptions": tuple(clauses),
    }
    if not isinstance(ledger, PrivacyLedger):
        problem = "The explanations carry no ledger, so nothing is known of other requests."
        return ShownAccount(models=_models(explanations, {}), problem=problem, **words)
    try:
        if dataset not in ledger.datasets():
            problem = (
                f"The ledger has no entry of data set {dataset!r}. A model that was loaded from a "
                "file finds its account if the ledger is given: load_model(path, ledger=...)."
            )
            return ShownAccount(models=_models(explanations, {}), problem=problem, **words)
        (document,) = ledger.to_dict(dataset)["datasets"]
        numbers = _requests_by_head(ledger, dataset)
        requests = ledger.report(dataset)
        requests.index = [request["number"] for request in document["requests"]][: len(requests)]
        budget, spent = ledger.budget(dataset), None
        if budget is not None:
            spent = BudgetState.of(budget, ledger.spent(dataset), ledger.remaining(dataset))
        return ShownAccount(
            models=_models(explanations, numbers),
            budget=spent,
            head=ledger.head,
            requests=requests,
            **words | {"ledger": repr(ledger)},
        )
    except LedgerError as error:
        problem = f"The ledger cannot be read now: {error}"
        return ShownAccount(models=_models(explanations, {}), problem=problem, **words)


def _requests_by_head(ledger: PrivacyLedger, dataset: str) -> dict[str, int]:
    """Return the number of the request that each closing entry belongs to, by the entry's hash."""
    entries = ledger.entries(dataset)
    return {e["hash"]: e["reservation"] for e in entries if e["kind"] == "commit"}


def _models(explanations: Sequence[Any], numbers: dict[str, int]) -> tuple[ShownModel, ...]:
    groups: dict[Any, list[Any]] = {}
    for explanation in explanations:
        guarantee = explanation.privacy.guarantee
        groups.setdefault(guarantee.ledger_head or id(guarantee), []).append(explanation)
    return tuple(
        ShownModel(
            spend=group[0].privacy.as_of_now(),
            names=tuple(str(explanation.name) for explanation in group),
            request=numbers.get(head) if isinstance(head, str) else None,
        )
        for head, group in groups.items()
    )
