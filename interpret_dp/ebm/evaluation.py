"""Metrics of models on private rows, from one noisy histogram a model.

Each row falls into one cell: by its label and the model's logit, by the probability of its label,
or by the size of its error. So a row adds 1 to one count, and accuracy, log loss, area under the
curve or errors are post-processing of the noisy counts (docs/proofs/evaluation.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_real, listed
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.guarantee import DEFAULT_ASSUMPTIONS, Guarantee
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.cells import Cells, cells_of
from interpret_dp.fitting.account import (
    account_of,
    neighbourhood_of,
    randomness_of,
    refuse_unnamed_unit,
)
from interpret_dp.fitting.assumptions import ledger_assumptions, unit_assumptions
from interpret_dp.fitting.rows import PrivateRows, open_rows
from interpret_dp.release import PlannedRelease, ReleasePlan, ReleaseSession
from interpret_dp.schema.kinds import kind_of, refuse_mismatches, target_mismatch

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ebm.base import PrivateEBM
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["PrivateMetrics", "private_metrics"]

_MECHANISM = "discrete Gaussian noise on a histogram of predictions, exactly sampled"
_SIMULATIONS = 200


@dataclass(frozen=True)
class PrivateMetrics:
    """Figures of models on private rows, released; public.

    Attributes
    ----------
    table : DataFrame
        One row a model; its columns are the figures.
    standard_errors : DataFrame
        Of the same form: what the added noise alone does to each figure. That the rows are a
        sample is not in it.
    n_rows : float
        Released number of rows with a target.
    guarantee : Guarantee
    """

    table: pd.DataFrame
    standard_errors: pd.DataFrame
    n_rows: float
    guarantee: Guarantee

    def _repr_html_(self) -> str:
        """Show figures, standard errors and the guarantee in a notebook."""
        shown = self.table.round(4).astype(str) + " ± " + self.standard_errors.round(4).astype(str)
        return str(shown.to_html()) + self.guarantee._repr_html_()


def private_metrics(
    models: Mapping[str, PrivateEBM],
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float,
    ledger: PrivacyLedger | str | None = None,
    dataset: str | None = None,
    neighboring: str = "add_or_remove_one",
    unit: Any = None,
) -> PrivateMetrics:
    """Release how well models predict private rows; charged to the ledger before a row is read.

    Parameters
    ----------
    models : mapping of str to fitted DPExplainableBoosting*
        By the names that the table shows, such as those of an editing session before and after.
        They share ``epsilon``, and must be of one task, with the same target. One of them must
        have the columns of all the others.
    X, y : as ``fit`` takes them
        Private. The models' own training rows will do: their data set is then charged again.
    epsilon, delta : float
        The promise for everything that is returned.
    ledger : PrivacyLedger or str, default=None
        Where it is charged; None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the rows' data set in the ledger; required with a ledger.
    neighboring : {"add_or_remove_one", "replace_one"}
    unit : array-like, shape (n_rows,), default=None
        Identifiers of people, as ``fit`` takes them; the first model's ``schema_.unit`` holds.

    Returns
    -------
    PrivateMetrics
        For two classes accuracy, log loss and the area under the ROC curve; for more, accuracy and
        log loss; for a regression the root mean squared and the mean absolute error. They follow
        from cells: logits of 6 and more count as 6 and probabilities of 2**-9 and less as that, and
        an error of a quarter of the target's range and more as a quarter.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If an argument or the form of the data is wrong; nothing was spent.
    BudgetExceededError
        If the data set's budget does not cover it; nothing was spent.
    ReleaseError
        If the computation failed. What was charged is in the message.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, private_metrics
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema)
    >>> session = model.fit(patients.X, patients.y).edit()
    >>> record = session.make_monotone("age")
    >>> others = make_cohort(1_000, seed=1)
    >>> metrics = private_metrics({"before": model, "after": session.model}, others.X, others.y,
    ...                           epsilon=0.5, delta=1e-6)
    >>> metrics.guarantee.epsilon
    0.5
    """
    first = _checked(models)
    epsilon = check_real("epsilon", epsilon, low=0, low_open=True)
    delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    rows, privacy_unit = open_rows(
        X,
        y,
        feature_names=_columns_of_all(models),
        schema=first.schema_,
        sample_weight=None,
        unit=unit,
    )
    target_faults = target_mismatch(kind_of(rows.y), first.schema_.target, first._task)
    for model in models.values():
        # Once a model reads the rows they are paid for.
        specs = [model.schema_.features.get(name) for name in rows.table.names]
        refuse_mismatches(rows.table, specs, target_faults)
    neighbourhood = neighbourhood_of(neighboring, privacy_unit)
    refuse_unnamed_unit(ledger, unit, first.schema_)
    account, name = account_of(ledger, dataset, neighbourhood)
    mu = mu_of_budget(epsilon, delta) / math.sqrt(len(models))
    plan = ReleasePlan((PlannedRelease("metrics", mu, len(models)),))
    randomness = randomness_of(None)
    guarantee = Guarantee(
        epsilon=epsilon,
        delta=delta,
        mu=plan.cost.mu,
        mechanism=_MECHANISM,
        neighboring=neighbourhood.relation,
        unit=neighbourhood.unit_text,
        assumptions=(
            *DEFAULT_ASSUMPTIONS,
            *ledger_assumptions(account),
            *unit_assumptions(neighbourhood),
        ),
        releases=plan.shares,
        dataset=name,
        tests_only=randomness.tests_only,
    )
    kinds = {label: cells_of(model) for label, model in models.items()}
    counts = {}
    sigma = 0.0
    with ReleaseSession(
        account,
        name,
        plan,
        randomness,
        neighbourhood=neighbourhood,
        explainer="private_metrics",
        epsilon=epsilon,
        delta=delta,
    ) as session:
        kept = rows.kept(neighbourhood.max_rows, session.public_choices)
        for label, cells in kinds.items():
            exact = _counted(cells, rows, kept)
            noisy, sigma = session.gaussian(
                "metrics", exact[np.newaxis], row_norm=LATTICE, aligned=True
            )
            counts[label] = noisy[0] / LATTICE
    guarantee = replace(guarantee, ledger_head=session.head)
    return _figures(kinds, counts, sigma / LATTICE, randomness.public, guarantee)


def _checked(models: Mapping[str, PrivateEBM]) -> PrivateEBM:
    """Return the first model, after checking that the others predict the same thing."""
    from interpret_dp.ebm.base import PrivateEBM

    if not isinstance(models, Mapping) or not models:
        raise TypeError(
            f"models is of type {type(models).__name__}; it must be a mapping from names to fitted "
            'models, such as {"before": model, "after": session.model}.'
        )
    for name, model in models.items():
        if not isinstance(model, PrivateEBM) or not hasattr(model, "has_fitted_"):
            raise TypeError(
                f"models[{name!r}] is of type {type(model).__name__}; it must be a fitted "
                "DPExplainableBoostingClassifier or DPExplainableBoostingRegressor."
            )
    first, *others = models.values()
    for model in others:
        if model.schema_.target != first.schema_.target:
            raise ValueError(
                f"The models' targets are {first.schema_.target!r} and {model.schema_.target!r}; "
                "they must be the same. Compare models of one target."
            )
    return first


def _columns_of_all(models: Mapping[str, PrivateEBM]) -> list[str]:
    """Return the columns of the model that has most, after checking that it has the others' too.

    A union of columns would have no order, and rows without names are read by their order.
    """
    widest = max(models, key=lambda name: len(models[name].schema_.features))
    columns = list(models[widest].schema_.features)
    for name, model in models.items():
        lacking = [column for column in model.schema_.features if column not in columns]
        if lacking:
            raise ValueError(
                f"models[{name!r}] has {listed(lacking)}, and models[{widest!r}] has not; one of "
                "the models must have the columns of all the others. Evaluate the two in calls of "
                "their own."
            )
    return columns


def _counted(cells: Cells, rows: PrivateRows, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the kept rows in each cell, in lattice units; rows without a target are in none."""
    codes = cells.codes(rows.table, rows.y)[kept]
    found = np.bincount(codes[codes >= 0], minlength=cells.n_cells)
    return found.astype(np.int64) * LATTICE


def _figures(
    kinds: Mapping[str, Cells],
    counts: Mapping[str, NDArray[np.float64]],
    noise: float,
    rng: np.random.Generator,
    guarantee: Guarantee,
) -> PrivateMetrics:
    """Compute the figures of the released counts, and what noise of their size does to them."""
    import pandas as pd

    table, errors, totals = {}, {}, []
    for label, cells in kinds.items():
        # Counts as released, negative ones too: then the noise of many empty cells cancels.
        found = counts[label]
        totals.append(max(float(found.sum()), 0.0))
        table[label] = cells.figures(found)
        simulated = [
            cells.figures(found + noise * rng.standard_normal(len(found)))
            for _ in range(_SIMULATIONS)
        ]
        errors[label] = {
            figure: float(np.std([one[figure] for one in simulated])) for figure in table[label]
        }
    return PrivateMetrics(
        pd.DataFrame(table).T, pd.DataFrame(errors).T, float(np.mean(totals)), guarantee
    )
