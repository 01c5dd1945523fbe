"""Features that all maps share: one projection, computed once, which may be centred.

The mean of the features says nothing about classes, and yet it is most of the length of an image:
clipping would cut a row for it, so that less of what tells classes apart outweighs the noise. A
small share of the budget buys the mean and the spread; steps then see features that are centred
and of one length on average, whatever the contrast of the images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.llm.config import FEATURE_LENGTH
from interpret_dp.llm.integers import exact_rows
from interpret_dp.llm.request import CENTRE
from interpret_dp.release import ReleaseSession

__all__ = ["Frame", "projected_features", "released_frame"]

# Bound on a row's length over that of standardised inputs; longer rows are shortened in the sums.
_LONGEST = 1.5
# Room for the rounding of a row's length, before its values are truncated to the lattice.
_ROOM = 1.0 - 1e-9
# Entries beyond so many bounds are cut, so that squares stay below 64 bits.
_WIDEST = 16
_ROWS = 4096


@dataclass(frozen=True)
class Frame:
    """Centre and scale of features; released.

    Attributes
    ----------
    centre : ndarray of shape (dimension,)
    scale : float
        Training sees (features - centre) * scale.
    """

    centre: NDArray[np.float64]
    scale: float

    def undone(
        self, weights: NDArray[np.float64], biases: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and biases of the same maps, for features as they were."""
        unscaled = weights * self.scale
        return unscaled, biases - unscaled @ self.centre


def projected_features(inputs: torch.Tensor, projection: torch.Tensor) -> torch.Tensor:
    """Return R x of each row, float32, shape (n_rows, dimension); a row decides its own."""
    found = inputs.new_empty((len(inputs), len(projection)))
    for part, rows in zip(found.split(_ROWS), inputs.split(_ROWS), strict=True):
        part.copy_(exact_rows(rows, projection.T))
    return found


def released_frame(
    features: torch.Tensor,
    projection: torch.Tensor | None,
    n_columns: int,
    session: ReleaseSession,
    *,
    length: float = FEATURE_LENGTH,
) -> Frame:
    """Release the number of rows and the sums of features and squared lengths, in one release.

    Parameters
    ----------
    features : Tensor of float32, shape (n_rows, dimension)
        Private.
    projection : Tensor, shape (dimension, n_inputs), or None
        Public; of it the features are.
    n_columns : int
        Standardised columns: about the mean squared length of a row of inputs.
    session : ReleaseSession
        Open; ``CENTRE`` is in its plan.
    length : float, default=FEATURE_LENGTH
        Root mean square length that centred rows are to have.

    Notes
    -----
    A row adds (u, |u|^2, 1) with u its features over a public bound, shortened to length 1 and
    truncated to the lattice: at most the root of 3. What follows is post-processing: the mean is
    shrunk by the share of its length that is noise (James and Stein).
    """
    widest = 1.0 if projection is None else float(torch.linalg.matrix_norm(projection, 2))
    bound = _LONGEST * widest * math.sqrt(n_columns)
    exact = _lattice_sums(features, bound)
    noisy, sigma = session.gaussian(
        CENTRE, exact[np.newaxis], row_norm=math.isqrt(3 * LATTICE**2) + 1, aligned=False
    )
    deviation = sigma / LATTICE
    *sums, squares, count = (noisy[0] / LATTICE).tolist()
    # A count below its own noise says nothing but that there are few rows.
    n_rows = max(count, deviation)
    found = math.hypot(*sums)
    noise = deviation * math.sqrt(len(sums))
    kept = max(0.0, 1.0 - (noise / found) ** 2) if found > 0 else 0.0
    mean = kept * np.array(sums) / max(n_rows, found)
    spread = min(max(squares / n_rows - float(mean @ mean), deviation / n_rows), 1.0)
    return Frame(bound * mean, length / (bound * math.sqrt(spread)))


def _lattice_sums(features: torch.Tensor, bound: float) -> NDArray[np.int64]:
    """Return the private sums in lattice units, shape (dimension + 2,)."""
    total = torch.zeros(features.shape[1] + 2, dtype=torch.int64, device=features.device)
    for part in features.split(_ROWS):
        # Integers first, so that the length of a row is exact, and so that row's alone.
        units = (part.to(torch.float64) * (LATTICE / bound)).round_()
        units = units.clamp_(-_WIDEST * LATTICE, _WIDEST * LATTICE)
        squares = units.to(torch.int64).square_().sum(dim=1, keepdim=True)
        lengths = squares.to(torch.float64).sqrt_() / LATTICE
        rows = units * (_ROOM / lengths.clamp(min=1.0))
        second = lengths.clamp(max=1.0).square_().mul_(_ROOM * LATTICE)
        values = torch.cat([rows, second, torch.full_like(second, LATTICE)], dim=1)
        total += values.trunc_().to(torch.int64).sum(dim=0)
    return np.asarray(total.cpu().numpy())
