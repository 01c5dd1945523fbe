"""SHAP values of additive models, exact and without a row of anybody.

An additive model's SHAP values (Lundberg and Lee 2017) follow from its terms: of a curve, its score
less the mean score over the reference rows; of a pair, the Shapley values of two players. The
reference is the released counts of each term's bins or cells, so nothing new is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._optional import load_shap

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AdditiveShapValues:
    """SHAP values where the library shap is not installed; its attributes have the same names.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_features) or (n_rows, n_features, n_classes)
    base_values : ndarray of float64, shape (n_rows,) or (n_rows, n_classes)
    data : ndarray, shape (n_rows, n_features)
        Values of the explained rows.
    feature_names : list of str
    output_names : list of str or None
        Names of the classes, where there are more than two.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> values = model.fit(patients.X, patients.y).shap_values(patients.X[:3])
    >>> values.values.shape == (3, len(patients.X.columns))
    True
    """

    values: FloatArray
    base_values: FloatArray
    data: NDArray[Any]
    feature_names: list[str]
    output_names: list[str] | None


def shap_values(model: Any, rows: Any, scores_of: Callable[[list[Any]], Any]) -> Any:
    """Return the SHAP values of some rows.

    Parameters
    ----------
    model : interpret's EBM
        Fitted.
    rows : DataFrame, shape (n_rows, n_features)
        Their values, as they are shown.
    scores_of : callable
        From a table a term, shaped as in ``term_scores_``, to the entries that the rows have in
        them, shape (n_rows, n_terms) or (n_rows, n_terms, n_classes).

    Returns
    -------
    shap.Explanation or AdditiveShapValues
    """
    terms = zip(model.term_scores_, model.bin_weights_, strict=True)
    tables, means = zip(*(_tables(np.asarray(s), np.asarray(w)) for s, w in terms), strict=True)
    base = np.asarray(model.intercept_) + sum(means)
    widths = base.shape if base.size > 1 else ()
    values = np.zeros((len(rows), len(model.feature_names_in_), *widths))
    for place in range(max(map(len, model.term_features_))):
        scores = np.asarray(scores_of([table[place % len(table)] for table in tables]))
        for number, features in enumerate(model.term_features_):
            if place < len(features):
                values[:, features[place]] += scores[:, number]
    given = {
        "values": values,
        "base_values": np.broadcast_to(base.reshape(widths), (len(rows), *widths)).copy(),
        "data": rows.to_numpy(),
        "feature_names": list(model.feature_names_in_),
        "output_names": [str(label) for label in model.classes_] if widths else None,
    }
    try:
        return load_shap().Explanation(**given)
    except ModuleNotFoundError:
        return AdditiveShapValues(**given)


def _tables(scores: FloatArray, weights: FloatArray) -> tuple[list[FloatArray], Any]:
    """Return the SHAP value of each of a term's features in each bin or cell, and the mean score.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_bins, ...) or (n_first, n_second, ...)
    weights : ndarray of float64, shape (n_bins,) or (n_first, n_second)
        Released counts; they are the reference.
    """
    shares = weights / max(float(weights.sum()), 1e-300)
    mean = np.tensordot(shares, scores, axes=shares.ndim)
    centred = scores - mean
    if shares.ndim == 1:
        return [centred], mean
    # The mean score at each value of one feature, over the reference values of the other.
    of_first = np.tensordot(scores, shares.sum(axis=0), axes=(1, 0))[:, np.newaxis]
    of_second = np.tensordot(shares.sum(axis=1), scores, axes=(0, 0))[np.newaxis]
    return [(centred + of_first - of_second) / 2, (centred - of_first + of_second) / 2], mean
