"""A black box as a function of public rows, and its trial on some of them before a charge."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import DeclarationWarning, warn_caller
from interpret_dp.released.background import public_generator
from interpret_dp.schema import Categorical, FeatureSpec, Integer
from interpret_dp.schema.cells import level_key, numbers_of
from interpret_dp.schema.containers import read_source

Floats = NDArray[np.float64]

# Public rows in the container of the caller: an example, and copies with other cells.
#
# A model that is in production takes its own container: it gets that container back, with names and
# dtypes as they were, as far as these can hold the new cells.

# Place of each column, which copies keep their cell, and the cells of the others.
_Changes = list[tuple[int, NDArray[np.bool_], NDArray[Any]]]


def with_replaced_cells(
    X: Any,
    row: int,
    columns: Sequence[int],
    is_original: NDArray[np.bool_],
    values: Sequence[NDArray[Any]],
) -> Any:
    """Return copies of one row in which some cells are replaced, in the container of the row.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
    row : int
    columns : sequence of int, shape (n_columns,)
        Places of the columns in X.
    is_original : ndarray of bool, shape (n, n_columns)
        Which cells of the row stay.
    values : sequence of ndarray, shape (n,) each
        Cells of the other places.
    """
    changes = list(zip(columns, is_original.T, values, strict=True))
    n_rows = len(is_original)
    if isinstance(X, list | tuple):
        return _array(np.array([list(X[row])], dtype=object), n_rows, changes).tolist()
    if isinstance(X, np.ndarray):
        return _array(X[row : row + 1], n_rows, changes)
    if hasattr(X, "tocsr"):
        return type(X)(_array(X.tocsr()[[row]].toarray(), n_rows, changes))
    return _frame(X, row, n_rows, changes)


def example_row(X: Any, specs: Mapping[str, FeatureSpec]) -> Any:
    """Return one public row in the container of a private table.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
        Of which names, types and shapes are looked at, and no cell; nor which categories a type
        lists, or how wide its texts and numbers are, since these may come from the rows.
    specs : mapping of str to Continuous or Categorical
        Of columns of X, in its order where it has no names. A number is in the middle of its
        bounds, a category has its first level; cells of other columns are missing. A categorical
        type lists the declared levels: in the order of an ordered one of pandas, else as declared.
    """
    cells = {name: _usual_cell(spec) for name, spec in specs.items()}
    levels = {name: s.levels for name, s in specs.items() if isinstance(s, Categorical)}
    if isinstance(X, list | tuple):
        return [list(cells.values())]
    if isinstance(X, np.ndarray):
        # The type without its length: that of texts is the longest one's.
        row = np.array([[*cells.values()]], dtype=object)
        return _held(row, np.dtype(X.dtype.type))
    if hasattr(X, "tocsr"):
        return type(X)(_held(np.array([list(cells.values())], dtype=object), X.dtype))
    import narwhals as nw
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        types = zip(read_source(X).names or (), X.dtypes, strict=True)
        return pd.DataFrame(
            {name: _typed(cells.get(name), dtype, levels.get(name, ())) for name, dtype in types}
        )
    frame = nw.from_native(X, eager_only=True)
    columns = {}
    for name, dtype in frame.collect_schema().items():
        cell = _of_kind(cells.get(name), is_integer=dtype.is_integer())
        kind = nw.Enum(map(str, levels.get(name, ()))) if dtype == nw.Enum else dtype
        columns[name] = nw.new_series(name, [cell], backend=frame.implementation)
        # Whether a type is too narrow for the cell may come from the rows.
        with suppress(Exception):
            columns[name] = columns[name].cast(kind)
    return nw.from_dict(columns).to_native()


def places_of(X: Any, names: Sequence[str]) -> list[int]:
    """Return where the columns stand in a container that may have others beside them."""
    is_array = isinstance(X, np.ndarray) or hasattr(X, "tocsr")
    own = (None if is_array else read_source(X).names) or tuple(names)
    return [own.index(name) for name in names]


def _usual_cell(spec: FeatureSpec) -> Any:
    if isinstance(spec, Categorical):
        return spec.levels[0]
    middle = spec.lower / 2 + spec.upper / 2
    return float(round(middle)) if isinstance(spec, Integer) else middle


def _typed(cell: Any, dtype: Any, levels: Sequence[Any]) -> Any:
    """Return one cell as a Series of a dtype, where that can hold it."""
    import pandas as pd

    cell = _of_kind(cell, is_integer=dtype.kind in "iu")
    if isinstance(dtype, pd.CategoricalDtype):
        # Its own categories may come from private rows; the order of ordered ones is public.
        order = [level_key(known) for known in dtype.categories] if dtype.ordered else []
        own = sorted(levels, key=lambda level: [*order, level_key(level)].index(level_key(level)))
        dtype = pd.CategoricalDtype(own, dtype.ordered)
    try:
        with np.errstate(over="raise"):
            return pd.Series([cell], dtype=dtype)
    except (TypeError, ValueError, ArithmeticError):
        return pd.Series([cell])


def _held(cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return cells in a dtype, or in the first wider one that holds them."""
    wider = [np.dtype(np.int64)] if dtype.kind != "f" else []
    for kind in (dtype, *wider, np.dtype(np.float64)):
        with suppress(ArithmeticError, ValueError), np.errstate(over="raise"):
            return cells.astype(kind)
    return cells


def _of_kind(cell: Any, *, is_integer: bool) -> Any:
    is_rounded = is_integer and isinstance(cell, float) and abs(cell) < 2.0**63
    return round(cell) if is_rounded else cell


def _array(cells: NDArray[Any], n_rows: int, changes: _Changes) -> NDArray[Any]:
    copies = np.repeat(cells, n_rows, axis=0)
    if copies.dtype.kind in "iub":
        # Numbers between integers, and missing ones, have no place among integers.
        copies = copies.astype(np.float64)
    if copies.dtype.kind in "US":
        # A longer text would be cut.
        copies = copies.astype(object)
    holds_numbers = copies.dtype.kind == "f"
    for place, stay, new in changes:
        copies[~stay, place] = numbers_of(new[~stay]) if holds_numbers else new[~stay]
    return copies


def _frame(X: Any, row: int, n_rows: int, changes: _Changes) -> Any:
    """Replace cells of a data frame of any library, and keep dtypes where they can hold them."""
    import narwhals as nw
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return _pandas_frame(X.iloc[row : row + 1], n_rows, changes)
    frame = nw.from_native(X, eager_only=True)
    # A column's name may hold a NUL, on which polars dies when it hands the name to Arrow.
    plain = {name: str(place) for place, name in enumerate(frame.columns)}
    frame_row = frame[row : row + 1].rename(plain).to_pandas()
    copies = _pandas_frame(frame_row, n_rows, changes)
    for name in copies:
        if pd.api.types.infer_dtype(copies[name]).startswith("mixed"):
            copies[name] = copies[name].map(str, na_action="ignore")
    table = nw.from_arrow(nw.from_native(copies).to_arrow(), backend=frame.implementation)
    for name, dtype in frame.schema.items():
        if dtype == nw.Enum:
            with suppress(Exception):  # a level may be none of its own
                table = table.with_columns(nw.col(plain[name]).cast(dtype))
    return table.rename({short: name for name, short in plain.items()}).to_native()


def _pandas_frame(X: Any, n_rows: int, changes: _Changes) -> Any:
    """Return copies of the only row of X, some cells replaced."""
    copies = X.iloc[np.zeros(n_rows, dtype=np.int64)].reset_index(drop=True)
    for place, stay, new in changes:
        column = X.iloc[:, place]
        copies[column.name] = _series(column, stay, new)
    return copies


def _series(column: Any, stay: NDArray[np.bool_], new: NDArray[Any]) -> Any:
    """Return copies of one cell, some of them replaced, in its dtype where that can hold them."""
    import pandas as pd

    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    known = column.cat.categories if is_category else column
    if known.dtype.kind in "iufb":
        new = numbers_of(new)
    elif is_category and pd.api.types.infer_dtype(known) == "string":
        new = np.array([cell if cell is None else str(cell) for cell in new], dtype=object)
    if is_category:
        present = [cell for cell in new[~stay] if cell is not None and cell == cell]
        # False and 0.0 are one level, which is written as the column has it.
        levels = {level: level for level in dict.fromkeys([*known, *present])}
        written = [levels.get(cell) for cell in np.where(stay, column.to_numpy(object), new)]
        return pd.Series(written, name=column.name, dtype=object).astype(
            pd.CategoricalDtype(list(levels), column.cat.ordered)
        )
    # A missing cell of a nullable dtype has no place among floats in older versions of pandas.
    is_number = column.dtype.kind in "iufb"
    held = column.to_numpy(np.float64, na_value=np.nan) if is_number else column.to_numpy(object)
    cells = np.where(stay, held, new)
    series = pd.Series(cells, name=column.name, dtype=cells.dtype)
    try:
        typed = series.astype(column.dtype)
    except (OverflowError, TypeError, ValueError):
        # Such as a missing cell among integers.
        return series.infer_objects()
    # NumPy cuts fractions, wraps what is too large, and takes a missing cell for True.
    is_same = column.dtype.kind not in "iub" or np.array_equal(
        typed.to_numpy(np.float64, na_value=np.nan), cells, equal_nan=True
    )
    return typed if is_same else series


@dataclass(frozen=True)
class PublicModel:
    """A model as a function of public rows.

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
        _refuse_torch_module(model)
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

    def outputs(self, X: Any, n_rows: int) -> Floats:
        """Return the model's outputs, shape (n_rows, n_outputs).

        Raises
        ------
        ValueError
            If it returns something else than one number, or a list of numbers, for each row, or
            numbers that are not finite. Errors of the model pass through.
        """
        outputs = _answers(self._predict, X, n_rows)
        if not np.isfinite(outputs).all():
            raise ValueError(
                "The model returned numbers that are not finite; all must be. Pass a model, or a "
                "function of rows, that returns finite numbers."
            )
        return outputs


@contextmanager
def tried_model(row: str, mend: str) -> Iterator[None]:
    """Raise ValueError with a remedy if a model fails on a public row.

    Parameters
    ----------
    row : str
        Description of the row.
    mend : str
        Remedy for the user.
    """
    try:
        yield
    except Exception as error:
        message = f"{type(error).__name__}: {str(error).rstrip('.')}."
        raise ValueError(f"The model failed on {row}. {message} {mend}") from error


def _refuse_torch_module(model: Any) -> None:
    """Raise TypeError for a torch module, whose input tensors cannot be made from rows."""
    kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(model).__mro__]
    if "torch.nn.modules.module.Module" in kinds:
        raise TypeError(
            f"model is a torch module ({type(model).__name__}), which takes tensors; rows come in "
            "the container that you pass. Pass a function of rows, such as "
            "lambda X: model(torch.as_tensor(X, dtype=torch.float32)).softmax(dim=1)."
        )


def _in_halves(attempt: Callable[[int, int], bool], count: int) -> None:
    """Attempt places from 0 to ``count``, and each half where that fails, down to single places."""
    pending = [(0, count)] if count else []
    while pending:
        start, stop = pending.pop()
        if not attempt(start, stop) and stop - start > 1:
            middle = (start + stop) // 2
            pending += [(start, middle), (middle, stop)]


def _answers(predict: Callable[[Any], Any], X: Any, n_rows: int) -> Floats:
    """Return a model's outputs for rows, or raise ValueError.

    It gets a copy, since it may write into its rows. Tensors of torch are taken as well.
    """
    answer = predict(_copied_rows(X))
    if callable(getattr(answer, "detach", None)):
        answer = answer.detach().cpu()
    try:
        outputs = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "The model returned no numbers, but such as labels; numbers are needed. Pass a model "
            "with predict_proba, or a function of rows that returns probabilities or scores."
        ) from None
    if outputs.ndim == 1:
        outputs = outputs[:, np.newaxis]
    if outputs.ndim != 2 or len(outputs) != n_rows or outputs.shape[1] < 1:
        raise ValueError(
            f"The model returned an array of shape {np.shape(answer)} for {n_rows} rows; it "
            "must return one number, or one list of numbers, for each row."
        )
    return outputs


def _copied_rows(X: Any) -> Any:
    """Return a copy of rows in a container of the same kind."""
    if isinstance(X, list | tuple):
        return [copy.copy(row) for row in X]
    if hasattr(X, "iloc"):
        return X.copy()
    # Arrow's tables cannot be written into.
    return X.slice(0) if hasattr(X, "slice") else X.copy()


# Trial of a model on public rows: which declared values it refuses.
#
# Rows differ from one that the model accepts in a single cell. They are made from declarations, a
# released background, or rows to explain, so that what the model says of them is public.

_NOT_DRAWN = (
    "Refused levels and missing cells are not drawn; an explanation fails if a refused number is."
)

_MOST_RANDOM = 256  # rows, until the model accepts one
_MOST_SHOWN = 5


def declared_values(spec: FeatureSpec) -> NDArray[Any]:
    """Return values to try a model with: all levels, or the least and the largest integer.

    Other numbers are not tried: the array is empty.
    """
    if isinstance(spec, Categorical):
        return np.array([None, *spec.levels], dtype=object)[1:]
    is_integer = isinstance(spec, Integer)
    return np.array([int(spec.lower), int(spec.upper)] if is_integer else [], dtype=object)


@dataclass(frozen=True)
class Trial:
    """Trial of a model on public rows.

    Attributes
    ----------
    ask : callable
        Returns the model's outputs for rows, given their number. An exception means that the model
        refuses one of them.
    names : sequence of str, shape (n_columns,)
    values : sequence of ndarray, shape (n_values,) each
        Values of each column to try; none where the array is empty.
    """

    ask: Callable[[Any, int], Floats]
    names: Sequence[str]
    values: Sequence[NDArray[Any]]

    def accepted_row(self, X: Any) -> tuple[Any, Floats]:
        """Return a row that the model accepts, and its outputs: X, or X with other values.

        Parameters
        ----------
        X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
            One public row.

        Raises
        ------
        Exception
            What the model raised for X, if it refuses every row.
        """
        try:
            return X, self.ask(X, 1)
        except Exception:
            draws = public_generator(0).random((_MOST_RANDOM, len(self.values)))
            several = (draws * [len(own) for own in self.values]).astype(np.int64)
            for choice in (*self._single_changes(), *several):
                row = self._changed(X, choice[np.newaxis])
                outputs = self._outputs(row, 1)
                if outputs is not None:
                    return row, outputs
            raise

    def accepted_values(self, X: Any, said: set[str]) -> list[NDArray[np.bool_]]:
        """Return which values the model accepts in the first row of X, and warn of others.

        Parameters
        ----------
        X : as :meth:`accepted_row` takes it
            The model accepts its first row.
        said : set of str
            Lines of earlier warnings, which are not said again. Those of this one are added.

        Returns
        -------
        list of ndarray of bool, shape (n_values,) each

        Warns
        -----
        DeclarationWarning
            With one line for each column in which the model refuses a value.
        """
        choices = self._single_changes()
        is_accepted = np.zeros(len(choices), dtype=bool)

        def accept(start: int, stop: int) -> bool:
            rows = self._changed(X, choices[start:stop])
            is_accepted[start:stop] = self._outputs(rows, stop - start) is not None
            return bool(is_accepted[start])

        _in_halves(accept, len(choices))
        parts = np.split(is_accepted, np.cumsum([len(own) for own in self.values])[:-1])
        lines = [
            f"Column {name!r}: the model refuses {_shown(own[~accepted].tolist())}. {_NOT_DRAWN} "
            "Pass a model that accepts all declared values, or declare fewer."
            for name, own, accepted in zip(self.names, self.values, parts, strict=True)
            if not accepted.all()
        ]
        if not said.issuperset(lines):
            said.update(lines)
            warn_caller("\n".join(lines), DeclarationWarning)
        return parts

    def _single_changes(self) -> NDArray[np.int64]:
        """Return one row for each value: its position in its column, -1 in others, which stay."""
        sizes = [len(own) for own in self.values]
        choices = np.full((sum(sizes), len(sizes)), -1, dtype=np.int64)
        columns = np.repeat(np.arange(len(sizes)), sizes)
        choices[np.arange(len(columns)), columns] = [k for size in sizes for k in range(size)]
        return choices

    def _changed(self, X: Any, choices: NDArray[np.int64]) -> Any:
        """Return copies of the first row of X, with one row of choices each."""
        tried = [k for k, own in enumerate(self.values) if len(own)]
        values = [self.values[k][choices[:, k]] for k in tried]
        places = np.array(places_of(X, self.names))[tried].tolist()
        return with_replaced_cells(X, 0, places, choices[:, tried] < 0, values)

    def _outputs(self, rows: Any, n_rows: int) -> Floats | None:
        """Return the model's outputs; None if it refuses a row."""
        try:
            return self.ask(rows, n_rows)
        except Exception:
            return None


def _shown(values: Sequence[Any]) -> str:
    """Return the first values in words."""
    texts = ["missing cells" if v is None or v != v else repr(v) for v in values[:_MOST_SHOWN]]
    hidden = len(values) - len(texts)
    return ", ".join(texts) + (f" and {hidden} more" if hidden else "")
