"""Short ways to make ledgers and requests in tests, and to change a ledger's file by hand."""

import sqlite3
from contextlib import closing, contextmanager

from interpret_dp import PrivacyLedger
from interpret_dp.accounting import gaussian_events_json, mu_of_budget

ENTRIES = "interpret_dp_ledger_entries"
NO_OP = {"format": "interpret_dp.event", "version": 1, "event": {"kind": "no_op"}}


def budgeted(dataset, epsilon, delta, *, url=None, **given):
    """Return a ledger with one budget, in memory or at a URL."""
    ledger = PrivacyLedger.in_memory() if url is None else PrivacyLedger(url)
    ledger.create_budget(dataset, epsilon, delta, **given)
    return ledger


@contextmanager
def unchanged(ledger):
    """Check that a ledger is after the block what it was before, and whole."""
    head = ledger.head
    yield
    assert ledger.verify() == ledger.head == head


def reserve(ledger, dataset="adult", **changes):
    """Reserve a Gaussian request of mu 0.1, or what ``changes`` say."""
    mu = changes.get("mu", 0.1)
    request = {
        "mu": mu,
        "delta": 0.0,
        "event": gaussian_events_json([(mu, 1)]) if mu > 0 else NO_OP,
        "epsilon": 0.4,
        "epsilon_delta": 1e-6,
        "explainer": "test",
    }
    return ledger.reserve(dataset, **(request | changes))


def reserve_epsilon(ledger, epsilon, delta, dataset="adult", **changes):
    """Reserve as an estimator does: calibrated, and split over four releases."""
    mu = mu_of_budget(epsilon, delta)
    event = gaussian_events_json([(mu / 2, 4)])
    request = {"mu": mu, "event": event, "epsilon": epsilon, "epsilon_delta": delta}
    return reserve(ledger, dataset, **(request | changes))


def tamper(path, *statements):
    """Change a ledger's file past the package, which its triggers would not allow."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
