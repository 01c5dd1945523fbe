"""Integer codes of a table, by the schema alone: a row decides its own codes and no others.

Codes follow interpret's layout. A feature with F fine bins has code 0 for a missing cell, 1 to F
for its bins and F + 1 for a level that the schema does not declare. Codes are private: they are
a copy of the table. Everything that depends on the schema alone (edges, labels, numbers of bins)
is public. :func:`canonical_frame` gives interpret's own predict rows in which it finds these codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from interpret_dp.schema.cells import FloatArray, LevelTable, in_chunks, numbers_of
from interpret_dp.schema.containers import Table, Values, open_table, open_target
from interpret_dp.schema.declarations import (
    Categorical,
    Continuous,
    FeatureSpec,
    Level,
    check_most_classes,
    level_labels,
)
from interpret_dp.schema.fine_bins import fine_bin_count, fine_edges, unseen_label
from interpret_dp.schema.kinds import warn_of_mismatches
from interpret_dp.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

_COMPILED_FROM = 4096  # rows; for fewer the import of the compiled loop takes longer than they do
_ROWS_PER_THREAD = 100_000  # below this a second thread costs more than it saves

Codes: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]


def code_dtype(n_codes: int) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest type that holds so many codes."""
    return np.uint8 if n_codes <= 256 else np.uint16


def encode_column(
    values: Values,
    spec: FeatureSpec,
    n_bins: int,
    out: Codes | None = None,
    *,
    edges: FloatArray | None = None,
) -> Codes:
    """Return the code of each cell of one column, by a rule that sees that cell alone.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        The private column, as :meth:`Table.column` returns it.
    spec : Continuous or Categorical
        The declaration.
    n_bins : int
        Number of fine bins of a continuous feature.
    out : ndarray of uint8 or uint16, shape (n_rows,), default=None
        Where the codes are written; by default a new array.
    edges : ndarray of float64, default=None
        Increasing cut points of a continuous feature, in place of those of ``n_bins`` fine bins.

    Returns
    -------
    ndarray of uint8 or uint16, shape (n_rows,)
        0 missing (or not readable as a number), 1..F bins, F + 1 undeclared level; one byte if
        F + 2 <= 256. Values outside the bounds, infinities included, are in the end bins.
        Private.

    Notes
    -----
    No value makes it raise. The argument that row i influences code i alone is in
    docs/proofs/encoding.md; it is the precondition of every sensitivity in this package.
    """
    n_fine = fine_bin_count(spec, n_bins) if edges is None else len(edges) + 1
    codes: npt.NDArray[Any] = np.empty(len(values), code_dtype(n_fine + 2)) if out is None else out
    if isinstance(spec, Categorical):
        table = LevelTable(spec.levels)
        for rows, positions in in_chunks(values, table.positions):
            codes[rows] = positions
        return codes
    edges = fine_edges(spec, n_bins) if edges is None else edges
    for rows, numbers in in_chunks(values, numbers_of):
        # The cuts lie inside the bounds: clipping first would not change any bin.
        if len(values) < _COMPILED_FROM:
            codes[rows] = np.searchsorted(edges, numbers, side="right") + 1
            codes[rows][np.isnan(numbers)] = 0
        else:
            from interpret_dp.schema.bisection import write_bins

            write_bins(numbers, edges, codes[rows])
    return codes


def encode_features(
    table: Table,
    columns: Sequence[int],
    specs: Sequence[FeatureSpec],
    edges: Sequence[npt.NDArray[np.float64] | None],
    *,
    n_threads: int = 1,
) -> Codes:
    """Return the codes of some columns in one block of memory, and no more than that.

    Parameters
    ----------
    table : Table
        The private table.
    columns : sequence of int, shape (n_features,)
        Their places in the table.
    specs : sequence of Continuous or Categorical, shape (n_features,)
    edges : sequence of ndarray of float64, or None, shape (n_features,)
        Increasing cut points of each continuous feature; None of a categorical one.
    n_threads : int
        Most threads to encode with; the codes do not depend on it.

    Returns
    -------
    ndarray of uint8 or uint16, shape (n_features, n_rows)
        As :func:`encode_column`, in the smallest type that holds all of them. Private.
    """
    n_bins = [
        fine_bin_count(spec, 1) if cuts is None else len(cuts) + 1
        for spec, cuts in zip(specs, edges, strict=True)
    ]
    n_codes = max(n_bins, default=0) + 2
    codes: npt.NDArray[Any] = np.empty((len(columns), table.n_rows), code_dtype(n_codes))
    parts = max(1, min(n_threads, table.n_rows // _ROWS_PER_THREAD))
    borders = np.linspace(0, table.n_rows, parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(parts) as pool:
        for place, (column, spec, cuts) in enumerate(zip(columns, specs, edges, strict=True)):
            values = table.column(column)
            tasks = [
                pool.submit(
                    encode_column, values[rows], spec, 1, out=codes[place, rows], edges=cuts
                )
                for rows in (slice(*ends) for ends in pairwise(borders))
            ]
            for task in tasks:
                task.result()
    return codes


def encode_classes(
    y: Any, levels: Categorical | Sequence[Level], n_rows: int | None = None
) -> npt.NDArray[np.int16]:
    """Return the class of each row.

    Parameters
    ----------
    y : array-like, shape (n_rows,) or (n_rows, 1)
        The private labels.
    levels : Categorical or sequence of str, int, float or bool, shape (n_classes,)
        The public class labels, in the order of their codes.
    n_rows : int, default=None
        Number of rows of the table, if it must agree.

    Returns
    -------
    ndarray of int16, shape (n_rows,)
        0 to n_classes - 1, or -1 for a label that is missing or undeclared. Private.

    Raises
    ------
    SchemaError
        If ``y`` is not one column of ``n_rows`` cells, or there are more than 32,767 levels.
    """
    declared = levels if isinstance(levels, Categorical) else Categorical(levels)
    check_most_classes(declared)
    values = open_target(y, n_rows)
    table = LevelTable(declared.levels)
    codes = np.empty(len(values), dtype=np.int16)
    for rows, positions in in_chunks(values, table.positions):
        codes[rows] = positions.astype(np.int32) - 1
    codes[codes == table.n_levels] = -1
    return codes


def encode_target(y: Any, spec: Continuous, n_rows: int | None = None) -> FloatArray:
    """Return the target of each row, clipped to its declared bounds.

    Parameters
    ----------
    y : array-like, shape (n_rows,) or (n_rows, 1)
        The private target.
    spec : Continuous
        The declared bounds.
    n_rows : int, default=None
        Number of rows of the table, if it must agree.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Numbers from ``lower`` to ``upper``; NaN where there is none, which the caller must let
        contribute nothing. Private.

    Raises
    ------
    SchemaError
        If ``y`` is not one column of ``n_rows`` cells.
    """
    values = open_target(y, n_rows)
    target = np.empty(len(values), dtype=np.float64)
    for rows, numbers in in_chunks(values, numbers_of):
        np.clip(numbers, spec.lower, spec.upper, out=target[rows])
    return target


def encode_weights(values: Values, maximum: float, unit: int) -> npt.NDArray[np.int32]:
    """Return the weight of each row as an integer share of the largest one.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        The private weights.
    maximum : float
        Largest weight, above 0; public. Larger ones are clipped, negative ones are 0.
    unit : int
        What the largest weight becomes.

    Returns
    -------
    ndarray of int32, shape (n_rows,)
        0 to ``unit``, rounded down; 0 for a weight that is missing. Private.
    """
    weights = np.empty(len(values), dtype=np.int32)
    for rows, numbers in in_chunks(values, numbers_of):
        shares = np.clip(np.nan_to_num(numbers, nan=0.0), 0.0, maximum) / maximum
        weights[rows] = np.minimum(np.floor(shares * unit), unit)
    return weights


def canonical_frame(
    X: Any,
    schema: Schema,
    names: Sequence[str],
) -> pd.DataFrame:
    """Return rows in the form from which interpret's own predict finds the codes of this module.

    interpret reads columns by their dtype, so that ``[1, 2]`` and ``[1.0, nan]``, ``True`` and
    ``1`` may go to different bins. Here each cell is first read by the rule of the schema.

    Parameters
    ----------
    X : DataFrame, Table, array or list of rows, shape (n_rows, n_columns)
        Rows to predict.
    schema : Schema
        The schema of the fit.
    names : sequence of str, shape (n_features,)
        The columns of the fit, in its order.

    Returns
    -------
    pandas.DataFrame, shape (n_rows, n_features)
        Continuous columns as float64, NaN if missing, not clipped. Categorical ones as pandas
        categoricals of the levels' names (:func:`level_labels`): missing if missing, and
        :func:`unseen_label` for an undeclared level, which interpret sends to the last bin.

    Raises
    ------
    SchemaError
        If the rows do not have the columns of the fit.

    Warns
    -----
    DeclarationWarning
        If the type of a column rules out all of its levels.
    """
    import pandas as pd

    table = open_table(X, names)
    specs = schema.resolve(table.names)
    warn_of_mismatches(table, specs)
    columns = {
        name: _canonical_column(table.column(index), spec)
        for index, (name, spec) in enumerate(zip(table.names, specs, strict=True))
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(table.n_rows), copy=False)


def _canonical_column(values: Values, spec: FeatureSpec) -> Any:
    if isinstance(spec, Categorical):
        import pandas as pd

        # Codes of pandas start at 0 for the first category and are -1 for a missing cell.
        codes = encode_column(values, spec, n_bins=1).astype(np.int32) - 1
        labels = pd.Index([*level_labels(spec), unseen_label(spec)])
        return pd.Categorical.from_codes(codes, categories=labels)
    numbers = np.empty(len(values), dtype=np.float64)
    for rows, found in in_chunks(values, numbers_of):
        numbers[rows] = found
    return numbers
