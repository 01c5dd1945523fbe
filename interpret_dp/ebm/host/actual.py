"""Actual outcomes of explained rows, in the form that interpret's explanations read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import encode_classes, open_target
from interpret_dp.schema.cells import in_chunks, numbers_of

__all__ = ["actual_values", "labels_in_explanations"]


def labels_in_explanations(classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as interpret's explanations look for them.

    interpret reads labels as text unless all are integers or all are booleans.
    """
    return classes if classes.dtype.kind in "bi" else classes.astype(np.str_)


def actual_values(y: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return outcomes as interpret finds them among the labels; public, as the explained rows are.

    Labels are read as ``fit`` reads them, so that 1.0 is the class 1. interpret takes no missing
    label and shows one that is no class as unknown: both become such a one here.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
    classes : ndarray, shape (n_classes,), or None
        None for a regression.

    Raises
    ------
    SchemaError
        If ``y`` is not one column, or a regression's has a cell that is no finite number.
    """
    if classes is None:
        return _numbers(y)
    codes = encode_classes(y, classes.tolist())
    labels = labels_in_explanations(classes)
    labels = labels.astype(np.int64) if labels.dtype == bool else labels
    return np.append(labels, _no_class(labels))[codes]


def _numbers(y: Any) -> NDArray[np.float64]:
    column = open_target(y)
    numbers = np.empty(len(column), dtype=np.float64)
    for rows, found in in_chunks(column, numbers_of):
        numbers[rows] = found
    if not np.isfinite(numbers).all():
        row = int(np.isfinite(numbers).argmin())
        raise SchemaError(
            f"y is no finite number in row {row} of the rows to be explained; interpret shows "
            "such numbers alone. Leave y out, or explain the rows that have one."
        )
    return numbers


def _no_class(labels: NDArray[Any]) -> NDArray[Any]:
    """Return an array of one cell that is none of the labels, and changes none when appended."""
    if labels.dtype.kind == "i":
        return np.array([labels.max() + 1])
    text = "(unknown)"
    while text in labels.tolist():
        text += "?"
    return np.array([text])
