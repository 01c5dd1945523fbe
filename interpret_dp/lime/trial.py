"""Trial of a model on public rows: which declared values it refuses.

Rows differ from one that the model accepts in a single cell. They are made from declarations, a
released background, or rows to explain, so that what the model says of them is public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import DeclarationWarning, warn_caller
from interpret_dp.lime.public_rows import places_of, with_replaced_cells
from interpret_dp.released.background import public_generator
from interpret_dp.schema import Categorical, FeatureSpec, Integer

_Outputs = NDArray[np.float64]

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

    ask: Callable[[Any, int], _Outputs]
    names: Sequence[str]
    values: Sequence[NDArray[Any]]

    def accepted_row(self, X: Any) -> tuple[Any, _Outputs]:
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
        pending = [(0, len(choices))] if len(choices) else []
        while pending:
            start, stop = pending.pop()
            rows = self._changed(X, choices[start:stop])
            if self._outputs(rows, stop - start) is not None:
                is_accepted[start:stop] = True
            elif stop - start > 1:
                middle = (start + stop) // 2
                pending += [(start, middle), (middle, stop)]
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

    def _outputs(self, rows: Any, n_rows: int) -> _Outputs | None:
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
