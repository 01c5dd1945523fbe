"""Predictions of a model for rows in which usual values replace some of the row's own.

As in LIME, the asked row is perturbed: each value is kept with probability one half, and otherwise
replaced by one drawn from the background. An additive model of what the black box says of these
rows is fitted: each column has one effect if its value is kept, and one in each cell that a
replacement may fall into. The effect of a value is the difference between keeping it and the mean
over its replacements.

All of it follows from the released background, the model and the asked row (post-processing).
Source: Ribeiro, Singh and Guestrin (2016); masks come with their complements, as in Covert and Lee
(2021), "Improving KernelSHAP".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.background_rows import BackgroundRows
from interpret_dp.released.background import Background

__all__ = ["Ask", "LocalFit", "Perturbations"]

FloatArray = NDArray[np.float64]
Ask = Callable[[NDArray[np.bool_], Sequence[NDArray[Any]]], FloatArray]
"""The model's output for copies of one row: which cells stay, and what replaces the others."""

_ROWS = 4_096  # lime asks about 5,000
_ROWS_PER_PARAMETER = 8
_RIDGE = 1.0
_ROUNDING = 1e-12  # of the outputs: a model that says the same of all rows


@dataclass(frozen=True)
class LocalFit:
    """An additive model of a black box around one row; public.

    Attributes
    ----------
    effects : ndarray of float64, shape (n_columns,)
        How much the output changes, on average, if the row's value takes the place of a usual one.
    standard_errors : ndarray of float64, shape (n_columns,)
        From the sampling of rows, and from the noise of the background.
    baseline : float
        What the fit says where all values are usual ones.
    fidelity : float or None
        Share of the variance of the outputs that the fit explains; 1 if they do not vary. None:
        nothing was fitted.
    """

    effects: FloatArray
    standard_errors: FloatArray
    baseline: float
    fidelity: float | None

    @property
    def prediction(self) -> float:
        """Prediction of the fit for the row itself."""
        return self.baseline + float(self.effects.sum())

    @property
    def shown(self) -> dict[str, float] | None:
        """Description of the fit in figures."""
        if self.fidelity is None:
            return None
        return {"prediction": self.prediction, "fidelity": self.fidelity}


class Perturbations:
    """Replacements for the values of any row: the same ones for all rows that are explained.

    Parameters
    ----------
    background : Background
    seed : int, default=0
        Of the rows and draws. Explanations of one seed are the same in every call.

    Attributes
    ----------
    kept : ndarray of bool, shape (n, n_columns)
        Which values of the asked row a perturbed row keeps.
    values : list of ndarray, shape (n,) each
        What stands in the other places, column by column.
    """

    meaning = "of this value, against the usual ones"

    def __init__(self, background: Background, seed: int = 0) -> None:
        n_columns = len(background.columns)
        n_rows = max(_ROWS, _ROWS_PER_PARAMETER * (n_columns + 1))
        rows = BackgroundRows(background, n_rows, seed)
        half = rows.generator.random((n_rows // 2, n_columns)) < 0.5
        self.kept = np.concatenate((half, ~half))
        self.values = rows.values
        most_groups = n_rows // _ROWS_PER_PARAMETER // n_columns - 1
        # Of the groups of each column's cells, in each draw of the background.
        self._share_changes: list[FloatArray] = []
        self._weight_changes = np.zeros(rows.weight_changes().shape)
        blocks = [np.ones((n_rows, 1)), self.kept.astype(np.float64)]
        contrasts = [np.zeros((n_columns, 1)), np.eye(n_columns)]
        for place, shares in enumerate(rows.shares):
            replaced = ~self.kept[:, place]
            self._weight_changes += rows.weight_change(place) * replaced
            groups = _groups(shares, most_groups)
            blocks.append(groups[rows.cells[place]] * replaced[:, np.newaxis])
            own = np.zeros((n_columns, groups.shape[1]))
            own[place] = -(shares @ groups)
            contrasts.append(own)
            self._share_changes.append(rows.share_changes[place] @ groups)
        design = np.concatenate(blocks, axis=1)
        ridge = np.zeros(design.shape[1])
        ridge[1 + n_columns :] = _RIDGE
        self._design = design
        self._solve = np.linalg.solve(design.T @ design + np.diag(ridge), design.T)
        self._contrasts = np.concatenate(contrasts, axis=1)
        self._effects = self._contrasts @ self._solve

    def __len__(self) -> int:
        """Return the number of perturbed rows."""
        return len(self.kept)

    def explain(self, ask: Ask) -> LocalFit:
        """Ask the model about the perturbed rows and return the fit to its answers."""
        return self.fit(ask(self.kept, self.values))

    def fit(self, outputs: FloatArray) -> LocalFit:
        """Return the fit to what the model says of the perturbed rows.

        Parameters
        ----------
        outputs : ndarray of float64, shape (n,)

        Notes
        -----
        The fit is a linear function of the outputs. Two errors are added: that of the sampled rows,
        from the residuals (White 1980), and that of the noise. Each draw of the background from its
        posterior gives the rows other weights, and the replacements of a column other shares: how
        the effects differ between draws is the error that the noise causes.
        """
        largest = float(np.abs(outputs).max())
        if np.ptp(outputs) <= _ROUNDING * largest:
            nothing = np.zeros(len(self._contrasts))
            return LocalFit(nothing, nothing, float(outputs.mean()), 1.0)
        coefficients = self._solve @ outputs
        residuals = outputs - self._design @ coefficients
        effects = self._contrasts @ coefficients
        freedom = len(outputs) / (len(outputs) - len(coefficients))
        influences = self._effects * residuals
        sampling_variance = freedom * (influences**2).sum(axis=1)
        shifts = influences @ self._weight_changes.T
        first = 1 + len(self._share_changes)
        for place, changes in enumerate(self._share_changes):
            last = first + changes.shape[1]
            shifts[place] -= changes @ coefficients[first:last]
            first = last
        return LocalFit(
            effects,
            np.sqrt(sampling_variance + shifts.var(axis=1)),
            float(coefficients[0] + coefficients[1 : 1 + len(effects)].sum() - effects.sum()),
            1.0 - float(residuals.var()) / float(outputs.var()),
        )


def _groups(shares: FloatArray, most: int) -> FloatArray:
    """Return which group each cell is in, one column a group: at most so many, of similar shares.

    No group at all where rows are too few for it; the effects are then the same, with more noise.
    """
    possible = np.flatnonzero(shares)
    if min(most, len(possible)) < 2:
        return np.zeros((len(shares), 0))
    middles = shares[possible].cumsum() - shares[possible] / 2.0
    number = np.arange(len(possible)) if len(possible) <= most else np.floor(middles * most)
    number = np.unique(number, return_inverse=True)[1]
    groups = np.zeros((len(shares), int(number.max()) + 1))
    groups[possible, number] = 1.0
    return groups
