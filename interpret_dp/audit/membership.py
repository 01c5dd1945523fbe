"""Membership attacks, and the lower bounds on a privacy loss that they prove.

Half of the fits choose what to look at and where to draw the line; the other half judges. A bound
above the claim refutes it at the stated confidence; a bound below it proves nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.audit.replaying import Watching, log_likelihood_ratio
from interpret_dp.mechanisms import use_randomness

# Lower bounds on the privacy loss of a mechanism, from attacks that were carried out; their power.
#
# An attacker sees a number computed from the output and accuses when it passes a threshold. How
# often that happens with and without a person in the table bounds what the mechanism can promise:
# differential privacy limits every test.

# More thresholds than this choose no better and cost time.
_CANDIDATES = 500
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def epsilon_lower_bound(
    hits_present: int,
    trials_present: int,
    hits_absent: int,
    trials_absent: int,
    *,
    delta: float,
    confidence: float = 0.95,
) -> float:
    """Return a bound that the epsilon of the mechanism at this delta is not below.

    Parameters
    ----------
    hits_present, trials_present : int
        How often an event that was fixed beforehand occurred among runs with the person.
    hits_absent, trials_absent : int
        The same among runs without.
    delta : float
        At least 0 and below 1.
    confidence : float, default=0.95
        If the mechanism is (epsilon, delta)-DP, the bound exceeds epsilon with a probability of
        at most ``1 - confidence``.

    Returns
    -------
    float
        At least 0: the largest log((P - delta) / Q), over the event and its complement, and over
        both tables in the role of P.

    Raises
    ------
    TypeError, ValueError
        If a count is not an integer from 0 to the number of trials, there is no trial, or delta
        or confidence is out of range.

    Notes
    -----
    Jagielski, Ullman and Oprea (2020), "Auditing Differentially Private Machine Learning",
    section 4. Clopper-Pearson intervals for both probabilities hold at once (a union bound over
    their four ends), so that all four quotients are covered.

    Examples
    --------
    >>> bound = epsilon_lower_bound(900, 1_000, 100, 1_000, delta=1e-5)
    >>> f"at least epsilon {bound:.2f}, with 95 % confidence"
    'at least epsilon 1.96, with 95 % confidence'
    """
    delta = check_real("delta", delta, low=0, high=1, high_open=True)
    ends = _intervals(
        *_checked_counts("present", hits_present, trials_present),
        *_checked_counts("absent", hits_absent, trials_absent),
        confidence,
    )
    return float(_epsilon(*ends, delta)[()])


def mu_lower_bound(
    hits_present: int,
    trials_present: int,
    hits_absent: int,
    trials_absent: int,
    *,
    confidence: float = 0.95,
) -> float:
    """Return a bound that the Gaussian differential privacy of the mechanism is not below.

    Far sharper than :func:`epsilon_lower_bound` against a mechanism that claims mu-GDP: the claim
    then limits ordinary events too, and not only rare ones.

    Parameters
    ----------
    hits_present, trials_present, hits_absent, trials_absent, confidence
        As :func:`epsilon_lower_bound`.

    Returns
    -------
    float
        At least 0: the distance between Phi^-1(P) and Phi^-1(Q) that is left when both lie
        anywhere in their intervals.

    Notes
    -----
    Dong, Roth and Su (2019), Definition 4: under mu-GDP every test has
    Phi^-1(power) - Phi^-1(false alarms) <= mu. Nasr et al. (2023), "Tight Auditing of
    Differentially Private Machine Learning", audit with it.

    Examples
    --------
    >>> f"{mu_lower_bound(900, 1_000, 100, 1_000):.2f}"
    '2.32'
    """
    ends = _intervals(
        *_checked_counts("present", hits_present, trials_present),
        *_checked_counts("absent", hits_absent, trials_absent),
        confidence,
    )
    return float(_mu(*ends)[()])


@dataclass(frozen=True)
class AttackBound:
    """Bounds proved by one attack.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at ``delta``.
    mu : float
        Lower bound on mu, if the mechanism claims Gaussian differential privacy.
    delta, confidence : float
        Each of the two bounds holds with this confidence on its own.

    Examples
    --------
    >>> import numpy as np
    >>> from interpret_dp.audit import attack_bound
    >>> without, with_row = np.zeros(200), np.ones(200)  # a statistic that tells both apart
    >>> bound = attack_bound((without, with_row), (without, with_row), delta=1e-5)
    >>> round(bound.epsilon, 2), round(bound.mu, 2)
    (3.81, 4.04)
    """

    epsilon: float
    mu: float
    delta: float
    confidence: float


def attack_bound(
    choice: tuple[ArrayLike, ArrayLike],
    evaluation: tuple[ArrayLike, ArrayLike],
    *,
    delta: float,
    confidence: float = 0.95,
) -> AttackBound:
    """Choose thresholds on one half of the runs and bound the privacy loss on the other.

    Parameters
    ----------
    choice : pair of array-like, shapes (n_present,) and (n_absent,)
        A statistic of the output, of runs with the person and of runs without; it serves to
        choose the thresholds only.
    evaluation : pair of array-like
        The same statistic of other, independent runs.
    delta, confidence : float
        As :func:`epsilon_lower_bound`.

    Returns
    -------
    AttackBound
        Large and small values of the statistic both count as signs of presence, and of absence.

    Raises
    ------
    TypeError, ValueError
        If a sample is empty, not one-dimensional or holds NaN, or delta or confidence is out of
        range.

    Examples
    --------
    >>> import numpy as np
    >>> from interpret_dp.audit import attack_bound
    >>> same = np.arange(200) % 7  # the statistic has the same values with and without the row
    >>> attack_bound((same, same), (same, same), delta=1e-5).epsilon
    0.0
    """
    delta = check_real("delta", delta, low=0, high=1, high_open=True)
    chosen_from = _samples("choice", choice)
    thresholds = np.unique(
        np.quantile(np.concatenate(chosen_from), np.linspace(0, 1, _CANDIDATES), method="lower")
    )
    ends = _intervals(*_all_hits(chosen_from, thresholds), confidence)
    best = [int(np.argmax(bounds)) for bounds in (_epsilon(*ends, delta), _mu(*ends))]
    others = _samples("evaluation", evaluation)
    ends = _intervals(*_all_hits(others, thresholds[best]), confidence)
    epsilon, mu = float(_epsilon(*ends, delta)[0]), float(_mu(*ends)[1])
    return AttackBound(epsilon, mu, delta, confidence)


def _samples(name: str, pair: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats]:
    present, absent = (np.asarray(sample, dtype=np.float64) for sample in pair)
    for sample in (present, absent):
        if sample.ndim != 1 or len(sample) == 0 or np.isnan(sample).any():
            raise ValueError(
                f"A sample of {name} has shape {sample.shape}; it must be a sequence of at least "
                "one number without NaN. Give one value of the statistic for each run."
            )
    return present, absent


def _all_hits(
    samples: tuple[Floats, Floats], thresholds: Floats
) -> tuple[Counts, int, Counts, int]:
    """Count, for each threshold, how many values of each sample reach it."""
    present, absent = samples
    hits = [len(s) - np.searchsorted(np.sort(s), thresholds, side="left") for s in samples]
    return hits[0].astype(np.int64), len(present), hits[1].astype(np.int64), len(absent)


def _checked_counts(name: str, hits: int, trials: int) -> tuple[Counts, int]:
    trials = check_int(f"trials_{name}", trials, low=1)
    return np.array(check_int(f"hits_{name}", hits, low=0, high=trials)), trials


def _intervals(
    hits_present: Counts,
    trials_present: int,
    hits_absent: Counts,
    trials_absent: int,
    confidence: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return both Clopper-Pearson intervals: low and high of P, low and high of Q."""
    from scipy.special import betaincinv

    confidence = check_real("confidence", confidence, low=0, high=1, low_open=True, high_open=True)
    tail = (1.0 - confidence) / 4.0
    ends: list[Floats] = []
    for hits, trials in ((hits_present, trials_present), (hits_absent, trials_absent)):
        misses = trials - hits
        # The ends are 0 and 1 where the formula has a parameter of 0.
        low = betaincinv(np.maximum(hits, 1), misses + 1, tail)
        high = betaincinv(hits + 1, np.maximum(misses, 1), 1.0 - tail)
        ends += [np.where(hits == 0, 0.0, low), np.where(misses == 0, 1.0, high)]
    return ends[0], ends[1], ends[2], ends[3]


def _epsilon(
    present_low: Floats, present_high: Floats, absent_low: Floats, absent_high: Floats, delta: float
) -> Floats:
    quotients = [
        (present_low - delta) / absent_high,
        (absent_low - delta) / present_high,
        (1.0 - present_high - delta) / (1.0 - absent_low),
        (1.0 - absent_high - delta) / (1.0 - present_low),
    ]
    largest: Floats = np.log(np.maximum(np.max(quotients, axis=0), 1.0))
    return largest


def _mu(
    present_low: Floats, present_high: Floats, absent_low: Floats, absent_high: Floats
) -> Floats:
    from scipy.special import ndtri

    # No difference is infinity minus infinity: a low end is below 1 and a high end above 0.
    gap = np.maximum(
        ndtri(present_low) - ndtri(absent_high), ndtri(absent_low) - ndtri(present_high)
    )
    larger: Floats = np.maximum(gap, 0.0)
    return larger


_Table = TypeVar("_Table")

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
    samples = _statistics_of(figures, runs // 2)
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
        runs=runs,
    )


Samples = dict[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]


def _statistics_of(
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
    samples = {
        name: _halves(worlds[0][:, at], worlds[1][:, at], n_choice) for at, name in enumerate(names)
    }
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
    for name, (choice, _) in samples.items():
        bounds[name] = attack_bound(choice, choice, delta=delta, confidence=_CHOOSING).epsilon
        separations[name] = _separation(*choice)
    ranked = sorted(samples, key=lambda name: separations[name])
    return max(ranked, key=lambda name: (bounds[name], separations[name])), ranked[-1]


def _separation(present: Floats, absent: Floats) -> float:
    """Return how far the share of pairs in which one world is larger is from a half."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([present, absent]))[: len(present)]
    larger = (ranks.sum() - len(present) * (len(present) + 1) / 2) / (len(present) * len(absent))
    return abs(float(larger) - 0.5)
