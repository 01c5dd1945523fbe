"""Boosting of pairs after the features: noisy sums on a fixed grid of cells, pure by construction.

A row is in one cell of each pair, so that the privacy of each round is that of a feature's round
(docs/proofs/dp_ebm.md). Every update is projected onto the tables without main effects, in squares
weighted by released counts: pairs learn interactions alone, and the curves of the features, and
what is known of their noise, stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.ebm.config import BoostingSettings, TrainerConfig
from interpret_dp.ebm.noise.uncertainty import TermNoise, no_noise
from interpret_dp.ebm.trainer.partitions import leaf_gains
from interpret_dp.release import ReleaseSession

FloatArray = NDArray[np.float64]

_BLOCKS = 4
# Directions of the cells that are main effects up to rounding.
_RANK_TOLERANCE = 1e-10
# A covariance of all cells that move is computed up to here, and variances from draws beyond.
_MOST_CELLS = 512
_DRAWS, _DRAWS_AT_ONCE = 512, 64


@dataclass(frozen=True, eq=False)
class PairCells:
    """The cells of one pair; public.

    Attributes
    ----------
    first, second : int
        Numbers of its features' terms.
    weights : ndarray of float64, shape (n_first, n_second)
        Released number of rows per cell, never negative.
    """

    first: int
    second: int
    weights: FloatArray

    @property
    def n_codes(self) -> int:
        """Number of cells."""
        return int(self.weights.size)


@dataclass(frozen=True, eq=False)
class PairUpdates:
    """Public linear map from a round's noisy sums of a pair to its change.

    Attributes
    ----------
    gain : ndarray of float64, shape (n_cells,)
        Score per unit of residual sum, 0 for cells that do not move.
    weights : ndarray of float64, shape (n_first, n_second)
    """

    gain: FloatArray
    weights: FloatArray

    @cached_property
    def moved(self) -> NDArray[np.int64]:
        """Cells that move, as numbers into the flat table."""
        return np.flatnonzero(self.gain > 0)

    @cached_property
    def _main_effects(self) -> FloatArray:
        """Return an orthonormal basis of the main effects on the cells that move, weighted."""
        rows, columns = np.unravel_index(self.moved, self.weights.shape)
        root = np.sqrt(self.weights.ravel()[self.moved])
        effects = np.hstack(
            [
                rows[:, np.newaxis] == np.arange(self.weights.shape[0]),
                columns[:, np.newaxis] == np.arange(self.weights.shape[1]),
            ]
        )
        basis, sizes, _ = np.linalg.svd(root[:, np.newaxis] * effects, full_matrices=False)
        return np.asarray(basis[:, sizes > _RANK_TOLERANCE * max(sizes.max(initial=0.0), 1e-300)])

    def changes(self, sums: FloatArray) -> FloatArray:
        """Return the pure change of the cells that move, shape (n_moved, ...).

        Parameters
        ----------
        sums : ndarray of float64, shape (n_moved, ...)
            Noisy residual sums of these cells.
        """
        where = (slice(None), *[np.newaxis] * (sums.ndim - 1))
        root = np.sqrt(self.weights.ravel()[self.moved])[where]
        raw = root * (self.gain[self.moved][where] * sums)
        return np.asarray((raw - self._main_effects @ (self._main_effects.T @ raw)) / root)


def pair_updates(
    cells: PairCells, *, settings: BoostingSettings, count_noise: float, n_rows: float
) -> PairUpdates:
    """Return the map of a pair's rounds.

    Parameters
    ----------
    cells : PairCells
    settings : BoostingSettings
    count_noise : float
        Standard deviation of the released count of a cell; cells below two of them do not move.
    n_rows : float
        Released number of rows; cells lighter than the average take smaller steps.
    """
    inner = max((cells.weights.shape[0] - 2) * (cells.weights.shape[1] - 2), 1)
    gain = leaf_gains(
        cells.weights.ravel(),
        step=settings.step,
        count_noise=count_noise,
        lightest=max(settings.least_hessian, n_rows / inner),
    )
    return PairUpdates(gain, cells.weights)


def boost_pairs(
    rows: AdditiveRows,
    pairs: Sequence[PairCells],
    updates: Sequence[PairUpdates],
    *,
    config: TrainerConfig,
    session: ReleaseSession,
) -> tuple[list[FloatArray], float]:
    """Train the pairs from where the rows' scores are.

    Parameters
    ----------
    rows : AdditiveRows
        Private, paired up: their features are the pairs.
    pairs, updates : sequences, one entry a pair
    config : TrainerConfig
    session : ReleaseSession
        Every sum passes through it.

    Returns
    -------
    scores : list of ndarray of float64, shape (n_first, n_second) each
        Averages of the last half of the rounds, in units of score.
    noise : float
        Standard deviation of the noise of one residual sum, in residuals.
    """
    rng = session.public_choices
    scores = [np.zeros(cells.n_codes) for cells in pairs]
    totals = [np.zeros(cells.n_codes) for cells in pairs]
    width = max(cells.n_codes for cells in pairs)
    pending, changes = np.zeros(0, dtype=np.int64), np.zeros((0, width, 1), dtype=np.int32)
    averaged, noise = 0, 0.0
    rows.begin(np.zeros(1, dtype=np.int64))
    for number in range(config.n_rounds):
        for block in np.array_split(rng.permutation(len(pairs)), min(_BLOCKS, len(pairs))):
            exact = rows.advance(pending, changes, block, width)
            pending = block
            changes = np.zeros((len(block), width, 1), dtype=np.int32)
            for slot, k in enumerate(block):
                moved = updates[k].moved
                # Residuals of two rows may point in opposite directions.
                noisy, sigma = session.gaussian(
                    "pairs",
                    exact[slot, moved, 0][np.newaxis],
                    row_norm=rows.residual_norm,
                    aligned=False,
                )
                noise = sigma / LATTICE
                change = np.rint(updates[k].changes(noisy[0].astype(np.float64)))
                # As for features: far beyond a sensible score, and well inside int32.
                change = np.clip(change, -(2**29), 2**29)
                scores[k][moved] += change
                changes[slot, moved, 0] = change
        if number >= config.n_rounds - config.averaged_rounds:
            averaged += 1
            for total, score in zip(totals, scores, strict=True):
                total += score
    means = [
        (total / max(averaged, 1) / LATTICE).reshape(cells.weights.shape)
        for total, cells in zip(totals, pairs, strict=True)
    ]
    return means, noise


def pair_noise(
    updates: PairUpdates,
    curvature: FloatArray,
    *,
    noise: float,
    config: TrainerConfig,
    rng: np.random.Generator,
) -> TermNoise:
    """Propagate the noise of every round into the averaged scores of one pair.

    Parameters
    ----------
    updates : PairUpdates
    curvature : ndarray of float64, shape (n_cells,)
        Mean second derivative of the loss in each cell.
    noise : float
        Standard deviation of the noise of one residual sum.
    config : TrainerConfig
    rng : numpy.random.Generator
        For public choices.

    Returns
    -------
    TermNoise
        Of the cells row by row: variances alone where there are more than 512.

    Notes
    -----
    To first order a deviation N of the scores becomes ``N + A (e - D N)`` in a round with noise e,
    where A is the map of the round and D the hessian, weight times curvature.
    """
    moved, n_codes = updates.moved, len(updates.gain)
    if not len(moved) or not config.n_rounds:
        return no_noise(n_codes)
    hessian = curvature[moved] * updates.weights.ravel()[moved]
    if n_codes > _MOST_CELLS:
        variances = np.zeros(n_codes)
        variances[moved] = noise**2 * _simulated(updates, hessian, config, rng)
        return TermNoise(variances=variances)
    step = updates.changes(np.eye(len(moved)))
    onward, own = np.zeros_like(step), np.zeros_like(step)
    for index in range(config.n_rounds - 1, -1, -1):
        if index >= config.n_rounds - config.averaged_rounds:
            onward[np.diag_indices_from(onward)] += 1.0 / config.averaged_rounds
        residual_map = onward @ step
        own += residual_map @ residual_map.T
        onward -= residual_map * hessian
    covariance = np.zeros((n_codes, n_codes))
    covariance[np.ix_(moved, moved)] = noise**2 * own
    return TermNoise(covariance=covariance)


def _simulated(
    updates: PairUpdates, hessian: FloatArray, config: TrainerConfig, rng: np.random.Generator
) -> FloatArray:
    """Return the mean squares of scores that noise of one was added to, shape (n_moved,)."""
    squares = np.zeros(len(hessian))
    for _ in range(_DRAWS // _DRAWS_AT_ONCE):
        deviation = np.zeros((len(hessian), _DRAWS_AT_ONCE))
        average = np.zeros_like(deviation)
        for index in range(config.n_rounds):
            sums = rng.standard_normal(deviation.shape) - hessian[:, np.newaxis] * deviation
            deviation += updates.changes(sums)
            if index >= config.n_rounds - config.averaged_rounds:
                average += deviation / config.averaged_rounds
        squares += (average**2).sum(axis=1)
    return squares / _DRAWS
