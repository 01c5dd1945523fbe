"""Grids of several features' bins, so that the loops over rows look up once for all of them.

A sum over the bins of two features is twice a look-up and an addition a row. A sum over the cells
of both is one, and the sums of each feature are sums of cells: the same integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Two features of 66 codes have 4,356 cells, whose sums stay in the cache that is next to the core.
_MOST_CELLS = 2**13


@dataclass(frozen=True)
class Grids:
    """Features in groups whose cells are numbered together.

    Attributes
    ----------
    members : tuple of tuple of int
        For each group the places of its features in the list that was given.
    shapes : tuple of tuple of int
        Numbers of codes of those features.
    features : ndarray of int64, shape (n_groups, most_members)
        The features themselves, for the kernels; -1 beyond a group's last.
    """

    members: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    features: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        features: NDArray[np.int64],
        widths: NDArray[np.int64],
        *,
        most_cells: int = _MOST_CELLS,
    ) -> Grids:
        """Group features in their order, as long as a group has at most ``most_cells`` cells.

        Parameters
        ----------
        features : ndarray of int64, shape (n_features,)
        widths : ndarray of int64
            Number of codes of every feature of the table.
        most_cells : int
            A feature of more codes is a group of its own; with 0, every feature is.
        """
        members: list[list[int]] = []
        cells = most_cells + 1
        for place, feature in enumerate(features.tolist()):
            width = int(widths[feature])
            if cells * width > most_cells:
                members.append([])
                cells = 1
            members[-1].append(place)
            cells *= width
        longest = max(map(len, members), default=1)
        grouped = np.full((len(members), longest), -1, dtype=np.int64)
        for group, places in enumerate(members):
            grouped[group, : len(places)] = features[places]
        return cls(
            tuple(map(tuple, members)),
            tuple(tuple(int(widths[features[place]]) for place in group) for group in members),
            grouped,
        )

    @property
    def n_cells(self) -> int:
        """Number of cells of the largest group."""
        return max(map(math.prod, self.shapes), default=1)

    def changes(self, updates: NDArray[np.int32]) -> NDArray[np.int32]:
        """Add the updates of each group's features per cell, shape (n_groups, n_cells).

        Parameters
        ----------
        updates : ndarray of int32, shape (n_features, n_bins)
            Their sums must be within 32 bits.
        """
        changes = np.zeros((len(self.members), self.n_cells), dtype=np.int32)
        for group, (places, shape) in enumerate(zip(self.members, self.shapes, strict=True)):
            total = updates[places[0], : shape[0]]
            for place, width in zip(places[1:], shape[1:], strict=True):
                total = (total[:, np.newaxis] + updates[place, :width]).reshape(-1)
            changes[group, : len(total)] = total
        return changes

    def sums(self, cells: NDArray[np.int64], n_bins: int) -> NDArray[np.int64]:
        """Add the cells of each bin of each feature, shape (n_features, n_bins).

        Parameters
        ----------
        cells : ndarray of int64, shape (n_groups, n_cells)
        n_bins : int
            Width of the answer.
        """
        sums = np.zeros((sum(map(len, self.members)), n_bins), dtype=np.int64)
        for group, (places, shape) in enumerate(zip(self.members, self.shapes, strict=True)):
            left = cells[group, : math.prod(shape)]
            # From the last feature to the first: what is left are the sums over those behind it.
            for place, width in zip(places[:0:-1], shape[:0:-1], strict=True):
                grid = left.reshape(-1, width)
                sums[place, :width], left = grid.sum(axis=0), grid.sum(axis=1)
            sums[places[0], : shape[0]] = left
        return sums
