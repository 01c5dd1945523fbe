"""Settings of the EBM trainer: tuned constants, and rules that follow from public numbers.

Public are: the hyperparameters, the privacy budget, the number of features, and whatever was
already released (the noisy number of rows and of each class). The rules were chosen by theory and
on simulated data and training splits; docs/accuracy.md has the measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.plans import PlannedChoice, PlannedRelease, ReleasePlan
from interpret_dp.schema import Continuous, FeatureSpec, fine_bin_count, fine_edges, search_edges
from interpret_dp.schema.declarations import MAX_BINS
from interpret_dp.schema.encode import outer_edges

# Tuned values of the trainer, in one place.
#
# They were chosen by theory and on simulated data and training splits, never by the rows of a fit.
# ``python -m benchmarks.rules NAME=VALUE`` compares any of them with another value on the benchmark
# tables; what was measured is in ``benchmarks/NOTES.md``. Constants that keep arithmetic safe, and
# those of one loss or of pairs alone, are beside the code that needs them.


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


#: Levels that a categorical feature may have to be in a pair, so that the cells stay few.
MOST_LEVELS = 64
#: Pairs are chosen among so many features at most, those of the largest released importances: 300
#: candidates.
MOST_RANKED = 25
#: Bins of each feature when pairs are compared: coarse, for a strong interaction shows on few
#: cells, and every cell takes noise of the sample.
SELECTION_GROUPS = 4

_SELECTION_SHARE = 0.05
_GRID = 0.44
_FEWEST, _MOST = 2, 16
_MOST_NOISE = 0.1
_FEWEST_ROWS = 100  # of a cell, on average


def pair_shares(
    binning: float, boosting: float, *, n_terms: int, n_pairs: int, n_chosen: int
) -> dict[str, float]:
    """Split shares of mu squared between features and pairs.

    Parameters
    ----------
    binning, boosting : float
        What all histograms, and all of boosting, get.
    n_terms, n_pairs, n_chosen : int
        Terms of one feature, of two, and how many of the latter are chosen privately.

    Returns
    -------
    dict of str to float
        Every histogram gets the same, and so does every term in boosting. Choosing takes 5 % of
        what boosting would have: enough to find the pairs that matter, as simulations show.
    """
    if not n_pairs:
        return {"bins": binning, "boosting": boosting}
    of_pairs = n_pairs / (n_terms + n_pairs)
    shares = {"bins": binning * (1.0 - of_pairs), "pair bins": binning * of_pairs}
    if n_chosen:
        shares["pair selection"] = _SELECTION_SHARE * boosting
        boosting -= shares["pair selection"]
    if boosting > 0:
        shares |= {"boosting": boosting * (1.0 - of_pairs), "pairs": boosting * of_pairs}
    return shares


def pair_grid(noise_level: float) -> int:
    """Return the number of bins of each continuous feature in its pairs, 2 to 16.

    Parameters
    ----------
    noise_level : float
        Noise of the mean of all rows' residuals over all rounds of one pair, in units of the
        clipping bound, corrected for the curvature of the loss.

    Notes
    -----
    On g x g cells the bias is of order 1/g and the standard error of order ``noise_level * g**2``:
    their squares balance at g proportional to ``noise_level**(-1/3)``.
    """
    return min(max(round(_GRID * math.pow(noise_level, -1 / 3)), _FEWEST), _MOST)


def most_cells(noise_level: float, n_rows: float) -> float:
    """Return up to how many cells a pair can have one bin for each value of an integer.

    Parameters
    ----------
    noise_level : float
        As for :func:`pair_grid`.
    n_rows : float
        Released number of rows.

    Notes
    -----
    If rows are spread evenly over the cells, the noise of a cell's mean residual is at most a
    tenth of the clipping bound (``python -m benchmarks.integers``), and a cell has 100 rows or
    more, since its sampling error does not fall with epsilon.
    """
    return min(_MOST_NOISE / noise_level, n_rows / _FEWEST_ROWS)


def all_pairs(features: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of some features, each with the smaller index first."""
    return list(combinations(sorted(features), 2))


_BLOCKS, _MOST_IN_BLOCK = 4, 32
_FIRST_COUNT = 0.5  # of what the histograms have: for finding bins, the rest for counting in them
_LARGEST_LOGIT = 3.0
_RATE_SHARE = 0.08
# Under a log link few rows hold much of the total, so that it gets more of the budget: with 50,000
# policies of 0.04 claims each, at epsilon 1, its error falls from 3.5 to 2.2 %.
_TOTAL_OF_LOGS = 5.0


@dataclass(frozen=True, kw_only=True)
class LossScale:
    """The meaning of one unit of the score, in released numbers.

    Attributes
    ----------
    curvature : float
        Second derivative of the loss per row, in units of the clipping bound: 1 for squared loss,
        4 p (1 - p) for log loss at base rate p, averaged over the classes.
    step : float
        Score per unit of mean residual that a full step takes.
    start_curvature : float or None
        Second derivative per row where boosting starts, for a loss whose curvature varies with the
        score; None where it is constant.
    norm : float
        Sensitivity of a sum of residuals, in units of the clipping bound: the noise is made for it.
    per_rate : float
        Score per unit of mean residual of a learning rate of 1 that the caller asks for.
    max_noise_level : float
        Noise level above which steps shrink in proportion. Under a log link noise in a score is a
        factor, so that a mean smaller than its noise must not be followed.
    max_step : float
        Largest share of a full step, however little noise there is.
    """

    curvature: float
    step: float
    norm: float = 1.0
    start_curvature: float | None = None
    per_rate: float = 1.0
    max_noise_level: float = math.inf
    max_step: float = math.inf


@dataclass(frozen=True, kw_only=True)
class BoostingSettings:
    """Settings of the boosting stage, chosen after the binning stage was released.

    Attributes
    ----------
    noise_level : float
        Noise of the mean of all rows' residuals over the whole training, in units of the
        clipping bound, corrected for the curvature of the loss. The one number that the rules
        below depend on.
    leaves : int
        Leaves of an ordered feature's partition (missing and unseen bins come on top).
    step : float
        Score per unit of mean residual of one update: the learning rate.
    by_tails : bool
        Whether the leaves of an ordered feature are its tails and the middle, not ``leaves`` ranges
        of about as many rows.
    curvature : float or None
        :attr:`LossScale.start_curvature`.
    least_hessian : float
        Leaves of less weight, times curvature over ``curvature``, take smaller steps.
    largest_change : float
        Bound on the change of a bin in one update, in units of score.
    """

    noise_level: float
    leaves: int
    step: float
    by_tails: bool = False
    curvature: float | None = None
    least_hessian: float = 0.0
    largest_change: float = math.inf


@dataclass(frozen=True, kw_only=True)
class TrainerConfig:
    """Public settings of one fit. None means: by the rule.

    Parameters
    ----------
    mu : float
        Gaussian-DP budget of the whole fit.
    n_terms : int
        Number of terms.
    max_bins : int
        Most bins of a continuous feature, at most 65,535 as in interpret.
    rounds : int or None
        Rounds of boosting; every feature is updated once a round.
    leaves : int or None
        Most leaves of each partition.
    learning_rate : float or None
        Score per unit of mean residual of one update.
    binning_share : float
        Share of mu**2 for the histograms.
    n_pairs : int
        Number of terms of two features.
    n_chosen_pairs : int
        How many of them are chosen privately.
    n_shapes : int
        How many histograms of the target and of its residuals are released.
    fits_mean : bool
        Whether the mean of a number is fitted where there are any: its total is released as well.
    target_parts : float
        How many times their usual share the releases of the target alone have.
    n_baselines : int
        How many histograms of time are released: before boosting, after a quarter and a half of the
        rounds where there are so many, and at their end.
    has_rate : bool
        Whether predictions are made right on average over more rows of each unit.
    n_movable : int or None
        Terms that boosting can move, from 1 to ``n_terms``, once the bins are released.
    n_kept : int or None
        How many of them go on after half of the rounds, from 1 to ``n_movable``.
    excess : float
        Noise of all sites together, over that of one curator: above 1 at sites alone.
    """

    mu: float
    n_terms: int
    max_bins: int
    rounds: int | None = None
    leaves: int | None = None
    learning_rate: float | None = None
    binning_share: float = 0.1
    n_pairs: int = 0
    n_chosen_pairs: int = 0
    n_shapes: int = 0
    fits_mean: bool = True
    target_parts: float = 1.0
    n_baselines: int = 0
    has_rate: bool = False
    n_movable: int | None = None
    n_kept: int | None = None
    excess: float = 1.0

    @property
    def has_sites(self) -> bool:
        """Whether several sites fit together."""
        return self.excess > 1.0

    @property
    def has_total(self) -> bool:
        """Whether the total of a number is released."""
        return self.n_shapes + self.n_baselines > 0 and self.fits_mean

    @property
    def planned_rounds(self) -> int:
        """Rounds of boosting that are paid for; fixed before a row is read, as the plan is."""
        return TUNING.rounds if self.rounds is None else self.rounds

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting; each updates every term that can move once.

        Planned updates of terms that cannot move, or are pruned after half of the rounds, pay for
        further rounds of the other terms, at the same mu each: never more releases than planned.
        Rounds that the caller chose stay as they are.
        """
        if self.n_movable is None or self.rounds is not None:
            return self.planned_rounds
        paid = self.planned_rounds * self.n_terms
        most = TUNING.most_extra_rounds
        n_rounds = min(paid // self.n_movable, most * self.planned_rounds)
        if self.n_kept is None:
            return n_rounds
        first, left = n_rounds // 2, n_rounds - n_rounds // 2
        return first + min(left * self.n_movable // self.n_kept, most * left)

    @property
    def n_blocks(self) -> int:
        """Blocks of features per round; all features of a block see the same residuals.

        Four blocks are as accurate as one feature at a time, while all features at once diverge
        where features are correlated; so does a block of hundreds, such as pixels. At sites each
        block is a message, so there are as few as the step of identical columns allows
        (``_Rounds._n_blocks``), which is as accurate (``python -m benchmarks.rules
        ebm.config._BLOCKS=1``, also with ``--copies 3``).
        """
        least = 1 if self.has_sites else _BLOCKS
        return min(max(least, math.ceil(self.n_terms / _MOST_IN_BLOCK)), self.n_terms)

    @property
    def n_fine_bins(self) -> int:
        """Fine bins of a continuous feature, before noisy counts merge them.

        Four times as many as may remain, as far as 16 bits can number them. Two fewer: with those
        for missing and unseen, 64 bins have codes of one byte while rows are counted.
        """
        return min(4 * self.max_bins - 2, MAX_BINS)

    def fine_edges(self, spec: FeatureSpec) -> NDArray[np.float64] | None:
        """Return the cut points of a feature's fine bins; None of a categorical one.

        The first bin and the last one hold the cells beyond the bounds, which are thus counted.
        """
        if not isinstance(spec, Continuous):
            return None
        inner = search_edges(spec, max(self.n_fine_bins - 2, 1))
        first, last = outer_edges(spec)
        return np.concatenate(([first], inner, [last]))

    def n_fine(self, spec: FeatureSpec) -> int:
        """Return the number of a feature's fine bins, or of its levels."""
        edges = self.fine_edges(spec)
        return fine_bin_count(spec, 1) if edges is None else len(edges) + 1

    def public_edges(self, spec: FeatureSpec) -> NDArray[np.float64] | None:
        """Return the cut points of a few bins of equal width; None of a categorical feature."""
        n_bins = min(TUNING.public_bins, self.max_bins)
        return fine_edges(spec, n_bins) if isinstance(spec, Continuous) else None

    @property
    def averaged_rounds(self) -> int:
        """Number of last rounds that are averaged into the released scores."""
        return max(1, self.n_rounds // 2)

    def plan(self) -> ReleasePlan:
        """Split mu**2 over target, histograms, choice of pairs, boosting and correlations."""
        share = TUNING.target_share * self.target_parts
        shares = {"target": share * (1 - self.binning_share)}
        shares["correlations"] = TUNING.correlation_share * (1 - self.binning_share)
        # Without rounds after half of them there are no residuals to look at.
        n_shapes = self.n_shapes if self.planned_rounds > 3 else min(self.n_shapes, 1)
        n_baselines = min(self.n_baselines, 4 if self.planned_rounds > 3 else 2)
        shares["target cells"] = n_shapes * shares["target"]
        shares["baseline"] = n_baselines * shares["target"]
        if n_shapes or n_baselines:
            shares["total"] = shares["target"]
            if n_shapes == self.n_shapes == 1 or n_baselines:
                shares["total"] *= max(_TOTAL_OF_LOGS / self.target_parts, 1.0)
        if self.has_rate:
            shares["rate"] = _RATE_SHARE * (1 - self.binning_share)
        rest = 1.0 - sum(shares.values()) - self.binning_share
        shares |= pair_shares(
            self.binning_share,
            rest if self.planned_rounds > 0 or self.n_chosen_pairs else 0.0,
            n_terms=self.n_terms,
            n_pairs=self.n_pairs,
            n_chosen=self.n_chosen_pairs,
        )
        shares["weights"] = (1.0 - _FIRST_COUNT) * shares["bins"]
        shares["bins"] -= shares["weights"]
        counts = {
            "baseline": n_baselines,
            "target": 1,
            "bins": self.n_terms,
            "weights": self.n_terms,
            "pair bins": self.n_pairs,
            "pair selection": self.n_chosen_pairs,
            "boosting": self.planned_rounds * self.n_terms,
            "correlations": int(self.planned_rounds > 0 and self.n_terms > 1),
            "pairs": self.planned_rounds * self.n_pairs,
            "target cells": n_shapes,
            "total": int(self.has_total),
            "rate": int(self.has_rate),
        }
        if self.has_sites:
            # The tables of all candidates are one release.
            counts["pair selection"] = min(self.n_chosen_pairs, 1)
        total = sum(shares[name] for name in shares if counts[name])
        kinds = {} if self.has_sites else {"pair selection": PlannedChoice}
        return ReleasePlan(
            tuple(
                kinds.get(name, PlannedRelease)(
                    name,
                    self.mu * math.sqrt(shares[name] / total / counts[name]),
                    counts[name],
                    of_total=name == "rate",
                )
                for name in counts
                if counts[name]
            )
        )

    @staticmethod
    def noise_of_both_counts(noise: float) -> float:
        """Return the noise of a count that is released twice and averaged.

        Parameters
        ----------
        noise : float
            Standard deviation of the first one's, in rows.
        """
        return noise * math.sqrt(_FIRST_COUNT)

    def can_count_finely(self, n_rows: float, norm: float, n_bins: int) -> bool:
        """Return whether fine bins are counted one by one, and not two by two.

        Fine ones follow a skewed feature. But where noise is larger than the rows of a fine bin are
        on average, more of them show more noise.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        norm : float
            Sensitivity of a histogram, in rows.
        n_bins : int
            Fine bins of the feature.
        """
        planned = self._planned("bins")
        return planned is not None and n_rows / n_bins >= self.excess * norm / planned.mu

    def target_bins(self, n_rows: float, count_noise: float) -> int:
        """Choose the number of merged bins: no finer than the noise of the counts allows.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        count_noise : float
            Standard deviation of one released bin count, in rows.
        """
        supported = int(n_rows / (TUNING.rows_per_bin * count_noise))
        return max(1, min(self.max_bins, supported))

    @staticmethod
    def lightest_bin(count_noise: float) -> float:
        """Choose how many rows a bin has at least that is lighter than most.

        Parameters
        ----------
        count_noise : float
            Standard deviation of one released bin count, in rows.
        """
        return TUNING.rows_per_light_bin * count_noise

    def boosting(self, n_rows: float, scale: LossScale, *, late: bool = False) -> BoostingSettings:
        """Choose leaves and learning rate from the noise against the signal.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        scale : LossScale
            Scale of the loss.
        late : bool
            For the second half of the rounds: steps of a squared loss are longer.

        Notes
        -----
        A partition into L leaves has a bias of order 1/L and, with noise level nu per row mean, a
        standard error of order nu L: their squares balance at L proportional to nu**(-1/2). The
        step that balances convergence against accumulated noise falls more slowly; the exponent
        1/3 and both constants come from simulated data.
        """
        level = self._noise_level("boosting", n_rows, scale)
        if level == math.inf:
            return BoostingSettings(noise_level=math.inf, leaves=1, step=0.0)
        least, most = TUNING.leaf_range
        leaves = self.leaves if self.leaves is not None else round(TUNING.leaves / math.sqrt(level))
        step = self._step(level, scale)
        is_constant = scale.start_curvature is None and scale.max_noise_level == math.inf
        if late and self.learning_rate is None and is_constant:
            longest = max(step, TUNING.longest_late_step * scale.step)
            step = min(TUNING.late_steps * step, longest)
        return BoostingSettings(
            **self._varying_curvature(level, n_rows, scale),
            noise_level=level,
            leaves=max(1, leaves) if self.leaves is not None else min(max(leaves, least), most),
            step=step,
            by_tails=self.leaves is None and _hides_the_curvature(level, scale),
        )

    def can_denoise(self, n_rows: float, scale: LossScale) -> bool:
        """Return whether enough is known of the curves to denoise them.

        Where noise hides a rare class, even the curvature of the loss is noise, and with it what
        boosting made of a curve: denoising would drop features at random.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        scale : LossScale
            Scale of the loss.
        """
        return not _hides_the_curvature(self._noise_level("boosting", n_rows, scale), scale)

    def can_prune(self, n_rows: float, scale: LossScale) -> bool:
        """Return whether terms that are not significant are pruned.

        Where noise is high, those of a classification that matter are no more significant than the
        others.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        scale : LossScale
            Scale of the loss.
        """
        level = self._noise_level("boosting", n_rows, scale) * scale.curvature
        is_lost = scale.start_curvature is not None and level >= TUNING.most_noise_to_prune
        return self.can_denoise(n_rows, scale) and not is_lost

    def noise_of_total(self, n_rows: float, norm: float, name: str = "total") -> float:
        """Return the noise of the mean of the residuals that are left, per unit of their bound.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        norm : float
            Sensitivity of a sum of residuals, in units of their bound.
        name : {"total", "rate"}
            Of the release.
        """
        planned = self._planned(name)
        return math.inf if planned is None else self.excess * norm / (planned.mu * n_rows)

    def can_correlate(self, n_rows: float, norm: float) -> bool:
        """Return whether anything can be seen of how features are correlated.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        norm : float
            Sensitivity of the sums of products, where the product of two features is at most one.
        """
        planned = self._planned("correlations")
        return planned is not None and self.excess * norm < planned.mu * n_rows

    def pair_boosting(self, n_rows: float, scale: LossScale) -> BoostingSettings:
        """Choose bins and learning rate of the pairs; ``leaves`` are bins of each feature.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        scale : LossScale
            Scale of the loss.
        """
        level = self._noise_level("pairs", n_rows, scale)
        if level == math.inf:
            return BoostingSettings(noise_level=math.inf, leaves=1, step=0.0)
        return BoostingSettings(
            **self._varying_curvature(level, n_rows, scale),
            noise_level=level,
            leaves=pair_grid(level),
            step=self._step(level, scale),
        )

    def _noise_level(self, name: str, n_rows: float, scale: LossScale) -> float:
        """Return the noise of the mean residual over all rounds of a term; infinite without."""
        planned = self._planned(name)
        if planned is None:
            return math.inf
        total_mu = planned.mu * math.sqrt(self.n_rounds)
        return self.excess * scale.norm / (total_mu * n_rows * scale.curvature)

    def _planned(self, name: str) -> PlannedRelease | None:
        """Return the planned release of a name; None if there is none."""
        return next(
            (p for p in self.plan().releases if isinstance(p, PlannedRelease) and p.name == name),
            None,
        )

    def _varying_curvature(self, level: float, n_rows: float, scale: LossScale) -> dict[str, Any]:
        """Return the settings of a loss whose curvature varies with the score."""
        largest = _LARGEST_LOGIT * self._step(level, scale) / scale.step
        if scale.start_curvature is None:
            return {} if scale.max_noise_level == math.inf else {"largest_change": largest}
        noise_of_sum = level * math.sqrt(self.n_rounds) * n_rows * scale.curvature
        return {
            "curvature": scale.start_curvature,
            "least_hessian": noise_of_sum / scale.start_curvature,
            "largest_change": largest,
        }

    def _step(self, level: float, scale: LossScale) -> float:
        if self.learning_rate is not None:
            return scale.per_rate * self.learning_rate
        ratio, (shortest, longest) = TUNING.high_noise_level / level, TUNING.step_range
        rate = min(max(TUNING.step * math.pow(ratio, 1 / 3), shortest), longest, scale.max_step)
        if scale.start_curvature is not None and ratio < 1.0:
            rate = max(TUNING.step * ratio, 0.01)
        return min(scale.max_noise_level / level, 1.0) * scale.step * rate


def _hides_the_curvature(level: float, scale: LossScale) -> bool:
    """Whether noise hides a rare class: a classification with too much noise to denoise."""
    return scale.start_curvature is not None and level > TUNING.hiding_noise_level
