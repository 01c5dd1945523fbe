"""Explanations of rows from a released background; nothing here reads a private row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from interpret_dp.explanation.row_spend import BACKGROUND, RowSpend
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.progress import progress
from interpret_dp.lime.asked import Outputs, actual_values, row_document
from interpret_dp.lime.asking import PublicModel, replaced
from interpret_dp.lime.opening import OpenedRows, open_model_rows
from interpret_dp.lime.perturbations import Perturbations
from interpret_dp.released.background import Background
from interpret_dp.schema.kinds import warn_of_mismatches
from interpret_dp.schema.tables import read_source

__all__ = ["explain_rows", "row_costs"]

_FREE = "post-processed"
_MEANING = "of this value, against the usual ones"


def row_costs(n_rows: int) -> tuple[RowSpend, ...]:
    """Return what explanations of rows cost: nothing, since the background is paid for."""
    return (RowSpend(0.0, _FREE, BACKGROUND),) * n_rows


def explain_rows(
    background: Background,
    perturbations: Perturbations,
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
    perturbations : Perturbations
        Of the background.
    model, X, y, explained_class
        As :meth:`~interpret_dp.lime.background.PrivateBackground.explain_local` takes them.
    privacy : PrivacySpend
        Of the background; :func:`row_costs` are added.
    name : str
    verbose : bool
        Show a progress bar over the rows.
    """
    opened = _open(background, X)
    n_rows = opened.table.n_rows
    asked = PublicModel.of(model)
    predicted = asked.outputs(opened.X, n_rows)
    is_several = asked.gives_probabilities or predicted.shape[1] > 1
    outputs = Outputs.of_model(model, predicted.shape[1], are_probabilities=is_several)
    chosen = outputs.chosen(explained_class, predicted)
    actual = np.full(n_rows, np.nan) if y is None else actual_values(y, outputs, chosen)
    places = _places(opened.X, background.names)
    documents = []
    for row in progress(range(n_rows), verbose=verbose, desc="Rows"):
        copies = replaced(opened.X, row, places, perturbations.kept, perturbations.values)
        found = asked.outputs(copies, len(perturbations))
        fit = perturbations.fit(found[:, chosen[row]])
        documents.append(
            row_document(
                opened,
                row,
                background.names,
                effects=fit.effects,
                standard_errors=fit.standard_errors,
                start=("Baseline", fit.baseline),
                output=outputs.text(chosen[row]),
                predicted=predicted[row, chosen[row]],
                actual=actual[row],
                fit={"prediction": fit.prediction, "fidelity": fit.fidelity},
                method=BACKGROUND,
                meaning=_MEANING,
            )
        )
    from interpret_dp.explanation.local_objects import local_explanation

    return local_explanation(
        documents,
        privacy=privacy,
        name=name,
        feature_names=background.names,
        feature_types=[column.feature.kind for column in background.columns],
    )


def _open(background: Background, X: Any) -> OpenedRows:
    """Open the asked rows, which are public to whoever sees the explanation."""
    opened, _ = open_model_rows(
        X, feature_names=background.names, schema=background.schema, needs_unit=False
    )
    if opened.table.n_rows == 0:
        raise ValueError("X has 0 rows; there must be at least one row to explain.")
    specs = [column.feature.spec for column in background.columns]
    warn_of_mismatches(opened.table, specs)
    return opened


def _places(X: Any, names: Sequence[str]) -> list[int]:
    """Return where the columns stand in a container that may have others beside them."""
    own = read_source(X).names if not hasattr(X, "tocsr") else None
    return list(range(len(names))) if own is None else [own.index(name) for name in names]
