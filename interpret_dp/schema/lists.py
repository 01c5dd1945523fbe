"""Lists of rows, and of what belongs to each row: one entry decides nothing about the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from interpret_dp._validate import check_sequence
from interpret_dp.exceptions import SchemaError

Objects: TypeAlias = npt.NDArray[np.object_]

# Most entries are of these types, of which the first two are rows.
_PLAIN = frozenset({list, tuple, str, int, float, bool, type(None)})
_NO_ROWS = (
    "Expected 2D array, got 1D array instead: a list must hold rows, each a list of cells. Reshape "
    "your data: write [[1], [2]] for two rows of one column, [[1, 2]] for one row of two."
)


def entries_of(values: Any) -> Sequence[Any] | None:
    """Return the entries of a list, a tuple or a one-dimensional array of objects; else None.

    Such an array is what NumPy makes of rows of which one has another length.
    """
    if isinstance(values, list | tuple):
        return values
    is_array = type(values) is np.ndarray and values.ndim == 1 and values.dtype == np.object_
    return list(values) if is_array else None


class _WholeRows(list[Any]):
    """Rows of ``n_columns`` cells each, even if there is none."""

    ndim = 2
    n_columns = 0


def whole_rows(
    X: Any,
    feature_names: Sequence[str | None] | None = None,
    *,
    are_public: bool = False,
    identifier: Collection[str] = (),
) -> Any:
    """Return rows in a list with the same cells each; any other container as it is.

    A row of another length, and what is no row, such as None, a text or a number, is a row of
    missing cells, as in a CSV file: it must not decide whether a table is read. A one-dimensional
    array of objects, which NumPy makes of such rows, becomes one of two dimensions.

    Parameters
    ----------
    X : object
        As ``fit`` takes it.
    feature_names : sequence of str or None, default=None
        Their number is that of the columns. None: the most frequent length is, the larger of
        two if these are equally frequent. Then, as with the shape of an array, tables of different
        numbers of columns are no neighbours (docs/proofs/encoding.md).
    are_public : bool, default=False
        Raise instead, as scikit-learn does.
    identifier : collection of str, default=()
        The columns among ``feature_names`` that identify people. There the cell of what is no row
        is an empty tuple, which is left out: the row may be somebody's who has other rows.

    Raises
    ------
    TypeError
        If ``feature_names`` is no sequence of names.
    SchemaError
        If most entries are no rows, and there are no names; or if public rows differ in length.
    """
    entries = entries_of(X)
    if entries is None or isinstance(X, _WholeRows):
        return X
    rows = [row_of(entry) for entry in entries]
    lengths = Counter(-1 if row is None else len(row) for row in rows)
    width = max(lengths, key=lambda length: (lengths[length], length), default=0)
    empty: list[Any] = [None] * width
    if feature_names is not None:
        empty = [() if name in identifier else None for name in wanted_names(feature_names)]
        width = len(empty)
    if width < 0:
        raise SchemaError(_NO_ROWS)
    if are_public and len(lengths) > 1:
        raise SchemaError("The rows of X differ in length; give every row the same columns.")
    whole = _WholeRows(empty if row is None or len(row) != width else row for row in rows)
    whole.n_columns = width
    return whole if isinstance(X, list | tuple) else cells_of_rows(whole)


def cells_of_rows(rows: Sequence[Any]) -> Objects:
    """Return a list of rows as an array, shape (n_rows, n_columns).

    Raises
    ------
    SchemaError
        If an entry is no row, or rows differ in length; those of :func:`whole_rows` do not.
    """
    whole: _WholeRows = whole_rows(rows, are_public=True)
    # NumPy would promote [[1, "a"]] to strings, so that one row could change another's cells:
    # cells stay the objects they are.
    cells = object_array(chain.from_iterable(whole), len(whole) * whole.n_columns)
    return cells.reshape(len(whole), whole.n_columns)


def row_of(entry: Any) -> Sequence[Any] | None:
    """Return the cells of an entry of a list; None if it is no row. Never raises."""
    kind = type(entry)
    if kind in _PLAIN:
        return entry if kind in (list, tuple) else None
    try:
        if isinstance(entry, str | bytes | Mapping | Set) or getattr(entry, "ndim", 1) != 1:
            return None
        # A black box gets arrays as they are.
        return entry if kind is np.ndarray else [*entry] if hasattr(entry, "__len__") else None
    except Exception:
        # A class of the user's own, or what has no entries.
        return None


def object_array(cells: Iterable[Any], count: int) -> Objects:
    """Return cells as they are, shape (count,)."""
    # Assigning a list to an object array would unpack cells that are lists themselves.
    return np.fromiter(cells, dtype=np.object_, count=count)


def wanted_names(feature_names: Sequence[str | None]) -> tuple[str | None, ...]:
    """Return the names of the columns; TypeError if they are no sequence."""
    if isinstance(feature_names, str):
        raise TypeError(
            f"feature_names is {feature_names!r}; it must be a sequence of names. Write "
            f"[{feature_names!r}]."
        )
    given = check_sequence("feature_names", feature_names, "names, one for each column")
    return tuple(None if name is None else str(name) for name in given)
