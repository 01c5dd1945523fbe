"""Explanations, JSON, removal of features and lazy predictions, as interpret and Dask expect them.

interpret looks for outcomes of explained rows among its own form of the labels. Its reader of JSON
asks for figures that a private fit does not publish, and fails on the documents of interpret's own
private models: here they are derived from what was released. Its ``remove_features`` cuts exact
histograms, which no private fit publishes, and leaves the remaining terms with the indices of
before (interpret 0.7.8). On Dask collections a model is applied where the rows are, when asked;
rows are the caller's own, and nothing is released.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_sequence, did_you_mean
from interpret_dp.ebm.publishing import current_features, plain_value
from interpret_dp.exceptions import SchemaError
from interpret_dp.explanation.objects import PrivateEBMExplanation, attach_privacy
from interpret_dp.released import AdditiveFeature, AdditiveModel, EditRecord
from interpret_dp.released.edits import login_name
from interpret_dp.schema import Continuous, encode_classes, open_target
from interpret_dp.schema.cells import in_chunks, numbers_of
from interpret_dp.schema.containers import is_dask

if TYPE_CHECKING:
    from interpret_dp.editor import EditSession
    from interpret_dp.explanation.plan import FitPlan


def with_privacy(estimator: Any, explanation: Any) -> PrivateEBMExplanation:
    """Return interpret's explanation of a fitted estimator with its cost, editor and planner.

    Parameters
    ----------
    estimator : PrivateEBM
    explanation : interpret's EBMExplanation
    """
    build = partial(type(estimator).from_released, ledger=estimator.ledger)
    open_session = partial(_shared_session, build=build)
    spend, model = estimator.privacy_spend_, estimator.to_released()
    private: PrivateEBMExplanation = attach_privacy(explanation, spend, model, open_session, _plan)
    return private


def _shared_session(model: AdditiveModel, *, build: Callable[[AdditiveModel], Any]) -> EditSession:
    """Return the session of all explanations of a model; imported when one is edited."""
    from interpret_dp.editor.session import shared_session

    return shared_session(model, build)


def _plan(*args: Any, **given: Any) -> FitPlan:
    """Plan a fit; imported when one is planned, since a planner imports the estimators."""
    from interpret_dp.ebm.planning import plan

    return plan(*args, **given)


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


def _numbers(y: Any) -> NDArray[np.float64]:
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
    if sentence := estimator.guarantee_.state_sentence:
        inner["promise"] = sentence
    if detail == "minimal":
        return document
    # Not of a released model, which holds finite scores: a person may have set one to NaN.
    features = current_features(estimator)
    terms = zip(estimator.term_features_, estimator.bin_weights_, strict=True)
    weights = {indices[0]: own for indices, own in terms if len(indices) == 1}
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


def drop_features(estimator: Any, features: Any) -> None:
    """Remove features, and every term that one of them is in, from a fitted estimator.

    Parameters
    ----------
    estimator : PrivateEBM
        Is changed in place; the edits of ``released_`` name the terms that go.
    features : sequence of str, int or bool
        Names, indices, or for each feature whether it goes, as interpret takes them.

    Raises
    ------
    TypeError, ValueError
        If ``features`` names anything else; nothing is changed then.
    """
    names = estimator.feature_names_in_
    dropped = _positions(features, names)
    places_of_terms = [
        place for place, term in enumerate(estimator.term_features_) if dropped.intersection(term)
    ]
    gone = [estimator.term_names_[place] for place in places_of_terms]
    estimator.remove_terms(places_of_terms)
    released, who = estimator.released_, login_name()
    records = [EditRecord.of_now(name, "removed with its feature", who) for name in gone]
    estimator.released_ = replace(released, edits=(*released.edits, *records))
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
    positions = set()
    for item in items:
        if isinstance(item, str) and item in names:
            positions.add(names.index(item))
        elif (
            isinstance(item, int | np.integer)
            and not isinstance(item, bool)
            and -len(names) <= item < len(names)
        ):
            positions.add(int(item) % len(names))
        else:
            raise ValueError(
                f"features has {item!r}; each item must be the name or index of one feature (of "
                f"{', '.join(map(repr, names))}).{did_you_mean(item, names)}"
            )
    return positions


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
    from interpret_dp.backends.dask.collections import mapped_array

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
