"""How well a surrogate stands for the black box: three noisy sums, and what follows from them.

All of it is integers. A row's label and the surrogate's prediction are numbers of lattice units,
LATTICE of them to the range of the outputs; the prediction is a sum of looked-up integers.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.training import TrainedTerms, TrainingTask
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.release import ReleaseDoor
from interpret_dp.schema import Continuous, encode_column, encode_target

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIDELITY", "Fidelity", "FidelitySums", "fidelity_of", "release_fidelity"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Name of the planned releases, one a surrogate model.
FIDELITY = "fidelity"

# What a row adds: half its label's squared distance from the middle, half the size of its error,
# and its squared error, each as a share of LATTICE. Squared errors decide two of three figures and
# are small, so that they get the most of the norm, sqrt(1/4 + 1/4 + 1).
_ROW_NORM = math.isqrt(3 * LATTICE**2 // 2) + 1
_SHARES = np.array([0.5, 0.5, 1.0])
# A variance below so many standard deviations of its noise is not told apart from none.
_LEAST_SPREAD = 2.0


@dataclass(frozen=True)
class FidelitySums:
    """Released sums of one surrogate model, in ranges of the output and rows; public.

    Attributes
    ----------
    sums : ndarray of float64, shape (3,)
        Of squared distances of the labels from the surrogate's intercept, of absolute errors, and
        of squared errors.
    noise : ndarray of float64, shape (3,)
        Standard deviation of the noise of each.
    n_rows : float
        Released number of rows, from the fit.
    """

    sums: Floats
    noise: Floats
    n_rows: float


@dataclass(frozen=True)
class Fidelity:
    """How well the surrogate stands for the model on the explanation data, released; public.

    Attributes
    ----------
    table : DataFrame
        One row an output of the model, by its number. ``rmse`` and ``mean_absolute_error`` of the
        surrogate, in units of the output; an error of more than the output's range counts as the
        range. ``r2`` is the share of the output's variance that the surrogate explains: at most 1,
        below 0 where a constant would be nearer, NaN where the noise hides the variance.
    standard_errors : DataFrame
        Of the same form: what the noise of the released sums does to each figure. That the rows
        are a sample is not in it, nor is the noise of their number, which the fit released and
        which is far more precise.
    """

    table: pd.DataFrame
    standard_errors: pd.DataFrame

    def sentence(self, output: int) -> str:
        """Return the figures of one output as a sentence."""
        figures, errors = self._row(self.table, output), self._row(self.standard_errors, output)
        size = (
            f"it is off by {_with_error(figures[1], errors[1])} on average (root mean square "
            f"{_with_error(figures[0], errors[0])})"
        )
        share, uncertainty = 100 * figures[2], 100 * errors[2]
        if math.isnan(share):
            return (
                f"Whether the surrogate explains the model's output {output} cannot be told: the "
                f"noise is as large as the output's variance; {size}."
            )
        if share <= 0:
            return (
                f"The surrogate does not explain the model's output {output}: a constant would be "
                f"as near, as far as the noise lets see; {size}."
            )
        return (
            f"The surrogate explains about {share:.0f} % (± {math.ceil(uncertainty)} %) of the "
            f"variance of the model's output {output}; {size}."
        )

    @staticmethod
    def _row(table: pd.DataFrame, output: int) -> list[float]:
        found: list[float] = np.asarray(table.loc[output], dtype=np.float64).tolist()
        return found

    def __str__(self) -> str:
        """Return the sentences of all outputs."""
        return " ".join(self.sentence(output) for output in self.table.index)

    def _repr_html_(self) -> str:
        """Show the figures with their standard errors, and the sentences, in a notebook."""
        shown = self.table.round(4).astype(str) + " ± " + self.standard_errors.round(4).astype(str)
        return f"{shown.to_html()}<p>{html.escape(str(self))}</p>"


def release_fidelity(
    rows: PrivateRows,
    trained: TrainedTerms,
    task: TrainingTask,
    config: TrainerConfig,
    door: ReleaseDoor,
) -> FidelitySums:
    """Release how far the surrogate's predictions are from the labels.

    Parameters
    ----------
    rows : PrivateRows
        With the labels as targets; at most as many of each unit as the door's neighbourhood says.
    trained : TrainedTerms
        The surrogate model; public.
    task : TrainingTask
        With a Continuous target.
    config : TrainerConfig
    door : ReleaseDoor
        Open, with a release :data:`FIDELITY` left.
    """
    exact = _sums(rows, trained, task, config)
    # Every row adds to every sum with the same sign.
    noisy, sigma = door.gaussian(FIDELITY, exact[np.newaxis], row_norm=_ROW_NORM, aligned=True)
    in_units = LATTICE * _SHARES
    return FidelitySums(noisy[0] / in_units, sigma / in_units, trained.n_rows)


def _sums(
    rows: PrivateRows, trained: TrainedTerms, task: TrainingTask, config: TrainerConfig
) -> Integers:
    """Return the exact sums in lattice units, shape (3,); private."""
    target = task.target
    if not isinstance(target, Continuous):
        raise TypeError(f"The target is {target!r}; it must be Continuous.")
    width = target.upper - target.lower
    middle = _units(trained.intercept[0] - target.lower, width)
    predicted = np.full(rows.table.n_rows, middle, dtype=np.int64)
    for column, spec, bins, scores in zip(
        task.columns, task.specs, trained.bins, trained.scores, strict=True
    ):
        codes = encode_column(rows.table.column(column), spec, config.n_fine_bins)
        predicted += _units(scores, width)[bins.code_map][codes]
    labels = encode_target(rows.y, target, rows.table.n_rows)
    is_known = ~np.isnan(labels)
    places = _units(labels[is_known] - target.lower, width)
    spread = np.clip(places - middle, -LATTICE, LATTICE)
    errors = np.clip(places - predicted[is_known], -LATTICE, LATTICE)
    added = (spread**2 // (2 * LATTICE), np.abs(errors) // 2, errors**2 // LATTICE)
    return np.array([int(part.sum()) for part in added], dtype=np.int64)


def _units(values: NDArray[np.float64] | np.float64, width: float) -> Integers:
    """Return values of the output as lattice units, each rounded by itself."""
    # Far beyond any score, and far below where a sum over all terms would overflow.
    shares = np.clip(np.asarray(values) / width, -(2.0**20), 2.0**20)
    return np.trunc(shares * LATTICE).astype(np.int64)


def fidelity_of(released: Sequence[FidelitySums], models: Sequence[int], width: float) -> Fidelity:
    """Return the figures of released sums, and what noise of their size does to them.

    Parameters
    ----------
    released : sequence of FidelitySums
        One a surrogate model.
    models : sequence of int, shape (n_outputs,)
        Which of them stands for each output.
    width : float
        The range of the outputs.
    """
    import pandas as pd

    found = [_figures(released[model], width) for model in models]
    columns = ["rmse", "mean_absolute_error", "r2"]
    return Fidelity(*(pd.DataFrame(part, columns=columns) for part in zip(*found, strict=True)))


def _figures(released: FidelitySums, width: float) -> tuple[list[float], list[float]]:
    """Return RMSE, mean absolute error and R2, and their standard errors to first order."""
    spread, absolute, squared = released.sums.tolist()
    n_rows = max(released.n_rows, 1.0)
    of_spread, of_mean, of_square = (released.noise / n_rows).tolist()
    mean = min(max(absolute / n_rows, 0.0), 1.0)
    # No mean square is below the squared mean, nor above the mean of numbers up to 1.
    square = min(max(squared / n_rows, mean**2), mean)
    root = math.sqrt(square)
    of_root = math.sqrt(of_square)
    # Noise on a square near 0 moves its root by at most the root of the noise.
    if 2 * root > of_root:
        of_root = of_square / (2 * root)
    share, of_share = math.nan, math.nan
    variance = spread / n_rows
    if variance > _LEAST_SPREAD * of_spread:
        share = 1.0 - square / variance
        of_share = math.hypot(of_square, (1.0 - share) * of_spread) / variance
    return [width * root, width * mean, share], [width * of_root, width * of_mean, of_share]


def _with_error(figure: float, error: float) -> str:
    return f"{figure:.2g} ± {error:.1g}"
