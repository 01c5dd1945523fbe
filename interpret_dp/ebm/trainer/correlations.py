"""Correlations of features, from released second moments of a few functions of their bins.

Noise in the curve of one feature moves the residuals of every feature that is correlated with it,
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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import PRODUCT_UNIT
from interpret_dp.ebm.trainer.binning import Bins

FloatArray = NDArray[np.float64]

# Levels of a nominal feature with a group of their own, and the share of the rows that they need.
_MOST_GROUPS = 7
_LEAST_SHARE = 0.03
_ORDERS = 3  # of polynomials of normal scores
# A combination of functions that hardly varies makes noise larger, as far as boosting goes on for
# long enough (the ridge of ebm.noise.variances). Noise may have made its variance negative: none
# has less than this, in units of one of them.
_LEAST_VARIANCE = 0.01
# A model names so many correlated terms of each term, and gives correlations with so many digits.
_MOST_PARTNERS = 5
_DIGITS = 2


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

    def shared_variance(self, scores: Sequence[FloatArray], weights: Sequence[FloatArray]) -> float:
        """Return by how much the variance of the terms' sum exceeds the sum of their variances.

        Parameters
        ----------
        scores, weights
            Curves of all terms of the model and released bin weights, shape (n_codes, n_scores)
            and (n_codes,) each; of several scores a row, the sum is returned.
        """
        parts = np.concatenate(
            [
                table.T @ (_shares(weights[k])[:, np.newaxis] * scores[k])
                for k, table in zip(self.terms, self.functions, strict=True)
            ]
        )
        return float((parts * (self.matrix @ parts)).sum())

    def strongest(self, is_ordered: Sequence[bool]) -> list[tuple[int, int, float]]:
        """Return the correlations of each term with the terms that it is most correlated with.

        Of two ordered terms the correlation of their normal scores; with a nominal one the
        correlation ratio, of two nominal ones Cramer's V, which have no sign.

        Parameters
        ----------
        is_ordered : sequence of bool, one per term of the model
        """
        known = [
            (k, 1 if is_ordered[k] else table.shape[1], table.shape[1])
            for k, table in zip(self.terms, self.functions, strict=True)
            if table.shape[1]
        ]
        if len(known) < 2:
            return []
        # Of an ordered term the first function is its normal score.
        counts = np.array([count for _, count, _ in known])
        sizes = np.array([size for _, _, size in known])
        first = np.cumsum(sizes) - sizes
        used = np.concatenate([np.arange(f, f + c) for f, c in zip(first, counts, strict=True)])
        matrix, starts = self.matrix[np.ix_(used, used)], np.cumsum(counts) - counts
        squares = np.add.reduceat(np.add.reduceat(matrix**2, starts, axis=0), starts, axis=1)
        values = np.sqrt(np.minimum(squares / np.minimum.outer(counts, counts), 1.0))
        has_sign = np.logical_and.outer(*[[is_ordered[k] for k, _, _ in known]] * 2)
        values = np.where(has_sign, np.copysign(values, matrix[np.ix_(starts, starts)]), values)
        np.fill_diagonal(values, 0.0)
        values = np.round(values, _DIGITS)
        partners = np.argsort(-np.abs(values), axis=1)[:, :_MOST_PARTNERS]
        chosen = {(min(i, j), max(i, j)) for i, row in enumerate(partners.tolist()) for j in row}
        return [
            (known[i][0], known[j][0], float(values[i, j]))
            for i, j in sorted(chosen)
            if values[i, j]
        ]


def _shares(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / max(float(weights.sum()), 1e-300))


def correlations_of(
    known: list[int],
    groups: Sequence[NDArray[np.int64]],
    moments: FloatArray,
    noise: float,
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
) -> Correlations:
    """Return the correlations of functions from the released moments of groups.

    Parameters
    ----------
    known : list of int
        Terms that are known of.
    groups : sequence of ndarray of int64, shape (n_codes, n_groups - 1) each
        Of :func:`group_functions`, for each of them.
    moments : ndarray of float64, shape (n_all_groups, n_all_groups)
        Released means of products, above the blocks of single terms; zero elsewhere.
    noise : float
        Standard deviation of the noise of each.
    bins : sequence of Bins
        Of each of these terms.
    is_ordered : sequence of bool, one per term of the model
    """
    from scipy.linalg import block_diag

    owner = np.repeat(np.arange(len(known)), [table.shape[1] for table in groups])
    shares = [b.weights / b.weights.sum() for b in bins]
    means = np.concatenate([w @ f for w, f in zip(shares, groups, strict=True)]) / PRODUCT_UNIT
    covariances = np.where(owner[:, np.newaxis] < owner, moments - np.outer(means, means), 0.0)
    functions = [
        orthonormal_scores(share, table, is_ordered[k])
        for k, share, table in zip(known, shares, groups, strict=True)
    ]
    units = [table / PRODUCT_UNIT for table in groups]
    are_ordered = [is_ordered[k] for k in known]
    lifts = [_lift(*term) for term in zip(units, functions, shares, are_ordered, strict=True)]
    lift = np.asarray(block_diag(*lifts))
    raw = lift @ (covariances + covariances.T) @ lift.T
    deviations = noise * np.sqrt(np.outer((lift**2).sum(axis=1), (lift**2).sum(axis=1)))
    sizes = [len(one) for one in lifts]
    owner = np.repeat(np.arange(len(lifts)), sizes)
    between = owner[:, np.newaxis] != owner
    raw = np.where(between, _shrunk(raw, deviations, between), 0.0)
    ordered = np.array(are_ordered)[owner]
    both = ordered[:, np.newaxis] & ordered & between
    loading = [_loading(*term) for term in zip(units, functions, shares, strict=True)]
    loadings = np.repeat(loading, sizes)
    raw[both] = _latent(raw[both], np.outer(loadings, loadings)[both])
    # A correlation matrix near one that noise may have made impossible.
    values, vectors = np.linalg.eigh(raw + np.eye(len(raw)))
    nearest = (vectors * np.maximum(values, _LEAST_VARIANCE)) @ vectors.T
    scale = np.sqrt(np.diagonal(nearest))
    first = np.where(between, nearest / np.outer(scale, scale), 0.0)
    return Correlations(known, functions, _of_all_orders(first, owner, functions, are_ordered))


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
    from scipy.linalg import helmert

    group = _halves(weights) if is_ordered else _levels(weights)
    n_groups = max(int(group.max()) + 1, 2)
    # Points of size 1, each as far from all others.
    simplex = helmert(n_groups).T * math.sqrt(n_groups / (n_groups - 1))
    vertices = np.trunc(PRODUCT_UNIT * simplex).astype(np.int64)
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
