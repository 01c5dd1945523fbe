"""The released additive model: what a fit publishes, as one immutable value.

Everything in it is schema, hyperparameter or post-processing of paid-for releases. Plots, files
and the editor see this and never the trainer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import check_keys, check_version, digest_of, unsealed
from interpret_dp._validate import check_choice
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.released.edits import EditRecord
from interpret_dp.schema import Categorical, Continuous, Schema, level_labels

__all__ = ["AdditiveFeature", "AdditiveModel", "AdditiveTerm"]

FloatArray = NDArray[np.float64]


def _frozen(values: Any, shape: tuple[int, ...], what: str) -> FloatArray:
    """Return an immutable float copy of the expected shape with finite values, or raise."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers of shape {shape}.") from None
    if array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}; it must have shape {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} has values that are not finite; all must be.")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class AdditiveFeature:
    """One input of the model.

    Attributes
    ----------
    name : str
    spec : Continuous or Categorical
        Its declaration in the schema.
    cuts : ndarray of float64, shape (n_bins - 1,), or None
        Increasing cut points of a continuous feature; a value on a cut is in the bin above.
    """

    name: str
    spec: Continuous | Categorical
    cuts: FloatArray | None = None

    def __post_init__(self) -> None:
        """Freeze the cut points and check them against the declaration."""
        if isinstance(self.spec, Categorical):
            if self.cuts is not None:
                raise ValueError(f"Feature {self.name!r} is categorical and cannot have cuts.")
            return
        if self.cuts is None:
            raise ValueError(f"Feature {self.name!r} is continuous and must have cuts.")
        cuts = _frozen(self.cuts, (len(self.cuts),), f"cuts of feature {self.name!r}")
        if (np.diff(cuts) <= 0).any():
            raise ValueError(f"cuts of feature {self.name!r} must increase.")
        object.__setattr__(self, "cuts", cuts)

    @property
    def kind(self) -> str:
        """Type of the feature in interpret's words: continuous, nominal or ordinal."""
        if isinstance(self.spec, Continuous):
            return "continuous"
        return "ordinal" if self.spec.ordered else "nominal"

    @property
    def labels(self) -> list[str]:
        """Names of the levels of a categorical feature, in order of their bins."""
        return level_labels(self.spec) if isinstance(self.spec, Categorical) else []

    @property
    def n_codes(self) -> int:
        """Number of bins, missing and unseen included."""
        return (len(self.labels) if self.cuts is None else len(self.cuts) + 1) + 2


@dataclass(frozen=True, eq=False)
class AdditiveTerm:
    """One shape function.

    Attributes
    ----------
    feature : int
        Index of its feature.
    scores : ndarray of float64, shape (n_codes,) or (n_codes, n_classes)
        Score of the missing bin, of each bin, and of the unseen bin; one column a class if there
        are more than two.
    weights : ndarray of float64, shape (n_codes,)
        Released number of rows per bin.
    covariance : ndarray of float64, (n_codes, n_codes) or (n_classes, n_codes, n_codes), or None
        Covariance of the added noise in ``scores``; None where it is not known as a whole.
    variances : ndarray of float64, same shape as ``scores``, or None
        Variance of the added noise, of a term with too many bins for a ``covariance`` or one that
        was kept monotone. None where ``covariance`` is given, whose diagonal it would be, or
        nothing is known.
    """

    feature: int
    scores: FloatArray
    weights: FloatArray
    covariance: FloatArray | None
    variances: FloatArray | None = None

    def __post_init__(self) -> None:
        """Freeze the arrays and check their shapes against one another."""
        shape = np.shape(self.scores)
        if len(shape) not in (1, 2):
            raise ValueError(f"term scores have shape {shape}; one or two axes are allowed.")
        for name, expected in (("scores", shape), ("weights", shape[:1])):
            object.__setattr__(self, name, _frozen(getattr(self, name), expected, f"term {name}"))
        if (self.weights < 0).any():
            raise ValueError("term weights must not be negative.")
        if self.covariance is not None:
            expected = (*shape[1:], shape[0], shape[0])
            square = _frozen(self.covariance, expected, "term covariance")
            object.__setattr__(self, "covariance", square)
        if self.variances is not None:
            if self.covariance is not None:
                raise ValueError(
                    "A term has both covariance and variances; give the covariance, or the "
                    "variances where it is not known as a whole."
                )
            variances = _frozen(self.variances, shape, "term variances")
            if (variances < 0).any():
                raise ValueError("term variances must not be negative.")
            object.__setattr__(self, "variances", variances)

    @property
    def standard_deviations(self) -> FloatArray | None:
        """Standard deviation of the added noise, same shape as ``scores``; None if unknown."""
        variances = self.variances
        if self.covariance is not None:
            variances = np.diagonal(self.covariance, axis1=-2, axis2=-1).T
        if variances is None:
            return None
        deviations: FloatArray = np.sqrt(np.maximum(variances, 0.0))
        return deviations


_FORMAT = "interpret_dp.additive_model"
_VERSION = 1
_KEYS = (
    *("format", "version", "task", "schema", "features", "terms", "intercept", "classes"),
    *("n_rows", "noise_scale_binning", "noise_scale_boosting", "rounds"),
    *("guarantee", "parameters"),
)
_TERM_KEYS = ("feature", "scores", "weights", "covariance")
_LINKS = ("identity", "log")  # that a file may name


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A released generalised additive model.

    Attributes
    ----------
    task : {"classification", "regression"}
    schema : Schema
        The declaration that the rows were read by.
    features : tuple of AdditiveFeature
    terms : tuple of AdditiveTerm
    intercept : ndarray of float64, shape (1,) or (n_classes,)
    classes : tuple of str, number or bool, or None
        Class labels in the order of the probabilities; None for a regression.
    n_rows : float
        Released number of rows.
    noise_scale_binning : float
        Standard deviation of the noise of a bin count, in rows.
    noise_scale_boosting : float
        Standard deviation of the noise of an update's residual sum, in units of score.
    rounds : int
        Rounds of boosting.
    guarantee : Guarantee
    parameters : dict
        Constructor parameters of the estimator, as far as JSON can hold them.
    edits : tuple of EditRecord
        What a person changed after the fit, oldest first; empty for a model as fitted.
    has_log_link : bool
        Whether a regression's scores are logarithms of the target's unit.
    """

    task: str
    schema: Schema
    features: tuple[AdditiveFeature, ...]
    terms: tuple[AdditiveTerm, ...]
    intercept: FloatArray
    classes: tuple[Any, ...] | None
    n_rows: float
    noise_scale_binning: float
    noise_scale_boosting: float
    rounds: int
    guarantee: Guarantee
    parameters: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[EditRecord, ...] = ()
    has_log_link: bool = False

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        if self.task not in ("classification", "regression"):
            raise ValueError(f"task is {self.task!r}; it must be 'classification' or 'regression'.")
        if (self.classes is None) != (self.task == "regression"):
            raise ValueError("A classification has classes and a regression has none.")
        if self.has_log_link and self.classes is not None:
            raise ValueError("A classification cannot have a log link.")
        n_scores = len(self.classes) if self.classes and len(self.classes) > 2 else 1
        intercept = np.atleast_1d(np.asarray(self.intercept))
        object.__setattr__(self, "intercept", _frozen(intercept, (n_scores,), "intercept"))
        for term in self.terms:
            if term.scores[0].size != n_scores:
                raise ValueError(
                    f"A term has {term.scores[0].size} scores per bin; the classes need {n_scores}."
                )
            if not 0 <= term.feature < len(self.features):
                raise ValueError(f"A term's feature {term.feature} is not one of the features.")
            feature = self.features[term.feature]
            if len(term.scores) != feature.n_codes:
                raise ValueError(
                    f"The term of feature {feature.name!r} has {len(term.scores)} scores; its "
                    f"bins need {feature.n_codes}."
                )
        for name in ("n_rows", "noise_scale_binning", "noise_scale_boosting"):
            object.__setattr__(self, name, float(_frozen(getattr(self, name), (), name)))
        object.__setattr__(self, "edits", tuple(self.edits))
        for edit in self.edits:
            if not isinstance(edit, EditRecord):
                raise TypeError(f"edits holds {edit!r}; each must be an EditRecord.")

    @property
    def link(self) -> str:
        """Of which scale the scores are, in interpret's words, such as identity, log or logit."""
        if self.classes is None:
            return "log" if self.has_log_link else "identity"
        return {1: "monoclassification", 2: "logit"}.get(len(self.classes), "mlogit")

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON document: the identity of the model.

        A file that ``save`` wrote holds it as its seal, and older files hold none.
        """
        return digest_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return a document of plain JSON values; :meth:`from_dict` reads it."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "task": self.task,
            "schema": self.schema.to_dict(),
            "features": [
                {"name": f.name, "cuts": None if f.cuts is None else f.cuts.tolist()}
                for f in self.features
            ],
            "terms": [
                {
                    "feature": term.feature,
                    "scores": term.scores.tolist(),
                    "weights": term.weights.tolist(),
                    "covariance": _lower_triangle(term.covariance),
                    # Left out where there are none, as in older files.
                    **({} if term.variances is None else {"variances": term.variances.tolist()}),
                }
                for term in self.terms
            ],
            "intercept": self.intercept.tolist(),
            "classes": None if self.classes is None else list(self.classes),
            # Left out where older files have none.
            **({"link": "log"} if self.has_log_link else {}),
            "n_rows": self.n_rows,
            "noise_scale_binning": self.noise_scale_binning,
            "noise_scale_boosting": self.noise_scale_boosting,
            "rounds": self.rounds,
            "guarantee": self.guarantee.to_dict(),
            "parameters": dict(self.parameters),
            # Left out if there are none, so that the digests of older files stay.
            **({"edits": [edit.to_dict() for edit in self.edits]} if self.edits else {}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> AdditiveModel:
        """Rebuild a model from its document.

        Raises
        ------
        ValueError
            If the document is of another format or version, was changed since it was sealed,
            lacks a part or has one too many, or its parts do not fit together.
        """
        if not isinstance(document, Mapping) or document.get("format") != _FORMAT:
            raise ValueError(
                f"This is not a model file of interpret_dp: its format must be {_FORMAT!r}."
            )
        document = unsealed(document, "The model file")
        check_version("The model file", document.get("version"), _VERSION)
        check_keys("The model file", document, _KEYS, optional=("link", "edits"))
        try:
            return cls._from_checked(document)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"The model file is incomplete or was changed by hand ({type(error).__name__}: "
                f"{error}). Fit the model again, or restore the file."
            ) from error

    @classmethod
    def _from_checked(cls, document: Mapping[str, Any]) -> AdditiveModel:
        for number, entry in enumerate(document["features"]):
            check_keys(f"Feature {number} of the model file", entry, ("name", "cuts"))
        for number, entry in enumerate(document["terms"]):
            what = f"Term {number} of the model file"
            check_keys(what, entry, _TERM_KEYS, optional=("variances",))
        schema = Schema.from_dict(document["schema"])
        names = [entry["name"] for entry in document["features"]]
        specs = schema.resolve(names)
        classes = document["classes"]
        return cls(
            task=document["task"],
            schema=schema,
            features=tuple(
                AdditiveFeature(entry["name"], spec, entry["cuts"])
                for entry, spec in zip(document["features"], specs, strict=True)
            ),
            terms=tuple(
                AdditiveTerm(
                    feature=int(entry["feature"]),
                    scores=entry["scores"],
                    weights=entry["weights"],
                    covariance=_full_square(entry["covariance"], len(entry["scores"])),
                    variances=entry.get("variances"),
                )
                for entry in document["terms"]
            ),
            intercept=document["intercept"],
            classes=None if classes is None else tuple(classes),
            n_rows=document["n_rows"],
            noise_scale_binning=document["noise_scale_binning"],
            noise_scale_boosting=document["noise_scale_boosting"],
            rounds=int(document["rounds"]),
            guarantee=Guarantee.from_dict(document["guarantee"]),
            parameters=dict(document["parameters"]),
            edits=tuple(EditRecord.from_dict(entry) for entry in document.get("edits", ())),
            has_log_link=check_choice("link", document.get("link", "identity"), _LINKS) == "log",
        )


def _lower_triangle(square: FloatArray | None) -> list[Any] | None:
    """Flatten the lower triangles; seven digits are far more than a noise estimate has."""
    if square is None:
        return None
    if square.ndim == 3:
        return [_lower_triangle(layer) for layer in square]
    return [float(f"{value:.7g}") for value in square[np.tril_indices(len(square))]]


def _full_square(triangle: list[Any] | None, size: int) -> FloatArray | None:
    if triangle is None:
        return None
    if triangle and isinstance(triangle[0], list):
        return np.stack([_square(layer, size) for layer in triangle])
    return _square(triangle, size)


def _square(triangle: list[float], size: int) -> FloatArray:
    values = _frozen(triangle, (size * (size + 1) // 2,), "term covariance")
    rows, columns = np.tril_indices(size)
    square = np.zeros((size, size))
    square[rows, columns] = values
    square[columns, rows] = square[rows, columns]
    return square
