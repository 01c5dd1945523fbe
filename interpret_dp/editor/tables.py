"""Tables about a session: its changes, and the features that a term is correlated with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interpret_dp.editor.bins import code_labels
from interpret_dp.editor.state import State
from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    import pandas as pd

_ROUNDING = 1e-12


def changes_table(base: AdditiveModel, state: State) -> pd.DataFrame:
    """Return one row a term (and class) whose scores or share of the intercept changed."""
    import pandas as pd

    n_scores = len(base.intercept)
    labels = base.classes if base.classes is not None and n_scores > 1 else (None,)
    rows = []
    for index, name in enumerate(base.term_names):
        feature = base.subject(base.terms[index])
        change = state.terms[index].scores - base.terms[index].scores
        columns = change.reshape(len(change), n_scores)
        for label, column, moved in zip(labels, columns.T, state.moved[index], strict=True):
            largest = int(np.argmax(np.abs(column)))
            if column[largest] or moved:
                rows.append(
                    {
                        "term": name,
                        "class": label,
                        "bins": int(np.count_nonzero(column)),
                        "largest_change": float(column[largest]),
                        "at": code_labels(feature)[largest],
                        # What rounding leaves of nothing is shown as nothing.
                        "moved": float(moved) if abs(moved) > _ROUNDING else 0.0,
                    }
                )
    names = ["term", "class", "bins", "largest_change", "at", "moved"]
    return pd.DataFrame(rows, columns=names)


def correlated_table(base: AdditiveModel, index: int, codes: Sequence[int] | None) -> pd.DataFrame:
    """Return the features that a term's feature is most correlated with, as the fit released.

    Parameters
    ----------
    base : AdditiveModel
    index : int
        Number of the term.
    codes : sequence of int or None
        The selected bins.
    """
    import pandas as pd

    subject = base.subject(base.terms[index])
    kinds = {feature.name: feature.kind for feature in base.features}
    of_selection = np.nan
    if codes is not None and kinds.get(subject.name, "nominal") != "nominal":
        of_selection = _mean_normal_score(base.terms[index].weights, codes)
    rows = []
    for first, second, value in base.correlations:
        if subject.name in (first, second):
            other = second if first == subject.name else first
            shift = np.nan if kinds[other] == "nominal" else value * of_selection
            rows.append({"feature": other, "correlation": value, "shift": shift})
    table = pd.DataFrame(rows, columns=["feature", "correlation", "shift"])
    return table.sort_values("correlation", key=abs, ascending=False, ignore_index=True)


def _mean_normal_score(weights: NDArray[np.float64], codes: Sequence[int]) -> float:
    """Return the mean normal score of the rows in some bins; those of missing values have none."""
    from scipy.special import ndtri

    inner = [code for code in codes if 0 < code < len(weights) - 1]
    shares = weights[1:-1] / max(float(weights[1:-1].sum()), 1e-300)
    chosen = shares[[code - 1 for code in inner]]
    if not chosen.sum() > 0:
        return float("nan")
    scores = ndtri(np.clip(np.cumsum(shares) - shares / 2, 1e-6, 1.0 - 1e-6))
    return float(chosen @ scores[[code - 1 for code in inner]] / chosen.sum())
