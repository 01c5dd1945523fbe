"""Predictions and terms of a model for Dask collections: computed where the rows are, when asked.

Nothing is released here: rows are the caller's own, and the model is public.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.schema.containers import is_dask

__all__ = ["answered_lazily"]


def answered_lazily(model: Any, method: str, X: Any, init_score: Any = None) -> Any:
    """Return what a method of a fitted model says of a Dask collection, as a Dask array.

    Parameters
    ----------
    model : PrivateEBM
        Fitted.
    method : str
        Takes rows, and ``init_score`` where it is given.
    X : dask.dataframe.DataFrame or dask.array.Array, shape (n_rows, n_features)
    init_score : Dask collection, model or None

    Raises
    ------
    TypeError
        If ``init_score`` holds numbers in memory.
    SchemaError
        If the columns do not fit, or the collections are not cut alike.
    """
    from interpret_dp.backends.dask import open_pieces
    from interpret_dp.backends.dask.collections import mapped_array

    given = {"X": X}
    asked = None
    if init_score is not None and not is_dask(init_score) and hasattr(init_score, "predict"):
        asked = init_score
    elif init_score is not None:
        given["init_score"] = init_score
    pieces = open_pieces(given)
    # Workers need no ledger, which may be of this process alone.
    public = copy.copy(model)
    public.ledger = None
    call = partial(_answer, method, pieces.roles, asked)
    form = np.asarray(call(public, *(pieces.forms[role] for role in pieces.roles)))
    return mapped_array(call, public, pieces, form[:0])


def _answer(
    method: str, roles: tuple[str, ...], asked: Any, model: Any, *pieces: Any
) -> NDArray[Any]:
    given = dict(zip(roles, pieces, strict=True))
    start = given.get("init_score", asked)
    extra = {} if start is None else {"init_score": start}
    return np.asarray(getattr(model, method)(given["X"], **extra))
