"""Sentences about the terms of an additive model, from curves and noise bands alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from interpret_dp._figures import enumerated
from interpret_dp.released.additive_model import AdditiveModel
from interpret_dp.released.terms import AdditiveFeature, AdditiveTerm, FeaturePair, FloatArray
from interpret_dp.schema import Categorical

LEAST_RATIO = 2.0
"""Signal to noise below which the effect of a term may be noise alone."""

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
    band is above or below zero, the average over the rows.
    """
    subject = model.subject(term)
    if term.is_edited:
        return f"{subject.name!r} was edited, so its effect is not described."
    if not term.scores.any():
        return f"{subject.name!r} was released as zero: no effect was learned."
    ratio = term.signal_to_noise
    band = term.band()
    if ratio is None or band is None:
        return f"The noise in {subject.name!r} is not known, so its effect is not described."
    if ratio < LEAST_RATIO:
        return f"The effect of {subject.name!r} may be noise alone."
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
        text += f", and {word} {'for ' * (feature.cuts is None)}{places}"
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
