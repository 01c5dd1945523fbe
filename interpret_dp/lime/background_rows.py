"""Rows drawn from a background, and how common each would be in a background without noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released.background import Background, cells_at, public_generator

__all__ = ["BackgroundRows"]

FloatArray = NDArray[np.float64]

_DRAWS = 64  # of the background, from its posterior


class BackgroundRows:
    """Public rows, with draws of the background's shares from their posterior.

    A draw of the shares makes some rows more common and others less. Means over the rows with these
    weights are what a background of such shares would give, and the model is not asked again.

    Parameters
    ----------
    background : Background
    n_rows : int
    seed : int, default=0
        Explanations of one seed are the same in every call.

    Attributes
    ----------
    values : list of ndarray, shape (n_rows,) each
        Cells of the rows, column by column.
    cells : list of ndarray of int, shape (n_rows,) each
        Which cell of its column's histogram each is in.
    shares : list of ndarray of float64
        Of the cells of each column, as rows are drawn from them.
    share_changes : list of ndarray of float64, shape (n_draws, n_cells) each
        How much each draw of the shares differs from them.
    generator : Generator
        For what else is drawn.
    """

    def __init__(self, background: Background, n_rows: int, seed: int = 0) -> None:
        self.generator = public_generator(seed)
        self.shares = background.shares()
        self.values: list[NDArray[Any]] = []
        self.cells: list[NDArray[np.int64]] = []
        self.share_changes: list[FloatArray] = []
        # One place in each of n equal strata: cells get their shares of the rows.
        ranks = background.places(n_rows, self.shares, self.generator).argsort(axis=0)
        places = (ranks.argsort(axis=0) + self.generator.random(ranks.shape)) / n_rows
        self._total_weight = np.zeros((_DRAWS, n_rows))
        for place, column in enumerate(background.columns):
            self.cells.append(cells_at(self.shares[place], places[:, place]))
            self.values.append(column.values(self.cells[place], self.generator.random(n_rows)))
            posterior = column.posterior(background.n_rows)
            uniforms = self.generator.random((2, _DRAWS, len(column.counts[column.counted])))
            drawn = column.drawable(posterior.draws(uniforms))
            self.share_changes.append(drawn - self.shares[place])
            self._total_weight += self.weight_change(place)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._total_weight.shape[1]

    def weight_change(self, place: int) -> FloatArray:
        """Return how much more often each row counts in each draw, because of one column.

        Returns
        -------
        ndarray of float64, shape (n_draws, n_rows)
            To first order in the changes of the shares, in which columns add up. Products of
            ratios, of which these are the first terms, have heavy tails where there are many
            columns.
        """
        shares = self.shares[place]
        ratios = self.share_changes[place] / np.where(shares > 0, shares, 1.0)
        return ratios[:, self.cells[place]]

    def weight_changes(self, without: int | None = None) -> FloatArray:
        """Return the sum of :meth:`weight_change` over all columns but one.

        Parameters
        ----------
        without : int, default=None
            A column whose values do not matter.
        """
        return self._total_weight - (0.0 if without is None else self.weight_change(without))
