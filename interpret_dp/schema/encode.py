"""Integer codes of a table, by the schema alone, and their layout in fine bins.

Codes follow interpret's layout. A feature with F fine bins has code 0 for a missing cell, 1 to F
for its bins and F + 1 for a level that the schema does not declare. Codes are private: they are
a copy of the table. Everything that depends on the schema alone (edges, labels, numbers of bins)
is public. :func:`canonical_frame` gives interpret's own predict rows in which it finds these codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from interpret_dp._validate import check_int
from interpret_dp.schema.cells import (
    FloatArray,
    LevelTable,
    Values,
    column_numbers,
    in_chunks,
    numbers_of,
)
from interpret_dp.schema.containers import Table, open_table, open_target, warn_of_mismatches
from interpret_dp.schema.declarations import (
    MAX_BINS,
    SYMLOG_UNIT,
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    Level,
    check_most_classes,
    level_labels,
)
from interpret_dp.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


# The layout of a feature's codes, which follows from its declaration alone and is public.
#
# Code 0 is a missing cell, 1 to F are the fine bins, F + 1 is a level that is not declared.

# Of the larger bound: rows are looked for from a millionth of it on, by factors.
_SEARCH_UNIT = 2.0**-20
# From here on there are no floats between the integers.
_LAST_HALF = 2.0**52


def fine_edges(
    spec: Continuous, n_bins: int, *, unit: float = SYMLOG_UNIT
) -> npt.NDArray[np.float64]:
    """Return the inner cut points of equally wide bins, on the feature's scale.

    Those of an :class:`Integer` lie halfway between two integers: between all neighbours where
    there are at most ``n_bins`` values, and otherwise next to the cut points of equally wide bins.

    A value belongs to bin ``searchsorted(edges, value, side="right")`` counted from 0: one that
    lies on a cut belongs to the bin above, as in interpret.

    Parameters
    ----------
    spec : Continuous
        The declared bounds and scale.
    n_bins : int
        Number of bins asked for, 1 to ``MAX_BINS``.
    unit : float
        Share of the larger bound up to which a "symlog" scale is linear.

    Returns
    -------
    ndarray of float64, shape (<= n_bins - 1,)
        Strictly increasing, in raw units, above ``lower`` and not above ``upper``. Fewer than
        asked for if there are not that many floats, or integers, in the range; none if the bounds
        are equal. Public.

    Raises
    ------
    TypeError, ValueError
        If ``n_bins`` is not such an integer.
    """
    n_bins = check_int("n_bins", n_bins, low=1, high=MAX_BINS)
    edges = _evenly_spaced(spec, n_bins, unit)
    if isinstance(spec, Integer):
        has_all = spec.upper - spec.lower < n_bins
        firsts = np.arange(spec.lower + 1.0, spec.upper + 1.0) if has_all else np.ceil(edges)
        # The point below the first integer of each bin: one that lies on a cut is in the bin above.
        edges = np.where(np.abs(firsts) > _LAST_HALF, firsts, firsts - 0.5)
    edges = np.unique(edges)
    return edges[(edges > spec.lower) & (edges <= spec.upper)]


def search_edges(spec: Continuous, n_bins: int) -> npt.NDArray[np.float64]:
    """Return cut points of fine bins that find the rows wherever they are between the bounds.

    On a linear scale half of the bins are equally wide, and half of them on a symmetric log scale:
    rows may fill a small part of generous bounds, or have a long tail.

    Parameters
    ----------
    spec, n_bins
        As for :func:`fine_edges`.

    Returns
    -------
    ndarray of float64, shape (<= n_bins - 1,)
        As those of :func:`fine_edges`.
    """
    edges = fine_edges(spec, n_bins)
    has_all_values = isinstance(spec, Integer) and spec.upper - spec.lower < n_bins
    if spec.scale != "linear" or len(edges) < n_bins - 1 or has_all_values:
        return edges
    half = n_bins // 2
    logarithmic = fine_edges(replace(spec, scale="symlog"), n_bins - half, unit=_SEARCH_UNIT)
    return np.union1d(fine_edges(spec, half), logarithmic) if half > 1 else edges


def outer_edges(spec: Continuous) -> tuple[float, float]:
    """Return the cut points below and from which on cells are beyond the bounds.

    A bound in single precision is no such cell, though it may be a bit more than the bound.
    """
    bounds = np.array([spec.lower, spec.upper])
    with np.errstate(over="ignore"):
        single = bounds.astype(np.float32).astype(np.float64)
    lower, upper = np.where(np.isfinite(single), single, bounds).tolist()
    return min(lower, spec.lower), float(np.nextafter(max(upper, spec.upper), np.inf))


def _evenly_spaced(spec: Continuous, n_bins: int, unit: float) -> npt.NDArray[np.float64]:
    """Return ``n_bins - 1`` points at equal steps of the scale, up to rounding."""
    steps = np.arange(1, n_bins, dtype=np.float64)
    width = spec.upper - spec.lower
    if spec.scale == "log":
        return np.asarray(spec.lower + np.expm1(np.log1p(width) * (steps / n_bins)))
    if spec.scale == "symlog" and width > 0:
        largest = max(abs(spec.lower), abs(spec.upper))
        # Divided in this order, the unit of tiny bounds does not vanish.
        first, last = np.arcsinh(np.array([spec.lower, spec.upper]) / largest / unit)
        positions = first + (last - first) * (steps / n_bins)
        return np.asarray(np.sinh(positions) * unit * largest)
    if width <= np.finfo(np.float64).max / n_bins:
        # Multiplying before dividing keeps cuts between integers exact.
        return spec.lower + width * steps / n_bins
    return spec.lower + width * (steps / n_bins)


def fine_bin_count(spec: FeatureSpec, n_bins: int) -> int:
    """Return F, the number of fine bins that a feature gets; its codes run from 0 to F + 1.

    Parameters
    ----------
    spec : Continuous or Categorical
        The declaration. A categorical feature has one bin a level, whatever ``n_bins`` is.
    n_bins : int
        Number of bins asked for.
    """
    if isinstance(spec, Categorical):
        return len(spec.levels)
    return len(fine_edges(spec, n_bins)) + 1


def unseen_label(spec: Categorical) -> str:
    """Return a text that is no level's name, by which undeclared levels are shown.

    Parameters
    ----------
    spec : Categorical
        The declared levels.
    """
    labels = set(level_labels(spec))
    label = "(undeclared)"
    while label in labels:
        label = f"({label})"
    return label


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
    target = column_numbers(open_target(y, n_rows))
    return np.clip(target, spec.lower, spec.upper, out=target)


#: Places of time, at which a cumulative hazard is tabulated. They and the cells are evenly spread
#: over the root of time: hazards may be steep at the beginning.
PLACES = 4096
#: Cells of time in which rows are counted.
CELLS = 32


def encode_times(
    y: Any, latest: float, n_rows: int | None = None
) -> tuple[FloatArray, npt.NDArray[np.uint16]]:
    """Return whether each row has an event, and the place of its time; private.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        Times of events, and of censored rows minus the time.
    latest : float
        Rows with a later time are censored there. Above 0; public.
    n_rows : int, optional
        Number of rows of the table, if it must agree.

    Returns
    -------
    events : ndarray of float64, shape (n_rows,)
        1 or 0; NaN where there is no time.
    places : ndarray of uint16, shape (n_rows,)
        From 0 to ``PLACES - 1``.
    """
    signed = encode_target(y, Continuous(-2.0 * latest, 2.0 * latest), n_rows)
    times = np.nan_to_num(np.abs(signed)) / latest
    events = np.where(np.isnan(signed), np.nan, (signed >= 0) & (times <= 1.0))
    places = np.minimum(np.sqrt(times) * PLACES, PLACES - 1)
    return events, places.astype(np.uint16)


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
    return column_numbers(values)
