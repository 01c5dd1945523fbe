"""From boosting's noisy curves to denoised ones: intercept, variances, covariance of noise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.losses import RegressionLoss
from interpret_dp.ebm.noise.propagation import TermHistory, projected_variances
from interpret_dp.ebm.noise.uncertainty import (
    MOST_SAMPLING,
    Expected,
    TermNoise,
    Terms,
    denoised_scores,
    expected_terms,
    term_noise,
)
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import Correlations
from interpret_dp.ebm.trainer.curves import Averaged, BoostingResult, BoostingTask

# The intercept that released curves need: as high a mean prediction as the noisy curves had.
#
# Rows were scored with noisy curves while the intercept was trained. The logistic function bends,
# so noise in the scores moves the mean probability towards one half: an intercept for noisy scores
# is too low for those of a rare class once noise has left the curves. Terms are taken as
# independent, before and after, so that most of what is wrong with that cancels. Two classes have
# one sum of terms, whose distribution is tabulated; several have as many, and are averaged over
# made-up rows.

FloatArray = NDArray[np.float64]

# Distance of the points at which a sum of terms is tabulated, and how many there are at most.
_STEP = 1.0 / 64.0
_MOST_POINTS = 2**16
# By how much an intercept may be moved, and the steps of a bisection that finds it to 1e-9.
_LARGEST_SHIFT = 16.0
_HALVINGS = 34
# Rows that several classes are averaged over, and the steps in which their intercepts are found,
# to so much. Steps are slow where every row is certain.
_ROWS = 2**14
_MOST_STEPS = 300
_TOLERANCE = 1e-6


def balanced_intercept(
    before: Sequence[FloatArray],
    intercept: float,
    after: Sequence[FloatArray],
    weights: Sequence[FloatArray],
) -> float:
    """Return the intercept at which curves have the mean probability that others had at theirs.

    Parameters
    ----------
    before, after : sequence of ndarray of float64, shape (n_codes,) each
        Curves of two classes, in units of score.
    intercept : float
        Of ``before``.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.
    """
    target = mean_probability(intercept, *_sums(before, weights))
    sums = _sums(after, weights)
    low, high = intercept - _LARGEST_SHIFT, intercept + _LARGEST_SHIFT
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if mean_probability(middle, *sums) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def balanced_intercepts(
    before: Sequence[FloatArray],
    intercepts: FloatArray,
    after: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the intercepts at which several classes have the mean probabilities of other curves.

    Parameters
    ----------
    before, after : sequence of ndarray of float64, shape (n_codes, n_classes) each
        Curves, in units of score.
    intercepts : ndarray of float64, shape (n_classes,)
        Of ``before``.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.
    rng : numpy.random.Generator
        For public choices.

    Notes
    -----
    Means are over made-up rows, the same before and after. Each term has as many of them in a bin
    as its weight says, and terms meet by chance.
    """
    noisy, denoised = np.tile(intercepts, (_ROWS, 1)), np.zeros((_ROWS, len(intercepts)))
    for old, new, w in zip(before, after, weights, strict=True):
        if w.any():
            borders = np.cumsum(w) / w.sum()
            codes = np.searchsorted(borders, (rng.permutation(_ROWS) + 0.5) / _ROWS)
            codes = np.minimum(codes, len(w) - 1)
            noisy += old[codes]
            denoised += new[codes]
    target = _log_means(noisy)
    balanced = intercepts.copy()
    for _ in range(_MOST_STEPS):
        change = target - _log_means(balanced + denoised)
        balanced += change
        if np.abs(change).max() < _TOLERANCE:
            break
    return np.asarray(balanced - balanced.mean())


def _log_means(scores: FloatArray) -> FloatArray:
    """Return the logarithm of each class's mean probability over the rows."""
    from scipy.special import log_softmax, logsumexp

    return np.asarray(logsumexp(log_softmax(scores, axis=1), axis=0) - np.log(len(scores)))


def mean_probability(intercept: float, sums: FloatArray, shares: FloatArray) -> float:
    """Return the mean of the logistic function over scores ``intercept + sums``.

    Parameters
    ----------
    intercept : float
    sums, shares : ndarray of float64, shape (n_points,)
        Sums of the terms, and how common they are.
    """
    from scipy.special import expit

    return float(shares @ expit(intercept + sums))


def _sums(
    scores: Sequence[FloatArray], weights: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the distribution of the sum of independent terms: places and probabilities."""
    parts = [
        (score[w > 0], w[w > 0] / w.sum())
        for score, w in zip(scores, weights, strict=True)
        if w.any() and score.any()
    ]
    low = float(sum(score.min() for score, _ in parts))
    width = float(sum(np.ptp(score) for score, _ in parts))
    # Each term may take one point more than its width.
    step = max(_STEP, width / max(_MOST_POINTS - len(parts) - 1, 1))
    n_points = 2 ** int(np.ceil(np.log2(width / step + len(parts) + 1)))
    product = np.ones(n_points // 2 + 1, dtype=np.complex128)
    for score, share in parts:
        product *= np.fft.rfft(_tabulated((score - score.min()) / step, share, n_points))
    shares = np.maximum(np.fft.irfft(product, n_points), 0.0)
    return low + step * np.arange(n_points), shares


def _tabulated(places: FloatArray, shares: FloatArray, n_points: int) -> FloatArray:
    """Return the probability of each grid point; one between two points is split linearly."""
    below = np.floor(places).astype(np.int64)
    beyond = places - below
    table = np.zeros(n_points)
    np.add.at(table, below, shares * (1.0 - beyond))
    # What is exactly at the last place has no share in the next.
    np.add.at(table, np.minimum(below + 1, n_points - 1), shares * beyond)
    return table


# Variance beyond a term's own noise: sampling error, and the noise of other terms.
#
# Sampling. A fit without noise would still follow its rows: the score at which a bin's residuals
# vanish differs from a smooth curve, by sampling error. Generalised linear models say by how much
# (McCullagh and Nelder, 1989, "Generalized Linear Models", section 2.5): with a residual variance
# of dispersion times curvature per row, its variance is the dispersion over the bin's rows times
# their curvature. The noise that was added to other terms is in the scores of these rows, too.
#
# Correlated terms. Rows are scored with all curves, so a curve is trained on what the others leave.
# Let N_k be the deviation of the curve of term k that its own noise would make, R_k its response
# (:mod:`interpret_dp.ebm.noise.propagation`), and P_kl the table that maps a curve of term l to its
# mean in each bin of term k. Once boosting has settled, the deviations E meet
#
#     E_k = N_k - R_k sum over l of P_kl E_l,
#
# so that ``E = inverse(I + R P) N``: as in least squares, correlation inflates the variance of each
# curve (Belsley, Kuh and Welsch, 1980, "Regression Diagnostics", chapter 3), and noise in one is
# compensated by the other.
#
# P is what :mod:`interpret_dp.ebm.trainer.correlations` knows of it: with F the orthonormal
# functions of each term's bins, W its shares of the rows and G the correlations, ``P = F G F' W``.
# The inverse is that of a matrix of the functions then (Woodbury), not of all bins.
#
# Boosting ends before it has settled: noise in a combination of columns that hardly varies grows
# for as long as there are rounds. After t full steps least squares by small steps is much as ridge
# regression with a penalty of 1 / t (Ali, Kolter and Tibshirani, 2019, "A Continuous-Time View of
# Early Stopping for Least Squares Regression", section 4), which is added to the variance of each
# function.

# Where noise grows from round to round, its variance may be beyond any number.
_MAX_VARIANCE = 1e200


def sampling_variances(
    weights: FloatArray, curvatures: FloatArray, dispersion: float
) -> FloatArray:
    """Return the variance of each bin's score that sampling error explains.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    curvatures : ndarray of float64, shape (n_codes, n_scores)
        Expected second derivative of the loss per row.
    dispersion : float
        Variance of a row's residual over its curvature; 1 for the log loss.

    Returns
    -------
    ndarray of float64, shape (n_codes, n_scores)
        In units of score squared.
    """
    n_scores = curvatures.shape[1]
    # Taking away what the classes have in common takes away that part of it.
    shared = 1.0 if n_scores == 1 else 1.0 - 1.0 / n_scores
    # A count may be smaller than its noise: a bin that moves is assumed to have a row.
    rows = np.maximum(weights, 1.0)[:, np.newaxis]
    return np.asarray(shared * dispersion / np.maximum(rows * curvatures, 1e-12))


def with_noise_of_others(
    noise: Sequence[TermNoise], bins: Sequence[Bins], pruned: Collection[int] = ()
) -> list[TermNoise]:
    """Add to the noise of each term what reaches it from the noise of independent others.

    Parameters
    ----------
    noise : sequence of TermNoise
        That of each term by itself.
    bins : sequence of Bins
    pruned : collection of int
        Terms of which nothing is in the scores of the rows.

    Notes
    -----
    The noise of a term has mean zero over all rows. Over the n rows that share a bin of another,
    independent term its mean has the variance of the noise over n, and that term follows it as it
    follows residuals. Where terms are correlated it is more (:func:`with_coupling`).
    """
    means = [
        (k not in pruned) * np.minimum(_mean_over_rows(one, b), _MAX_VARIANCE)
        for k, (one, b) in enumerate(zip(noise, bins, strict=True))
    ]
    total = np.sum(means, axis=0)
    return [
        _with_variances(one, (total - own) / np.maximum(b.weights, 1.0)[:, np.newaxis])
        for one, own, b in zip(noise, means, bins, strict=True)
    ]


def _mean_over_rows(noise: TermNoise, bins: Bins) -> FloatArray:
    """Return the mean variance of a term's noise over the rows, shape (n_scores,)."""
    variances = noise.diagonal.reshape(bins.n_codes, -1)
    return np.asarray(bins.weights @ variances / max(float(bins.weights.sum()), 1e-300))


def _with_variances(noise: TermNoise, added: FloatArray) -> TermNoise:
    """Add variances of what the bins' residuals vanish at, shape (n_codes, n_scores)."""
    variances = noise.diagonal
    largest = MOST_SAMPLING * variances.max(initial=0.0)
    if not 0 < largest < _MAX_VARIANCE:
        return noise
    added = np.minimum(added, largest)
    if noise.covariance is None or noise.response is None:
        of_others = np.where(variances > 0, added.reshape(variances.shape), 0.0)
        return replace(noise, variances=variances + of_others)
    columns = added.T if noise.covariance.ndim == 3 else added[:, 0]
    through = noise.response * columns[..., np.newaxis, :]
    return replace(noise, covariance=noise.covariance + through @ noise.response.swapaxes(-1, -2))


# Where noise grows from round to round, nothing settles.
_LARGEST_VARIANCE = 1e100


def with_coupling(
    noise: Sequence[TermNoise],
    bins: Sequence[Bins],
    correlations: Correlations,
    *,
    full_steps: float,
) -> list[TermNoise]:
    """Return the noise of each term once the correlated terms have met.

    Parameters
    ----------
    noise : sequence of TermNoise
        That of each term by itself.
    bins : sequence of Bins
    correlations : Correlations
        Of the terms that rows are scored with.
    full_steps : float
        How many full steps a term has made: rounds times the share of a full step in each.
    """
    coupled = list(noise)
    if not all((np.abs(noise[k].diagonal) < _LARGEST_VARIANCE).all() for k in correlations.terms):
        return coupled
    shares = [bins[k].weights / bins[k].weights.sum() for k in correlations.terms]
    n_scores = noise[correlations.terms[0]].diagonal.reshape(len(shares[0]), -1).shape[1]
    ridge = 1.0 / max(full_steps, 1.0)
    parts = []
    for score in range(n_scores):
        own = [noise[k].of_score(score) for k in correlations.terms]
        parts.append(_coupled(own, shares, correlations, ridge))
    for place, k in enumerate(correlations.terms):
        coupled[k] = _joined(noise[k], [part[place] for part in parts])
    return coupled


def _coupled(
    own: Sequence[tuple[FloatArray, FloatArray | None]],
    shares: Sequence[FloatArray],
    correlations: Correlations,
    ridge: float,
) -> list[FloatArray]:
    """Return the covariances, or variances, of one score of each term.

    Notes
    -----
    With U the responses times F, and V = W F, ``inverse(I + U G V') = I - U X V'`` where ``X =
    inverse(I + G V' U) G``; the covariance of term k is that block of ``(I - U X V') C (I - V X'
    U')``, with C the terms' own.
    """
    functions, matrix = correlations.functions, correlations.matrix / (1.0 + ridge)
    ends = np.cumsum([table.shape[1] for table in functions])
    blocks = [slice(end - table.shape[1], end) for end, table in zip(ends, functions, strict=True)]
    responses, variances = np.zeros_like(matrix), np.zeros_like(matrix)
    left, right, products = [], [], []
    for block, table, share, (spread, response) in zip(blocks, functions, shares, own, strict=True):
        left.append(table if response is None else response @ table)
        right.append(share[:, np.newaxis] * table)
        products.append(
            spread[:, np.newaxis] * right[-1] if spread.ndim == 1 else spread @ right[-1]
        )
        responses[block, block] = right[-1].T @ left[-1]
        variances[block, block] = right[-1].T @ products[-1]
    answer = np.linalg.solve(np.eye(len(matrix)) + matrix @ responses, matrix)
    compensated = answer @ variances @ answer.T
    coupled = []
    for block, (spread, _), u, c in zip(blocks, own, left, products, strict=True):
        # Of the matrix between functions of the term alone.
        shared = u @ answer[block, block]
        if spread.ndim == 1:
            square = np.einsum("bi,ij,bj->b", u, compensated[block, block], u)
            variance = spread - 2.0 * (shared * c).sum(axis=1) + square
            # A bin that no update moves has no noise, of whatever others.
            coupled.append(np.where(spread > 0, np.maximum(variance, 0.0), 0.0))
        else:
            cross = shared @ c.T
            coupled.append(spread - cross - cross.T + u @ compensated[block, block] @ u.T)
    return coupled


def _joined(noise: TermNoise, spreads: Sequence[FloatArray]) -> TermNoise:
    """Return a term's noise with other covariances, or variances, of its scores."""
    if noise.covariance is None or noise.response is None:
        return replace(noise, variances=np.stack(spreads, axis=1).reshape(noise.diagonal.shape))
    if noise.covariance.ndim == 2:
        return replace(noise, covariance=spreads[0])
    return replace(noise, covariance=np.stack(spreads))


# Curves are denoised as if there were this noise level at least. How boosting blurs a curve is
# known to first order only: taken as exact, it would be wrong by more than the noise.
_LEAST_LEVEL = 2e-5


class Boosted:
    """Curves as boosting released them; nothing here sees a row.

    Parameters
    ----------
    result : BoostingResult
    task : BoostingTask
    rng : numpy.random.Generator
        For public choices.
    """

    def __init__(
        self, result: BoostingResult, task: BoostingTask, rng: np.random.Generator
    ) -> None:
        self._result, self._task, self._start, self._rng = result, task, task.start, rng
        # What rows are scored with.
        self._active_curves = [
            np.zeros_like(curve) if k in result.pruned else curve
            for k, curve in enumerate(result.trained)
        ]

    def added_noise(self) -> list[TermNoise]:
        """Return the noise that was added to each curve, without that of any other."""
        return self._noise_of(self._result)

    def _noise_of(self, result: BoostingResult, mean_slope: float = 1.0) -> list[TermNoise]:
        """Return the noise of some updates.

        ``mean_slope`` is that of a regression's residuals by the score: clipped ones have none.
        """
        n_scores, scale = len(result.intercept), self._start.loss.score_unit
        # Taking away what the classes have in common takes away that part of the noise.
        noise = scale * result.noise * (1.0 if n_scores == 1 else (1.0 - 1.0 / n_scores) ** 0.5)
        noises = []
        for k, curvature in enumerate(self._curvatures(mean_slope)):
            histories = TermHistory.of_scores(
                result.updates[k], self._task.bins[k].weights, curvature, result.averaged[k]
            )
            if direction := self._task.directions[k]:
                # What a projection leaves of noise is no linear map.
                curve = scale * result.scores[k][:, 0]
                variances = projected_variances(
                    histories[0], curve, direction, noise=noise, rng=self._rng
                )
                noises.append(TermNoise(variances=variances))
            else:
                noises.append(term_noise(histories, noise=noise, rng=self._rng))
        return noises

    def denoised(
        self, correlations: Correlations | None
    ) -> tuple[list[FloatArray], list[TermNoise], list[Expected]]:
        """Return the denoised curves, the noise, and what is expected of each curve.

        Parameters
        ----------
        correlations : Correlations or None
            How terms are correlated, if that was released.

        Notes
        -----
        Predictions are sums of curves. Noise that correlated terms pass to each other cancels in
        the sum, so it is no reason to shrink a curve: scores are denoised as if terms were
        independent and every residual followed its row's score. Each curve contains that noise all
        the same, so its posterior uses the noise with all that is known.
        """
        bins, pruned = self._task.bins, self._result.pruned
        scores = without_axis(self._result.scores, self._start.loss.score_unit)
        independent = with_noise_of_others(self.added_noise(), bins, pruned)
        mean_slope, dispersion = self._estimates(correlations, scores, independent)
        sampling = [
            self._start.loss.score_unit**2 * sampling_variances(b.weights, curvature, dispersion)
            for b, curvature in zip(bins, self._curvatures(mean_slope), strict=True)
        ]
        if not self._task.config.can_denoise(self._start.n_rows, self._start.scale):
            errors = zip(sampling, scores, strict=True)
            expected = [Expected(sampling_variances=s.reshape(c.shape)) for s, c in errors]
            return scores, self._noise_of_all(correlations), expected
        noise = self._noise_of_all(correlations, mean_slope)
        times = max(1.0, _LEAST_LEVEL / self._task.settings().noise_level)
        own, total = ([one.scaled(times) for one in each] for each in (independent, noise))
        terms = Terms(scores, own, bins, self._task.is_ordered, sampling, pruned)
        return denoised_scores(terms), noise, expected_terms(replace(terms, noise=total))

    def balanced_intercept(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return the intercept at which other curves predict as much of each class on average."""
        before, intercept = without_axis(self._active_curves, 1.0), self._result.intercept
        weights = [b.weights for b in self._task.bins]
        if len(intercept) > 1:
            return balanced_intercepts(before, intercept, scores, weights, self._rng)
        return np.array([balanced_intercept(before, float(intercept[0]), scores, weights)])

    def _estimates(
        self,
        correlations: Correlations | None,
        scores: Sequence[FloatArray],
        independent: Sequence[TermNoise],
    ) -> tuple[float, float]:
        """Return the mean slope, and the dispersion: variance of a residual over its curvature."""
        loss = self._start.loss
        if not isinstance(loss, RegressionLoss):
            return 1.0, 1.0
        # Variance of the predictions over the rows, less what noise has in it.
        explained = 0.0
        for score, spread, b in zip(*self._used(scores, independent), strict=True):
            part = b.weights @ (score**2 - spread.diagonal) / max(float(b.weights.sum()), 1e-300)
            explained += max(float(np.sum(part)), 0.0)
        if correlations is not None:
            weights = [b.weights for b in self._task.bins]
            shared = correlations.shared_variance(self._active_curves, weights)
            explained += loss.score_unit**2 * shared
        explained = max(explained, 0.0) / loss.score_unit**2
        # Noise in the scores makes residuals larger, as what is explained makes them smaller.
        _, noise, bins = self._used(scores, self._noise_while_training())
        added = [_mean_over_rows(*both) for both in zip(noise, bins, strict=True)]
        net = explained - float(np.sum(added)) / loss.score_unit**2
        return loss.mean_slope(net), loss.dispersion(float(self._start.level[0]), explained)

    def _noise_while_training(self) -> list[TermNoise]:
        """Return the noise of curves in the middle of the rounds that are averaged.

        Rows are scored with curves of single rounds, which have more noise than their average, or
        less than an extrapolated average.
        """
        averaged = self._result.averaged
        updates = [
            done[: len(done) - average.rounds // 2]
            for done, average in zip(self._result.updates, averaged, strict=True)
        ]
        middle = replace(self._result, updates=updates, averaged=(Averaged(1),) * len(averaged))
        return with_noise_of_others(self._noise_of(middle), self._task.bins, self._result.pruned)

    def _used(
        self, scores: Sequence[FloatArray], noise: Sequence[TermNoise]
    ) -> tuple[list[FloatArray], list[TermNoise], list[Bins]]:
        """Return curves, noise and bins of the terms that rows are scored with."""
        kept = [k for k in range(len(scores)) if k not in self._result.pruned]
        bins = self._task.bins
        return [scores[k] for k in kept], [noise[k] for k in kept], [bins[k] for k in kept]

    def _noise_of_all(
        self, correlations: Correlations | None, mean_slope: float = 1.0
    ) -> list[TermNoise]:
        """Return the noise in each curve, that from all others included."""
        noise, bins = self._noise_of(self._result, mean_slope), self._task.bins
        if correlations is not None:
            full_steps = mean_slope * self._result.total_step / self._start.scale.step
            noise = with_coupling(noise, bins, correlations, full_steps=full_steps)
        return with_noise_of_others(noise, bins, self._result.pruned)

    def _curvatures(self, mean_slope: float) -> list[FloatArray]:
        """Return the expected second derivative of the loss in each bin, from released numbers."""
        return self._start.loss.curvatures(
            self._active_curves,
            self._result.intercept,
            [b.weights for b in self._task.bins],
            self._start.scale.curvature * mean_slope,
        )


def without_axis(scores: Sequence[FloatArray], unit: float) -> list[FloatArray]:
    """Return curves in other units; of one score a row, without an axis for it."""
    return [unit * (curve[..., 0] if curve.shape[-1] == 1 else curve) for curve in scores]
