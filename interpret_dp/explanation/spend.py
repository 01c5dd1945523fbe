"""Privacy cost of an explanation: the figures that go with every picture."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import ceil_text, check_choice, check_int, floor_text
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD, FALSE_ALARMS, Guarantee
from interpret_dp.exceptions import LedgerError
from interpret_dp.explanation.budget import ORIGINS, Account, BudgetState, QueryBudget, RowSpend
from interpret_dp.released.additive_model import edits_text

if TYPE_CHECKING:
    import pandas as pd

SUBJECTS = ("model", "background", "explainer")
"""Subjects of a guarantee: a model or a background, paid for when it was fitted, or an explainer,
whose budget its answers use up."""

# Costs of rows and of all of them together are computed from the same numbers in two ways.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class PrivacySpend:
    """The privacy cost of one explanation, of its model or explainer, and of the data set so far.

    Attributes
    ----------
    guarantee : Guarantee
        The promise of the model, whose cost was paid when it was fitted; or that of the explainer:
        its whole budget, with everything that it may ever answer.
    explanation_epsilon : float
        Cost of this explanation, at the guarantee's delta: on top of a model, or of an
        explainer's budget. 0: it is post-processing of what was released before.
    origin : {"post-processed", "reused", "released"}
        How the explanation was made; only a released one costs anything. Of several rows: released
        if one of them is, reused if all are.
    rows : tuple of RowSpend
        What each explained row cost and where its explanation comes from; empty where the
        explanation as a whole was paid for or is free.
    subject : {"model", "background", "explainer"}
        Whose promise ``guarantee`` is.
    queries : QueryBudget or None
        What an explainer had spent, and what was left, when this explanation was made.
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
    account : Account or None
        The ledger itself, where the figures can be read again.
    as_of : str
        Date (UTC) at which the account's figures were read; empty if they were not.

    Examples
    --------
    >>> from interpret_dp import Guarantee
    >>> promise = Guarantee(epsilon=1.0, delta=1e-6, mu=0.2367, mechanism="Gaussian noise")
    >>> print(PrivacySpend(guarantee=promise).line)
    Privacy cost of this explanation: 0 · of the model: epsilon 1 (all at delta 1e-06)
    """

    guarantee: Guarantee
    explanation_epsilon: float = 0.0
    origin: str = "post-processed"
    rows: tuple[RowSpend, ...] = ()
    subject: str = "model"
    queries: QueryBudget | None = None
    edits: int = 0
    average: str = ""
    total_epsilon: float | None = None
    remaining_epsilon: float | None = None
    budget: BudgetState | None = None
    ledger: str = "no ledger at hand"
    account: Account | None = field(default=None, repr=False, compare=False)
    as_of: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check what the caller chose."""
        check_choice("origin", self.origin, ORIGINS)
        check_choice("subject", self.subject, SUBJECTS)
        check_int("edits", self.edits, low=0)
        is_released = self.origin == "released"
        # One query of very many may be so cheap that delta alone covers it: its epsilon is 0.
        free = is_released and self.subject == "explainer" and self.explanation_epsilon == 0
        if is_released != (self.explanation_epsilon > 0) and not free:
            raise ValueError(
                f"origin is {self.origin!r} and explanation_epsilon is "
                f"{self.explanation_epsilon!r}; an explanation costs something if, and only if, it "
                "is 'released'."
            )
        if not self.rows:
            return
        if is_released != any(row.origin == "released" for row in self.rows):
            raise ValueError(
                f"origin is {self.origin!r} and the rows' are "
                f"{sorted({row.origin for row in self.rows})}; an explanation is 'released' if, "
                "and only if, one of its rows is."
            )
        dearest = max(row.epsilon for row in self.rows)
        if self.explanation_epsilon < dearest * (1.0 - _ROUNDING):
            raise ValueError(
                f"explanation_epsilon is {self.explanation_epsilon!r} and one row cost "
                f"{dearest!r}; all rows together cost at least as much as each of them."
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
    def account_delta(self) -> float:
        """Delta of the figures of the data set: the budget's, so that they compare with it."""
        return self.delta if self.budget is None else self.budget.delta

    @property
    def unit(self) -> str:
        """Unit that is added or removed between neighbouring tables."""
        return self.guarantee.unit

    @property
    def neighboring(self) -> str:
        """Relation of neighbouring tables."""
        return self.guarantee.neighboring

    @property
    def mechanism(self) -> str:
        """Source of the noise."""
        return self.guarantee.mechanism

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the promise."""
        return self.guarantee.assumptions

    @property
    def line(self) -> str:
        """One line for a figure; every cost in it is rounded up."""
        if self.guarantee.state == DOES_NOT_HOLD:
            return "No privacy guarantee: it does not hold"
        is_explainer = self.subject == "explainer"
        total = "budget of the explainer" if is_explainer else f"of the {self.subject}"
        parts = [
            f"Privacy cost of this explanation: {ceil_text(self.explanation_epsilon)}",
            f"{total}: epsilon {ceil_text(self.epsilon)}",
        ]
        if self.spent_on_queries is not None:
            parts.append(f"spent on explanations so far: {ceil_text(self.spent_on_queries)}")
        if self.left_for_queries is not None:
            parts.append(f"left for further queries: {floor_text(self.left_for_queries)}")
        if self.account_delta != self.delta:
            parts[-1] += f" (at delta {ceil_text(self.delta)})"
        if self.total_epsilon is not None:
            parts.append(f"of all on this data set: {ceil_text(self.total_epsilon)}")
        if self.remaining_epsilon is not None:
            left = "left of it" if is_explainer else "left"
            parts.append(f"{left}: {floor_text(self.remaining_epsilon)}")
        which = "all at" if self.account_delta == self.delta else "at the budget's"
        text = " · ".join(parts) + f" ({which} delta {ceil_text(self.account_delta)})"
        if self.guarantee.conditions:
            text = f"Holds only on conditions · {text}"
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
    def spent_on_queries(self) -> float | None:
        """Epsilon, at the guarantee's delta, of all answers of an explainer; None if unknown."""
        return None if self.queries is None else self.queries.spent.epsilon_at(self.delta)

    @property
    def left_for_queries(self) -> float | None:
        """Epsilon, at the guarantee's delta, of the largest further answer of an explainer."""
        if self.queries is not None:
            return self.queries.remaining_epsilon
        return self.rows[-1].remaining_epsilon if self.rows else None

    @property
    def per_row(self) -> pd.DataFrame:
        """Cost of each explained row: origin, method, epsilon, and what was left after it."""
        import pandas as pd

        fields = [field.name for field in dataclasses.fields(RowSpend)]
        table = pd.DataFrame([dataclasses.asdict(row) for row in self.rows], columns=fields)
        return table.rename_axis("row")

    def of_row(self, index: int) -> PrivacySpend:
        """Return the cost of one row's explanation alone.

        Parameters
        ----------
        index : int
            Counted from 0, as in the explanation's selector.

        Raises
        ------
        TypeError, ValueError
            If there is no such row.
        """
        if not self.rows:
            raise ValueError("The cost of this explanation is not known by row: rows is empty.")
        row = self.rows[check_int("index", index, low=0, high=len(self.rows) - 1)]
        return dataclasses.replace(
            self, explanation_epsilon=row.epsilon, origin=row.origin, rows=(row,)
        )

    @property
    def more_like_this(self) -> int | None:
        """Number of further models or explainers of this cost that the budget covers, or None."""
        pair = self.guarantee.pair
        if self.budget is None or pair is None or not (pair.mu or pair.delta):
            return None
        return self.budget.more_like(pair)

    @property
    def model_share(self) -> float | None:
        """The part of the data set's budget that was taken so far; None if that is unknown.

        By the model; or by the explainer, which may be charged as it answers.
        """
        pair = self.guarantee.pair if self.queries is None else self.queries.spent
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
            "subject": self.subject,
            "rows": [dataclasses.asdict(row) for row in self.rows],
            "queries": self._queries_document(),
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

    def _queries_document(self) -> dict[str, Any] | None:
        spent, left = self.spent_on_queries, self.left_for_queries
        if spent is None and left is None:
            return None
        more = None if self.queries is None else self.queries.more_queries
        # An epsilon that no figure can state is infinite, which JSON does not know.
        shown = spent if spent is not None and math.isfinite(spent) else None
        return {"spent_epsilon": shown, "remaining_epsilon": left, "more_queries": more}

    def __str__(self) -> str:
        """Return the cost in one line."""
        return self.line

    def _repr_html_(self) -> str:
        """Show the privacy panel in a notebook, escaped."""
        from interpret_dp.explanation.panel import panel_html

        return panel_html(self.to_dict())

    @classmethod
    def of_model(cls, guarantee: Guarantee, ledger: Account | None) -> PrivacySpend:
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
            budget = ledger.budget(dataset)
            if budget is None:
                return dataclasses.replace(blank, ledger=f"{ledger!r}: no limit declared")
            spent = ledger.spent(dataset)
            state = BudgetState.of(budget, spent, ledger.remaining(dataset))
        except LedgerError as error:
            return dataclasses.replace(blank, ledger=f"not readable now: {error}")
        return dataclasses.replace(
            blank,
            # All that was ever released: a renewal for new people forgets it for the budget alone.
            total_epsilon=spent.ever.epsilon_at(state.delta),
            remaining_epsilon=state.remaining_epsilon,
            budget=state,
            as_of=datetime.now(UTC).date().isoformat(),
        )
