"""Table of the changes of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interpret_dp.editor.bins import code_labels
from interpret_dp.editor.state import State
from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["changes_table"]

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
