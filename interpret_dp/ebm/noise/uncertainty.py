"""Covariance of the noise across the bins of each released curve, and significance of curves.

What is left out: noise that reaches a term through independent or correlated others, which
:mod:`interpret_dp.ebm.noise.boosted` adds, and the noise of the bin weights themselves. Tests
compare the result with repeated fits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.config import TUNING
from interpret_dp.ebm.noise.denoising import Denoised, NoisyCurve, denoise
from interpret_dp.ebm.noise.propagation import TermHistory, noise_variances, unit_covariance
from interpret_dp.ebm.trainer.binning import Bins

FloatArray = NDArray[np.float64]

# A term keeps at most so many covariances: 512 bins, or 295 with three classes. They go into the
# model file, and a matrix of all 65,536 bins would take 34 GB.
_MOST_COVARIANCES = 512**2
#: Of a bin with so many times the noise's variance nothing is known but the noise.
MOST_SAMPLING = 1e4


@dataclass(frozen=True)
class TermNoise:
    """Covariance of the added noise in one term, in units of score squared; public.

    Attributes
    ----------
    covariance : ndarray of float64, (n_codes, n_codes) or (n_classes, n_codes, n_codes), or None
        None where it would have more than 512**2 entries, and for a term that was kept
        monotone.
    variances : ndarray of float64, shape (n_codes,) or (n_codes, n_classes), or None
        Its diagonal, for a term without ``covariance``.
    response : ndarray of float64, shaped as ``covariance``, or None
        How boosting blurs the curve; not released.
    """

    covariance: FloatArray | None = None
    variances: FloatArray | None = None
    response: FloatArray | None = None

    def scaled(self, factor: float) -> TermNoise:
        """Return the noise of the term times a factor."""
        return replace(
            self,
            covariance=None if self.covariance is None else factor**2 * self.covariance,
            variances=None if self.variances is None else factor**2 * self.variances,
        )

    def with_means(
        self, pair: TermNoise, shares: FloatArray, axis: int, codes: NDArray[Any]
    ) -> TermNoise:
        """Add the noise of means over a pair's cells, which balance it, where there is noise.

        Parameters
        ----------
        pair : TermNoise
            Of the pair.
        shares : ndarray of float64, shape (n_first, n_second, n_scores)
            Weight of each cell in the mean of its bin.
        axis : {0, 1}
            Of the term's feature in the pair.
        codes : ndarray of int, shape (n_codes,)
            Bin in the pair of each bin of the term.
        """
        has_noise = (self.diagonal > 0).T
        places = np.indices(shares.shape[:2])[axis].ravel()
        is_own, squares = places == np.arange(shares.shape[axis])[:, np.newaxis], []
        for index, share in enumerate(shares.reshape(len(places), -1).T):
            means, spread = is_own * share, pair.of_score(index)[0]
            squares.append((means * spread if spread.ndim == 1 else means @ spread) @ means.T)
        if self.covariance is None:
            added = np.stack([np.diagonal(square)[codes] for square in squares])
            variances = (has_noise * added.reshape(has_noise.shape)).T
            return replace(self, variances=self.diagonal + variances)
        both = has_noise[..., np.newaxis] & has_noise[..., np.newaxis, :]
        added = np.stack([square[np.ix_(codes, codes)] for square in squares])
        return replace(self, covariance=self.covariance + both * added.reshape(both.shape))

    def of_score(self, index: int) -> tuple[FloatArray, FloatArray | None]:
        """Return covariance and response of one score; without them variances and None."""
        if self.covariance is None:
            return self.diagonal.reshape(len(self.diagonal), -1)[:, index], None
        if self.covariance.ndim == 2:
            return self.covariance, self.response
        return self.covariance[index], None if self.response is None else self.response[index]

    @property
    def diagonal(self) -> FloatArray:
        """Variance in each bin, shape (n_codes,) or (n_codes, n_classes)."""
        if self.covariance is not None:
            return np.asarray(np.diagonal(self.covariance, axis1=-2, axis2=-1).T)
        if self.variances is None:
            raise ValueError("The noise of a term is unknown; give covariance or variances.")
        return self.variances


@dataclass(frozen=True)
class Expected:
    """A denoised term before denoising, and its posterior without noise; public.

    Attributes
    ----------
    noisy_scores : ndarray of float64, shape (n_codes,) or (n_codes, n_classes)
        Before it was denoised.
    posterior_mean : ndarray of float64, same shape, or None
        Of the curve without noise; None where nothing is expected.
    posterior_covariance : ndarray of float64 or None
        Its posterior covariance, shape (n_codes, n_codes) or (n_classes, n_codes, n_codes).
    posterior_variances : ndarray of float64, shape of the scores, or None
        Its diagonal, where the noise is given so.
    sampling_variances : ndarray of float64, shape of the scores, or None
        Of the sampling error of each bin.
    """

    noisy_scores: FloatArray | None = None
    posterior_mean: FloatArray | None = None
    posterior_covariance: FloatArray | None = None
    posterior_variances: FloatArray | None = None
    sampling_variances: FloatArray | None = None

    def moved(self, change: FloatArray) -> Expected:
        """Return the same with something added to all scores."""
        noisy, mean = (
            None if scores is None else scores + change
            for scores in (self.noisy_scores, self.posterior_mean)
        )
        return replace(self, noisy_scores=noisy, posterior_mean=mean)


def _is_narrow(n_codes: int, n_scores: int) -> bool:
    return n_scores * n_codes**2 <= _MOST_COVARIANCES


def no_noise(n_codes: int) -> TermNoise:
    """Return the noise of a term with one score that nothing was added to."""
    if _is_narrow(n_codes, 1):
        return TermNoise(covariance=np.zeros((n_codes, n_codes)))
    return TermNoise(variances=np.zeros(n_codes))


def term_noise(
    histories: Sequence[TermHistory], *, noise: float, rng: np.random.Generator
) -> TermNoise:
    """Return the noise of a term, or of a pair, that is not kept monotone.

    Parameters
    ----------
    histories : sequence of TermHistory, shape (n_scores,)
    noise : float
        Standard deviation of the noise of one residual sum.
    rng : numpy.random.Generator
        For public choices.
    """
    is_single = len(histories) == 1
    if not _is_narrow(len(histories[0].weights), len(histories)):
        columns = [noise_variances(history, noise=noise, rng=rng) for history in histories]
        return TermNoise(variances=columns[0] if is_single else np.stack(columns, axis=1))
    both = [unit_covariance(history) for history in histories]
    square, response = (np.stack(found) for found in zip(*both, strict=True))
    square *= noise**2
    if is_single:
        square, response = square[0], response[0]
    return TermNoise(covariance=square, response=response)


@dataclass(frozen=True)
class Terms:
    """Released curves, and what is known of them; public.

    Attributes
    ----------
    scores : sequence of ndarray, shape (n_codes,) or (n_codes, n_classes) each
    noise : sequence of TermNoise
        Of these curves.
    bins : sequence of Bins
    is_ordered : sequence of bool
    sampling : sequence of ndarray of float64, shape (n_codes, n_scores) each
        Variance that sampling error has in each bin (:class:`NoisyCurve`), in units of score
        squared.
    pruned : collection of int
        Terms that are released as zero, whatever their curves are.
    """

    scores: Sequence[FloatArray]
    noise: Sequence[TermNoise]
    bins: Sequence[Bins]
    is_ordered: Sequence[bool]
    sampling: Sequence[FloatArray]
    pruned: Collection[int] = ()

    def denoised(self) -> dict[int, list[Denoised]]:
        """Return the posteriors of each class of each term that can be denoised.

        An ordered term without ``covariance`` cannot: neighbours share their noise, and how much is
        not kept.
        """
        owners: list[int] = []
        curves: list[NoisyCurve] = []
        for k, (score, spread, b) in enumerate(
            zip(self.scores, self.noise, self.bins, strict=True)
        ):
            if spread.covariance is None and self.is_ordered[k]:
                continue
            for index, column in enumerate(np.atleast_2d(score.T)):
                own, response = spread.of_score(index)
                variances = np.diagonal(own) if own.ndim == 2 else own
                largest = MOST_SAMPLING * float(variances.max(initial=0.0))
                sampling = np.minimum(self.sampling[k][:, index], largest)
                is_ordered, is_pruned = self.is_ordered[k], k in self.pruned
                curve = NoisyCurve(
                    column, own, b.weights, is_ordered, sampling, response, is_pruned
                )
                owners.append(k)
                curves.append(curve)
        found: dict[int, list[Denoised]] = {}
        for k, one in zip(owners, denoise(curves), strict=True):
            found.setdefault(k, []).append(one)
        return found


def denoised_scores(terms: Terms) -> list[FloatArray]:
    """Return the curves without what is likely noise, shaped as given."""
    scores = list(terms.scores)
    for k, own in terms.denoised().items():
        scores[k] = _joined([one.scores for one in own], scores[k].shape)
    return scores


def expected_terms(terms: Terms) -> list[Expected]:
    """Return the posterior of each term that can be denoised, and the sampling error of each.

    Bands are made from it. The noise stays what a curve is judged by: the posterior is small where
    a curve was smoothed, so that tests against it reject far too often.
    """
    expected = [Expected()] * len(terms.scores)
    for k, own in terms.denoised().items():
        expected[k] = _expected(own, terms.scores[k])
    return [
        replace(one, sampling_variances=sampling.reshape(scores.shape))
        for one, sampling, scores in zip(expected, terms.sampling, terms.scores, strict=True)
    ]


def _joined(columns: Sequence[FloatArray], shape: tuple[int, ...]) -> Any:
    """Return the curves of all classes as one array."""
    joined = np.stack(columns, axis=1)
    # What the classes have in common changes no probability.
    common = joined.mean(axis=1, keepdims=True) if len(columns) > 1 else 0.0
    return (joined - common).reshape(shape)


def _expected(parts: Sequence[Denoised], noisy: FloatArray) -> Expected:
    """Return the posterior of all classes of a term; None if that of one is not known."""
    moments = [part.moments for part in parts if part.moments is not None]
    if len(moments) < len(parts):
        return Expected(noisy)
    means, spreads = zip(*moments, strict=True)
    mean = _joined(means, noisy.shape)
    if spreads[0].ndim == 1:
        variances = np.stack(spreads, axis=1).reshape(noisy.shape)
        return Expected(noisy, mean, posterior_variances=variances)
    return Expected(noisy, mean, spreads[0] if noisy.ndim == 1 else np.stack(spreads))


# Significance of curves: a test of each against its noise, from released numbers alone.

# Bins of so small a share of the largest variance never move but for rounding.
_NEVER_MOVES = 1e-6


def significant_terms(
    scores: Sequence[FloatArray],
    noise: Sequence[TermNoise],
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
) -> set[int]:
    """Return the terms whose curves are larger than noise alone would make them.

    That is as a whole or in a single bin: a rare level may be all that matters in a term. A term
    whose noise is not known well enough is among them: one that is kept monotone, and an ordered
    one of so many bins that no covariance is kept. Where no other term is significant, all are.

    Parameters
    ----------
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        Centred on the weights, in the units of ``noise``.
    noise : sequence of TermNoise
    bins : sequence of Bins
    is_ordered : sequence of bool
    """
    significant, unknown, most = set(), set(), TUNING.significance
    for k, (curves, spread, b) in enumerate(zip(scores, noise, bins, strict=True)):
        if spread.covariance is None and is_ordered[k]:
            unknown.add(k)
            continue
        # A term without effect passes the first test in a sixth of the cases, and then has the
        # rounds that it would have had anyway; of 66 bins without effect one passes the second in
        # 0.7 %.
        for index, curve in enumerate(curves.T):
            own = spread.of_score(index)[0]
            if excess(curve, own, b.weights) > most or peak_excess(curve, own) > most:
                significant.add(k)
    return significant | unknown if significant else set(range(len(bins)))


def peak_excess(curve: FloatArray, noise: FloatArray) -> float:
    """Return the excess of the largest deviation over the largest of as many normal draws.

    Parameters
    ----------
    curve : ndarray of float64, shape (n_codes,)
    noise : ndarray of float64, shape (n_codes, n_codes) or (n_codes,)

    Returns
    -------
    float
        In standard deviations of that bin; negative infinity without a bin that has noise.
    """
    variances = np.diagonal(noise) if noise.ndim == 2 else noise
    noisy = variances > _NEVER_MOVES * variances.max(initial=0.0)
    if not noisy.any():
        return -np.inf
    deviations = np.abs(curve[noisy]) / np.sqrt(variances[noisy])
    return float(deviations.max() - np.sqrt(2 * np.log(np.count_nonzero(noisy))))


def excess(curve: FloatArray, noise: FloatArray, weights: FloatArray) -> float:
    """Return by how many standard deviations a curve's size is above what noise alone gives.

    The size is the mean square over the rows; of normal noise of covariance C its mean is tr(WC)
    and its variance 2 tr(WCWC), W being the weights.

    Parameters
    ----------
    curve : ndarray of float64, shape (n_codes,)
    noise : ndarray of float64, shape (n_codes, n_codes) or (n_codes,)
        Covariance, or variances of independent noise.
    weights : ndarray of float64, shape (n_codes,)

    Returns
    -------
    float
        Infinite for a curve without noise that is not zero, and where noise is not finite.
    """
    # Targets may be as large as 1e100.
    with np.errstate(over="ignore", invalid="ignore"):
        if noise.ndim == 1:
            mean, square = weights @ noise, float(np.sum((weights * noise) ** 2))
        else:
            weighted = weights[:, np.newaxis] * noise
            mean, square = np.trace(weighted), float(np.sum(weighted * weighted.T))
        above = float(weights @ curve**2 - mean)
    if not (np.isfinite(above) and np.isfinite(square)):
        return np.inf
    if square > 0:
        return above / float(np.sqrt(2 * square))
    return np.inf if above > 0 else -np.inf
