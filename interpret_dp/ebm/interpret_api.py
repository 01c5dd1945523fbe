"""The released model as interpret knows it: attributes, explanations, SHAP values, JSON.

interpret looks for outcomes of explained rows among its own form of the labels. Its reader of JSON
asks for figures that a private fit does not publish, and fails on the documents of interpret's own
private models: here they are derived from what was released. Its ``remove_features`` cuts exact
histograms, which no private fit publishes, and leaves the remaining terms with the indices of
before (interpret 0.7.8). On Dask collections a model is applied where the rows are, when asked;
rows are the caller's own, and nothing is released.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from numpy.typing import NDArray

from interpret_dp._optional import load_shap
from interpret_dp._validate import check_sequence
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.ebm.interactions import column_of
from interpret_dp.ebm.objectives import link_of, name_in_interpret
from interpret_dp.ebm.request import EBMRequest
from interpret_dp.ebm.training import TrainedTerms
from interpret_dp.exceptions import SchemaError
from interpret_dp.fitting.rows import INIT_SCORE_CONDITION
from interpret_dp.released import (
    AdditiveFeature,
    AdditiveModel,
    AdditiveTerm,
    FeaturePair,
)
from interpret_dp.released.survival import concordance
from interpret_dp.schema import Categorical, Continuous, encode_classes, encode_target, open_target
from interpret_dp.schema.cells import column_numbers, in_chunks, numbers_of
from interpret_dp.schema.containers import is_dask, open_column, refuse_texts

if TYPE_CHECKING:
    from interpret_dp.editor import EditSession


# SHAP values of additive models, exact and without a row of anybody.
#
# An additive model's SHAP values (Lundberg and Lee 2017) follow from its terms: of a curve, its
# score less the mean score over the reference rows; of a pair, the Shapley values of two players.
# The reference is the released counts of each term's bins or cells, so nothing new is read.

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


# From trained arrays to the released model, and from that to interpret's attributes.

SAVED_PARAMETERS = {
    **{"max_bins": "integer", "max_rounds": "integer or null", "max_leaves": "integer or null"},
    **{"learning_rate": "number or null", "epsilon": "number", "delta": "number"},
    **{"bin_budget_frac": "number", "privacy_weight_max": "number or null"},
    **{"composition": "text", "neighboring": "text", "objective": "text"},
    "population": "text",
    "privacy_exposure_max": "number or null",
    "monotone_constraints": "list or object or null",
    "interactions": "integer or number or text or list or null",
}
"""Constructor parameters that a file holds, and their kinds."""

NOISE = (
    *("covariance", "variances", "noisy_scores"),
    *("posterior_mean", "posterior_covariance", "posterior_variances", "sampling_variances"),
)


def fitted_model(request: EBMRequest, trained: TrainedTerms, guarantee: Guarantee) -> AdditiveModel:
    """Return the released model of a fit."""
    target, columns = request.task.target, request.task.columns
    cuts = {column: b.cuts for column, b in zip(columns, trained.bins, strict=True)}
    # A feature without a term needs no bins; one bin over everything keeps interpret's layout.
    pair_cuts = {columns[k]: cuts_of_pairs for k, cuts_of_pairs in trained.pair_cuts.items()}
    features = tuple(
        AdditiveFeature(
            name,
            spec,
            None if isinstance(spec, Categorical) else cuts.get(index, np.zeros(0)),
            pair_cuts.get(index),
        )
        for index, (name, spec) in enumerate(request.schema.features.items())
    )
    terms = tuple(
        AdditiveTerm(
            column,
            scores,
            b.weights,
            noise.covariance,
            noise.variances,
            **vars(expected),
        )
        for column, scores, b, noise, expected in zip(
            columns, trained.scores, trained.bins, trained.noise, trained.expected, strict=True
        )
    )
    terms += tuple(
        AdditiveTerm(
            columns[pair.first],
            pair.scores.reshape(pair.weights.size, *pair.scores.shape[2:]),
            pair.weights.ravel(),
            pair.noise.covariance,
            pair.noise.variances,
            partner=columns[pair.second],
        )
        for pair in trained.pairs
    )
    names = [features[column].name for column in columns]
    shares = [(name, b.clipped) for name, b in zip(names, trained.bins, strict=True)]
    settings = request.settings
    # Names, types and bounds are in the schema.
    of_regression = ("objective", "privacy_exposure_max") * (settings.task != "regression")
    kept = [name for name in SAVED_PARAMETERS if name not in of_regression]
    return AdditiveModel(
        task=settings.task,
        schema=request.schema,
        features=features,
        terms=terms,
        intercept=trained.intercept,
        classes=target.levels if isinstance(target, Categorical) else None,
        has_log_link=link_of(request.task.objective) == "log",
        target=request.target_name,
        n_rows=trained.n_rows,
        noise_scale_binning=trained.count_noise,
        noise_scale_boosting=trained.update_noise,
        rounds=request.config.n_rounds,
        guarantee=guarantee,
        parameters={name: plain_value(getattr(settings, name)) for name in kept},
        total_error=trained.total_error,
        exposure=trained.exposure,
        baseline=trained.baseline,
        clipped=tuple((name, *own) for name, own in [*shares, (None, trained.clipped)] if own),
        needs_init_score=INIT_SCORE_CONDITION in request.conditions,
        correlations=tuple(
            (features[columns[i]].name, features[columns[j]].name, value)
            for i, j, value in trained.correlations
        ),
    )


def bounds_of(feature: AdditiveFeature) -> tuple[float, float]:
    """Return ``feature_bounds_`` of one feature: NaN for a categorical one."""
    spec = feature.spec
    return (np.nan, np.nan) if isinstance(spec, Categorical) else (spec.lower, spec.upper)


def bins_of(feature: AdditiveFeature) -> list[FloatArray | dict[str, int]]:
    """Return ``bins_`` of one feature: cut points, or the bin of each level's name.

    Those of its own term come first, then those of its pairs if they are others.
    """
    if feature.cuts is None:
        return [{label: index for index, label in enumerate(feature.labels, start=1)}]
    own = [feature.cuts, feature.pair_cuts]
    return [np.array(cuts) for cuts in own if cuts is not None]


def table_of(model: AdditiveModel, term: AdditiveTerm, flat: Any) -> Any:
    """Return figures of a term's bins as interpret lays them out: those of a pair as a table."""
    if flat is None:
        return None
    subject = model.subject(term)
    if not isinstance(subject, FeaturePair):
        return np.array(flat)
    return np.array(flat).reshape(*subject.shape, *np.shape(flat)[1:])


def target_bounds_of(model: AdditiveModel) -> tuple[float, float]:
    """Return ``min_target_`` and ``max_target_`` of a regression: the declared bounds."""
    target = model.schema.target
    if not isinstance(target, Continuous):
        raise ValueError("A regression's schema must declare its target as Continuous.")
    return target.lower, target.upper


def plain_value(value: Any) -> Any:
    """Return a constructor parameter as JSON can hold it."""
    if isinstance(value, np.ndarray):
        return plain_value(value.tolist())
    if isinstance(value, np.generic):  # one of more than 64 bits stays what it is
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): plain_value(entry) for key, entry in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str):
        return [plain_value(entry) for entry in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return float(value) if isinstance(value, Real) else str(value)


def shared_session(model: AdditiveModel, *, build: Callable[[AdditiveModel], Any]) -> EditSession:
    """Return the session of all explanations of a model; imported when one is edited."""
    from interpret_dp.editor.session import shared_session

    return shared_session(model, build)


def labels_in_explanations(classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as interpret's explanations look for them.

    interpret reads labels as text unless all are integers or all are booleans.
    """
    return classes if classes.dtype.kind in "bi" else classes.astype(np.str_)


def actual_values(y: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return outcomes as interpret finds them among the labels; public, as the explained rows are.

    Labels are read as ``fit`` reads them, so that 1.0 is the class 1. interpret takes no missing
    label and shows one that is no class as unknown: both become such a one here.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
    classes : ndarray, shape (n_classes,), or None
        None for a regression.

    Raises
    ------
    SchemaError
        If ``y`` is not one column, or a regression's has a cell that is no finite number.
    """
    if classes is None:
        return _numbers(y)
    codes = encode_classes(y, classes.tolist())
    labels = labels_in_explanations(classes)
    labels = labels.astype(np.int64) if labels.dtype == bool else labels
    return np.append(labels, _no_class(labels))[codes]


def _numbers(y: Any) -> FloatArray:
    column = open_target(y)
    numbers = np.empty(len(column), dtype=np.float64)
    for rows, values in in_chunks(column, numbers_of):
        numbers[rows] = values
    if not np.isfinite(numbers).all():
        row = int(np.isfinite(numbers).argmin())
        raise SchemaError(
            f"y is no finite number in row {row} of the rows to be explained; interpret shows "
            "such numbers alone. Leave y out, or explain the rows that have one."
        )
    return numbers


def _no_class(labels: NDArray[Any]) -> NDArray[Any]:
    """Return an array of one cell that is none of the labels, and changes none when appended."""
    if labels.dtype.kind == "i":
        return np.array([labels.max() + 1])
    text = "(unknown)"
    while text in labels.tolist():
        text += "?"
    return np.array([text])


def histogram_of(feature: AdditiveFeature, weights: FloatArray | None, n_rows: float) -> FloatArray:
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


def histograms_of(model: AdditiveModel) -> list[FloatArray]:
    """Return interpret's ``histogram_weights_``: for each feature released weights of rows."""
    weights = {term.feature: term.weights for term in model.terms if term.partner is None}
    return [
        np.array(weights[index])
        if isinstance(feature.spec, Categorical) and index in weights
        else histogram_of(feature, weights.get(index), model.n_rows)
        for index, feature in enumerate(model.features)
    ]


# What interpret's own class calls the same, and holds.
_FITTED = (
    *("n_features_in_", "feature_names_in_", "feature_types_in_", "feature_bounds_", "bins_"),
    *("term_features_", "term_names_", "term_scores_", "bagged_scores_", "bin_weights_"),
    *("standard_deviations_", "intercept_", "bagged_intercept_", "link_", "link_param_"),
    *("bag_weights_", "best_iteration_", "classes_", "min_target_", "max_target_"),
)


def interpret_model(
    fitted: Any, model: AdditiveModel
) -> ExplainableBoostingClassifier | ExplainableBoostingRegressor:
    """Return interpret's own model; see ``to_interpret`` of the estimators.

    Parameters
    ----------
    fitted : PrivateEBM
        With the attributes of ``model``.
    model : AdditiveModel
    """
    if model.classes is not None and len(model.classes) == 1:
        raise ValueError(
            f"The model knows one class alone, {model.classes[0]!r}, and has no scores to hand on. "
            "Declare all labels, with classes=[...] or Schema(target=Categorical([...])), and fit."
        )
    pairs = [term.features for term in model.terms if term.partner is not None]
    given = {"feature_names": list(fitted.feature_names_in_), "interactions": pairs or 0}
    other: Any
    if model.classes is None:
        objective = name_in_interpret(str(model.parameters.get("objective", "rmse")))
        other = ExplainableBoostingRegressor(**given, objective=objective)
    else:
        other = ExplainableBoostingClassifier(**given)
    for name in _FITTED:
        if hasattr(fitted, name):
            setattr(other, name, copy.deepcopy(getattr(fitted, name)))
    other.histogram_weights_ = histograms_of(model)
    other.histogram_edges_ = [
        np.linspace(*feature.spec.extent, len(weights) - 1)
        if isinstance(feature.spec, Continuous)
        else None
        for feature, weights in zip(model.features, other.histogram_weights_, strict=True)
    ]
    other.unique_val_counts_ = np.array([feature.n_codes - 2 for feature in model.features])
    other.privacy_guarantee_ = model.guarantee.sentence
    other.has_fitted_ = True
    return other


def positions_of(features: Any, names: Sequence[str]) -> set[int]:
    """Return the indices of features; TypeError or ValueError if they name anything else."""
    items = check_sequence("features", features, "names or indices")
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != len(names):
            raise ValueError(
                f"features has {len(items)} booleans; it must have one for each of the "
                f"{len(names)} features, or names or indices."
            )
        return {index for index, goes in enumerate(items) if goes}
    return {column_of(item, names, "features") for item in items}


_LEAST_EXPOSURE = 1e-300


def start_scores(init_score: Any, exposure: Any) -> Any:
    """Return the scores that predictions start from: logarithms of exposures, if any are given.

    Parameters
    ----------
    init_score, exposure : array-like, shape (n_rows,), or None
        Of Dask collections the logarithms are lazy.

    Raises
    ------
    TypeError, ValueError, SchemaError
        If both are given, exposures in memory are not numbers of one column, as ``fit`` reads them,
        or one is missing, infinite or negative.
    """
    if exposure is None:
        return init_score
    if init_score is not None:
        raise ValueError("init_score and exposure were given; pass one of them.")
    if not is_dask(exposure):
        # NumPy would make nanoseconds of durations, and numbers of texts.
        column = open_column("exposure", exposure)
        refuse_texts("exposure", column)
        exposure = column_numbers(column)
        if not (np.isfinite(exposure) & (exposure >= 0)).all():
            raise ValueError(
                "exposure has entries that are missing, infinite or negative; each row to predict "
                "needs a number of 0 or more."
            )
    # Of 0 a number whose exponential is 0: interpret takes finite scores.
    return np.log(np.maximum(exposure, _LEAST_EXPOSURE))


def refuse_exposure(model: AdditiveModel | None) -> None:
    """Raise ValueError if predictions of a fitted model are none per unit of exposure."""
    if model is not None and (model.link != "log" or model.baseline is not None):
        of = "survival" if model.baseline is not None else f"the link {model.link!r}"
        raise ValueError(
            f"exposure was given, and the model is one of {of}. It needs a model of counts or "
            "amounts, with the link 'log'. Leave it out."
        )


def concordance_score(y: Any, ratios: FloatArray, *given: Any) -> float:
    """Return the concordance of times and hazard ratios; ValueError if anything else is given."""
    if any(argument is not None for argument in given):
        raise ValueError("score of survival takes no sample_weight and no exposure. Leave it out.")
    return concordance(encode_target(y, Continuous(-1e100, 1e100)), ratios)


def predict_lazily(model: Any, method: str, X: Any, init_score: Any = None) -> Any:
    """Return the result of a method of a fitted model for a Dask collection, as a Dask array.

    Parameters
    ----------
    model : PrivateEBM
        Fitted.
    method : str
        Takes rows, and ``init_score`` where it is given.
    X : dask.dataframe.DataFrame or dask.array.Array, shape (n_rows, n_features)
    init_score : Dask collection, model or None

    Raises
    ------
    TypeError
        If ``init_score`` holds numbers in memory.
    SchemaError
        If the columns do not fit, or the collections are not cut alike.
    """
    from interpret_dp.backends.dask import open_pieces
    from interpret_dp.backends.dask.parts import mapped_array

    given = {"X": X}
    model_of_scores = None
    if init_score is not None and not is_dask(init_score) and hasattr(init_score, "predict"):
        model_of_scores = init_score
    elif init_score is not None:
        given["init_score"] = init_score
    pieces = open_pieces(given)
    # Workers need no ledger, which may be of this process alone.
    public = copy.copy(model)
    public.ledger = None
    call = partial(_answer, method, pieces.roles, model_of_scores)
    form = np.asarray(call(public, *(pieces.forms[role] for role in pieces.roles)))
    return mapped_array(call, public, pieces, form[:0])


def _answer(
    method: str, roles: tuple[str, ...], model_of_scores: Any, model: Any, *pieces: Any
) -> NDArray[Any]:
    given = dict(zip(roles, pieces, strict=True))
    start = given.get("init_score", model_of_scores)
    extra = {} if start is None else {"init_score": start}
    return np.asarray(getattr(model, method)(given["X"], **extra))


_Class = TypeVar("_Class", bound=type)


def with_parameters_of(other: type) -> Callable[[_Class], _Class]:
    """Append another class's parameters to those that the decorated class has beside them."""

    def decorate(cls: _Class) -> _Class:
        # Without docstrings, under python -OO, there is nothing to do.
        if cls.__doc__ is not None and other.__doc__ is not None:
            own, further = inspect.cleandoc(cls.__doc__), inspect.cleandoc(other.__doc__)
            entries = further.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
            # The last one, which a regressor does not have.
            entries = entries.partition("\nclasses : ")[0]
            head, _, tail = own.partition("\n\nAttributes\n")
            cls.__doc__ = f"{head}\n{entries}\n\nAttributes\n{tail}"
        return cls

    return decorate
