"""The released shape of a regression's target, and the clip of residuals that it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: From targets and a predicted mean to residuals before the clip: the loss's own.
Gaps = Callable[[FloatArray, FloatArray], FloatArray]

# Each cell is so many times as wide as the next one on the way to the mean; the narrowest ones are
# such a share of the range. Rows are taken to be spread evenly over the parts of a cell.
_RATIO, _NARROWEST, _PARTS = 2.0**0.5, 2.0**-9, 2
# Cells are significant where they and their neighbours, so many in all, have rows of so many
# standard deviations of the noise. What fewer rows say of the mean is less than the noise of a clip
# that reaches them.
_WINDOW, _SIGNIFICANT = 5, 3.0
_ROUNDING = 1e-9
# A tail may go on so many times as far as the cells that are significant. Where those have less of
# the rows than such a share, noise hides how far the others reach.
_REACH, _LEAST_SEEN = 4.0, 0.8
# Rows of high targets weigh up to so much more, and those of low ones so much less, or the other
# way round: effects must not be clipped any more than the mean. The last is that of the mean.
_TILTS = -0.5, 1.0, 0.0
_HALVINGS = 40
# A cell of such a share of the rows, so many times as dense as those beside it, is a peak.
_PEAK_SHARE, _PEAK_RATIO = 0.05, 3.0
# The narrowest clip, in standard deviations of the targets, and the smallest share of the rows that
# a clip is taken to leave as they are.
_LEAST_CLIP, _LEAST_KEPT = 0.75, 2.0**-9


@dataclass(frozen=True, eq=False)
class Shape:
    """Released shares of the rows whose targets lie in cells of the declared range.

    Attributes
    ----------
    borders : ndarray of float64, shape (n_parts + 1,)
        Of the parts of the cells.
    values : ndarray of float64, shape (n_parts,)
        The middle of each; the bounds themselves in the first and the last cell.
    shares : ndarray of float64, shape (n_parts,)
        Not negative; they add up to 1.
    share_noise : ndarray of float64, shape (n_parts,)
        Standard deviation of the share of each that a tail may reach.
    """

    borders: FloatArray
    values: FloatArray
    shares: FloatArray
    share_noise: FloatArray

    @classmethod
    def of(
        cls,
        edges: FloatArray,
        lower: float,
        upper: float,
        counts: FloatArray,
        noise: float,
        n_rows: float,
    ) -> Shape:
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
        n_rows : float
            Released number of rows.
        """
        cells = np.concatenate([[lower], edges, [upper]])
        around = np.convolve(counts, np.ones(_WINDOW), "same")
        significant = np.where(
            around > _SIGNIFICANT * _WINDOW**0.5 * noise, np.maximum(counts, 0.0), 0.0
        )
        are_hidden = float(significant.sum()) < _least_rows(n_rows, noise * len(counts) ** 0.5)
        if not significant.any():
            significant = np.maximum(counts, noise)
        shares = significant / significant.sum()
        places = np.arange(_PARTS * len(shares) + 1) / _PARTS
        borders = np.interp(places, np.arange(len(cells)), cells)
        values = borders[:-1] / 2.0 + borders[1:] / 2.0
        # Many targets may lie on a bound, such as costs of zero.
        values[:_PARTS], values[-_PARTS:] = lower, upper
        shares = np.repeat(shares / _PARTS, _PARTS)
        centre, seen = shares @ values, values[shares > 0]
        reach = np.where(values < centre, centre - seen[0], seen[-1] - centre)
        within = are_hidden | (np.abs(values - centre) <= _REACH * reach)
        return cls(borders, values, shares, within * noise / significant.sum() / _PARTS)

    @property
    def mean(self) -> float:
        """Mean of the targets."""
        return float(self.shares @ self.values)

    @property
    def spread(self) -> float:
        """Standard deviation of the targets."""
        return float(np.sqrt(self.shares @ (self.values - self.mean) ** 2))

    def peaks(self) -> list[tuple[float, float, float]]:
        """Return lower end, upper end and share of cells in which many rows seem to be alike."""
        shares, borders = self.shares.reshape(-1, _PARTS).sum(axis=1), self.borders[::_PARTS]
        noise = _SIGNIFICANT * _PARTS * self.share_noise.max()
        beside = np.concatenate([[0.0], (shares + noise) / np.diff(borders), [0.0]])
        least = _PEAK_RATIO * np.maximum(beside[:-2], beside[2:]) * np.diff(borders)
        places = np.flatnonzero((shares >= _PEAK_SHARE) & (shares > least))
        return [(float(borders[k]), float(borders[k + 1]), float(shares[k])) for k in places]

    def means(self, clips: FloatArray, gaps: Gaps) -> tuple[FloatArray, FloatArray]:
        """Return where clipped residuals cancel, and where they should.

        Parameters
        ----------
        clips : ndarray of float64, shape (n_clips,)
            In units of a residual.
        gaps : callable
            From values and a mean to residuals.

        Returns
        -------
        found : ndarray of float64, shape (n_clips, n_tilts)
            The means that are found with each clip, by shares that are tilted.
        means : ndarray of float64, shape (n_tilts,)
            Those of the tilted shares.
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
        return high, tilted @ self.values

    def kept(self, clips: FloatArray, gaps: Gaps, means: FloatArray) -> FloatArray:
        """Return the share of the rows whose residuals at the mean of each clip are not clipped."""
        at = means[:, np.newaxis]
        low, high = (gaps(border, at) for border in (self.borders[:-1], self.borders[1:]))
        bounds = clips[:, np.newaxis]
        inside = np.clip(high, -bounds, bounds) - np.clip(low, -bounds, bounds)
        return np.asarray((inside / (high - low)) @ self.shares)

    def unseen(self, clips: FloatArray, gaps: Gaps) -> FloatArray:
        """Return the standard deviation of what lies beyond each clip and is not seen."""
        beyond = np.abs(gaps(self.values, np.array(self.mean))) - clips[:, np.newaxis]
        of_cells = (np.maximum(beyond, 0.0) * self.share_noise).reshape(len(clips), -1, _PARTS)
        return np.asarray(np.sqrt((of_cells.sum(axis=2) ** 2).sum(axis=1)))


def _least_rows(n_rows: float, noise: float) -> float:
    """Return the fewest rows of significant cells by which tails are known.

    ``noise`` is that of the sum of all cells.
    """
    return max(_LEAST_SEEN * n_rows, _SIGNIFICANT * noise)


def cell_edges(mean: float, lower: float, upper: float) -> FloatArray:
    """Return the cut points of the cells, narrow near the mean and at the bounds.

    Parameters
    ----------
    mean : float
        Released mean of the target.
    lower, upper : float
        Declared bounds of the target.
    """
    steps = np.arange(round(-np.log(_NARROWEST) / np.log(_RATIO)) + 1)
    distances = (upper - lower) * _NARROWEST * _RATIO**steps
    ends = [lower + distances[0], upper - distances[0]]
    edges = np.unique(np.concatenate([mean - distances, mean + distances, ends]))
    # Two that rounding alone tells apart would have a cell of no width between them.
    least = _ROUNDING * (upper - lower)
    edges = edges[np.diff(edges, prepend=-np.inf) > least]
    return edges[(edges > lower + least) & (edges < upper - least)]


def best_clip(shape: Shape, clips: FloatArray, noise: float, gaps: Gaps) -> float:
    """Return the clip at which bias and noise of predictions are smallest together.

    Parameters
    ----------
    shape : Shape
    clips : ndarray of float64
        To choose from, the widest first.
    noise : float
        Standard deviation of the noise of a prediction, per unit of the clip.
    gaps : callable
        From values and a mean to residuals.

    Notes
    -----
    Where clipped residuals cancel at the wrong mean, no number of rows mends it. The noise of a
    mean is that of a sum over the slope of the clipped residual, which rows beyond the clip lack.
    """
    found, means = shape.means(clips, gaps)
    kept = np.maximum(shape.kept(clips, gaps, found[:, -1]), _LEAST_KEPT)
    errors = (gaps(found, means) ** 2).mean(axis=1) + (noise * clips / kept) ** 2
    spread = gaps(np.array(shape.mean + shape.spread), np.array(shape.mean))
    errors[clips < min(_LEAST_CLIP * float(spread), clips[0])] = np.inf
    return float(clips[np.argmin(errors)])


def errors_of_mean(
    shape: Shape, clips: FloatArray, noise: float, gaps: Gaps, start: float = 0.0
) -> FloatArray:
    """Return the error of the mean with each clip: bias, noise, and what lies beyond unseen.

    Parameters
    ----------
    shape, clips, gaps
        As for :func:`best_clip`.
    noise : float
        Standard deviation of the noise of the mean residual, per unit of the clip.
    start : float
        How far the mean may be off where a single sum of residuals corrects it: rows beyond the
        clip leave their share of that. 0 if the sums go on until they cancel.
    """
    found, means = shape.means(clips, gaps)
    bias, unseen = gaps(found[:, -1], means[-1]), shape.unseen(clips, gaps)
    left = start * (1.0 - shape.kept(clips, gaps, found[:, -1]))
    return np.asarray(np.sqrt(bias**2 + (noise * clips) ** 2 + unseen**2 + left**2))
