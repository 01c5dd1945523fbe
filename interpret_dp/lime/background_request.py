"""A request for a background: parameters and the form of the data, checked before a charge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import NotFittedError

from interpret_dp._validate import check_flag
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.guarantee import (
    DEFAULT_ASSUMPTIONS,
    UNDECLARED_ASSUMPTIONS,
    Guarantee,
)
from interpret_dp.fitting.account import (
    account_of,
    checked_budget,
    neighbourhood_of,
    randomness_of,
    refuse_unnamed_unit,
)
from interpret_dp.fitting.declaring import DeclaringTask, warn_of_gaps
from interpret_dp.fitting.partitioned import (
    DASK_ASSUMPTION,
    PartitionedRows,
    open_collections,
    partitioned,
)
from interpret_dp.fitting.rows import PrivateRows, open_rows
from interpret_dp.lime.background_releases import DEPENDENCE_SHARE, dependence_plan, histogram_plan
from interpret_dp.lime.black_box import PublicModel, tried_model
from interpret_dp.lime.opening import open_model_rows
from interpret_dp.lime.public_rows import example_row
from interpret_dp.lime.trial import Trial, declared_values
from interpret_dp.release import ReleasePlan, ReleaseRequest
from interpret_dp.schema.kinds import kinds_of
from interpret_dp.schema.lists import whole_rows
from interpret_dp.schema.partial import partial_schema_of_columns

_MECHANISM = "discrete Gaussian noise on histograms of the columns, exactly sampled"
_WITH_DEPENDENCE = (
    "discrete Gaussian noise on histograms of the columns and on sums over pairs of columns, "
    "exactly sampled"
)
_SCOPE = (
    "This is about the people whose rows the background was released from. Explanations take the "
    "model as given: nothing is promised here to the people that it was trained on, and rows that "
    "are asked about are not protected."
)

_MEND = (
    "Nothing was spent. If it can read the rows that you will ask about, release the background by "
    "itself: pass background=PrivateBackground(...).fit(data) in place of data."
)


@dataclass(frozen=True, kw_only=True)
class BackgroundRequest(ReleaseRequest):
    """A checked request; nothing in it but ``rows`` is private.

    Attributes
    ----------
    rows : PrivateRows
    declaring : DeclaringTask
    has_dependence : bool
    example : object
        One row in the container of the data, made from the schema.
    said : set of str
        What was said of the model, as :class:`~interpret_dp.lime.trial.Trial` takes it.
    """

    rows: PrivateRows
    declaring: DeclaringTask
    has_dependence: bool
    example: Any
    said: set[str]


def open_background_request(
    estimator: Any, X: Any, unit: Any, model: PublicModel | None = None
) -> BackgroundRequest:
    """Check the parameters, the form of the data and a model, never a value in a private row."""
    epsilon, delta = checked_budget(estimator.epsilon, estimator.delta)
    dependence = check_flag("dependence", estimator.dependence)
    given = {"X": X, "unit": unit}
    collections = open_collections(estimator.backend, given)
    if collections is not None:
        X, unit = collections.form_of(given)
    X = whole_rows(X, estimator.feature_names)
    rows, privacy_unit = open_rows(
        X,
        None,
        feature_names=estimator.feature_names,
        schema=estimator.schema,
        sample_weight=None,
        unit=unit,
        has_target=False,
    )
    names = rows.table.names
    partial = partial_schema_of_columns(
        names, kinds_of(rows.table), estimator.schema, estimator.feature_types
    )
    declaring = DeclaringTask(partial, names, terms=names)
    if collections is not None:
        rows = partitioned(rows, collections, estimator, None, None)
    mu = mu_of_budget(epsilon, declaring.gaussian_delta(delta))
    rest = declaring.training_mu(mu, delta)
    # One column has nothing to depend on.
    has_dependence = dependence and len(names) > 1
    share = DEPENDENCE_SHARE if has_dependence else 0.0
    releases = histogram_plan(rest * math.sqrt(1.0 - share), len(names))
    if has_dependence:
        releases = (*releases, *dependence_plan(rest * math.sqrt(share)))
    neighbourhood = neighbourhood_of(estimator.neighboring, privacy_unit)
    ledger, dataset = account_of(estimator.ledger, estimator.dataset, neighbourhood)
    refuse_unnamed_unit(estimator.ledger, unit, declaring.without_rows())
    schema = declaring.without_rows()
    opened, _ = open_model_rows(
        X, feature_names=estimator.feature_names, schema=schema, needs_unit=False
    )
    example = example_row(opened.X, schema.features)
    said = set() if model is None else _try_model(model, example, declaring)
    request = BackgroundRequest(
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        neighbourhood=neighbourhood,
        declaring=declaring,
        plan=ReleasePlan((*declaring.plan(mu, delta), *releases)),
        has_dependence=has_dependence,
        example=example,
        said=said,
        randomness=randomness_of(estimator.random_state),
        ledger=ledger,
        dataset=dataset,
    )
    warn_of_gaps(declaring, request.plan, neighbourhood)
    return request


def _try_model(model: PublicModel, example: Any, declaring: DeclaringTask) -> set[str]:
    """Ask a model about rows that are made from the schema, and return what was said of it.

    No value of an undeclared column is known, so that a good model may fail on all rows: then only
    a model that is not fitted is refused.
    """
    features, said = declaring.without_rows().features, set[str]()
    trial = Trial(model.outputs, list(features), [*map(declared_values, features.values())])
    try:
        with tried_model("a row that was made from the schema", _MEND):
            row, _ = trial.accepted_row(example)
    except ValueError as error:
        if not declaring.is_needed or isinstance(error.__cause__, NotFittedError):
            raise
    else:
        trial.accepted_values(row, said)
    return said


def background_promise(request: BackgroundRequest) -> Guarantee:
    """Return the guarantee of a request, before it is charged."""
    on_dask = isinstance(request.rows, PartitionedRows)
    defaults = UNDECLARED_ASSUMPTIONS if request.declaring.is_needed else DEFAULT_ASSUMPTIONS
    return request.guarantee(
        _WITH_DEPENDENCE if request.has_dependence else _MECHANISM,
        (*defaults, *((DASK_ASSUMPTION,) if on_dask else ())),
        scope=_SCOPE,
    )
