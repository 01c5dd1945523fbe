"""The forms in which a column of any container is handed to the scalar rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["CodedColumn", "Values", "category_values", "is_category_coded"]

#: A NumPy array, a pandas extension array or a CodedColumn, in the dtype in which it came.
Values: TypeAlias = Any


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """A column as codes into a list of values, which may repeat and be missing. Private.

    pandas' own categories must be unique and present. Those of an Arrow dictionary need not be,
    and whether they are is a property of the rows, which must not decide whether a table is read.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows,)
        Positions among the categories; -1 for a missing cell.
    categories : pandas.Index, shape (n_categories,)
        What the codes stand for, as pandas' own category-coded columns have it.
    ordered : bool
        Whether the order of the categories means something.
    is_text : bool
        Whether the type says that cells are strings.
    """

    codes: npt.NDArray[np.signedinteger[Any]]
    categories: Any
    ordered: bool
    is_text: bool = False

    #: That of the cells, one by one.
    dtype: ClassVar[np.dtype[np.object_]] = np.dtype(np.object_)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def __getitem__(self, rows: Any) -> CodedColumn:
        """Return the column of some rows: a slice, a mask or positions."""
        return replace(self, codes=self.codes[rows])

    def to_numpy(self, dtype: Any = np.object_) -> npt.NDArray[Any]:
        """Return the cells, shape (n_rows,); None for a missing one."""
        cells = np.empty(len(self.categories) + 1, dtype=np.object_)
        cells[:-1] = list(self.categories)
        return np.asarray(cells[self.codes], dtype=dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the cells as NumPy asks for them."""
        if copy is False:
            raise ValueError("copy is False; a coded column is read by copying: leave copy out.")
        return self.to_numpy(np.object_ if dtype is None else dtype)


def is_category_coded(values: Values) -> bool:
    """Return whether ``values`` is a list of values and codes into it."""
    return hasattr(values, "codes") and hasattr(values, "categories")


def category_values(values: Values) -> Values:
    """Return the list that the codes of a category-coded column point into."""
    index = values.categories
    return index.to_numpy() if isinstance(index.dtype, np.dtype) else index.array
