"""Readings of the maps of a released locally linear model: of a class, and of one row."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released.locally_linear import LocallyLinearModel

FloatArray = NDArray[np.float64]

TOP_MAPS = 3
"""Maps of a class that are shown of one row."""

NOISE_WORDS = (
    "No noise band: these weights come from many steps of Adam on clipped, noisy\n"
    "gradients, and how much of that noise is left in them cannot be derived"
)
"""Why no figure of maps has a noise band."""

CLASS_WORDS = "Only differences between the classes' scores count: figure(row, label=, against=)"
"""Note on figures of one class: a change of all scores alike decides nothing."""

_MOST_OFFERED = 10
_NINTHS = (
    *("at the top left", "at the top", "at the top right"),
    *("at the left", "in the centre", "at the right"),
    *("at the bottom left", "at the bottom", "at the bottom right"),
)
_LONGEST_LABEL = 30


@dataclass(frozen=True)
class MapUse:
    """Shares of given public rows at which each map is the one of its class that counts most.

    Attributes
    ----------
    shares : ndarray of float64, shape (n_classes, n_maps)
        Of the rows; each class's add up to 1.
    n_rows : int
    """

    shares: FloatArray
    n_rows: int


@dataclass(frozen=True)
class ClassReading:
    """The linear function that gives one class its score at one row, or its lead over another.

    Attributes
    ----------
    index : int
        Of the class.
    probability, score : float
        As the model gives them. The score is the sum of ``contributions`` plus ``bias``.
    bias : float
        The score of the reference: the maps' biases, weighted, and of images what the weighted map
        makes of a picture that is all background.
    shares : ndarray of float64, shape (n_maps,)
        How much each map counts: the softmax.
    top : tuple of int
        The maps that count most, first one first; at most three.
    weighted_map : ndarray of float64, shape (n_inputs,)
        The maps' weights, weighted.
    contributions : ndarray of float64, shape (n_inputs,)
        The weighted map times the row's inputs, less those of the reference.
    against : int or None
        The class whose numbers are subtracted: the score, the bias, the weighted map and the
        contributions are those of ``index`` less those of this one.
    """

    index: int
    probability: float
    score: float
    bias: float
    shares: FloatArray
    top: tuple[int, ...]
    weighted_map: FloatArray
    contributions: FloatArray
    against: int | None = None


def read_row(
    model: LocallyLinearModel, inputs: FloatArray, index: int, against: int | None = None
) -> ClassReading:
    """Return how one class comes to its score at one row, or to its lead over another class.

    Parameters
    ----------
    model : LocallyLinearModel
    inputs : ndarray of float, shape (n_inputs,)
        Standardised.
    index : int
        Of the class.
    against : int, default=None
        Of the other class.
    """
    row = np.asarray(inputs, dtype=np.float64)
    scores = model.scores(row[None])[0]
    shares = model.map_shares(row[None])[0, index]
    weighted = shares @ model.weights[index]
    order = np.argsort(-shares, kind="stable")[:TOP_MAPS]
    reference = model.reference
    own = ClassReading(
        index=index,
        probability=float(model.predict_proba(row[None])[0, index]),
        score=float(scores[index]),
        bias=float(shares @ model.biases[index] + weighted @ reference),
        shares=shares,
        top=tuple(int(number) for number in order),
        weighted_map=weighted,
        contributions=weighted * (row - reference),
    )
    if against is None:
        return own
    other = read_row(model, row, against)
    return dataclasses.replace(
        own,
        against=against,
        score=own.score - other.score,
        bias=own.bias - other.bias,
        weighted_map=own.weighted_map - other.weighted_map,
        contributions=own.contributions - other.contributions,
    )


def mean_evidence(model: LocallyLinearModel) -> FloatArray:
    """Return what wavelet features add to each class's score at their released mean.

    Shape (n_classes, n_inputs). Where no mean was released each feature counts as 1, its usual
    size.
    """
    usual = np.ones(model.n_inputs) if model.means is None else model.means
    return np.asarray(model.weights.mean(axis=1) * usual)


def map_use(model: LocallyLinearModel, inputs: FloatArray) -> MapUse:
    """Return how often each map is its class's top one over some public rows.

    Parameters
    ----------
    model : LocallyLinearModel
    inputs : ndarray of float, shape (n_rows, n_inputs)
        Standardised; at least one row.
    """
    rows = np.asarray(inputs)
    if not len(rows):
        raise ValueError("X has no rows; give at least one, or leave X out.")
    counts = np.zeros((len(model.classes), model.n_maps))
    for start in range(0, len(rows), 1024):
        # The softmax is monotone: the largest value is the largest share.
        top = model.map_values(rows[start : start + 1024]).argmax(axis=2)
        for index, chosen in enumerate(top.T):
            counts[index] += np.bincount(chosen, minlength=model.n_maps)
    return MapUse(counts / len(rows), len(rows))


def offered_classes(probabilities: FloatArray, actual: int | None) -> list[int]:
    """Return the classes that a figure of one row lets the reader choose from, predicted first.

    Of many, the ten most probable ones and the actual one.
    """
    order = [int(index) for index in np.argsort(-probabilities, kind="stable")]
    shown = order[:_MOST_OFFERED]
    return shown if actual is None or actual in shown else [*shown, actual]


def label_text(classes: Sequence[Any], index: int) -> str:
    """Return a class's label as text, cut if it is long; not yet literal."""
    return textwrap.shorten(str(classes[index]), 4 * _LONGEST_LABEL, placeholder=" …")[
        :_LONGEST_LABEL
    ]


def row_words(
    model: LocallyLinearModel, reading: ClassReading, actual: int | None
) -> tuple[str, str]:
    """Return a title that says what a class's probability is, and how its score comes about.

    Of a picture the words begin with a line on where the evidence is.

    Parameters
    ----------
    model : LocallyLinearModel
    reading : ClassReading
    actual : int or None
        The class that came true.
    """
    label = label_text(model.classes, reading.index)
    title = f"Probability of {label}: {percent_text(reading.probability)}"
    what = "Score"
    if reading.against is not None:
        title += f", compared with {label_text(model.classes, reading.against)}"
        what = "Difference of the scores"
    if actual is not None:
        title += f", actual: {label_text(model.classes, actual)}"
    total = float(reading.contributions.sum())
    words = f"{what} {reading.score:+.3g} = contributions {total:+.3g} and bias {reading.bias:+.3g}"
    n_maps = len(reading.shares)
    words = f"{words} · {n_maps:,} maps" if n_maps > 1 else words
    if model.is_image:
        words = f"{place_words(model.pixels(reading.contributions).sum(axis=2))}\n{words}"
    return title, words


def place_words(evidence: FloatArray) -> str:
    """Say in which ninth of a picture most speaks for a class, and in which most against it.

    Parameters
    ----------
    evidence : ndarray of float, shape (height, width)
    """
    lines, columns = (np.arange(length) * 3 // length for length in evidence.shape)
    parts = []
    for sign, side in ((1, "for"), (-1, "against")):
        sums = np.zeros((3, 3))
        np.add.at(sums, np.ix_(lines, columns), np.maximum(sign * evidence, 0.0))
        if sums.any():
            place, share = int(sums.argmax()), float(sums.max() / sums.sum())
            parts.append(f"{side} it, {percent_text(share)} is {_NINTHS[place]}")
    return f"Of what speaks {'; '.join(parts)}." if parts else "Nothing speaks for or against it."


def use_words(use: MapUse | None) -> str:
    """Say what the shares of maps were counted on; a line, or nothing."""
    if use is None:
        return ""
    return f"Percent of the {use.n_rows:,} given rows, taken as public, where the map counts most\n"


def percent_text(share: float) -> str:
    """Return a share in percent, with a decimal where it is small, and 100 only if it is all."""
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"
