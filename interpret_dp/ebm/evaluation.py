"""Metrics of models on private rows, from one noisy histogram a model.

Each row falls into one cell: by its label and the model's logit, by the probability of its label,
or by the size of its error. So a row adds 1 to one count, and accuracy, log loss, area under the
curve or errors are post-processing of the noisy counts (docs/proofs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import listed
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.kernels import exponential_table
from interpret_dp.backends.residual_tables import log_means, lowest_log_step
from interpret_dp.fitting.account import gaussian_request, neighbourhood_of, refuse_unnamed_unit
from interpret_dp.fitting.rows import PrivateRows, open_rows
from interpret_dp.schema import Categorical, Continuous, Table, encode_classes, encode_target
from interpret_dp.schema.containers import Values
from interpret_dp.schema.kinds import kind_of, refuse_mismatches, target_mismatch

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ebm.base import PrivateEBM
    from interpret_dp.ledger import PrivacyLedger

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
        Of the same form: what the added noise alone does to each figure. Sampling error is not
        included.
    n_rows : float
        Released number of rows with a target.
    guarantee : Guarantee

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier, private_metrics
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> others = make_cohort(500, seed=1)
    >>> models = {"risk": model.fit(patients.X, patients.y)}
    >>> metrics = private_metrics(models, others.X, others.y, epsilon=0.5, delta=1e-6)
    >>> metrics.guarantee.epsilon
    0.5
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
    unit : array-like, shape (n_rows,), or "rows", default=None
        Identifiers of people, as ``fit`` takes them; the first model's ``schema_.unit`` holds.

    Returns
    -------
    PrivateMetrics
        For two classes accuracy, log loss and the area under the ROC curve; for more, accuracy and
        log loss; for a regression the root mean squared and the mean absolute error. They are
        computed from cells: logits beyond 6 or -6 count as these, probabilities below 2**-9 as
        2**-9, and errors above a quarter of the target's range as a quarter.

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
    request = gaussian_request(
        "metrics",
        len(models),
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        dataset=dataset,
        neighbourhood=neighbourhood,
    )
    guarantee = request.guarantee(_MECHANISM)
    kinds = {label: cells_of(model) for label, model in models.items()}
    counts = {}
    sigma = 0.0
    with request.opened("private_metrics") as session:
        kept = rows.used_rows(neighbourhood.max_rows, session.public_choices)
        for label, cells in kinds.items():
            exact = _counted(cells, rows, kept)
            noisy, sigma = session.gaussian(
                "metrics", exact[np.newaxis], row_norm=LATTICE, aligned=True
            )
            counts[label] = noisy[0] / LATTICE
    guarantee = replace(guarantee, ledger_head=session.head)
    return _figures(kinds, counts, sigma / LATTICE, request.randomness.public, guarantee)


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
                f"models[{name!r}] has {listed(lacking)}, but models[{widest!r}] has not; one of "
                "the models must have the columns of all the others. Evaluate the two separately."
            )
    return columns


def _counted(cells: Cells, rows: PrivateRows, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the kept rows in each cell, in lattice units; rows without a target are in none."""
    codes = cells.codes(rows.table, rows.y)[kept]
    counts = np.bincount(codes[codes >= 0], minlength=cells.n_cells)
    return counts.astype(np.int64) * LATTICE


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
        released = counts[label]
        totals.append(max(float(released.sum()), 0.0))
        table[label] = cells.figures(released)
        simulated = [
            cells.figures(released + noise * rng.standard_normal(len(released)))
            for _ in range(_SIMULATIONS)
        ]
        errors[label] = {
            figure: float(np.std([one[figure] for one in simulated])) for figure in table[label]
        }
    return PrivateMetrics(
        pd.DataFrame(table).T, pd.DataFrame(errors).T, float(np.mean(totals)), guarantee
    )


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Few cells where figures weigh a row heavily: the noise of each counts as much as a row there.
_LOGIT_EDGES = np.concatenate(
    [-np.arange(6.0, 3.0, -0.5), np.arange(-3.0, 3.25, 0.25), np.arange(3.5, 6.5, 0.5)]
)
# Losses of the label in octaves: a probability of 2**-9 or less counts as that.
_LOSS_EDGES = np.concatenate([np.arange(8) / 8, np.arange(4, 12) / 4, np.arange(3.0, 10.0)])
_CERTAIN = 2**30
_PROBABILITY_EDGES = np.floor(_CERTAIN * 2.0 ** -_LOSS_EDGES[:0:-1]).astype(np.int64)
# Errors as shares of the target's range: a quarter of it or more counts as that.
_ERROR_EDGES = 2.0 ** (-np.arange(40, 7, -1) / 4)
_SCORE_STEPS = 256  # per unit of score, as the table of exponentials has them
_LARGEST_SCORE = 2.0**20


def _bounded(scores: Floats) -> Floats:
    """Return scores that have an index in a table, whatever the model's scores are."""
    return np.clip(np.nan_to_num(scores), -_LARGEST_SCORE, _LARGEST_SCORE)


def _label_shares(scores: Floats, labels: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the probability of each row's label, from integers, and whether it is predicted.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows, n_classes)
    labels : ndarray of int64, shape (n_rows,)
        -1 for a row without a label, of which the result means nothing.

    Returns
    -------
    shares : ndarray of int64, shape (n_rows,)
        In units of 1 / ``_CERTAIN``.
    is_right : ndarray of bool, shape (n_rows,)
    """
    table = exponential_table()
    steps = np.trunc(_bounded(scores) * _SCORE_STEPS)
    gaps = steps.max(axis=1, keepdims=True) - steps
    weights = table[np.minimum(gaps, len(table) - 1).astype(np.int64)]
    own = np.take_along_axis(weights, np.maximum(labels, 0)[:, np.newaxis], axis=1)[:, 0]
    return own * _CERTAIN // weights.sum(axis=1), steps.argmax(axis=1) == labels


class Cells(Protocol):
    """A partition of all rows by what a model predicts of them."""

    n_cells: int

    def codes(self, table: Table, y: Values) -> Integers:
        """Return each row's cell, shape (n_rows,); -1 without a target. Private."""

    def figures(self, counts: Floats) -> dict[str, float]:
        """Return the figures that follow from released counts, shape (n_cells,)."""


def cells_of(model: Any) -> Cells:
    """Return the cells that suit a fitted model's target."""
    target = model.schema_.target
    if isinstance(target, Continuous):
        return _ErrorCells(model, target)
    if model.released_.classes is not None and len(model.released_.classes) == 2:
        return _LogitCells(model)
    return _LossCells(model)


class _LogitCells:
    """Two classes: label and logit."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._width = len(_LOGIT_EDGES) + 1
        self.n_cells = 2 * self._width

    def codes(self, table: Table, y: Values) -> Integers:
        labels = encode_classes(y, Categorical(self._model.released_.classes), table.n_rows)
        scores = self._model.decision_function(table)
        places = np.searchsorted(_LOGIT_EDGES, scores, side="right")
        return np.where(labels < 0, -1, labels * self._width + places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        no, yes = counts.reshape(2, -1)
        logits = _middles(_LOGIT_EDGES)
        losses = np.logaddexp(0.0, logits), np.logaddexp(0.0, -logits)
        right = no[logits < 0].sum() + yes[logits > 0].sum()
        # Half of a pair counts where both are in one cell.
        below = np.cumsum(no) - no / 2
        pairs = max(no.sum(), 1.0) * max(yes.sum(), 1.0)
        return {
            "accuracy": _share(right, counts),
            "log_loss": max(float(no @ losses[0] + yes @ losses[1]), 0.0) / _total(counts),
            "roc_auc": float(np.clip(yes @ below / pairs, 0.0, 1.0)),
        }


class _LossCells:
    """More classes, or one: the probability of the label, and whether it is the largest."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._width = len(_PROBABILITY_EDGES) + 1
        self.n_cells = 2 * self._width

    def codes(self, table: Table, y: Values) -> Integers:
        classes = self._model.released_.classes
        labels = encode_classes(y, Categorical(classes), table.n_rows).astype(np.int64)
        scores = np.zeros((table.n_rows, len(classes)))
        if len(classes) > 1:
            scores[:] = self._model.decision_function(table)
        share, is_right = _label_shares(scores, labels)
        places = np.searchsorted(_PROBABILITY_EDGES, share, side="right")
        return np.where(labels < 0, -1, is_right * self._width + places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        wrong, right = counts.reshape(2, -1)
        losses = np.log(2.0) * _middles(_LOSS_EDGES)[:0:-1]
        return {
            "accuracy": _share(right.sum(), counts),
            "log_loss": max(float((wrong + right) @ losses), 0.0) / _total(counts),
        }


class _ErrorCells:
    """A regression: the size of the error, as a share of the target's range.

    Under a log link predictions are looked up in steps of 1/256 of the score, between the bounds.
    """

    n_cells = len(_ERROR_EDGES) + 1

    def __init__(self, model: Any, target: Continuous) -> None:
        self._model, self._target = model, target
        self._range = target.upper - target.lower or 1.0

    def codes(self, table: Table, y: Values) -> Integers:
        target = encode_target(y, self._target, table.n_rows)
        errors = np.abs(self._predictions(table) - target) / self._range
        places = np.searchsorted(_ERROR_EDGES, errors, side="right")
        return np.where(np.isnan(target), -1, places).astype(np.int64)

    def _predictions(self, table: Table) -> Floats:
        if self._model.link_ == "identity":
            return np.asarray(self._model.predict(table))
        lowest = lowest_log_step(self._target.upper)
        means = log_means(self._target.lower, self._target.upper)
        scores = self._model.predict_with_uncertainty(table)[:, 0]
        steps = np.floor(_bounded(scores) * _SCORE_STEPS) - lowest
        return np.asarray(means[np.clip(steps, 0, len(means) - 1).astype(np.int64)])

    def figures(self, counts: Floats) -> dict[str, float]:
        sizes = self._range * np.append(_middles(_ERROR_EDGES)[1:-1], _ERROR_EDGES[-1])
        sizes = np.concatenate(([self._range * _ERROR_EDGES[0] / 2], sizes))
        return {
            "rmse": float(np.sqrt(max(float(counts @ sizes**2), 0.0) / _total(counts))),
            "mean_absolute_error": max(float(counts @ sizes), 0.0) / _total(counts),
        }


def _middles(edges: Floats) -> Floats:
    """Return the middle of each cell; cells at the ends count as their edge."""
    return np.asarray(np.concatenate(([edges[0]], (edges[1:] + edges[:-1]) / 2, [edges[-1]])))


def _total(counts: Floats) -> float:
    return max(float(counts.sum()), 1.0)


def _share(part: float, counts: Floats) -> float:
    return float(np.clip(part / _total(counts), 0.0, 1.0))
