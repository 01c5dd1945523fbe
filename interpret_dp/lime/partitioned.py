"""Explanation data in partitions on Dask workers, which label their rows and sum the moments."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import BackendError, SchemaError
from interpret_dp.fitting.account import thread_count
from interpret_dp.lime.features import LocalFeatures
from interpret_dp.lime.labels import BlackBox, Labels
from interpret_dp.lime.moments import ExactMoments, ExplanationData, Queries
from interpret_dp.lime.opening import OpenedRows, open_model_rows
from interpret_dp.lime.private_data import PrivateData
from interpret_dp.lime.weighting import WeightTable
from interpret_dp.release import ReleaseDoor
from interpret_dp.schema import Schema
from interpret_dp.schema.containers import is_dask
from interpret_dp.schema.people import has_other_index
from interpret_dp.schema.units import deal_units, kept_of_units, noted_units

if TYPE_CHECKING:
    from interpret_dp.backends.dask import Held, Partitions, Pieces

__all__ = ["PartOpening", "PartitionedData", "open_collection"]


def open_collection(data: Any, unit: Any) -> Pieces | None:
    """Return Dask collections in pieces, or None if the rows are in this process.

    Raises
    ------
    TypeError, SchemaError
        If identifiers are no collection of the same partitions.
    """
    if not is_dask(data):
        return None
    from interpret_dp.backends.dask import open_pieces

    return open_pieces({"X": data} if unit is None else {"X": data, "unit": unit})


@dataclass(frozen=True)
class PartOpening:
    """How a worker opens a partition of the explanation data and labels it.

    Attributes
    ----------
    roles : tuple of str
        Which argument each piece is.
    feature_names : sequence of str, or None
    schema : Schema
    image_shape : (int, int) or None
    features : LocalFeatures
    box : BlackBox
        The model, which is sent to the workers.
    """

    roles: tuple[str, ...]
    feature_names: Any
    schema: Schema
    image_shape: tuple[int, int] | None
    features: LocalFeatures
    box: BlackBox = field(repr=False)

    def rows(self, *pieces: Any) -> OpenedRows:
        """Return the rows of a partition; private."""
        given = dict(zip(self.roles, pieces, strict=False))
        lengths = {len(piece) for piece in given.values()}
        if len(lengths) > 1 or has_other_index(given["X"], given.get("unit")):
            raise BackendError("unaligned")
        return open_model_rows(
            given["X"],
            feature_names=self.feature_names,
            schema=self.schema,
            unit=given.get("unit"),
            image_shape=self.image_shape,
        )[0]

    def dealt(self, key: int, n_buckets: int, *pieces: Any) -> list[Any]:
        """Deal the rows of a partition into buckets by their unit; private."""
        try:
            identifiers = self.rows(*pieces).identifiers
        except SchemaError:
            raise BackendError("identifiers") from None
        return deal_units(identifiers, n_buckets, key)

    def labelled(self, n_outputs: int, *pieces: Any) -> ExplanationData:
        """Return the rows as integers, with what the model says of each; private."""
        rows = self.rows(*pieces)
        labels = self.box.labels(rows.X, rows.table.n_rows, n_outputs)
        data = ExplanationData(self.features.points(rows.table), labels)
        note = pieces[len(self.roles) :]
        return data.rows(note[0]) if note else data


@dataclass
class PartitionedData(PrivateData):
    """Rows on workers. ``rows`` is their form alone, without any row, and public.

    Attributes
    ----------
    opening : PartOpening
    pieces : Pieces
    """

    opening: PartOpening | None = None
    pieces: Pieces | None = field(default=None, repr=False)

    def labels(self, n_outputs: int) -> Labels:
        """Refuse: labels stay with the workers."""
        raise TypeError("Labels of explanation data in partitions stay with the Dask workers.")

    def labelled(self, door: ReleaseDoor, n_outputs: int) -> ExplanationData:
        """Return the rows that are used, which stay with the workers."""
        if self._labelled is None:
            if self.opening is None or self.pieces is None:
                raise TypeError("PartitionedData needs an opening and pieces.")
            partitions = _placed(self.pieces)
            if self.rows.identifiers is not None:
                key = int(door.public_choices.integers(2**64, dtype="uint64"))
                most = door.neighbourhood.max_rows
                partitions = partitions.dealt(
                    partial(self.opening.dealt, key), partial(kept_of_units, most, key), noted_units
                )
            self._labelled = PartitionedPoints.of(
                partitions.held(partial(self.opening.labelled, n_outputs))
            )
        return self._labelled


class PartitionedPoints(ExplanationData):
    """Labelled rows on workers, which answer with sums."""

    _held: Held

    @classmethod
    def of(cls, held: Held) -> PartitionedPoints:
        """Return rows that are held on workers; here there are none."""
        empty: NDArray[np.int16] = np.zeros((0, 1), dtype=np.int16)
        found = cls(empty, empty)
        object.__setattr__(found, "_held", held)
        return found

    def count(self) -> int:
        """Return the number of rows, from one round trip; private."""
        return int(self._held.total(ExplanationData.count))

    def rows(self, mask: NDArray[np.bool_]) -> ExplanationData:
        """Refuse: rows stay with the workers."""
        raise TypeError("Rows of explanation data in partitions stay with the Dask workers.")

    def moments(self, queries: Queries, weights: WeightTable) -> list[ExactMoments]:
        """Sum the moments of each query over all workers, in one round trip; private."""
        total = self._held.total(partial(_moments, queries, weights))
        return [ExactMoments(second, first) for second, first in total]


def _moments(queries: Queries, weights: WeightTable, data: ExplanationData) -> list[Any]:
    return [[one.second, one.first] for one in data.moments(queries, weights)]


def _placed(pieces: Pieces) -> Partitions:
    from interpret_dp.backends.dask import Partitions

    return Partitions.of(pieces.pieces, thread_count(-1))
