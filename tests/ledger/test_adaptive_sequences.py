"""Whatever is reserved, committed and cancelled in whatever order: the budget holds."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from interpret_dp.accounting import delta_of_mu
from interpret_dp.exceptions import BudgetExceededError
from interpret_dp.ledger import PrivacyLedger, Reservation
from tests.ledger.requests import reserve

EPSILON, DELTA, DELTA_X = 1.5, 1e-5, 3e-6


class AnyAnalyst(RuleBasedStateMachine):
    """An analyst who does anything the interface allows, next to exact book-keeping."""

    open_reservations: Bundle[Reservation] = Bundle("open_reservations")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = PrivacyLedger.in_memory()
        self.budget = self.ledger.create_budget("adult", EPSILON, DELTA, delta_x=DELTA_X)
        self.charges: dict[int, tuple[Fraction, Fraction]] = {}

    def totals(self) -> tuple[Fraction, Fraction]:
        return (
            sum((square for square, _ in self.charges.values()), Fraction(0)),
            sum((delta for _, delta in self.charges.values()), Fraction(0)),
        )

    @rule(
        target=open_reservations,
        mu=st.one_of(st.just(0.0), st.floats(1e-9, 0.5)),
        delta=st.sampled_from([0.0, 2e-7, 1.1e-6]),
    )
    def reserve(self, mu: float, delta: float) -> Reservation:
        square, used = self.totals()
        wanted = square + Fraction(mu) ** 2, used + Fraction(delta)
        fits = wanted[0] <= Fraction(self.budget.mu) ** 2 and wanted[1] <= Fraction(DELTA_X)
        try:
            reservation = reserve(self.ledger, mu=mu, delta=delta)
        except BudgetExceededError:
            assert not fits
            return Reservation("adult", 0, 0.0, 0.0, "")
        # The event's noise multiplier was rounded, which may raise the charge by a step.
        self.charges[reservation.number] = (
            Fraction(reservation.mu) ** 2,
            Fraction(reservation.delta),
        )
        return reservation

    @rule(reservation=consumes(open_reservations), share=st.one_of(st.none(), st.floats(0, 1)))
    def commit(self, reservation: Reservation, share: float | None) -> None:
        if reservation.number:
            charged = None if share is None else reservation.mu * share
            self.ledger.commit(reservation, charged_mu=charged)
            is_whole = reservation.mu > self.budget.mu
            mu = reservation.mu if charged is None or is_whole else charged
            self.charges[reservation.number] = (Fraction(mu) ** 2, Fraction(reservation.delta))

    @rule(reservation=consumes(open_reservations))
    def cancel(self, reservation: Reservation) -> None:
        if reservation.number:
            self.ledger.cancel(reservation)
            del self.charges[reservation.number]

    @invariant()
    def the_promise_holds(self) -> None:
        spent = self.ledger.spent("adult")
        square, used = self.totals()
        assert Fraction(spent.mu) ** 2 >= square
        assert Fraction(spent.delta) >= used
        assert spent.delta + (1 - spent.delta) * delta_of_mu(spent.mu, EPSILON) <= DELTA
        assert spent.epsilon is not None
        assert spent.epsilon <= EPSILON

    def teardown(self) -> None:
        assert self.ledger.verify() == self.ledger.head


TestAnyAnalyst = AnyAnalyst.TestCase
TestAnyAnalyst.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
