"""Every choice of the trainer, by a rule in public quantities, in one place.

Public are: the hyperparameters, the privacy budget, the number of features, and whatever was
already released (the noisy number of rows and of each class). The rules were chosen by theory and
on simulated data and training splits; docs/accuracy.md has the measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from interpret_dp.release import PlannedRelease, ReleasePlan
from interpret_dp.schema.declarations import MAX_BINS

__all__ = ["BoostingSettings", "TrainerConfig", "Unit", "residual_clip"]

_ROUNDS = 40
_MOST_TIMES = 4  # so many times as many rounds, at most, where terms cannot move
_BLOCKS = 4
_MOST_IN_BLOCK = 32
_TARGET_SHARE = 0.02
_CLIP_SPREADS = 1.25
_LEAST_CLIP = 0.01  # of half the range: a target of one value with few outliers
_ROWS_PER_BIN_IN_NOISE = 1.5
_LARGEST_LOGIT = 3.0
# Above this noise level steps of a classification shrink in proportion: large logits made of noise
# flatten the loss, so that the residuals of the signal die while the noise goes on.
_LOUD = 0.002


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
    start : float or None
        Second derivative per row where boosting starts, for a loss whose curvature varies with the
        score; None where it is constant.
    norm : float
        Norm of one row's residuals, in units of the clipping bound: the noise is made for it.
    """

    curvature: float
    step: float
    norm: float = 1.0
    start: float | None = None


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
    curvature : float or None
        :attr:`Unit.start`.
    least_stiffness : float
        Leaves of less weight, times curvature over ``curvature``, take smaller steps.
    largest_change : float
        Bound on the change of a bin in one update, in units of score.
    """

    noise_level: float
    leaves: int
    step: float
    curvature: float | None = None
    least_stiffness: float = 0.0
    largest_change: float = math.inf


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
    """

    mu: float
    n_features: int
    max_bins: int
    rounds: int | None = None
    leaves: int | None = None
    learning_rate: float | None = None
    binning_share: float = 0.1

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
        """Split mu**2 over the target, the histograms and the rounds of boosting."""
        shares = {"target": _TARGET_SHARE * (1 - self.binning_share), "bins": self.binning_share}
        counts = {"target": 1, "bins": self.n_features}
        if self.n_rounds > 0:
            shares["boosting"] = 1.0 - sum(shares.values())
            counts["boosting"] = self.n_rounds * self.n_features
        total = sum(shares.values())
        return ReleasePlan(
            tuple(
                PlannedRelease(
                    name, self.mu * math.sqrt(shares[name] / total / counts[name]), counts[name]
                )
                for name in shares
            )
        )

    def among(self, n_movable: int) -> TrainerConfig:
        """Return the settings once it is known how many terms can move at all.

        Parameters
        ----------
        n_movable : int
            Terms that boosting updates, from 1 to ``n_features``.

        Notes
        -----
        What the plan holds for the others is spent on further rounds, of the same noise each: no
        more releases than planned. Rounds that the caller chose stay as they are.
        """
        if n_movable == self.n_features or self.rounds is not None:
            return self
        rounds = min(self.n_rounds * self.n_features // n_movable, _MOST_TIMES * self.n_rounds)
        return replace(self, n_features=n_movable, rounds=rounds)

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
        boosting = next((p for p in self.plan().releases if p.name == "boosting"), None)
        if boosting is None:
            return BoostingSettings(noise_level=math.inf, leaves=1, step=0.0)
        whole = boosting.mu * math.sqrt(self.n_rounds)
        level = unit.norm / (whole * n_rows * unit.curvature)
        leaves = self.leaves if self.leaves is not None else round(0.25 / math.sqrt(level))
        rate = 0.2 * (_LOUD / level) ** (1 / 3)
        rate = min(max(rate, 0.05), 0.4)
        if unit.start is not None and level > _LOUD:
            rate = max(0.2 * _LOUD / level, 0.01)
        if self.learning_rate is not None:
            rate = self.learning_rate / unit.step
        bent: dict[str, float] = {}
        if unit.start is not None:
            bent = {
                "curvature": unit.start,
                "least_stiffness": unit.norm / boosting.mu / unit.start,
                "largest_change": _LARGEST_LOGIT * rate,
            }
        return BoostingSettings(
            **bent,
            noise_level=level,
            leaves=max(1, leaves) if self.leaves is not None else min(max(leaves, 2), 16),
            step=unit.step * rate,
        )


def residual_clip(half: float, second: float, noise: float) -> float:
    """Bound on the absolute residual of a regression: a little above the target's spread.

    Parameters
    ----------
    half : float
        Half of the declared range, in units of the target.
    second : float
        Released variance of the target, as a share of ``half**2``.
    noise : float
        Standard deviation of the noise of ``second``.

    Notes
    -----
    Clipping well below the range costs little bias, since residuals shrink as the model learns,
    and the noise is made for the bound. One standard deviation of noise is added, so that a
    variance that noise hides is not taken for none: the bound then grows towards half the range.
    A range of zero leaves nothing to learn; any bound serves.
    """
    spread = math.sqrt(max(second, 0.0) + noise)
    share = min(max(_CLIP_SPREADS * spread, _LEAST_CLIP), 1.0)
    return share * half if half > 0 else 1.0
