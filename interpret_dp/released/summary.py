"""Summary of a released model: its columns, contradictions to declarations, sentences on terms.

Only the released model is read, so a summary costs nothing and can be made of a loaded model too.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import enumerated, notebook_table, text_table
from interpret_dp.exceptions import DeclarationWarning, PrivacyWarning, warn_caller
from interpret_dp.released.additive_model import AdditiveModel
from interpret_dp.released.arrays import FloatArray
from interpret_dp.released.background import Background, BackgroundColumn
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.terms import (
    FEWEST_ROWS,
    AdditiveFeature,
    AdditiveTerm,
    FeaturePair,
)
from interpret_dp.schema import Categorical, Continuous, FeatureSpec
from interpret_dp.schema.declarations import NO_LEVEL

if TYPE_CHECKING:
    import pandas as pd


# Sentences about the terms of an additive model, from curves and bands alone.

_AT_BOUND = 1e-4  # of the declared range: a cut that is nearer to the lower bound is at it
_MOST_NAMED = 4  # levels or ranges in a sentence; more of them are counted


def term_sentence(model: AdditiveModel, term: AdditiveTerm) -> str:
    """Return what a curve and its band show, such as "The log-odds of 'yes' are higher for ...".

    Parameters
    ----------
    model : AdditiveModel
    term : AdditiveTerm
        Of the model.

    Notes
    -----
    Bands hold for each bin by itself. So a term of which noise alone may be the effect (signal to
    noise below 2) is not described, and of others a bin counts as higher or lower where its whole
    band is above or below zero, the average over the rows. An edited term says so first; of
    one that was noise as released, an edit makes no effect.
    """
    subject = model.subject(term)
    if term.is_edited:
        edited = f"{subject.name!r} was edited"
        if term.released is None:
            return f"{edited}, so its effect is not described."
        if term.released.may_be_noise:
            return f"{edited}. As released, its effect may be noise alone."
        return f"{edited}. {_described(model, term, subject)}"
    if not term.scores.any():
        return f"{subject.name!r} was released as zero: no effect was learned."
    if term.may_be_noise:
        return f"The effect of {subject.name!r} may be noise alone."
    return _described(model, term, subject)


def _described(
    model: AdditiveModel, term: AdditiveTerm, subject: AdditiveFeature | FeaturePair
) -> str:
    band = term.band(sampling=True)
    if band is None:
        return f"The noise in {subject.name!r} is not known, so its effect is not described."
    if not term.scores.any():
        return f"{subject.name!r} has no effect."
    if isinstance(subject, FeaturePair):
        return f"{subject.first.name!r} and {subject.second.name!r} have an effect together."
    columns = [np.atleast_2d(values.T)[:, 1:-1] for values in (*band, term.scores)]
    parts = [
        _comparison(output, subject, _signs(*column))
        for output, *column in zip(_outputs(model), *columns, strict=True)
    ]
    return " ".join(part for part in parts if part) or (
        f"{subject.name!r} has an effect, but no single value is clearly above or below average."
    )


def _signs(lower: FloatArray, upper: FloatArray, scores: FloatArray) -> NDArray[np.int8]:
    """Return 1 where the band is above zero, -1 where it is below, and 0 elsewhere.

    Bins between two of the same sign join them where the curve itself keeps that sign.
    """
    signs = np.where(lower > 0, 1, np.where(upper < 0, -1, 0)).astype(np.int8)
    known = np.flatnonzero(signs)
    for first, last in pairwise(known.tolist()):
        if signs[first] == signs[last] and (signs[first] * scores[first : last + 1] > 0).all():
            signs[first : last + 1] = signs[first]
    return signs


def _outputs(model: AdditiveModel) -> list[str]:
    if model.classes is None:
        return ["The prediction is" if model.outcome is None else f"Predicted {model.outcome!r} is"]
    if len(model.classes) <= 2:
        return [f"The log-odds of {model.outcome!r} are"]
    return [f"The score of {str(label)!r} is" for label in model.classes]


_QUOTES = ("'", '"')


def _comparison(output: str, feature: AdditiveFeature, signs: NDArray[np.int8]) -> str:
    clauses = [
        (word, _places_text(feature, signs == sign))
        for word, sign in (("higher", 1), ("lower", -1))
        if (signs == sign).any()
    ]
    if not clauses:
        return ""
    (word, places), *others = clauses
    text = f"{word} for {feature.name!r} {places}"
    for word, places in others:
        # Level names are in quotes; a number of levels or ranges has its own preposition.
        text += f", and {word} {'for ' * places.startswith(_QUOTES)}{places}"
    rest = "" if signs.all() else "; elsewhere the average is within the band"
    return f"{output} {text}{rest}."


def _places_text(feature: AdditiveFeature, where: NDArray[np.bool_]) -> str:
    """Return the levels, or the ranges of a number, where a condition holds."""
    if feature.cuts is None:
        labels = zip(feature.labels, where, strict=True)
        return _listed([repr(label) for label, holds in labels if holds], "levels")
    ends = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(np.int8)))
    ranges = [
        _range_text(feature, int(first), int(last))
        for first, last in zip(ends[::2], ends[1::2] - 1, strict=True)
    ]
    return _listed(ranges, "ranges")


def _range_text(feature: AdditiveFeature, first: int, last: int) -> str:
    """Return a range of regular bins in words: "below 41", "from 41 to below 62", "from 62 on"."""
    cuts, bound = np.asarray(feature.cuts), _bound_text(feature)
    if first == 0 and last == len(cuts):
        return "of any value"
    if bound and last == 0:
        return f"at {bound}"
    # A cut between two integers stands for the upper one.
    borders = [f"{cut:.3g}" for cut in (np.ceil(cuts) if feature.integers else cuts).tolist()]
    end = f"below {borders[last]}" if last < len(cuts) else ""
    if bound and first == 1:
        return f"above {bound} and {end}" if end else f"above {bound}"
    start = f"from {borders[first - 1]}" if first else ""
    return f"{start} to {end}" if start and end else end or f"{start} on"


def _bound_text(feature: AdditiveFeature) -> str:
    """Return the lower bound if the first bin is little more than it, such as the 0 of a count."""
    spec, cuts = feature.spec, feature.cuts
    if feature.integers or isinstance(spec, Categorical) or cuts is None or not len(cuts):
        return ""
    is_at_bound = cuts[0] - spec.lower < _AT_BOUND * (spec.upper - spec.lower)
    return f"{spec.lower:.3g}" if is_at_bound else ""


def _listed(names: Sequence[str], noun: str) -> str:
    return f"in {len(names)} {noun}" if len(names) > _MOST_NAMED else enumerated(names)


# A column is said to be nearly empty from this share of missing cells on. Three deviations of the
# noise must leave so much of it: a column with 85 % missing cells is none.
_NEARLY_ALL = 0.95
_SURELY = 0.75
# Undeclared cells, and cells beyond a bound, are said from this share on, if noise would give as
# many in no more than such a share of the fits whose declarations are right.
_LARGE_SHARE, _FALSE_ALARMS = 0.1, 0.001
# Deviations of noise beyond which a count is significant.
_SIGNIFICANT = 3.0
# One bin is said to be too few where so many rows, in deviations of a count's noise, are in it: a
# second bin of one row in thirty would have been seen then.
_ROWS_OF_MANY_BINS = 100.0
# The number of rows is said to be near zero if it surely is below this. A healthy table that is so
# small is of no use either, and what noise makes of larger ones must not raise an alarm.
_SMALL_TABLE = 500
# A total is relied on if its error is a smaller share of the mean.
_RIGHT_TOTAL = 0.03
_COLUMNS_NAMED = 10
_MISSING, _UNRELEASED, _ONE_BIN = "nearly all missing", "no level was released", "one bin"
_NONE, _EDITED = (None, None), "edited"
_WHERE = {
    "undeclared": "have none of the declared levels",
    "below": "are below the bounds",
    "above": "are above the bounds",
}
_BEYOND = "They count as the nearest bound. Declare bounds that hold the values."
_MENDS = {
    "undeclared": "Do the cells hold codes, numbers or another spelling? Declare the levels as the "
    "cells have them.",
    "below": _BEYOND,
    "above": _BEYOND,
    _MISSING: "Do the cells hold text where numbers are declared? Convert them, or leave the "
    "column out.",
    _UNRELEASED: "No effect was learned. Declare the levels, Categorical([level, ...]), or leave "
    "the column out.",
    _ONE_BIN: "No effect was learned. Declare bounds that the values fill, scale='log' or 'symlog' "
    "where they are skewed, or leave the column out.",
}


@dataclass(frozen=True)
class ColumnSummary:
    """One column of a released model; public. None where a figure was not released.

    Attributes
    ----------
    name : str
    declared : str
        Its declaration, a long list of levels shortened.
    bins : int or None
        Of its term, without those of missing and undeclared cells.
    missing, undeclared, below, above : float or None
        Shares of the rows, with noise: missing, with an undeclared level, beyond a bound.
    importance : float or None
        :attr:`AdditiveTerm.size`: the root mean square of its scores over the rows.
    signal_to_noise : float or None
        :attr:`AdditiveTerm.signal_to_noise`.
    inputs : int or None
        Of a locally linear model: the number of its inputs.
    weight : float or None
        Of a locally linear model: the root of the summed squares of its inputs' weights. A class's
        weights are the mean of its maps, less the mean of all classes.
    note : str
        A finding; empty where there is none.
    """

    name: str
    declared: str
    bins: int | None = None
    missing: float | None = None
    undeclared: float | None = None
    below: float | None = None
    above: float | None = None
    importance: float | None = None
    signal_to_noise: float | None = None
    inputs: int | None = None
    weight: float | None = None
    note: str = ""


@dataclass(frozen=True)
class ModelSummary:
    """A released model in one line a column; public.

    Attributes
    ----------
    title : str
    columns : tuple of ColumnSummary
    findings : tuple of str
        Where declarations do not seem to match the rows, each with what to do.
    privacy_findings : tuple of str
        What weakens the promise.
    share_noise : float
        Shares of rows up to this one may be noise: three standard deviations. Texts show them as
        below it.
    average : str
        How right a regression is on average; empty where that was not released.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> released = model.fit(patients.X, patients.y).released_
    >>> from interpret_dp.released import summarise
    >>> summarise(released).columns[0].name
    'age'
    """

    title: str
    columns: tuple[ColumnSummary, ...]
    findings: tuple[str, ...] = ()
    privacy_findings: tuple[str, ...] = ()
    share_noise: float = 0.0
    average: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the lines as a table, indexed by the name of the column."""
        import pandas as pd

        names = self._used_names()
        rows = [[getattr(column, name) for name in names] for column in self.columns]
        return pd.DataFrame(rows, columns=names).set_index("name")

    def __str__(self) -> str:
        """Return the lines as aligned text, and the findings below."""
        notes = (f"- {note}" for note in self._notes())
        return "\n".join([self.title, *text_table(*self._texts()), *notes])

    def _repr_html_(self) -> str:
        head, rows = self._texts()
        return notebook_table(self.title, head, rows, note="\n".join(self._notes()))

    def _notes(self) -> list[str]:
        notes = self.average, *self.findings, *self.privacy_findings
        return [note for note in notes if note]

    def _used_names(self) -> list[str]:
        """Return the figures that some column has."""
        names = [entry.name for entry in dataclasses.fields(ColumnSummary)]
        return [n for n in names if any(getattr(c, n) is not None for c in self.columns)]

    def _texts(self) -> tuple[list[str], list[list[str]]]:
        names = self._used_names()
        rows = [
            [self._text(name, getattr(column, name)) for name in names] for column in self.columns
        ]
        return [_HEADS.get(name, name) for name in names], rows

    def _text(self, name: str, value: Any) -> str:
        if value is None:
            return "-"
        if name == "declared":
            return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."
        if name in _SHARES:
            if value > self.share_noise:
                return f"{100 * value:.0f} %"
            return f"< {100 * self.share_noise:.2g} %" if self.share_noise < 1 else "not known"
        return f"{value:.3g}" if isinstance(value, float) else str(value)


_Lines = Sequence[ColumnSummary]
# Of each column, what is wrong with it by its kind.
_Problems = Sequence[Mapping[str, str]]
_HEADS = {"name": "column", "signal_to_noise": "signal to noise"}
_SHARES = "missing", "undeclared", "below", "above"
_LONGEST = 44


def summarise(model: AdditiveModel | LocallyLinearModel | Background) -> ModelSummary:
    """Return a released model in one line a column; costs nothing.

    Parameters
    ----------
    model : AdditiveModel, LocallyLinearModel or Background

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> from interpret_dp.released import summarise
    >>> patients = make_cohort(2_000)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema)
    >>> summary = summarise(model.fit(patients.X, patients.y).released_)
    >>> [column.name for column in summary.columns] == list(patients.X.columns)
    True
    >>> summary.findings
    ()
    """
    if isinstance(model, LocallyLinearModel):
        return _summary_of_maps(model)
    if isinstance(model, Background):
        return _summary_of_background(model)
    terms = {term.feature: term for term in model.terms if term.partner is None}
    noise = math.sqrt(2.0) * model.noise_scale_binning / max(model.n_rows, 1e-300)
    least = _least_share(noise, len(terms))
    lines = [_column(model, feature, terms.get(k)) for k, feature in enumerate(model.features)]
    of = f"cells, weighted by {model.exposure_noun}," if model.counts_exposure else "cells"
    problems = [
        _problems(feature.spec, line, noise, least, of)
        for feature, line in zip(model.features, lines, strict=True)
    ]
    for k, term in terms.items():
        if not problems[k] and _has_one_bin(model, model.features[k], term):
            problems[k] = {_ONE_BIN: "all rows are in one bin"}
    noun = "people" if model.is_of_people else "rows"
    kind = f"{model.task.capitalize()} of about {model.n_rows:,.0f} {noun}"
    if model.speaks_of:
        kind += f" ({model.speaks_of})"
    if model.needs_init_score:
        kind += ", to be added to each row's init_score"
    elif model.baseline is not None:
        kind = kind.replace("Regression", "Hazard ratios", 1)
    elif model.exposure is not None:
        kind += ", per unit of exposure"
    if model.counts_exposure:
        kind += f", shares weighted by {model.exposure_noun}"
    return ModelSummary(
        f"{kind}, {model.guarantee.brief}",
        _noted(lines, problems),
        (*_target_findings(model), *_column_findings(lines, problems)),
        _delta_findings(model.guarantee.delta, model.n_rows, _rows_of_one_unit(model)),
        _SIGNIFICANT * noise,
        average_sentence(model),
    )


def warn_after_fit(
    model: AdditiveModel | LocallyLinearModel | Background, *more_findings: str
) -> None:
    """Warn once of what released numbers say against the declarations, and once of delta.

    Parameters
    ----------
    model : AdditiveModel, LocallyLinearModel or Background
        As fitted.
    *more_findings : str
        What released numbers say that are not in the model.

    Warns
    -----
    DeclarationWarning, PrivacyWarning
    """
    summary = summarise(model)
    if findings := (*summary.findings, *_first_few(more_findings)):
        text = "\n".join(findings)
        name = "background" if isinstance(model, Background) else "model"
        text += f"\n(From released numbers alone; {name}.summary() has one line a column.)"
        warn_caller(text, DeclarationWarning)
    if summary.privacy_findings:
        warn_caller(" ".join(summary.privacy_findings), PrivacyWarning)


def average_sentence(model: AdditiveModel) -> str:
    """Say how right a regression is on average; "" if that is not known, as after an edit."""
    if model.total_error is None or model.edits:
        return ""
    if model.baseline is not None:
        error = f"{100 * model.total_error:.2g} %"
        return f"Expected numbers of events are right to within {error}, one standard deviation."
    unit = model.schema.people
    over = ""
    if unit is not None and unit.total_rows and not model.is_of_people:
        over = f" over up to {unit.total_rows} rows of each {unit.name!r}"
    if _clipped_target(model):
        over += ", for targets as they are clipped to their bounds,"
    text = f"Predictions are right on average{over} to within {_number(model.total_error)}"
    if model.classes is not None:
        return f"{text}: one standard deviation of a probability."
    if model.needs_init_score or (model.exposure is not None and not model.counts_exposure):
        # The scores of rows are part of their mean; and a mean over rows is none over exposures.
        return f"{text}, one standard deviation."
    mean = model.mean_prediction
    if model.total_error <= _RIGHT_TOTAL * abs(mean):
        share = model.total_error / max(abs(mean), 1e-300)
        return f"{text}, one standard deviation: {100 * share:.2g} % of their mean."
    return (
        f"{text}, one standard deviation, and their mean is {_number(mean)}. Do not rely on their "
        "total: ask for a larger epsilon, or declare bounds that are closer to the targets."
    )


def _number(value: float) -> str:
    return f"{float(f'{value:.2g}'):,g}"


# ------------------------------------------------------------------------------ one column


def _column(
    model: AdditiveModel, feature: AdditiveFeature, term: AdditiveTerm | None
) -> ColumnSummary:
    line = ColumnSummary(feature.name, repr(feature.spec), bins=feature.n_codes - 2)
    if term is None:
        return dataclasses.replace(line, note="no term")
    total = float(term.weights.sum())
    if total <= 0:
        return dataclasses.replace(line, note="nothing was counted")
    is_nominal = isinstance(feature.spec, Categorical)
    below, above = next((beyond for name, *beyond in model.clipped if name == feature.name), _NONE)
    return dataclasses.replace(
        line,
        missing=float(term.weights[0]) / total,
        undeclared=float(term.weights[-1]) / total if is_nominal else None,
        below=None if below is None else max(below, 0.0),
        above=None if above is None else max(above, 0.0),
        importance=term.size,
        signal_to_noise=term.signal_to_noise,
        note=_note(feature, term),
    )


def _note(feature: AdditiveFeature, term: AdditiveTerm) -> str:
    if term.is_edited:
        return _EDITED
    n_bins, lacking = feature.n_codes - 2, int(term.too_few_rows[1:-1].sum())
    if n_bins == 1:
        return _ONE_BIN
    if not term.scores.any():
        return "too noisy: released as zero"
    what = "bins" if feature.cuts is not None else "levels"
    return f"too few rows in {lacking} of {n_bins} {what}" if lacking else ""


def _least_share(noise: float, n_columns: int) -> float:
    """Return the smallest share that is said of one of so many columns; see ``_LARGE_SHARE``.

    ``noise`` is the standard deviation of a share.
    """
    n_shares = max(2 * n_columns, 1)
    return max(_LARGE_SHARE, NormalDist().inv_cdf(1.0 - _FALSE_ALARMS / n_shares) * noise)


def _problems(
    spec: FeatureSpec | None, line: ColumnSummary, noise: float, least: float, of: str = "cells"
) -> dict[str, str]:
    """Return what the released shares of a column show against its declaration, by its kind.

    Parameters
    ----------
    spec : FeatureSpec or None
    line : ColumnSummary
        With the shares.
    noise : float
        Standard deviation of the noise of a share.
    least : float
        As :func:`_least_share` returns it.
    of : str, default="cells"
        What shares are of.
    """
    if isinstance(spec, Categorical) and spec.levels == (NO_LEVEL,):
        return {_UNRELEASED: _UNRELEASED}
    missing = line.missing or 0.0
    if missing >= _NEARLY_ALL and missing - _SIGNIFICANT * noise > _SURELY:
        return {_MISSING: "nearly all cells are missing"}
    shares = {kind: getattr(line, kind) or 0.0 for kind in _WHERE}
    return {
        kind: f"{100 * min(share, 1.0):.0f} % of the {of} {_WHERE[kind]}"
        for kind, share in shares.items()
        if share >= least
    }


def _has_one_bin(model: AdditiveModel, feature: AdditiveFeature, term: AdditiveTerm) -> bool:
    """Whether all rows are in one bin, though the bounds and the noise allow for more."""
    spec = feature.spec
    if not isinstance(spec, Continuous) or spec.lower == spec.upper:
        return False
    noise, others = model.noise_scale_binning, term.weights[[0, -1]]
    return (
        feature.n_codes == 3
        and bool((others <= FEWEST_ROWS * noise).all())
        and model.n_rows >= _ROWS_OF_MANY_BINS * noise > 0
    )


# -------------------------------------------------------------------------------- findings


def _noted(lines: _Lines, problems: _Problems) -> tuple[ColumnSummary, ...]:
    noted = []
    for line, own in zip(lines, problems, strict=True):
        texts = list(own.values())
        if not texts or line.note == _EDITED:
            texts.insert(0, line.note)
        noted.append(dataclasses.replace(line, note="; ".join(texts)))
    return tuple(noted)


def _column_findings(lines: _Lines, problems: _Problems) -> tuple[str, ...]:
    """Return what is wrong with each column that does not look as declared, and how to mend it."""
    findings = [
        f"{line.name!r} ({line.declared}): {'; '.join(own.values())}. {_MENDS[next(iter(own))]}"
        for line, own in zip(lines, problems, strict=True)
        if own
    ]
    return _first_few(findings)


def _first_few(findings: Sequence[str]) -> tuple[str, ...]:
    more = len(findings) - _COLUMNS_NAMED
    rest = (f"{more} more columns do not look as declared.",) if more > 0 else ()
    return (*findings[:_COLUMNS_NAMED], *rest)


def _target_findings(model: AdditiveModel) -> tuple[str, ...]:
    if model.classes is not None and len(model.classes) < 2:
        return (_one_class(model.classes),)
    if not has_hardly_any_row(model):
        return _clipped_target(model)
    declared, unit = repr(model.schema.target), model.schema.people
    people = "" if unit is None else f" Does {unit.name!r} hold text, integers or UUIDs?"
    return (
        f"The released number of rows with a target that fits {declared} is {model.n_rows:,.0f}, "
        f"which is no more than noise. Do the cells have the declared type and spelling?{people} "
        "If so, the table is too small for this epsilon.",
    )


def _clipped_target(model: AdditiveModel) -> tuple[str, ...]:
    """Say which share of a regression's targets lies beyond the bounds."""
    noise = _count_noise(model, "target cells")
    if noise is None:
        return ()
    _, below, above = next((e for e in model.clipped if e[0] is None), (None, None, None))
    declared = repr(model.schema.target)
    line = ColumnSummary("", declared, below=below, above=above)
    noise /= max(model.n_rows, 1e-300)
    return tuple(
        f"The target ({declared}): {what}. {_MENDS[kind]} Predictions are wrong on average."
        for kind, what in _problems(None, line, noise, _least_share(noise, 1)).items()
    )


def _one_class(classes: Sequence[Any]) -> str:
    what = f"The only class label is {classes[0]!r}"
    if classes[0] == NO_LEVEL:
        what = "No class label was frequent enough to be released"
    return f"{what}, so all rows get the same prediction. Declare the labels: classes=[label, ...]."


def has_hardly_any_row(model: AdditiveModel) -> bool:
    """Whether the number of rows is that of an empty table, and could not be of a large one.

    The bill says what the noise of a class's count was: it is to that of a bin's count as the
    releases' mu are to each other. A class's count is never below its noise.
    """
    noise = _count_noise(model, "target")
    if noise is None:
        return False
    n_counts = len(model.classes or (None,))
    if model.classes is None:
        # A regression's sums of the target and of its square are in the same release, and so are
        # those of exposures.
        noise *= math.sqrt(3.0 if model.exposure is None else 5.0)
    root = math.sqrt(n_counts)
    is_noise = model.n_rows <= (n_counts + root) * noise
    return is_noise and model.n_rows + 2.0 * root * noise < _SMALL_TABLE


def _count_noise(model: AdditiveModel, release: str) -> float | None:
    """Return the standard deviation of a released count of rows; None if it is not known."""
    each = {s.name: s.mu / math.sqrt(s.count) for s in model.guarantee.releases}
    if not {"bins", "weights", release} <= set(each) or not each[release]:
        return None
    noise = model.noise_scale_binning * math.hypot(each["bins"], each["weights"]) / each[release]
    if model.counts_exposure and model.exposure is not None:
        # From multiples of the mean exposure to those of the largest, which a row adds at most.
        noise *= model.exposure / model.largest_exposure
    return noise


def _delta_findings(delta: float, n_rows: float | None, most: float = 1.0) -> tuple[str, ...]:
    """Say whether delta is above one over a number of rows, to which a unit adds up to ``most``."""
    if n_rows is None or delta * n_rows <= most:
        return ()
    text = f"{n_rows:,.0f}"
    if most > 1:
        text = f"{text} / {most:g} (rows of one unit, times the largest weight)"
    return (
        f"delta is {delta:g}, above one over the released number of rows, {text}. Publishing one "
        f"random person's rows would keep this promise. Use a delta far below {most / n_rows:.1g}.",
    )


def _rows_of_one_unit(model: AdditiveModel) -> float:
    """Return what one unit adds to the released number of rows at most.

    It has ``max_rows`` rows, and each has a weight of up to ``privacy_weight_max``, or all of them
    together where the model is of people. Infinite where the largest weight was released: the file
    does not say it.
    """
    if "largest weight" in {share.name for share in model.guarantee.releases}:
        return math.inf
    of_weight = max(1.0, float(model.parameters.get("privacy_weight_max") or 1.0))
    unit = model.schema.people
    return of_weight * (1 if unit is None or model.is_of_people else unit.max_rows)


# -------------------------------------------------------------------------------- backgrounds


def _summary_of_background(background: Background) -> ModelSummary:
    n_rows, schema, columns = background.n_rows, background.schema, background.columns
    lines = [_background_line(column, n_rows) for column in columns]
    # The count of one cell has half the variance of a first count.
    noises = [math.sqrt(2.0) * float(column.noise[0]) / n_rows for column in columns]
    least = _least_share(max(noises), len(columns))
    problems = [
        _problems(column.feature.spec, line, noise, least)
        for column, line, noise in zip(columns, lines, noises, strict=True)
    ]
    most = 1 if schema.people is None else schema.people.max_rows
    return ModelSummary(
        f"Background of about {n_rows:,.0f} rows, {background.guarantee.brief}",
        _noted(lines, problems),
        _column_findings(lines, problems),
        _delta_findings(background.guarantee.delta, n_rows, most),
        _SIGNIFICANT * max(float(c.noise.max()) for c in columns) / n_rows,
    )


def _background_line(column: BackgroundColumn, n_rows: float) -> ColumnSummary:
    spec, counts = column.feature.spec, column.counts
    is_nominal = isinstance(spec, Categorical)
    below, above = column.clipped or _NONE
    return ColumnSummary(
        column.feature.name,
        repr(spec),
        bins=column.feature.n_codes - 2,
        missing=max(float(counts[0]), 0.0) / n_rows,
        undeclared=max(float(counts[-1]), 0.0) / n_rows if is_nominal else None,
        below=None if below is None else max(below, 0.0) / n_rows,
        above=None if above is None else max(above, 0.0) / n_rows,
    )


# --------------------------------------------------------------------- locally linear models


def _summary_of_maps(model: LocallyLinearModel) -> ModelSummary:
    means = model.weights.mean(axis=1)
    # Only differences between the classes' scores count.
    squares = ((means - means.mean(axis=0)) ** 2).mean(axis=0)
    specs, n_rows = model.schema.features, _released_rows(model)
    columns = [
        ColumnSummary(name, repr(spec), inputs=width, weight=math.sqrt(size))
        for (name, spec), width, size in zip(
            specs.items(), model.widths, model.per_feature(squares), strict=True
        )
    ]
    problems = [_problems(specs[line.name], line, 0.0, 1.0) for line in columns]
    few = (_one_class(model.classes),) if len(model.classes) < 2 else ()
    kind = f"{len(model.classes)} classes of {model.n_maps} maps"
    rows = "" if n_rows is None else f", about {n_rows:,.0f} rows"
    return ModelSummary(
        f"{kind}{rows}, {model.guarantee.brief}",
        _noted(columns, problems),
        (*few, *_column_findings(columns, problems)),
        _delta_findings(model.guarantee.delta, n_rows),
    )


def _released_rows(model: LocallyLinearModel) -> float | None:
    """Return the number of rows that was declared, or released to choose the rate of samples."""
    declared, batch = (model.parameters.get(name) for name in ("n_rows", "batch_size"))
    if declared is not None:
        return float(declared)
    rate = float((model.steps or {}).get("probability", 1.0))
    return batch / rate if batch is not None and rate < 1.0 else None
