"""Everything that is checked and decided before the first row is read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp._validate import check_choice, check_int, check_real
from interpret_dp.accounting.gaussian import classic_mu, mu_of_budget
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.training import TrainingTask
from interpret_dp.exceptions import LedgerError, PrivacyWarning, SchemaError
from interpret_dp.mechanisms import (
    Randomness,
    SeededRandomness,
    SystemRandomness,
    active_randomness,
)
from interpret_dp.schema import Categorical, Continuous, Schema, Table, open_table, open_target
from interpret_dp.schema.arguments import schema_from_arguments

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["FitRequest", "ledger_of", "open_request"]

_UNNAMED = "unnamed"


@dataclass(frozen=True)
class FitRequest:
    """A checked fit; nothing in it but ``table`` and ``y`` is private.

    Attributes
    ----------
    table : Table
    y : array of shape (n_rows,)
    schema : Schema
        Complete declaration, in the table's order.
    task : TrainingTask
    config : TrainerConfig
    randomness : Randomness
    ledger : PrivacyLedger
    dataset : str
    n_threads : int
    """

    table: Table
    y: Any
    schema: Schema
    task: TrainingTask
    config: TrainerConfig
    randomness: Randomness
    ledger: PrivacyLedger
    dataset: str
    n_threads: int


def open_request(estimator: Any, X: Any, y: Any, task: str) -> FitRequest:
    """Check an estimator's parameters and the form of the data, never a value in a row.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If a parameter, the table's form or the declaration is wrong. Nothing was spent.
    """
    epsilon = check_real("epsilon", estimator.epsilon, low=0, low_open=True)
    delta = check_real("delta", estimator.delta, low=0, high=1, low_open=True, high_open=True)
    _refuse_bags(estimator)
    table = open_table(X, estimator.feature_names)
    values = open_target(y, table.n_rows)
    schema = schema_from_arguments(
        table.names,
        estimator.feature_types,
        estimator.privacy_bounds,
        getattr(estimator, "privacy_target_min", None),
        getattr(estimator, "privacy_target_max", None),
        estimator.schema,
        task=task,
    )
    columns = _included_columns(table.names, estimator.exclude)
    specs = schema.resolve(table.names)
    composition = check_choice("composition", estimator.composition, ("gdp", "classic"))
    mu = (mu_of_budget if composition == "gdp" else classic_mu)(epsilon, delta)
    ledger, dataset = _account(estimator.ledger, estimator.dataset)
    return FitRequest(
        table=table,
        y=values,
        schema=schema,
        task=TrainingTask(tuple(specs[c] for c in columns), columns, _target(schema)),
        config=_config(estimator, mu, len(columns)),
        randomness=_randomness(estimator.random_state),
        ledger=ledger,
        dataset=dataset,
        n_threads=_thread_count(estimator.n_jobs),
    )


def ledger_of(value: PrivacyLedger | str | None) -> PrivacyLedger:
    """Return the ledger that an estimator's parameter names.

    Raises
    ------
    TypeError
        If it is neither a ledger, nor a URL, nor None.
    """
    from interpret_dp.ledger import PrivacyLedger, default_ledger

    if value is None:
        return default_ledger()
    if isinstance(value, str):
        return PrivacyLedger(value)
    if isinstance(value, PrivacyLedger):
        return value
    raise TypeError(
        f"ledger is {value!r} ({type(value).__name__}); it must be a PrivacyLedger, its URL such "
        "as 'sqlite:///privacy.db', or None for the in-memory ledger of this process."
    )


def _account(ledger: PrivacyLedger | str | None, dataset: str | None) -> tuple[PrivacyLedger, str]:
    if dataset is not None and (not isinstance(dataset, str) or not dataset.strip()):
        raise ValueError(f"dataset is {dataset!r}; it must be the name of the data set.")
    if ledger is not None and dataset is None:
        raise LedgerError(
            "A ledger was given without dataset=. Name the data set whose budget the fit is "
            "charged to: every fit on the same people must use the same name."
        )
    return ledger_of(ledger), dataset if dataset is not None else _UNNAMED


def _config(estimator: Any, mu: float, n_terms: int) -> TrainerConfig:
    share = check_real(
        "bin_budget_frac",
        estimator.bin_budget_frac,
        low=0,
        high=1,
        low_open=True,
        high_open=True,
    )
    rounds, leaves, rate = estimator.max_rounds, estimator.max_leaves, estimator.learning_rate
    if rate is not None:
        rate = check_real("learning_rate", rate, low=0, low_open=True)
    return TrainerConfig(
        mu=mu,
        n_features=n_terms,
        max_bins=check_int("max_bins", estimator.max_bins, low=2, high=32_000),
        rounds=None if rounds is None else check_int("max_rounds", rounds, low=0),
        leaves=None if leaves is None else check_int("max_leaves", leaves, low=1),
        learning_rate=rate,
        binning_share=share,
    )


def _refuse_bags(estimator: Any) -> None:
    if estimator.outer_bags != 1 or estimator.validation_size != 0:
        raise ValueError(
            f"outer_bags is {estimator.outer_bags!r} and validation_size is "
            f"{estimator.validation_size!r}; they must be 1 and 0. Bags would divide the budget "
            "and held-out rows would be wasted: the noise is known, so standard_deviations_ has "
            "the error bands without either."
        )


def _included_columns(names: Sequence[str], exclude: Any) -> tuple[int, ...]:
    """Return the columns that get a term."""
    dropped = set()
    for item in exclude or ():
        feature = item[0] if isinstance(item, tuple) and len(item) == 1 else item
        if isinstance(feature, str) and feature in names:
            dropped.add(names.index(feature))
        elif isinstance(feature, int | np.integer) and -len(names) <= feature < len(names):
            dropped.add(int(feature) % len(names))
        else:
            raise ValueError(
                f"exclude has {item!r}; each item must be the name or index of one feature (of "
                f"{', '.join(map(repr, names))}). There are no pairs to exclude."
            )
    kept = tuple(index for index in range(len(names)) if index not in dropped)
    if not kept:
        raise ValueError(
            "exclude leaves no feature; keep at least one, or release the mean of the target with "
            "a library for private statistics."
        )
    return kept


def _target(schema: Schema) -> Categorical | Continuous:
    """Return the target's declaration, class labels sorted as scikit-learn has them."""
    if not isinstance(schema.target, Categorical):
        if schema.target is None:
            raise SchemaError("The schema has no target. Declare Schema(..., target=...).")
        return schema.target
    levels = schema.target.levels
    if len(levels) < 2:
        raise SchemaError(
            f"The target has one declared class, {levels[0]!r}; a classifier needs at least two. "
            "Declare every label that could occur, whether or not it does."
        )
    return Categorical(np.sort(np.asarray(levels)).tolist())


def _randomness(random_state: int | None) -> Randomness:
    active = active_randomness()
    if active is not None:
        return active
    if random_state is None:
        return SystemRandomness()
    seed = check_int("random_state", random_state, low=0, high=2**32 - 1)
    warnings.warn(
        f"random_state={seed} voids the privacy promise: whoever knows it can subtract the noise. "
        "Use it for tests on public data only; leave it None for anything you release.",
        PrivacyWarning,
        stacklevel=5,
    )
    return SeededRandomness(seed)


def _thread_count(n_jobs: int | None) -> int:
    """Read ``n_jobs`` as joblib does."""
    if n_jobs is None:
        return 1
    jobs = check_int("n_jobs", n_jobs)
    if jobs == 0:
        raise ValueError("n_jobs is 0; it must be a number of threads, or -1 for all processors.")
    return jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
