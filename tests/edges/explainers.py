"""All explainers as functions of a table and parameters, and what must hold whatever happened."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import interpret_dp
from interpret_dp import (
    BudgetExceededError,
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    DPLimeTabular,
    DPLocallyLinearClassifier,
    LedgerError,
    PrivacyLedger,
    private_metrics,
)
from interpret_dp.accounting.composition import GdpPair, compose

PACKAGE = str(Path(interpret_dp.__path__[0]))
OURS = (TypeError, ValueError, LedgerError, BudgetExceededError)
"""Everything that a request may raise; SchemaError is a ValueError. `ReleaseError` is not among
them: inside the door no value of a row may make a computation fail."""

DATASET = "people"
BUDGET = 8.0, 1e-5


class Half:
    """A black box that knows nothing, of any rows."""

    classes_ = np.array(["low", "high"])

    def predict_proba(self, X: Any) -> Any:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.full((n_rows, 2), 0.5)


@dataclass(frozen=True)
class Explainer:
    """One explainer.

    Attributes
    ----------
    request : callable (X, y, **parameters) -> result
        Fits and uses it as a user would.
    target : Continuous or Categorical
        That most examples are declared with.
    parameters : dict
        Valid ones that keep a request quick.
    named : bool
        Whether columns of data without names are named by ``feature_names``.
    """

    request: Callable[..., Any]
    target: Continuous | Categorical
    parameters: dict[str, Any]
    named: bool = True


def _used(model: Any, X: Any, y: Any) -> Any:
    """Predict, explain, draw, save and copy, as far as a model can."""
    model.predict(X)
    model.explain_global().visualize(0)
    model.explain_local(X)
    assert pickle.loads(pickle.dumps(model)).guarantee_ == model.guarantee_
    assert json.dumps(model.to_released().to_dict(), allow_nan=False)
    assert repr(model)
    return model


def _classifier(X: Any, y: Any, **parameters: Any) -> Any:
    model = DPExplainableBoostingClassifier(**parameters).fit(X, y)
    model.explain_local(X, y)
    return _used(model, X, y)


def _regressor(X: Any, y: Any, **parameters: Any) -> Any:
    return _used(DPExplainableBoostingRegressor(**parameters).fit(X, y), X, y)


def _maps(X: Any, y: Any, **parameters: Any) -> Any:
    model = DPLocallyLinearClassifier(**parameters).fit(X, y)
    model.predict(X)
    model.explain_global()
    if (X.num_rows if hasattr(X, "num_rows") else len(X)) > 0:
        model.explain_local(X, y)
    assert json.dumps(model.to_released().to_dict(), allow_nan=False)
    return model


def _lime(X: Any, y: Any, **parameters: Any) -> Any:
    explainer = DPLimeTabular(Half(), X, **parameters)
    asked = X.slice(0, 2) if hasattr(X, "slice") else X[:2]
    explanation = explainer.explain_local(asked)
    explanation.visualize(0)
    assert json.dumps(explanation.data(0), default=repr)
    explainer.explain_global().visualize()
    return explainer


def _metrics(X: Any, y: Any, **parameters: Any) -> Any:
    schema = parameters.pop("schema")
    parameters.pop("feature_names", None)
    names = list(schema.features)
    public = pd.DataFrame({name: [0.0, 1.0] for name in names})
    model = DPExplainableBoostingClassifier(
        schema=schema, feature_names=names, max_rounds=1, max_bins=4, n_jobs=1, random_state=None
    ).fit(public, [0, 1])
    found = private_metrics({"m": model}, X, y, **parameters)
    assert repr(found)
    return found


BOOSTING = {"max_rounds": 1, "max_bins": 4, "n_jobs": 1, "epsilon": 1.0, "delta": 1e-6}
EXPLAINERS = {
    "classifier": Explainer(_classifier, Categorical([0, 1]), BOOSTING),
    "regressor": Explainer(_regressor, Continuous(-5, 5), BOOSTING),
    "lime": Explainer(
        _lime,
        Categorical([0, 1]),
        {
            **{"trained_on_same_people": False, "method": "statistics", "steps": 12},
            **{"epsilon": 4.0, "delta": 1e-6, "per_query": 1.0, "n_rows": 10},
        },
    ),
    "maps": Explainer(
        _maps,
        Categorical([0, 1]),
        {
            **{"epochs": 2, "sampling_rate": 0.5, "n_maps": 2, "device": "cpu"},
            **{"epsilon": 1.0, "delta": 1e-6},
        },
    ),
    "metrics": Explainer(_metrics, Categorical([0, 1]), {"epsilon": 1.0, "delta": 1e-6}),
}


def new_ledger(budget: tuple[float, float] = BUDGET) -> PrivacyLedger:
    """Return a ledger with a budget that any explainer's deltas fit into."""
    ledger = PrivacyLedger.in_memory()
    epsilon, delta = budget
    ledger.create_budget(DATASET, epsilon, delta, delta_x=delta / 2)
    return ledger


def attempt(name: str, X: Any, y: Any, ledger: PrivacyLedger, **parameters: Any) -> Any:
    """Make a request; return its result, or its error if that is one of ours.

    Whatever happens, the ledger must follow: an error leaves it as it was, a result is covered
    by what was charged, and nothing stays open.

    Raises
    ------
    AssertionError
        If one of that does not hold, or the error was raised by somebody else's code.
    """
    before = ledger.entries()
    given = EXPLAINERS[name].parameters | {"ledger": ledger, "dataset": DATASET} | parameters
    try:
        result = EXPLAINERS[name].request(X, y, **given)
    except OURS as error:
        check_error(error)
        # What was released before the error is charged; the request that failed is not.
        assert ledger.spent(DATASET).open_reservations == 0
        assert name == "lime" or ledger.entries() == before
        return error
    assert ledger.spent(DATASET).open_reservations == 0
    assert ledger.verify() == ledger.head
    check_covered(getattr(result, "guarantee_", None) or result.guarantee, ledger)
    return result


def check_error(error: BaseException) -> None:
    """Check that an error is ours, and that its message says more than that something is wrong."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    place = trace.tb_frame.f_code.co_filename
    assert place.startswith(PACKAGE), f"raised in {place}: {error!r}"
    text = str(error)
    assert len(text) > 40, text
    assert text.rstrip().endswith((".", ")")), text
    assert any(word in text.lower() for word in MENDS), text


MENDS = (
    *("must", "pass", "declare", "give", "leave", "use", "remove", "rename", "write", "add"),
    *("need", "drop", "group", "choose", "at least", "raise the budget", "allowed", "should be"),
    *("expecting", "name", "reshape", "convert", "ask for", "decode", "turn "),
)


def check_covered(guarantee: Any, ledger: PrivacyLedger) -> None:
    """Check that a promise is not better than what the ledger charged for it.

    The entries compose to a pair, which at the promise's delta must stay within its epsilon; and
    where the promise states its own spend, no less than that was charged.
    """
    entries = ledger.entries(DATASET)
    closed = {entry["reservation"] for entry in entries if entry["kind"] == "commit"}
    charged = [e for e in entries if e["kind"] == "reserve" and e["number"] in closed]
    assert charged, "a result that nobody paid for"
    total = compose(GdpPair(entry["mu"], entry["delta"]) for entry in charged)
    assert total.epsilon_at(guarantee.delta) <= guarantee.epsilon * (1 + 1e-9)
    bill = compose(GdpPair(share.mu, share.delta) for share in guarantee.releases)
    assert bill.mu <= total.mu * (1 + 1e-9)
    assert bill.delta <= total.delta * (1 + 1e-9)


# -------------------------------------------------------------------------------- parameters

ODD = st.sampled_from(
    [
        *(None, True, False, 0, -1, 1, 2, 0.5, 1e-320, 1e308, 10**400, -(10**400)),
        *(float("nan"), float("inf"), -float("inf"), -0.0, 1j, "", "1", "auto", "all", b"x"),
        *(np.float32(0.5), np.int8(3), np.float64("nan"), np.bool_(True), np.array(1.0)),
        *(np.array([1, 2]), [], [1, "a"], (), {}, {"a": 1}, object, set(), "\x00", "\ud800"),
        pd.NA,
    ]
)
