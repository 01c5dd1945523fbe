"""Explanations of rows from a released background; nothing here reads a private row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import shortened
from interpret_dp.explanation.budget import BACKGROUND, RowSpend
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.progress import progress
from interpret_dp.lime.black_box import PublicModel, tried_model
from interpret_dp.lime.local_effects import Perturbations, ShapValues
from interpret_dp.lime.opening import open_query_rows
from interpret_dp.lime.outputs import ExplainedRows, Outputs
from interpret_dp.lime.partial_dependence import ice_lines, partial_dependence
from interpret_dp.lime.public_rows import with_replaced_cells
from interpret_dp.released.background import Background
from interpret_dp.schema.containers import read_source

_FREE = "post-processed"
_MOST_LINES = 10  # of single rows, of all classes together


def explain_rows(
    background: Background,
    method: Perturbations | ShapValues,
    model: Any,
    X: Any,
    y: Any = None,
    explained_class: Any = None,
    *,
    privacy: PrivacySpend,
    name: str,
    verbose: bool = False,
) -> Any:
    """Return interpret's explanation of some rows.

    Parameters
    ----------
    background : Background
    method : Perturbations or ShapValues
        Of the background.
    model, X, y, explained_class
        As :meth:`~interpret_dp.lime.background.PrivateBackground.explain_local` takes them.
    privacy : PrivacySpend
        Of the background; that rows cost nothing more is added.
    name : str
    verbose : bool
        Show a progress bar over the rows.
    """
    opened = open_query_rows(X, background.names, background.schema)
    n_rows = opened.table.n_rows
    box = PublicModel.of(model)
    predictions = box.outputs(opened.X, n_rows)
    outputs = Outputs.of_predictions(box, model, predictions)
    explained = outputs.explained(explained_class, predictions)
    rows = ExplainedRows.of(opened, outputs, explained, predictions, y)
    places = _places(opened.X, background.names)
    documents = []
    for row in progress(range(n_rows), verbose=verbose, desc="Rows"):
        fit = method.explain(partial(_output, box, opened.X, places, row, explained[row]))
        documents.append(
            rows.document(
                row,
                fit.effects,
                fit.standard_errors,
                method=BACKGROUND,
                origin=_FREE,
                baseline=("Baseline", fit.baseline),
                meaning=method.meaning,
                fit=fit.shown,
            )
        )
    from interpret_dp.explanation.local_objects import local_explanation

    free = (RowSpend(0.0, _FREE, BACKGROUND),) * n_rows
    return local_explanation(
        documents,
        privacy=replace(privacy, rows=free),
        name=name,
        feature_names=background.names,
        feature_types=[column.feature.kind for column in background.columns],
    )


def explain_model(
    background: Background,
    model: Any,
    explained_class: Any = None,
    rows: Any = None,
    *,
    privacy: PrivacySpend,
    name: str,
    verbose: bool = False,
) -> Any:
    """Return interpret's explanation of a model as a whole: its partial dependence on each column.

    Parameters
    ----------
    background : Background
    model, explained_class, rows
        As :meth:`~interpret_dp.lime.background.PrivateBackground.explain_global` takes them.
    privacy : PrivacySpend
        Of the background.
    name : str
    verbose : bool
        Show a progress bar over the columns.
    """
    box = PublicModel.of(model)
    if rows is None:
        n_rows, X = 0, _example(background, model)
        mend = f"It has {shortened(background.names)}. Pass rows= if the model reads other columns."
        with tried_model("a row of the background", mend):
            predictions = box.outputs(X, 1)
    else:
        opened = open_query_rows(rows, background.names, background.schema)
        n_rows, X = opened.table.n_rows, opened.X
        predictions = box.outputs(X, n_rows)
    places = _places(X, background.names)
    outputs = Outputs.of_predictions(box, model, predictions)
    if explained_class is None and predictions.shape[1] > 2:
        explained = list(range(predictions.shape[1]))
    else:
        explained = [outputs.explained(explained_class, predictions)[0]]
    outputs_at = [partial(_output, box, X, places, row, explained) for row in range(max(n_rows, 1))]
    n_lines = min(n_rows, max(1, _MOST_LINES // len(explained)))
    from interpret_dp.explanation.dependence_objects import dependence_explanation

    dependence = partial_dependence(background, outputs_at[0], verbose=verbose)
    return dependence_explanation(
        background,
        dependence.intercept,
        dependence.curves,
        dependence.variances,
        fidelity=dependence.fidelity,
        lines=[ice_lines(background, outputs_at[row]) for row in range(n_lines)],
        output=outputs.text(explained[0] if len(explained) == 1 else None),
        classes=None if len(explained) == 1 else outputs.classes,
        privacy=privacy,
        name=name,
    )


def _example(background: Background, model: Any) -> Any:
    """Return a row in a form that the model takes: an array if it was fitted without names."""
    row, fitted = background.sample(1, 0), getattr(model, "__self__", model)
    has_names = hasattr(fitted, "feature_names_in_") or not hasattr(fitted, "n_features_in_")
    return row if has_names else row.to_numpy()


def _output(
    model: PublicModel,
    X: Any,
    places: Sequence[int],
    row: int,
    output: int | Sequence[int],
    is_original: NDArray[np.bool_],
    values: Sequence[NDArray[Any]],
) -> Any:
    """Return the model's output for copies of one row in which some cells are replaced."""
    return model.outputs(
        with_replaced_cells(X, row, places, is_original, values), len(is_original)
    )[:, output]


def _places(X: Any, names: Sequence[str]) -> list[int]:
    """Return where the columns stand in a container that may have others beside them."""
    column_names = read_source(X).names if not hasattr(X, "tocsr") else None
    return (
        list(range(len(names)))
        if column_names is None
        else [column_names.index(name) for name in names]
    )
