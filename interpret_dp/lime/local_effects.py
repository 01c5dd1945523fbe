"""Effects of the values of one row on any model's output, against rows of a released background.

LIME. As in LIME, the row is perturbed: each value stays with probability one half, and is otherwise
replaced by one drawn from the background. An additive model of the black box's outputs for these
rows is fitted: each column has one effect if its value stays, and one in each cell that a
replacement may fall into. The effect of a value is the difference between keeping it and the mean
over its replacements.

SHAP. The library shap sees a table of zeros and ones: whether a value of the row stays, or that of
a row of the background takes its place. So rows may be in any container. Rows of the background are
several outputs of one function to it, which gives the SHAP values against each of them. Their mean
is the SHAP value against the background, and means with other weights show the error of its noise.

Everything follows from the released background, the model and the explained row (post-processing).
Sources: Ribeiro, Singh and Guestrin (2016); masks come with their complements, as in Covert and Lee
(2021), "Improving KernelSHAP". Lundberg and Lee (2017); Strumbelj and Kononenko (2014) for
permutations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._optional import load_shap
from interpret_dp.released.background import Background, cells_at, public_generator

FloatArray = NDArray[np.float64]

_DRAWS = 64  # of the background, from its posterior


class BackgroundRows:
    """Public rows, with draws of the background's shares from their posterior.

    A draw of the shares makes some rows more common and others less. Means over the rows with these
    weights are those of a background of such shares, without further predictions of the model.

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
        For further draws.
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


Ask = Callable[[NDArray[np.bool_], Sequence[NDArray[Any]]], FloatArray]
"""The model's output for copies of one row: which cells stay, and the values of the others."""

_ROWS = 4_096  # lime asks about 5,000
_ROWS_PER_PARAMETER = 8
_RIDGE = 1.0
_ROUNDING = 1e-12  # of the outputs: smaller differences count as none


@dataclass(frozen=True)
class LocalFit:
    """An additive model of a black box around one row; public.

    Attributes
    ----------
    effects : ndarray of float64, shape (n_columns,)
        Mean change of the output if the row's value replaces one of the background.
    standard_errors : ndarray of float64, shape (n_columns,)
        From the sampling of rows, and from the noise of the background.
    baseline : float
        Prediction of the fit where all values are of the background.
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
    is_original : ndarray of bool, shape (n, n_columns)
        Which values of the explained row a perturbed row has.
    values : list of ndarray, shape (n,) each
        Values of the other cells, column by column.
    """

    meaning = "of this value, against typical ones"

    def __init__(self, background: Background, seed: int = 0) -> None:
        n_columns = len(background.columns)
        n_rows = max(_ROWS, _ROWS_PER_PARAMETER * (n_columns + 1))
        rows = BackgroundRows(background, n_rows, seed)
        half = rows.generator.random((n_rows // 2, n_columns)) < 0.5
        self.is_original = np.concatenate((half, ~half))
        self.values = rows.values
        most_groups = n_rows // _ROWS_PER_PARAMETER // n_columns - 1
        # Of the groups of each column's cells, in each draw of the background.
        self._share_changes: list[FloatArray] = []
        self._weight_changes = np.zeros(rows.weight_changes().shape)
        blocks = [np.ones((n_rows, 1)), self.is_original.astype(np.float64)]
        contrasts = [np.zeros((n_columns, 1)), np.eye(n_columns)]
        for place, shares in enumerate(rows.shares):
            is_replaced = ~self.is_original[:, place]
            self._weight_changes += rows.weight_change(place) * is_replaced
            groups = _groups(shares, most_groups)
            blocks.append(groups[rows.cells[place]] * is_replaced[:, np.newaxis])
            contrast = np.zeros((n_columns, groups.shape[1]))
            contrast[place] = -(shares @ groups)
            contrasts.append(contrast)
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
        return len(self.is_original)

    def explain(self, ask: Ask) -> LocalFit:
        """Return the fit to the model's outputs for the perturbed rows."""
        return self.fit(ask(self.is_original, self.values))

    def fit(self, outputs: FloatArray) -> LocalFit:
        """Return the fit to the model's outputs for the perturbed rows.

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


_GROUPS = 32  # of rows of the background, each with a permutation of the columns and its reverse
_ROWS_PER_GROUP = 32


class ShapValues:
    """SHAP values against rows of a background: the same ones for all rows that are explained.

    Parameters
    ----------
    background : Background
    seed : int, default=0
        Of the rows.

    Raises
    ------
    ModuleNotFoundError
        If shap is not installed.
    """

    meaning = "SHAP value, against rows of the background"

    def __init__(self, background: Background, seed: int = 0) -> None:
        self._shap = load_shap()
        self._rows = BackgroundRows(background, _GROUPS * _ROWS_PER_GROUP, seed)
        self._weight_changes = self._rows.weight_changes()

    def explain(self, ask: Ask) -> LocalFit:
        """Return the SHAP values of one row; they add up to its output minus the baseline.

        Parameters
        ----------
        ask : callable
            Returns the model's output for copies of the row: which cells stay, shape (n,
            n_columns), and the values of the others, column by column.

        Notes
        -----
        Each group of rows has a permutation of its own, so the sampling error over groups is that
        of rows and permutations. Interactions of two columns need no permutation but one and its
        reverse. The error of the noise is that of the mean with other weights of the rows.
        """
        # shap seeds and uses NumPy's global generator, which is the user's.
        state = np.random.get_state()  # noqa: NPY002
        try:
            parts = [self._explain_group(ask, group) for group in range(_GROUPS)]
        finally:
            np.random.set_state(state)  # noqa: NPY002
        values = np.concatenate([group for group, _ in parts], axis=1)
        baseline = float(np.mean([base for _, base in parts]))
        effects = values.mean(axis=1)
        means = np.array([group.mean(axis=1) for group, _ in parts])
        shifts = (values - effects[:, np.newaxis]) @ self._weight_changes.T / len(self._rows)
        variances = means.var(axis=0, ddof=1) / _GROUPS + shifts.var(axis=1)
        return LocalFit(effects, np.sqrt(variances), baseline, None)

    def _explain_group(self, ask: Ask, group: int) -> tuple[FloatArray, float]:
        """Return SHAP values against each row of a group, and the mean output over these rows."""
        in_group = slice(group * _ROWS_PER_GROUP, (group + 1) * _ROWS_PER_GROUP)
        usual = [cells[in_group] for cells in self._rows.values]

        def outputs(is_original: FloatArray) -> FloatArray:
            values: Sequence[Any] = [np.tile(cells, len(is_original)) for cells in usual]
            predictions = ask(np.repeat(is_original > 0.5, _ROWS_PER_GROUP, axis=0), values)
            return predictions.reshape(len(is_original), _ROWS_PER_GROUP)

        n_columns = len(usual)
        masker = self._shap.maskers.Independent(np.zeros((1, n_columns)))
        explainer = self._shap.PermutationExplainer(outputs, masker, seed=group)
        row = np.ones((1, n_columns))
        explanation = explainer(row, max_evals=2 * n_columns + 1, silent=True)
        return explanation.values[0], float(np.mean(explanation.base_values))
