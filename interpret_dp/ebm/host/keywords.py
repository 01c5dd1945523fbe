"""Keywords of interpret's other boosting machines that a private fit has no use for, and why."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar, cast

__all__ = ["SUBSTITUTES", "with_substitutes"]

_Init = TypeVar("_Init", bound=Callable[..., None])

_STOPPING = "nothing is held out, which a stop would read; max_rounds sets the number of rounds"
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
"""What to do instead, by keyword."""


def with_substitutes(init: _Init) -> _Init:
    """Make a constructor name what to use instead of a keyword that it does not take.

    Its signature stays, which scikit-learn and type checkers read.
    """
    known = tuple(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        for keyword in kwargs:
            if keyword not in known:
                raise TypeError(_refusal(type(self).__name__, keyword, known))
        init(self, *args, **kwargs)

    return cast("_Init", checked)


def _refusal(name: str, keyword: str, known: tuple[str, ...]) -> str:
    if keyword in SUBSTITUTES:
        return f"{name} takes no {keyword!r}: {SUBSTITUTES[keyword]}."
    close = get_close_matches(keyword, known, n=1)
    mend = f"Did you mean {close[0]!r}?" if close else f"It takes {', '.join(known)}."
    return f"{name} takes no {keyword!r}. {mend}"
