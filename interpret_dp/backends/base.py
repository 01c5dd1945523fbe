"""The protocol between trainers and rows: exact integer sums, and nothing else.

Every sum is an integer, so it does not depend on the order of rows, threads or workers. Every
row contributes through a rule that looks at that row and at public numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE

Integers: TypeAlias = NDArray[np.int64]
Integers32: TypeAlias = NDArray[np.int32]
CodeArray: TypeAlias = NDArray[np.unsignedinteger]
Pairs: TypeAlias = Sequence[tuple[int, int]]  # of features
Maps: TypeAlias = Sequence[NDArray[np.uint16]]  # from the codes of each feature

#: Scores of rows saturate here (lattice units), so that no sum of updates can wrap around.
MAX_SCORE = 2**30
#: The widest bound of a regression's residuals, in lattice units: 64 clips.
MAX_RESIDUAL = 64 * LATTICE


class AdditiveRows(Protocol):
    """Rows of one additive model while it is trained; the sums are private.

    A row has ``n_scores`` scores: one, or one per class of a multiclass model; and a weight, as a
    share of the largest one. One lattice unit of weight is the largest weight over ``LATTICE``.

    Attributes
    ----------
    n_scores : int
    residual_norm : int
        Bound on the L2 norm of one row's clipped residuals, in lattice units; public. It holds for
        the integers themselves.
    target_norm : int
        Bound on the L2 norm of one row's part in :meth:`target_sums`; public.
    """

    n_scores: int
    residual_norm: int
    target_norm: int

    def bin_counts(self, n_bins: Sequence[int]) -> list[Integers]:
        """Add the weights per fine bin, in lattice units; one array of shape (n_bins[f],) each."""

    def target_sums(self) -> Integers:
        """Sum the target on the lattice: class counts, or rows, target and its square.

        A number is centred and scaled to [-1, 1] first. Exposures and their squares follow, where
        rows have them. What any two rows contribute has a non-negative inner product.
        """

    def merge_bins(self, maps: Maps) -> None:
        """Replace every feature's fine codes by ``maps[feature][code]``."""

    def begin(self, scores: Integers) -> None:
        """Set the scores of every row, shape (n_scores,), in lattice units, on top of its own."""

    def advance(
        self, updated: Integers, updates: Integers32, wanted: Integers, n_bins: int
    ) -> Integers:
        """Add updates to the scores, then sum residuals per bin, in one pass over the rows.

        Parameters
        ----------
        updated : ndarray of int64, shape (n_updated,)
            Features whose shape functions changed.
        updates : ndarray of int32, shape (n_updated, n_bins, n_scores)
            The change per bin, in lattice units.
        wanted : ndarray of int64, shape (n_wanted,)
            Features whose residual sums are asked for.
        n_bins : int
            Width of the answer.

        Returns
        -------
        ndarray of int64, shape (n_wanted, n_bins, n_scores)
            Sums of the clipped residuals times the weights.
        """

    def product_sums(self, wanted: Sequence[int], functions: Sequence[Integers]) -> Integers:
        """Sum the products of what the codes of a row stand for.

        Parameters
        ----------
        wanted : sequence of int
            Some features.
        functions : sequence of ndarray of int64, shape (n_codes, n_functions) each
            For each of them the vector of each of its codes, of size ``PRODUCT_UNIT`` at most.

        Returns
        -------
        ndarray of int64, shape (n_all_functions, n_all_functions)
            Sums over the rows of ``vector vector'`` times the weight, where a row's vector is those
            of its features one after the other, and its weight is rounded down to a whole number of
            1 / 4096 of the largest.
        """

    def pair_sums(self, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> list[Integers]:
        """Sum residuals at the present scores over the cells of pairs of features.

        Parameters
        ----------
        pairs : sequence of (int, int)
            Features of each pair.
        maps : sequence of ndarray of uint16
            For each feature the coarse bin of each of its codes.
        widths : sequence of int
            For each feature its number of coarse bins.

        Returns
        -------
        list of ndarray of int64, shape (widths[first], widths[second], n_scores) each
            Sums of the clipped residuals times the weights. A row is in one cell of each pair.
        """

    def pair_up(self, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> None:
        """Replace the features by pairs of them, and start all rows from their present scores.

        Afterwards feature k of every other method is pair k, whose code is
        ``maps[first][code] * widths[second] + maps[second][code]``.
        """


@runtime_checkable
class RegressionRows(AdditiveRows, Protocol):
    """Rows with a number, whose residuals have no bound of their own."""

    def target_counts(self, edges: NDArray[np.float64]) -> Integers:
        """Add the weights of the rows in cells of the target, in lattice units.

        Parameters
        ----------
        edges : ndarray of float64, shape (n_cells - 1,)
            Increasing, at most 65,535. A target on an edge is in the cell above.
        """

    def residual_counts(self, edges: Integers) -> Integers:
        """Add the weights of the rows in cells of target minus score, in lattice units.

        Parameters
        ----------
        edges : ndarray of int64, shape (n_cells - 1,)
            As for :meth:`target_counts`, in lattice units.
        """

    def clip_residuals(self, clip: float, exposure: float = 1.0, mean: float = 1.0) -> None:
        """Choose the unit of scores and residuals, which bounds the latter, before any round.

        Where rows have exposures, scores are those of one of ``exposure`` times the largest.

        Parameters
        ----------
        clip : float
        mean : float
            Mean where boosting starts, for weights that follow the mean.
        """

    def bound_residuals(self, norm: int, plain: bool = False) -> None:
        """Clip residuals at another bound from now on, which is ``residual_norm`` then.

        Parameters
        ----------
        norm : int
            In lattice units, from 1 to ``MAX_RESIDUAL``.
        plain : bool
            Whether residuals have no weights that follow the mean: target minus mean.
        """


@runtime_checkable
class SurvivalRows(RegressionRows, Protocol):
    """Rows with a time and an event or none; exposures are cumulative hazards."""

    def risk_sums(self, table: Integers32, lowest: int) -> Integers:
        """Add weight times hazard ratio of the rows in each cell of time, in lattice units.

        Parameters
        ----------
        table : ndarray of int32
            Ratios from 0 to ``LATTICE``, by steps of the score without its exposure.
        lowest : int
            Step of the first entry.
        """

    def follow(self, hazards: Integers) -> None:
        """Take another cumulative hazard as exposure from now on.

        Parameters
        ----------
        hazards : ndarray of int64, shape (n_places,)
            Its logarithm at each place of time, in lattice units.
        """
