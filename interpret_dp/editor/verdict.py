"""Signal or noise: whether noise explains a curve's shape, and repairs that noise justifies.

The released scores of the regular bins are y = f + e, where f is what the fit would have given
without noise and e is normal with the released covariance. For two windows of bins I before J,
the fall is the weighted mean of y over I minus that over J. If f increases, the falls of y are at
most those of e, whatever f is. So the largest standardised fall over all pairs of windows is
largest, in every single draw of e, where f is flat; its distribution under a flat f gives p-values
that are valid for every increasing f, and for all bumps of the curve at once (familywise).

For a flat curve rises count as falls do. A multiscale test of a qualitative hypothesis, in the
manner of Duembgen and Spokoiny (2001, Annals of Statistics 29, 124-152), with windows of 1, 2, 4,
... bins and without their penalty for scale. The p-value is that of a Monte Carlo test: one plus
the number of simulated values that are as large, over one plus their number.

The test does not take into account: sampling error (that other patients would have given another
curve), noise that reached the term through other, correlated terms, and that of the bin weights.
A departure that is called signal may be chance among the patients.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice, check_real, enumerated
from interpret_dp.editor.bins import between_text, class_column, code_labels, codes_text, range_ends
from interpret_dp.editor.operations import normal_draws
from interpret_dp.editor.state import State, as_in_file, find_term
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm, FeaturePair
from interpret_dp.released.arrays import isotonic, positive_weights

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ALPHA = 0.05
SHAPES = ("monotone", "increasing", "decreasing", "flat")

N_SIMULATIONS = 1_999
# The normals are no source of randomness: they are the same for everybody, protect nobody and
# decide nothing but the third digit of a p-value. They come from SHAKE-256, so that a p-value can
# be recomputed bit for bit by anyone, whatever version of a generator they have.
_SEQUENCE = b"interpret_dp editor: standard normals, version 1"
# Bins without rows have no noise but that of rounding; differences between bins are not held to
# be known better than this share of the largest standard deviation.
_MIN_DEVIATION = 1e-4
# A sentence with more of them is not read; `bumps` has them all.
_MAX_BUMPS_IN_TEXT = 3
_DEPARTURES = {"increasing": "dip", "decreasing": "rise", "flat": "bump"}


@dataclass(frozen=True)
class Bump:
    """One run of bins that departs from the shape.

    Attributes
    ----------
    bins : tuple of int
        Indices into the term's scores that ``EditSession.make_monotone`` would change.
    place : str
        Where the clearest fall (or rise) in it is, such as "between 4 and 6".
    size : float
        Its size, in units of score.
    deviation : float
        Standard deviation of the noise in it.
    p_value : float
        Bound on the probability that noise alone makes so clear a departure anywhere.
    within_noise : bool
        Whether the p-value is above the level.
    text : str
        The same in a sentence.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> bumps = session.verdict("age", shape="increasing").bumps
    >>> all(bump.within_noise == (bump.p_value > 0.05) for bump in bumps)
    True
    """

    bins: tuple[int, ...]
    place: str
    size: float
    deviation: float
    p_value: float
    within_noise: bool
    text: str


@dataclass(frozen=True)
class Verdict:
    """Result of the test of one curve.

    Attributes
    ----------
    term : str
        Name of the term.
    class_label : object
        The class whose curve it is; None unless there are more than two.
    shape : {"increasing", "decreasing", "flat"}
        The shape that was tested. For "monotone", the direction that fits better.
    alpha : float
        Level of the test.
    p_value : float
        The smallest of the bumps' p-values; 1 without bumps.
    bumps : tuple of Bump
        Departures from the shape, from left to right.
    text : str
        The verdict in a sentence or two.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> verdict = session.verdict("age", shape="increasing")
    >>> verdict.shape, verdict.alpha
    ('increasing', 0.05)
    """

    term: str
    class_label: Any
    shape: str
    alpha: float
    p_value: float
    bumps: tuple[Bump, ...]
    text: str

    @property
    def within_noise(self) -> bool:
        """Whether the noise explains every departure."""
        return self.p_value > self.alpha

    def __str__(self) -> str:
        """Return the verdict in words."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return dataclasses.asdict(self) | {"within_noise": self.within_noise}


def judge(
    model: AdditiveModel,
    index: int,
    shape: str,
    class_label: Any,
    alpha: float,
    codes: Sequence[int] | None = None,
) -> Verdict:
    """Test one term of a released model; see the module's text for the test.

    Parameters
    ----------
    model : AdditiveModel
    index : int
        Number of the term.
    shape : {"monotone", "increasing", "decreasing", "flat"}
        "monotone" is either direction: it is rejected if both directions are.
    class_label : label or None
        Needed if there are more than two classes.
    alpha : float
        Level, above 0 and below 1.
    codes : sequence of int, default=None
        Bins or cells that are judged; all by default. P-values count all windows of the curve
        even so: they hold for a selection that was chosen by looking at it.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, the term's noise covariance is not known, its bins have no
        order and another shape than "flat" is asked for, or ``codes`` holds no regular bin.
    """
    check_choice("shape", shape, SHAPES)
    alpha = check_real("alpha", alpha, low=0.0, high=1.0, low_open=True, high_open=True)
    term = as_in_file(model, index).as_released
    feature = model.subject(term)
    if isinstance(feature, FeaturePair) and shape != "flat":
        raise ValueError(
            f"shape is {shape!r}; the cells of {feature.name!r} are a heat map. Test for 'flat': "
            "whether there is any interaction."
        )
    if feature.kind == "nominal" and shape != "flat":
        raise ValueError(
            f"shape is {shape!r}; the levels of {feature.name!r} have no order, so that only "
            "'flat' can be tested. Declare the feature with ordered=True if they have one."
        )
    if term.covariance is None:
        raise ValueError(
            f"The covariance of the noise in {feature.name!r} is not known: the term was fitted "
            "with monotone_constraints, edited by an older version, or has too many bins for it to "
            "be kept. Open the session on the model as it was fitted, or fit it without "
            "constraints or with fewer bins."
        )
    column = _column(model, class_label)
    regular = feature.regular
    chosen = [code for code in regular if codes is None or code in codes]
    if not chosen:
        raise ValueError(
            f"The selection of {feature.name!r} holds missing and undeclared values alone, which "
            "cannot be judged. Select values, or nothing for the whole curve."
        )
    where = "" if len(chosen) == len(regular) else f" {codes_text(feature, chosen)}"
    if isinstance(feature, FeaturePair):
        return _tested_pair(feature, term, alpha, chosen if where else None, where)
    curve = _tested_curve(term, column, feature.kind != "nominal")
    shapes = ("increasing", "decreasing") if shape == "monotone" else (shape,)
    verdicts = [_tested(feature, class_label, curve, each, alpha, chosen, where) for each in shapes]
    verdict = max(verdicts, key=lambda verdict: verdict.p_value)
    if term.too_few_rows[1:-1].all():
        text = f"Every bin of {feature.name!r} has too few rows to be learned: its curve is zero."
        return dataclasses.replace(verdict, text=text)
    return verdict


def _column(model: AdditiveModel, class_label: Any) -> int:
    if class_label is None and len(model.intercept) == 1:
        return 0
    return class_column(model, "class_label", class_label)


# ------------------------------------------------------------------------------------ windows


@dataclass(frozen=True, eq=False)
class _Windows:
    """Windows of one width over the regular bins, and the deviations of their differences."""

    matrix: FloatArray  # (n_windows, n_bins): weighted means
    first: IntArray  # (n_windows,) first bin, counted from 0
    width: int
    least_lag: int  # windows so many apart do not overlap
    covariance: FloatArray  # (n_windows, n_windows) of the means

    def deviations(self, lag: int, floor: float) -> FloatArray:
        """Return the deviation of the difference of windows that are ``lag`` apart."""
        variances = np.diagonal(self.covariance)
        across = np.diagonal(self.covariance, offset=lag)
        squared = variances[:-lag] + variances[lag:] - 2.0 * across
        return np.asarray(np.maximum(np.sqrt(np.maximum(squared, 0.0)), floor))


@dataclass(frozen=True, eq=False)
class _TestedCurve:
    """One class' scores of the regular bins, with the windows and the simulated null values."""

    scores: FloatArray
    weights: FloatArray
    windows: tuple[_Windows, ...]
    floor: float
    falls: FloatArray  # (N_SIMULATIONS,) largest standardised fall of noise alone
    swings: FloatArray  # the same for falls and rises

    def pairs(self) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
        """Return fall, deviation, first and last bin of every pair of windows."""
        falls, deviations = [np.zeros(0)], [np.zeros(0)]
        starts, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for windows in self.windows:
            means = windows.matrix @ self.scores
            for lag in range(windows.least_lag, len(means)):
                falls.append(means[:-lag] - means[lag:])
                deviations.append(windows.deviations(lag, self.floor))
                starts.append(windows.first[:-lag])
                ends.append(windows.first[lag:] + windows.width - 1)
        join = np.concatenate
        return join(falls), join(deviations), join(starts), join(ends)


@lru_cache(maxsize=256)
def _tested_curve(term: AdditiveTerm, column: int, is_ordered: bool) -> _TestedCurve:
    """Simulate the null values of one curve; terms are immutable, so it is done once."""
    n_codes = len(term.scores)
    assert term.covariance is not None  # judge() has checked it
    inner = slice(1, n_codes - 1)
    covariance = term.covariance.reshape(-1, n_codes, n_codes)[column][inner, inner]
    scores = term.scores.reshape(n_codes, -1)[inner, column]
    weights = positive_weights(term.weights[inner])
    n_bins = len(scores)
    windows = []
    width = 1
    while 2 * width <= n_bins and (is_ordered or width == 1):
        windows.append(_windows(weights, covariance, width))
        width *= 2
    largest = float(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)).max())
    floor = max(_MIN_DEVIATION * largest, np.finfo(float).tiny ** 0.5)
    # One simulation a column, so that the maxima run along contiguous memory.
    noise = normal_draws(_standard_normals(n_bins), covariance).T
    falls = np.full(noise.shape[1], -np.inf)
    rises = np.full(noise.shape[1], -np.inf)
    for family in windows:
        means = family.matrix @ noise
        for lag in range(family.least_lag, len(means)):
            fall = means[:-lag] - means[lag:]
            fall /= family.deviations(lag, floor)[:, np.newaxis]
            np.maximum(falls, fall.max(axis=0), out=falls)
            np.maximum(rises, -fall.min(axis=0), out=rises)
    return _TestedCurve(scores, weights, tuple(windows), floor, falls, np.maximum(falls, rises))


def _windows(weights: FloatArray, covariance: FloatArray, width: int) -> _Windows:
    # Wide windows move in steps of half their width: the rest would say almost the same.
    step = max(1, width // 2)
    first = np.arange(0, len(weights) - width + 1, step)
    matrix = np.zeros((len(first), len(weights)))
    for row, start in enumerate(first):
        chosen = slice(start, start + width)
        matrix[row, chosen] = weights[chosen] / weights[chosen].sum()
    return _Windows(matrix, first, width, -(-width // step), matrix @ covariance @ matrix.T)


# ------------------------------------------------------------------------------------ verdicts


def _tested(
    feature: AdditiveFeature,
    class_label: Any,
    curve: _TestedCurve,
    shape: str,
    alpha: float,
    codes: Sequence[int],
    where: str,
) -> Verdict:
    falls, deviations, starts, ends = curve.pairs()
    chosen = np.isin(np.arange(1, len(curve.scores) + 1), codes)
    # Levels without an order are compared with one another, wherever they stand.
    runs = [np.flatnonzero(chosen)] if feature.kind == "nominal" else _runs(chosen)
    if shape == "flat":
        departures, null = np.abs(falls), curve.swings
        blocks = [(run[0], run[-1]) for run in runs if np.ptp(curve.scores[run]) > 0]
    else:
        departures, null = (falls if shape == "increasing" else -falls), curve.falls
        blocks = []
        for run in runs:
            scores = curve.scores[run]
            fitted = isotonic(scores, curve.weights[run], increasing=shape == "increasing")
            blocks += [(run[0] + a, run[0] + b) for a, b in _changed_runs(scores, fitted)]
    is_chosen = chosen[starts] & chosen[ends]
    bumps = []
    for first, last in blocks:
        inside = np.flatnonzero((starts >= first) & (ends <= last) & is_chosen)
        best = inside[np.argmax(departures[inside] / deviations[inside])]
        clearest = departures[best] / deviations[best]
        p_value = float((1 + np.count_nonzero(null >= clearest)) / (1 + N_SIMULATIONS))
        word = "fall" if falls[best] > 0 else "rise"
        bump = _bump(
            word,
            alpha,
            place=_place(feature, int(starts[best]), int(ends[best])),
            bins=tuple(code for code in codes if first < code <= last + 1),
            size=float(departures[best]),
            deviation=float(deviations[best]),
            p_value=p_value,
        )
        bumps.append(bump)
    of_class = "" if class_label is None else f" for class {class_label!r}"
    text = _sentence(f"the released curve of {feature.name!r}{of_class}{where}", shape, bumps)
    return _verdict(feature.name, class_label, shape, alpha, bumps, text)


def _runs(chosen: NDArray[np.bool_]) -> list[IntArray]:
    """Return the runs of bins that stand side by side."""
    places = np.flatnonzero(chosen)
    return np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)


def _tested_pair(
    pair: FeaturePair, term: AdditiveTerm, alpha: float, chosen: Sequence[int] | None, where: str
) -> Verdict:
    """Test whether noise explains every cell of a heat map; a bump is a cell that it does not."""
    codes, deviations, p_values = _tested_cells(term)
    if chosen is not None:
        inside = np.isin(codes, chosen)
        codes, deviations, p_values = codes[inside], deviations[inside], p_values[inside]
    labels = code_labels(pair)
    order = np.argsort(p_values, kind="stable")
    shown = [at for at in order if p_values[at] <= alpha] or list(order[:1])
    bumps = [
        _bump(
            "effect",
            alpha,
            place=f"at {labels[codes[at]]}",
            bins=(int(codes[at]),),
            size=float(abs(term.scores[codes[at]])),
            deviation=float(deviations[at]),
            p_value=float(p_values[at]),
        )
        for at in shown
    ]
    text = _cells_sentence(f"the released heat map of {pair.name!r}{where}", bumps)
    return _verdict(pair.name, None, "flat", alpha, bumps, text)


def _bump(word: str, alpha: float, *, p_value: float, place: str, **figures: Any) -> Bump:
    is_noise = p_value > alpha
    outcome = "could be noise" if is_noise else "is more than noise"
    text = f"the {word} {place} {outcome}: p = {p_value:.2g}"
    return Bump(p_value=p_value, within_noise=is_noise, place=place, text=text, **figures)


def _verdict(
    name: str, label: Any, shape: str, alpha: float, bumps: list[Bump], text: str
) -> Verdict:
    p_value = min((bump.p_value for bump in bumps), default=1.0)
    return Verdict(name, label, shape, alpha, p_value, tuple(bumps), text)


def _changed_runs(scores: FloatArray, fitted: FloatArray) -> list[tuple[int, int]]:
    """Return first and last bin of each run that the isotonic fit pools and thereby changes."""
    borders = np.flatnonzero(np.diff(fitted)) + 1
    runs = zip([0, *borders.tolist()], [*borders.tolist(), len(scores)], strict=True)
    return [
        (first, after - 1) for first, after in runs if (scores[first:after] != scores[first]).any()
    ]


def _place(feature: AdditiveFeature, start: int, end: int) -> str:
    """Return where a departure is, in words; bins count from 0."""
    if feature.cuts is None:
        return f"from {feature.labels[start]!r} to {feature.labels[end]!r}"
    return between_text(*range_ends(feature, start, end))


def _clear_ones(bumps: list[Bump]) -> tuple[int, str]:
    """Return how many bumps are more than noise, and which in words."""
    clear = sorted((b for b in bumps if not b.within_noise), key=lambda bump: bump.p_value)
    places = [f"{bump.place} (p = {bump.p_value:.2g})" for bump in clear[:_MAX_BUMPS_IN_TEXT]]
    if len(clear) > len(places):
        places.append(f"{len(clear) - len(places)} more")
    verb = "is" if len(clear) == 1 else "are"
    return len(clear), f"{verb} more than noise: {enumerated(places)}."


def _cells_sentence(whose: str, bumps: list[Bump]) -> str:
    n_clear, are_clear = _clear_ones(bumps)
    if n_clear:
        return f"{n_clear} cell{'s' * (n_clear > 1)} of {whose} {are_clear}"
    p_value = min((bump.p_value for bump in bumps), default=1.0)
    return f"Every cell of {whose} could be noise (p = {p_value:.2g})."


def _sentence(whose: str, shape: str, bumps: list[Bump]) -> str:
    if not bumps:
        return f"{whose[0].upper()}{whose[1:]} is {shape}."
    n_clear, are_clear = _clear_ones(bumps)
    article = "an increasing" if shape == "increasing" else f"a {shape}"
    count = f"{len(bumps)} {_DEPARTURES[shape]}{'s' * (len(bumps) > 1)}"
    text = f"Against {article} curve, {whose} has {count}"
    if n_clear:
        which = "which" if len(bumps) == 1 else f"of which {n_clear}"
        return f"{text}, {which} {are_clear}"
    which = "which" if len(bumps) == 1 else "all of which"
    p_value = min(bump.p_value for bump in bumps)
    return f"{text}, {which} could be noise (p = {p_value:.2g})."


# ----------------------------------------------------------------------------- simulated noise


@lru_cache(maxsize=4)
def _standard_normals(n_columns: int) -> FloatArray:
    """Return the sequence as a matrix, shape (N_SIMULATIONS, n_columns)."""
    from scipy.special import ndtri

    n_bytes = 8 * N_SIMULATIONS * n_columns
    words = np.frombuffer(hashlib.shake_256(_SEQUENCE).digest(n_bytes), dtype="<u8")
    # The 53 highest bits, moved off 0 and 1.
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    normals: FloatArray = ndtri(uniform).reshape(N_SIMULATIONS, n_columns)
    normals.setflags(write=False)
    return normals


@lru_cache(maxsize=16)
def _tested_cells(term: AdditiveTerm) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return index, deviation and p-value of each cell of a heat map that noise was added to.

    A pair is made of interactions alone, so that without any all of its scores would be those of
    the noise, which is normal with the released covariance. The largest standardised score of any
    cell is compared with that of simulated noise: p-values hold for all cells at once
    (familywise).
    """
    assert term.covariance is not None  # judge() has checked it
    variances = np.diagonal(term.covariance)
    codes = np.flatnonzero(variances > 0)
    if not len(codes):
        return codes, np.zeros(0), np.zeros(0)
    deviations = np.sqrt(variances[codes])
    deviations = np.maximum(deviations, _MIN_DEVIATION * deviations.max())
    covariance = term.covariance[np.ix_(codes, codes)]
    noise = normal_draws(_standard_normals(len(codes)), covariance)
    null = (np.abs(noise) / deviations).max(axis=1)
    clear = np.abs(term.scores[codes]) / deviations
    counts = (null[:, np.newaxis] >= clear).sum(axis=0)
    return codes, deviations, np.asarray((1.0 + counts) / (1.0 + N_SIMULATIONS))


# Repairs that the noise justifies: bumps against a known direction that could be noise.

_DIRECTIONS = {"+": True, "-": False}


@dataclass(frozen=True)
class Suggestion:
    """One curve whose bumps noise explains.

    Attributes
    ----------
    term : str
        Name of the term.
    class_label : object
        The class whose curve it is; None unless there are more than two.
    increasing : bool
        Declared direction.
    bins : tuple of int
        Bins to repair: those of the bumps that noise explains, or all regular ones if it explains
        every bump of the whole curve.
    p_value : float
        The smallest p-value among these bumps.
    text : str
        The verdict on the whole curve, in words.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> suggestions = session.suggest_repairs({"age": "+"})  # curves whose dips could be noise
    >>> [one.term for one in suggestions if one.p_value <= 0.05]
    []
    """

    term: str
    class_label: Any
    increasing: bool
    bins: tuple[int, ...]
    p_value: float
    text: str

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of ``make_monotone`` that repair the curve."""
        classes = None if self.class_label is None else [self.class_label]
        return {"increasing": self.increasing, "bins": self.bins, "classes": classes}


def suggest_repairs(
    base: AdditiveModel,
    state: State,
    monotone: Mapping[str, Any],
    alpha: float,
    codes: Sequence[int] | None = None,
) -> tuple[Suggestion, ...]:
    """Return a suggestion for each curve whose bumps against its direction could be noise.

    See :meth:`interpret_dp.editor.EditSession.suggest_repairs`.
    """
    if not isinstance(monotone, Mapping):
        raise TypeError(
            f"monotone is {monotone!r}; it must be a mapping of terms to directions, such as "
            '{"age": "+"}.'
        )
    suggestions = []
    for name, declared in monotone.items():
        index = find_term(base, name)
        directions = declared if isinstance(declared, Mapping) else {None: declared}
        for class_label, sign in directions.items():
            if not isinstance(sign, str) or sign not in _DIRECTIONS:
                raise ValueError(
                    f"monotone[{name!r}] is {sign!r}; it must be '+' (increasing) or '-' "
                    "(decreasing), or a mapping of class labels to these."
                )
            increasing = _DIRECTIONS[sign]
            shape = "increasing" if increasing else "decreasing"
            verdict = judge(base, index, shape, class_label, alpha, codes)
            noisy = [bump for bump in verdict.bumps if bump.within_noise]
            if not noisy:
                continue
            term = state.terms[index]
            bins = tuple(sorted(code for bump in noisy for code in bump.bins))
            if verdict.within_noise and codes is None:
                # The same result, and a plainer history.
                bins = tuple(range(1, len(term.scores) - 1))
            now = term.scores.reshape(len(term.scores), -1)[list(bins), _column(base, class_label)]
            repaired = isotonic(now, term.weights[list(bins)], increasing=increasing)
            if not np.array_equal(repaired, now):
                p_value, text = min(bump.p_value for bump in noisy), verdict.text
                suggestions.append(
                    Suggestion(verdict.term, class_label, increasing, bins, p_value, text)
                )
    return tuple(suggestions)
