"""The release of a surrogate: private additive models of a black box, and their fidelity.

Each output of the black box that needs it gets a DP-EBM regressor, fitted to the outputs of the
black box for the explanation data, or to their logits if they are probabilities. Then four sums a
model say how good it is. All of it is one request, reserved as a whole before a row is labelled.
Explanations are read off the released models and cost nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_flag
from interpret_dp.accounting.gaussian import epsilon_of_mu, mu_of_budget
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.state import Doubts
from interpret_dp.ebm.estimators import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)
from interpret_dp.ebm.publishing import fitted_model
from interpret_dp.ebm.request import FitRequest, open_request
from interpret_dp.ebm.training import TrainedTerms, train
from interpret_dp.fitting.account import (
    account_of,
    checked_budget,
    neighbourhood_of,
    randomness_of,
    refuse_unnamed_unit,
)
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.lime.black_box import LABEL_UNITS, BlackBox, Labels, tried_model
from interpret_dp.lime.fidelity import FIDELITY, FidelitySums, fidelity_of, release_fidelity
from interpret_dp.lime.opening import OpenedRows, open_model_rows
from interpret_dp.lime.outputs import Outputs, sum_to_one
from interpret_dp.lime.patches import Patches
from interpret_dp.lime.promise import conditional_guarantee, model_promise, warn_of_two_names
from interpret_dp.lime.public_rows import example_row
from interpret_dp.lime.surrogate_model import Surrogate
from interpret_dp.lime.trial import IN_THE_MIDDLE, Trial, declared_values
from interpret_dp.release import PlannedRelease, ReleasePlan, ReleaseSession
from interpret_dp.released import AdditiveModel
from interpret_dp.schema import Categorical, Continuous, Schema, Table

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


_ASSUMPTIONS = (
    "what the model answers about a row depends on that row alone, and is the same whenever it is "
    "asked",
    "the bounds of the model's outputs are public and were not read off the rows",
)


def label_targets(bounds: Continuous, has_logits: bool) -> Floats:
    """Return the target of a fit for each label from -LABEL_UNITS to LABEL_UNITS; public.

    Parameters
    ----------
    bounds : Continuous
        Of the black box's outputs.
    has_logits : bool
        Whether they are probabilities, whose logits are the targets.
    """
    shares = np.arange(2 * LABEL_UNITS + 1) / (2 * LABEL_UNITS)
    if not has_logits:
        # Both ends are hit exactly.
        return bounds.lower * (1.0 - shares) + bounds.upper * shares
    shares = np.clip(shares, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
    return np.log(shares / (1.0 - shares))


@dataclass(frozen=True, kw_only=True)
class SurrogateRequest:
    """A checked request; nothing in it but ``fit.rows`` and ``rows`` is private.

    Attributes
    ----------
    fit : FitRequest
        Plan, budget and account of all models and their fidelity together. Its labels are zero.
    rows : OpenedRows
    box : BlackBox
    outputs : Outputs
        Names of the model's outputs.
    n_outputs : int
    n_models : int
        One less than there are outputs where two probabilities add up to 1.
    targets : ndarray of float64, shape (2 * LABEL_UNITS + 1,)
        As :func:`label_targets` returns them.
    template : DPExplainableBoostingRegressor
        Parameters of one model.
    schema : Schema
        Declaration of every column, in the order of the table.
    patches : Patches or None
    guarantee : Guarantee
        For everything that is released, with what is known of the black box.
    """

    fit: FitRequest
    rows: OpenedRows
    box: BlackBox
    outputs: Outputs
    n_outputs: int
    n_models: int
    targets: Floats
    template: DPExplainableBoostingRegressor
    schema: Schema
    patches: Patches | None
    guarantee: Guarantee


def open_surrogate_request(
    estimator: Any, box: BlackBox, X: Any, unit: Any, example: Any, doubts: Doubts
) -> SurrogateRequest:
    """Check the parameters, the form of the data and the model, never a value in a private row.

    Parameters
    ----------
    estimator : PrivateSurrogate
    box : BlackBox
        Its model.
    X, unit, example
        As ``fit`` takes them.
    doubts : Doubts
        Of the fit.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If one is of another form, the model fails on the example, or there are more than 1,024
        terms, which would share the budget. Nothing was spent.
    """
    epsilon, delta = checked_budget(estimator.epsilon, estimator.delta)
    same_people = check_flag("trained_on_same_people", estimator.trained_on_same_people)
    schema = Schema() if estimator.schema is None else estimator.schema
    if not isinstance(schema, Schema):
        raise TypeError(f"schema is {schema!r} ({type(schema).__name__}); it must be a Schema.")
    rows, privacy_unit = open_model_rows(
        X,
        feature_names=estimator.feature_names,
        schema=schema,
        unit=unit,
        image_shape=estimator.image_shape,
        call="fit(X, unit=ids)",
    )
    names = rows.table.names
    specs = dict(zip(names, schema.resolve(names), strict=True))
    neighbourhood = neighbourhood_of(estimator.neighboring, privacy_unit)
    ledger, dataset = account_of(estimator.ledger, estimator.dataset, neighbourhood)
    refuse_unnamed_unit(estimator.ledger, unit, schema)
    promise = model_promise(estimator.model, estimator.model_guarantee)
    warn_of_two_names(promise, same_people, dataset)
    declared = Schema(
        specs, unit=privacy_unit or ("rows" if isinstance(unit, str) else schema.unit)
    )
    answers = _ask_example(rows, box, declared, example, estimator.image_shape)
    n_outputs = answers.shape[1]
    is_complementary = box.gives_probabilities and n_outputs == 2 and sum_to_one(answers)
    n_models = 1 if is_complementary else n_outputs
    outputs = Outputs.of_model(estimator.model, n_outputs, has_classes=box.gives_probabilities)
    targets = label_targets(box.bounds, outputs.classes is not None)
    mu = mu_of_budget(epsilon, delta)
    randomness = randomness_of(estimator.random_state)
    template, fidelity_mu = _template(declared, targets, mu, delta, n_models)
    template.set_params(
        neighboring=neighbourhood.relation,
        ledger=ledger,
        dataset=dataset,
        n_jobs=estimator.n_jobs,
        verbose=estimator.verbose,
    )
    fit, patches = _opened(template, rows, declared, estimator.image_shape)
    fit = replace(_whole_request(fit, fidelity_mu, n_models), randomness=randomness)
    fit = fit.doubting(doubts)
    guarantee = fit.promise()
    guarantee = replace(
        guarantee, epsilon=epsilon, assumptions=(*guarantee.assumptions, *_ASSUMPTIONS)
    )
    guarantee = conditional_guarantee(guarantee, promise, same_people)
    return SurrogateRequest(
        # The ledger's entry says what the guarantee says.
        fit=replace(fit, conditions=guarantee.conditions, failures=guarantee.failures),
        rows=rows,
        box=box,
        outputs=outputs,
        n_outputs=n_outputs,
        n_models=n_models,
        targets=targets,
        template=template,
        schema=declared,
        patches=patches,
        guarantee=guarantee,
    )


def _ask_example(
    rows: OpenedRows, box: BlackBox, schema: Schema, example: Any, image_shape: Any
) -> NDArray[np.float64]:
    """Return the model's outputs for a public row, so that a model that fails does so here."""

    def ask(X: Any, n_rows: int) -> Floats:
        outputs, _ = box.ask(X, n_rows)
        if not np.isfinite(outputs).all():
            raise ValueError("it returned numbers that are not finite.")
        return outputs

    values = [declared_values(spec) for spec in schema.features.values()]
    trial = Trial(ask, rows.table.names, values)
    row = "example" if example is not None else "a row that was made from the schema"
    mend = "Nothing was spent. Pass a public row that it can read, in the container of X"
    with tried_model(row, f"{mend}: fit(X, example=row)."):
        shown = example_row(rows.X, schema.features) if example is None else example
        opened, _ = open_model_rows(
            shown,
            feature_names=rows.table.names,
            schema=schema,
            image_shape=image_shape,
            needs_unit=False,
        )
        if example is None:
            shown, outputs = trial.accepted_row(opened.X)
        else:
            shown, outputs = opened.X, ask(opened.X, opened.table.n_rows)
    trial.accepted_values(shown, IN_THE_MIDDLE, set())
    return outputs


def _template(
    schema: Schema, targets: Floats, mu: float, delta: float, n_models: int
) -> tuple[DPExplainableBoostingRegressor, float]:
    """Return an estimator whose own budget is one model's, and the mu of one fidelity."""
    spent = mu * (1.0 - _SLACK) / math.sqrt(n_models)
    epsilon = epsilon_of_mu(spent * math.sqrt(1.0 - _FIDELITY_SHARE), delta)
    if epsilon == 0.0:
        raise ValueError(
            f"mu {mu:.3g} shared by {n_models} models means epsilon 0 at delta {delta:g}: nothing "
            "but noise would be released. Ask for a larger epsilon, or state it at a smaller delta."
        )
    estimator = DPExplainableBoostingRegressor(
        schema=replace(schema, target=Continuous(float(targets[0]), float(targets[-1]))),
        epsilon=epsilon,
        delta=delta,
    )
    return estimator, spent * math.sqrt(_FIDELITY_SHARE)


def _opened(
    template: DPExplainableBoostingRegressor,
    rows: OpenedRows,
    declared: Schema,
    image_shape: tuple[int, int] | None,
) -> tuple[FitRequest, Patches | None]:
    """Open the rows, as patches if they are large images; labels come later."""
    schema, table = template.schema or Schema(), rows.table
    patches = None
    if image_shape is not None:
        patches = Patches(image_shape, tuple(declared.features.values()))
        patches = patches if patches.side > 1 else None
    if patches is not None:
        table = patches.table(table)
        template.set_params(schema=replace(schema, features=patches.features))
    if len(table.names) > _MOST_TERMS:
        raise ValueError(
            f"There are {len(table.names)} features; a surrogate takes at most {_MOST_TERMS}, "
            "since all of their terms share the budget. Leave out rare columns, pass "
            "image_shape=(height, width) if they are pixels, or explain with PrivateBackground."
        )
    # The labels are made inside the session.
    labels = np.zeros(table.n_rows)
    return open_request(template, table, labels, unit=rows.identifiers), patches


def _whole_request(request: FitRequest, fidelity_mu: float, n_models: int) -> FitRequest:
    """Return the request for all models and their fidelity, which costs ``fidelity_mu`` a model."""
    fits = [
        replace(part, count=part.count * n_models)
        for part in request.plan.releases
        if isinstance(part, PlannedRelease)
    ]
    plan = ReleasePlan((*fits, PlannedRelease(FIDELITY, fidelity_mu, n_models)))
    return replace(request, plan=plan, epsilon=epsilon_of_mu(plan.cost.mu, request.delta))


def fit_surrogate(request: SurrogateRequest) -> Surrogate:
    """Fit one additive model an output, release how good each is, and charge it all at once.

    Four fifths of mu squared go to the fits and one to the fidelity, in equal parts for each model.
    Of two complementary outputs one model serves for both.

    Parameters
    ----------
    request : SurrogateRequest

    Raises
    ------
    BudgetExceededError
        If the data set's budget does not cover all of it; nothing was spent.
    ReleaseError
        If the computation failed. What was charged is in the message.

    Notes
    -----
    docs/proofs/dp_lime.md, section "PrivateSurrogate".
    """
    fit, outputs, bounds = request.fit, request.outputs, request.box.bounds
    trained, sums, head = _released(request)
    guarantee = replace(request.guarantee, ledger_head=head)
    n_outputs, first = request.n_outputs, request.n_outputs - request.n_models
    models = tuple(
        _published(fitted_model(request.template, fit, terms, guarantee), fit, outputs, output)
        for output, terms in enumerate(trained, start=first)
    )
    model_of_output = [max(0, output - first) for output in range(n_outputs)]
    names = [outputs.text(output) for output in range(n_outputs)]
    fidelity = fidelity_of(sums, model_of_output, bounds.upper - bounds.lower, names)
    columns, is_complementary = request.rows.table.names, first > 0
    return Surrogate(
        models, fidelity, guarantee, columns, bounds, outputs, is_complementary, request.patches
    )


def _published(
    released: AdditiveModel, request: FitRequest, outputs: Outputs, output: int
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor:
    """Return a fitted model: of logits a classifier, whose scores are log-odds."""
    if outputs.classes is None:
        return DPExplainableBoostingRegressor.from_released(released, request.ledger)
    label = str(outputs.classes[output])
    classes = f"not {label}", label
    parameters = {name: value for name, value in released.parameters.items() if name != "objective"}
    released = replace(
        released,
        parameters=parameters,
        task="classification",
        schema=replace(released.schema, target=Categorical(list(classes))),
        classes=classes,
    )
    return DPExplainableBoostingClassifier.from_released(released, request.ledger)


def _released(
    request: SurrogateRequest,
) -> tuple[list[TrainedTerms], list[FidelitySums], str]:
    """Release the models of the last outputs and how good they are; return the ledger's head."""
    fit, trained, sums = request.fit, [], []
    with fit.opened(_EXPLAINER) as session:
        table, labels = _labelled(request, session)
        for output in range(request.n_outputs - request.n_models, request.n_outputs):
            places = labels[:, output].astype(np.int64) + LABEL_UNITS
            terms = train(
                PrivateRows(table, request.targets[places]),
                fit.task,
                fit.config,
                session,
                n_threads=fit.n_threads,
                verbose=request.template.verbose,
            )
            trained.append(terms)
            sums.append(
                release_fidelity(
                    table,
                    places * (LATTICE // (2 * LABEL_UNITS)),
                    terms,
                    fit.task,
                    fit.config,
                    session,
                    has_logits=request.outputs.classes is not None,
                )
            )
    return trained, sums, session.head


def _labelled(request: SurrogateRequest, session: ReleaseSession) -> tuple[Table, Labels]:
    """Return the rows that are used and the black box's labels of them; private."""
    rows = request.fit.rows
    labels = request.box.labels(request.rows.X, rows.table.n_rows, request.n_outputs)
    if rows.identifiers is None:
        return rows.table, labels
    is_used = rows.used_rows(request.fit.neighbourhood.max_rows, session.public_choices)
    return rows.table.rows(is_used), labels[is_used]
