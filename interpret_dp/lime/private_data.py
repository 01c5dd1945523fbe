"""The explanation data of an explainer: opened at once, read and labelled inside a door only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from interpret_dp.lime.features import LocalFeatures
from interpret_dp.lime.labels import BlackBox, Labels
from interpret_dp.lime.moments import ExplanationData
from interpret_dp.lime.opening import OpenedRows
from interpret_dp.release import ReleaseDoor
from interpret_dp.schema.units import kept_rows

__all__ = ["PrivateData"]


@dataclass
class PrivateData:
    """Rows that explanations are computed from, labelled once. Private, and so not shown.

    Attributes
    ----------
    rows : OpenedRows
    features : LocalFeatures
    box : BlackBox
    """

    rows: OpenedRows = field(repr=False)
    features: LocalFeatures = field(repr=False)
    box: BlackBox = field(repr=False)
    _labels: Labels | None = field(default=None, init=False, repr=False)
    _labelled: ExplanationData | None = field(default=None, init=False, repr=False)

    def box_for(self, X: Any) -> BlackBox:
        """Return the black box, if rows to be explained are in the same container as these.

        Raises
        ------
        TypeError
            If they are not. A model that cannot read the container of the explanation data would
            fail on every row of it, which nobody may be told: the budget would buy noise.
        """
        own, given = _kind(self.rows.X), _kind(X)
        if own != given:
            raise TypeError(
                f"X is a {given}, and the explanation data are a {own}; the model gets both as "
                f"they are, and must be able to read both. Pass X as a {own}."
            )
        return self.box

    def labels(self, n_outputs: int) -> Labels:
        """Return what the model says of every row, asked once; shape (n_rows, n_outputs)."""
        if self._labels is None:
            self._labels = self.box.labels(self.rows.X, self.rows.table.n_rows, n_outputs)
        return self._labels

    def labelled(self, door: ReleaseDoor, n_outputs: int) -> ExplanationData:
        """Return the rows that are used, as integers, with what the model says of each.

        Parameters
        ----------
        door : ReleaseDoor
            Open: an error that rows cause must not leave it. At most as many rows of each unit
            are used as its neighbourhood says, and the same ones in every request.
        n_outputs : int
            Of the model; public, from a query.
        """
        if self._labelled is None:
            table, identifiers = self.rows.table, self.rows.identifiers
            data = ExplanationData(self.features.points(table), self.labels(n_outputs))
            if identifiers is not None:
                key = int(door.public_choices.integers(2**64, dtype="uint64"))
                data = data.rows(kept_rows(identifiers, door.neighbourhood.max_rows, key))
            self._labelled = data
        return self._labelled


def _kind(X: Any) -> str:
    """Say in words what a container is, as far as a model would notice."""
    if isinstance(X, list | tuple):
        return "list"
    if isinstance(X, np.ndarray):
        return "numpy array"
    if hasattr(X, "tocsc"):
        return "scipy sparse matrix"
    return f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"
