"""Compare two engines on the same splits, with an honest error of the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from benchmarks.problems import metric_of
from benchmarks.records import Fit

__all__ = ["Paired", "corrected_standard_error", "paired"]


@dataclass(frozen=True)
class Paired:
    """Two engines on the splits on which both were measured.

    Attributes
    ----------
    splits : int
    one, other : float
        Mean scores.
    gain : float
        By how much ``one`` is better: of AUROC the difference, of RMSE its negative.
    standard_error : float or None
        Of the gain, see :func:`corrected_standard_error`.
    """

    splits: int
    one: float
    other: float
    gain: float
    standard_error: float | None


def paired(one: Mapping[int, Fit], other: Mapping[int, Fit]) -> Paired | None:
    """Compare fits by split; None if they have no split in common.

    Parameters
    ----------
    one, other : mapping of int to Fit
        As ``Results.by_split`` returns them, of one problem.
    """
    splits = sorted(one.keys() & other.keys())
    if not splits:
        return None
    first = one[splits[0]]
    sign = 1.0 if metric_of(first.problem) == "AUROC" else -1.0
    gains = [sign * (one[split].score - other[split].score) for split in splits]
    return Paired(
        splits=len(splits),
        one=fmean(one[split].score for split in splits),
        other=fmean(other[split].score for split in splits),
        gain=fmean(gains),
        standard_error=corrected_standard_error(gains, first.test_rows_per_training_row),
    )


def corrected_standard_error(
    differences: Sequence[float], test_rows_per_training_row: float
) -> float | None:
    """Return the standard error of a mean over random splits of the same rows.

    Notes
    -----
    Nadeau and Bengio (2003), "Inference for the Generalization Error", section 3.4: splits
    overlap, so the variance of the mean is (1/J + n_test/n_train) times that of a difference, not
    1/J times. None for fewer than two splits.
    """
    if len(differences) < 2:
        return None
    factor = 1 / len(differences) + test_rows_per_training_row
    return math.sqrt(factor * variance(differences))
