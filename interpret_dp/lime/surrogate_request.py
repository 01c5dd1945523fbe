"""Checks before a surrogate is paid for: parameters, the form of the rows, and the model."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_flag, check_real
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.fitting.account import (
    account_of,
    neighbourhood_of,
    randomness_of,
    refuse_unnamed_unit,
)
from interpret_dp.lime.asked import Outputs, sum_to_one
from interpret_dp.lime.asking import example_row, tried_model
from interpret_dp.lime.labels import BlackBox
from interpret_dp.lime.opening import OpenedRows, open_model_rows
from interpret_dp.lime.promise import (
    ModelPromise,
    conditional_guarantee,
    model_promise,
    warn_of_two_names,
)
from interpret_dp.mechanisms import Randomness
from interpret_dp.schema import Schema

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["SurrogateRequest", "open_surrogate_request"]

_ASSUMPTIONS = (
    "what the model answers about a row depends on that row alone, and is the same whenever it is "
    "asked",
    "the bounds of the model's outputs are public and were not read off the rows",
)


@dataclass(frozen=True)
class SurrogateRequest:
    """A checked request; nothing in it but ``rows`` is private.

    Attributes
    ----------
    rows : OpenedRows
    box : BlackBox
    n_outputs : int
        Of the model.
    is_complementary : bool
        Whether they are two probabilities, which add up to 1.
    outputs : Outputs
        What they are called.
    schema : Schema
        Declares every column, in the order of the table.
    epsilon, delta, mu : float
        The promise that is asked for.
    neighbourhood : Neighbourhood
    model_promise : ModelPromise
    same_people : bool
        Whether people in the rows were used to train the model.
    randomness : Randomness
    ledger : PrivacyLedger
    dataset : str
    image_shape : (int, int) or None
    n_jobs : int or None
    verbose : bool
    """

    rows: OpenedRows
    box: BlackBox
    n_outputs: int
    is_complementary: bool
    outputs: Outputs
    schema: Schema
    epsilon: float
    delta: float
    mu: float
    neighbourhood: Neighbourhood
    model_promise: ModelPromise
    same_people: bool
    randomness: Randomness
    ledger: PrivacyLedger
    dataset: str
    image_shape: tuple[int, int] | None
    n_jobs: int | None
    verbose: bool

    def promise(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee of the fits, with what is known of the black box."""
        own = dataclasses.replace(
            guarantee,
            epsilon=self.epsilon,
            assumptions=(*guarantee.assumptions, *_ASSUMPTIONS),
        )
        return conditional_guarantee(own, self.model_promise, self.same_people)


def open_surrogate_request(
    estimator: Any, box: BlackBox, X: Any, unit: Any, example: Any
) -> SurrogateRequest:
    """Check the parameters, the form of the data and the model, never a value in a private row.

    Parameters
    ----------
    estimator : PrivateSurrogate
    box : BlackBox
        Its model.
    X, unit, example
        As ``fit`` takes them.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If one is of another form, or the model fails on the example. Nothing was spent.
    """
    epsilon = check_real("epsilon", estimator.epsilon, low=0, low_open=True)
    delta = check_real("delta", estimator.delta, low=0, high=1, low_open=True, high_open=True)
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
    declared = Schema(specs, unit=privacy_unit)
    answers = _ask_example(rows, box, declared, example, estimator.image_shape)
    n_outputs = answers.shape[1]
    return SurrogateRequest(
        rows=rows,
        box=box,
        n_outputs=n_outputs,
        is_complementary=box.gives_probabilities and n_outputs == 2 and sum_to_one(answers),
        outputs=Outputs.of_model(estimator.model, n_outputs, has_classes=box.gives_probabilities),
        schema=declared,
        epsilon=epsilon,
        delta=delta,
        mu=mu_of_budget(epsilon, delta),
        neighbourhood=neighbourhood,
        model_promise=promise,
        same_people=same_people,
        randomness=randomness_of(estimator.random_state),
        ledger=ledger,
        dataset=dataset,
        image_shape=estimator.image_shape,
        n_jobs=estimator.n_jobs,
        verbose=estimator.verbose,
    )


def _ask_example(
    rows: OpenedRows, box: BlackBox, schema: Schema, example: Any, image_shape: Any
) -> NDArray[np.float64]:
    """Return what the model says of a public row; it fails here, if it must."""
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
        outputs, _ = box.ask(opened.X, opened.table.n_rows)
        if not np.isfinite(outputs).all():
            raise ValueError("it returned numbers that are not finite.")
    return outputs
