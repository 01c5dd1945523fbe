"""All explainers as functions of a table and parameters, and what must hold whatever happened."""

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp._documents import digest_of
from interpret_dp.accounting.composition import GdpPair, compose
from interpret_dp.mechanisms import SeededRandomness, use_randomness

PACKAGE = str(Path(dp.__path__[0]))
# Everything that a request may raise; SchemaError is a ValueError. `ReleaseError` is not among
# them: inside the session no value of a row may make a computation fail.
OURS = (TypeError, ValueError, dp.LedgerError, dp.BudgetExceededError)

# What a fit is given beside the table; all else are parameters.
OF_ROWS = "unit", "sample_weight", "init_score"

DATASET = "people"
BUDGET = 8.0, 1e-5


@dataclass(frozen=True)
class Explainer:
    """One explainer.

    Attributes
    ----------
    kind : class or function
        Whose parameters a request takes.
    target : Continuous or Categorical
        That most examples are declared with.
    parameters : dict
        Valid ones that keep a request quick.
    max_rows : int
        The most rows of one person that examples use; locally linear maps take one.
    """

    kind: Callable[..., Any]
    target: dp.Continuous | dp.Categorical
    parameters: dict[str, Any]
    max_rows: int = 2

    def fit(self, X, y, **given):
        """Make the request that is charged, and return what it gives."""
        of_rows = {name: given.pop(name) for name in OF_ROWS if name in given}
        return self.kind(**self.parameters | given).fit(X, y, **of_rows)

    def use(self, result, X, y):
        """Predict, explain, draw, save and copy, as far as a result can."""
        result.predict(X)
        result.explain_global().visualize(0)
        # A classifier shows labels as well, whatever they are.
        result.explain_local(X, y if hasattr(result, "predict_proba") else None)
        assert pickle.loads(pickle.dumps(result)).guarantee_ == result.guarantee_
        assert json.dumps(result.to_released().to_dict(), allow_nan=False)
        again = type(result).from_released(result.to_released())
        assert np.array_equal(again.predict(X), result.predict(X))
        assert repr(result)

    def published(self, result):
        """Return all that was released, but for the ledger's head; equal if bit for bit equal."""
        document = result.to_released().to_dict()
        del document["guarantee"]["ledger_head"]
        return digest_of({name: document[name] for name in document.keys() - {"parameters"}})

    def predicted(self, result, X):
        """Return numbers that follow for rows, free of charge."""
        return getattr(result, "predict_proba", result.predict)(X)

    def explanations(self, result, X, y=None):
        """Return the explanation of the whole and that of rows, free of charge."""
        return [result.explain_global(), result.explain_local(X, y)]

    def promise(self, result):
        return result.guarantee_


@dataclass(frozen=True)
class Maps(Explainer):
    """Locally linear maps, which explain no empty table."""

    max_rows: int = 1

    def use(self, result, X, y):
        result.predict(X)
        result.explain_global()
        if _has_rows(X):
            result.explain_local(X, y)
        assert json.dumps(result.to_released().to_dict(), allow_nan=False)


@dataclass(frozen=True)
class ByPlace:
    """A black box whose probabilities follow the places of rows, whatever these hold."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        high = 0.25 + 0.5 * (np.arange(n_rows) % 2)
        return np.column_stack([1 - high, high])


@dataclass(frozen=True)
class BackgroundData(Explainer):
    """A background, which has no use for a target, and the explanations computed from it."""

    def fit(self, X, y, **given):
        return super().fit(X, None, **given)

    def use(self, result, X, y):
        result.explain_data().visualize(0)
        assert len(result.sample(3)) == 3
        if _has_rows(X):
            result.explain_local(ByPlace(), X).visualize(0)
        assert pickle.loads(pickle.dumps(result)).guarantee_ == result.guarantee_
        again = type(result).from_released(result.to_released())
        assert again.sample(5, 0).equals(result.sample(5, 0))
        assert repr(result)

    def predicted(self, result, X):
        return _scores(result.explain_local(ByPlace(), X))

    def explanations(self, result, X, y=None):
        model = ByPlace()
        return [
            result.explain_data(),
            result.explain_global(model, rows=X),
            result.explain_local(model, X, y),
        ]


@dataclass(frozen=True)
class Lime(Explainer):
    """Explanations from a background that an explainer releases when it is made."""

    most_asked: int = 100

    def fit(self, X, y, **given):
        return self.kind(given.pop("model", None) or ByPlace(), X, **self.parameters | given)

    def use(self, result, X, y):
        if _has_rows(X):
            result.explain_local(_first(X, self.most_asked)).visualize(0)
        assert pickle.loads(pickle.dumps(result)).guarantee_ == result.guarantee_
        assert repr(result)

    def published(self, result):
        return EXPLAINERS["background"].published(result.background)

    def predicted(self, result, X):
        return _scores(result.explain_local(_first(X, self.most_asked)))

    def explanations(self, result, X, y=None):
        n = self.most_asked
        return [result.explain_local(_first(X, n), None if y is None else y[:n])]


def _scores(explanation):
    """Return the scores of each row that is explained."""
    n_rows = len(explanation.selector)
    return np.array([explanation.data(row)["scores"] for row in range(n_rows)])


def _has_rows(X):
    # A sparse table has no length.
    return (X.shape[0] if hasattr(X, "shape") else len(X)) > 0


def _first(X, n_rows):
    return X.slice(0, n_rows) if hasattr(X, "slice") else X[:n_rows]


@dataclass(frozen=True)
class Metrics(Explainer):
    """Metrics of a model of public rows."""

    def fit(self, X, y, **given):
        schema = given.pop("schema")
        given.pop("feature_names", None)
        models = given.pop("models", None)
        if models is None:
            models = {"m": public_model(schema)}
        return self.kind(models, X, y, **self.parameters | given)

    def use(self, result, X, y):
        assert repr(result)
        assert result._repr_html_()

    def published(self, result):
        figures = (result.table, result.standard_errors, result.calibration.iloc[:, 1:])
        return [figure.to_numpy().tobytes() for figure in figures], result.n_rows

    def promise(self, result):
        return result.guarantee


@cache
def public_model(schema):
    """Return a model of two kinds of public rows, which it tells apart."""
    kinds = schema.features
    ends = {
        name: [spec.lower, spec.upper]
        if isinstance(spec, dp.Continuous)
        else [spec.levels[0], spec.levels[-1]]
        for name, spec in kinds.items()
    }
    public = pd.DataFrame({name: pd.Series(pair * 50, dtype=object) for name, pair in ends.items()})
    model = dp.DPExplainableBoostingClassifier(
        schema=schema, feature_names=list(kinds), max_rounds=4, max_bins=4, n_jobs=1, epsilon=100.0
    )
    with use_randomness(SeededRandomness(0)):
        return model.fit(public, [0, 1] * 50, unit=np.arange(100) if schema.unit else None)


LABELS = dp.Categorical([0, 1])
ASKED = {"epsilon": 1.0, "delta": 1e-6}
BOOSTING = {"max_rounds": 1, "max_bins": 4, "n_jobs": 1} | ASKED
MAPS = {"epochs": 2, "sampling_rate": 1.0, "n_maps": 2} | ASKED
COUNTS = BOOSTING | {"objective": "poisson_deviance"}
UNRELATED = ASKED | {"trained_on_same_people": False}
EXPLAINERS = {
    "binary": Explainer(dp.DPExplainableBoostingClassifier, LABELS, BOOSTING),
    "multiclass": Explainer(
        dp.DPExplainableBoostingClassifier, dp.Categorical([0, 1, 2]), BOOSTING
    ),
    "regression": Explainer(dp.DPExplainableBoostingRegressor, dp.Continuous(-5, 5), BOOSTING),
    "counts": Explainer(dp.DPExplainableBoostingRegressor, dp.Continuous(0, 5), COUNTS),
    "maps": Maps(dp.DPLocallyLinearClassifier, LABELS, MAPS),
    "lime": Lime(dp.DPLimeTabular, LABELS, UNRELATED),
    # SHAP values of more rows would take long.
    "shap": Lime(dp.DPShapTabular, LABELS, UNRELATED, most_asked=2),
    "background": BackgroundData(dp.PrivateBackground, LABELS, ASKED),
    "metrics": Metrics(dp.private_metrics, LABELS, ASKED),
}


def names(*left_out, only=tuple(EXPLAINERS)):
    """Return parameters for tests of explainers; "shap" is skipped where its library is missing."""
    missing = pytest.mark.skipif(find_spec("shap") is None, reason="shap is not installed")
    return [
        pytest.param(name, marks=missing if name == "shap" else ())
        for name in only
        if name not in left_out
    ]


# One explainer of each sort, for tests of forms that they all read alike.
ONE_EACH = ("binary", "regression", "background", "maps", "metrics")


def new_ledger(budget=BUDGET):
    """Return a ledger with a budget that any explainer's deltas fit into."""
    ledger = dp.PrivacyLedger.in_memory()
    epsilon, delta = budget
    ledger.create_budget(DATASET, epsilon, delta, delta_x=delta / 2)
    return ledger


def attempt(name, X, y, ledger, **parameters):
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
        result = EXPLAINERS[name].fit(X, y, **given)
        EXPLAINERS[name].use(result, X, y)
    except OURS as error:
        check_error(error)
        assert ledger.entries() == before
        return error
    assert ledger.spent(DATASET).open_reservations == 0
    assert ledger.verify() == ledger.head
    check_covered(EXPLAINERS[name].promise(result), ledger)
    return result


def check_error(error):
    """Check that an error is ours, and that its message says more than that something is wrong."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    place = trace.tb_frame.f_code.co_filename
    assert place.startswith(PACKAGE), f"raised in {place}: {error!r}"
    text = str(error)
    assert len(text) > 40, text
    assert text.rstrip().endswith((".", ")", "?")), text
    assert any(word in text.lower() for word in MENDS), text


MENDS = (
    *("must", "pass", "declare", "give", "leave", "use", "remove", "rename", "write", "add"),
    *("need", "drop", "group", "choose", "at least", "raise the budget", "allowed", "should be"),
    *("expecting", "name", "reshape", "convert", "ask for", "decode", "turn "),
)


def check_covered(guarantee, ledger):
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
