"""The private rows of one fit: what belongs to each row, in one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.backends.base import AdditiveRows
from interpret_dp.schema import PrivacyUnit, Schema, Table, open_target
from interpret_dp.schema.containers import Values, open_column
from interpret_dp.schema.kinds import refuse_texts
from interpret_dp.schema.units import kept_counts, kept_rows, open_people


@dataclass(frozen=True)
class PrivateRows:
    """Rows of a fit. Private, and so left out of the representation.

    Attributes
    ----------
    table : Table
    y : Values, shape (n_rows,)
    weights : Values, shape (n_rows,), or None
    start : callable, or None
        Gives the scores that rows start from, once it is asked inside the session.
    init_scores : ndarray of float64, shape (n_rows, n_scores), or None
        Those scores; None before :meth:`with_init_scores`.
    identifiers : Values, shape (n_rows,), or None
        Of each row's unit; None where every row is a unit.
    unit_rows : ndarray of int64, shape (n_rows,), or None
        How many rows of its unit are used, where they share a weight of 1.
    """

    table: Table = field(repr=False)
    y: Values = field(repr=False)
    weights: Values | None = field(default=None, repr=False)
    start: Callable[[], NDArray[np.float64]] | None = field(default=None, repr=False)
    init_scores: NDArray[np.float64] | None = field(default=None, repr=False)
    identifiers: Values | None = field(default=None, repr=False)
    unit_rows: NDArray[np.int64] | None = field(default=None, repr=False)

    def with_init_scores(self) -> PrivateRows:
        """Return the rows with the scores that they start from, if there are any."""
        return self if self.start is None else replace(self, init_scores=self.start())

    @property
    def has_init_scores(self) -> bool:
        """Whether rows start from scores of their own."""
        return self.init_scores is not None

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of the rows and of public arguments gives: integer sums. Private.

        Rows in partitions add up what it gives for each of them.
        """
        return function(self, *arguments)

    def encoded(
        self, encode: Callable[..., AdditiveRows], *arguments: Any, n_threads: int
    ) -> AdditiveRows:
        """Return the rows as integers, each by itself; private.

        Parameters
        ----------
        encode : callable
            From rows, the arguments and a number of threads to rows in memory.
        """
        return encode(self, *arguments, n_threads)

    def subset(self, used: NDArray[np.bool_] | NDArray[np.int64]) -> PrivateRows:
        """Return the rows that are used, by ``kept_rows`` or ``kept_counts``."""
        kept = used > 0
        return PrivateRows(
            self.table.rows(kept),
            self.y[kept],
            weights=None if self.weights is None else self.weights[kept],
            init_scores=None if self.init_scores is None else self.init_scores[kept],
            unit_rows=None if used.dtype == np.bool_ else used[kept].astype(np.int64),
        )

    def used_rows(self, max_rows: int, public: np.random.Generator) -> NDArray[np.bool_]:
        """Return which rows :meth:`limited` keeps, shape (n_rows,). Private."""
        if self.identifiers is None:
            return np.ones(self.table.n_rows, dtype=np.bool_)
        return kept_rows(self.identifiers, max_rows, new_key(public))

    def limited(
        self, max_rows: int, public: np.random.Generator, *, share_weight: bool = False
    ) -> PrivateRows:
        """Return at most ``max_rows`` rows of each unit.

        Parameters
        ----------
        max_rows : int
        public : numpy.random.Generator
            Of coin flips that are public: no part of the privacy argument rests on them.
        share_weight : bool, default=False
            Whether the rows of a unit have a weight of 1 together, and not each.
        """
        if self.identifiers is None:
            return self
        kept = kept_counts if share_weight else kept_rows
        return self.subset(kept(self.identifiers, max_rows, new_key(public)))


def new_key(public: np.random.Generator) -> int:
    """Draw the 64 public bits that decide what rows are drawn of a unit."""
    return int(public.integers(2**64, dtype=np.uint64))


def open_rows(
    X: Any,
    y: Any,
    *,
    feature_names: Any,
    schema: Schema | None,
    sample_weight: Any,
    unit: Any,
    has_target: bool = True,
) -> tuple[PrivateRows, PrivacyUnit | None]:
    """Open what belongs to each row, but for the scores to start from, and say what a unit is.

    Parameters
    ----------
    X, y, sample_weight, unit
        As ``fit`` takes them.
    feature_names : sequence of str, or None
    schema : Schema or None
    has_target : bool, default=True
        Whether something is predicted. Otherwise ``y`` is not read, and all targets are 0.

    Raises
    ------
    TypeError, SchemaError
        If one has another form, or it is not clear which rows are one unit's.
    """
    known = schema if isinstance(schema, Schema) else None
    table, identifiers, declared = open_people(
        X, feature_names, known, unit, call="fit(X, y, unit=ids)"
    )
    n_rows = table.n_rows
    y = open_target(y, n_rows) if has_target else np.zeros(n_rows, dtype=np.int8)
    weights = None
    if sample_weight is not None:
        weights = open_column("sample_weight", sample_weight, table.n_rows)
        refuse_texts("sample_weight", weights)
    return PrivateRows(table, y, weights, identifiers=identifiers), declared
