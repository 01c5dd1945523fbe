"""SHAP values of any model from a released background, computed by the library shap.

shap sees a table of zeros and ones: whether a value of the asked row stays, or that of a row of the
background takes its place. So rows may be in any container. Rows of the background are several
outputs of one function to it, which gives the SHAP values against each of them. Their mean is the
SHAP value against the background, and means with other weights tell what its noise does.

Source: Lundberg and Lee (2017); Strumbelj and Kononenko (2014) for permutations.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._optional import import_optional
from interpret_dp.lime.background_rows import BackgroundRows
from interpret_dp.lime.perturbations import Ask, LocalFit
from interpret_dp.released.background import Background

__all__ = ["ShapValues", "load_shap"]

FloatArray = NDArray[np.float64]

_GROUPS = 32  # of rows of the background, each with a permutation of the columns and its reverse
_ROWS_PER_GROUP = 32


def load_shap() -> ModuleType:
    """Return the library shap, or raise ModuleNotFoundError with the command that installs it."""
    return import_optional("shap", extra="shap", purpose="Computing SHAP values")


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
            n_columns), and what stands in the other places, column by column.

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
        values = np.concatenate([found for found, _ in parts], axis=1)
        baseline = float(np.mean([base for _, base in parts]))
        effects = values.mean(axis=1)
        means = np.array([found.mean(axis=1) for found, _ in parts])
        shifts = (values - effects[:, np.newaxis]) @ self._weight_changes.T / len(self._rows)
        variances = means.var(axis=0, ddof=1) / _GROUPS + shifts.var(axis=1)
        return LocalFit(effects, np.sqrt(variances), baseline, None)

    def _explain_group(self, ask: Ask, group: int) -> tuple[FloatArray, float]:
        """Return SHAP values against each row of a group, and the mean output over these rows."""
        own = slice(group * _ROWS_PER_GROUP, (group + 1) * _ROWS_PER_GROUP)
        usual = [cells[own] for cells in self._rows.values]

        def outputs(kept: FloatArray) -> FloatArray:
            values: Sequence[Any] = [np.tile(cells, len(kept)) for cells in usual]
            found = ask(np.repeat(kept > 0.5, _ROWS_PER_GROUP, axis=0), values)
            return found.reshape(len(kept), _ROWS_PER_GROUP)

        n_columns = len(usual)
        masker = self._shap.maskers.Independent(np.zeros((1, n_columns)))
        explainer = self._shap.PermutationExplainer(outputs, masker, seed=group)
        asked = np.ones((1, n_columns))
        found = explainer(asked, max_evals=2 * n_columns + 1, silent=True)
        return found.values[0], float(np.mean(found.base_values))
