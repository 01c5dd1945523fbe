"""How features hang together, released once: second moments of a few functions of their bins.

Noise in the curve of one feature moves the residuals of every feature that hangs together with it,
and so its curve, too. What is needed to know how much is released after boosting, when it is known
which terms go on: every feature puts its rows in a few groups of released weight, the vertices of a
simplex around zero, and the sum over the rows of the products of two features' vertices is what
they have in common.

Ordered features have two groups, below and above their median. If their normal scores are normal
together (a Gaussian copula), the correlation of the halves gives that of the scores: ``sin(pi / 2
r)`` (Sheppard 1899; Cramer 1946, "Mathematical Methods of Statistics", section 21.12), and that of
their Hermite polynomials of order m is its m-th power (Mehler's formula).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import PRODUCT_UNIT, AdditiveRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.release import ReleaseDoor

__all__ = ["Correlations", "group_functions", "orthonormal_scores", "release_correlations"]

FloatArray = NDArray[np.float64]

# Of so many terms at most: their moments are as many as half the square of it.
_MOST_TERMS = 256
# Levels of a nominal feature with a group of their own, and the share of the rows that they need.
_MOST_GROUPS = 7
_LEAST_SHARE = 0.03
_ORDERS = 3  # of polynomials of normal scores
# A combination of functions that hardly varies makes noise larger, as far as boosting goes on for
# long enough (the ridge of ebm.noise.coupling). Noise may have made its variance negative: none has
# less than this, in units of one of them.
_LEAST_VARIANCE = 0.01


@dataclass(frozen=True)
class Correlations:
    """Released correlations between functions of different features.

    Attributes
    ----------
    terms : list of int
        Terms that are known of.
    functions : list of ndarray of float64, shape (n_codes, n_functions) each
        Functions of each term's bins, orthonormal over its rows, with mean zero.
    matrix : ndarray of float64, shape (n_all_functions, n_all_functions)
        Their correlations; zero for functions of one term.
    """

    terms: list[int]
    functions: list[FloatArray]
    matrix: FloatArray

    def seen_from(
        self, scores: Sequence[FloatArray], weights: Sequence[FloatArray]
    ) -> tuple[list[FloatArray], FloatArray]:
        """Return what rows get from all other terms: its mean in each bin, and variance within.

        Parameters
        ----------
        scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
            Curves of all terms of the model.
        weights : sequence of ndarray of float64, shape (n_codes,) each
            Released bin weights.

        Returns
        -------
        means : list of ndarray of float64, shape (n_codes, n_scores) each
        variances : ndarray of float64, shape (n_terms, n_scores)
        """
        own = np.array([_shares(w) @ f**2 for w, f in zip(weights, scores, strict=True)])
        means, variances = [np.zeros_like(f) for f in scores], own.sum(axis=0) - own
        shared = np.zeros_like(own)
        for k, table, part, heard in self._heard(scores, weights):
            means[k] = table @ heard
            shared[k] = (part * heard).sum(axis=0)
            variances[k] -= (heard**2).sum(axis=0)
        # Of the others among themselves: all pairs but those of the term itself.
        variances += shared.sum(axis=0) - 2.0 * shared
        return means, np.maximum(variances, 0.0)

    def shared_variance(self, scores: Sequence[FloatArray], weights: Sequence[FloatArray]) -> float:
        """Return by how much the variance of the terms' sum exceeds the sum of their variances.

        Parameters
        ----------
        scores, weights
            As for :meth:`seen_from`; of several scores a row, their sum is returned.
        """
        return float(sum((part * heard).sum() for *_, part, heard in self._heard(scores, weights)))

    def _heard(
        self, scores: Sequence[FloatArray], weights: Sequence[FloatArray]
    ) -> Iterator[tuple[int, FloatArray, FloatArray, FloatArray]]:
        """Yield each term, its functions, how much of each it has, and all others seen from it."""
        parts = [
            table.T @ (_shares(weights[k])[:, np.newaxis] * scores[k])
            for k, table in zip(self.terms, self.functions, strict=True)
        ]
        heard = np.split(
            self.matrix @ np.concatenate(parts), np.cumsum([len(part) for part in parts])[:-1]
        )
        yield from zip(self.terms, self.functions, parts, heard, strict=True)


def _shares(weights: FloatArray) -> FloatArray:
    found: FloatArray = weights / max(float(weights.sum()), 1e-300)
    return found


def release_correlations(
    rows: AdditiveRows,
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
    terms: Sequence[int],
    n_rows: float,
    config: TrainerConfig,
    door: ReleaseDoor,
) -> Correlations | None:
    """Release how terms hang together.

    Parameters
    ----------
    rows : AdditiveRows
        Private; in the codes of ``bins``.
    bins : sequence of Bins, one per term of the model
    is_ordered : sequence of bool, one per term of the model
    terms : sequence of int
        Which of them are asked about, the most important ones first.
    n_rows : float
        Released number of rows.
    config : TrainerConfig
    door : ReleaseDoor
        The sums pass through it.

    Returns
    -------
    Correlations or None
        None, and nothing is released, if fewer than two terms have rows in two groups, or noise
        would hide all that columns can have in common.
    """
    groups = {k: group_functions(bins[k].weights, is_ordered[k]) for k in terms}
    known = sorted([k for k in terms if groups[k].any()][:_MOST_TERMS])
    if len(known) < 2:
        return None
    chosen = [groups[k] for k in known]
    # Of a row, sums of two features' vertices are as large as both are together.
    sizes = [int((table**2).sum(axis=1).max()) for table in chosen]
    square = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    row_norm = math.isqrt(square * (LATTICE // PRODUCT_UNIT**2) ** 2) + 1
    sensitivity = door.neighbourhood.sensitivity(row_norm, aligned=False)
    if not config.can_correlate(n_rows, sensitivity / LATTICE):
        return None
    exact = rows.product_sums(known, chosen)
    owner = np.repeat(np.arange(len(known)), [table.shape[1] for table in chosen])
    upper = owner[:, np.newaxis] < owner
    noisy, sigma = door.gaussian(
        "correlations", exact[upper][np.newaxis], row_norm=row_norm, aligned=False
    )
    moments = np.zeros(exact.shape)
    moments[upper] = noisy[0] / (n_rows * LATTICE)
    shares = [bins[k].weights / bins[k].weights.sum() for k in known]
    means = np.concatenate([w @ f for w, f in zip(shares, chosen, strict=True)]) / PRODUCT_UNIT
    covariances = np.where(upper, moments - np.outer(means, means), 0.0)
    functions = [
        orthonormal_scores(share, table, is_ordered[k])
        for k, share, table in zip(known, shares, chosen, strict=True)
    ]
    matrix = _correlations(
        covariances + covariances.T,
        sigma / (n_rows * LATTICE),
        [table / PRODUCT_UNIT for table in chosen],
        functions,
        shares,
        [is_ordered[k] for k in known],
    )
    return Correlations(known, functions, matrix)


def group_functions(weights: FloatArray, is_ordered: bool) -> NDArray[np.int64]:
    """Return the vertex of each code's group: vectors of size ``PRODUCT_UNIT`` at most.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights; missing first, unseen last.
    is_ordered : bool

    Returns
    -------
    ndarray of int64, shape (n_codes, n_groups - 1)
        All zero if there are no two groups. A missing or unseen value of an ordered feature is in
        neither half.
    """
    group = _halves(weights) if is_ordered else _levels(weights)
    n_groups = max(int(group.max()) + 1, 2)
    vertices = np.trunc(PRODUCT_UNIT * _simplex(n_groups)).astype(np.int64)
    found = np.zeros((len(weights), n_groups - 1), dtype=np.int64)
    if group.max() > 0:
        found[group >= 0] = vertices[group[group >= 0]]
    return found


def _halves(weights: FloatArray) -> NDArray[np.int64]:
    """Return 0 for the bins below the median, 1 above it, -1 for values in no bin."""
    group = np.full(len(weights), -1)
    below = np.cumsum(weights[1:-1])
    if len(below) < 2 or below[-1] <= 0:
        return group
    cut = int(np.abs(below[:-1] / below[-1] - 0.5).argmin()) + 1
    if not 0 < below[cut - 1] < below[-1]:
        return group
    group[1 : 1 + cut], group[1 + cut : -1] = 0, 1
    return group


def _levels(weights: FloatArray) -> NDArray[np.int64]:
    """Return a group of its own for each of the most common levels, and one for the rest.

    Where nothing is left, it has no group.
    """
    common = np.argsort(-weights, kind="stable")[: _MOST_GROUPS - 1]
    common = common[weights[common] >= _LEAST_SHARE * max(float(weights.sum()), 1e-300)]
    has_rest = weights.sum() > weights[common].sum()
    group = np.full(len(weights), len(common) if has_rest else -1)
    group[common] = np.arange(len(common))
    return group


def _simplex(n_vertices: int) -> FloatArray:
    """Return points of size 1, each as far from all others; shape (n_vertices, n_vertices - 1)."""
    from scipy.linalg import helmert

    return np.asarray(helmert(n_vertices).T * math.sqrt(n_vertices / (n_vertices - 1)))


def orthonormal_scores(
    shares: FloatArray, functions: NDArray[np.int64], is_ordered: bool
) -> FloatArray:
    """Return functions of a feature's bins with mean zero, variance one, and uncorrelated.

    Parameters
    ----------
    shares : ndarray of float64, shape (n_codes,)
        Of the rows in each bin.
    functions : ndarray of int64, shape (n_codes, n_functions)
        Of :func:`group_functions`.
    is_ordered : bool

    Returns
    -------
    ndarray of float64, shape (n_codes, at most n_functions or 3)
        Polynomials of an ordered feature's normal scores; of another one, its groups.
    """
    found: list[FloatArray] = []
    columns = _powers(shares) if is_ordered else list(functions.T.astype(np.float64))
    for column in columns:
        # Twice: what rounding leaves of the others would grow where little is left.
        rest = column - shares @ column
        for _ in range(2):
            for other in found:
                rest = rest - (shares @ (other * rest)) * other
        size = math.sqrt(float(shares @ rest**2))
        if size <= 1e-3 * math.sqrt(max(float(shares @ column**2), 1e-300)):
            continue
        found.append(rest / size)
    return np.stack(found, axis=1) if found else np.zeros((len(shares), 0))


def _powers(shares: FloatArray) -> list[FloatArray]:
    """Return powers of the normal scores of an ordered feature's bins; others have zero."""
    from scipy.special import ndtri

    inner = shares[1:-1] / max(float(shares[1:-1].sum()), 1e-300)
    scores = np.zeros(len(shares))
    scores[1:-1] = ndtri(np.clip(np.cumsum(inner) - inner / 2, 1e-6, 1.0 - 1e-6))
    return [scores**order for order in range(1, _ORDERS + 1)]


def _correlations(
    covariances: FloatArray,
    noise: float,
    groups: Sequence[FloatArray],
    functions: Sequence[FloatArray],
    shares: Sequence[FloatArray],
    is_ordered: Sequence[bool],
) -> FloatArray:
    """Return the correlations of functions from released covariances of groups."""
    lifts = [_lift(*facts) for facts in zip(groups, functions, shares, is_ordered, strict=True)]
    lift = _block_diagonal(lifts)
    raw = lift @ covariances @ lift.T
    deviations = noise * np.sqrt(np.outer((lift**2).sum(axis=1), (lift**2).sum(axis=1)))
    sizes = [len(one) for one in lifts]
    owner = np.repeat(np.arange(len(lifts)), sizes)
    between = owner[:, np.newaxis] != owner
    raw = np.where(between, _shrunk(raw, deviations, between), 0.0)
    ordered = np.array(is_ordered)[owner]
    both = ordered[:, np.newaxis] & ordered & between
    loading = [_loading(*facts) for facts in zip(groups, functions, shares, strict=True)]
    loadings = np.repeat(loading, sizes)
    raw[both] = _latent(raw[both], np.outer(loadings, loadings)[both])
    first = _possible(raw + np.eye(len(raw)), between)
    return _of_all_orders(first, owner, functions, is_ordered)


def _lift(
    groups: FloatArray, functions: FloatArray, shares: FloatArray, is_ordered: bool
) -> FloatArray:
    """Return the map from covariances of groups to those of functions, if no more is known.

    Of an ordered feature that of the first function alone.
    """
    loadings = (shares[:, np.newaxis] * functions).T @ groups
    if is_ordered:
        loadings = loadings[:1]
        return np.asarray(loadings / np.maximum((loadings**2).sum(axis=1), 1e-6))
    return np.asarray(np.linalg.pinv(loadings.T))


def _loading(groups: FloatArray, functions: FloatArray, shares: FloatArray) -> float:
    """Return the correlation of the first group with the first function.

    Of an ordered feature: 1 with two bins, 0.8 with very many.
    """
    variance = float(shares @ (groups[:, 0] - shares @ groups[:, 0]) ** 2)
    if not functions.shape[1] or variance <= 0:
        return 1.0
    return abs(float(shares @ (functions[:, 0] * groups[:, 0]))) / math.sqrt(variance)


def _block_diagonal(blocks: Sequence[FloatArray]) -> FloatArray:
    from scipy.linalg import block_diag

    return np.asarray(block_diag(*blocks))


def _shrunk(raw: FloatArray, deviations: FloatArray, between: NDArray[np.bool_]) -> FloatArray:
    """Return noisy correlations, closer to zero as far as noise is what they are made of.

    How large they are without it is estimated from all of them, by their precision.
    """
    squares = np.maximum(deviations**2, 1e-12)
    precision = between / squares**2
    signal = float((precision * (raw**2 - squares)).sum() / max(float(precision.sum()), 1e-300))
    signal = min(max(signal, 0.0), 1.0)
    return np.asarray(raw * (signal / (signal + squares)))


def _latent(lifted: FloatArray, loading: FloatArray) -> FloatArray:
    """Return the correlations of scores from those of halves over the product of their loadings.

    With two bins each, halves are the scores; with very many the correlation of halves is ``2 / pi
    asin(r)``. Between them it is taken as a mixture of both.
    """
    grid = np.linspace(-1.0, 1.0, 401)
    arcs = 2.0 / math.pi * np.arcsin(grid)
    curved = (1.0 - np.clip(loading, 2.0 / math.pi, 1.0)) / (1.0 - 2.0 / math.pi)
    halves = np.clip(lifted * loading, -1.0, 1.0)
    return np.asarray(
        curved * np.interp(halves, arcs, grid) + (1.0 - curved) * np.clip(lifted, -1.0, 1.0)
    )


def _possible(matrix: FloatArray, between: NDArray[np.bool_]) -> FloatArray:
    """Return a correlation matrix near one that noise may have made impossible."""
    values, vectors = np.linalg.eigh(matrix)
    nearest = (vectors * np.maximum(values, _LEAST_VARIANCE)) @ vectors.T
    scale = np.sqrt(np.diagonal(nearest))
    return np.where(between, nearest / np.outer(scale, scale), 0.0)


def _of_all_orders(
    first: FloatArray,
    owner: NDArray[np.int64],
    functions: Sequence[FloatArray],
    is_ordered: Sequence[bool],
) -> FloatArray:
    """Return the correlations of all functions, from those of an ordered feature's first one."""
    places = [np.flatnonzero(owner == k) for k in range(len(functions))]
    starts = np.cumsum([0, *(table.shape[1] for table in functions)])
    found = np.zeros((starts[-1], starts[-1]))
    for k, other in np.ndindex(len(functions), len(functions)):
        known = first[np.ix_(places[k], places[other])]
        if is_ordered[k] and is_ordered[other] and known.size:
            n_orders = min(functions[k].shape[1], functions[other].shape[1])
            orders = np.arange(n_orders)
            found[starts[k] + orders, starts[other] + orders] = known[0, 0] ** (orders + 1.0)
        else:
            rows, columns = known.shape
            found[starts[k] : starts[k] + rows, starts[other] : starts[other] + columns] = known
    return found
