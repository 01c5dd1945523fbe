"""Tuned values of the trainer, in one place.

They were chosen by theory and on simulated data and training splits, never by the rows of a fit.
``python -m benchmarks.rules NAME=VALUE`` compares any of them with another value on the benchmark
tables; what was measured is in ``benchmarks/NOTES.md``. Constants that keep arithmetic safe, and
those of one loss or of pairs alone, are beside the code that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The tuned values; one instance serves every fit.

    Attributes
    ----------
    rounds : int
        Rounds of boosting.
    most_extra_rounds : int
        How many times as many rounds the terms may have that are left, where others are pruned or
        cannot move. Pruning gains 2.0 % of the error on average over the benchmark tables.
    target_share, correlation_share : float
        Shares of mu squared for each release of the target alone (its sums, its cells, the
        shortfall of its total) and for the correlations of features. Bands of correlated features
        need the latter; it costs 0.05 % of the error at most.
    clip_noise : float
        Noise of a regression's predictions, in noise levels, against which the bias of a clip is
        weighed. Totals and errors hardly move between half and twice as much.
    rows_per_bin : float
        Rows of a bin, in standard deviations of the noise of a count.
    rows_per_light_bin : float
        The same where heavy values leave bins to the others. Without it the error is 7 % higher.
    least_supported_bins, public_bins : int
        Where counts support fewer bins than the first, a classification gets so many public ones:
        its AUROC on adult at epsilon 0.01 rises from 0.61 to 0.78.
    step, step_range : float, tuple of float
        Share of a full step at a noise level of ``high_noise_level``; it falls by the cube root of
        the noise level within this range. A loss may have a lower upper end.
    high_noise_level : float
        Above it steps of a classification shrink in proportion: large logits made of noise flatten
        the loss, so that the residuals of the signal die while the noise remains.
    late_steps, longest_late_step : float
        After half of the rounds steps of a squared loss are so many times as long, up to a share
        of a full step. Correlated features converge slowly: 0.5 % on average, elevators 5 %.
    hiding_noise_level : float
        Above it a classification's curvature is not known; leaves are the tails of each feature.
        That gains 25 % of the error of credit_fraud at epsilon 0.1.
    leaves, leaf_range : float, tuple of int
        Leaves of a partition, times the root of the noise level; least and most.
    balance_by_bins : float
        Share of a partition's balance that is by bins, the rest by rows, so that bins next to a
        heavy one are not merged with it: 0.4 % on average, adult at epsilon 8 3 %.
    tails : tuple of float
        Smallest and largest share of the rows in a tail.
    extrapolation : float
        How many times a change may count once more in the averages. They gain 1.2 %.
    significance : float
        Standard deviations above what noise alone gives at which a term is not pruned.
    most_noise_to_prune : float
        Noise level times curvature from which on a classification keeps all terms: 2.4 % less error
        (1 - AUROC) on eight cells of three tables.
    """

    rounds: int = 40
    most_extra_rounds: int = 4
    target_share: float = 0.02
    correlation_share: float = 0.01
    clip_noise: float = 35.0
    rows_per_bin: float = 1.5
    rows_per_light_bin: float = 3.0
    least_supported_bins: int = 6
    public_bins: int = 8
    step: float = 0.2
    step_range: tuple[float, float] = (0.05, 0.4)
    high_noise_level: float = 0.002
    late_steps: float = 2.0
    longest_late_step: float = 0.5
    hiding_noise_level: float = 0.05
    leaves: float = 0.25
    leaf_range: tuple[int, int] = (2, 16)
    balance_by_bins: float = 0.3
    tails: tuple[float, float] = (0.01, 0.5)
    extrapolation: float = 19.0
    significance: float = 1.0
    most_noise_to_prune: float = 0.0134


#: The values that every fit uses.
TUNING = Tuning()
