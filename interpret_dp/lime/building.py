"""From what a user passes to an engine that can answer: checks of the data and of the account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from interpret_dp.fitting.account import (
    account_of,
    neighbourhood_of,
    randomness_of,
    refuse_unnamed_unit,
)
from interpret_dp.lime.budget import ExplainerBudget
from interpret_dp.lime.engine import ExplanationEngine
from interpret_dp.lime.features import LocalFeatures
from interpret_dp.lime.labels import BlackBox
from interpret_dp.lime.opening import OpenedRows, open_model_rows
from interpret_dp.lime.partitioned import PartitionedData, PartOpening, open_collection
from interpret_dp.lime.private_data import PrivateData
from interpret_dp.lime.settings import Settings, check_types
from interpret_dp.lime.weighting import weight_table
from interpret_dp.mechanisms import Randomness, active_randomness
from interpret_dp.schema import Schema
from interpret_dp.schema.kinds import refuse_mismatches

if TYPE_CHECKING:
    from interpret_dp.backends.dask import Pieces
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["Charging", "Opening", "open_engine"]


@dataclass(frozen=True)
class Opening:
    """How rows are read, as the explainer's constructor takes it; public."""

    feature_names: Sequence[str | None] | None
    feature_types: Sequence[str | None] | None
    schema: Schema
    representation: str
    n_bins: int
    image_shape: tuple[int, int] | None


@dataclass(frozen=True)
class Charging:
    """Whom explanations protect and where they are charged, as the constructor takes it."""

    ledger: PrivacyLedger | str | None
    dataset: str | None
    neighboring: str
    unit: Any
    random_state: int | None


def open_engine(
    box: BlackBox, data: Any, settings: Settings, opening: Opening, charging: Charging
) -> ExplanationEngine:
    """Return an engine over the explanation data, of which types, names and shapes were read.

    Raises
    ------
    TypeError, ValueError, SchemaError, LedgerError
        If an argument is of another form. Nothing was spent.
    """
    collection = open_collection(data, charging.unit)
    unit = charging.unit
    if collection is not None:
        # From here on a table of the same form, without rows.
        data, unit = collection.form_of({"X": data, "unit": unit})
    rows, privacy_unit = open_model_rows(
        data,
        feature_names=opening.feature_names,
        schema=opening.schema,
        unit=unit,
        image_shape=opening.image_shape,
    )
    refuse_unnamed_unit(charging.ledger, charging.unit, opening.schema)
    neighbourhood = neighbourhood_of(charging.neighboring, privacy_unit)
    ledger, dataset = account_of(charging.ledger, charging.dataset, neighbourhood)
    features = LocalFeatures.of_schema(
        opening.schema,
        rows.table.names,
        representation=opening.representation,
        n_bins=opening.n_bins,
    )
    check_types(opening.feature_types, features)
    refuse_mismatches(rows.table, features.specs)
    return ExplanationEngine(
        settings=settings,
        schema=replace(opening.schema, unit=privacy_unit),
        image_shape=opening.image_shape,
        features=features,
        weights=weight_table(
            settings.weight, settings.c, features.largest_square, features.stretch
        ),
        neighbourhood=neighbourhood,
        data=_private_data(rows, features, box, opening, collection),
        budget=ExplainerBudget(
            settings.epsilon, settings.delta, settings.per_query, ledger, dataset
        ),
        randomness=_randomness(charging.random_state),
    )


def _private_data(
    rows: OpenedRows,
    features: LocalFeatures,
    box: BlackBox,
    opening: Opening,
    collection: Pieces | None,
) -> PrivateData:
    if collection is None:
        return PrivateData(rows, features, box)
    on_workers = PartOpening(
        collection.roles,
        opening.feature_names,
        opening.schema,
        opening.image_shape,
        features,
        box,
    )
    return PartitionedData(rows, features, box, opening=on_workers, pieces=collection)


def _randomness(random_state: int | None) -> Callable[[], Randomness]:
    """Return what gives each request its noise: one source for all, but for audits."""
    own = randomness_of(random_state)
    return lambda: active_randomness() or own
