"""What an explanation cost: the figures that go with every picture."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from interpret_dp._figures import ceil_text, floor_text
from interpret_dp._validate import check_choice, check_int
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.exceptions import LedgerError
from interpret_dp.explanation.budget import FALSE_ALARMS, Account, BudgetState
from interpret_dp.released.edits import edits_text

__all__ = ["ORIGINS", "Account", "PrivacySpend"]

ORIGINS = ("post-processed", "reused", "released")
"""Where an explanation comes from: computed from what was released before, taken over from an
earlier explanation as it is, or released anew."""


@dataclass(frozen=True, kw_only=True)
class PrivacySpend:
    """The privacy cost of one explanation, of its model, and of the data set so far.

    Attributes
    ----------
    guarantee : Guarantee
        The model's promise; its cost was paid when the model was fitted.
    explanation_epsilon : float
        Cost of this explanation on top. 0: it is post-processing of the released model.
    origin : {"post-processed", "reused", "released"}
        How the explanation was made; only a released one costs anything.
    edits : int
        How often the model was changed after its release. Changes use what was released and cost
        nothing.
    total_epsilon : float or None
        Spent on the data set so far, at the model's delta, this model included; None if no ledger
        is at hand or no limit was declared.
    remaining_epsilon : float or None
        Largest epsilon, at the model's delta, of one more Gaussian release; None likewise.
    budget : BudgetState or None
        The data set's account in full; None likewise.
    ledger : str
        In words: which ledger, or why there is none.
    account : Account or None
        The ledger itself, where the figures can be read again.
    """

    guarantee: Guarantee
    explanation_epsilon: float = 0.0
    origin: str = "post-processed"
    edits: int = 0
    total_epsilon: float | None = None
    remaining_epsilon: float | None = None
    budget: BudgetState | None = None
    ledger: str = "no ledger at hand"
    account: Account | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check what the caller chose."""
        check_choice("origin", self.origin, ORIGINS)
        check_int("edits", self.edits, low=0)
        if (self.origin == "released") != (self.explanation_epsilon > 0):
            raise ValueError(
                f"origin is {self.origin!r} and explanation_epsilon is "
                f"{self.explanation_epsilon!r}; an explanation costs something if, and only if, it "
                "is 'released'."
            )

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
            f"Privacy cost of this explanation: {ceil_text(self.explanation_epsilon)}",
            f"of the model: epsilon {ceil_text(self.epsilon)}",
        ]
        if self.total_epsilon is not None:
            parts.append(f"of all on this data set: {ceil_text(self.total_epsilon)}")
        if self.remaining_epsilon is not None:
            parts.append(f"left: {floor_text(self.remaining_epsilon)}")
        text = " · ".join(parts) + f" (all at delta {ceil_text(self.delta)})"
        return f"{text} · {edits_text(self.edits)}" if self.edits else text

    @property
    def detection(self) -> float:
        """Largest probability of detecting a person's presence at 5 % false alarms, rounded up.

        From the (mu, delta) pair of the model's releases; where there is none, from (epsilon,
        delta) alone (Kairouz, Oh and Viswanath 2015, Theorem 2.1).
        """
        pair = self.guarantee.pair
        if pair is not None:
            return detection_power(pair.mu, FALSE_ALARMS, pair.delta)
        # Beyond 700 the exponential would overflow, and the first bound is far above 1.
        factor = math.exp(min(self.epsilon, 700.0))
        bounds = (
            factor * FALSE_ALARMS + self.delta,
            1.0 - (1.0 - self.delta - FALSE_ALARMS) / factor,
            1.0,
        )
        return min(1.0, min(bounds) * (1.0 + 1e-12))

    @property
    def more_like_this(self) -> int | None:
        """How many more fits of this model's cost the budget covers; None if that is unknown."""
        pair = self.guarantee.pair
        if self.budget is None or pair is None or not (pair.mu or pair.delta):
            return None
        return self.budget.more_like(pair)

    @property
    def model_share(self) -> float | None:
        """The part of the data set's budget that this model took; None if that is unknown."""
        pair = self.guarantee.pair
        return None if self.budget is None or pair is None else self.budget.share_of(pair)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that the privacy panel shows, as plain JSON values."""
        budget = None
        if self.budget is not None:
            budget = self.budget.to_dict() | {
                "model_share": self.model_share,
                "more_like_this": self.more_like_this,
            }
        return {
            "explanation_epsilon": self.explanation_epsilon,
            "origin": self.origin,
            "edits": self.edits,
            "total_epsilon": self.total_epsilon,
            "remaining_epsilon": self.remaining_epsilon,
            "budget": budget,
            "detection": {"false_alarms": FALSE_ALARMS, "model": self.detection},
            "ledger": self.ledger,
            "line": self.line,
            "sentence": self.guarantee.sentence,
            "guarantee": self.guarantee.to_dict(),
        }

    def _repr_html_(self) -> str:
        """Show the privacy panel in a notebook, escaped."""
        from interpret_dp.explanation.markup import to_html
        from interpret_dp.explanation.panel import privacy_panel

        return to_html(privacy_panel(self.to_dict()))

    @classmethod
    def of_model(cls, guarantee: Guarantee, ledger: Account | None) -> PrivacySpend:
        """Read the data set's account from the ledger, if there is one.

        Reading costs nothing. A ledger that cannot be read now (moved, locked, another process's
        memory) leaves the figures empty and says why: the explanation itself needs no ledger.
        """
        return cls(guarantee=guarantee, account=ledger).as_of_now()

    def as_of_now(self) -> PrivacySpend:
        """Return the same with the ledger's figures read again; the model's cost stays."""
        ledger, dataset = self.account, self.guarantee.dataset
        if ledger is None or dataset is None:
            return self
        blank = dataclasses.replace(
            self, total_epsilon=None, remaining_epsilon=None, budget=None, ledger=repr(ledger)
        )
        try:
            budget = ledger.budget(dataset)
            if budget is None:
                return dataclasses.replace(blank, ledger=f"{ledger!r}: no limit declared")
            spent = ledger.spent(dataset)
            remaining = ledger.remaining(dataset, self.delta)
            state = BudgetState.of(budget, spent, ledger.remaining(dataset))
        except LedgerError as error:
            return dataclasses.replace(blank, ledger=f"not readable now: {error}")
        return dataclasses.replace(
            blank,
            total_epsilon=GdpPair(spent.mu, spent.delta).epsilon_at(self.delta),
            remaining_epsilon=remaining,
            budget=state,
        )
