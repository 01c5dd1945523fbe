"""A warning for what learns from the private rows before the model does, or around it.

A scaler, an imputer or a feature selection that is fitted on the same rows is a release that
nobody pays for. Through it one row changes all others, which breaks every sensitivity. A
calibration or a search around the model reads the rows once more. scikit-learn does not say which
object fits an estimator, so the calling frames are read. They end at threads and processes: the
parts of a VotingClassifier(n_jobs=2) inside a pipeline do not see it, whereas a pipeline inside
cross_val_score(n_jobs=2) is seen.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

from interpret_dp.exceptions import PrivacyWarning

# Frames of these packages are not where the user wrote the call.
_FRAMEWORKS = {"imblearn", "interpret_dp", "joblib", "sklearn"}

# Each learns from the rows beside its models, or chooses by exact scores on them. (RFE chooses by
# released importances.)
_WRAPPERS = {
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "CalibratedClassifierCV",
    "RFECV",
    "SelfTrainingClassifier",
    "SequentialFeatureSelector",
    "StackingClassifier",
    "StackingRegressor",
    "TunedThresholdClassifierCV",
}

_MEND = (
    "Through them one row changes all others, and no budget pays for what they learn, so the "
    "promise of this fit does not hold. Leave them out: the model needs no scaling, has a bin for "
    "missing cells, and takes exclude= for features that are left out by public knowledge. "
    "Otherwise use steps that learn nothing (FunctionTransformer, Normalizer, encoders with "
    "explicit categories and handle_unknown other than 'error'), or fit them on public rows and "
    "wrap them in sklearn.frozen.FrozenEstimator."
)


def warn_of_learning_steps() -> tuple[str, ...]:
    """Warn if something else learns from the private rows of the calling ``fit``.

    Found are the earlier steps of every scikit-learn Pipeline, or subclass of it, that is being
    fitted, also inside a search or a cross-validation, and the target's transformer of a
    TransformedTargetRegressor. So are wrappers such as CalibratedClassifierCV, and a search at its
    last fit, which has the settings that were chosen. The warning depends on types and parameters
    alone, never on a row.

    A step learns nothing if its tag ``requires_fit`` is False, if it is frozen, or if it is an
    encoder, PolynomialFeatures or constant SimpleImputer whose parameters leave nothing to learn
    and under which no cell raises. What the function of a FunctionTransformer does is the
    user's own affair.

    Returns
    -------
    tuple of str
        What a guarantee of the fit assumes for that reason, as clauses; empty without a warning.

    Warns
    -----
    PrivacyWarning
    """
    learning: dict[str, None] = {}
    wrappers: dict[str, None] = {}
    seen: set[int] = set()
    level = where = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        level += 1
        enclosing = _first_argument(frame)
        if enclosing is not None and id(enclosing) not in seen:
            seen.add(id(enclosing))
            names = _learning_before(enclosing, frame)
            learning |= dict.fromkeys(names)
            if _learns_around(enclosing):
                names = [type(enclosing).__name__]
                wrappers |= dict.fromkeys(names)
            where = 1 if names else where
        if where == 1 and _package(frame) not in _FRAMEWORKS:
            where = level
        frame = frame.f_back
    texts, clauses = [], []
    if learning:
        steps = "step learns" if len(learning) == 1 else "steps learn"
        named = ", ".join(learning)
        texts.append(f"The {steps} from the private rows before this fit does: {named}. {_MEND}")
        clauses.append(f"{named}, which fit saw running before it, learned nothing from these rows")
    if wrappers:
        texts.append(
            f"Around this fit, {', '.join(wrappers)} learns from the private rows too, or chooses "
            "by exact scores on them. No budget pays for that, and the promise does not cover it. "
            "Use public rows for it; private_metrics pays for scores."
        )
        clauses.append(f"nothing that {', '.join(wrappers)} learned around this fit is published")
    if texts:
        warnings.warn(" ".join(texts), PrivacyWarning, stacklevel=where if where > 1 else 3)
    return tuple(clauses)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).split(".")[0]


def _first_argument(frame: FrameType) -> Any:
    """Return ``self`` of a frame that fits something, or None."""
    code = frame.f_code
    if "fit" not in code.co_name or not code.co_argcount:
        return None
    return frame.f_locals.get(code.co_varnames[0])


def _learns_around(enclosing: Any) -> bool:
    """Whether ``enclosing`` learns from the rows around its models, or has chosen by them."""
    kinds = type(enclosing).__mro__
    names = {kind.__name__ for kind in kinds if kind.__module__.startswith("sklearn.")}
    if "BaseSearchCV" in names:
        # The models before the choice are what they promise to be.
        return hasattr(enclosing, "best_estimator_")
    return not names.isdisjoint(_WRAPPERS)


def _learning_before(enclosing: Any, frame: FrameType) -> list[str]:
    """Return the names of what ``enclosing`` fits on the rows before it hands them on."""
    try:
        if _is_a(enclosing, "sklearn.pipeline", "Pipeline"):
            # In the loop over the earlier steps only those before the current one have run.
            last = frame.f_locals.get("step_idx", -1) if frame.f_code.co_name == "_fit" else -1
            return [name for step in enclosing.steps[:last] for name in _learning(*step)]
        if _is_a(enclosing, "sklearn.compose", "TransformedTargetRegressor"):
            return list(_learning("transformer", enclosing.transformer))
    except Exception:
        # A warning must not be why a fit fails, and what cannot be read may well learn.
        return [f"{type(enclosing).__name__}, which has unreadable steps"]
    return []


def _learning(name: str, step: Any) -> Iterator[str]:
    """Yield step ``name``, or those of its parts, that learn from rows."""
    if step is None or isinstance(step, str) or _is_a(step, "sklearn.frozen", "FrozenEstimator"):
        return
    parts = _parts(step)
    if parts is None:
        if not _learns_nothing(step):
            yield f"{name!r} ({type(step).__name__})"
        return
    for inner, part in parts:
        yield from _learning(f"{name}__{inner}", part)


def _parts(step: Any) -> list[tuple[str, Any]] | None:
    """Return the named parts of a composite that itself learns nothing, or None."""
    if _is_a(step, "sklearn.pipeline", "Pipeline"):
        return list(step.steps)
    if _is_a(step, "sklearn.pipeline", "FeatureUnion"):
        return list(step.transformer_list)
    if _is_a(step, "sklearn.compose", "ColumnTransformer"):
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
    if _is_a(step, "sklearn.preprocessing", "OneHotEncoder", "OrdinalEncoder"):
        return bool(
            not isinstance(step.categories, str)
            and step.handle_unknown != "error"
            and step.min_frequency is None
            and step.max_categories is None
        )
    if _is_a(step, "sklearn.impute", "SimpleImputer"):
        # Otherwise it drops columns without a value, or tells which columns lack some.
        kept = step.keep_empty_features and not step.add_indicator
        return bool(step.strategy == "constant" and kept)
    return _is_a(step, "sklearn.preprocessing", "PolynomialFeatures")


def _is_a(value: Any, module: str, *names: str) -> bool:
    """Whether ``value`` is of a class of that module; the module is not loaded for it."""
    library = sys.modules.get(module)
    return library is not None and issubclass(
        type(value), tuple(getattr(library, name) for name in names)
    )
