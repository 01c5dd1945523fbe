"""Taking features out of a fitted machine; interpret's own method fails on its private ones.

It cuts exact histograms as well, which no private fit publishes, and leaves the terms that stay
with the indices of before (interpret 0.7.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from interpret_dp._validate import check_sequence, did_you_mean

__all__ = ["drop_features"]


def drop_features(estimator: Any, features: Any) -> None:
    """Remove features, and every term that one of them is in, from a fitted estimator.

    Parameters
    ----------
    estimator : PrivateEBM
        Is changed in place; ``released_`` stays what the fit published.
    features : sequence of str, int or bool
        Names, indices, or for each feature whether it goes, as interpret takes them.

    Raises
    ------
    TypeError, ValueError
        If ``features`` names anything else; nothing is changed then.
    """
    names = estimator.feature_names_in_
    dropped = _positions(features, names)
    estimator.remove_terms(
        [
            position
            for position, term in enumerate(estimator.term_features_)
            if dropped.intersection(term)
        ]
    )
    kept = [index for index in range(len(names)) if index not in dropped]
    places = {index: place for place, index in enumerate(kept)}
    estimator.term_features_ = [
        tuple(places[index] for index in term) for term in estimator.term_features_
    ]
    for attribute in ("bins_", "feature_names_in_", "feature_types_in_"):
        setattr(estimator, attribute, [getattr(estimator, attribute)[index] for index in kept])
    estimator.feature_bounds_ = estimator.feature_bounds_[kept]
    estimator.n_features_in_ = len(kept)


def _positions(features: Any, names: Sequence[str]) -> set[int]:
    items = check_sequence("features", features, "names or indices")
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != len(names):
            raise ValueError(
                f"features has {len(items)} booleans; it must have one for each of the "
                f"{len(names)} features, or names or indices."
            )
        return {index for index, goes in enumerate(items) if goes}
    found = set()
    for item in items:
        if isinstance(item, str) and item in names:
            found.add(names.index(item))
        elif (
            isinstance(item, int | np.integer)
            and not isinstance(item, bool)
            and -len(names) <= item < len(names)
        ):
            found.add(int(item) % len(names))
        else:
            raise ValueError(
                f"features has {item!r}; each item must be the name or index of one feature (of "
                f"{', '.join(map(repr, names))}).{did_you_mean(item, names)}"
            )
    return found
