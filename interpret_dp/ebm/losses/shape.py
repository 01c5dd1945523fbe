"""The released shape of a regression's target, and the clip of residuals that it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: From the residuals of values at a score's mean to these residuals: the loss's own.
Gaps = Callable[[FloatArray, FloatArray], FloatArray]

# Each cell is so many times as wide as the next one on the way to the mean; the narrowest ones are
# such a share of the range.
_RATIO, _NARROWEST = 2.0**0.5, 2.0**-9
# Standard deviations of its noise above which a cell is believed. What a cell of fewer rows says of
# the mean is less than the noise of a clip that reaches it.
_BELIEVED, _NEAR = 3.0, 2
# Rows of high targets weigh up to so much more, and those of low ones so much less, or the other
# way round: an effect must not be clipped any more than the mean.
_TILTS = -0.5, 0.0, 1.0
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Shape:
    """Released shares of the rows whose targets lie in cells of the declared range.

    Attributes
    ----------
    values : ndarray of float64, shape (n_cells,)
        The middle of each cell; the bounds themselves for the first and the last.
    shares : ndarray of float64, shape (n_cells,)
        Not negative; they add up to 1.
    """

    values: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, edges: FloatArray, lower: float, upper: float, counts: FloatArray, noise: float) -> Shape:
        """Return the shape that noisy counts show.

        Parameters
        ----------
        edges : ndarray of float64
            Of :func:`cell_edges`.
        lower, upper : float
        counts : ndarray of float64, shape (n_cells,)
            Released, in rows.
        noise : float
            Standard deviation of the noise in each.
        """
        borders = np.concatenate([[lower], edges, [upper]])
        values = borders[:-1] / 2.0 + borders[1:] / 2.0
        # Bounds are common values: no cost, every day.
        values[0], values[-1] = lower, upper
        # A tail does not end at once: the cells next to a believed one are taken as they are.
        near = np.convolve(counts > _BELIEVED * noise, np.ones(2 * _NEAR + 1), "same") > 0
        believed = np.where(near, np.maximum(counts, 0.0), 0.0)
        if not believed.any():
            believed = np.maximum(counts, noise)
        return cls(values, believed / believed.sum())

    @property
    def mean(self) -> float:
        """Mean of the targets."""
        return float(self.shares @ self.values)

    @property
    def spread(self) -> float:
        """Standard deviation of the targets."""
        return float(np.sqrt(self.shares @ (self.values - self.mean) ** 2))

    def bias(self, clips: FloatArray, gaps: Gaps) -> tuple[FloatArray, FloatArray]:
        """Return by how much clipping moves the mean and means after an effect, and what it keeps.

        Parameters
        ----------
        clips : ndarray of float64, shape (n_clips,)
            In units of a residual.
        gaps : callable
            From values and a mean to residuals.

        Returns
        -------
        bias : ndarray of float64, shape (n_clips, 3)
            In units of a residual: of tilted shares, of the shares as they are in the middle.
        kept : ndarray of float64, shape (n_clips,)
            Share of the rows whose residuals are not clipped at the mean that is found.
        """
        places = 2.0 * np.cumsum(self.shares) - self.shares - 1.0
        tilted = self.shares * (1.0 + np.multiply.outer(_TILTS, places))
        tilted /= tilted.sum(axis=1, keepdims=True)
        bounds = clips[:, np.newaxis, np.newaxis]
        low = np.full((len(clips), len(_TILTS)), self.values[0])
        high = np.full_like(low, self.values[-1])
        for _ in range(_HALVINGS):
            middle = low / 2.0 + high / 2.0
            residuals = np.clip(gaps(self.values, middle[..., np.newaxis]), -bounds, bounds)
            rises = (residuals * tilted).sum(axis=2) > 0
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        found = high[..., np.newaxis]
        kept = (np.abs(gaps(self.values, found[:, 1])) <= clips[:, np.newaxis]) @ self.shares
        return gaps(high, tilted @ self.values), kept


def cell_edges(mean: float, lower: float, upper: float) -> FloatArray:
    """Return the cut points of the cells, narrow near the mean and at the bounds.

    Parameters
    ----------
    mean : float
        Released mean of the target.
    lower, upper : float
        Declared bounds of the target.
    """
    width = upper - lower
    steps = np.arange(round(-np.log(_NARROWEST) / np.log(_RATIO)) + 1)
    distances = width * _NARROWEST * _RATIO**steps
    ends = [lower + distances[0], upper - distances[0]]
    edges = np.unique(np.concatenate([mean - distances, mean + distances, ends]))
    return edges[(edges > lower) & (edges < upper)]


def best_clip(shape: Shape, clips: FloatArray, noise: float, gaps: Gaps) -> float:
    """Return the clip at which bias and noise are smallest together.

    Parameters
    ----------
    shape : Shape
    clips : ndarray of float64
        To choose from.
    noise : float
        Standard deviation of the noise of a prediction, per unit of the clip.
    gaps : callable
        From values and a mean to residuals.

    Notes
    -----
    Where clipped residuals cancel at the wrong mean, no number of rows mends it. The noise of a
    mean is that of a sum over the slope of the clipped residual, which rows beyond the clip lack.
    """
    bias, kept = shape.bias(clips, gaps)
    errors = (bias**2).mean(axis=1) + (noise * clips / np.maximum(kept, 1e-9)) ** 2
    return float(clips[np.argmin(errors)])


def balance_clip(shape: Shape, clips: FloatArray, noise: float, gaps: Gaps) -> float:
    """Return the clip at which the sum of the residuals has the smallest error.

    Parameters
    ----------
    shape, clips, gaps
        As for :func:`best_clip`.
    noise : float
        Standard deviation of the noise of the mean residual, per unit of the clip.
    """
    bounds = clips[:, np.newaxis]
    bias = np.clip(gaps(shape.values, np.array(shape.mean)), -bounds, bounds) @ shape.shares
    return float(clips[np.argmin(bias**2 + (noise * clips) ** 2)])
