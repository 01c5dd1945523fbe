"""Rows drawn from a background, and how common each would be in a background without noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released.background import Background, public_generator
from interpret_dp.schema.encode import encode_column
from interpret_dp.schema.tables import open_table

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
        table = open_table(background.sample(n_rows, seed), background.names)
        self.values: list[NDArray[Any]] = []
        self.cells: list[NDArray[np.int64]] = []
        self.shares = background.shares()
        self.share_changes: list[FloatArray] = []
        self._total_weight = np.zeros((_DRAWS, n_rows))
        for place, column in enumerate(background.columns):
            spec, cuts = column.feature.spec, column.feature.cuts
            cells = encode_column(table.column(place), spec, 1, edges=cuts).astype(np.int64)
            self.cells.append(cells)
            self.values.append(column.values(cells, self.generator.random(n_rows)))
            posterior = column.posterior(background.n_rows)
            uniforms = self.generator.random((2, _DRAWS, len(column.counts[column.counted])))
            drawn = column.drawable(posterior.draws(uniforms))
            self.share_changes.append(drawn - self.shares[place])
            self._total_weight += self._weight(place)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._total_weight.shape[1]

    def weight_changes(self, without: int | None = None) -> FloatArray:
        """Return how much more often each row counts in each draw, shape (n_draws, n_rows).

        Parameters
        ----------
        without : int, default=None
            A column whose values do not matter.

        Notes
        -----
        To first order in the changes of the shares. Products of ratios, of which these are the
        first terms, have heavy tails where there are many columns.
        """
        return self._total_weight - (0.0 if without is None else self._weight(without))

    def _weight(self, place: int) -> FloatArray:
        shares = self.shares[place]
        ratios = self.share_changes[place] / np.where(shares > 0, shares, 1.0)
        return ratios[:, self.cells[place]]
