"""Survival: proportional hazards, with a baseline from released counts of rows at risk.

The likelihood of times that may be censored is Poisson's: a row has 1 event or 0, and its mean is
the cumulative hazard at its time, times its hazard ratio. So rounds are those of counts with
exposures. The cumulative hazard comes from a released histogram of time and event: events of a cell
over rows at risk there. That is the hazard of all rows, which falls as those at high risk leave. So
rows at risk are added up again after a quarter and a half of the rounds and at their end, each with
its hazard ratio, as in Breslow's estimator.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.losses import PoissonDeviance
from interpret_dp.ebm.shape import Shape
from interpret_dp.exceptions import SchemaError
from interpret_dp.released.arrays import isotonic
from interpret_dp.schema import Continuous
from interpret_dp.schema.encode import CELLS, PLACES
from interpret_dp.schema.partial import PartialSchema

FloatArray = NDArray[np.float64]

# Rows at risk in a cell count where they are so many standard deviations of their noise.
_SEEN = 3.0
_MOST_VARIANCE = 100.0  # of a logarithm: nothing is known
# Hazard ratios count up to so many standard deviations of their logarithms, within these limits.
_SPREADS, _LEAST_RATIO, _LARGEST_RATIO = 3.0, 2.0, 32.0
# They are smaller where noise of all rows at risk would be more than such a share of them.
_NOISE_OF_RISK = 0.3
_LARGEST_FACTOR = 10.0  # by which noise may move a cumulative hazard
_HAZARDS = 1e-9, 1e9  # least and largest last cumulative hazard
# Residuals of the rounds are cut at so many events. With a narrower clip log hazards would be up to
# 15 % too steep, with a wider one noisier (benchmarks/NOTES.md). The total may have a wider one.
_CLIP = 2.0**0.5
_CLIPS = 8.0 * 2.0 ** (-np.arange(7) / 2.0)


@dataclass(frozen=True, eq=False)
class Baseline:
    """Released numbers of rows by time, and the cumulative hazard that follows.

    Attributes
    ----------
    counts : ndarray of float64, shape (2, CELLS)
        Of rows with an event, and of those without.
    noise : float
        Standard deviation of the noise of each.
    risk : ndarray of float64, shape (CELLS,)
        Sum of the hazard ratios of the rows at risk in a cell.
    cumulative : ndarray of float64, shape (CELLS + 1,)
        Cumulative hazard at the edges of the cells, from 0.
    """

    counts: FloatArray
    noise: float
    risk: FloatArray
    cumulative: FloatArray

    @classmethod
    def of(cls, counts: FloatArray, noise: float) -> Self:
        """Return the baseline of all rows: hazard ratios are one."""
        first = cls(counts, noise, np.zeros(CELLS), np.zeros(CELLS + 1))
        return first.at_risk(counts.sum(axis=0), math.sqrt(2.0) * noise)

    def at_risk(self, sums: FloatArray, noise: float) -> Self:
        """Return the baseline with Breslow's cumulative hazard.

        Parameters
        ----------
        sums : ndarray of float64, shape (CELLS,)
            Released sums of the hazard ratios of the rows whose time is in a cell.
        noise : float
            Standard deviation of the noise of each.
        """
        # Rows leave evenly over a cell.
        risk = np.cumsum(sums[::-1])[::-1] - sums / 2.0
        deviation = noise * np.sqrt(np.arange(CELLS, 0, -1) - 0.75)
        widths = np.diff(np.linspace(0.0, 1.0, CELLS + 1) ** 2)
        # From the first cell on where noise hides the rows at risk, hazards are those of the last
        # third that is seen.
        seen = int(np.argmax(np.append(risk < _SEEN * deviation, True)))
        last = slice(2 * seen // 3, max(seen, 1))
        exposed = max(float(risk[last] @ widths[last]), _SEEN * noise * float(widths[last].max()))
        hazard = max(float(self.counts[0, last].sum()), self.noise) / exposed
        steps = hazard * widths
        steps[:seen] = self.counts[0, :seen] / risk[:seen]
        cumulative = np.append(0.0, isotonic(np.cumsum(steps), np.ones(CELLS), increasing=True))
        cumulative = np.maximum(cumulative, 0.0)
        if cumulative[-1] <= 0.0:
            cumulative = np.append(0.0, hazard * np.cumsum(widths))
        # All rows together expect as many events as there are.
        middles = (cumulative[1:] + cumulative[:-1]) / 2.0
        expected, least = float(sums @ middles), _SEEN * noise * float(np.linalg.norm(middles))
        if self.cumulative[-1] > 0.0 and (seen < CELLS // 4 or expected < least):
            return self  # what was released before is known better
        n_events = max(float(self.counts[0].sum()), self.noise)
        factor = n_events / max(expected, sys.float_info.min)
        cumulative = cumulative * min(max(factor, 1.0 / _LARGEST_FACTOR), _LARGEST_FACTOR)
        return replace(self, risk=np.maximum(risk, deviation), cumulative=cumulative)

    def deviations(self, total_error: float) -> FloatArray:
        """Return the standard deviation of the logarithm of the cumulative hazard.

        Parameters
        ----------
        total_error : float
            Of the number of events, as a share of it.

        Returns
        -------
        ndarray of float64, shape (CELLS + 1,)
            Of noise and sampling, given the hazard ratios; the first is that of the second edge.
        """
        events = np.maximum(self.counts[0], 0.0)
        n_events = max(float(events.sum()), self.noise)
        at_edges = np.maximum(self.cumulative[1:], self.cumulative[-1] / LATTICE)
        # The number of all events is set right by the total, and with it the level.
        slopes = np.tril(np.ones((CELLS, CELLS))) / self.risk / at_edges[:, np.newaxis]
        slopes -= 1.0 / n_events
        variances = slopes**2 @ (self.noise**2 + events)
        known = np.sqrt(np.minimum(variances + total_error**2 + 1.0 / n_events, _MOST_VARIANCE))
        return np.append(known[:1], known)

    def mean_of(self, cumulative: FloatArray) -> float:
        """Return the mean of a cumulative hazard over the released times of all rows."""
        rows = np.maximum(self.counts.sum(axis=0), 0.0)
        middles = (cumulative[1:] + cumulative[:-1]) / 2.0
        mean = float(rows @ middles) / max(float(rows.sum()), 1.0)
        return max(mean, float(cumulative[-1]) / LATTICE)

    def shifted(self, level: float) -> FloatArray:
        """Return the cumulative hazard of a row with the mean score, within limits."""
        # Noise may exceed what a file can hold.
        last = max(float(self.cumulative[-1]), sys.float_info.min)
        size = np.clip(math.log(last) + level, *np.log(_HAZARDS))
        return np.asarray(self.cumulative / last * np.exp(size))

    @property
    def at_places(self) -> FloatArray:
        """Cumulative hazard in the middle of each place, shape (PLACES,)."""
        middles = (np.arange(PLACES) + 0.5) / PLACES
        return np.interp(middles, np.linspace(0.0, 1.0, CELLS + 1), self.cumulative)

    @property
    def shares(self) -> NDArray[np.int32]:
        """The same as shares of the last, from 1 to ``LATTICE``."""
        shares = self.at_places / self.at_places[-1]
        return np.asarray(np.maximum(shares * LATTICE, 1.0), dtype=np.int32)

    @property
    def logs(self) -> NDArray[np.int64]:
        """Logarithms of the same, in lattice units."""
        values = self.at_places
        logs = np.log(np.maximum(values, values[-1] / LATTICE))
        return np.asarray(np.rint(logs * LATTICE), dtype=np.int64)


@dataclass(frozen=True)
class SurvivalCox(PoissonDeviance):
    """Proportional hazards.

    Attributes
    ----------
    latest : float
        Rows with a later time are censored there.
    baseline : Baseline or None
        Once it is released.
    """

    name = "survival_cox"
    n_shapes, n_baselines = 0, 4
    largest_shortfall = 1.0 - 1.0 / _LARGEST_FACTOR

    latest: float = 1.0
    baseline: Baseline | None = None

    @classmethod
    def of(cls, target: Continuous, *, has_init_scores: bool) -> Self:
        """Return the loss of events, of which a row has one at most."""
        return cls(0.0, 1.0, _CLIP, 0.5, latest=target.upper)

    @classmethod
    def with_target(cls, partial: PartialSchema) -> PartialSchema:
        """Return the declaration with a lower bound of minus the latest time.

        Raises
        ------
        SchemaError
            If no latest time is declared, or the bounds are not of its size.
        """
        target = partial.target
        lower, upper = getattr(target, "lower", None), getattr(target, "upper", None)
        if upper is None or upper <= 0 or lower not in (None, 0, -upper):
            raise SchemaError(
                f"objective is 'survival_cox' and the target's bounds are {lower!r} and {upper!r}; "
                "they must be minus the latest time and that. Times of censored rows are negative. "
                "Declare the end of the study, Schema(..., target=Continuous(-10, 10)) or "
                "privacy_target_max=10.0; rows with a later time are censored there."
            )
        return replace(partial, target=Continuous(-float(upper), float(upper)))

    def clipped(self, ratio: float, square: float, deviation: float, noise_level: float) -> Self:
        """Return the loss with the shape of the events: 0 and 1."""
        share = float(np.clip((1.0 + ratio) / 2.0, deviation, 1.0))
        shares, noise = np.array([1.0 - share, share]), np.full(2, deviation)
        shape = Shape(np.array([-0.5, 0.5, 1.5]), np.array([0.0, 1.0]), shares, noise)
        return replace(self, shape=shape, spread=shape.spread)

    def level_error(self) -> float:
        """Return the error of the mean that noise of the baseline leaves, in events."""
        assert self.shape is not None
        assert self.baseline is not None
        events = max(float(self.baseline.counts[0].sum()), self.baseline.noise)
        noise = _SEEN * self.baseline.noise * math.sqrt(CELLS)
        return self.shape.mean * min(noise / events, 1.0)

    def shift(self, shortfall: float, mean: float) -> float:
        """Return the logarithm of the factor by which the mean prediction falls short."""
        factor = 1.0 + shortfall / mean
        return math.log(min(max(factor, 1.0 / _LARGEST_FACTOR), _LARGEST_FACTOR))

    def clips(self) -> FloatArray:
        """Return the clips from which that of the total is chosen, the widest first."""
        return _CLIPS

    def errors_of_total(self, clips: FloatArray, noise: float, start: float) -> FloatArray:
        """Return the error of the total with each clip: its noise, and what it cuts off.

        At the true hazards a row's mean is a standard exponential, cut where it is censored. So if
        a share p of the rows has an event, no more than p / (exp(c) - 1) have a mean above c.
        """
        assert self.shape is not None
        cut_off = -self.shape.mean * np.log1p(-np.exp(-clips))
        return np.asarray(np.hypot(noise * clips, cut_off))

    def with_exposure(self, mean: float, square: float) -> Self:
        """Return the loss with the baseline of a score of 0."""
        loss = super().with_exposure(mean, square)
        if loss.baseline is None:
            return loss
        cumulative = loss.baseline.cumulative / (loss.baseline.cumulative[-1] * mean)
        return replace(loss, baseline=replace(loss.baseline, cumulative=cumulative))


def largest_ratio(spread: float, noise: float) -> float:
    """Return up to which hazard ratio rows at risk count.

    Parameters
    ----------
    spread : float
        Standard deviation of its logarithm.
    noise : float
        Of a count, as a share of all rows.
    """
    seen = _NOISE_OF_RISK / (noise * math.sqrt(CELLS))
    return max(min(math.exp(_SPREADS * spread), _LARGEST_RATIO, seen), _LEAST_RATIO)


def spread_of(curves: Sequence[FloatArray], weights: Sequence[FloatArray]) -> float:
    """Return the standard deviation of the rows' scores, were terms independent."""
    variance = 0.0
    for curve, own in zip(curves, weights, strict=True):
        total = max(float(own.sum()), sys.float_info.min)
        mean = float(own @ curve[:, 0]) / total
        variance += float(own @ (curve[:, 0] - mean) ** 2) / total
    return math.sqrt(max(variance, 0.0))
