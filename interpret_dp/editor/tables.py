"""Tables about a session: its changes, and the fit of its models to public rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.editor.bins import code_labels
from interpret_dp.editor.state import State
from interpret_dp.released import AdditiveModel

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["changes_table", "metrics_table"]

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


def metrics_table(
    models: Mapping[str, AdditiveModel],
    build: Callable[[AdditiveModel], Any],
    X: Any,
    y: Any,
    *,
    public: bool,
) -> pd.DataFrame:
    """Return exact figures of each model on rows that the caller declares public."""
    if public is not True:
        raise ValueError(
            f"public is {public!r}; metrics are exact, and an exact figure of private rows leaks "
            "information about them. Pass public rows (simulated, published, your own) with "
            "public=True. For private rows use "
            "interpret_dp.private_metrics({'original': model, 'current': session.model}, X, y, "
            "epsilon=..., delta=...), which adds noise and charges the ledger."
        )
    import pandas as pd

    estimators = {name: build(model) for name, model in models.items()}
    return pd.DataFrame(
        {
            name: _classification(estimator, X, y)
            if models[name].classes is not None
            else _regression(estimator, X, y)
            for name, estimator in estimators.items()
        }
    ).T


def _classification(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    labels = list(estimator.classes_)
    truth = list(y)
    probabilities = estimator.predict_proba(X)
    figures = {
        "log_loss": float(log_loss(truth, probabilities, labels=labels)),
        "accuracy": float(accuracy_score(truth, estimator.predict(X))),
    }
    if len(labels) == 2:
        # Undefined if all rows are of one class.
        both = len(set(truth)) == 2
        positive = [label == labels[1] for label in truth]
        figures["auroc"] = float(roc_auc_score(positive, probabilities[:, 1])) if both else np.nan
    return figures


def _regression(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    truth = np.asarray(y, dtype=np.float64)
    errors = np.asarray(estimator.predict(X), dtype=np.float64) - truth
    total = float(((truth - truth.mean()) ** 2).sum())
    return {
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
        "r2": 1.0 - float((errors**2).sum()) / total if total > 0 else np.nan,
    }
