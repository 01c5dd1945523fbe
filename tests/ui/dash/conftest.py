"""interpret's own apps, called as a browser calls them, but without a browser."""

from types import SimpleNamespace

import pytest

from tests.ui.dash.client import AppClient


@pytest.fixture(scope="session")
def shown(cohort, cost_cohort, tmp_path_factory):
    """Return explanations of two data sets in one ledger; treat them as read-only."""
    import interpret_dp as dp

    ledger = dp.PrivacyLedger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'privacy.db'}")
    ledger.create_budget("cohort", epsilon=4, delta=1e-5)
    ledger.create_budget("costs", epsilon=2, delta=1e-5)
    options = {"delta": 1e-6, "ledger": ledger}
    first, second = (
        dp.DPExplainableBoostingClassifier(
            epsilon=epsilon, schema=cohort.schema, dataset="cohort", **options
        ).fit(cohort.X, cohort.y)
        for epsilon in (0.5, 1.0)
    )
    costs = dp.DPExplainableBoostingRegressor(
        epsilon=1.0, schema=cost_cohort.schema, dataset="costs", **options
    ).fit(cost_cohort.X, cost_cohort.y)
    return SimpleNamespace(
        ledger=ledger,
        model=second,
        total=second.explain_global(name="all patients"),
        local=second.explain_local(cohort.X.head(4), cohort.y.head(4), name="four patients"),
        earlier=first.explain_global(name="an earlier fit"),
        costs=costs.explain_global(name="annual cost"),
    )


@pytest.fixture
def session(shown):
    """Return the session of all dashboards of the model; it has no entry before and after."""
    found = shown.total.edit_session
    _empty(found)
    yield found
    _empty(found)


def _empty(session):
    """Take every entry away, which no user can: committed ones stay in a history."""
    session._steps.clear()
    session._undone.clear()
    session._public_rows = None
    session.version += 1


@pytest.fixture
def open_app():
    """Return ``open_app(explanations)``: the small app for one, the full one for a list."""
    return AppClient
