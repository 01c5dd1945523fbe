"""Estimator tags for scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

__all__ = ["estimator_tags"]


def estimator_tags(task: str) -> Any:
    """Return scikit-learn's tags of a private EBM.

    Parameters
    ----------
    task : {"classification", "regression"}

    Returns
    -------
    sklearn.utils.Tags
        interpret's own tags are of types that scikit-learn does not know, and claim sparse
        tables, dictionaries and the array API, which neither package reads.
    """
    is_classifier = task == "classification"
    # scikit-learn asks for good scores on a few hundred rows, where the noise of the default
    # epsilon must drown the signal; that is what `poor_score` is for.
    return Tags(
        estimator_type="classifier" if is_classifier else "regressor",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(poor_score=True) if is_classifier else None,
        regressor_tags=None if is_classifier else RegressorTags(poor_score=True),
        input_tags=InputTags(allow_nan=True, categorical=True, string=True),
    )
