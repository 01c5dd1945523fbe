"""The request that releases a surrogate: private additive models of a black box, paid once.

Each output of the black box that needs it gets a DP-EBM regressor, fitted to what the black box
says about the explanation data, or to its logit if it is a probability; then four sums a model say
how good it is. All of it is one request, reserved as a whole before a row is labelled. Explanations
are read off the released models and cost nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.gaussian import epsilon_of_mu
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.estimators import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)
from interpret_dp.ebm.publishing import fitted_model
from interpret_dp.ebm.request import FitRequest, open_request
from interpret_dp.ebm.training import TrainedTerms, train
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.lime.asked import Outputs
from interpret_dp.lime.fidelity import FIDELITY, FidelitySums, fidelity_of, release_fidelity
from interpret_dp.lime.labels import LABEL_UNITS, Labels
from interpret_dp.lime.patches import Patches
from interpret_dp.lime.surrogate_model import Surrogate
from interpret_dp.lime.surrogate_request import SurrogateRequest
from interpret_dp.release import PlannedRelease, ReleasePlan, ReleaseSession
from interpret_dp.released import AdditiveModel
from interpret_dp.schema import Categorical, Continuous, Schema, Table

__all__ = ["LabelScale", "fit_surrogate"]

Floats = NDArray[np.float64]

# Of mu squared. The noise of the fit is 1.12 times what it would be without, which cannot be seen
# in its error on adult between epsilon 0.03 and 1; that of the fidelity is 0.7 times what a tenth
# would leave, and decides how small an epsilon a user can still judge.
_FIDELITY_SHARE = 0.2
# Terms share the budget: the variance of a prediction's noise grows like their number squared.
_MOST_TERMS = 1024
# Logits of probabilities nearer to 0 or 1 count as that of this one. A smaller one makes a wider
# range and more noise, a larger one loses rare classes.
_LEAST_PROBABILITY = 0.01
# Rounding errors of the split must not push the charge above what may be spent.
_SLACK = 1e-10
_EXPLAINER = "PrivateSurrogate"


def fit_surrogate(request: SurrogateRequest) -> Surrogate:
    """Fit one additive model an output, release how good each is, and charge it all at once.

    Four fifths of mu squared go to the fits and one to the fidelity, in equal parts for each model.
    Of two complementary outputs one model serves for both.

    Parameters
    ----------
    request : SurrogateRequest

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If there are more than 1,024 terms, which would share the budget, or a parameter of the fit
        is wrong. Nothing was spent.
    BudgetExceededError
        If the data set's budget does not cover all of it; nothing was spent.
    ReleaseError
        If the computation failed. What was charged is in the message.

    Notes
    -----
    docs/proofs/dp_lime.md, section "PrivateSurrogate".
    """
    n_outputs, outputs = request.n_outputs, request.outputs
    n_models = 1 if request.is_complementary else n_outputs
    scale = LabelScale(request.box.bounds, outputs.classes is not None)
    estimator, each = _estimator(request.schema, scale, request.mu, request.delta, n_models)
    estimator.set_params(
        neighboring=request.neighbourhood.relation,
        ledger=request.ledger,
        dataset=request.dataset,
        n_jobs=request.n_jobs,
        verbose=request.verbose,
    )
    fit, patches = _opened(estimator, request)
    fit = replace(_whole_request(fit, each, n_models), randomness=request.randomness)
    guarantee = request.promise(fit.promise())
    trained, sums, head = _released(fit, request, scale, n_models)
    guarantee = replace(guarantee, ledger_head=head)
    models = tuple(
        _published(fitted_model(estimator, fit, one, guarantee), fit, outputs, output)
        for output, one in enumerate(trained, start=n_outputs - n_models)
    )
    of_output = [max(0, output - n_outputs + n_models) for output in range(n_outputs)]
    names = [outputs.text(output) for output in range(n_outputs)]
    bounds = request.box.bounds
    fidelity = fidelity_of(sums, of_output, bounds.upper - bounds.lower, names)
    columns = request.rows.table.names
    return Surrogate(
        models, fidelity, guarantee, columns, bounds, outputs, request.is_complementary, patches
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
class LabelScale:
    """Scale of labels as targets of a fit; public."""

    bounds: Continuous
    has_logits: bool

    @property
    def targets(self) -> Floats:
        """The target of each label from -LABEL_UNITS to LABEL_UNITS."""
        shares = np.arange(2 * LABEL_UNITS + 1) / (2 * LABEL_UNITS)
        if not self.has_logits:
            # Both ends are hit exactly.
            return self.bounds.lower * (1.0 - shares) + self.bounds.upper * shares
        shares = np.clip(shares, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        return np.log(shares / (1.0 - shares))


def _estimator(
    schema: Schema, scale: LabelScale, mu: float, delta: float, n_models: int
) -> tuple[DPExplainableBoostingRegressor, float]:
    """Return an estimator whose own budget is one model's, and the mu of one fidelity."""
    spent = mu * (1.0 - _SLACK) / math.sqrt(n_models)
    epsilon = epsilon_of_mu(spent * math.sqrt(1.0 - _FIDELITY_SHARE), delta)
    if epsilon == 0.0:
        raise ValueError(
            f"mu {mu:.3g} shared by {n_models} models means epsilon 0 at delta {delta:g}: nothing "
            "but noise would be released. Ask for a larger epsilon, or state it at a smaller delta."
        )
    targets = scale.targets
    estimator = DPExplainableBoostingRegressor(
        schema=replace(schema, target=Continuous(float(targets[0]), float(targets[-1]))),
        epsilon=epsilon,
        delta=delta,
    )
    return estimator, spent * math.sqrt(_FIDELITY_SHARE)


def _opened(
    estimator: DPExplainableBoostingRegressor, request: SurrogateRequest
) -> tuple[FitRequest, Patches | None]:
    """Open the rows, as patches if they are large images; labels come later."""
    schema, table = estimator.schema or Schema(), request.rows.table
    patches = None
    if request.image_shape is not None:
        patches = Patches(request.image_shape, tuple(request.schema.features.values()))
        patches = patches if patches.side > 1 else None
    if patches is not None:
        table = patches.table(table)
        estimator.set_params(schema=replace(schema, features=patches.features))
    if len(table.names) > _MOST_TERMS:
        raise ValueError(
            f"There are {len(table.names)} features; a surrogate takes at most {_MOST_TERMS}, "
            "since all of their terms share the budget. Leave out rare columns, pass "
            "image_shape=(height, width) if they are pixels, or explain with PrivateBackground."
        )
    # The labels are made inside the session.
    rows = np.zeros(table.n_rows)
    return open_request(estimator, table, rows, unit=request.rows.identifiers), patches


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
    fit: FitRequest, request: SurrogateRequest, scale: LabelScale, n_models: int
) -> tuple[list[TrainedTerms], list[FidelitySums], str]:
    """Release the models of the last outputs and how good they are; return the ledger's head."""
    trained, sums = [], []
    with fit.opened(_EXPLAINER) as session:
        table, labels = _labelled(fit, request, session)
        targets = scale.targets
        for output in range(request.n_outputs - n_models, request.n_outputs):
            places = labels[:, output].astype(np.int64) + LABEL_UNITS
            model = train(
                PrivateRows(table, targets[places]),
                fit.task,
                fit.config,
                session,
                n_threads=fit.n_threads,
                verbose=request.verbose,
            )
            trained.append(model)
            found = release_fidelity(
                table,
                places * (LATTICE // (2 * LABEL_UNITS)),
                model,
                fit.task,
                fit.config,
                session,
                has_logits=scale.has_logits,
            )
            sums.append(found)
    return trained, sums, session.head


def _labelled(
    fit: FitRequest, request: SurrogateRequest, session: ReleaseSession
) -> tuple[Table, Labels]:
    """Return the rows that are used and what the model says of them; private."""
    rows = fit.rows
    labels = request.box.labels(request.rows.X, rows.table.n_rows, request.n_outputs)
    if rows.identifiers is None:
        return rows.table, labels
    kept = rows.kept(fit.neighbourhood.max_rows, session.public_choices)
    return rows.table.rows(kept), labels[kept]
