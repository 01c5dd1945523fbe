"""The request that releases a surrogate: private additive models of a black box, paid once.

Each output of the black box that needs it gets a DP-EBM regressor, fitted to what the black box
says about the explanation data, or to its logit if it is a probability; then four sums a model say
how good it is. All of it is one request, reserved as a whole before a row is labelled. Explanations
are read off the released models and cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.gaussian import epsilon_of_mu
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.estimators import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)
from interpret_dp.ebm.promise import promise_of
from interpret_dp.ebm.publishing import fitted_model
from interpret_dp.ebm.request import FitRequest, open_request
from interpret_dp.ebm.training import TrainedTerms, train
from interpret_dp.exceptions import SchemaError
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.lime.asked import Outputs
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
from interpret_dp.released import AdditiveModel
from interpret_dp.schema import Categorical, Continuous, Schema, Table
from interpret_dp.schema.people import open_people

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["Surrogate", "fit_surrogate"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Of mu squared. The noise of the fit is 1.12 times what it would be without, which cannot be seen
# in its error on adult between epsilon 0.03 and 1; that of the fidelity is 0.7 times what a tenth
# would leave, and decides how small an epsilon a user can still judge.
_FIDELITY_SHARE = 0.2
# Terms share the budget: the variance of a prediction's noise grows like their number squared.
_MOST_TERMS = 1024
# Labels are rounded to so many steps from the lower bound to the upper one.
_STEPS = 2**14
# Logits of probabilities nearer to 0 or 1 count as that of this one. A smaller one makes a wider
# range and more noise, a larger one loses rare classes.
_LEAST_PROBABILITY = 0.01
# Rounding errors of the split must not push the charge above what may be spent.
_SLACK = 1e-10
_EXPLAINER = "PrivateSurrogate"


def fit_surrogate(
    X: Any,
    labels: Callable[[], Floats],
    *,
    n_outputs: int,
    schema: Schema,
    bounds: Continuous,
    mu: float,
    delta: float,
    outputs: Outputs | None = None,
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
    labels : callable
        Returns what the black box says of each row, in units of its outputs, shape (n_rows,
        n_outputs), by rules that see that row alone; NaN counts as the middle of the bounds.
        Private. Called after the budget was reserved.
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
    outputs : Outputs, default=None
        What they are called. If they are probabilities of classes, their logits are fitted.
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
    mu = check_real("mu", mu, low=0, low_open=True)
    outputs = Outputs(None) if outputs is None else outputs
    scale = _LabelScale(bounds, outputs.classes is not None)
    estimator, each = _estimator(schema, scale, mu, delta, n_models)
    estimator.set_params(
        neighboring=neighboring, ledger=ledger, dataset=dataset, n_jobs=n_jobs, verbose=verbose
    )
    request, patches, table_names = _opened(estimator, X, unit, image_shape)
    request = _whole_request(request, each, n_models)
    request = request if randomness is None else replace(request, randomness=randomness)
    guarantee = promise_of(request)
    guarantee = guarantee if promise is None else promise(guarantee)
    trained, sums, head = _released(request, labels, scale, n_outputs, n_models, verbose=verbose)
    guarantee = replace(guarantee, ledger_head=head)
    models = tuple(
        _published(fitted_model(estimator, request, one, guarantee), request, outputs, output)
        for output, one in enumerate(trained, start=n_outputs - n_models)
    )
    of_output = [max(0, output - n_outputs + n_models) for output in range(n_outputs)]
    names = [outputs.text(output) for output in range(n_outputs)]
    fidelity = fidelity_of(sums, of_output, bounds.upper - bounds.lower, names)
    return Surrogate(
        models, fidelity, guarantee, table_names, bounds, outputs, complementary, patches
    )


def _published(
    released: AdditiveModel, request: FitRequest, outputs: Outputs, output: int
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Return a fitted model: of logits a classifier, whose scores are log-odds."""
    if outputs.classes is None:
        return DPExplainableBoostingRegressor.from_released(released, request.ledger)
    own = str(outputs.classes[output])
    classes = f"not {own}", own
    kept = {name: value for name, value in released.parameters.items() if name != "objective"}
    released = replace(
        released,
        parameters=kept,
        task="classification",
        schema=replace(released.schema, target=Categorical(list(classes))),
        classes=classes,
    )
    return DPExplainableBoostingClassifier.from_released(released, request.ledger)


@dataclass(frozen=True)
class _LabelScale:
    """What labels are as integers, and as targets of a fit; public."""

    bounds: Continuous
    has_logits: bool

    @property
    def targets(self) -> Floats:
        """The target of each step of a label, shape (_STEPS + 1,)."""
        shares = np.arange(_STEPS + 1) / _STEPS
        if not self.has_logits:
            lower, upper = self.bounds.lower, self.bounds.upper
            # Both ends are hit exactly.
            return lower * (1.0 - shares) + upper * shares
        shares = np.clip(shares, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        return np.log(shares / (1.0 - shares))

    def steps(self, labels: Floats) -> Integers:
        """Return labels as numbers of steps above the lower bound, each by itself."""
        lower, upper = self.bounds.lower, self.bounds.upper
        found = np.clip(np.nan_to_num(labels, nan=lower / 2 + upper / 2), lower, upper)
        return np.rint((found - lower) / (upper - lower) * _STEPS).astype(np.int64)


def _model_count(n_outputs: int, complementary: bool) -> int:
    n_outputs = check_int("n_outputs", n_outputs, low=1)
    if complementary and n_outputs != 2:
        raise ValueError(
            f"n_outputs is {n_outputs} and complementary is True; there must be two outputs that "
            "add up to the sum of the bounds. Pass complementary=False."
        )
    return 1 if complementary else n_outputs


def _estimator(
    schema: Schema, scale: _LabelScale, mu: float, delta: float, n_models: int
) -> tuple[DPExplainableBoostingRegressor, float]:
    """Return an estimator whose own budget is one model's, and the mu of one fidelity."""
    bounds = scale.bounds
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
    targets = scale.targets
    estimator = DPExplainableBoostingRegressor(
        schema=replace(schema, target=Continuous(float(targets[0]), float(targets[-1]))),
        epsilon=epsilon,
        delta=delta,
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
            "image_shape=(height, width) if they are pixels, or explain with PrivateBackground."
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
    request: FitRequest,
    labels: Callable[[], Floats],
    scale: _LabelScale,
    n_outputs: int,
    n_models: int,
    *,
    verbose: bool,
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
        table, steps = _labelled(request, scale.steps(labels()), door)
        targets = scale.targets
        for output in range(n_outputs - n_models, n_outputs):
            own = steps[:, output]
            model = train(
                PrivateRows(table, targets[own]),
                request.task,
                request.config,
                door,
                n_threads=request.n_threads,
                verbose=verbose,
            )
            trained.append(model)
            found = release_fidelity(
                table,
                own * (LATTICE // _STEPS),
                model,
                request.task,
                request.config,
                door,
                has_logits=scale.has_logits,
            )
            sums.append(found)
    return trained, sums, door.head


def _labelled(request: FitRequest, steps: Integers, door: ReleaseDoor) -> tuple[Table, Integers]:
    """Return the rows that are used and their labels; private."""
    rows = request.rows
    if rows.identifiers is None:
        return rows.table, steps
    kept = rows.kept(request.neighbourhood.max_rows, door.public_choices)
    return rows.table.rows(kept), steps[kept]
