"""Everything that is checked and decided before the first row is read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp._validate import check_choice, check_int, check_real
from interpret_dp.accounting.gaussian import classic_mu, mu_of_budget
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.declaring import DeclaringTask, hint_once
from interpret_dp.ebm.training import TrainingTask
from interpret_dp.exceptions import LedgerError, PrivacyWarning, SchemaError
from interpret_dp.mechanisms import (
    Randomness,
    SeededRandomness,
    SystemRandomness,
    active_randomness,
)
from interpret_dp.release import ReleasePlan
from interpret_dp.schema import Categorical, Continuous, Schema, Table, open_table, open_target
from interpret_dp.schema.declarations import UndeclaredContinuous
from interpret_dp.schema.partial import column_kind, partial_schema_from_arguments

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["FitRequest", "ledger_of", "open_request"]

_UNNAMED = "unnamed"
_WIDEST_TARGET = 1e100
_RULE = "None leaves it to the trainer's own rule."


@dataclass(frozen=True)
class FitRequest:
    """A checked fit; nothing in it but ``table`` and ``y`` is private.

    Attributes
    ----------
    table : Table
    y : array of shape (n_rows,)
    schema : Schema
        Complete declaration, in the table's order. What is undeclared is in it as if nothing were
        known, until :meth:`with_schema`.
    task : TrainingTask
    declaring : DeclaringTask
        What is to be found out first.
    plan : ReleasePlan
        Every release of the fit.
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
    declaring: DeclaringTask
    plan: ReleasePlan
    config: TrainerConfig
    randomness: Randomness
    ledger: PrivacyLedger
    dataset: str
    n_threads: int

    def with_schema(self, schema: Schema) -> FitRequest:
        """Return the request with the schema that was completed inside the door."""
        return replace(self, schema=schema, task=_training_task(schema, self.task.columns))


def open_request(estimator: Any, X: Any, y: Any, task: str) -> FitRequest:
    """Check an estimator's parameters and the form of the data, never a value in a row.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If a parameter, the table's form or the declaration is wrong. Nothing was spent.
    """
    epsilon = check_real(
        "epsilon", estimator.epsilon, low=0, low_open=True, mend="1 is a usual start."
    )
    delta = check_real(
        "delta",
        estimator.delta,
        low=0,
        high=1,
        low_open=True,
        high_open=True,
        mend="Choose it well below one over the number of people, such as 1e-6.",
    )
    _refuse_bags(estimator)
    table = open_table(X, estimator.feature_names)
    values = open_target(y, table.n_rows)
    declaring = _declaring_task(estimator, table, values, task)
    schema = declaring.without_rows()
    columns = tuple(table.names.index(name) for name in declaring.terms)
    composition = check_choice(
        "composition",
        estimator.composition,
        ("gdp", "classic"),
        mend="'gdp' adds less noise for the same promise.",
    )
    mu = (mu_of_budget if composition == "gdp" else classic_mu)(
        epsilon, declaring.gaussian_delta(delta)
    )
    config = _config(estimator, declaring.training_mu(mu, delta), len(columns))
    ledger, dataset = _account(estimator.ledger, estimator.dataset)
    request = FitRequest(
        table=table,
        y=values,
        schema=schema,
        task=_training_task(schema, columns),
        declaring=declaring,
        plan=ReleasePlan((*declaring.plan(mu, delta), *config.plan().releases)),
        config=config,
        randomness=_randomness(estimator.random_state),
        ledger=ledger,
        dataset=dataset,
        n_threads=_thread_count(estimator.n_jobs),
    )
    hint_once(declaring)
    return request


def _declaring_task(estimator: Any, table: Table, y: Any, task: str) -> DeclaringTask:
    """Read the declaration from the arguments and the dtypes, and refuse too few classes."""
    partial = partial_schema_from_arguments(
        table.names,
        [column_kind(table.column(index).dtype) for index in range(len(table.names))],
        column_kind(y.dtype),
        estimator.feature_types,
        estimator.privacy_bounds,
        getattr(estimator, "privacy_target_min", None),
        getattr(estimator, "privacy_target_max", None),
        estimator.schema,
        task=task,
    )
    if isinstance(partial.target, Categorical) and len(partial.target.levels) < 2:
        raise SchemaError(
            f"The target has one declared class, {partial.target.levels[0]!r}; a classifier needs "
            "at least two. Declare every label that could occur, whether or not it does."
        )
    _check_target_width(partial.target)
    columns = _included_columns(table.names, estimator.exclude)
    return DeclaringTask(partial, table.names, tuple(table.names[column] for column in columns))


def _check_target_width(target: object) -> None:
    """Refuse bounds whose squares the released variances could not hold."""
    if not isinstance(target, Continuous | UndeclaredContinuous):
        return
    sizes = [abs(bound) for bound in (target.lower, target.upper) if bound is not None]
    if isinstance(target, Continuous):
        sizes.append(target.upper - target.lower)
    if any(size and not 1 / _WIDEST_TARGET <= size <= _WIDEST_TARGET for size in sizes):
        raise SchemaError(
            f"The target's bounds are {target.lower!r} and {target.upper!r}; they and their "
            f"distance must be 0 or between {1 / _WIDEST_TARGET:g} and {_WIDEST_TARGET:g} in size. "
            "Change the unit of the target."
        )


def _training_task(schema: Schema, columns: tuple[int, ...]) -> TrainingTask:
    specs = tuple(schema.features.values())
    if schema.target is None:
        raise SchemaError(
            "The schema has no target, and a fit needs one. Declare Schema(..., target=...)."
        )
    target = schema.target
    if isinstance(target, Categorical):
        # The order that scikit-learn has; numbers first, so that they stay numbers beside text.
        target = Categorical(
            sorted(target.levels, key=lambda label: (isinstance(label, str), label))
        )
    return TrainingTask(tuple(specs[column] for column in columns), columns, target)


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
        raise ValueError(
            f"dataset is {dataset!r}; it must be the name of the data set, a text "
            "that is not blank, such as 'hospital-2024'."
        )
    if ledger is not None and dataset is None:
        raise LedgerError(
            "A ledger was given without dataset=. Name the data set whose budget the fit is "
            "charged to: every fit on the same people must use the same name, such as "
            "dataset='hospital-2024'."
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
        mend="It is the share of the budget for finding bins; 0.1 suits most tables.",
    )
    rounds, leaves, rate = estimator.max_rounds, estimator.max_leaves, estimator.learning_rate
    if rate is not None:
        rate = check_real("learning_rate", rate, low=0, low_open=True, mend=_RULE)
    return TrainerConfig(
        mu=mu,
        n_features=n_terms,
        max_bins=check_int("max_bins", estimator.max_bins, low=2, high=32_000),
        rounds=None if rounds is None else check_int("max_rounds", rounds, low=0, mend=_RULE),
        leaves=None if leaves is None else check_int("max_leaves", leaves, low=1, mend=_RULE),
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
        raise ValueError(
            "n_jobs is 0; it must be a number of threads, or -1 for all processors. Pass n_jobs=1."
        )
    return jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
