"""An operation on one term: planned from a request, checked, applied, and put into words."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice, check_flag, check_int
from interpret_dp.editor.bins import (
    Subject,
    class_column,
    code_positions,
    codes_text,
    select_codes,
)
from interpret_dp.editor.recipes import (
    KINDS,
    SELECTION,
    BinScores,
    Runner,
    checked_parameters,
    given_parameters,
    of_class,
)
from interpret_dp.released import AdditiveModel, AdditiveTerm, EditRecord, FeaturePair

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Operation:
    """One edit with every parameter resolved: applying it again gives the same scores.

    Attributes
    ----------
    kind : str
        A key of ``KINDS``.
    term : str
        Name of the term.
    bins : tuple of int
        Selected indices into the scores, increasing.
    classes : tuple of int
        Selected columns of the scores; (0,) unless there are more than two classes.
    parameters : mapping
        Plain JSON values; those that the scores decided ("auto") are written out, one a class.
    recentre : bool
        Whether the intercept takes up the change of the term's mean.
    n_public_rows : int
        Number of public rows whose metrics the author had seen; 0 for none.

    Examples
    --------
    >>> from interpret_dp.editor import Operation
    >>> shift = Operation("shift", "age", bins=(1, 2), classes=(0,), parameters={"by": 0.1})
    >>> shift.to_dict()["bins"]
    [1, 2]
    """

    kind: str
    term: str
    bins: tuple[int, ...]
    classes: tuple[int, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    recentre: bool = True
    n_public_rows: int = 0

    def __post_init__(self) -> None:
        """Freeze the parameters."""
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        document = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        if not self.n_public_rows:
            del document["n_public_rows"]
        return document | {
            "bins": list(self.bins),
            "classes": list(self.classes),
            "parameters": dict(self.parameters),
        }


def plan(model: AdditiveModel, kind: str, index: int, arguments: Mapping[str, Any]) -> Operation:
    """Check a request against a model and resolve what it leaves open.

    Parameters
    ----------
    model : AdditiveModel
        As it is now.
    kind : str
    index : int
        Number of the term.
    arguments : mapping
        The operation's own arguments, and those of ``BinSelection``.

    Raises
    ------
    TypeError, ValueError
        If an argument is unknown, missing or out of range, the selection is empty, or the
        operation makes no sense for the term.
    """
    check_choice("kind", kind, KINDS)
    own = {name: value for name, value in arguments.items() if name not in SELECTION}
    recentre = check_flag("recentre", arguments.get("recentre", True))
    term = model.terms[index]
    feature = model.subject(term)
    chosen = {name: arguments.get(name) for name in ("between", "levels", "bins")}
    bins = select_codes(feature, **chosen, everything=KINDS[kind].everything)
    classes = _select_classes(model, arguments.get("classes"))
    parameters = given_parameters(kind, own, len(bins), len(classes))
    _check_suits(kind, feature, bins, parameters.get("to"))
    resolve = KINDS[kind].resolve
    if resolve is not None:
        resolved = [
            resolve(_curve(feature, term, bins, column), of_class(kind, parameters, position))
            for position, column in enumerate(classes)
        ]
        parameters |= {name: [entry[name] for entry in resolved] for name in resolved[0]}
    return Operation(kind, feature.name, bins, classes, parameters, recentre)


def recorded(model: AdditiveModel, index: int, entry: Mapping[str, Any]) -> Operation:
    """Check an operation that a file recorded; everything in it is decided.

    Raises
    ------
    KeyError, TypeError, ValueError
        If a part is missing, of another type, or does not fit the model.
    """
    kind = check_choice("kind", entry["kind"], KINDS)
    feature = model.subject(model.terms[index])
    bins = _recorded_numbers("bins", entry["bins"], feature.n_codes)
    classes = _recorded_numbers("classes", entry["classes"], len(model.intercept))
    parameters = checked_parameters(kind, entry["parameters"], len(bins), len(classes))
    _check_suits(kind, feature, bins, parameters.get("to"))
    seen = recorded_rows(entry)
    return Operation(kind, feature.name, bins, classes, parameters, entry["recentre"], seen)


def recorded_rows(entry: Mapping[str, Any]) -> int:
    """Return the number of public rows that a file says the author had seen; 0 if none."""
    if "n_public_rows" not in entry:
        return 0
    return check_int("n_public_rows", entry["n_public_rows"], low=1)


def _recorded_numbers(name: str, numbers: Any, size: int) -> tuple[int, ...]:
    if not numbers:
        raise ValueError(f"{name} is {numbers!r}; it must be a list of indices that is not empty")
    chosen = tuple(check_int(f"an index in {name}", n, low=0, high=size - 1) for n in numbers)
    if chosen != tuple(sorted(set(chosen))):
        raise ValueError(f"{name} is {numbers!r}; indices must increase")
    return chosen


def edited_term(feature: Subject, term: AdditiveTerm, operation: Operation) -> AdditiveTerm:
    """Return the term after an operation that :func:`plan` made or a file's check let pass."""
    run = KINDS[operation.kind].run
    bins = np.array(operation.bins)
    scores = np.array(term.scores).reshape(len(term.scores), -1)
    carried: dict[str, Any] = {
        name: None if getattr(term, name) is None else np.array(getattr(term, name))
        for name in _CARRIED
    }
    for position, column in enumerate(operation.classes):
        curve = _curve(feature, term, operation.bins, column)
        parameters = of_class(operation.kind, operation.parameters, position)
        fitted, linear = run(curve, parameters)
        if np.array_equal(fitted, curve.scores):
            continue
        if linear is None:
            # The effect of a projection on noise depends on the curve below it.
            image = functools.partial(_image, run, curve, parameters, bins)
            whole = scores[:, column].copy()
            carried = _carried_by_draws(carried, whole, column, bins, image)
        else:
            edit = _AffineMap(bins, linear, curve.scores, fitted)
            carried = {
                name: None if array is None else _CARRIED[name](array, column, edit)
                for name, array in carried.items()
            }
        scores[bins, column] = fitted
    return dataclasses.replace(term, scores=scores.reshape(term.scores.shape), **carried)


@dataclass(frozen=True)
class _AffineMap:
    """An edit of some bins as an affine map: the matrix or factor, and one curve with its image."""

    bins: IntArray
    linear: FloatArray | float
    scores: FloatArray
    fitted: FloatArray

    @property
    def is_matrix(self) -> bool:
        return isinstance(self.linear, np.ndarray)

    def image(self, curve: FloatArray) -> FloatArray:
        """Return the image of another curve."""
        change = curve - self.scores
        return self.fitted + (self.linear @ change if self.is_matrix else self.linear * change)


def _carried_scores(scores: FloatArray, column: int, edit: _AffineMap) -> FloatArray:
    columns = scores.reshape(len(scores), -1).copy()
    columns[edit.bins, column] = edit.image(columns[edit.bins, column])
    return columns.reshape(scores.shape)


def _carried_covariance(covariance: FloatArray, column: int, edit: _AffineMap) -> FloatArray:
    """Return the covariances after a linear map of the selected bins of one class."""
    size = covariance.shape[-1]
    layers = np.array(covariance).reshape(-1, size, size)
    matrix = np.eye(size)
    matrix[np.ix_(edit.bins, edit.bins)] = (
        edit.linear if edit.is_matrix else edit.linear * np.eye(len(edit.bins))
    )
    carried = matrix @ layers[column] @ matrix.T
    # Rounding must not make it asymmetric: a file keeps one triangle.
    layers[column] = np.tril(carried) + np.tril(carried, -1).T
    return layers.reshape(covariance.shape)


def _carried_variances(variances: FloatArray, column: int, edit: _AffineMap) -> FloatArray | None:
    """Return the variances if the covariances are not needed for it."""
    if edit.is_matrix:
        return None
    columns = variances.reshape(len(variances), -1).copy()
    columns[edit.bins, column] *= edit.linear**2
    return columns.reshape(variances.shape)


def _carried_sampling(variances: FloatArray, column: int, edit: _AffineMap) -> FloatArray:
    """Return the variances of sampling error, which is independent from bin to bin."""
    columns = variances.reshape(len(variances), -1).copy()
    squares = np.square(edit.linear)
    own = columns[edit.bins, column]
    columns[edit.bins, column] = squares @ own if edit.is_matrix else squares * own
    return columns.reshape(variances.shape)


def _image(
    run: Runner, curve: BinScores, parameters: Any, bins: IntArray, whole: FloatArray
) -> FloatArray:
    """Return what an edit makes of another curve over all bins."""
    edited = whole.copy()
    edited[bins], _ = run(dataclasses.replace(curve, scores=whole[bins]), parameters)
    return edited


def _carried_by_draws(
    carried: dict[str, Any],
    scores: FloatArray,
    column: int,
    bins: IntArray,
    image: Callable[[FloatArray], FloatArray],
) -> dict[str, Any]:
    """Return what is known of one class's noise after an edit that is not linear.

    Curves are drawn with the covariance that is known, and edited alike; their moments are kept.

    Parameters
    ----------
    carried : dict
        Arrays by name, as in ``_CARRIED``; None where nothing is known.
    scores : ndarray of float64, shape (n_codes,)
        Before the edit.
    column : int
    bins : ndarray of int
        That are edited.
    image : callable
        Edits one curve over all bins.
    """
    if carried["covariance"] is None:
        return dict.fromkeys(carried)
    after = {name: None if array is None else array.copy() for name, array in carried.items()}
    size = len(scores)
    normals = even_normals(_N_DRAWS, size, _SEQUENCE).T
    for mean, full in _MOMENTS:
        centres, layers = after[mean], after[full]
        if layers is None:
            continue
        layer = layers.reshape(-1, size, size)[column]
        centre = scores if centres is None else centres.reshape(size, -1)[:, column].copy()
        images = np.array([image(curve) for curve in centre + normal_draws(normals, layer)])
        moved = np.cov(images.T)
        layer[bins], layer[:, bins] = moved[bins], moved[:, bins]
        if centres is not None:
            # Of the noisy curve its own image; of what is expected the mean of the images.
            is_noisy = mean == "noisy_scores"
            new = image(centre) if is_noisy else images.mean(axis=0)
            centres.reshape(size, -1)[bins, column] = new[bins]
    return after


def normal_draws(normals: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return draws with a covariance, one a row, from standard normals of the same shape.

    Eigenvalues below zero, which rounding makes, count as zero.
    """
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(normals @ (vectors * np.sqrt(np.maximum(values, 0.0))).T)


def even_normals(n_draws: int, size: int, sequence: bytes) -> FloatArray:
    """Return normal numbers, shape (size, n_draws), each row spread evenly.

    Latin hypercube sampling (Iman and Conover 1982), and no source of randomness: the numbers are
    the same for everybody, and anyone can compute them again.
    """
    from scipy.special import ndtri

    words = (hashlib.shake_256(sequence + b"%d" % k).digest(8 * n_draws) for k in range(size))
    order = np.argsort([np.frombuffer(word, dtype="<u8") for word in words], axis=1)
    return np.asarray(ndtri((order + 0.5) / n_draws))


_N_DRAWS = 512
_SEQUENCE = b"interpret_dp editor: curves that are edited alike, version 1, bin "
_MOMENTS = (("noisy_scores", "covariance"), ("posterior_mean", "posterior_covariance"))

# What is known of a term's noise, and of the curve without it.
_CARRIED: dict[str, Callable[..., FloatArray | None]] = {
    "covariance": _carried_covariance,
    "variances": _carried_variances,
    "noisy_scores": _carried_scores,
    "posterior_mean": _carried_scores,
    "posterior_covariance": _carried_covariance,
    "posterior_variances": _carried_variances,
    "sampling_variances": _carried_sampling,
}


def operation_text(feature: Subject, operation: Operation, labels: tuple[Any, ...]) -> str:
    """Return an operation in words, such as "made increasing between 40 and 60"."""
    text = KINDS[operation.kind].text(operation.parameters)
    default = select_codes(feature, everything=KINDS[operation.kind].everything)
    if operation.bins != default:
        text += f" {codes_text(feature, operation.bins)}"
    if labels and len(operation.classes) < len(labels):
        names = ", ".join(repr(labels[column]) for column in operation.classes)
        text += f", for class {names}"
    return text


def _curve(feature: Subject, term: AdditiveTerm, bins: tuple[int, ...], column: int) -> BinScores:
    chosen = np.array(bins)
    n_codes = len(term.scores)
    covariance = None
    if term.covariance is not None:
        layers = term.covariance.reshape(-1, n_codes, n_codes)
        covariance = layers[column][np.ix_(chosen, chosen)]
    positions, scaled = code_positions(feature, chosen)
    return BinScores(
        scores=term.scores.reshape(n_codes, -1)[chosen, column],
        weights=term.weights[chosen],
        positions=positions,
        scaled=scaled,
        covariance=covariance,
    )


def _check_suits(kind: str, feature: Subject, bins: tuple[int, ...], to: Any) -> None:
    """Raise if the operation needs an order or distances that the selected bins lack."""
    recipe = KINDS[kind]
    needs = "order" if kind == "align" and to in ("left", "right") else recipe.needs
    name = f"align(to={to!r})" if kind == "align" else kind
    if isinstance(feature, FeaturePair):
        if needs != "nothing":
            _check_suits_cells(kind, name, feature, bins)
    elif needs != "nothing":
        if feature.kind == "nominal":
            raise ValueError(
                f"{name} needs bins in an order; the levels of {feature.name!r} have none. Use "
                "flatten, set_scores, shift, scale, cap or remove_effect, or declare the feature "
                "with ordered=True."
            )
        if needs == "distance" and feature.kind == "ordinal":
            raise ValueError(
                f"{name} needs distances between bins; the levels of {feature.name!r} have an "
                "order only. Use make_monotone, or smooth."
            )
        if bins[0] == 0 or bins[-1] == feature.n_codes - 1:
            raise ValueError(
                f"{name} needs bins in an order; the missing and unseen bins have no place in it. "
                f"Select among bins 1 to {feature.n_codes - 2} of {feature.name!r}."
            )
    if not recipe.smallest <= len(bins) <= recipe.largest:
        raise ValueError(
            f"The selection of {feature.name!r} has {len(bins)}; {name} needs at least "
            f"{recipe.smallest} bins and at most {recipe.largest} bins. Select another range."
        )


def _check_suits_cells(kind: str, name: str, pair: FeaturePair, bins: tuple[int, ...]) -> None:
    """Raise unless the operation is one for heat maps too: smoothing over both features."""
    if kind != "smooth":
        raise ValueError(
            f"{name} needs bins in an order; the cells of {pair.name!r} are a heat map. Use "
            "flatten, smooth, set_scores, shift, scale, cap or remove_effect."
        )
    if pair.first.kind == pair.second.kind == "nominal":
        raise ValueError(
            f"{name} needs a feature with an order; the levels of both features of {pair.name!r} "
            "have none. Use flatten, set_scores, shift, scale, cap or remove_effect."
        )
    if not set(bins) <= set(pair.regular):
        raise ValueError(
            f"{name} needs cells in an order; those of missing and unseen values have no place in "
            f"it. Leave them out of the selection of {pair.name!r}."
        )


def _select_classes(model: AdditiveModel, classes: Any) -> tuple[int, ...]:
    """Return the columns of the scores that belong to the given labels."""
    if classes is None:
        return tuple(range(len(model.intercept)))
    is_label = isinstance(classes, str) or not isinstance(classes, Iterable)
    labels = [classes] if is_label else list(classes)
    if not labels:
        raise ValueError("classes is empty, so that there is nothing to edit. Name at least one.")
    return tuple(sorted({class_column(model, "classes", label) for label in labels}))


@dataclass(frozen=True, eq=False)
class Preview:
    """Result of an edit that was not made.

    Attributes
    ----------
    record : EditRecord
        Its entry in the history.
    after : ndarray of float64, shape (n_codes,) or (n_codes, n_classes)
        Scores of the term after the edit.
    released : AdditiveModel
        The whole model after the edit.
    changed : bool
        Whether anything would change.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> preview = session.preview("shift", "sex", by=0.1, levels=["male"])
    >>> preview.record.term, len(session.history)
    ('sex', 0)
    """

    record: EditRecord
    after: FloatArray
    released: AdditiveModel
    changed: bool
