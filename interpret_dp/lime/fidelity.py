"""Fidelity of a surrogate to the black box, from four noisy sums.

All of it is integers. A row's label and the surrogate's prediction are numbers of lattice units,
LATTICE of them to the range of the outputs; the prediction is a sum of looked-up integers, from
which a probability is looked up if the surrogate was fitted to logits.
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
from interpret_dp.backends.kernels import sigmoid_table
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.training import TrainedTerms, TrainingTask
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import Continuous, Table, encode_column

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Name of the planned releases, one a surrogate model.
FIDELITY = "fidelity"

# What a row adds: half its label's squared distance from the middle, a quarter of its label, half
# the size of its error, and its squared error, each as a share of LATTICE. Squared errors decide
# two of three figures and are small, so that they get the most of the norm,
# sqrt(1/4 + 1/16 + 1/4 + 1).
_ROW_NORM = 5 * LATTICE // 4
_SHARES = np.array([0.5, 0.25, 0.5, 1.0])
# A variance below so many standard deviations of its noise counts as hidden by it.
_LEAST_SPREAD = 2.0


@dataclass(frozen=True)
class FidelitySums:
    """Released sums of one surrogate model, in ranges of the output and rows; public.

    Attributes
    ----------
    sums : ndarray of float64, shape (4,)
        Of squared distances of the labels from ``middle``, of labels above the lower bound, of
        absolute errors, and of squared errors.
    noise : ndarray of float64, shape (4,)
        Standard deviation of the noise of each.
    n_rows : float
        Released number of rows, from the fit.
    middle : float
        The surrogate's prediction without effects, above the lower bound.
    """

    sums: Floats
    noise: Floats
    n_rows: float
    middle: float


@dataclass(frozen=True)
class Fidelity:
    """Released fidelity of the surrogate to the model on the explanation data; public.

    Attributes
    ----------
    table : DataFrame
        One row an output of the model, by its name. ``rmse`` and ``mean_absolute_error`` of the
        surrogate, in units of the output; predictions are clipped to its range. ``r2`` is the share
        of the output's variance that the surrogate explains: at most 1, below 0 where a constant
        would be nearer, NaN where the noise hides the variance.
    standard_errors : DataFrame
        Of the same form: errors by the noise of the released sums. The sampling error of the rows
        is not in them, nor the noise of the number of rows, which the fit released far more
        precisely.
    """

    table: pd.DataFrame
    standard_errors: pd.DataFrame

    def sentence(self, output: int) -> str:
        """Return the figures of one output, by its number, as a sentence."""
        figures, errors = self.table.iloc[output], self.standard_errors.iloc[output]
        root, mean, (r2, error) = zip(figures, errors, strict=True)
        name = self.table.index[output]
        size = (
            f"it is off by {_with_error(*mean)} on average (root mean square {_with_error(*root)})"
        )
        share, uncertainty = 100 * r2, 100 * error
        if math.isnan(share):
            return (
                f"Whether the surrogate explains the model's {name} is not known: the "
                f"noise is as large as the output's variance; {size}."
            )
        if share <= 0:
            return (
                f"The surrogate does not explain the model's {name}: a constant would be "
                f"as close, within the noise; {size}."
            )
        return (
            f"The surrogate explains about {share:.0f} % (± {math.ceil(uncertainty)} %) of the "
            f"variance of the model's {name}; {size}."
        )

    def __str__(self) -> str:
        """Return the sentences of all outputs."""
        return " ".join(self.sentence(output) for output in range(len(self.table)))

    def _repr_html_(self) -> str:
        """Show the figures with their standard errors, and the sentences, in a notebook."""
        shown = self.table.round(4).astype(str) + " ± " + self.standard_errors.round(4).astype(str)
        return f"{shown.to_html()}<p>{html.escape(str(self))}</p>"


def release_fidelity(
    table: Table,
    labels: Integers,
    trained: TrainedTerms,
    task: TrainingTask,
    config: TrainerConfig,
    session: ReleaseSession,
    *,
    has_logits: bool,
) -> FidelitySums:
    """Release how far the surrogate's predictions are from the labels.

    Parameters
    ----------
    table : Table
        At most as many rows of each unit as the session's neighbourhood says.
    labels : ndarray of int64, shape (n_rows,)
        In lattice units above the lower bound of the output. Private.
    trained : TrainedTerms
        The surrogate model; public.
    task : TrainingTask
    config : TrainerConfig
    session : ReleaseSession
        Open, with a release :data:`FIDELITY` left.
    has_logits : bool
        Whether the scores of the model are logits of a probability.
    """
    place = _probabilities if has_logits else _clipped
    lower, width = (0.0, 1.0) if has_logits else _range(task)
    start = int(_units(trained.intercept[0] - lower, width))
    scores = np.full(table.n_rows, start, dtype=np.int64)
    for column, spec, bins, bin_scores in zip(
        task.columns, task.specs, trained.bins, trained.scores, strict=True
    ):
        codes = encode_column(
            table.column(column), spec, config.n_fine_bins, edges=config.fine_edges(spec)
        )
        scores += _units(bin_scores, width)[bins.code_map][codes]
    middle = int(place(np.array(start)))
    exact = _sums(labels, place(scores), middle)
    # Every row adds to every sum with the same sign.
    noisy, sigma = session.gaussian(FIDELITY, exact[np.newaxis], row_norm=_ROW_NORM, aligned=True)
    in_units = LATTICE * _SHARES
    return FidelitySums(noisy[0] / in_units, sigma / in_units, trained.n_rows, middle / LATTICE)


def _sums(labels: Integers, predicted: Integers, middle: int) -> Integers:
    """Return the exact sums in lattice units, shape (4,); private."""
    spread, errors = labels - middle, labels - predicted
    added = (
        spread**2 // (2 * LATTICE),
        labels // 4,
        np.abs(errors) // 2,
        errors**2 // LATTICE,
    )
    return np.array([int(part.sum()) for part in added], dtype=np.int64)


def _range(task: TrainingTask) -> tuple[float, float]:
    if not isinstance(task.target, Continuous):
        raise TypeError(f"The target is {task.target!r}; it must be Continuous.")
    return task.target.lower, task.target.upper - task.target.lower


def _clipped(places: Integers) -> Integers:
    """Clip lattice units above the lower bound to the range of the outputs."""
    return np.clip(places, 0, LATTICE)


def _probabilities(logits: Integers) -> Integers:
    """Look up the probabilities of logits, both in lattice units: alike for every row."""
    table = sigmoid_table()
    half = len(table) // 2
    # The table reaches from -16 to 16.
    cells = logits // (16 * LATTICE // half)
    return table[np.clip(cells, -half, half - 1) + half].astype(np.int64)


def _units(values: NDArray[np.float64] | np.float64, width: float) -> Integers:
    """Return values as lattice units, LATTICE of them to a width, each rounded by itself."""
    # Far beyond any score, and far below where a sum over all terms would overflow.
    shares = np.clip(np.asarray(values) / width, -(2.0**20), 2.0**20)
    return np.trunc(shares * LATTICE).astype(np.int64)


def fidelity_of(
    released: Sequence[FidelitySums], models: Sequence[int], width: float, names: Sequence[str]
) -> Fidelity:
    """Return the figures of released sums, and what noise of their size does to them.

    Parameters
    ----------
    released : sequence of FidelitySums
        One a surrogate model.
    models : sequence of int, shape (n_outputs,)
        Which of them stands for each output.
    width : float
        The range of the outputs.
    names : sequence of str, shape (n_outputs,)
    """
    import pandas as pd

    figures = [_figures(released[model], width) for model in models]
    columns = ["rmse", "mean_absolute_error", "r2"]
    return Fidelity(
        *(pd.DataFrame(part, list(names), columns) for part in zip(*figures, strict=True))
    )


def _figures(released: FidelitySums, width: float) -> tuple[list[float], list[float]]:
    """Return RMSE, mean absolute error and R2, and their standard errors to first order."""
    n_rows = max(released.n_rows, 1.0)
    spread, label, absolute, squared = released.sums.tolist()
    of_spread, of_label, of_mean, of_square = (released.noise / n_rows).tolist()
    mean = min(max(absolute / n_rows, 0.0), 1.0)
    # No mean square is below the squared mean, nor above the mean of numbers up to 1.
    square = min(max(squared / n_rows, mean**2), mean)
    root = math.sqrt(square)
    of_root = math.sqrt(of_square)
    # Noise on a square near 0 moves its root by at most the root of the noise.
    if 2 * root > of_root:
        of_root = of_square / (2 * root)
    share, of_share = math.nan, math.nan
    # About the mean of the labels: that of logits is no logit of the mean.
    shift = label / n_rows - released.middle
    variance = spread / n_rows - shift**2
    of_spread = math.hypot(of_spread, 2 * shift * of_label)
    if variance > _LEAST_SPREAD * of_spread:
        share = 1.0 - square / variance
        of_share = math.hypot(of_square, (1.0 - share) * of_spread) / variance
    return [width * root, width * mean, share], [width * of_root, width * of_mean, of_share]


def _with_error(figure: float, error: float) -> str:
    return f"{figure:.2g} ± {error:.1g}"
