"""The paper's explainer: what it returns, what it costs, what it refuses."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from interpret_dp import BudgetExceededError, Continuous, Schema, SchemaError
from interpret_dp.lime.paper import PaperLimeTabular
from tests.lime.tables import SCHEMA, Risk, Three, account, table


def explainer(model=None, data=None, **given):
    arguments = {"schema": SCHEMA, "trained_on_same_people": False, "steps": 16} | given
    return PaperLimeTabular(
        Risk() if model is None else model, table() if data is None else data, **arguments
    )


PRECISE = {"epsilon": 100.0, "per_query": 50.0, "steps": 300}


def test_a_class_can_be_chosen():
    own = explainer(Three())
    query = pd.DataFrame({"age": [10.0, 99.0], "site": ["b", "a"], "noise": [0.0, 0.0]})
    first = own.explain_local(query)
    assert [first.data(row)["output"] for row in (0, 1)] == ["probability of z"] * 2
    chosen = own.explain_local(query, explained_class="x")
    assert [chosen.data(row)["output"] for row in (0, 1)] == ["probability of x"] * 2


@pytest.mark.parametrize("method", ["interactive", "adaptive", "enhanced"])
def test_a_regression_needs_bounds_and_explains_its_value(method):
    class Model:
        def predict(self, X):
            return 1000.0 + 5.0 * X["age"].to_numpy(dtype=float)

    with pytest.raises(TypeError, match="output_bounds"):
        explainer(Model())
    given = PRECISE | {"output_bounds": (1000, 1500), "centered": True}
    own = explainer(Model(), table(5000), method=method, **given)
    record = own.explain_local(table(1, seed=1)).data(0)
    assert record["output"] == "predicted value"
    assert record["scores"][0] > 200 > 10 * abs(record["scores"][2])
    with pytest.raises(ValueError, match="not a class"):
        own.explain_local(table(1), explained_class=1)


def test_small_effects_are_not_rounded_away():
    cells = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    across = Schema(default=Continuous(0, 1))
    own = explainer(lambda X: 0.004 * X[:, 0], cells, **PRECISE | {"schema": across})
    slope, nothing = own.explain_local(cells[:1]).data(0)["scores"]
    assert slope == pytest.approx(0.004, abs=0.001)
    assert abs(nothing) < 0.001


def test_a_budget_lasts_for_a_hundred_rows_and_no_more():
    ledger = account(1.0)
    own = explainer(ledger=ledger, dataset="people", epsilon=1.0)
    with pytest.raises(ValueError, match="nothing to explain it from"):
        own.explain_local(table(1), method="non_interactive")
    own.explain_local(table(60))
    before = ledger.verify()
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        own.explain_local(table(41, seed=1))
    assert ledger.verify() == before
    own.explain_local(table(40, seed=1))
    assert ledger.spent("people").mu <= ledger.budget("people").mu * (1 + 1e-12)
    with pytest.raises(BudgetExceededError):
        own.explain_local(table(1, seed=5), method="adaptive")
    # What was released stays of use.
    free = own.explain_local(table(2, seed=6), method="non_interactive")
    assert free.privacy.explanation_epsilon == 0
    assert set(free.privacy.per_row["origin"]) == {"post-processed"}


def test_near_rows_are_taken_over():
    own = explainer(epsilon=1.0, per_query=0.5, method="enhanced", n_rows=300)
    near = pd.DataFrame({"age": [50.0, 50.1], "site": ["a", "a"], "noise": [0.0, 0.001]})
    both = own.explain_local(near)
    assert list(both.privacy.per_row["origin"]) == ["released", "reused"]
    assert both.data(0)["scores"] == both.data(1)["scores"]


def test_threads_do_not_overspend():
    ledger = account(1.0)
    own = explainer(ledger=ledger, dataset="people", epsilon=0.5, per_query=0.2)

    def is_refused(seed):
        try:
            own.explain_local(table(1, seed=seed))
        except BudgetExceededError:
            return True
        return False

    with ThreadPoolExecutor(12) as threads:
        assert 1 <= sum(threads.map(is_refused, range(12))) < 12
    assert ledger.spent("people").epsilon <= 0.5 * (1 + 1e-9)


def test_the_model_sees_private_rows_once():
    asked = []

    class Model(Risk):
        def predict_proba(self, X):
            asked.append(len(X))
            return super().predict_proba(X)

    own = explainer(Model())
    for seed in range(3):
        own.explain_local(table(2, seed=seed))
    assert sorted(asked) == [2, 2, 2, 300]


BAD_QUERIES = [
    (table(1).drop(columns="site"), SchemaError, "site"),
    (table(0), ValueError, "0 rows"),
    (3, TypeError, "X is"),
]


@pytest.mark.parametrize(("query", "error", "says"), BAD_QUERIES)
def test_bad_queries_cost_nothing(query, error, says):
    own = explainer()
    with pytest.raises(error, match=says):
        own.explain_local(query)
    with pytest.raises(ValueError, match="method is 'x'"):
        own.explain_local(table(1), method="x")
    assert own.spent_mu == 0
