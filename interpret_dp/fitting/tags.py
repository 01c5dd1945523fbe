"""Tags of an estimator for scikit-learn, and its answers to keywords of interpret's other EBMs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

from interpret_dp._validate import did_you_mean


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


_Method = TypeVar("_Method", bound=Callable[..., Any])

_STOPPING = "early stopping needs held-out rows; max_rounds sets the number of rounds"
_LEAVES = "leaves are chosen by noisy counts; max_leaves and max_bins set how fine curves are"
_SMOOTH = "model.edit().smooth(term) smooths by the known noise, after the fit and at no cost"
_SHRINK = "learning_rate sets how far an update goes; noise is averaged out over rounds"

SUBSTITUTES = {
    "callback": "progress would show private figures; verbose=True shows rounds and time",
    "cat_smooth": _LEAVES,
    "cyclic_progress": "all features take turns, as the privacy accounting needs",
    "early_stopping_rounds": _STOPPING,
    "early_stopping_tolerance": _STOPPING,
    "gain_scale": "splits do not look at gains, which would cost; exclude leaves features out",
    "greedy_ratio": "all features take turns, as the privacy accounting needs",
    "inner_bags": "bags would divide the budget; bands come from the known noise",
    "interaction_smoothing_rounds": _SMOOTH,
    "max_delta_step": _SHRINK,
    "max_interaction_bins": "the grid of a pair follows from released numbers; interactions "
    "names the pairs",
    "min_cat_samples": _LEAVES,
    "min_hessian": _LEAVES,
    "min_samples_leaf": _LEAVES,
    "missing": "every feature has a bin for missing cells; model.edit() changes its score",
    "objective": "a classifier minimises log loss; DPExplainableBoostingRegressor has a choice",
    "reg_alpha": _SHRINK,
    "reg_lambda": _SHRINK,
    "smoothing_rounds": _SMOOTH,
}
"""What to do instead, by keyword of interpret."""

# Given beside identifiers, it would leave the ledger without the name of whom it protects.
_DECLARED = {"max_rows": 'declare Schema(..., unit=PrivacyUnit("patient_id", max_rows=3))'}


def with_substitutes(method: _Method) -> _Method:
    """Make a constructor or ``fit`` say what to use instead of a keyword that it does not take.

    Its signature stays, which scikit-learn and type checkers read.
    """
    known = tuple(inspect.signature(method).parameters)[1:]
    part = "" if method.__name__ == "__init__" else f".{method.__name__}"

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        for keyword in kwargs:
            if keyword not in known:
                raise TypeError(_refusal(f"{type(self).__name__}{part}", keyword, known))
        return method(self, *args, **kwargs)

    return cast("_Method", checked)


def _refusal(name: str, keyword: str, known: tuple[str, ...]) -> str:
    substitutes = SUBSTITUTES | _DECLARED
    if keyword in substitutes:
        return f"{name} takes no {keyword!r}: {substitutes[keyword]}."
    mend = did_you_mean(keyword, known) or f" It takes {', '.join(known)}."
    return f"{name} takes no {keyword!r}.{mend}"
