"""DPLimeTabular as its users meet it: what it returns, what it costs, what it refuses."""

from __future__ import annotations

import math
import pickle
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    BudgetExceededError,
    Categorical,
    Continuous,
    PrivacyLedger,
    PrivacyWarning,
    Schema,
    SchemaError,
)
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.lime.budget import QueriesExceededError
from interpret_dp.lime.explainer import DPLimeTabular

SITES = ["a", "b", "c"]
SCHEMA = Schema({"age": Continuous(0, 100), "site": Categorical(SITES), "noise": Continuous(-1, 1)})


def table(n_rows: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.uniform(0, 100, n_rows),
            "site": rng.choice(SITES, n_rows),
            "noise": rng.uniform(-1, 1, n_rows),
        }
    )


class Risk:
    """Rises with age, and is higher at site a."""

    classes_ = np.array(["low", "high"])

    def predict_proba(self, X: pd.DataFrame) -> Any:
        assert isinstance(X, pd.DataFrame)
        age = X["age"].fillna(50).clip(0, 100).to_numpy(dtype=float)
        high = 0.2 + 0.4 * age / 100 + 0.3 * (X["site"] == "a").to_numpy()
        return np.column_stack([1 - high, high])


class Three(Risk):
    classes_ = np.array(["x", "y", "z"])

    def predict_proba(self, X: pd.DataFrame) -> Any:
        high = super().predict_proba(X)[:, 1]
        return np.column_stack([0.5 * high, 0.5 * (1 - high), np.full(len(X), 0.5)])


def explainer(model: Any = None, data: Any = None, **given: Any) -> DPLimeTabular:
    arguments = {"schema": SCHEMA, "trained_on_same_people": False, "steps": 16} | given
    return DPLimeTabular(
        Risk() if model is None else model, table() if data is None else data, **arguments
    )


def account(epsilon: float = 1.0) -> PrivacyLedger:
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("people", epsilon, 1e-6, delta_x=0.0)
    return ledger


# ------------------------------------------------------------------------------ what comes back


def test_more_classes_explain_the_predicted_one_or_the_chosen_one() -> None:
    own = explainer(Three(), feature_types=["continuous", "nominal", None])
    query = pd.DataFrame({"age": [10.0, 99.0], "site": ["b", "a"], "noise": [0.0, 0.0]})
    first = own.explain_local(query)
    assert [first.data(row)["output"] for row in (0, 1)] == ["probability of z"] * 2
    chosen = own.explain_local(query, explained_class="x")
    assert [chosen.data(row)["output"] for row in (0, 1)] == ["probability of x"] * 2
    with pytest.raises(
        ValueError, match=r"explained_class is 'w'; it must be one of 'x', 'y', 'z'"
    ):
        own.explain_local(query, explained_class="w")


def test_a_regression_needs_bounds_and_explains_its_value() -> None:
    class Model:
        def predict(self, X: pd.DataFrame) -> Any:
            return 1000.0 + 5.0 * X["age"].to_numpy(dtype=float)

    with pytest.raises(TypeError, match="output_bounds"):
        explainer(Model())
    by_target = Schema(SCHEMA.features, target=Continuous(1000, 1500))
    for own in (
        explainer(Model(), output_bounds=(1000, 1500), epsilon=100.0, per_query=50.0),
        explainer(Model(), schema=by_target, epsilon=100.0, per_query=50.0),
    ):
        record = own.explain_local(table(1, seed=1), y=[1234.0]).data(0)
        assert record["output"] == "predicted value"
        assert record["perf"]["actual"] == 1234.0
        assert record["scores"][0] > 3 * record["standard_errors"][0]
    with pytest.raises(ValueError, match="not a class"):
        own.explain_local(table(1), explained_class=1)


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        (["low", "high"], ["high", "low", "unknown"]),
        *(
            (classes, [1.0, 0.0, math.nan])
            for classes in (["0.0", "1.0"], [0.0, 1.0], [0, 1], [False, True])
        ),
    ],
)
def test_actual_labels_are_shown_beside_the_prediction(classes: Any, y: Any) -> None:
    own = explainer(type("Labelled", (Risk,), {"classes_": np.array(classes)})())
    explanation = own.explain_local(table(3, seed=2), y=y)
    actual = [explanation.data(row)["perf"]["actual"] for row in range(3)]
    np.testing.assert_array_equal(actual, [1.0, 0.0, math.nan])
    with pytest.raises(ValueError, match=r"y has shape \(2,\)"):
        own.explain_local(table(3), y=y[:2])


# -------------------------------------------------------------------------------- what it costs


def test_a_budget_lasts_for_a_hundred_rows_and_no_more() -> None:
    ledger = account(1.0)
    own = explainer(ledger=ledger, dataset="people", epsilon=1.0)
    assert own.remaining_queries() == 100
    own.explain_local(table(60), method="statistics")
    assert own.remaining_queries() == 40
    before = ledger.verify()
    with pytest.raises(QueriesExceededError, match="room for 40 more") as refused:
        own.explain_local(table(41, seed=1), method="statistics")
    assert refused.value.n_left == 40
    assert pickle.loads(pickle.dumps(refused.value)).n_asked == 41
    assert ledger.verify() == before
    own.explain_local(table(40, seed=1), method="statistics")
    assert own.remaining_queries() == 0
    assert ledger.spent("people").mu <= ledger.budget("people").mu * (1 + 1e-12)
    assert ledger.remaining("people") == 0.0
    with pytest.raises(BudgetExceededError):
        own.explain_local(table(1, seed=5), method="interactive")
    # What was released stays of use.
    free = own.explain_local(table(2, seed=6), method="non_interactive")
    assert free.privacy.explanation_epsilon == 0
    assert set(free.privacy.per_row["origin"]) == {"post-processed"}


def test_others_spend_from_the_same_account() -> None:
    ledger = account(1.0)
    first = explainer(ledger=ledger, dataset="people", epsilon=1.0)
    second = explainer(ledger=ledger, dataset="people", epsilon=1.0)
    first.explain_local(table(100), method="statistics")
    assert second.remaining_queries() == 0
    with pytest.raises(BudgetExceededError):
        second.explain_local(table(1))
    assert not list(second.history_)


def test_auto_never_pays_twice_and_falls_back_on_what_it_has() -> None:
    own = explainer(epsilon=1.0, per_query=0.4)
    room = own.remaining_queries()
    rows = table(room + 3, seed=4)
    first = own.explain_local(rows.iloc[:1])
    again = own.explain_local(rows.iloc[[0, 0]])
    assert list(again.privacy.per_row["origin"]) == ["reused", "reused"]
    assert again.data(1)["scores"] == first.data(0)["scores"]
    with pytest.warns(UserWarning, match="no room for 3 of the"):
        rest = own.explain_local(rows)
    origins = list(rest.privacy.per_row["origin"])
    assert origins == ["reused", *["released"] * (room - 1), *["post-processed"] * 3]
    assert own.remaining_queries() == 0


def test_a_budget_without_history_refuses_before_it_spends() -> None:
    own = explainer(epsilon=0.1, per_query=0.1)
    with pytest.raises(ValueError, match="nothing to explain it from"):
        own.explain_local(table(1), method="non_interactive")
    with pytest.raises(ValueError, match="Nothing was explained yet"):
        own.explain_global()
    own.explain_local(table(1))
    own = explainer(Three(), epsilon=0.1, per_query=0.1)
    own.explain_local(table(1), explained_class="x")
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        own.explain_local(table(1), explained_class="y")


@pytest.mark.parametrize("method", ["adaptive", "enhanced"])
def test_adaptive_methods_take_near_rows_over_and_go_on_when_nothing_is_left(method: str) -> None:
    own = explainer(epsilon=1.0, per_query=0.5, method=method, n_rows=300)
    near = pd.DataFrame({"age": [50.0, 50.1], "site": ["a", "a"], "noise": [0.0, 0.001]})
    both = own.explain_local(near)
    assert list(both.privacy.per_row["origin"]) == ["released", "reused"]
    far = table(60, seed=9)
    with pytest.warns(UserWarning, match="The budget has no room"):
        rest = own.explain_local(far)
    assert set(rest.privacy.per_row["origin"]) >= {"released", "post-processed"}
    spent = math.fsum(one.mu**2 for one in own.history_)
    assert spent <= own.guarantee_.mu**2 * (1 + 1e-9)


def test_cost_is_known_before_anything_is_spent() -> None:
    own = explainer(epsilon=1.0)
    cost = own.cost(100)
    assert cost.fits
    assert cost.epsilon == pytest.approx(1.0, rel=1e-6)
    assert not own.cost(101).fits
    assert "There is no room for them: 100 fit" in str(own.cost(101))
    assert own.cost(5, "non_interactive").epsilon == 0
    assert own.remaining_queries() == 100
    with pytest.raises(ValueError, match="n_queries is 0"):
        own.cost(0)


def test_threads_do_not_overspend() -> None:
    ledger = account(1.0)
    own = explainer(ledger=ledger, dataset="people", epsilon=0.5, per_query=0.2)
    room = own.remaining_queries()
    refused = []

    def ask(seed: int) -> None:
        try:
            own.explain_local(table(1, seed=seed), method="statistics")
        except BudgetExceededError:
            refused.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(room + 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 4
    assert ledger.spent("people").epsilon <= 0.5 * (1 + 1e-9)


def test_the_model_sees_private_rows_once() -> None:
    asked: list[int] = []

    class Model(Risk):
        def predict_proba(self, X: pd.DataFrame) -> Any:
            asked.append(len(X))
            return super().predict_proba(X)

    own = explainer(Model())
    for seed in range(3):
        own.explain_local(table(2, seed=seed))
    assert sorted(asked) == [2, 2, 2, 300]


# ---------------------------------------------------------------------------- whom it protects


def model_promise_of(epsilon: float, delta: float = 1e-6, **given: Any) -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=delta, mu=None, mechanism="some", **given)


@pytest.mark.parametrize(
    ("same", "promise", "says"),
    [
        (False, None, "with the model taken as given; nothing is promised to the people that it"),
        (True, None, "nothing protects against what the model itself reveals"),
        (False, (2.0, 1e-5), "keep the model's own promise, epsilon 2 at delta 1e-05"),
        (True, (2.0, 1e-5), "together are (3, 1.11e-05)-differentially private"),
        (True, model_promise_of(0.5), "together are (1.5, 2e-06)-differentially private"),
        (True, model_promise_of(1.0, tests_only=True), "no promise of its own is stated"),
        (True, model_promise_of(1.0, neighboring="replace_one"), "do not add up to one figure"),
    ],
)
def test_the_guarantee_says_whom_it_is_about(same: bool, promise: Any, says: str) -> None:
    own = explainer(trained_on_same_people=same, model_guarantee=promise)
    assert says in own.guarantee_.sentence
    assert ("nobody in the explanation data" in str(own.guarantee_)) is not same
    read = Guarantee.from_dict(own.guarantee_.to_dict())
    assert read == own.guarantee_


def test_an_explainer_prints_its_promise_and_no_row() -> None:
    own = explainer(epsilon=2.0, ledger=account(4.0), dataset="people")
    assert repr(own) == "<DPLimeTabular: epsilon 2 at delta 1e-06, data set 'people'>"


def test_the_promise_of_our_own_models_is_found_and_composed_exactly() -> None:
    model = Risk()
    model.guarantee_ = Guarantee(  # type: ignore[attr-defined]
        epsilon=1.0, delta=1e-6, mu=0.2, mechanism="some", dataset="people"
    )
    own = explainer(
        model, trained_on_same_people=True, epsilon=1.0, ledger=account(4.0), dataset="people"
    )
    assert "together are (" in own.guarantee_.sentence
    # Squares add up: far below the sum of both epsilons.
    assert "(2," not in own.guarantee_.sentence
    with pytest.warns(PrivacyWarning, match="two names|both are about the same people"):
        explainer(model, trained_on_same_people=True)


# ------------------------------------------------------------------------------------- refusals


def test_whom_the_model_was_trained_on_must_be_said() -> None:
    with pytest.raises(TypeError, match="trained_on_same_people"):
        DPLimeTabular(Risk(), table(), schema=SCHEMA)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("query", "error", "says"),
    [
        (table(1).drop(columns="site"), SchemaError, "site"),
        (table(0), ValueError, "0 rows"),
        (3, TypeError, "X is"),
    ],
)
def test_bad_queries_cost_nothing(query: Any, error: type[Exception], says: str) -> None:
    own = explainer()
    with pytest.raises(error, match=says):
        own.explain_local(query)
    with pytest.raises(ValueError, match="method is 'x'"):
        own.explain_local(table(1), method="x")
    assert own.remaining_queries() == 100


# ------------------------------------------------------------------------------------ surrogate


def test_a_surrogate_is_paid_once_and_says_how_good_it_is() -> None:
    ledger = account(50.0)
    own = explainer(data=table(3000), epsilon=20.0, ledger=ledger, dataset="people")
    assert own.cost(3, "surrogate").epsilon == pytest.approx(20.0, rel=1e-6)
    rows = table(3, seed=5)
    first = own.explain_local(rows, method="surrogate")
    # Where it is paid it is shown.
    assert list(first.privacy.per_row["origin"]) == ["released", *["post-processed"] * 2]
    assert first.privacy.explanation_epsilon == pytest.approx(20.0, rel=1e-6)
    spent = ledger.spent("people").mu
    again = own.explain_local(rows, method="surrogate")
    assert again.privacy.explanation_epsilon == 0
    assert ledger.spent("people").mu == spent
    assert own.cost(10**6, "surrogate").epsilon == 0
    assert own.surrogate_ is not None
    assert "variance" in str(own.surrogate_.fidelity)
    record = again.data(0)
    assert sum(record["scores"]) + record["extra"]["scores"][0] == pytest.approx(
        record["predicted"], abs=0.1
    )
    assert own.remaining_queries() == 0
    with pytest.raises(BudgetExceededError):
        own.explain_local(rows, method="statistics")


def test_bins_say_what_they_are() -> None:
    own = explainer(representation="bins", n_bins=2)
    record = own.explain_local(pd.DataFrame({"age": [70.0], "site": ["a"], "noise": [0.5]})).data(0)
    assert record["coordinates"]["names"] == ["50 <= age", "site = a", "0 <= noise"]
    assert "against being elsewhere" in record["meaning"]
