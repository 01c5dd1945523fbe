"""The parts of a released additive model, and intervals for its noisy values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import check_keys, check_kinds
from interpret_dp._validate import check_int, check_real
from interpret_dp.released.arrays import LARGEST_COUNT, LARGEST_SCORE, FloatArray, freeze, frozen
from interpret_dp.schema import Categorical, Continuous, Integer, interpret_type, level_labels
from interpret_dp.schema.declarations import integer_ranges

# Intervals that hold a noisy value's truth equally often, wherever it is.
#
# A posterior mean with its posterior deviation is right on average over a curve: where the curve is
# as expected the interval nearly always holds, where it has a spike hardly ever. An interval around
# the value with its noise is right everywhere, and wide. Between them stands Pratt's: a test of
# each candidate value, at the full level, whose two tails are of different size. It rejects sooner
# on the side away from what is expected. As each test has the level, each value is held equally
# often, however wrong the expectation; as far as that is right, the interval is short.
#
# Sources: Pratt (1963), "Shorter confidence intervals for the mean of a normal distribution with
# known variance"; Yu and Hoff (2018), "Adaptive multigroup confidence intervals with constant
# coverage", Biometrika 105, section 2.


# A tail of a test has at least so much of its level: an expectation that is far off would have the
# interval reach out to it. The level holds with any bound.
_LEAST_TAIL = 0.01
# Points between which a tail's share is interpolated, and by how many deviations ends are then
# rounded outwards: more than they are off.
_GRID = np.linspace(_LEAST_TAIL, 1.0 - _LEAST_TAIL, 2**14 + 1)
_INTERVAL_ROUNDING = 5e-7


class Band(NamedTuple):
    """Lower and upper ends, of the shape of the scores; NaN where nothing is known of a term.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> released = model.fit(patients.X, patients.y).released_
    >>> band = released.terms[0].band(0.95)
    >>> band.lower.shape == band.upper.shape == released.terms[0].scores.shape
    True
    """

    lower: FloatArray
    upper: FloatArray

    def of_class(self, column: int) -> Band:
        """Return the band of one class, each end of shape (n_codes,)."""
        return Band(*(end.reshape(len(end), -1)[:, column] for end in self))

    def at(self, codes: Any) -> Band:
        """Return the band of some bins."""
        return Band(*(end[codes] for end in self))

    def drawn_around(self, scores: FloatArray) -> Band:
        """Return the band to draw, which has no width where nothing is known."""
        return Band(*(np.where(np.isnan(end), scores, end) for end in self))


def assisted_interval(
    noisy: FloatArray,
    deviations: FloatArray,
    mean: FloatArray,
    variances: FloatArray,
    level: float,
) -> Band:
    """Return intervals that hold the noiseless values with probability ``level``, each of them.

    Parameters
    ----------
    noisy : ndarray of float64
        Values with normal noise.
    deviations : ndarray of float64, same shape
        Of the noise; a value without noise is its own interval.
    mean, variances : ndarray of float64, same shape
        Posterior mean and variance of each noiseless value. Variances of the noise or more are
        taken for no expectation, which gives the usual interval.
    level : float
        From 0.5, below 1.

    Returns
    -------
    Band

    Notes
    -----
    What is expected of a value must not depend on its own noise. So the value's likelihood is taken
    out of its posterior, which leaves a normal expectation with mean e and variance t: with
    ``q = variances / deviations**2``, ``t = variances / (1 - q)`` and ``noisy - e = (noisy - mean)
    / (1 - q)``. The test of a value v that gives the shortest interval on average over that
    expectation gives a share w(v) of its level to rejecting for too large an observation, where
    ``ndtri(a w) - ndtri(a (1 - w)) = 2 deviations (v - e) / t`` and a is one minus ``level``. The
    ends of the interval are where v is just not rejected; with q multiplied out, each is the root
    of an increasing function of w.
    """
    from scipy.special import ndtri

    alpha = 1.0 - level
    noisy, deviations = np.asarray(noisy, float), np.asarray(deviations, float)
    moves = deviations > 0
    safe = np.where(moves, deviations, 1.0)
    with np.errstate(over="ignore"):
        share = np.where(moves, np.square(np.sqrt(np.maximum(variances, 0.0)) / safe), 1.0)
        share = np.where(np.isfinite(share) & np.isfinite(mean), np.minimum(share, 1.0), 1.0)
        surprise = np.where(share < 1.0, 2.0 * (noisy - mean) / safe, 0.0)

    def above(tail: FloatArray) -> FloatArray:
        return np.asarray(ndtri(alpha * tail))

    tilt = above(_GRID) - above(1.0 - _GRID)

    def end(sign: float) -> FloatArray:
        """Return how many deviations the upper (1) or lower (-1) end lies above the value."""
        own = above(_GRID) if sign > 0 else -above(1.0 - _GRID)
        tail = _root(tilt, own, share, surprise)
        return -above(tail) if sign > 0 else above(1.0 - tail)

    reach, out = np.where(moves, deviations, 0.0), np.where(share < 1.0, _INTERVAL_ROUNDING, 0.0)
    return Band(noisy + reach * (end(-1.0) - out), noisy + reach * (end(1.0) + out))


def _root(tilt: FloatArray, own: FloatArray, share: FloatArray, goal: FloatArray) -> FloatArray:
    """Return where ``share * tilt + 2 (1 - share) * own``, increasing on the grid, is ``goal``."""

    def at(places: Any) -> FloatArray:
        return np.asarray(share * tilt[places] + 2.0 * (1.0 - share) * own[places])

    low = np.zeros(share.shape, dtype=np.int64)
    step = len(_GRID) - 1
    while step > 1:
        step //= 2
        low = np.where(at(low + step) > goal, low, low + step)
    before, after = at(low), at(low + 1)
    part = np.clip((goal - before) / (after - before), 0.0, 1.0)
    return np.asarray(_GRID[low] + part * (_GRID[low + 1] - _GRID[low]))


FEWEST_ROWS = 2.0
"""Deviations of a count's noise that the weight of a bin, or of a leaf, must be above to move."""

LEAST_RATIO = 2.0
"""Signal to noise below which the effect of a term may be noise alone."""

_ROUNDING = 1e-9

OPTIONAL_KEYS = {
    "partner": "integer",
    **dict.fromkeys(("variances", "noisy_scores", "posterior_mean"), "list"),
    **dict.fromkeys(("posterior_covariance", "posterior_variances", "sampling_variances"), "list"),
    "released": "object",
}
"""Keys that a term's document may lack, and kinds of their values."""

# Keys that a term and what it was before its edits have in common.
_SHARED = ("feature", "partner", "weights")


@dataclass(frozen=True, eq=False)
class AdditiveFeature:
    """One input of the model.

    Attributes
    ----------
    name : str
    spec : Continuous, Integer or Categorical
        Its declaration in the schema.
    cuts : ndarray of float64, shape (n_bins - 1,), or None
        Increasing cut points of a continuous feature; a value on a cut is in the bin above. Those
        of integers have an integer between each two.
    pair_cuts : ndarray of float64, or None
        The fewer cut points that its pairs with other features use; None if it is in no pair, or
        they use the same ones.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> released = model.fit(patients.X, patients.y).released_
    >>> released.features[0].name, released.features[0].spec
    ('age', Continuous(18, 95))
    """

    name: str
    spec: Continuous | Categorical
    cuts: FloatArray | None = None
    pair_cuts: FloatArray | None = None

    def __post_init__(self) -> None:
        """Freeze the cut points and check them against the declaration."""
        check_kinds("A feature", {"name": self.name}, {"name": "text"})
        if isinstance(self.spec, Categorical):
            if self.cuts is not None or self.pair_cuts is not None:
                raise ValueError(f"Feature {self.name!r} is categorical and cannot have cuts.")
            return
        if self.cuts is None:
            raise ValueError(f"Feature {self.name!r} is continuous and must have cuts.")
        for which in ("cuts", "pair_cuts"):
            given = getattr(self, which)
            if given is None:
                continue
            what = f"{which} of feature {self.name!r}"
            cuts = frozen(given, None, what)
            if cuts.ndim != 1:
                raise ValueError(f"{what} must be a list of numbers.")
            if (np.diff(cuts) <= 0).any():
                raise ValueError(f"{what} must increase.")
            if isinstance(self.spec, Integer) and (np.diff(np.ceil(cuts)) <= 0).any():
                raise ValueError(f"{what} must have an integer between each two.")
            object.__setattr__(self, which, cuts)

    @property
    def kind(self) -> str:
        """Type of the feature in interpret's words: continuous, nominal or ordinal."""
        return interpret_type(self.spec)

    @property
    def labels(self) -> list[str]:
        """Names of the levels of a categorical feature, in order of their bins."""
        return level_labels(self.spec) if isinstance(self.spec, Categorical) else []

    @property
    def integers(self) -> list[tuple[int, int]] | None:
        """First and last value of each bin of integers; None for other features."""
        if self.cuts is None or not isinstance(self.spec, Integer):
            return None
        return integer_ranges(self.spec, self.cuts)

    @property
    def n_codes(self) -> int:
        """Number of bins, missing and unseen included."""
        return (len(self.labels) if self.cuts is None else len(self.cuts) + 1) + 2

    @property
    def regular(self) -> list[int]:
        """Bins that are neither the missing nor the unseen one."""
        return list(range(1, self.n_codes - 1))

    def code_of(self, value: Any) -> int:
        """Return the bin of a number, or of a level's name; None and NaN are missing."""
        if value is None or value != value:
            return 0
        if self.cuts is not None:
            return int(np.searchsorted(self.cuts, value, side="right")) + 1
        return self.labels.index(value) + 1 if value in self.labels else self.n_codes - 1

    @property
    def in_pairs(self) -> AdditiveFeature:
        """The feature with the bins that its pairs use."""
        if self.pair_cuts is None:
            return self
        return AdditiveFeature(self.name, self.spec, self.pair_cuts)


@dataclass(frozen=True, eq=False)
class FeaturePair:
    """Subject of a term of two features.

    Attributes
    ----------
    first, second : AdditiveFeature
        With the bins that their pairs use. Cell (i, j) of bins i and j is number
        ``i * second.n_codes + j`` of the term's scores.

    Examples
    --------
    >>> from interpret_dp import Categorical
    >>> from interpret_dp.released import AdditiveFeature, FeaturePair
    >>> sex = AdditiveFeature("sex", Categorical(["female", "male"]))
    >>> FeaturePair(sex, AdditiveFeature("smoker", Categorical(["no", "yes"]))).name
    'sex & smoker'
    """

    first: AdditiveFeature
    second: AdditiveFeature

    #: In interpret's words.
    kind: ClassVar[str] = "interaction"
    #: A cell is no range of numbers.
    cuts: ClassVar[None] = None

    @property
    def name(self) -> str:
        """Names of both features, as interpret joins them."""
        return f"{self.first.name} & {self.second.name}"

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of bins of both features, missing and unseen included."""
        return self.first.n_codes, self.second.n_codes

    @property
    def n_codes(self) -> int:
        """Number of cells."""
        return self.first.n_codes * self.second.n_codes

    @property
    def regular(self) -> list[int]:
        """Cells of which neither bin is the missing or the unseen one."""
        numbers = np.arange(self.n_codes).reshape(self.shape)
        return [int(number) for number in numbers[1:-1, 1:-1].ravel()]


@dataclass(frozen=True, eq=False)
class AdditiveTerm:
    """One shape function, or one heat map.

    Attributes
    ----------
    feature : int
        Index of its feature; of a pair, of the first.
    scores : ndarray of float64, shape (n_codes,) or (n_codes, n_classes)
        Score of the missing bin, of each bin, and of the unseen bin; one column a class if there
        are more than two. Of a pair, those of all cells, row by row (:class:`FeaturePair`).
    weights : ndarray of float64, shape (n_codes,)
        Released number of rows per bin.
    covariance : ndarray of float64, (n_codes, n_codes) or (n_classes, n_codes, n_codes), or None
        Covariance of the noise that was added; None where it is not known as a whole.
    variances : ndarray of float64, same shape as ``scores``, or None
        Variance of the added noise, of a term with too many bins for a ``covariance`` or one that
        was kept monotone. None where ``covariance`` is given, whose diagonal it would be, or
        nothing is known.
    partner : int or None
        Index of the second feature of a pair; None for a shape function.
    noisy_scores : ndarray of float64, same shape as ``scores``, or None
        The curve before denoising: the curve without noise, plus the noise. None where ``scores``
        are that curve.
    posterior_mean : ndarray of float64, same shape as ``scores``, or None
        What is expected of the curve without noise, given the released one. It is rougher than
        ``scores``, which leave out sampling error as well.
    posterior_covariance : ndarray of float64, shaped as ``covariance``, or None
        Its covariance.
    posterior_variances : ndarray of float64, same shape as ``scores``, or None
        Its diagonal, of a term without ``posterior_covariance``.
    sampling_variances : ndarray of float64, same shape as ``scores``, or None
        Variance of each score's sampling error: other rows would have given another curve. It is
        derived from the released weights. None where it is not known.
    count_noise : float
        Standard deviation of the noise of a weight, in rows: that of the model, which fills it in.
        0 where no counts were released.
    released : AdditiveTerm or None
        The term as it was released, if its scores were edited since; files of older versions lack
        it. An edited term that was reset keeps it.
    moved : ndarray of float64, shape (n_scores,), or None
        Of a term with ``released``: sum of the changes of its mean score that the edits took out
        of the intercept.
    is_edited : bool
        Whether its scores are not the released ones. The model fills it in.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> released = model.fit(patients.X, patients.y).released_
    >>> term = released.terms[0]
    >>> len(term.scores) == len(term.weights)
    True
    """

    feature: int
    scores: FloatArray
    weights: FloatArray
    covariance: FloatArray | None
    variances: FloatArray | None = None
    partner: int | None = None
    noisy_scores: FloatArray | None = None
    posterior_mean: FloatArray | None = None
    posterior_covariance: FloatArray | None = None
    posterior_variances: FloatArray | None = None
    sampling_variances: FloatArray | None = None
    count_noise: float = 0.0
    released: AdditiveTerm | None = None
    moved: FloatArray | None = None
    is_edited: bool = False

    def __post_init__(self) -> None:
        """Freeze the arrays and check their shapes against one another."""
        for name in ("feature", "partner"):
            if getattr(self, name) is not None:
                check_int(f"term {name}", getattr(self, name), low=0)
        shape = frozen(self.scores, None, "term scores").shape
        if len(shape) not in (1, 2):
            raise ValueError(f"term scores have shape {shape}; one or two axes are allowed.")
        freeze(self, "weights", shape[:1], "term weights", low=0, largest=LARGEST_COUNT)
        for name in ("scores", "noisy_scores", "posterior_mean"):
            freeze(self, name, shape, f"term {name}", largest=LARGEST_SCORE)
        for prefix in ("", "posterior_"):
            self._check_spread(f"{prefix}covariance", f"{prefix}variances", shape)
        largest = LARGEST_SCORE**2
        freeze(self, "sampling_variances", shape, "term sampling_variances", low=0, largest=largest)
        if self._posterior_deviations is not None and self.posterior_mean is None:
            raise ValueError("A term has a posterior spread without posterior_mean; give both.")
        self._check_released(shape)

    def _check_released(self, shape: tuple[int, ...]) -> None:
        """Freeze what the intercept gave, and check the term before its edits."""
        if (self.released is None) != (self.moved is None):
            raise ValueError("A term has only one of released and moved; give both.")
        if self.released is None:
            return
        if self.released.scores.shape != shape or self.released.released is not None:
            raise ValueError(f"Scores before an edit must have shape {shape}, and no edits.")
        freeze(self, "moved", shape[1:] or (1,), "term moved", largest=LARGEST_SCORE)

    def _check_spread(self, full: str, diagonal: str, shape: tuple[int, ...]) -> None:
        """Freeze a covariance or the variances that stand for it, and check them."""
        if getattr(self, full) is not None and getattr(self, diagonal) is not None:
            raise ValueError(f"A term has both {full} and {diagonal}; give one of them.")
        sides = (*shape[1:], shape[0], shape[0])
        freeze(self, full, sides, f"term {full}", largest=LARGEST_SCORE**2)
        freeze(self, diagonal, shape, f"term {diagonal}", low=0, largest=LARGEST_SCORE**2)

    @property
    def features(self) -> tuple[int, ...]:
        """Indices of its features: one, or two."""
        return (self.feature,) if self.partner is None else (self.feature, self.partner)

    @property
    def as_released(self) -> AdditiveTerm:
        """The term before its edits; itself if there are none, or they are not known."""
        return self if self.released is None else self.released

    @property
    def noise_deviations(self) -> FloatArray | None:
        """Standard deviation of the added noise, same shape as ``scores``; None if unknown.

        What scores are judged by: whether a term or a bump is more than noise.
        """
        return _deviations(self.covariance, self.variances)

    @property
    def too_few_rows(self) -> NDArray[np.bool_]:
        """Whether a bin has too few rows to be learned, shape (n_codes,).

        Its weight is so near to zero that noise alone could give it, and the fit left its score
        at zero: no noise is in it, and nothing is known of its effect. A score that was edited
        since is known.
        """
        if self.noise_deviations is None or self.count_noise == 0:
            return np.zeros(len(self.weights), dtype=np.bool_)
        # Pairs change the last digit of scores when they are purified.
        is_zero = np.abs(self.scores) <= _ROUNDING * np.abs(self.scores).max()
        is_left = is_zero & (self.noise_deviations == 0)
        is_light = self.weights <= FEWEST_ROWS * self.count_noise
        left: NDArray[np.bool_] = is_left.reshape(len(is_left), -1).all(axis=1) & is_light
        return left

    @property
    def standard_deviations(self) -> FloatArray | None:
        """Root of the expected squared distance to the curve without noise; None if unknown.

        Same shape as ``scores``. Of a term that was not denoised, that is the deviation of the
        noise. It is right on average over bins; :meth:`band` is for each bin by itself.

        A bin with too few rows has what a row of this term has on average: the root of the mean
        squared score and squared deviation over the rows of all other bins, and at least the
        largest deviation of these. NaN where no bin of the term was learned.
        """
        if self.noise_deviations is None:
            return None
        mean, deviations = self._expected
        distances: FloatArray = np.hypot(deviations, self.scores - mean)
        unknown = self.too_few_rows
        if unknown.any():
            distances[unknown] = self._spread(distances, ~unknown)
        return distances

    def _spread(self, distances: FloatArray, known: NDArray[np.bool_]) -> Any:
        """Return how far from zero a score of the known bins is expected, one a class."""
        if not (distances[known] > 0).any():
            return math.nan
        squares = self.scores[known] ** 2 + distances[known] ** 2
        mean_square = self.weights[known] @ squares / self.weights[known].sum()
        return np.maximum(np.sqrt(mean_square), distances[known].max(axis=0))

    def band(self, level: float = 0.95, *, sampling: bool = False) -> Band | None:
        """Return the ends of the band around each score; None where the noise is not known.

        Each bin by itself holds the curve without noise with this probability over the noise, also
        where the curve was smoothed, has a spike, or was edited by a linear map (then it is the
        edited curve without noise). It need not be symmetric; it reaches to the score, where noise
        was smoothed away from it. The band of a bin with too few rows is as wide as the scores of
        the term are spread (:attr:`standard_deviations`); NaN where no bin was learned.

        Parameters
        ----------
        level : float, default=0.95
            From 0.5, below 1.
        sampling : bool, default=False
            Whether sampling error is added, where it is known: the band then is for the mean of all
            people like these, and not only of these.

        Returns
        -------
        Band or None
            ``lower`` and ``upper``, each of the shape of ``scores``.

        Notes
        -----
        Pratt's intervals (``interpret_dp/released/terms.py``), with the posterior for what is
        expected: shorter than those of the noise, and as right.
        """
        level = check_real("level", level, low=0.5, high=1.0, high_open=True)
        noise = self.noise_deviations
        if noise is None:
            return None
        mean, deviations = self._expected
        quantile = NormalDist().inv_cdf((1.0 + level) / 2)
        lower, upper = assisted_interval(self._noisy, noise, mean, deviations**2, level)
        band = Band(np.minimum(lower, self.scores), np.maximum(upper, self.scores))
        unknown, spread = self.too_few_rows, self.standard_deviations
        if spread is not None and unknown.any():
            reach = quantile * spread[unknown]
            band.lower[unknown] = self.scores[unknown] - reach
            band.upper[unknown] = self.scores[unknown] + reach
        if sampling and self.sampling_variances is not None:
            added = quantile * self._sampling_deviations(self.sampling_variances)
            lower, upper = (np.hypot(end - self.scores, added) for end in band)
            band = Band(self.scores - lower, self.scores + upper)
        return band

    def _sampling_deviations(self, variances: FloatArray) -> FloatArray:
        """Return the deviations of sampling error, limited in bins whose count may be zero.

        There they are at most as large as the scores of the other bins are spread.
        """
        deviations: FloatArray = np.sqrt(variances)
        is_light = self.weights <= FEWEST_ROWS * self.count_noise
        if is_light.any() and not is_light.all():
            most = self._spread(deviations, ~is_light)
            deviations[is_light] = np.minimum(deviations[is_light], most)
        # Their band is that spread already.
        deviations[self.too_few_rows] = 0.0
        return deviations

    def of_class(self, column: int) -> AdditiveTerm:
        """Return the term with the scores of one of several classes alone."""
        if self.scores.ndim == 1:
            return self
        names = (
            *("scores", "noisy_scores", "posterior_mean"),
            *("variances", "posterior_variances", "sampling_variances"),
        )
        axes = dict.fromkeys(names, 1) | {"covariance": 0, "posterior_covariance": 0}
        given: dict[str, Any] = {name: getattr(self, name) for name in axes}
        own = {name: a.take(column, axes[name]) for name, a in given.items() if a is not None}
        if self.released is not None and self.moved is not None:
            own |= {"released": self.released.of_class(column), "moved": self.moved[[column]]}
        return replace(self, **own)

    def sample(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Draw curves that a fit without noise could have had, given the released one.

        Parameters
        ----------
        n_draws : int
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of float64, shape (n_draws, ...)
            Normal, around ``scores`` with :attr:`standard_deviations`; correlated where that is
            known. All are the scores where nothing is known of the noise.
        """
        shape, deviations = (n_draws, *self.scores.shape), self.standard_deviations
        if deviations is None:
            return np.broadcast_to(self.scores, shape).copy()
        draws: FloatArray = np.nan_to_num(deviations) * rng.standard_normal(shape)
        is_denoised = self._posterior_deviations is not None
        covariance = self.posterior_covariance if is_denoised else self.covariance
        if covariance is not None:
            n_codes, known = len(self.scores), ~self.too_few_rows
            columns = draws.reshape(n_draws, n_codes, -1)  # a view
            shifts = np.reshape(self._expected[0] - self.scores, (n_codes, -1))
            for column, spread in enumerate(covariance.reshape(-1, n_codes, n_codes)):
                values, vectors = np.linalg.eigh(spread)
                # Rounding may leave a variance just below zero.
                root = vectors * np.sqrt(np.maximum(values, 0.0))
                own = rng.standard_normal((n_draws, n_codes)) @ root.T
                own += rng.standard_normal((n_draws, 1)) * shifts[:, column]
                columns[:, known, column] = own[:, known]
        return self.scores + draws

    @property
    def _noisy(self) -> FloatArray:
        return self.scores if self.noisy_scores is None else self.noisy_scores

    @property
    def _expected(self) -> tuple[Any, Any]:
        """Mean and deviations of the curve without noise: the posterior's, or noisy and noise."""
        deviations = self._posterior_deviations
        if deviations is None:
            return self._noisy, self.noise_deviations
        return self.posterior_mean, deviations

    @property
    def _posterior_deviations(self) -> FloatArray | None:
        return _deviations(self.posterior_covariance, self.posterior_variances)

    @property
    def size(self) -> float:
        """Root mean square of the scores over the released rows (and the classes)."""
        return self._root_mean(self.scores**2)

    @property
    def noise_size(self) -> float | None:
        """The same of the noise that was added to the scores.

        None where it is not known, and of a term that was edited: an edit would change what it is
        compared with, and adds no evidence.
        """
        deviations = self.noise_deviations
        return None if deviations is None or self.is_edited else self._root_mean(deviations**2)

    def _root_mean(self, squares: FloatArray) -> float:
        total = float(self.weights.sum())
        weights = self.weights / total if total > 0 else self.weights
        return math.sqrt(float((weights @ squares).mean()))

    @property
    def signal_to_noise(self) -> float | None:
        """:attr:`size` over :attr:`noise_size`.

        For pure noise the expected square of this ratio is at most
        1, and a ratio of 2 or more has a probability of at most 4.6 %, however the noise is
        correlated across bins. None where the noise is not known, or none was added, and of a term
        that was edited.

        Notes
        -----
        A mean square of normal noise is a Gaussian quadratic form; of those with mean 1, the square
        of a single normal variable is most often above 4 (Szekely and Bakirov, 2003, "Extremal
        probabilities for Gaussian quadratic forms"). Denoising makes pure noise smaller still.
        """
        return self.size / self.noise_size if self.noise_size else None

    @property
    def may_be_noise(self) -> bool:
        """Whether the signal to noise is known, and below 2."""
        ratio = self.signal_to_noise
        return ratio is not None and ratio < LEAST_RATIO


def _deviations(covariance: FloatArray | None, variances: FloatArray | None) -> FloatArray | None:
    if covariance is not None:
        variances = np.diagonal(covariance, axis1=-2, axis2=-1).T
    if variances is None:
        return None
    deviations: FloatArray = np.sqrt(np.maximum(variances, 0.0))
    return deviations


def term_document(term: AdditiveTerm) -> dict[str, Any]:
    """Return a term as plain JSON values; :func:`read_term` reads it."""
    optional: dict[str, Any] = {
        "variances": _listed(term.variances),
        "noisy_scores": None if term.noisy_scores is None else _shortened(term.noisy_scores),
        "posterior_mean": _listed(term.posterior_mean),
        "posterior_covariance": _lower_triangle(term.posterior_covariance),
        "posterior_variances": _listed(term.posterior_variances),
        "sampling_variances": _listed(term.sampling_variances),
    }
    if term.released is not None and term.moved is not None:
        # Without what the term itself says.
        before = term_document(term.released).items()
        own = {key: value for key, value in before if key not in _SHARED}
        optional["released"] = {**own, "moved": term.moved.tolist()}
    return {
        "feature": term.feature,
        **({} if term.partner is None else {"partner": term.partner}),
        "scores": term.scores.tolist(),
        "weights": term.weights.tolist(),
        "covariance": _lower_triangle(term.covariance),
        # Left out where there are none, as in older files.
        **{key: value for key, value in optional.items() if value is not None},
    }


def read_term(entry: Mapping[str, Any]) -> AdditiveTerm:
    """Rebuild a term of a document."""
    shape = np.atleast_1d(frozen(entry["scores"], None, "term scores")).shape
    released, moved = None, None
    if "released" in entry:
        content = dict(entry["released"])
        known = {k: v for k, v in OPTIONAL_KEYS.items() if k not in (*_SHARED, "released")}
        keys = {"scores": "list", "covariance": "list or null", "moved": "list"}
        check_keys("released of the term", content, keys, optional=known)
        moved = content.pop("moved")
        released = read_term({**{key: entry[key] for key in _SHARED if key in entry}, **content})
    others = ("covariance", "posterior_covariance", "released")
    return AdditiveTerm(
        covariance=_full_square("covariance", entry, shape),
        posterior_covariance=_full_square("posterior_covariance", entry, shape),
        released=released,
        moved=moved,
        **{key: value for key, value in entry.items() if key not in others},
    )


def _listed(array: FloatArray | None) -> list[Any] | None:
    return None if array is None else array.tolist()


def _lower_triangle(square: FloatArray | None) -> list[Any] | None:
    """Flatten the lower triangle of a square, or of each of several."""
    if square is None:
        return None
    return _shortened(square[(..., *np.tril_indices(square.shape[-1]))])


def _shortened(numbers: FloatArray) -> list[Any]:
    """Return numbers with the digits that a noise estimate has, and many more."""
    return [
        float(f"{number:.7g}") if np.ndim(number) == 0 else _shortened(number) for number in numbers
    ]


def _full_square(name: str, entry: Mapping[str, Any], shape: tuple[int, ...]) -> FloatArray | None:
    """Return the symmetric square, or several, of a flattened lower triangle."""
    if entry.get(name) is None:
        return None
    size, *layers = shape
    values = frozen(entry[name], (*layers, size * (size + 1) // 2), f"term {name}")
    rows, columns = np.tril_indices(size)
    square = np.zeros((*layers, size, size))
    square[..., rows, columns] = values
    square[..., columns, rows] = values
    return square


def mean_prediction(
    intercept: float,
    scores: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    *,
    has_log_link: bool,
) -> float:
    """Return the mean prediction of a regression over its released bin weights.

    Parameters
    ----------
    intercept : float
    scores, weights : sequence of ndarray of float64, shape (n_codes,) each
        Of each term.
    has_log_link : bool
        Whether predictions are exponentials of scores; terms are taken as independent then.
    """
    shares = [w / w.sum() if w.any() else np.full(len(w), 1.0 / len(w)) for w in weights]
    if not has_log_link:
        return intercept + sum(float(p @ f) for p, f in zip(shares, scores, strict=True))
    logs = [np.log(p @ np.exp(f)) for p, f in zip(shares, scores, strict=True)]
    return float(np.exp(intercept + sum(logs)))
