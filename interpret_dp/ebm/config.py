"""Every choice of the trainer, by a rule in public quantities, in one place.

Public are: the hyperparameters, the privacy budget, the number of features, and whatever was
already released (the noisy number of rows and of each class). The rules were chosen by theory and
on simulated data and training splits; docs/accuracy.md has the measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from interpret_dp.ebm.pair_config import pair_grid, pair_shares
from interpret_dp.release import PlannedChoice, PlannedRelease, ReleasePlan
from interpret_dp.schema.declarations import MAX_BINS

__all__ = ["BoostingSettings", "TrainerConfig", "Unit", "residual_clip"]

_ROUNDS = 40
_BLOCKS = 4
_MOST_IN_BLOCK = 32
_TARGET_SHARE = 0.02
_RESIDUAL_CLIP = 0.25
_ROWS_PER_BIN_IN_NOISE = 4.0


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What one unit of the score means, in released numbers.

    Attributes
    ----------
    curvature : float
        Second derivative of the loss per row, in units of the clipping bound: 1 for squared loss,
        4 p (1 - p) for log loss at base rate p, averaged over the classes.
    step : float
        Score per unit of mean residual that a full step takes.
    norm : float
        Norm of one row's residuals, in units of the clipping bound: the noise is made for it.
    per_rate : float
        Score per unit of mean residual of a learning rate of 1 that the caller asks for.
    loudest : float
        Noise level above which steps shrink in proportion. Under a log link noise in a score is a
        factor, so that a mean that is drowned in noise must not be chased.
    """

    curvature: float
    step: float
    norm: float = 1.0
    per_rate: float = 1.0
    loudest: float = math.inf


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
    """

    noise_level: float
    leaves: int
    step: float


@dataclass(frozen=True, kw_only=True)
class TrainerConfig:
    """Public settings of one fit. None means: by the rule.

    Parameters
    ----------
    mu : float
        Gaussian-DP budget of the whole fit.
    n_features : int
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
    """

    mu: float
    n_features: int
    max_bins: int
    rounds: int | None = None
    leaves: int | None = None
    learning_rate: float | None = None
    binning_share: float = 0.1
    n_pairs: int = 0
    n_chosen_pairs: int = 0

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting; fixed before a row is read, so that the plan is."""
        return _ROUNDS if self.rounds is None else self.rounds

    @property
    def n_blocks(self) -> int:
        """Blocks of features per round; all features of a block see the same residuals.

        Four blocks are as accurate as one feature at a time, while all features at once diverge
        where features are correlated; so does a block of hundreds, such as pixels.
        """
        return min(max(_BLOCKS, math.ceil(self.n_features / _MOST_IN_BLOCK)), self.n_features)

    @property
    def n_fine_bins(self) -> int:
        """Equal-width bins of a continuous feature, before noisy counts merge them.

        Twice as many as may remain, as far as 16 bits can number them.
        """
        return min(2 * self.max_bins, MAX_BINS)

    @property
    def averaged_rounds(self) -> int:
        """How many of the last rounds are averaged into the released scores."""
        return max(1, self.n_rounds // 2)

    def plan(self) -> ReleasePlan:
        """Split mu**2 over the target, the histograms, the choice of pairs and the boosting."""
        shares = {"target": _TARGET_SHARE * (1 - self.binning_share)}
        rest = 1.0 - shares["target"] - self.binning_share
        shares |= pair_shares(
            self.binning_share,
            rest if self.n_rounds > 0 or self.n_chosen_pairs else 0.0,
            n_features=self.n_features,
            n_pairs=self.n_pairs,
            n_chosen=self.n_chosen_pairs,
        )
        counts = {
            "target": 1,
            "bins": self.n_features,
            "pair bins": self.n_pairs,
            "pair selection": self.n_chosen_pairs,
            "boosting": self.n_rounds * self.n_features,
            "pairs": self.n_rounds * self.n_pairs,
        }
        total = sum(shares[name] for name in shares if counts[name])
        kinds = {"pair selection": PlannedChoice}
        return ReleasePlan(
            tuple(
                kinds.get(name, PlannedRelease)(
                    name, self.mu * math.sqrt(shares[name] / total / counts[name]), counts[name]
                )
                for name in shares
                if counts[name]
            )
        )

    def target_bins(self, n_rows: float, count_noise: float) -> int:
        """Choose the number of merged bins: no finer than the noise of the counts allows.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        count_noise : float
            Standard deviation of one released bin count, in rows.
        """
        supported = int(n_rows / (_ROWS_PER_BIN_IN_NOISE * count_noise))
        return max(1, min(self.max_bins, supported))

    def boosting(self, n_rows: float, unit: Unit) -> BoostingSettings:
        """Choose leaves and learning rate from the noise against the signal.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        unit : Unit
            Scale of the loss.

        Notes
        -----
        A partition into L leaves has a bias of order 1/L and, with noise level nu per row mean, a
        standard error of order nu L: their squares balance at L proportional to nu**(-1/2). The
        step that balances convergence against accumulated noise falls more slowly; the exponent
        1/3 and both constants come from simulated data.
        """
        level = self._noise_level("boosting", n_rows, unit)
        if level == math.inf:
            return BoostingSettings(noise_level=math.inf, leaves=1, step=0.0)
        leaves = self.leaves if self.leaves is not None else round(0.2 / math.sqrt(level))
        return BoostingSettings(
            noise_level=level,
            leaves=max(1, leaves) if self.leaves is not None else min(max(leaves, 2), 16),
            step=self._step(level, unit),
        )

    def pair_boosting(self, n_rows: float, unit: Unit) -> BoostingSettings:
        """Choose bins and learning rate of the pairs; ``leaves`` are bins of each feature.

        Parameters
        ----------
        n_rows : float
            Released number of rows.
        unit : Unit
            Scale of the loss.
        """
        level = self._noise_level("pairs", n_rows, unit)
        if level == math.inf:
            return BoostingSettings(noise_level=math.inf, leaves=1, step=0.0)
        return BoostingSettings(
            noise_level=level, leaves=pair_grid(level), step=self._step(level, unit)
        )

    def _noise_level(self, name: str, n_rows: float, unit: Unit) -> float:
        """Return the noise of the mean residual over all rounds of a term; infinite without."""
        planned = next((p for p in self.plan().releases if p.name == name), None)
        if planned is None:
            return math.inf
        whole = planned.mu * math.sqrt(self.n_rounds)
        return unit.norm / (whole * n_rows * unit.curvature)

    def _step(self, level: float, unit: Unit) -> float:
        if self.learning_rate is not None:
            return unit.per_rate * self.learning_rate
        rate = 0.2 * math.pow(0.002 / level, 1 / 3)
        return min(unit.loudest / level, 1.0) * unit.step * min(max(rate, 0.05), 0.4)


def residual_clip(lower: float, upper: float) -> float:
    """Bound on the absolute residual of a regression: a share of the declared range.

    Clipping well below the range costs little bias, since residuals shrink as the model learns,
    and the noise is made for the bound. A range of zero leaves nothing to learn; any bound serves.
    """
    return _RESIDUAL_CLIP * (upper - lower) if upper > lower else 1.0
