"""Privacy cost of an explanation: the figures that go with every picture."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from interpret_dp._validate import ceil_text, check_choice, check_int
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD, FALSE_ALARMS, Guarantee
from interpret_dp.exceptions import LedgerError
from interpret_dp.explanation.budget import BudgetState, ReadableLedger
from interpret_dp.released.additive_model import edits_text


@dataclass(frozen=True, kw_only=True)
class PrivacySpend:
    """The privacy cost of one explanation, of its model or background, and of the data set so far.

    Attributes
    ----------
    guarantee : Guarantee
        The promise of the model or background, whose cost was paid when it was fitted.
    subject : {"model", "background"}
        Whose promise ``guarantee`` is.
    edits : int
        How often the model was changed after its release. Changes use what was released and cost
        nothing.
    average : str
        How right a regression's predictions are on average, by what was released; empty otherwise.
    total_epsilon : float or None
        Spent on the data set so far, at the budget's delta, this model included; None if no ledger
        is at hand or no limit was declared.
    remaining_epsilon : float or None
        Largest epsilon, at the budget's delta, of one more Gaussian release; None likewise. At a
        smaller delta it could be more than the budget's epsilon.
    budget : BudgetState or None
        The data set's account in full; None likewise.
    ledger : str
        In words: which ledger, or why there is none.
    account : ReadableLedger or None
        The ledger itself, where the figures can be read again.
    as_of : str
        Date (UTC) at which the account's figures were read; empty if they were not.

    Examples
    --------
    >>> from interpret_dp import Guarantee
    >>> promise = Guarantee(epsilon=1.0, delta=1e-6, mu=0.2367, mechanism="Gaussian noise")
    >>> print(PrivacySpend(guarantee=promise).line)
    Privacy cost of this explanation: 0 · of the model: epsilon 1 at delta 1e-06
    """

    guarantee: Guarantee
    subject: str = "model"
    edits: int = 0
    average: str = ""
    total_epsilon: float | None = None
    remaining_epsilon: float | None = None
    budget: BudgetState | None = None
    ledger: str = "no ledger at hand"
    account: ReadableLedger | None = field(default=None, repr=False, compare=False)
    as_of: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check what the caller chose."""
        check_choice("subject", self.subject, ("model", "background"))
        check_int("edits", self.edits, low=0)

    @property
    def explanation_epsilon(self) -> float:
        """Cost of the explanation: 0, since it is post-processing of what was released before."""
        return 0.0

    @property
    def epsilon(self) -> float:
        """Epsilon of the model."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """Delta of the model."""
        return self.guarantee.delta

    @property
    def line(self) -> str:
        """One line for a figure; every cost in it is rounded up."""
        if self.guarantee.state == DOES_NOT_HOLD:
            return "No privacy guarantee: it does not hold"
        cost = f"epsilon {ceil_text(self.epsilon)} at delta {ceil_text(self.delta)}"
        parts = ["Holds only on conditions"] if self.guarantee.conditions else []
        parts += ["Privacy cost of this explanation: 0", f"of the {self.subject}: {cost}"]
        rows = self.budget_rows
        parts += [f"budget of the data set used: {rows['Used']}"] if rows else []
        parts += [f"one more {rows['One more']}"] if "One more" in rows else []
        parts += [edits_text(self.edits)] if self.edits else []
        return " · ".join(parts)

    @property
    def budget_rows(self) -> dict[str, str]:
        """The data set's budget in words, a text for each label; empty where it is not known."""
        if self.budget is None:
            return {}
        return self.budget.rows(self.guarantee.pair, f"this {self.subject}")

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
        """Number of further models or backgrounds of this cost that the budget covers, or None."""
        pair = self.guarantee.pair
        if self.budget is None or pair is None or not (pair.mu or pair.delta):
            return None
        return self.budget.more_like(pair)

    @property
    def model_share(self) -> float | None:
        """The part of the data set's budget that the model took; None if that is unknown."""
        pair = self.guarantee.pair
        return None if self.budget is None or pair is None else self.budget.share_of(pair)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that the privacy panel shows, as plain JSON values."""
        budget = self.budget and self.budget.to_dict() | {
            "model_share": self.model_share,
            "more_like_this": self.more_like_this,
            "rows": self.budget_rows,
            "bar": self.budget.bar(f"this {self.subject}", self.model_share or 0.0),
        }
        return {
            "explanation_epsilon": self.explanation_epsilon,
            "subject": self.subject,
            "edits": self.edits,
            "average": self.average,
            "total_epsilon": self.total_epsilon,
            "remaining_epsilon": self.remaining_epsilon,
            "budget": budget,
            "detection": {"false_alarms": FALSE_ALARMS, "model": self.detection},
            "ledger": self.ledger,
            "as_of": self.as_of,
            "line": self.line,
            "state": self.guarantee.state,
            "state_sentence": self.guarantee.state_sentence,
            "sentence": self.guarantee.sentence,
            "guarantee": self.guarantee.to_dict(),
        }

    def __str__(self) -> str:
        """Return the cost in one line."""
        return self.line

    def _repr_html_(self) -> str:
        """Show the privacy panel in a notebook, escaped."""
        from interpret_dp.explanation.panel import panel_html

        return panel_html(self.to_dict())

    @classmethod
    def of_model(cls, guarantee: Guarantee, ledger: ReadableLedger | None) -> PrivacySpend:
        """Read the data set's account from the ledger, if there is one.

        Reading costs nothing. A ledger that cannot be read now (moved, locked, another process's
        memory) leaves the figures empty and says why: the explanation itself needs no ledger.

        Parameters
        ----------
        guarantee : Guarantee
            Of the model.
        ledger : PrivacyLedger or None
            Where its data set is charged.
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
            (account,) = ledger.to_dict(dataset)["datasets"]
        except LedgerError as error:
            return dataclasses.replace(blank, ledger=f"not readable now: {error}")
        state = BudgetState.of(account)
        if state is None:
            return dataclasses.replace(blank, ledger=f"{ledger!r}: no limit declared")
        ever = state.ever or GdpPair(state.spent_mu, state.spent_delta)
        return dataclasses.replace(
            blank,
            # All that was ever released: a renewal for new people forgets it for the budget alone.
            total_epsilon=ever.epsilon_at(state.delta),
            remaining_epsilon=state.remaining_epsilon,
            budget=state,
            as_of=datetime.now(UTC).date().isoformat(),
        )
