"""The released additive model, its lookup tables, the records of its edits, and its file.

Everything in it is schema, hyperparameter or post-processing of paid-for releases. Plots, files
and the editor see this and never the trainer.
"""

from __future__ import annotations

import dataclasses
import getpass
import os
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import (
    SEAL,
    check_keys,
    check_kinds,
    digest_of,
    open_document,
    plain_values,
    reading_parts,
)
from interpret_dp._validate import check_choice, check_int, check_real
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.released.arrays import LARGEST_COUNT, LARGEST_SCORE, FloatArray, frozen
from interpret_dp.released.terms import (
    OPTIONAL_KEYS,
    AdditiveFeature,
    AdditiveTerm,
    Band,
    FeaturePair,
    mean_prediction,
    read_term,
    term_document,
)
from interpret_dp.schema import Categorical, Continuous, Schema
from interpret_dp.schema.declarations import integers_text

if TYPE_CHECKING:
    import pandas as pd

# Edits of a released model: small public records that travel with it.

_LONGEST_TEXT = 2_000


@dataclass(frozen=True, kw_only=True)
class EditRecord:
    """One change that a person made to a shape function; public, holds no row.

    Attributes
    ----------
    term : str
        Name of the term.
    what : str
        What was done, in words.
    who : str
        Name of the person.
    when : str
        Time in UTC, such as ``2026-01-31T12:00:00Z``.
    why : str, default=""
        The message of the commit that the edit belongs to; empty while it is pending.

    Raises
    ------
    TypeError, ValueError
        If a field is no text, is empty where it may not be, is longer than 2,000 letters, or
        ``when`` is no such time.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> session.shift("sex", 0.1, levels=["male"]).who
    'Ada'
    """

    term: str
    what: str
    who: str
    when: str
    why: str = ""

    def __post_init__(self) -> None:
        """Check every field."""
        for key, value in dataclasses.asdict(self).items():
            name = f"{key} of an edit"
            if not isinstance(value, str):
                kind = type(value).__name__
                raise TypeError(f"{name} is {value!r} ({kind}); it must be a text.")
            if not value.strip() and key in ("what", "who", "when"):
                raise ValueError(f"{name} is {value!r}; it must not be empty.")
            if len(value) > _LONGEST_TEXT and key != "term":
                length = f"{len(value)} letters; at most {_LONGEST_TEXT} are allowed"
                raise ValueError(f"{name} has {length}. Shorten it.")
        try:
            offset = datetime.fromisoformat(self.when).utcoffset()
        except ValueError:
            offset = None
        if offset != timedelta(0):
            allowed = "it must be a time in UTC such as '2026-01-31T12:00:00Z'."
            raise ValueError(f"when of an edit is {self.when!r}; {allowed}")

    def __str__(self) -> str:
        """Return one line: what was done, by whom, when and why."""
        why = f": {self.why}" if self.why else ""
        return f"{self.term!r} {self.what}, by {self.who} at {self.when}{why}"

    @classmethod
    def of_now(cls, term: str, what: str, who: str) -> EditRecord:
        """Return the record of a pending edit that is made now."""
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(term=term, what=what, who=who, when=when)

    def to_dict(self) -> dict[str, str]:
        """Return the fields as plain JSON values; :meth:`from_dict` reads them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> EditRecord:
        """Rebuild a record.

        Raises
        ------
        TypeError, ValueError
            If the document has other keys, or a field is not as described above.
        """
        check_keys("An edit", document, [field.name for field in dataclasses.fields(cls)])
        return cls(**document)


def login_name() -> str:
    """Return the name under which the user of this process logged in."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


def edits_text(count: int) -> str:
    """Return "edited: 3 changes"."""
    return f"edited: {count} change{'' if count == 1 else 's'}"


# Files of released models: the file that a model of this process was read from or saved to.

# Beside the models, and not in them: a pickle or a document of a model names no path.
_files: weakref.WeakKeyDictionary[AdditiveModel, Path] = weakref.WeakKeyDictionary()


def note_file(model: AdditiveModel, path: str | os.PathLike[str] | None) -> None:
    """Note the file that holds a model; None notes nothing."""
    if path is not None:
        _files[model] = Path(os.path.abspath(path))


def file_of(model: AdditiveModel) -> Path | None:
    """Return the file that a model was read from or saved to; None if there is none."""
    return _files.get(model)


_FORMAT = "interpret_dp.additive_model"
_VERSION = 1
_KEYS = {
    **{"task": "text", "classes": "list or null", "rounds": "integer"},
    **dict.fromkeys(("schema", "guarantee", "parameters"), "object"),
    **dict.fromkeys(("features", "terms", "intercept"), "list"),
    **dict.fromkeys(("n_rows", "noise_scale_binning", "noise_scale_boosting"), "number"),
}
_MORE_KEYS = {
    SEAL: "text",
    **dict.fromkeys(("link", "target"), "text"),
    **dict.fromkeys(("edits", "correlations", "clipped", "baseline"), "list"),
    **dict.fromkeys(("total_error", "exposure"), "number"),
    "needs_init_score": "boolean",
}
# Keys of what a model holds as it is in the document.
_PLAIN_KEYS = (
    *("task", "intercept", "classes", "n_rows", "noise_scale_binning", "noise_scale_boosting"),
    *("rounds", "parameters", "target", "correlations", "clipped", "total_error"),
    *("needs_init_score", "exposure", "baseline"),
)
_FEATURE_KEYS = {"name": "text", "cuts": "list or null"}
_TERM_KEYS = {
    "feature": "integer",
    **dict.fromkeys(("scores", "weights"), "list"),
    "covariance": "list or null",
}
_LARGEST = {
    **dict.fromkeys(("n_rows", "noise_scale_binning"), LARGEST_COUNT),
    **dict.fromkeys(("noise_scale_boosting", "total_error", "exposure"), LARGEST_SCORE),
}
_LINKS = ("identity", "log")  # that a file may name
_LARGEST_LOG = 700.0  # of which the exponential is a float
_MOST_ROUNDS = 2**63 - 1  # of interpret's attribute
# Labels that say no more than that the target holds.
_AFFIRMATIVE = ("yes", "true", "1")
#: Of files with pairs or a log link, which older versions of the package must not read.
_EXTENDED_VERSION = 2


@dataclass(frozen=True, eq=False, repr=False)
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
        Standard deviation of the noise of the weight of a bin, in rows. That of a bin that was
        merged of many fine ones is up to 1.4 times as much.
    noise_scale_boosting : float
        Standard deviation of the noise of a residual sum of the last rounds, in units of score. Of
        sums that are released without their mean it is smaller.
    rounds : int
        Rounds of boosting.
    guarantee : Guarantee
    parameters : dict
        Constructor parameters of the estimator, as far as JSON can hold them.
    edits : tuple of EditRecord
        What a person changed after the fit, oldest first; empty for a model as fitted.
    has_log_link : bool
        Whether a regression's scores are logarithms of the target's unit.
    target : str or None
        Name of the target's column; None if it has none.
    correlations : tuple of (str, str, float)
        Names of two features and their correlation, for each feature with those that it is most
        correlated with: of the normal scores of ordered features; with a nominal feature the
        correlation ratio, of two nominal ones Cramer's V. Empty if the fit released none.
    clipped : tuple of (str or None, float, float)
        Names of continuous features that have a term, None for the target, and the released shares
        of rows that lie below and above their bounds, with noise. Files of older versions lack it.
    total_error : float or None
        Standard deviation of the mean prediction about the mean of the fitted rows, in units of the
        target or of a probability; None where the fit released no total.
    needs_init_score : bool
        Whether the rows of the fit started from scores of their own. The model is then what is
        added to them: a prediction needs the ``init_score`` of its row too.
    exposure : float or None
        Released mean exposure of a row; predictions are those of one unit of it, and but for gamma
        deviance the weights of bins are its multiples. None if the fit had no exposures. Of a model
        of survival the mean cumulative hazard.
    baseline : ndarray of float64, shape (2, n_edges), or None
        Of a model of survival, whose predictions are hazard ratios: the cumulative hazard where the
        ratio is 1, at times that are evenly spread over the root of time, from 0 to the target's
        upper bound; and the standard deviation of its logarithm.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> released = model.fit(patients.X, patients.y).released_
    >>> released
    <AdditiveModel: classification of 10 terms, epsilon 1 at delta 1e-05, data set 'unnamed'>
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
    target: str | None = None
    correlations: tuple[tuple[str, str, float], ...] = ()
    clipped: tuple[tuple[str | None, float, float], ...] = ()
    total_error: float | None = None
    needs_init_score: bool = False
    exposure: float | None = None
    baseline: FloatArray | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        check_choice("task", self.task, ("classification", "regression"))
        if (self.classes is None) != (self.task == "regression"):
            raise ValueError("A classification has classes and a regression has none.")
        if self.classes is not None:
            object.__setattr__(self, "classes", Categorical(self.classes).levels)
        if self.has_log_link and self.classes is not None:
            raise ValueError("A classification cannot have a log link.")
        if not self.terms:
            raise ValueError("A model has no terms; it must have one. Keep one with scores of 0.")
        n_scores = len(self.classes) if self.classes and len(self.classes) > 2 else 1
        intercept = np.atleast_1d(frozen(self.intercept, None, "intercept"))
        intercept = frozen(intercept, (n_scores,), "intercept", largest=LARGEST_SCORE)
        object.__setattr__(self, "intercept", intercept)
        check_int("rounds", self.rounds, low=0, high=_MOST_ROUNDS)
        object.__setattr__(self, "parameters", plain_values("parameters", self.parameters))
        most = self.parameters.get("privacy_weight_max")
        if most is not None:
            check_real("privacy_weight_max", most, low=0, low_open=True)
        for term in self.terms:
            if term.scores[0].size != n_scores:
                size = term.scores[0].size
                raise ValueError(f"A term has {size} scores per bin; the classes need {n_scores}.")
            for index in term.features:
                if not 0 <= index < len(self.features):
                    raise ValueError(f"A term's feature {index} is not one of the features.")
            if term.feature == term.partner:
                raise ValueError("A pair needs two features; one is given twice.")
            subject = self.subject(term)
            if len(term.scores) != subject.n_codes:
                what = f"The term of {subject.name!r} has {len(term.scores)} scores"
                raise ValueError(f"{what}; its bins need {subject.n_codes}.")
        names = [self.subject(term).name for term in self.terms]
        for given in ([feature.name for feature in self.features], names):
            if len(set(given)) < len(given):
                raise ValueError(f"Terms or features are {given}; each needs its own name.")
        check_kinds("A model", {"target": self.target}, {"target": "text or null"})
        for name, largest in _LARGEST.items():
            if name in ("total_error", "exposure") and getattr(self, name) is None:
                continue
            number = frozen(getattr(self, name), (), name, low=0, largest=largest)
            object.__setattr__(self, name, float(number))
        if self.baseline is not None:
            baseline = frozen(self.baseline, None, "baseline", low=0.0, largest=LARGEST_SCORE)
            target = self.schema.target
            is_curve = baseline.ndim == 2 and len(baseline) == 2 and baseline.shape[1] > 1
            if not (is_curve and self.has_log_link and isinstance(target, Continuous)):
                raise ValueError("A baseline needs two rows, a log link and a latest time.")
            if baseline[0, 0] != 0 or baseline[0, -1] <= 0 or (np.diff(baseline[0]) < 0).any():
                raise ValueError("A baseline's cumulative hazard must rise from 0.")
            object.__setattr__(self, "baseline", baseline)
        object.__setattr__(self, "edits", tuple(self.edits))
        for edit in self.edits:
            if not isinstance(edit, EditRecord):
                raise TypeError(f"edits holds {edit!r}; each must be an EditRecord.")
        known = {feature.name for feature in self.features}
        correlations = tuple(_correlation(entry, known) for entry in self.correlations)
        object.__setattr__(self, "correlations", correlations)
        clipped = tuple(_clipped(entry, (*known, None)) for entry in self.clipped)
        object.__setattr__(self, "clipped", clipped)
        edited = {edit.term for edit in self.edits}
        own = zip(self.terms, names, strict=True)
        terms = tuple(self._completed(term, name in edited) for term, name in own)
        object.__setattr__(self, "terms", terms)

    def __repr__(self) -> str:
        """Name what it is; the arrays are in its attributes."""
        return f"<AdditiveModel: {self.task} of {len(self.terms)} terms, {self.guarantee.brief}>"

    def _completed(self, term: AdditiveTerm, has_edits: bool) -> AdditiveTerm:
        """Return a term with what the model knows of it."""
        released = None if term.released is None else self._completed(term.released, False)
        if released is not None:
            has_edits = not np.array_equal(term.scores, released.scores)
        noise = self.noise_scale_binning
        if (term.count_noise, term.is_edited, term.released) == (noise, has_edits, released):
            return term
        return replace(term, count_noise=noise, is_edited=has_edits, released=released)

    def subject(self, term: AdditiveTerm) -> AdditiveFeature | FeaturePair:
        """Return what a term is about: its feature, or its pair of features."""
        if term.partner is None:
            return self.features[term.feature]
        first, second = (self.features[index].in_pairs for index in term.features)
        return FeaturePair(first, second)

    @property
    def term_names(self) -> tuple[str, ...]:
        """Name of each term, as interpret has it."""
        return tuple(self.subject(term).name for term in self.terms)

    @property
    def link(self) -> str:
        """Of which scale the scores are, in interpret's words, such as identity, log or logit."""
        if self.classes is None:
            return "log" if self.has_log_link else "identity"
        return {1: "monoclassification", 2: "logit"}.get(len(self.classes), "mlogit")

    @property
    def outcome(self) -> str | None:
        """What scores are about: the target, with the label whose log-odds they are if need be.

        "readmitted" for the labels no and yes, "species = a" for others, the label alone where the
        target has no name. None for a regression whose target has no name.
        """
        if self.classes is None or len(self.classes) > 2:
            return self.target
        label = str(self.classes[-1])
        if self.target is None:
            return label
        return self.target if label.lower() in _AFFIRMATIVE else f"{self.target} = {label}"

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
            "version": _EXTENDED_VERSION if self._is_extended else _VERSION,
            "task": self.task,
            "schema": self.schema.to_dict(),
            "features": [
                {
                    "name": f.name,
                    "cuts": None if f.cuts is None else f.cuts.tolist(),
                    **({} if f.pair_cuts is None else {"pair_cuts": f.pair_cuts.tolist()}),
                }
                for f in self.features
            ],
            "terms": [term_document(term) for term in self.terms],
            "intercept": self.intercept.tolist(),
            "classes": None if self.classes is None else list(self.classes),
            # Left out where older files have none.
            **({"link": "log"} if self.has_log_link else {}),
            **({} if self.target is None else {"target": self.target}),
            "n_rows": self.n_rows,
            "noise_scale_binning": self.noise_scale_binning,
            "noise_scale_boosting": self.noise_scale_boosting,
            "rounds": self.rounds,
            "guarantee": self.guarantee.to_dict(),
            "parameters": dict(self.parameters),
            # Left out if there are none, so that the digests of older files stay.
            **({"edits": [edit.to_dict() for edit in self.edits]} if self.edits else {}),
            **({} if self.total_error is None else {"total_error": self.total_error}),
            **({"needs_init_score": True} if self.needs_init_score else {}),
            **({} if self.exposure is None else {"exposure": self.exposure}),
            **({} if self.baseline is None else {"baseline": self.baseline.tolist()}),
            **({"correlations": list(map(list, self.correlations))} if self.correlations else {}),
            **({"clipped": list(map(list, self.clipped))} if self.clipped else {}),
        }

    @property
    def is_of_people(self) -> bool:
        """Whether the rows of a person have a weight of 1 together."""
        return self.schema.people is not None and self.parameters.get("population") == "people"

    @property
    def speaks_of(self) -> str:
        """Whom the model speaks of, such as "a random row of each 'patient_id'"; "" of rows."""
        unit = self.schema.people
        if unit is None:
            return ""
        if all(share.name != "rate" for share in self.guarantee.releases):
            unit = replace(unit, total_rows=None)
        return unit.speaks_of("people" if self.is_of_people else "rows")

    @property
    def counts_exposure(self) -> bool:
        """Whether weights of bins are exposures, in multiples of the mean one, and not rows."""
        # The second derivative of gamma deviance does not follow exposure.
        is_gamma = self.parameters.get("objective") in ("gamma", "gamma_deviance")
        return self.exposure is not None and not is_gamma

    @property
    def exposure_noun(self) -> str:
        """What rows are weighted by where bins have exposures."""
        return "exposure" if self.baseline is None else "time at risk"

    @property
    def largest_exposure(self) -> float:
        """Largest exposure of a row; of a model of survival the last cumulative hazard."""
        if self.baseline is not None:
            return float(self.baseline[0, -1])
        return float(self.parameters["privacy_exposure_max"])

    @property
    def baseline_of_times(self) -> tuple[FloatArray, float]:
        """Baseline and latest time of a model of survival; ValueError of any other."""
        if self.baseline is None or not isinstance(self.schema.target, Continuous):
            raise ValueError("The model has no times. Fit with objective='survival_cox'.")
        return self.baseline, self.schema.target.upper

    @property
    def mean_prediction(self) -> float:
        """Mean prediction of a regression over the released weights of bins."""
        scores, weights = [t.scores for t in self.terms], list(map(self._mean_weights, self.terms))
        intercept = float(self.intercept[0])
        return mean_prediction(intercept, scores, weights, has_log_link=self.has_log_link)

    def _mean_weights(self, term: AdditiveTerm) -> FloatArray:
        """Return weights of bins, under a log link those of a pair times its features' means."""
        if term.partner is None or not self.has_log_link:
            return term.weights
        first, second = map(self._scores_in_pairs, term.features)
        both = np.add.outer(first, second).ravel()
        return np.asarray(term.weights * np.exp(both - both.max()))

    def _scores_in_pairs(self, index: int) -> FloatArray:
        """Return the mean score of a feature's own term in each bin that its pairs use."""
        feature, in_pairs = self.features[index], self.features[index].in_pairs
        own = next((term for term in self.terms if term.features == (index,)), None)
        if own is None:
            return np.zeros(in_pairs.n_codes)
        lower = () if feature.cuts is None else (-np.inf, *feature.cuts)
        codes = [0, *map(in_pairs.code_of, lower or feature.labels), in_pairs.n_codes - 1]
        sums = np.bincount(codes, own.weights * own.scores, minlength=in_pairs.n_codes)
        weights = np.bincount(codes, own.weights, minlength=in_pairs.n_codes)
        return np.asarray(sums / np.maximum(weights, 1e-300))

    @property
    def _is_extended(self) -> bool:
        return (
            self.has_log_link
            or any(term.partner is not None for term in self.terms)
            or any(feature.pair_cuts is not None for feature in self.features)
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> AdditiveModel:
        """Rebuild a model from its document.

        Raises
        ------
        ValueError
            If the document is of another format or version, was changed since it was sealed,
            lacks a part or has one too many, or its parts do not fit together.
        """
        accepted = _FORMAT, (_VERSION, _EXTENDED_VERSION), _KEYS, _MORE_KEYS
        content = open_document("model file", document, *accepted, writer="model.save(path)")
        with reading_parts("The model file", "Fit the model again, or restore the file."):
            for number, entry in enumerate(content["features"]):
                what = f"Feature {number} of the model file"
                check_keys(what, entry, _FEATURE_KEYS, optional={"pair_cuts": "list"})
            for number, entry in enumerate(content["terms"]):
                what = f"Term {number} of the model file"
                check_keys(what, entry, _TERM_KEYS, optional=OPTIONAL_KEYS)
            schema = Schema.from_dict(content["schema"])
            names = [entry["name"] for entry in content["features"]]
            specs = schema.resolve(names)
            if len(schema.features) > len(names):
                raise ValueError("its schema declares columns that are not among its features")
            model = cls(
                schema=schema,
                features=tuple(
                    AdditiveFeature(entry["name"], spec, entry["cuts"], entry.get("pair_cuts"))
                    for entry, spec in zip(content["features"], specs, strict=True)
                ),
                terms=tuple(read_term(entry) for entry in content["terms"]),
                guarantee=Guarantee.from_dict(content["guarantee"]),
                edits=tuple(EditRecord.from_dict(entry) for entry in content.get("edits", ())),
                has_log_link=check_choice("link", content.get("link", "identity"), _LINKS) == "log",
                **{key: content[key] for key in _PLAIN_KEYS if key in content},
            )
            highest = float(model.intercept[0]) + sum(float(t.scores.max()) for t in model.terms)
            if model.has_log_link and highest > _LARGEST_LOG:
                raise ValueError("its scores are too large for a log link: predictions overflow")
            if document["version"] == _EXTENDED_VERSION and not model._is_extended:
                raise ValueError("its version is that of a file with pairs or a log link")
            return model


def _correlation(entry: Any, names: Collection[str]) -> tuple[str, str, float]:
    """Return a correlation of two features, checked."""
    if not isinstance(entry, list | tuple) or len(entry) != 3:
        raise ValueError(f"A correlation is {entry!r}; it must be two features and a number.")
    first, second, value = entry
    are_known = all(isinstance(name, str) and name in names for name in (first, second))
    if not are_known or first == second:
        raise ValueError(f"A correlation is of {first!r} and {second!r}; each must be a feature.")
    return first, second, check_real("a correlation", value, low=-1.0, high=1.0)


def _clipped(entry: Any, names: Collection[str | None]) -> tuple[str | None, float, float]:
    """Return the shares of a feature's or the target's rows beyond its bounds, checked."""
    if not isinstance(entry, list | tuple) or len(entry) != 3 or entry[0] not in names:
        raise ValueError(f"A clipped share is {entry!r}; it must be a feature and two numbers.")
    below, above = frozen(entry[1:], (2,), "clipped shares", largest=LARGEST_COUNT).tolist()
    return entry[0], below, above


# Lookup tables of a released additive model: its shape functions as DataFrames.
#
# A prediction is the link's inverse of the intercept plus one looked-up score a term. The tables
# are another form of the released model: making them reads no row and costs nothing.


def lookup_tables(model: AdditiveModel) -> dict[str, pd.DataFrame]:
    """Return one lookup table a term, and one with the intercept and the link.

    Parameters
    ----------
    model : AdditiveModel

    Returns
    -------
    dict of str to DataFrame
        For each term, under the name of its feature, one row a bin, in order:

        ``bin``
            Label: ``missing``, the interval, the integers from the first to the last, the level, or
            ``unseen``.
        ``lower``, ``upper``
            A continuous feature's value v is in the bin with ``lower <= v < upper``. The first
            bin starts at minus infinity and the last ends at infinity, because values outside
            the declared bounds are clipped into them. NaN for other bins.
        ``level``
            The declared level, in its own type; None for other bins.
        ``kind``
            ``missing``, ``bin`` or ``unseen``. Only a categorical feature has an unseen bin: a
            continuous one reads what is no number as missing.
        ``score``, ``standard_deviation``, ``band_lower``, ``band_upper``
            In units of the link's scale: logits, units of a regression's target, or their
            logarithms where the link is "log". The standard deviation is that of what the
            added noise leaves unknown; the ends are those of the 95 % band of noise and sampling
            (:meth:`AdditiveTerm.band`). NaN where the noise is not known (as after some edits).
            For more than two classes ``score_0``, ``standard_deviation_0`` and so on, in the
            order of the classes.
        ``weight``
            Released (noisy) number of rows.

        Of a pair of features, under ``"first & second"``, one row a cell, with the columns
        ``bin_first``, ``lower_first``, ``upper_first``, ``level_first``, ``kind_first`` and the
        same of the second feature in place of the first five.

        And under :func:`intercept_key` (``"intercept"``), one row a score: ``class`` (what the
        score speaks for: the second of two classes, each of several, None in a regression),
        ``link`` and ``score``.

    Notes
    -----
    Released: everything, as post-processing of the model.
    """
    import pandas as pd

    suffixes = score_suffixes(model)
    tables = {}
    for term in model.terms:
        subject = model.subject(term)
        if isinstance(subject, FeaturePair):
            columns, rows = _cells(subject)
        else:
            columns = _bins(subject)
            rows = np.arange(len(columns["bin"]))
        for name, values in _numbers_of(term, suffixes).items():
            columns[name] = values[rows]
        for name in columns:
            if name.startswith("level"):
                columns[name] = pd.Series(columns[name], dtype=object)
        tables[subject.name] = pd.DataFrame(columns)
    classes: tuple[Any, ...] = (None,)
    if model.classes is not None:
        classes = model.classes if len(suffixes) > 1 else model.classes[-1:]
    own = {"class": pd.Series(classes, dtype=object), "link": model.link, "score": model.intercept}
    tables[intercept_key(model)] = pd.DataFrame(own)
    return tables


def intercept_key(model: AdditiveModel) -> str:
    """Return the key of the intercept's table: ``intercept``, in brackets if a term has it."""
    taken = set(model.term_names)
    key = "intercept"
    while key in taken:
        key = f"({key})"
    return key


def score_suffixes(model: AdditiveModel) -> list[str]:
    """Return the suffixes of the columns of each score: empty if there is one."""
    n_scores = len(model.intercept)
    return [""] if n_scores == 1 else [f"_{index}" for index in range(n_scores)]


def _bins(feature: AdditiveFeature) -> dict[str, Any]:
    """Return the columns that say which bin a row of the table is."""
    if feature.cuts is None:
        labels, levels = [*feature.labels, "unseen"], [*getattr(feature.spec, "levels", ()), None]
        lower = upper = [np.nan] * len(labels)
        kinds = [*["bin"] * len(feature.labels), "unseen"]
    else:
        edges = [-np.inf, *feature.cuts.tolist(), np.inf]
        lower, upper = edges[:-1], edges[1:]
        labels = [f"[{low:.6g}, {high:.6g})" for low, high in zip(lower, upper, strict=True)]
        if feature.integers is not None:
            labels = [integers_text(*bounds) for bounds in feature.integers]
        levels, kinds = [None] * len(labels), ["bin"] * len(labels)
    return {
        "bin": ["missing", *labels],
        "lower": [np.nan, *lower],
        "upper": [np.nan, *upper],
        "level": [None, *levels],
        "kind": ["missing", *kinds],
    }


def _cells(pair: FeaturePair) -> tuple[dict[str, Any], NDArray[np.intp]]:
    """Return the columns that say which cell a row of the table is, and the cells' numbers."""
    sides = [_bins(feature) for feature in (pair.first, pair.second)]
    sizes = [len(side["bin"]) for side in sides]
    # A continuous feature has no unseen bin in the table, as in its own.
    numbers = np.arange(pair.n_codes).reshape(pair.shape)[: sizes[0], : sizes[1]].ravel()
    places = np.indices(sizes).reshape(2, -1)
    columns = {
        f"{name}_{which}": [values[place] for place in places[axis]]
        for axis, which in enumerate(("first", "second"))
        for name, values in sides[axis].items()
    }
    return columns, numbers


def _numbers_of(term: AdditiveTerm, suffixes: list[str]) -> dict[str, NDArray[np.float64]]:
    deviations, unknown = term.standard_deviations, np.full_like(term.scores, np.nan)
    band = term.band(sampling=True) or Band(unknown, unknown)
    arrays = {
        "score": term.scores,
        "standard_deviation": unknown if deviations is None else deviations,
        "band_lower": band.lower,
        "band_upper": band.upper,
    }
    columns: dict[str, NDArray[np.float64]] = {}
    for name, array in arrays.items():
        by_score = array.reshape(len(array), len(suffixes))
        columns |= {f"{name}{suffix}": by_score[:, k] for k, suffix in enumerate(suffixes)}
    return columns | {"weight": term.weights}
