"""Explanations of rows from a released background; nothing here reads a private row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import shortened
from interpret_dp.explanation.budget import BACKGROUND, RowSpend
from interpret_dp.fitting.progress import progress
from interpret_dp.lime.black_box import PublicModel, tried_model
from interpret_dp.lime.local_effects import Perturbations, ShapValues
from interpret_dp.lime.opening import open_query_rows
from interpret_dp.lime.outputs import ExplainedRows, Outputs
from interpret_dp.lime.partial_dependence import ice_lines, partial_dependence
from interpret_dp.lime.public_rows import example_row, places_of, with_replaced_cells
from interpret_dp.lime.trial import Trial
from interpret_dp.released.background import Background, BackgroundColumn
from interpret_dp.schema import Categorical

_FREE = "post-processed"
_MOST_LINES = 10  # of single rows, of all classes together


def explain_rows(
    private: Any,
    method_of: Callable[[Background], Perturbations | ShapValues],
    model: Any,
    X: Any,
    y: Any = None,
    explained_class: Any = None,
    *,
    name: str,
    verbose: bool = False,
) -> Any:
    """Return interpret's explanation of some rows.

    Parameters
    ----------
    private : PrivateBackground
    method_of : callable
        From the background, without what the model refuses, to Perturbations or ShapValues of it.
    model, X, y, explained_class
        As :meth:`~interpret_dp.lime.background.PrivateBackground.explain_local` takes them.
    name : str
    verbose : bool
        Show a progress bar over the rows.
    """
    background = private.to_released()
    opened = open_query_rows(X, background.names, background.schema)
    n_rows = opened.table.n_rows
    box = PublicModel.of(model)
    predictions = box.outputs(opened.X, n_rows)
    outputs = Outputs.of_predictions(box, model, predictions)
    explained = outputs.explained(explained_class, predictions)
    rows = ExplainedRows.of(opened, outputs, explained, predictions, y)
    places = places_of(opened.X, background.names)
    background = _without_refused(background, box, opened.X, private._said)
    method = method_of(background)
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
        privacy=replace(private.privacy_spend_, rows=free),
        name=name,
        feature_names=background.names,
        feature_types=[column.feature.kind for column in background.columns],
    )


def explain_model(
    private: Any,
    model: Any,
    explained_class: Any = None,
    rows: Any = None,
    *,
    name: str,
    verbose: bool = False,
) -> Any:
    """Return interpret's explanation of a model as a whole: its partial dependence on each column.

    Parameters
    ----------
    private : PrivateBackground
    model, explained_class, rows
        As :meth:`~interpret_dp.lime.background.PrivateBackground.explain_global` takes them.
    name : str
    verbose : bool
        Show a progress bar over the columns.
    """
    box, background = PublicModel.of(model), private.to_released()
    if rows is None:
        n_rows, (X, predictions) = 0, _accepted_row(background, box, model, private._example)
    else:
        opened = open_query_rows(rows, background.names, background.schema)
        n_rows, X = opened.table.n_rows, opened.X
        predictions = box.outputs(X, n_rows)
    places = places_of(X, background.names)
    background = _without_refused(background, box, X, private._said)
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
        privacy=private.privacy_spend_,
        name=name,
    )


def _accepted_row(
    background: Background, box: PublicModel, model: Any, example: Any
) -> tuple[Any, NDArray[np.float64]]:
    """Return a row that the model accepts, in the first form that it takes, and its outputs.

    The forms are an array if it was fitted without names, that of the released data, a DataFrame of
    numbers and texts, and one with categories.
    """
    row, fitted = background.sample(1, 0), getattr(model, "__self__", model)
    has_names = hasattr(fitted, "feature_names_in_") or not hasattr(fitted, "n_features_in_")
    coded = {c.feature.name: "category" for c in background.columns if c.feature.cuts is None}
    forms: list[Any] = [row, example_row(row.astype(coded), background.schema.features)]
    if example is not None:
        forms.insert(0, example)
    if not has_names:
        forms.insert(0, row.to_numpy())
    trial = _trial(background, box)
    errors = []
    for form in forms:
        try:
            return trial.accepted_row(form)
        except Exception as error:
            errors.append(error)
    mend = f"It has {shortened(background.names)}. Pass rows= if the model reads other columns."
    with tried_model("a row of the background", mend):
        raise errors[0]


def _trial(background: Background, box: PublicModel) -> Trial:
    """Return the trial of a model on the levels and missing cells that rows are drawn from."""
    values = [c.values(_tried(c), np.zeros(len(_tried(c)))) for c in background.columns]
    return Trial(box.outputs, background.names, values)


def _tried(column: BackgroundColumn) -> NDArray[np.int64]:
    codes = np.flatnonzero(column.is_drawn)
    return codes if isinstance(column.feature.spec, Categorical) else codes[codes == 0]


def _without_refused(
    background: Background, box: PublicModel, X: Any, said: set[str]
) -> Background:
    """Return the background without levels and missing cells that the model refuses.

    Raises
    ------
    ValueError
        If it refuses all levels of a column.
    """
    is_accepted = _trial(background, box).accepted_values(X, said)
    if all(accepted.all() for accepted in is_accepted):
        return background
    columns = []
    for column, accepted in zip(background.columns, is_accepted, strict=True):
        columns.append(replace(column, refused=tuple(_tried(column)[~accepted].tolist())))
        if not columns[-1].is_drawn[1:].any():
            raise ValueError(
                f"The model refuses all declared levels of column {column.feature.name!r}. Pass a "
                "model that accepts one."
            )
    return replace(background, columns=tuple(columns))


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
    rows = with_replaced_cells(X, row, places, is_original, values)
    with tried_model("a row with values of the background", "Declare values that it accepts."):
        return model.outputs(rows, len(is_original))[:, output]
