"""Completing interpret's JSON document, so that interpret's own reader accepts it.

That reader asks for figures that a private fit does not publish, and fails on the documents of
interpret's own private models. Here they are derived from what was released.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.publishing import current_features, plain_value
from interpret_dp.released import AdditiveFeature
from interpret_dp.schema import Continuous

__all__ = ["completed"]


def completed(document: dict[str, Any], estimator: Any, detail: str) -> dict[str, Any]:
    """Return interpret's document of a fitted estimator with every key that its reader needs.

    Parameters
    ----------
    document : dict
        What interpret's ``to_jsonable`` returned; it is changed in place.
    estimator : PrivateEBM
    detail : {"minimal", "interpretable", "mergeable", "all"}
        interpret reads back only ``"all"``.

    Returns
    -------
    dict
        Added are, for each feature, ``num_unique_vals`` (its number of bins: how many values
        differ in the rows is private), for a continuous one ``histogram_weights`` (the released
        weights spread evenly within each bin), for terms that were edited standard deviations of
        NaN and the scores themselves as the only bag. Parameters become plain JSON values.
    """
    inner = document["ebm"]
    if "implementation_params" in inner:
        inner["implementation_params"] = plain_value(inner["implementation_params"])
    if detail == "minimal":
        return document
    # Not of a released model, which holds finite scores: a person may have set one to NaN.
    features = current_features(estimator)
    terms = zip(estimator.term_features_, estimator.bin_weights_, strict=True)
    weights = {indices[0]: found for indices, found in terms if len(indices) == 1}
    n_rows = estimator.released_.n_rows
    for index, (entry, feature) in enumerate(zip(inner["features"], features, strict=True)):
        entry.setdefault("num_unique_vals", feature.n_codes - 2)
        if isinstance(feature.spec, Continuous):
            histogram = _histogram(feature, weights.get(index), n_rows)
            entry.setdefault("histogram_weights", histogram.tolist())
    for entry in inner["terms"]:
        scores = np.array(entry["scores"])
        entry.setdefault("standard_deviations", np.full(scores.shape, "nan").tolist())
        if detail != "interpretable":
            entry.setdefault("bagged_scores", [entry["scores"]])
    return document


def _histogram(
    feature: AdditiveFeature, weights: NDArray[np.float64] | None, n_rows: float
) -> NDArray[np.float64]:
    """Return weights of missing, of equally wide bins between the bounds, and of unseen."""
    if weights is None:
        return np.array([0.0, n_rows, 0.0])
    spec, cuts = feature.spec, np.asarray(feature.cuts)
    if not isinstance(spec, Continuous) or spec.upper <= spec.lower:
        return np.array([weights[0], weights[1:-1].sum(), weights[-1]])
    lower, upper = spec.extent
    knots = np.clip([lower, *cuts, upper], lower, upper)
    below = np.concatenate([[0.0], np.cumsum(weights[1:-1])])
    edges = np.linspace(lower, upper, len(weights) - 1)
    return np.concatenate([weights[:1], np.diff(np.interp(edges, knots, below)), weights[-1:]])
