"""Release of the residual sums of an update's leaves, without most of their mean.

All features say the same of the sum of all residuals, and an update, which is centred, has little
use for it. A row that adds r to one of L leaves adds (1 - 1 / L) r to it and -r / L to the others
once the mean of the leaves is taken out: a vector of length r sqrt(1 - 1 / L) instead of r, and the
noise is made for the length. So the total is taken out but for a share, of which all features
together make one release of it. With two leaves the noise has nearly half of the variance, with
four nearly three quarters.

Where fewer than two leaves can move, the total is all that there is to say, and nothing else is
released: its noise is that of one leaf. Of a small table the mean is learned so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LeafRelease"]

# A share of the total is a number of such parts, so that sums stay integers. Few, so that updates
# have few scales of noise, of which draws can be made ahead.
_PARTS = 16
# With more leaves there is less than a hundredth of the variance to gain.
_MOST_LEAVES = 50


@dataclass(frozen=True)
class LeafRelease:
    """Form in which the sums of one update are released; all of it public.

    Attributes
    ----------
    leaves : ndarray of int64
        Leaves that move; where a share is taken out, zeros are released for the others. Empty if
        the total of all leaves is released alone.
    removed : int
        Share of the mean over the leaves that is taken out of each, in 16ths: 0 to 15.
    """

    leaves: NDArray[np.int64]
    removed: int

    @classmethod
    def of(cls, gain: NDArray[np.float64], n_terms: int) -> LeafRelease:
        """Choose it by the gains of the leaves and the number of terms that are updated.

        Parameters
        ----------
        gain : ndarray of float64, shape (n_leaves,)
        n_terms : int

        Notes
        -----
        Where c is what remains of the mean, a total is released with 1 / c**2 times the variance
        that it would have in the plain sums: with 1 / sqrt(n_terms), all terms of a round together
        know of it what one plain sum would. That is the least.

        Where leaves differ, an error of the intercept shows in what their sums differ by, and
        noise of the totals comes back as noise of the curve. With L leaves of hessian s and K
        terms the variance of a curve, over the rows, is in proportion to

            (L - 1 + c**2) (L - 1 + u / (K c**2)),    u = 1 - L**2 / (sum(s) sum(1 / s)),

        which is smallest where c is the fourth root of u / K.
        """
        leaves = np.flatnonzero(gain > 0)
        if len(leaves) < 2:
            return cls(leaves[:0], 0)
        share = max(1.0 / n_terms, math.sqrt(_unevenness(gain[leaves]) / n_terms))
        worth = len(leaves) <= _MOST_LEAVES
        removed = int(_PARTS * (1.0 - math.sqrt(share))) if worth else 0
        return cls(leaves, removed)

    @property
    def has_leaves(self) -> bool:
        """Whether sums of leaves are released, and not their total alone."""
        return len(self.leaves) > 0

    @property
    def by_contrasts(self) -> bool:
        """Whether an update leaves the total to the intercept."""
        return self.removed > 0

    def exact(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the share of the mean out of the sums, (n_leaves, n_scores), in integers.

        The total alone has shape (1, n_scores).
        """
        if not self.has_leaves:
            total: NDArray[np.int64] = sums.sum(axis=0, keepdims=True)
            return total
        if not self.removed:
            return sums
        kept = sums[self.leaves]
        total, whole = kept.sum(axis=0), _PARTS * len(kept)
        # floor(total * removed / whole), without a product that might leave int64.
        shift = total // whole * self.removed + total % whole * self.removed // whole
        found = np.zeros_like(sums)
        found[self.leaves] = kept - shift
        return found

    def row_norm(self, residual_norm: int, n_scores: int) -> int:
        """Bound the L2 norm of what one row adds to :meth:`exact`, rounding included.

        Parameters
        ----------
        residual_norm : int
            The same for its residuals.
        n_scores : int
        """
        if not self.removed:
            return residual_norm
        n_leaves = len(self.leaves)
        whole = _PARTS * n_leaves
        square = (whole - self.removed) ** 2 + (n_leaves - 1) * self.removed**2
        exact = math.isqrt(residual_norm**2 * square // whole**2) + 1
        # Rounding moves every entry by less than one.
        return exact + math.isqrt(n_leaves * n_scores) + 1

    def total(self, noisy: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the noisy sum over the leaves that move, or of all, shape (n_scores,)."""
        kept = noisy[self.leaves].sum(axis=0) if self.has_leaves else noisy[0]
        found: NDArray[np.float64] = kept / self._share
        return found

    def total_variance(self, noise: float) -> float:
        """Return the variance of the noise of :meth:`total`, of sums with noise of that size."""
        return max(len(self.leaves), 1) * (noise / self._share) ** 2

    @property
    def _share(self) -> float:
        """Share of the mean that remains."""
        return 1.0 - self.removed / _PARTS


def _unevenness(gain: NDArray[np.float64]) -> float:
    """Return 0 for leaves alike, towards 1 where one is far lighter than the mean of them all."""
    moved = gain[gain > 0]
    if len(moved) < 2:
        return 0.0
    relative = moved / moved.max()
    even = len(moved) ** 2 / float(relative.sum() * (1.0 / relative).sum())
    return max(1.0 - even, 0.0)
