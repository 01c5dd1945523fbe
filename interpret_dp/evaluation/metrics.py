"""Metrics of models on private rows, from one noisy histogram a model and one vector of sums.

Each row falls into one cell: by its label and the model's logit, by the probability of its label,
or by the size of its error. So a row adds 1 to one count, and accuracy, log loss, area under the
curve or errors are post-processing of the noisy counts. Totals and calibration come from sums of
bounded parts (docs/proofs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import listed
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.evaluation.calibration import Calibration
from interpret_dp.evaluation.cells import Cells, Floats, Integers, cells_of
from interpret_dp.fitting.account import gaussian_request, neighbourhood_of, refuse_unnamed_unit
from interpret_dp.fitting.rows import PrivateRows, open_rows
from interpret_dp.schema.kinds import kind_of, refuse_mismatches, target_mismatch

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ebm.base import PrivateEBM
    from interpret_dp.ledger import PrivacyLedger

_MECHANISM = "discrete Gaussian noise on a histogram and sums of predictions, exactly sampled"
# Of mu squared: the histogram then has a fifth more noise than alone.
_SHARE_OF_SUMS = 0.3
_SIMULATIONS = 200
_SEEN = 3.0  # deviations of its noise that the count of a tenth needs


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
    calibration : DataFrame
        A line for each tenth of each model's predictions: ``model``, ``tenth``, mean ``predicted``
        and ``observed``, and the ``standard_error`` of their difference. Tenths are those of the
        released distribution of predictions. NaN where noise could be all rows; empty for more
        than two classes. Where many rows have one prediction, ``tenth`` is the last that a line
        covers.
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
    calibration: pd.DataFrame
    n_rows: float
    guarantee: Guarantee

    def _repr_html_(self) -> str:
        """Show figures, standard errors, calibration and the guarantee in a notebook."""
        shown = self.table.round(4).astype(str) + " ± " + self.standard_errors.round(4).astype(str)
        tenths = self.calibration.round(4).to_html(index=False) if len(self.calibration) else ""
        return str(shown.to_html()) + str(tenths) + self.guarantee._repr_html_()


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
        Of the rows that ``max_rows`` leaves, where the schema declares a unit. For two classes
        accuracy, log loss and the area under the ROC curve; for more, accuracy and log loss; for a
        regression the root mean squared and the mean absolute error, and the mean deviance of its
        objective. They are computed from cells: logits beyond 6 or -6 count as these, probabilities
        below 2**-9 as 2**-9, and errors above a quarter of the target's range as a quarter. A
        Poisson or gamma deviance counts as at most that of the target's bounds from the mean
        prediction. For two classes and regressions also all predictions over all targets, 1 if the
        total is right.

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
    kinds = {label: cells_of(model) for label, model in models.items()}
    calibrations = {
        label: Calibration(model) for label, model in models.items() if _has_sums(model)
    }
    planned = {"metrics": (1.0, len(kinds))}
    if calibrations:
        planned = {"metrics": (1.0 - _SHARE_OF_SUMS, len(kinds))}
        planned["calibration"] = _SHARE_OF_SUMS, len(calibrations)
    request = gaussian_request(
        planned,
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        dataset=dataset,
        neighbourhood=neighbourhood,
    )
    guarantee = request.guarantee(_MECHANISM)
    found: dict[str, _Released] = {}
    with request.opened("private_metrics") as session:
        kept = rows.used_rows(neighbourhood.max_rows, session.public_choices)
        for label, cells in kinds.items():
            exact = _counted(cells, rows, kept)
            noisy, sigma = session.gaussian(
                "metrics", exact[np.newaxis], row_norm=LATTICE, aligned=True
            )
            found[label] = _Released(cells, noisy[0] / LATTICE, sigma / LATTICE)
        for label, calibration in calibrations.items():
            # Targets of two rows may lie on either side of the mean prediction.
            noisy, sigma = session.gaussian(
                "calibration",
                calibration.sums(rows, kept)[np.newaxis],
                row_norm=calibration.row_norm,
                aligned=False,
            )
            sums = noisy[0] / LATTICE, sigma / LATTICE
            found[label] = found[label]._replace(calibration=calibration, sums=sums)
    guarantee = replace(guarantee, ledger_head=session.head)
    return _figures(found, request.randomness.public, guarantee)


def _has_sums(model: PrivateEBM) -> bool:
    """Whether a model is a regression or of two classes."""
    return model.released_.classes is None or len(model.released_.classes) == 2


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


def _counted(cells: Cells, rows: PrivateRows, kept: NDArray[np.bool_]) -> Integers:
    """Count the kept rows in each cell, in lattice units; rows without a target are in none."""
    codes = cells.codes(rows.table, rows.y)[kept]
    counts = np.bincount(codes[codes >= 0], minlength=cells.n_cells)
    return counts.astype(np.int64) * LATTICE


class _Released(NamedTuple):
    """What was released of one model, in rows, with the deviation of its noise."""

    cells: Cells
    counts: Floats
    noise: float
    calibration: Calibration | None = None
    sums: tuple[Floats, float] = (np.zeros(0), 0.0)

    def figures(self) -> tuple[dict[str, float], Floats]:
        """Return the figures, and of each tenth count, mean prediction and mean target."""
        found = self.cells.figures(self.counts)
        if self.calibration is None:
            return found, np.zeros((0, 3))
        more, tenths = self.calibration.figures(self.sums[0])
        return found | more, tenths

    def noised(self, rng: np.random.Generator) -> _Released:
        """Return the same with more noise, of the size that it has."""
        sums, noise = self.sums
        return self._replace(
            counts=self.counts + self.noise * rng.standard_normal(len(self.counts)),
            sums=(sums + noise * rng.standard_normal(len(sums)), noise),
        )


def _figures(
    found: Mapping[str, _Released], rng: np.random.Generator, guarantee: Guarantee
) -> PrivateMetrics:
    """Compute the figures of what was released, and what noise of its size does to them."""
    import pandas as pd

    table, errors, totals, lines = {}, {}, [], []
    for label, released in found.items():
        # Counts as released, negative ones too: then the noise of many empty cells cancels.
        totals.append(max(float(released.counts.sum()), 0.0))
        table[label], tenths = released.figures()
        simulated = [released.noised(rng).figures() for _ in range(_SIMULATIONS)]
        errors[label] = {
            figure: float(np.std([one[figure] for one, _ in simulated])) for figure in table[label]
        }
        if released.calibration is not None:
            draws = np.array([means for _, means in simulated])
            gaps = (draws[:, :, 2] - draws[:, :, 1]).std(axis=0)
            tenths[tenths[:, 0] <= _SEEN * draws[:, :, 0].std(axis=0)] = np.nan
            means = tenths[:, 1], tenths[:, 2], gaps + 0 * tenths[:, 0]
            labels = released.calibration.labels
            lines += [(label, *line) for line in zip(labels, *means, strict=True)]
    columns = ["model", "tenth", "predicted", "observed", "standard_error"]
    return PrivateMetrics(
        pd.DataFrame(table).T,
        pd.DataFrame(errors).T,
        pd.DataFrame(lines, columns=columns),
        float(np.mean(totals)),
        guarantee,
    )
