"""The explainers that ``python -m benchmarks.audit`` attacks and replays.

Everything here is made up, so that nothing is private. Attacks take the settings in which a row's
influence reaches the sensitivities, and the operating system's noise. Replays with frozen noise
take simulated patients; a neighbour lacks the last row. That row is an ordinary one, one in which
nothing is as declared, or one in which everything is missing: its effect on anybody else's
integers, on the public coin flips, on errors and warnings or on a published part shows as a
violation.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import pandas as pd
from interpret import privacy

from benchmarks.audit.results import ReplayLine
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.audit.neighbours import (
    DATASET,
    ROW_COUNT,
    canary_tables,
    metric_statistics,
    model_statistics,
    published_parts,
    refit,
    replay,
)
from interpret_dp.audit.replaying import ReplayReport
from interpret_dp.datasets import Cohort, make_cohort
from interpret_dp.ebm.estimators import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)
from interpret_dp.evaluation import private_metrics
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.lime.background import PrivateBackground
from interpret_dp.llm.estimator import DPLocallyLinearClassifier
from interpret_dp.schema import Categorical, Continuous, Schema

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
_ROWS = 60
_LOG_LINKS = ("poisson_deviance", "gamma_deviance")
_AMOUNTS = Continuous(1_000.0, 50_000.0)
_PAIRS = [("age", "insurance"), (0, 1)]

# Of so few rows, cells of pairs move only where there is next to no noise.
_LITTLE_NOISE = 300.0
Task = Literal["classification", "regression"]


@dataclass(frozen=True)
class Subject:
    """An explainer, a row that stands out, and what is read off the result.

    Attributes
    ----------
    name : str
    fit : callable
    with_row, without_row : object
        What ``fit`` takes.
    statistics : callable
    epsilon : float
        The claim, at ``DELTA``.
    mu : float or None
        The same as Gaussian differential privacy; None where none is claimed.
    """

    name: str
    fit: Callable[[Any], Any]
    with_row: Any
    without_row: Any
    statistics: Callable[[Any], Mapping[str, float]]
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
        model_statistics(tables.row),
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
    read = model_statistics(tables.row)

    def statistics(model: Any) -> Mapping[str, float]:
        return {
            name: value for name, value in read(model).items() if (name == ROW_COUNT) == counts_rows
        }

    return Subject(name, fit, tables.with_row, tables.without_row, statistics, epsilon, None)


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
        metric_statistics,
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
        background_statistics,
        epsilon,
        mu_of_budget(epsilon, DELTA),
    )


def background_statistics(background: Any) -> Mapping[str, float]:
    """Read the counts of a released :class:`interpret_dp.PrivateBackground`."""
    return {
        f"count {at} of {column.feature.name}": float(count)
        for column in background.to_released().columns
        for at, count in enumerate(column.counts)
    }


def replay_explainer(name: str) -> ReplayLine:
    """Replay one explainer on three pairs of tables, both ways.

    Parameters
    ----------
    name : str
        One of ``REPLAYS``.
    """
    start = time.process_time()
    reports = list(REPLAYS[name]())
    return ReplayLine.of(name, reports, time.process_time() - start)


def _both_ways(
    fit: Callable[[Any], Any],
    pairs: Iterator[tuple[Any, Any]],
    published: Callable[[Any], Mapping[str, Any]] = published_parts,
) -> Iterator[ReplayReport]:
    for with_row, without_row in pairs:
        yield replay(fit, with_row, without_row, published=published)
        yield replay(fit, without_row, with_row, published=published)


def _last_rows(cohort: Cohort) -> Iterator[tuple[pd.DataFrame, Any]]:
    """Yield tables whose last row is ordinary, undeclared, and missing."""
    table, target = cohort.X, pd.Series(cohort.y)
    yield table, target
    specs = cohort.schema.features
    for number, label in ((np.inf, "undeclared"), (np.nan, None)):
        last = {
            name: [label if isinstance(spec, Categorical) else number]
            for name, spec in specs.items()
        }
        is_text = isinstance(cohort.schema.target, Categorical)
        label_column = pd.Series([label if is_text else number], dtype=object)
        yield (
            pd.concat([table.astype(object), pd.DataFrame(last, dtype=object)], ignore_index=True),
            pd.concat([target.astype(object), label_column], ignore_index=True),
        )


def _neighbours(cohort: Cohort) -> Iterator[tuple[Any, Any]]:
    for X, y in _last_rows(cohort):
        yield (X, y), (X.iloc[:-1], y.iloc[:-1])


def _cohort(task: Task = "classification") -> Cohort:
    return make_cohort(_ROWS, seed=0, task=task)


def _additive(
    task: Task, target: Continuous | None = None, **parameters: Any
) -> Iterator[ReplayReport]:
    cohort = _cohort(task)
    schema = cohort.schema if target is None else Schema(cohort.schema.features, target=target)
    classifies = task == "classification"
    kind = DPExplainableBoostingClassifier if classifies else DPExplainableBoostingRegressor
    model = kind(schema=schema, max_rounds=3, n_jobs=1, **parameters)
    return _both_ways(refit(model), _neighbours(cohort))


def _metrics() -> Iterator[ReplayReport]:
    cohort = _cohort()
    model = DPExplainableBoostingClassifier(schema=cohort.schema, max_rounds=3, n_jobs=1)
    fitted = {"a model": refit(model)((cohort.X, cohort.y))}

    def measure(table: tuple[Any, Any]) -> Any:
        ledger = PrivacyLedger.in_memory()
        return private_metrics(
            fitted, *table, epsilon=1.0, delta=1e-6, ledger=ledger, dataset=DATASET
        )

    return _both_ways(measure, _neighbours(cohort))


def _background() -> Iterator[ReplayReport]:
    cohort = _cohort()
    background = PrivateBackground(cohort.schema, epsilon=1.0)
    pairs = (((X,), (X.iloc[:-1],)) for X, _ in _last_rows(cohort))
    return _both_ways(refit(background), pairs)


def _maps() -> Iterator[ReplayReport]:
    cohort = _cohort()
    model = DPLocallyLinearClassifier(schema=cohort.schema, epochs=2, sampling_rate=0.1, n_maps=2)
    return _both_ways(refit(model), _neighbours(cohort))


_amounts = partial(_additive, "regression", _AMOUNTS, monotone_constraints={"age": 1})
REPLAYS: dict[str, Callable[[], Iterator[ReplayReport]]] = {
    "DPExplainableBoostingClassifier": partial(_additive, "classification"),
    "DPExplainableBoostingRegressor": partial(_additive, "regression"),
    **{
        f"DPExplainableBoostingRegressor ({name})": partial(_amounts, objective=name)
        for name in _LOG_LINKS
    },
    "DPExplainableBoostingClassifier (chosen pairs)": partial(
        _additive, "classification", interactions=2, epsilon=_LITTLE_NOISE
    ),
    "DPExplainableBoostingRegressor (named pairs)": partial(
        _additive, "regression", interactions=_PAIRS, epsilon=_LITTLE_NOISE
    ),
    "private_metrics": _metrics,
    "PrivateBackground": _background,
    "DPLocallyLinearClassifier": _maps,
}
"""Replays by name."""
