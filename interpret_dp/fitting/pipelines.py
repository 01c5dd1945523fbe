"""What surrounds a model in scikit-learn: keywords, and steps that learn from the private rows.

A scaler, an imputer or a feature selection that is fitted on the same rows is a release that
nobody pays for. Through it one row changes all others, which breaks every sensitivity. A
calibration or a search around the model reads the rows once more. scikit-learn does not say which
object fits an estimator, so the calling frames are read. In a thread that scikit-learn started they
go on in the thread that waits for it, if both hold the same rows. In a process they end: there, the
guarantee depends on what started it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar, cast

from interpret_dp._validate import did_you_mean
from interpret_dp.accounting.guarantee import Doubts
from interpret_dp.exceptions import PrivacyWarning, package_of, warn_caller
from interpret_dp.schema.cells import is_a

# Answers to keywords of interpret's other EBMs.

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


# Each learns something of its own from the rows, beside the models that it holds.
_BESIDE = {
    "CalibratedClassifierCV",
    "SelfTrainingClassifier",
    "StackingClassifier",
    "StackingRegressor",
    "TunedThresholdClassifierCV",
}
# Each gives its models weights or columns that it learned from all rows. (RFE chooses by released
# importances.)
_BEFORE = {"AdaBoostClassifier", "AdaBoostRegressor", "RFECV", "SequentialFeatureSelector"}

_MEND = (
    "Through them one row changes all others, and no budget pays for what they learn, so the "
    "promise of this fit does not hold. Leave them out: the model needs no scaling, has a bin for "
    "missing cells, and takes exclude= for features that are left out by public knowledge. "
    "Otherwise use steps that learn nothing (FunctionTransformer, Normalizer, encoders with "
    "explicit categories and handle_unknown other than 'error'), or fit them on public rows and "
    "wrap them in sklearn.frozen.FrozenEstimator."
)
_UNSEEN = (
    "in the process or thread that started this worker of scikit-learn, nothing learned from these "
    "rows, and nothing was chosen by exact scores on them"
)
SCORED = "the rows that score() was given are public, or nothing was chosen by its result"
"""Condition of a model that was asked for an exact score."""


def warn_of_learning_steps() -> Doubts:
    """Warn if something else learns from the private rows of the calling ``fit``.

    Found are the earlier steps of every scikit-learn Pipeline, or subclass of it, that is being
    fitted, also inside a search or a cross-validation, and the target's transformer of a
    TransformedTargetRegressor. So are wrappers such as CalibratedClassifierCV, and a search at its
    last fit, which has the settings that were chosen.

    A step learns nothing if its tag ``requires_fit`` is False, if it is frozen, or if it is an
    encoder, PolynomialFeatures or constant SimpleImputer whose parameters leave nothing to learn
    and under which no cell raises. What the function of a FunctionTransformer does is the
    user's own affair.

    Returns
    -------
    Doubts
        From types and arguments alone, never from a row. The promise fails if a step of
        scikit-learn learned from the rows before the fit, if a wrapper chose columns or weights by
        all rows, or if a search chose by exact scores. It is conditional where a step is not of
        scikit-learn and may learn nothing, where a score is a function of the user's and may be
        paid for, and where what a wrapper learned beside its models may stay unpublished.

    Warns
    -----
    PrivacyWarning
        Once, naming all of them.
    """
    learning: dict[str, bool] = {}
    conditions: dict[str, None] = {}
    failures: dict[str, None] = {}
    around: dict[str, None] = {}
    inside: dict[int, Any] = {}
    own_frames, is_worker = _frames(sys._getframe(1))
    for frame in own_frames:
        enclosing = _first_argument(frame)
        if enclosing is not None and id(enclosing) not in inside:
            names = dict(_learning_before(enclosing, frame))
            learning |= names
            doubt, is_failure = _around(enclosing, frame, inside)
            if doubt:
                (failures if is_failure else conditions)[doubt] = None
                around[type(enclosing).__name__] = None
            inside[id(enclosing)] = enclosing
    surely, maybe = (
        ", ".join(name for name, learns in learning.items() if learns is kind)
        for kind in (True, False)
    )
    if surely:
        failures[f"{surely} learned from these rows before the fit, which nobody paid for"] = None
    if maybe:
        conditions[f"{maybe}, which ran before the fit, learned nothing from these rows"] = None
    texts = []
    if learning:
        steps = "step learns" if len(learning) == 1 else "steps learn"
        named = ", ".join(learning)
        texts.append(f"The {steps} from the private rows before this fit does: {named}. {_MEND}")
    if around:
        texts.append(
            f"Around this fit, {', '.join(around)} learns from the private rows too, or chooses "
            "by exact scores on them. No budget pays for that, and the promise does not cover it. "
            "Use public rows for it; private_metrics pays for scores."
        )
    if is_worker:
        conditions[_UNSEEN] = None
    if texts:
        warn_caller(" ".join(texts), PrivacyWarning)
    return Doubts(tuple(conditions), tuple(failures))


def _frames(frame: FrameType | None) -> tuple[list[FrameType], bool]:
    """Return the calling frames, and whether those that started them are out of sight.

    In a worker thread of scikit-learn those of the thread that waits for it follow: a thread that
    holds the same rows.
    """
    frames = _stack(frame)
    packages = [str(one.f_globals.get("__name__")) for one in frames]
    if "sklearn.utils.parallel" not in packages:
        return frames, False
    # The outermost call of a task; a task without a Parallel around it runs in a worker.
    task = len(packages) - 1 - packages[::-1].index("sklearn.utils.parallel")
    if any(one.f_code.co_name == "__call__" and _holds_jobs(one) for one in frames[task:]):
        return frames, False
    rows = {id(value) for one in frames for value in _rows_of(one)}
    for other, top in sys._current_frames().items():
        if other == threading.get_ident():
            continue
        waiting = _stack(top)
        # Another worker holds the same rows too.
        waits = any(_holds_jobs(one) for one in waiting)
        if waits and any(id(value) in rows for one in waiting for value in _rows_of(one)):
            return [*frames, *waiting], False
    return frames, True


def _stack(frame: FrameType | None) -> list[FrameType]:
    """Return a frame and those that called it, the innermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _holds_jobs(frame: FrameType) -> bool:
    return is_a(frame.f_locals.get("self"), "joblib.parallel", "Parallel")


def _rows_of(frame: FrameType) -> list[Any]:
    """Return what a frame of scikit-learn calls its rows."""
    if package_of(frame) != "sklearn":
        return []
    return [value for name in ("X", "y") if (value := frame.f_locals.get(name)) is not None]


def _first_argument(frame: FrameType) -> Any:
    """Return ``self`` of a frame that fits something, or None."""
    code = frame.f_code
    if "fit" not in code.co_name or not code.co_argcount:
        return None
    return frame.f_locals.get(code.co_varnames[0])


def _around(enclosing: Any, frame: FrameType, inside: dict[int, Any]) -> tuple[str, bool]:
    """Return what ``enclosing`` learns or has chosen, as a clause, and whether that is a failure.

    ``inside`` has the objects that are being fitted within it, the calling one among them.
    """
    kinds = type(enclosing).__mro__
    names = {kind.__name__ for kind in kinds if kind.__module__.startswith("sklearn.")}
    name = type(enclosing).__name__
    if "BaseSearchCV" in names:
        # The models before the choice are what they promise to be.
        if id(getattr(enclosing, "best_estimator_", None)) not in inside:
            return "", False
        n_candidates = len(frame.f_locals.get("results", {}).get("params", ()))
        if n_candidates == 1:
            return "", False
        scoring = getattr(enclosing, "scoring", None)
        # A function of the user's own, and not one of scikit-learn's on exact rows.
        if callable(scoring) and not type(scoring).__module__.startswith("sklearn."):
            return f"the scores by which {name} chose the settings were public or paid for", False
        return f"{name} chose the settings by exact scores on these rows", True
    if names & _BEFORE or ("SelfTrainingClassifier" in names and enclosing.criterion == "k_best"):
        return f"{name} gave this fit columns, weights or rows by looking at all rows", True
    if not names & _BESIDE:
        return "", False
    if id(getattr(enclosing, "final_estimator_", None)) in inside:
        return f"{name} fitted this on predictions of models that saw these rows", True
    return f"nothing that {name} learned around this fit is published", False


def _learning_before(enclosing: Any, frame: FrameType) -> list[tuple[str, bool]]:
    """Return what ``enclosing`` fits on the rows before it hands them on, as :func:`_learning`."""
    try:
        if is_a(enclosing, "sklearn.pipeline", "Pipeline"):
            # In the loop over the earlier steps only those before the current one have run.
            last = frame.f_locals.get("step_idx", -1) if frame.f_code.co_name == "_fit" else -1
            return [found for step in enclosing.steps[:last] for found in _learning(*step)]
        if is_a(enclosing, "sklearn.compose", "TransformedTargetRegressor"):
            return list(_learning("transformer", enclosing.transformer))
    except Exception:
        # A warning must not be why a fit fails, and what cannot be read may well learn.
        return [(f"{type(enclosing).__name__}, which has unreadable steps", False)]
    return []


def _learning(name: str, step: Any) -> Iterator[tuple[str, bool]]:
    """Yield step ``name``, or those of its parts, that learn from rows; and whether they surely do.

    What is not of scikit-learn may learn nothing, although it does not say so.
    """
    if step is None or isinstance(step, str) or is_a(step, "sklearn.frozen", "FrozenEstimator"):
        return
    parts = _parts(step)
    if parts is None:
        if not _learns_nothing(step):
            kind = type(step)
            yield f"{name!r} ({kind.__name__})", kind.__module__.startswith("sklearn.")
        return
    for inner, part in parts:
        yield from _learning(f"{name}__{inner}", part)


def _parts(step: Any) -> list[tuple[str, Any]] | None:
    """Return the named parts of a composite that itself learns nothing, or None."""
    if is_a(step, "sklearn.pipeline", "Pipeline"):
        return list(step.steps)
    if is_a(step, "sklearn.pipeline", "FeatureUnion"):
        return list(step.transformer_list)
    if is_a(step, "sklearn.compose", "ColumnTransformer"):
        named = [(name, part) for name, part, _ in step.transformers]
        return [*named, ("remainder", step.remainder)]
    return None


def _learns_nothing(step: Any) -> bool:
    """Whether the step makes the same of a row whatever the rows were that it was fitted on."""
    from sklearn.utils import get_tags

    try:
        if not get_tags(step).requires_fit:
            return True
    except Exception:
        return False
    if is_a(step, "sklearn.preprocessing", "OneHotEncoder", "OrdinalEncoder"):
        return bool(
            not isinstance(step.categories, str)
            and step.handle_unknown != "error"
            and step.min_frequency is None
            and step.max_categories is None
        )
    if is_a(step, "sklearn.impute", "SimpleImputer"):
        # Otherwise it drops columns without a value, or tells which columns lack some.
        kept = step.keep_empty_features and not step.add_indicator
        return bool(step.strategy == "constant" and kept)
    return is_a(step, "sklearn.preprocessing", "PolynomialFeatures")
