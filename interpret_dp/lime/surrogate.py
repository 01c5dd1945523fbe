"""Method "surrogate": one private additive model of the black box, paid once.

Each output of the black box that needs it gets a DP-EBM regressor, fitted to what the black box
says about the explanation data; then three sums a model say how good it is. All of it is one
request, reserved as a whole before a row is labelled. Explanations are read off the released models
and cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.gaussian import epsilon_of_mu
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.ebm.estimators import DPExplainableBoostingRegressor
from interpret_dp.ebm.promise import promise_of
from interpret_dp.ebm.publishing import fitted_model
from interpret_dp.ebm.request import FitRequest, open_request
from interpret_dp.ebm.training import TrainedTerms, train
from interpret_dp.exceptions import SchemaError
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.lime.fidelity import (
    FIDELITY,
    FidelitySums,
    fidelity_of,
    release_fidelity,
)
from interpret_dp.lime.patches import Patches
from interpret_dp.lime.surrogate_model import Surrogate
from interpret_dp.mechanisms import Randomness
from interpret_dp.release import PlannedRelease, ReleaseDoor, ReleasePlan
from interpret_dp.schema import Continuous, Schema, Table
from interpret_dp.schema.people import open_people

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["Surrogate", "fit_surrogate"]

Floats = NDArray[np.float64]
Labels = Floats | Callable[[], Floats]

# Of mu squared. The noise of the fit is 1.12 times what it would be without, which cannot be seen
# in its error on adult between epsilon 0.03 and 1; that of the fidelity is 0.7 times what a tenth
# would leave, and decides how small an epsilon a user can still judge.
_FIDELITY_SHARE = 0.2
# Terms share the budget: the variance of a prediction's noise grows like their number squared.
_MOST_TERMS = 1024
# Rounding errors of the split must not push the charge above what may be spent.
_SLACK = 1e-10
_EXPLAINER = "DPLimeTabular (surrogate)"


def fit_surrogate(
    X: Any,
    labels: Labels,
    *,
    n_outputs: int,
    schema: Schema,
    bounds: Continuous,
    mu: float,
    delta: float,
    complementary: bool = False,
    ledger: PrivacyLedger | str | None = None,
    dataset: str | None = None,
    neighboring: str = "add_or_remove_one",
    unit: Any = None,
    image_shape: tuple[int, int] | None = None,
    promise: Callable[[Guarantee], Guarantee] | None = None,
    randomness: Randomness | None = None,
    n_jobs: int | None = -1,
    verbose: bool = False,
) -> Surrogate:
    """Fit one additive model an output, release how good each is, and charge it all at once.

    Parameters
    ----------
    X : Table, DataFrame, ndarray or list of rows, shape (n_rows, n_features)
        The explanation data. Private.
    labels : ndarray of float64, shape (n_rows, n_outputs), or callable
        What the black box says of each row, in units of its outputs, as
        ``BlackBox.labels`` makes it: by rules that see that row alone. Private. A function that
        returns it is called after the budget was reserved.
    n_outputs : int
        Number of columns of ``labels``.
    schema : Schema
        Declares every feature, and the unit if there is one; its target is not looked at.
    bounds : Continuous
        Public bounds of every output.
    mu : float
        The most to spend, all models and their fidelity together: four fifths of its square go to
        the fits and one to the fidelity, in equal parts for each model.
    delta : float
        At which the guarantees are stated.
    complementary : bool, default=False
        Whether there are two outputs that add up to ``bounds.lower + bounds.upper`` at every row,
        as the probabilities of two classes do. One model then serves for both.
    ledger, dataset, neighboring, unit, n_jobs
        As the estimators take them.
    image_shape : (int, int), default=None
        Height and width of images. Of more than 144 pixels, the terms are those of the means of
        square patches, and the effect of a patch is shared equally among its pixels.
    promise : callable, default=None
        Adds to the guarantee what is known of the black box, such as whom the promise is about.
    randomness : Randomness, default=None
        Of the noise; None: the operating system's.
    verbose : bool, default=False
        Show rounds and time.

    Returns
    -------
    Surrogate
        Released.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If an argument or the form of the data is wrong, or there are more than 1,024 terms, which
        would share the budget. Nothing was spent.
    BudgetExceededError
        If the data set's budget does not cover all of it; nothing was spent.
    ReleaseError
        If the computation failed. What was charged is in the message.

    Notes
    -----
    docs/proofs/dp_lime.md, section "surrogate".
    """
    n_models = _model_count(n_outputs, complementary)
    if not callable(labels):
        _check_labels(labels, n_outputs)
    mu = check_real("mu", mu, low=0, low_open=True)
    estimator, each = _estimator(schema, bounds, mu, delta, n_models)
    estimator.set_params(
        neighboring=neighboring, ledger=ledger, dataset=dataset, n_jobs=n_jobs, verbose=verbose
    )
    request, patches, names = _opened(estimator, X, unit, image_shape)
    request = _whole_request(request, each, n_models)
    request = request if randomness is None else replace(request, randomness=randomness)
    guarantee = promise_of(request)
    guarantee = guarantee if promise is None else promise(guarantee)
    trained, sums, head = _released(request, labels, n_outputs, n_models, verbose=verbose)
    guarantee = replace(guarantee, ledger_head=head)
    models = tuple(
        DPExplainableBoostingRegressor.from_released(
            fitted_model(estimator, request, one, guarantee), request.ledger
        )
        for one in trained
    )
    of_output = [max(0, output - n_outputs + n_models) for output in range(n_outputs)]
    fidelity = fidelity_of(sums, of_output, bounds.upper - bounds.lower)
    return Surrogate(models, fidelity, guarantee, names, bounds, complementary, patches)


def _check_labels(labels: Floats, n_outputs: int) -> None:
    if labels.shape[1:] != (n_outputs,):
        raise ValueError(
            f"labels has {labels.ndim} dimensions and columns {labels.shape[1:]}, and n_outputs is "
            f"{n_outputs}; it must be of shape (n_rows, n_outputs)."
        )


def _model_count(n_outputs: int, complementary: bool) -> int:
    n_outputs = check_int("n_outputs", n_outputs, low=1)
    if complementary and n_outputs != 2:
        raise ValueError(
            f"n_outputs is {n_outputs} and complementary is True; there must be two outputs that "
            "add up to the sum of the bounds. Pass complementary=False."
        )
    return 1 if complementary else n_outputs


def _estimator(
    schema: Schema, bounds: Continuous, mu: float, delta: float, n_models: int
) -> tuple[DPExplainableBoostingRegressor, float]:
    """Return an estimator whose own budget is one model's, and the mu of one fidelity."""
    if not isinstance(schema, Schema) or not isinstance(bounds, Continuous):
        raise TypeError(
            f"schema is of type {type(schema).__name__} and bounds is {bounds!r}; they must be a "
            "Schema and Continuous(lower, upper)."
        )
    if bounds.lower == bounds.upper:
        raise SchemaError(
            f"The bounds of the outputs are both {bounds.lower:g}; they must differ. Declare the "
            "range that outputs can have."
        )
    spent = mu * (1.0 - _SLACK) / math.sqrt(n_models)
    epsilon = epsilon_of_mu(spent * math.sqrt(1.0 - _FIDELITY_SHARE), delta)
    if epsilon == 0.0:
        raise ValueError(
            f"mu {mu:.3g} shared by {n_models} models means epsilon 0 at delta {delta:g}: nothing "
            "but noise would be released. Allow a larger mu, or state it at a smaller delta."
        )
    estimator = DPExplainableBoostingRegressor(
        schema=replace(schema, target=bounds), epsilon=epsilon, delta=delta
    )
    return estimator, spent * math.sqrt(_FIDELITY_SHARE)


def _opened(
    estimator: DPExplainableBoostingRegressor,
    X: Any,
    unit: Any,
    image_shape: tuple[int, int] | None,
) -> tuple[FitRequest, Patches | None, tuple[str, ...]]:
    """Open the rows, as patches if they are large images; labels come later."""
    schema = estimator.schema or Schema()
    table, identifiers, _ = open_people(X, None, schema.unit, unit, call="unit=ids")
    names = table.names
    # Undeclared columns must not be found out privately: explanations speak of declared ones.
    specs = schema.resolve(names)
    patches = None if image_shape is None else Patches(image_shape, specs)
    if patches is not None and patches.side > 1:
        schema = Schema(patches.features, target=schema.target, unit=schema.unit)
        table = patches.table(table)
    else:
        patches = None
        schema = Schema(dict(zip(names, specs, strict=True)), schema.target, None, schema.unit)
    if len(table.names) > _MOST_TERMS:
        raise ValueError(
            f"There are {len(table.names)} features; a surrogate takes at most {_MOST_TERMS}, "
            "since all of their terms share the budget. Leave out rare columns, pass "
            "image_shape=(height, width) if they are pixels, or use method='statistics'."
        )
    estimator.set_params(schema=schema)
    # The labels are made inside the door.
    request = open_request(estimator, table, np.zeros(table.n_rows), unit=identifiers)
    return request, patches, names


def _whole_request(request: FitRequest, each: float, n_models: int) -> FitRequest:
    """Return the request for all models and their fidelity, of which each costs ``each``."""
    fits = [
        replace(part, count=part.count * n_models)
        for part in request.plan.releases
        if isinstance(part, PlannedRelease)
    ]
    plan = ReleasePlan((*fits, PlannedRelease(FIDELITY, each, n_models)))
    return replace(request, plan=plan, epsilon=epsilon_of_mu(plan.cost.mu, request.delta))


def _released(
    request: FitRequest, labels: Labels, n_outputs: int, n_models: int, *, verbose: bool
) -> tuple[list[TrainedTerms], list[FidelitySums], str]:
    """Release the models of the last outputs and how good they are; return the ledger's head."""
    trained, sums = [], []
    with ReleaseDoor(
        request.ledger,
        request.dataset,
        request.plan,
        request.randomness,
        neighbourhood=request.neighbourhood,
        explainer=_EXPLAINER,
        epsilon=request.epsilon,
        delta=request.delta,
    ) as door:
        table, found = _labelled(request, labels, n_outputs, door)
        for output in range(n_outputs - n_models, n_outputs):
            rows = PrivateRows(table, found[:, output])
            model = train(
                rows,
                request.task,
                request.config,
                door,
                n_threads=request.n_threads,
                verbose=verbose,
            )
            trained.append(model)
            sums.append(release_fidelity(rows, model, request.task, request.config, door))
    return trained, sums, door.head


def _labelled(
    request: FitRequest, labels: Labels, n_outputs: int, door: ReleaseDoor
) -> tuple[Table, Floats]:
    """Return the rows that are used and their labels; private."""
    rows = request.rows
    found = np.asarray(labels() if callable(labels) else labels, dtype=np.float64)
    _check_labels(found, n_outputs)
    if len(found) != rows.table.n_rows:
        raise ValueError("labels must have one row for each row of X.")
    if rows.identifiers is None:
        return rows.table, found
    kept = rows.kept(request.neighbourhood.max_rows, door.public_choices)
    return rows.table.rows(kept), found[kept]
