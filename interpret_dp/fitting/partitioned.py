"""The private rows of one fit in partitions on Dask workers.

Each partition is opened and encoded by the functions that open and encode a table in memory, on the
worker that holds it. What a row becomes depends on that row alone, so the sums are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.exceptions import BackendError, SchemaError
from interpret_dp.fitting.account import thread_count
from interpret_dp.fitting.rows import (
    PrivateRows,
    has_other_index,
    new_key,
    open_init_score,
    open_rows,
)
from interpret_dp.schema import FeatureSpec, Schema
from interpret_dp.schema.containers import is_dask
from interpret_dp.schema.declarations import ROWS
from interpret_dp.schema.units import deal_units, kept_of_units, noted_units

if TYPE_CHECKING:
    from interpret_dp.backends.dask import Partitions, Pieces

DASK_ASSUMPTION = (
    "the Dask scheduler and workers, and whoever reads their memory, disks, logs and traffic, are "
    "the curator's own, and the collections hold the same rows, of the types that they state, "
    "whenever they are computed"
)
_BACKENDS = ("auto", "local", "dask")


def open_collections(backend: Any, given: Mapping[str, Any]) -> Pieces | None:
    """Return Dask collections in pieces, or None if the rows are in this process.

    Parameters
    ----------
    backend : {"auto", "local", "dask"}
    given : mapping of str to object
        The arguments of ``fit`` by name, X first. None, a model in ``init_score`` and a text in
        ``unit`` are no collections.

    Raises
    ------
    ValueError, TypeError, SchemaError
        If the parameter is another one, the rows are not where it says, or the collections do not
        fit together.
    ModuleNotFoundError
        If Dask is not installed.
    """
    chosen = check_choice(
        "backend", backend, _BACKENDS, mend="'auto' takes Dask for Dask collections."
    )
    lazy = [role for role, value in given.items() if is_dask(value)]
    if chosen == "local" and lazy:
        raise TypeError(
            f"backend is 'local', and {lazy[0]} is a Dask collection. Pass {lazy[0]}.compute(), "
            "or backend='dask'."
        )
    if not lazy and chosen != "dask":
        return None
    if "X" not in lazy:
        what = f"{lazy[0]} is a Dask collection" if lazy else "backend is 'dask'"
        kind = type(given["X"])
        raise TypeError(
            f"{what}, and X is of type {kind.__module__}.{kind.__name__}; all row arguments must "
            "be Dask collections. Use dask.dataframe.from_pandas(X, npartitions=...), or "
            "backend='local'."
        )
    from interpret_dp.backends.dask import open_pieces

    rows = {
        role: value
        for role, value in given.items()
        if value is not None
        and not (role == "init_score" and _is_model(value))
        and not (role == "unit" and isinstance(value, str))
    }
    return open_pieces(rows)


def _is_model(value: Any) -> bool:
    return any(callable(getattr(value, name, None)) for name in ("predict", "predict_proba"))


def partitioned(
    form: PrivateRows, collections: Pieces, opening: Opening, n_jobs: int | None
) -> PartitionedRows:
    """Return rows on the workers of the current Dask client, or on threads of this process.

    Parameters
    ----------
    form : PrivateRows
        Without any row, as opened from the collections' forms.
    collections : Pieces
    opening : Opening
        Of each partition.
    n_jobs : int or None
        Threads where there is no client, as joblib counts them.
    """
    from interpret_dp.backends.dask import Partitions

    return PartitionedRows(
        form.table,
        form.y,
        weights=form.weights,
        exposure=form.exposure,
        start=form.start,
        identifiers=form.identifiers,
        opening=opening,
        partitions=Partitions.of(collections.pieces, thread_count(n_jobs)),
    )


@dataclass(frozen=True)
class Opening:
    """Recipe for opening one partition; public, but for a model in ``init_score``.

    Attributes
    ----------
    roles : tuple of str
        Which argument each piece is.
    feature_names : sequence of str, or None
    schema : Schema or None
    target : Continuous, Categorical or None
        As declared, for scores to start from.
    task : {"classification", "regression"} or None
    init_score : object
        A model, or None; not used where the scores are a collection.
    """

    roles: tuple[str, ...]
    feature_names: Sequence[str | None] | None
    schema: Schema | None
    target: FeatureSpec | None = None
    task: str | None = None
    init_score: Any = field(default=None, repr=False)

    def __call__(self, *pieces: Any) -> PrivateRows:
        """Return the rows of a partition; a note after the pieces says which are used. Private."""
        given = dict(zip(self.roles, pieces, strict=False))
        rows = self._opened(given, given.get("sample_weight"))
        start = open_init_score(
            given.get("init_score", self.init_score),
            given["X"],
            rows.table.n_rows,
            self.target,
            task=self.task,
        )
        rows = replace(rows, start=start).with_init_scores()
        note = pieces[len(self.roles) :]
        return rows.subset(note[0]) if note else replace(rows, identifiers=None)

    def identifiers(self, *pieces: Any) -> Any:
        """Return the identifiers of a partition's rows; private."""
        try:
            return self._opened(dict(zip(self.roles, pieces, strict=True)), None).identifiers
        except SchemaError:
            # The form of all partitions was declared to be another one, which was in order.
            raise BackendError("identifiers") from None

    def _opened(self, given: Mapping[str, Any], sample_weight: Any) -> PrivateRows:
        lengths = {len(piece) for piece in given.values()}
        if len(lengths) > 1 or has_other_index(given["X"], given.get("unit")):
            raise BackendError("unaligned")
        has_people = self.schema is not None and self.schema.people is not None
        rows, _ = open_rows(
            given["X"],
            given.get("y"),
            feature_names=self.feature_names,
            schema=self.schema,
            sample_weight=sample_weight,
            exposure=given.get("exposure"),
            # That rows are the units, if they are, was in order in the form of all partitions.
            unit=given.get("unit", None if has_people else ROWS),
            has_target="y" in self.roles,
        )
        return rows


@dataclass(frozen=True)
class PartitionedRows(PrivateRows):
    """Rows on workers. What it inherits has no rows: it is the form of them all, and public.

    Attributes
    ----------
    opening : Opening
    partitions : Partitions
    """

    opening: Opening = field(kw_only=True)
    partitions: Partitions = field(kw_only=True, repr=False)

    @property
    def has_init_scores(self) -> bool:
        """Whether rows start from scores of their own."""
        return self.start is not None

    def with_init_scores(self) -> PartitionedRows:
        """Return the rows; each worker finds the scores of its own."""
        return self

    def used_rows(self, max_rows: int, public: np.random.Generator) -> NDArray[np.bool_]:
        """Refuse: which rows are used is known to the workers alone."""
        raise TypeError("Which rows are used is known to the Dask workers alone.")

    def limited(
        self, max_rows: int, public: np.random.Generator, *, share_weight: bool = False
    ) -> PartitionedRows:
        """Return at most ``max_rows`` rows of each unit; one shuffle of the identifiers."""
        if self.identifiers is None:
            return self
        key = new_key(public)
        deal, keep = partial(_dealt, self.opening, key), partial(kept_of_units, max_rows, key)
        dealt = self.partitions.dealt(deal, partial(keep, share_weight), noted_units)
        return replace(self, partitions=dealt)

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum over partitions of a function of their rows; private."""
        return self.partitions.total(partial(_called, self.opening, function, arguments))

    def encoded(
        self, encode: Callable[..., AdditiveRows], *arguments: Any, n_threads: int
    ) -> AdditiveRows:
        """Return the rows as integers on the workers, which take one thread a partition.

        Parameters
        ----------
        encode : callable
            From private rows, the arguments and a number of threads to rows in memory.
        n_threads : int
            Of this process; workers have threads of their own.
        """
        from interpret_dp.backends.dask import DaskRows
        from interpret_dp.backends.dask.parts import table_facts

        public_form = PrivateRows(self.table, self.y, self.weights, self.exposure)
        form = encode(public_form, *arguments, n_threads)
        public = table_facts(form), _arithmetic(arguments)
        parts = self.partitions.parts(partial(_encoded, self.opening, encode, arguments, *public))
        return DaskRows(self.partitions.workers, parts, form)


def _dealt(opening: Opening, key: int, n_buckets: int, *pieces: Any) -> list[Any]:
    return deal_units(opening.identifiers(*pieces), n_buckets, key)


def _called(
    opening: Opening, function: Callable[..., Any], arguments: Sequence[Any], *pieces: Any
) -> Any:
    return function(opening(*pieces), *arguments)


def _encoded(
    opening: Opening,
    encode: Callable[..., AdditiveRows],
    arguments: Sequence[Any],
    tables: dict[str, Any],
    arithmetic: str,
    *pieces: Any,
) -> AdditiveRows:
    if _arithmetic(arguments) != arithmetic:
        raise BackendError("arithmetic")
    rows = encode(opening(*pieces), *arguments, 1)
    vars(rows).update(tables)
    return rows


def _arithmetic(arguments: Sequence[Any]) -> str:
    """Return a digest of the public numbers that encoding compares cells with.

    They are computed where they are used, by functions of which another machine's library might
    give other last digits.
    """
    task, config, loss = arguments
    edges = [cuts for spec in task.specs if (cuts := config.fine_edges(spec)) is not None]
    from interpret_dp.backends.local import exposure_logs, log_edges

    if loss.rule == "log gap":
        edges.append(log_edges(loss.lower, loss.upper))
    if (baseline := getattr(loss, "baseline", None)) is not None:
        edges += [baseline.shares, exposure_logs()]
    if task.largest_exposure is not None:
        edges.append(exposure_logs())
    return hashlib.sha256(b"".join(e.astype("<f8").tobytes() + b"|" for e in edges)).hexdigest()
