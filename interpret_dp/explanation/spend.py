"""What an explanation cost: the figures that go with every picture."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any, Protocol

from interpret_dp._figures import ceil_text, floor_text
from interpret_dp.accounting.gaussian import epsilon_of_mu
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.exceptions import LedgerError

__all__ = ["Account", "PrivacySpend"]


class Account(Protocol):
    """What an explanation reads off a ledger; reading costs nothing."""

    def budget(self, dataset: str) -> Any:
        """Return the budget, or None if no limit was declared."""

    def spent(self, dataset: str) -> Any:
        """Return what was spent, with ``.mu`` and ``.delta``."""

    def remaining(self, dataset: str, delta: float | None = None) -> float:
        """Return the largest epsilon of one more Gaussian release."""


@dataclass(frozen=True, kw_only=True)
class PrivacySpend:
    """The privacy cost of one explanation, of its model, and of the data set so far.

    Attributes
    ----------
    guarantee : Guarantee
        The model's promise; its cost was paid when the model was fitted.
    explanation_epsilon : float
        Cost of this explanation on top. 0: it is post-processing of the released model.
    total_epsilon : float or None
        Spent on the data set so far, at the model's delta, this model included; None if no ledger
        is at hand or no limit was declared.
    remaining_epsilon : float or None
        Largest epsilon, at the model's delta, of one more Gaussian release; None likewise.
    ledger : str
        In words: which ledger, or why there is none.
    """

    guarantee: Guarantee
    explanation_epsilon: float = 0.0
    total_epsilon: float | None = None
    remaining_epsilon: float | None = None
    ledger: str = "no ledger at hand"

    @property
    def epsilon(self) -> float:
        """Epsilon of the model."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """Delta of the model."""
        return self.guarantee.delta

    @property
    def unit(self) -> str:
        """What is added or removed between neighbouring tables."""
        return self.guarantee.unit

    @property
    def neighboring(self) -> str:
        """Which tables are neighbours."""
        return self.guarantee.neighboring

    @property
    def mechanism(self) -> str:
        """How the noise was made."""
        return self.guarantee.mechanism

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise assumes."""
        return self.guarantee.assumptions

    @property
    def line(self) -> str:
        """One line for a figure; every cost in it is rounded up."""
        if self.guarantee.tests_only:
            return "For tests only: seeded noise, no privacy promise"
        parts = [
            f"Privacy cost of this explanation: {self.explanation_epsilon:g}",
            f"of the model: epsilon {ceil_text(self.epsilon)}",
        ]
        if self.total_epsilon is not None:
            parts.append(f"of all on this data set: {ceil_text(self.total_epsilon)}")
        if self.remaining_epsilon is not None:
            parts.append(f"left: {floor_text(self.remaining_epsilon)}")
        return " · ".join(parts) + f" (all at delta {ceil_text(self.delta)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return {
            "explanation_epsilon": self.explanation_epsilon,
            "total_epsilon": self.total_epsilon,
            "remaining_epsilon": self.remaining_epsilon,
            "ledger": self.ledger,
            "guarantee": self.guarantee.to_dict(),
        }

    def _repr_html_(self) -> str:
        """Show the line, the ledger and the guarantee in a notebook, escaped."""
        return (
            f"<p>{html.escape(self.line)}</p><p>Ledger: {html.escape(self.ledger)}</p>"
            f"{self.guarantee._repr_html_()}"
        )

    @classmethod
    def of_model(cls, guarantee: Guarantee, ledger: Account | None) -> PrivacySpend:
        """Read the data set's account from the ledger, if there is one.

        Reading costs nothing. A ledger that cannot be read now (moved, locked, another process's
        memory) leaves the figures empty and says why: the explanation itself needs no ledger.
        """
        if ledger is None or guarantee.dataset is None:
            return cls(guarantee=guarantee)
        try:
            budget = ledger.budget(guarantee.dataset)
            if budget is None:
                return cls(guarantee=guarantee, ledger=f"{ledger!r}: no limit declared")
            return cls(
                guarantee=guarantee,
                total_epsilon=_epsilon_at(ledger.spent(guarantee.dataset), guarantee.delta),
                remaining_epsilon=ledger.remaining(guarantee.dataset, guarantee.delta),
                ledger=repr(ledger),
            )
        except LedgerError as error:
            return cls(guarantee=guarantee, ledger=f"not readable now: {error}")


def _epsilon_at(spent: Any, delta: float) -> float:
    """Return the epsilon of everything spent, at the given delta."""
    left = delta - spent.delta
    if left <= 0:
        return math.inf
    return epsilon_of_mu(spent.mu, left)
