"""Membership attacks: many fits with a person and without, and what they prove about epsilon.

Half of the fits choose what to look at and where to draw the line; the other half judges. A bound
above the claim refutes it at the stated confidence; a bound below it proves nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.audit.bounds import attack_bound
from interpret_dp.audit.replaying import Watching, log_likelihood_ratio
from interpret_dp.mechanisms import use_randomness

_Table = TypeVar("_Table")
Floats = NDArray[np.float64]

ALL_RELEASES = "likelihood ratio"
ALL_TOGETHER = "all statistics"
"""Names of the statistics that every attack adds to those that it reads."""

# While choosing, a bound says which statistic is best, and a strict one is 0 for all of them.
_CHOOSING = 0.2


@dataclass(frozen=True)
class MembershipReport:
    """Bounds proved by an attack on one row.

    Attributes
    ----------
    epsilon, delta : float
        The claim.
    mu : float or None
        The claim as Gaussian differential privacy, where there is one.
    epsilon_bound : float
        Lower bound on epsilon at ``delta``.
    mu_bound : float or None
        Lower bound on mu; None where none was claimed.
    confidence : float
        With which both bounds hold together.
    epsilon_statistic, mu_statistic : str or None
        What the bounds rest on.
    n_statistics : int
        Among which they were chosen, on the first half of the runs.
    runs : int
        Fits with the row, and as many without; half of each judged.
    """

    epsilon: float
    delta: float
    mu: float | None
    epsilon_bound: float
    mu_bound: float | None
    confidence: float
    epsilon_statistic: str
    mu_statistic: str | None
    n_statistics: int
    runs: int

    @property
    def refuted(self) -> bool:
        """Whether a bound exceeds what was claimed."""
        above = self.mu is not None and self.mu_bound is not None and self.mu_bound > self.mu
        return above or self.epsilon_bound > self.epsilon


def membership_attack(
    fit: Callable[[_Table], Any],
    with_row: _Table,
    without_row: _Table,
    *,
    statistics: Callable[[Any], Mapping[str, float]] | None = None,
    epsilon: float,
    delta: float,
    mu: float | None = None,
    runs: int = 1000,
    confidence: float = 0.95,
    noise: Callable[[], Watching] = Watching,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
    facts: Callable[[Any], Mapping[str, float]] | None = None,
) -> MembershipReport:
    """Fit again and again with and without a row, and bound the privacy loss from below.

    Parameters
    ----------
    fit : callable
        Makes a new model, fits it on the table that it is given, and returns it, such as
        :func:`interpret_dp.audit.refit` makes of an estimator. It draws all randomness through the
        package, does the same each time, and is called twice for each run.
    with_row, without_row : object
        What ``fit`` takes; they differ in one unit.
    statistics : callable
        Returns numbers of a fitted model by name, always the same names, such as
        :func:`interpret_dp.audit.model_statistics` does.
    epsilon, delta : float
        The claim under attack.
    mu : float, default=None
        The same as Gaussian differential privacy, where that is claimed: it limits ordinary events
        too, and not only rare ones, so that the attack is far sharper.
    runs : int, default=1000
        Fits with the row, and as many without. Half of them choose, half judge.
    confidence : float, default=0.95
        With which all bounds of the report hold together.
    noise : callable
        Returns the source of noise of one fit: the system's, or a control's.
    progress : callable, default=iter
        Wraps the numbers of the runs, such as ``tqdm``.
    facts : callable
        The former name of ``statistics``; deprecated.

    Returns
    -------
    MembershipReport

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or the statistics are NaN or not the same in every run.

    Notes
    -----
    The attack compares the statistics, the linear combination of them that separates the first half
    best (Fisher's), and, for our own release sessions, the likelihood ratio of all releases, for
    which each fit is replayed in the other world. On the first half the best statistic for each
    bound is chosen with its threshold; so at most two statistics are judged, each at half of the
    error that is left.
    """
    if facts is not None:
        warnings.warn("facts is now called statistics.", DeprecationWarning, stacklevel=2)
        statistics = facts
    if statistics is None:
        raise TypeError("statistics is missing; give a function such as model_statistics(row).")
    epsilon = check_real("epsilon", epsilon, low=0, low_open=True)
    delta = check_real("delta", delta, low=0, high=1, high_open=True)
    runs = check_int("runs", runs, low=20)
    confidence = check_real("confidence", confidence, low=0, high=1, low_open=True, high_open=True)
    figures: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    worlds = ((with_row, without_row, 1.0), (without_row, with_row, -1.0))
    for _ in progress(range(runs)):
        for world, (table, other, sign) in zip(figures, worlds, strict=True):
            source = noise()
            with use_randomness(source):
                values = dict(statistics(fit(table)))
            # A fit of another package releases nothing through the session.
            if source.record:
                values[ALL_RELEASES] = sign * log_likelihood_ratio(fit, other, source)
            world.append(values)
    samples = _samples(figures, runs // 2)
    judged = 1.0 - (1.0 - confidence) / (1 if mu is None else 2)
    by_epsilon, by_mu = _best(samples, delta)
    bound = attack_bound(*samples[by_epsilon], delta=delta, confidence=judged)
    mu_bound = None
    if mu is not None:
        mu_bound = attack_bound(*samples[by_mu], delta=delta, confidence=judged).mu
    return MembershipReport(
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        epsilon_bound=bound.epsilon,
        mu_bound=mu_bound,
        confidence=confidence,
        epsilon_statistic=by_epsilon,
        mu_statistic=None if mu is None else by_mu,
        n_statistics=len(samples),
        runs=runs,
    )


Samples = dict[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]


def _samples(
    figures: tuple[list[dict[str, float]], list[dict[str, float]]], n_choice: int
) -> Samples:
    """Return for each statistic the pairs (with, without) of both halves."""
    names = list(figures[0][0])
    for values in (*figures[0], *figures[1]):
        if list(values) != names:
            raise ValueError(
                f"A fit has the statistics {list(values)}, and another has {names}; they must be "
                "the same. Leave out what only some fits have."
            )
    worlds = [np.array([list(values.values()) for values in world]) for world in figures]
    samples: Samples = {}
    for at, name in enumerate(names):
        samples[name] = _halves(worlds[0][:, at], worlds[1][:, at], n_choice)
    plain = [at for at, name in enumerate(names) if name != ALL_RELEASES]
    if len(plain) > 1:
        direction = _separating(*(world[:n_choice, plain] for world in worlds))
        samples[ALL_TOGETHER] = _halves(
            worlds[0][:, plain] @ direction, worlds[1][:, plain] @ direction, n_choice
        )
    return samples


def _halves(
    present: Floats, absent: Floats, n_choice: int
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    return (present[:n_choice], absent[:n_choice]), (present[n_choice:], absent[n_choice:])


def _separating(present: Floats, absent: Floats) -> Floats:
    """Return Fisher's direction: the shift of the means, in units of the scatter within worlds."""
    scatter = np.vstack([part - part.mean(axis=0) for part in (present, absent)])
    size = np.maximum(scatter.std(axis=0), np.finfo(np.float64).tiny ** 0.5)
    spread = np.cov((scatter / size).T)
    shift = (present.mean(axis=0) - absent.mean(axis=0)) / size
    # Statistics without any scatter, such as an exact count, get through by themselves.
    shift = np.clip(shift, -1e6, 1e6)
    direction: Floats = np.linalg.lstsq(spread, shift, rcond=1e-9)[0] / size
    return direction


def _best(samples: Samples, delta: float) -> tuple[str, str]:
    """Return the best statistic for epsilon and that for mu, by the first half alone.

    Rare events decide about epsilon, so that a bound ranks; for mu all ranks count, which is
    steadier than one threshold.
    """
    bounds, separations = {}, {}
    for name, ((present, absent), _) in samples.items():
        pair = (present, absent)
        bounds[name] = attack_bound(pair, pair, delta=delta, confidence=_CHOOSING).epsilon
        separations[name] = _separation(present, absent)
    ranked = sorted(samples, key=lambda name: separations[name])
    return max(ranked, key=lambda name: (bounds[name], separations[name])), ranked[-1]


def _separation(present: Floats, absent: Floats) -> float:
    """Return how far the share of pairs in which one world is larger is from a half."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([present, absent]))[: len(present)]
    larger = (ranks.sum() - len(present) * (len(present) + 1) / 2) / (len(present) * len(absent))
    return abs(float(larger) - 0.5)
