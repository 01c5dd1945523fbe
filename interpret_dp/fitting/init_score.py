"""Scores that rows start from: given as numbers, or by another model.

A score belongs to its row alone, as the target does, so it costs nothing: residuals are clipped
after it was taken into account, and the sensitivity stays what it is (docs/proofs/dp_ebm.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, FeatureSpec, open_table
from interpret_dp.schema.cells import in_chunks, numbers_of
from interpret_dp.schema.containers import Values, open_column
from interpret_dp.schema.kinds import refuse_texts
from interpret_dp.schema.lists import whole_rows

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
    init_score: Any, X: Any, n_rows: int, target: FeatureSpec | None, *, task: str
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
                "init_score was given, and the class labels are not declared, so that it is not "
                "known which score belongs to which class. Declare "
                "Schema(..., target=Categorical([label, ...]))."
            )
        levels = target.levels
    shape = (n_rows, len(levels) if len(levels) > 2 else 1)
    if callable(getattr(init_score, "predict_proba" if levels else "predict", None)):
        _check_classes(init_score, levels)
        return partial(_model_scores, init_score, X, levels, shape)
    if callable(getattr(init_score, "predict", None)):
        raise TypeError(
            f"init_score is of type {type(init_score).__name__}, which has no predict_proba; for a "
            "classifier it must be a model that has it, or an array of scores."
        )
    numbers = _numbers(init_score, shape, task)
    return lambda: numbers


def _check_classes(model: Any, levels: tuple[Any, ...]) -> None:
    known = getattr(model, "classes_", None)
    if levels and known is not None and list(known) != list(levels):
        raise SchemaError(
            f"init_score is a model of the classes {np.asarray(known).tolist()}; the declared ones "
            f"are {list(levels)}. Pass a model of the same classes, or an array of scores."
        )


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


def _numbers(scores: Any, shape: tuple[int, int], task: str) -> NDArray[np.float64]:
    """Read scores in any container, each cell by itself."""
    if shape[1] > 1:
        # In a list, a row without as many cells starts from zeros.
        scores = whole_rows(scores, (None,) * shape[1])
    is_table = hasattr(scores, "columns") or getattr(scores, "ndim", 1) > 1
    if is_table:
        table = open_table(scores)
        columns = [table.column(index) for index in range(len(table.names))]
    else:
        columns = [open_column("init_score", scores)]
    for column in columns:
        refuse_texts("init_score", column)
    if len(columns) != shape[1] or any(len(column) != shape[0] for column in columns):
        raise _other_shape(shape, task)
    return np.column_stack([_finite(column) for column in columns])


def _other_shape(shape: tuple[int, int], task: str) -> SchemaError:
    # The number of rows is private: only that of the columns is quoted.
    return SchemaError(
        "init_score has another number of columns, or not as many rows as X; it must have one "
        f"entry for each row of X, with {shape[1]} columns: {_meaning(shape[1], task)}."
    )


def _finite(values: Values) -> NDArray[np.float64]:
    """Read each cell by itself: what is not a finite number is 0."""
    numbers = np.empty(len(values), dtype=np.float64)
    for rows, chunk in in_chunks(values, numbers_of):
        numbers[rows] = np.where(np.isfinite(chunk), chunk, 0.0)
    return numbers


def _meaning(n_scores: int, task: str) -> str:
    if task == "regression":
        return "a number in units of the target"
    return "one score a class" if n_scores > 1 else "the logit of the second class"
