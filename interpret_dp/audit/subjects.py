"""What ``interpret-dp audit`` attacks: each of our explainers where one row stands out most.

Everything here is made up, so that nothing is private. The settings are those in which a row's
influence reaches the sensitivities, and the noise is the operating system's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from interpret import privacy

from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.audit.explainers import DATASET, canary_tables, refit
from interpret_dp.audit.facts import ROW_COUNT, background_facts, metric_facts, model_facts
from interpret_dp.ebm.estimators import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)
from interpret_dp.ebm.evaluation import private_metrics
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.lime.background import PrivateBackground
from interpret_dp.schema import Categorical, Continuous, Schema

__all__ = ["DELTA", "Subject", "background", "classifier", "metrics", "reference", "regressor"]

DELTA = 1e-5

# Of two levels the canary has one to itself, whatever the noise: how cut points of a number merge
# depends on it.
_FEATURE = {"feature_0000": Categorical(["a", "b"])}
_RANGE = (9000, 10000)
_LABELS = Schema(_FEATURE, target=Categorical(["no", "yes"]))
_COSTS = Schema(_FEATURE, target=Continuous(*_RANGE))
_NUMBERS = Schema({"feature_0000": Continuous(0, 1)}, target=Continuous(*_RANGE))
# Of one round and one feature: then one row moves one score by all that it may.
_ONE_ROUND: dict[str, Any] = {"max_rounds": 1, "learning_rate": 1.0, "n_jobs": 1, "delta": DELTA}
_OTHERS = 100
_REFERENCE_OTHERS = 400


@dataclass(frozen=True)
class Subject:
    """An explainer, a row that stands out, and what is read off the result.

    Attributes
    ----------
    name : str
    fit : callable
    with_row, without_row : object
        What ``fit`` takes.
    facts : callable
    epsilon : float
        The claim, at ``DELTA``.
    mu : float or None
        The same as Gaussian differential privacy; None where none is claimed.
    """

    name: str
    fit: Callable[[Any], Any]
    with_row: Any
    without_row: Any
    facts: Callable[[Any], Mapping[str, float]]
    epsilon: float
    mu: float | None


def classifier(epsilon: float) -> Subject:
    """Return our classifier: everybody is "no", and the canary "yes"."""
    model = DPExplainableBoostingClassifier(epsilon=epsilon, schema=_LABELS, **_ONE_ROUND)
    return _of_estimator("DPExplainableBoostingClassifier", model, _LABELS, epsilon)


def regressor(epsilon: float) -> Subject:
    """Return our regressor, with the targets by which interpret's is refuted."""
    model = DPExplainableBoostingRegressor(epsilon=epsilon, schema=_COSTS, **_ONE_ROUND)
    return _of_estimator("DPExplainableBoostingRegressor", model, _COSTS, epsilon)


def _of_estimator(name: str, model: Any, schema: Schema, epsilon: float) -> Subject:
    tables = canary_tables(schema, _OTHERS)
    return Subject(
        name,
        refit(model),
        tables.with_row,
        tables.without_row,
        model_facts(tables.row),
        epsilon,
        mu_of_budget(epsilon, DELTA),
    )


def reference(epsilon: float, *, counts_rows: bool) -> Subject:
    """Return interpret's own private regressor, whose first residual is up to 10,000.

    400 people have a target of 9,000, of a declared range from 9,000 to 10,000; its noise is made
    for a residual of 1,000 (docs/audit.md).

    Parameters
    ----------
    epsilon : float
    counts_rows : bool
        Attack the exact number of rows, which it publishes; or everything but that.
    """
    model = privacy.DPExplainableBoostingRegressor(
        feature_types=["continuous"],
        privacy_bounds=[(0, 1)],
        privacy_target_min=_RANGE[0],
        privacy_target_max=_RANGE[1],
        epsilon=epsilon,
        **_ONE_ROUND,
    )
    fit_again = refit(model)

    def fit(table: tuple[Any, Any]) -> Any:
        with warnings.catch_warnings():
            # It warns about its own defaults at every fit.
            warnings.simplefilter("ignore")
            return fit_again(table)

    tables = canary_tables(_NUMBERS, _REFERENCE_OTHERS)
    name = f"interpret {version('interpret-core')} DPExplainableBoostingRegressor"
    read = model_facts(tables.row)

    def facts(model: Any) -> Mapping[str, float]:
        return {
            fact: value for fact, value in read(model).items() if (fact == ROW_COUNT) == counts_rows
        }

    return Subject(name, fit, tables.with_row, tables.without_row, facts, epsilon, None)


def metrics(epsilon: float) -> Subject:
    """Return ``private_metrics`` of a model that is wrong about the canary alone."""
    tables = canary_tables(_LABELS, _OTHERS)
    model = refit(DPExplainableBoostingClassifier(epsilon=4.0, schema=_LABELS, **_ONE_ROUND))(
        canary_tables(_LABELS, 2000).without_row
    )

    def measure(table: tuple[Any, Any]) -> Any:
        ledger = PrivacyLedger.in_memory()
        return private_metrics(
            {"model": model}, *table, epsilon=epsilon, delta=DELTA, ledger=ledger, dataset=DATASET
        )

    return Subject(
        "private_metrics",
        measure,
        tables.with_row,
        tables.without_row,
        metric_facts,
        epsilon,
        mu_of_budget(epsilon, DELTA),
    )


def background(epsilon: float) -> Subject:
    """Return ``PrivateBackground`` of one column, in which the canary has a level to itself."""
    tables = canary_tables(_LABELS, _OTHERS)
    estimator = PrivateBackground(Schema(_FEATURE), epsilon=epsilon, delta=DELTA)
    return Subject(
        "PrivateBackground",
        refit(estimator),
        tables.with_row[:1],
        tables.without_row[:1],
        background_facts,
        epsilon,
        mu_of_budget(epsilon, DELTA),
    )
