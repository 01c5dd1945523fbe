"""The private rows of one fit, and the scores that they start from."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import listed, looks_of
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import (
    Categorical,
    FeatureSpec,
    PrivacyUnit,
    Schema,
    Table,
    open_table,
    open_target,
)
from interpret_dp.schema.cells import Values, column_numbers, whole_rows
from interpret_dp.schema.containers import (
    identifiers_of,
    index_of,
    kind_of,
    open_column,
    open_parts,
    read_source,
    refuse_identifiers,
    refuse_texts,
)
from interpret_dp.schema.declarations import ROWS
from interpret_dp.schema.units import joined_identifiers, kept_counts, kept_rows

_UNNAMED_UNIT = "unit"

# Names of identifiers of people, in small letters and single words: an identifier, or a person's
# number.
_IDENTIFIER = re.compile(
    r"(.* )?(id|ids|uid|uuid|guid|identifier|ssn|mrn)"
    r"|(.* )?(account|client|customer|employee|household|individual|insured|member|participant"
    r"|patient|person|policy|policyholder|respondent|resident|student|subject|user)"
    r"(id|no| no| nr| num| number| code| key| hash)"
)


@dataclass(frozen=True)
class PrivateRows:
    """Rows of a fit. Private, and so left out of the representation.

    Attributes
    ----------
    table : Table
    y : Values, shape (n_rows,)
    weights : Values, shape (n_rows,), or None
    exposure : Values, shape (n_rows,), or None
        Or its logarithm.
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
    exposure: Values | None = field(default=None, repr=False)
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
            exposure=None if self.exposure is None else self.exposure[kept],
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
    exposure: Any = None,
    has_target: bool = True,
) -> tuple[PrivateRows, PrivacyUnit | None]:
    """Open what belongs to each row, but for the scores to start from, and say what a unit is.

    Parameters
    ----------
    X, y, sample_weight, unit, exposure
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
    table, identifiers, declared = open_people(X, feature_names, known, unit)
    n_rows = table.n_rows
    y = open_target(y, n_rows) if has_target else np.zeros(n_rows, dtype=np.int8)
    numbers: dict[str, Values | None] = {"sample_weight": None, "exposure": None}
    for name, given in (("sample_weight", sample_weight), ("exposure", exposure)):
        if given is not None:
            numbers[name] = open_column(name, given, n_rows)
            refuse_texts(name, numbers[name])
    weights, exposures = numbers.values()
    return PrivateRows(table, y, weights, exposures, identifiers=identifiers), declared


# Scores that rows start from: given as numbers, or by another model.
#
# A score belongs to its row alone, as the target does, so it costs nothing: residuals are clipped
# after it was taken into account, and the sensitivity stays what it is (docs/proofs/dp_ebm.md).

INIT_SCORE_CONDITION = (
    "each row's init_score was computed from that row alone, to the last bit, by what is public or "
    "charged by itself, and which fails for no row"
)

# Beyond this no probability of a float64 differs from 0 or 1.
_LARGEST_LOGIT = 700.0
# A model's scores are rounded to this many steps per unit. Products of matrices may change the last
# bits of a row when another one is removed; on a coarse grid that hardly ever shows.
_STEPS = 256


def open_init_score(
    init_score: Any, X: Any, n_rows: int, target: FeatureSpec | None, *, task: str | None
) -> Callable[[], NDArray[np.float64]] | None:
    """Return what gives the scores from which each row starts, or None.

    Parameters
    ----------
    init_score : array-like, or a model with ``predict_proba`` (or ``predict``), or None
        Logits of the second class, shape (n_rows,); one score a class for more than two, shape
        (n_rows, n_classes); numbers in units of the target for a regression, shape (n_rows,). A
        model is asked for ``X`` as it was given.
    X : object
    n_rows : int
    target : Continuous, Categorical or None
        Labels are in the order of the model's classes. None if they are not declared.
    task : {"classification", "regression"}

    Returns
    -------
    callable, or None
        Returns an ndarray of float64, shape (n_rows, n_scores); private. Scores that are not finite
        numbers are 0. To be called inside the session: a model may fail or warn because of a row.

    Raises
    ------
    TypeError, SchemaError
        If it has another form (no cell is looked at), or labels are undeclared: then it is not
        known beforehand how many scores a row has, and in which order.
    """
    if init_score is None:
        return None
    levels: tuple[Any, ...] = ()
    if task == "classification":
        if not isinstance(target, Categorical):
            raise SchemaError(
                "init_score was given without declared class labels, which say what class a score "
                "is of. Declare Schema(..., target=Categorical([label, ...]))."
            )
        levels = target.levels
    shape = (n_rows, len(levels) if len(levels) > 2 else 1)
    if callable(getattr(init_score, "predict_proba" if levels else "predict", None)):
        known = getattr(init_score, "classes_", None)
        if levels and known is not None and list(known) != list(levels):
            raise SchemaError(
                f"init_score is a model of the classes {np.asarray(known).tolist()}; the declared "
                f"ones are {list(levels)}. Pass a model of these classes, or an array of scores."
            )
        return partial(_model_scores, init_score, X, levels, shape)
    if callable(getattr(init_score, "predict", None)):
        raise TypeError(
            f"init_score is of type {type(init_score).__name__}, which has no predict_proba; for a "
            "classifier it must be a model that has it, or an array of scores."
        )
    numbers = _numbers(init_score, shape, task)
    return lambda: numbers


def _model_scores(
    model: Any, X: Any, levels: tuple[Any, ...], shape: tuple[int, int]
) -> NDArray[np.float64]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A warning may speak of a row, and whether there is one may depend on a row.
        warnings.simplefilter("ignore")
        predicted = np.asarray(model.predict_proba(X) if levels else model.predict(X), dtype=float)
        if levels:
            logs = np.clip(np.log(predicted), -_LARGEST_LOGIT, 0.0)
            predicted = logs[:, 1] - logs[:, 0] if len(levels) == 2 else logs
        scores = np.rint(predicted.reshape(shape) * _STEPS) / _STEPS
    return np.where(np.isfinite(scores), scores, 0.0)


def _numbers(scores: Any, shape: tuple[int, int], task: str | None) -> NDArray[np.float64]:
    """Read scores in any container, each cell by itself."""
    if shape[1] > 1:
        # In a list, a row without as many cells starts from zeros.
        scores = whole_rows(scores, (None,) * shape[1])
    if hasattr(scores, "columns") or getattr(scores, "ndim", 1) > 1:
        table = open_table(scores)
        columns = [table.column(index) for index in range(len(table.names))]
    else:
        columns = [open_column("init_score", scores)]
    for column in columns:
        refuse_texts("init_score", column)
    if len(columns) != shape[1] or any(len(column) != shape[0] for column in columns):
        meaning = "one score a class" if shape[1] > 1 else "the logit of the second class"
        if task == "regression":
            meaning = "a number in units of the target"
        # The number of rows is private: only that of the columns is quoted.
        raise SchemaError(
            "init_score has another number of columns, or not as many rows as X; it must have one "
            f"entry for each row of X, with {shape[1]} columns: {meaning}."
        )
    numbers = np.column_stack([column_numbers(column) for column in columns])
    return np.where(np.isfinite(numbers), numbers, 0.0)


def open_people(
    X: Any, feature_names: Any, schema: Schema | None, unit: Any
) -> tuple[Table, Values | None, PrivacyUnit | None]:
    """Open the features of a table and the identifiers of its rows' units.

    Parameters
    ----------
    X : object
        As :func:`~interpret_dp.schema.containers.open_table` takes it, with or without the unit's
        columns.
    feature_names : sequence of str, or None
        As ``open_table`` takes them; a container with names of its own need not have the unit's
        columns named here.
    schema : Schema or None
        Its ``unit`` counts, and which columns it declares as categories.
    unit : Series, pyarrow.Array, ndarray or list, shape (n_rows,), "rows" or None
        Identifiers that are given beside the table; a DataFrame of the unit's columns will do.
        ``"rows"``: each row is a unit.

    Returns
    -------
    table : Table
        Without the unit's columns. Private.
    identifiers : Values, shape (n_rows,), or None
        Private; None where every row is a unit.
    declared : PrivacyUnit or None
        What was declared; a unit without a name of one row if only identifiers were given.

    Raises
    ------
    TypeError, SchemaError
        If one has another form, or it is not clear which rows are one unit's.
    """
    declared = schema.people if schema is not None else None
    identifier = () if declared is None else declared.columns
    source = read_source(whole_rows(X, feature_names, identifier=identifier))
    if isinstance(unit, str) and unit != ROWS:
        raise TypeError(
            f"unit is {unit!r} (str); it must hold the identifier of each row. Name a column in "
            f"the schema, Schema(..., unit=PrivacyUnit({unit!r})), or pass the column's cells: "
            "fit(X, y, unit=ids). If each row is a person of its own, pass unit='rows'."
        )
    if isinstance(unit, str):
        if declared is not None:
            what = f"unit is 'rows', and the schema names {declared.name!r} as the privacy unit"
            raise SchemaError(f"{what}. Leave one of the two out.")
        return open_table(source, feature_names), None, None
    if unit is None and declared is not None:
        names = feature_names
        if names is not None and source.names is not None:
            names = [*names, *(name for name in declared.columns if name not in names)]
        table = open_table(source, names, identifier=declared.columns)
        absent = [name for name in declared.columns if name not in table.names]
        if absent:
            raise SchemaError(
                f"X lacks {listed(absent)}, which the schema names as the privacy unit. "
                "Add it, or pass its cells: fit(X, y, unit=ids). Data without names need "
                "feature_names=[...]."
            )
        parts = identifiers_of(table, declared.columns)
        table = table.without(*declared.columns)
        if not table.names:
            what = f"X has only {listed(declared.columns)}, which is the privacy unit"
            raise SchemaError(f"{what}. Pass at least one feature.")
        return table, joined_identifiers(parts) if declared.drops_missing else parts[0], declared
    table = open_table(source, feature_names)
    doubled = [] if declared is None else [n for n in declared.columns if n in table.names]
    if doubled:
        what = f"unit was given, and X has {listed(doubled)}, declared as the privacy unit"
        raise SchemaError(f"{what}. Drop one of the two.")
    if unit is None:
        if schema is None or schema.unit is None:
            _refuse_unnamed_people(table, {} if schema is None else schema.features)
        return table, None, declared
    declared = declared or PrivacyUnit(_UNNAMED_UNIT)
    parts = open_parts("unit", unit, table.n_rows, declared.columns)
    if has_other_index(source, unit):
        raise SchemaError(
            "X and unit are both of pandas, and their indexes differ, so that it is not clear "
            "which rows are one unit's. Pass unit.loc[X.index] to align by index, or "
            "unit.set_axis(X.index) if the rows of both are in the same order."
        )
    for part in parts:
        refuse_identifiers("unit", part)
    return table, joined_identifiers(parts) if declared.drops_missing else parts[0], declared


def _refuse_unnamed_people(table: Table, features: Mapping[str, FeatureSpec]) -> None:
    """Raise SchemaError if a column seems to say whose rows belong together, and nothing uses it.

    A fit that protects rows by mistake bounds nothing about a person. Names, declarations and
    dtypes decide, never a cell.
    """
    for index, name in enumerate(table.names):
        if not looks_like_identifier(name) or isinstance(features.get(name), Categorical):
            continue
        if kind_of(table.column(index)).cells in ("integers", "texts", "objects"):
            raise SchemaError(
                f"Column {name!r} looks like an identifier of people, and nothing says whose rows "
                "belong together, so that only single rows would be protected. If a person may "
                f"have several rows, declare Schema(..., unit=PrivacyUnit({name!r}, max_rows=...)),"
                " without it among the features. If each row is a person of its own, or the column "
                'identifies something else, say so: unit="rows", in the schema or the fit.'
            )


def looks_like_identifier(name: str) -> bool:
    """Whether a column's name is that of an identifier: "patient_id", "personID", "member no"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return _IDENTIFIER.fullmatch(looks_of(spaced)) is not None


def has_other_index(X: Any, unit: Any) -> bool:
    """Return whether a table and its identifiers are of pandas and are labelled differently.

    An index is structure, as a length is. It is compared as a whole, and no message quotes it.

    Parameters
    ----------
    X, unit : object
        As :func:`open_people` takes them.
    """
    own = read_source(X).index
    other = None if unit is None else index_of(unit)
    # Tables without rows say what the columns of Dask are, whose indexes are known to the workers.
    return own is not None and other is not None and len(own) > 0 and not own.equals(other)
