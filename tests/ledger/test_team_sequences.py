"""Whatever officers and analysts do in whatever order: sums never pass the limits in force."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from interpret_dp import BudgetExceededError, LedgerError, PrivacyLedger
from interpret_dp.accounting import delta_of_mu
from interpret_dp.ledger import Account, ApprovalNeededError, Reservation
from interpret_dp.ledger.folding import Running, fold_all
from tests.ledger.requests import reserve

NAMES = ("ward", "clinic", "copy")
DELTA, DELTA_X = 1e-5, 3e-6

EMPTY = Account("ward", None, (), names=("ward",))

Pair = tuple[Fraction, Fraction]


@dataclass
class Book:
    """What an honest clerk would write about one account, with exact figures."""

    names: set[str]
    limit: Pair
    counted: dict[int, Pair] = field(default_factory=dict)
    before: dict[int, Pair] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    overspent: bool = False
    approval_above: float | None = None

    def spent(self, *, ever=False):
        pairs = [*self.counted.values(), *(self.before.values() if ever else ())]
        return sum((p[0] for p in pairs), Fraction(0)), sum((p[1] for p in pairs), Fraction(0))

    def holds(self, more=(Fraction(0), Fraction(0))):
        spent = self.spent()
        return all(spent[i] + more[i] <= self.limit[i] for i in (0, 1))


def squared(mu, delta):
    return Fraction(mu) ** 2, Fraction(delta)


class AnyTeam(RuleBasedStateMachine):
    """Officers and analysts who do anything that the interface allows, next to the clerk."""

    reservations: Bundle[Reservation] = Bundle("reservations")

    @initialize()
    def begin(self):
        self.ledger = PrivacyLedger.in_memory()
        self.books = {}
        for name, epsilon in zip(NAMES, (1.5, 2.0, 1.0), strict=True):
            budget = self.ledger.create_budget(name, epsilon, DELTA, delta_x=DELTA_X)
            self.books[name] = Book({name}, squared(budget.mu, budget.delta_x))

    @rule(
        target=reservations,
        name=st.sampled_from(NAMES),
        mu=st.just(0.0) | st.floats(1e-9, 0.5),
        delta=st.sampled_from([0.0, 2e-7, 1.1e-6, 2.5e-6]),
    )
    def reserve(self, name, mu, delta):
        return self._reserve(name, mu, delta)

    @rule(name=st.sampled_from(NAMES), mu=st.floats(0.01, 0.3))
    def spend(self, name, mu):
        made = self._reserve(name, mu, 0.0)
        if made.number:
            self.ledger.commit(made)
            self._close(made, squared(made.mu, made.delta))

    def _reserve(self, name, mu, delta):
        book = self.books[name]
        fits = book.holds(squared(mu, delta))
        before = len(self.ledger.entries())
        try:
            made = reserve(self.ledger, name, mu=mu, delta=delta)
        except BudgetExceededError:
            assert not fits
            assert len(self.ledger.entries()) == before
            return Reservation(name, 0, 0.0, 0.0, "")
        except ApprovalNeededError as error:
            assert book.approval_above is not None
            self.ledger.approve(error.number)
            made = reserve(self.ledger, name, mu=mu, delta=delta)
        if not fits:
            # The first request may use the whole budget, as test_filter.py checks.
            assert book.spent() == (0, 0)
            book.overspent = True
        book.counted[made.number] = squared(made.mu, made.delta)
        book.open.add(made.number)
        return made

    @rule(made=consumes(reservations), share=st.one_of(st.none(), st.floats(0, 1)))
    def commit(self, made, share):
        if made.number:
            charged = None if share is None else made.mu * share
            self.ledger.commit(made, charged_mu=charged)
            charged = max(charged, 1e-100) if charged else charged  # no entry can hold less
            if not Book(set(), self.books[made.dataset].limit).holds(squared(made.mu, made.delta)):
                charged = None
            self._close(made, squared(made.mu if charged is None else charged, made.delta))

    @rule(made=consumes(reservations))
    def cancel(self, made):
        if made.number:
            self.ledger.cancel(made)
            self._close(made, (Fraction(0), Fraction(0)))

    def _close(self, made, pair):
        book = self.books[made.dataset]
        (book.counted if made.number in book.counted else book.before)[made.number] = pair
        book.open.discard(made.number)

    @rule(name=st.sampled_from(NAMES), to=st.sampled_from(NAMES), accept=st.booleans())
    def link(self, name, to, accept):
        joining, staying = self.books[name], self.books[to]
        try:
            self.ledger.link(name, to=to, reason="same people", accept_overspent=accept)
        except LedgerError:
            joint = Book(set(), staying.limit, staying.counted | joining.counted)
            assert joining is staying or (not accept and not joint.holds())
            return
        assert joining is not staying
        staying.names |= joining.names
        staying.counted |= joining.counted
        staying.before |= joining.before
        staying.open |= joining.open
        above = [a for a in (staying.approval_above, joining.approval_above) if a is not None]
        staying.approval_above = min(above, default=None)
        staying.overspent = not staying.holds()
        assert accept or not staying.overspent
        for joined in joining.names:
            self.books[joined] = staying

    @rule(name=st.sampled_from(NAMES), factor=st.floats(1.01, 1.3))
    def raise_budget(self, name, factor):
        old = self.ledger.budget(name)
        assert old is not None
        if old.epsilon < 8:
            new = self.ledger.raise_budget(name, old.epsilon * factor, DELTA, reason="more")
            self.books[name].limit = squared(new.mu, new.delta_x)

    @rule(name=st.sampled_from(NAMES), new=st.booleans())
    def renew(self, name, new):
        book = self.books[name]
        try:
            self.ledger.renew_budget(name, reason="year", new_people="all new" if new else "")
        except LedgerError:
            assert new
            assert book.open
            return
        if new:
            assert not book.open
            book.before |= book.counted
            book.counted = {}

    @rule(name=st.sampled_from(NAMES), above=st.sampled_from([None, 0.0, 0.8]))
    def require_approval(self, name, above):
        self.ledger.require_approval(name, above=above, reason="board")
        self.books[name].approval_above = above

    @invariant()
    def the_ledger_says_what_the_clerk_says(self):
        for name, book in getattr(self, "books", {}).items():
            spent = self.ledger.spent(name)
            for found, exact in (
                (squared(spent.mu, spent.delta), book.spent()),
                (squared(spent.ever.mu, spent.ever.delta), book.spent(ever=True)),
            ):
                for i in (0, 1):
                    assert found[i] >= exact[i]
                    assert math.isclose(found[i], exact[i], rel_tol=1e-12, abs_tol=1e-300)
            assert spent.open_reservations == len(book.open)

    @invariant()
    def no_limit_is_passed_unless_an_officer_said_so(self):
        for book in getattr(self, "books", {}).values():
            room = tuple(limit * (1 + Fraction(1, 10**12)) for limit in book.limit)
            spent = book.spent()
            book.overspent = book.overspent and not book.holds()
            assert book.overspent or all(spent[i] <= room[i] for i in (0, 1))

    @invariant()
    def what_is_spent_keeps_the_promise_of_the_budget(self):
        for name, book in getattr(self, "books", {}).items():
            spent, budget = self.ledger.spent(name), self.ledger.budget(name)
            if not book.overspent:
                assert spent.epsilon <= budget.epsilon
                lost = spent.delta + (1 - spent.delta) * delta_of_mu(spent.mu, budget.epsilon)
                assert lost <= budget.delta

    def teardown(self):
        if not hasattr(self, "ledger"):
            return
        assert self.ledger.verify() == self.ledger.head
        with self.ledger._opened().reading() as log:
            entries = list(log.entries())
        whole = fold_all(entries)
        # Read in two parts, wherever it is cut, the log says the same.
        for cut in range(0, len(entries), 1 + len(entries) // 7):
            before, after = entries[:cut], entries[cut:]
            assert fold_all(after, onto=fold_all(before)) == whole
            # What a process remembers of the first part saves reading it, and changes no answer.
            running = Running().after(None, before, "here")
            assert running.account("ward") == fold_all(before).get("ward", EMPTY)
            running = running.after(before[-1] if before else None, after, "here")
            assert {name: running.account(name) for name in NAMES} == whole
            assert (running.number, running.hash) == (len(entries), self.ledger.head)


TestAnyTeam = AnyTeam.TestCase
TestAnyTeam.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
