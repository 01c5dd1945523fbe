"""Asking a black box about rows that are public: the asked ones, and what they are turned into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.labels import checked_outputs, copied_rows, refuse_torch_module
from interpret_dp.schema import Continuous, FeatureSpec
from interpret_dp.schema.cells import numbers_of
from interpret_dp.schema.containers import read_source

__all__ = ["PublicModel", "example_row", "replaced", "tried_model"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PublicModel:
    """A model as a function of public rows, without bounds on what it returns.

    Attributes
    ----------
    gives_probabilities : bool
        Whether each output is the probability of a class: of ``predict_proba``.
    """

    gives_probabilities: bool
    _predict: Callable[[Any], Any] = field(repr=False)

    @classmethod
    def of(cls, model: Any) -> PublicModel:
        """Return a model as a function.

        Raises
        ------
        TypeError
            If it has no such method and is not callable.
        """
        refuse_torch_module(model)
        if isinstance(model, type):
            raise TypeError(
                f"model is the class {model.__name__}; it must be a fitted model. Pass an instance."
            )
        for method in ("predict_proba", "predict"):
            if callable(getattr(model, method, None)):
                return cls(method == "predict_proba", getattr(model, method))
        if callable(model):
            return cls(False, model)
        raise TypeError(
            f"model is of type {type(model).__name__}; it must have predict_proba or predict, or "
            "be callable on rows."
        )

    def outputs(self, X: Any, n_rows: int) -> FloatArray:
        """Return what the model says, shape (n_rows, n_outputs).

        Raises
        ------
        ValueError
            If it returns something else than one number, or a list of numbers, for each row, or
            numbers that are not finite; and whatever the model raises.
        """
        # A copy: what the model writes into its rows must not come back.
        found = checked_outputs(self._predict(copied_rows(X, 0, n_rows)), n_rows)
        if not np.isfinite(found).all():
            raise ValueError(
                "The model returned numbers that are not finite; all must be. Pass a model, or a "
                "function of rows, that returns finite numbers."
            )
        return found


@contextmanager
def tried_model(row: str, mend: str) -> Iterator[None]:
    """Raise ValueError, in our words, if a model fails on a public row.

    Parameters
    ----------
    row : str
        What the row is, in words.
    mend : str
        What the user can do about it.
    """
    try:
        yield
    except Exception as error:
        said = f"{type(error).__name__}: {str(error).rstrip('.')}."
        raise ValueError(f"The model failed on {row}. {said} {mend}") from error


def replaced(
    X: Any,
    row: int,
    columns: Sequence[int],
    kept: NDArray[np.bool_],
    values: Sequence[NDArray[Any]],
) -> Any:
    """Return copies of one row in which some cells are replaced, in the container of the row.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
    row : int
    columns : sequence of int, shape (n_columns,)
        Places of the columns in X.
    kept : ndarray of bool, shape (n, n_columns)
        Which cells of the row stay.
    values : sequence of ndarray, shape (n,) each
        What stands in the other places.
    """
    if isinstance(X, list | tuple):
        return _array(np.array([list(X[row])], dtype=object), columns, kept, values).tolist()
    if isinstance(X, np.ndarray):
        return _array(X[row : row + 1].reshape(1, -1), columns, kept, values).reshape(
            len(kept), *X.shape[1:]
        )
    if hasattr(X, "tocsr"):
        dense = X.tocsr()[[row]].toarray()
        return type(X)(_array(dense, columns, kept, values))
    return _frame(X, row, columns, kept, values)


def example_row(X: Any, specs: Mapping[str, FeatureSpec]) -> Any:
    """Return one public row in the container of a private table.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
        Of which names, types and shapes are looked at, and no cell; nor which categories a type
        lists, or how long its texts are, since these may come from the rows.
    specs : mapping of str to Continuous or Categorical
        Of columns of X, in its order where it has no names. A number is in the middle of its
        bounds, a category has its first level; cells of other columns are missing.
    """
    cells = {name: _usual_cell(spec) for name, spec in specs.items()}
    if isinstance(X, list | tuple):
        return [list(cells.values())]
    if isinstance(X, np.ndarray):
        # The type without its length: that of texts is the longest one's.
        row = np.array([*cells.values()], dtype=object).reshape(1, *X.shape[1:])
        return row.astype(X.dtype.type)
    if hasattr(X, "tocsr"):
        return type(X)(np.array([list(cells.values())], dtype=X.dtype))
    import narwhals as nw
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        types = zip(read_source(X).names or (), X.dtypes, strict=True)
        return pd.DataFrame({name: _typed(cells.get(name), dtype) for name, dtype in types})
    frame = nw.from_native(X, eager_only=True)
    columns = {}
    for name, dtype in frame.collect_schema().items():
        cell = _of_kind(cells.get(name), is_integer=dtype.is_integer())
        kind = nw.Categorical() if dtype == nw.Enum else dtype
        columns[name] = nw.new_series(name, [cell], backend=frame.implementation).cast(kind)
    return nw.from_dict(columns).to_native()


def _usual_cell(spec: FeatureSpec) -> Any:
    return spec.lower / 2 + spec.upper / 2 if isinstance(spec, Continuous) else spec.levels[0]


def _typed(cell: Any, dtype: Any) -> Any:
    """Return one cell as a Series of a dtype, where that can hold it."""
    import pandas as pd

    cell = _of_kind(cell, is_integer=dtype.kind in "iu")
    if isinstance(dtype, pd.CategoricalDtype):
        # Its own categories may come from private rows.
        dtype = pd.CategoricalDtype([] if cell is None else [cell], dtype.ordered)
    try:
        return pd.Series([cell], dtype=dtype)
    except (TypeError, ValueError):
        return pd.Series([cell])


def _of_kind(cell: Any, *, is_integer: bool) -> Any:
    return round(cell) if is_integer and isinstance(cell, float) else cell


def _array(
    cells: NDArray[Any],
    columns: Sequence[int],
    kept: NDArray[np.bool_],
    values: Sequence[NDArray[Any]],
) -> NDArray[Any]:
    copies = np.repeat(cells, len(kept), axis=0)
    if copies.dtype.kind in "iub":
        # Numbers between integers, and missing ones, have no place among integers.
        copies = copies.astype(np.float64)
    if copies.dtype.kind in "US":
        # A longer text would be cut.
        copies = copies.astype(object)
    holds_numbers = copies.dtype.kind == "f"
    for place, stays, new in zip(columns, kept.T, values, strict=True):
        copies[~stays, place] = numbers_of(new[~stays]) if holds_numbers else new[~stays]
    return copies


def _frame(
    X: Any,
    row: int,
    columns: Sequence[int],
    kept: NDArray[np.bool_],
    values: Sequence[NDArray[Any]],
) -> Any:
    """Replace cells of a data frame of any library, and keep dtypes where they can hold them."""
    import narwhals as nw
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return _pandas_frame(X.iloc[row : row + 1], columns, kept, values)
    frame = nw.from_native(X, eager_only=True)
    # A column's name may hold a NUL, on which polars dies when it hands the name to Arrow.
    plain = {name: str(place) for place, name in enumerate(frame.columns)}
    own = frame[row : row + 1].rename(plain).to_pandas()
    found = _pandas_frame(own, columns, kept, values)
    for name in found:
        if pd.api.types.infer_dtype(found[name]).startswith("mixed"):
            found[name] = found[name].map(str, na_action="ignore")
    table = nw.from_arrow(nw.from_native(found).to_arrow(), backend=frame.implementation)
    return table.rename({short: name for name, short in plain.items()}).to_native()


def _pandas_frame(
    X: Any, columns: Sequence[int], kept: NDArray[np.bool_], values: Sequence[NDArray[Any]]
) -> Any:
    """Return copies of the only row of X, some cells replaced."""
    copies = X.iloc[np.zeros(len(kept), dtype=np.int64)].reset_index(drop=True)
    for place, stays, new in zip(columns, kept.T, values, strict=True):
        own = X.iloc[:, place]
        copies[own.name] = _series(own, stays, new)
    return copies


def _series(own: Any, stays: NDArray[np.bool_], new: NDArray[Any]) -> Any:
    """Return copies of one cell, some of them replaced, in its dtype where that can hold them."""
    import pandas as pd

    is_category = isinstance(own.dtype, pd.CategoricalDtype)
    known = own.cat.categories if is_category else own
    if known.dtype.kind in "iufb":
        new = numbers_of(new)
    elif is_category and pd.api.types.infer_dtype(known) == "string":
        new = np.array([cell if cell is None else str(cell) for cell in new], dtype=object)
    if is_category:
        added = dict.fromkeys(cell for cell in new[~stays] if cell is not None and cell == cell)
        categories = [*known, *(cell for cell in added if cell not in known)]
        cells = np.where(stays, own.to_numpy(object), new)
        return pd.Series(cells, name=own.name, dtype=object).astype(
            pd.CategoricalDtype(categories, own.cat.ordered)
        )
    # A missing cell of a nullable dtype has no place among floats in older versions of pandas.
    is_number = own.dtype.kind in "iufb"
    held = own.to_numpy(np.float64, na_value=np.nan) if is_number else own.to_numpy(object)
    cells = np.where(stays, held, new)
    series = pd.Series(cells, name=own.name, dtype=cells.dtype)
    try:
        return series.astype(own.dtype)
    except (TypeError, ValueError):
        # Such as a missing cell, or a fraction, among integers.
        return series.infer_objects()
