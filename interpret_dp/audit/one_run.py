"""Lower bounds on epsilon from a single training run, by many canaries at once.

Each of many canaries is put into the table or left out by a fair coin of its own. After one run
the attacker guesses for some of them whether they were in, and abstains from the others. Under
differential privacy no guess is right much more often than randomised response would be, whatever
the attacker does, so that many right guesses refute the claim.

Source: Steinke, Nasr and Jagielski (2023), "Privacy Auditing with One (1) Training Run", NeurIPS,
Theorem 5.2 and Appendix D.

The canaries of DP-LLM: canary ``i`` has a cell in column ``i`` at the upper bound and is 0
elsewhere, so that its gradient falls on the weights of that column, and the canaries do not disturb
each other. Every row of the table is a canary: others would only add noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.gaussian import bisected, mu_of_budget
from interpret_dp.audit.replaying import Recorded, Watching
from interpret_dp.mechanisms import use_randomness

# Beyond this no number of canaries that fits into memory proves anything.
_LARGEST_EPSILON = 64.0
_WIDTH = 2.0**-40
_FEWEST_GUESSES = 10
_SIZES_TRIED = 16
Floats = NDArray[np.float64]
_GRADIENTS = "gradients"

# Columns are divided by this share of their bound: a row of length 10, whose gradient falls on the
# column's weights but for a half percent, which the intercept gets.
_SPREAD = 0.1

# Far below the length of a canary's gradient, so that each adds as much as a row may.
_CLIP_NORM = 0.5

# As slow as this the canaries' gradients stay above the clipping norm to the end.
_LEARNING_RATE = 3e-3


def one_run_p_value(
    n_canaries: int, n_guesses: int, n_correct: int, *, epsilon: float, delta: float
) -> float:
    """Bound the probability that so many guesses are right although the claim is true.

    Parameters
    ----------
    n_canaries : int
        Canaries, each in the table with probability 1/2, independently.
    n_guesses : int
        How many of them were guessed; fixed before the run, or a bound that was.
    n_correct : int
        How many of the guesses are right.
    epsilon, delta : float
        The claim, for adding or removing one row.

    Returns
    -------
    float
        At most 1.

    Raises
    ------
    TypeError, ValueError
        If a number is out of range.

    Notes
    -----
    Theorem 5.2: with W binomial(n_guesses, e^epsilon / (1 + e^epsilon)), the probability of v or
    more right guesses is at most P[W >= v] + 2 m delta max_i P[v > W >= v - i] / i.

    Examples
    --------
    >>> one_run_p_value(1_000, 200, 190, epsilon=1.0, delta=1e-5) < 0.05  # the claim is refuted
    True
    """
    from scipy.special import bdtrc, expit
    from scipy.stats import binom

    n_canaries = check_int("n_canaries", n_canaries, low=1)
    n_guesses = check_int("n_guesses", n_guesses, low=0, high=n_canaries)
    n_correct = check_int("n_correct", n_correct, low=0, high=n_guesses)
    epsilon = check_real("epsilon", epsilon, low=0)
    delta = check_real("delta", delta, low=0, high=1)
    accuracy = float(expit(epsilon))
    chance = float(bdtrc(n_correct - 1, n_guesses, accuracy)) if n_correct else 1.0
    if n_correct and delta:
        # P[v > W >= v - i] for i = 1 .. v; a larger i adds nothing to the probability.
        just_below = np.cumsum(
            binom.pmf(np.arange(n_correct - 1, -1, -1), n_guesses, accuracy), dtype=np.float64
        )
        steepest = float(np.max(just_below / np.arange(1, n_correct + 1)))
        chance += 2.0 * n_canaries * delta * steepest
    return min(chance, 1.0)


def one_run_epsilon(
    n_canaries: int, n_guesses: int, n_correct: int, *, delta: float, confidence: float = 0.95
) -> float:
    """Return a bound that the epsilon of the mechanism at this delta is not below.

    Parameters
    ----------
    n_canaries, n_guesses, n_correct, delta
        As :func:`one_run_p_value`.
    confidence : float, default=0.95
        If the mechanism is (epsilon, delta)-DP, the bound exceeds epsilon with a probability of at
        most ``1 - confidence``.

    Returns
    -------
    float
        At least 0: every smaller epsilon has a p-value of at most ``1 - confidence``.

    Examples
    --------
    >>> f"{one_run_epsilon(1_000, 200, 190, delta=1e-5):.2f}"
    '2.39'
    """
    level = 1.0 - check_real("confidence", confidence, low=0, high=1, low_open=True, high_open=True)

    def refuted(epsilon: float) -> bool:
        # Whatever value the search ends at is valid: of all counts whose bound exceeds the truth,
        # take the fewest right guesses. The truth satisfies that bound's claim as well, so that
        # as many or more are right with the probability of its p-value at most.
        p_value = one_run_p_value(n_canaries, n_guesses, n_correct, epsilon=epsilon, delta=delta)
        return p_value <= level

    if not refuted(0.0):
        return 0.0
    return bisected(refuted, valid=0.0, invalid=_LARGEST_EPSILON, width=_WIDTH)


@dataclass(frozen=True)
class OneRunBound:
    """Bounds proved by one run.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at ``delta``.
    delta, confidence : float
    n_canaries, n_guesses, n_correct : int

    Examples
    --------
    >>> import numpy as np
    >>> from interpret_dp.audit import judge_guesses
    >>> bound = judge_guesses(np.arange(100), np.arange(100) >= 50, n_guesses=40, delta=1e-5)
    >>> bound.n_correct, bound.n_guesses
    (40, 40)
    """

    epsilon: float
    delta: float
    confidence: float
    n_canaries: int
    n_guesses: int
    n_correct: int


def judge_guesses(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    n_guesses: int,
    delta: float,
    confidence: float = 0.95,
) -> OneRunBound:
    """Guess the canaries of the largest and smallest scores, and bound epsilon by the result.

    Parameters
    ----------
    scores : array-like, shape (n_canaries,)
        Of each canary, from what the run released; large ones speak for its presence.
    included : array-like of bool, shape (n_canaries,)
        What the coins said.
    n_guesses : int
        Fixed before the run: half of them, rounded up, go to the largest scores and say "in", the
        others to the smallest and say "out".
    delta, confidence : float
        As :func:`one_run_epsilon`.

    Raises
    ------
    TypeError, ValueError
        If the scores are not one number for each coin, or hold NaN, or a number is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from interpret_dp.audit import judge_guesses
    >>> scores, included = np.arange(100), np.arange(100) >= 50
    >>> round(judge_guesses(scores, included, n_guesses=40, delta=1e-5).epsilon, 2)
    2.55
    """
    values, coins = np.asarray(scores, dtype=np.float64), np.asarray(included)
    if values.ndim != 1 or not len(values) or np.isnan(values).any():
        raise ValueError(
            f"scores is of shape {values.shape}; it must be a sequence of at least one number "
            "without NaN. Give one score for each canary."
        )
    if coins.shape != values.shape or coins.dtype != np.bool_:
        raise ValueError(
            f"included is of shape {coins.shape} and type {coins.dtype}; it must be one bool for "
            f"each of the {len(values)} scores."
        )
    n_guesses = check_int("n_guesses", n_guesses, low=1, high=len(values))
    guessed = _guessed(values, n_guesses)
    n_correct = int(((guessed > 0) & coins).sum() + ((guessed < 0) & ~coins).sum())
    counts = len(values), n_guesses, n_correct
    epsilon = one_run_epsilon(*counts, delta=delta, confidence=confidence)
    return OneRunBound(epsilon, delta, confidence, *counts)


def guesses_for(
    n_canaries: int, mu: float, *, delta: float, confidence: float = 0.95
) -> tuple[int, float]:
    """Return how many guesses to make against a mechanism that is expected to be mu-GDP.

    Parameters
    ----------
    n_canaries : int
    mu : float
        What each score is expected to tell: the distance of its two normal laws.
    delta, confidence : float
        As :func:`one_run_epsilon`.

    Returns
    -------
    n_guesses : int
        For which the bound that is expected is largest. It follows from public numbers alone.
    epsilon : float
        That expected bound.

    Examples
    --------
    >>> from interpret_dp.audit import guesses_for
    >>> n_guesses, epsilon = guesses_for(1_000, 1.0, delta=1e-5)
    >>> n_guesses, round(epsilon, 2)
    (116, 1.64)
    """
    n_canaries = check_int("n_canaries", n_canaries, low=_FEWEST_GUESSES)
    mu = check_real("mu", mu, low=0)
    sizes = np.unique(np.geomspace(_FEWEST_GUESSES, n_canaries, _SIZES_TRIED).astype(int))
    bounds = []
    for size in sizes.tolist():
        n_correct = int(size * accuracy_of_extremes(mu, size / n_canaries))
        bound = one_run_epsilon(n_canaries, size, n_correct, delta=delta, confidence=confidence)
        bounds.append((bound, size))
    epsilon, size = max(bounds)
    return size, epsilon


def accuracy_of_extremes(mu: float, share: float) -> float:
    """Return how often guesses on the most extreme scores are right.

    Parameters
    ----------
    mu : float
        Scores are normal of variance 1, about ``mu`` for canaries that are in and about 0 for
        others.
    share : float
        Of the canaries that are guessed, half at each end.
    """
    from scipy.special import ndtr

    half = min(share, 1.0) / 2.0

    def above(threshold: float) -> float:
        return float(ndtr(mu - threshold) + ndtr(-threshold)) / 2.0

    # Counted from far below all scores.
    place = bisected(lambda t: above(t - 40.0) > half, valid=0.0, invalid=mu + 80.0, width=_WIDTH)
    threshold = place - 40.0
    reached = above(threshold)
    return float(ndtr(mu - threshold)) / (2.0 * reached) if reached > 0 else 1.0


def _guessed(values: Floats, n_guesses: int) -> NDArray[np.int8]:
    """Return 1, -1 or 0 (abstain) for each canary; ties go by place, which says nothing."""
    order = np.argsort(values, kind="stable")
    n_out = n_guesses // 2
    guessed = np.zeros(len(values), dtype=np.int8)
    guessed[order[len(values) - (n_guesses - n_out) :]] = 1
    guessed[order[:n_out]] = -1
    return guessed


@dataclass(frozen=True)
class MapsAudit:
    """Bounds proved by one run.

    Attributes
    ----------
    by_releases : OneRunBound
        From every sum of gradients that passed the session.
    by_model : OneRunBound
        From the released model.
    confidence : float
        With which both hold together.
    """

    by_releases: OneRunBound
    by_model: OneRunBound
    confidence: float

    @property
    def best(self) -> tuple[str, OneRunBound]:
        """The larger bound, with what it comes from."""
        named = (("all releases", self.by_releases), ("released model", self.by_model))
        return max(named, key=lambda pair: pair[1].epsilon)


def audit_maps(
    epsilon: float,
    delta: float = 1e-5,
    *,
    n_canaries: int = 5000,
    sampling_rate: float = 1.0,
    epochs: float = 20.0,
    confidence: float = 0.95,
    noise: Callable[[], Watching] = Watching,
) -> MapsAudit:
    """Train :class:`interpret_dp.DPLocallyLinearClassifier` once on canaries, and guess them.

    Parameters
    ----------
    epsilon, delta : float
        The claim, and what the training asks for.
    n_canaries : int, default=5000
        Columns of the table; half of the canaries, by fair coins, are its rows.
    sampling_rate, epochs : float
        Of the training. 1.0 makes the attack strongest: then no row is hidden by not being sampled.
    confidence : float, default=0.95
    noise : callable
        Returns the source of noise: the system's, or a control's.

    Returns
    -------
    MapsAudit

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    Steinke, Nasr and Jagielski (2023), with the "Dirac" canaries of their section 6 made of rows.
    The number of guesses follows from the claim alone.
    """
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.llm.estimator import DPLocallyLinearClassifier
    from interpret_dp.schema import Categorical, Continuous, Schema

    n_canaries = check_int("n_canaries", n_canaries, low=20)
    # In one dtype throughout: which canaries are there must not decide how cells are stored.
    rows = np.eye(n_canaries, dtype=np.float32)
    labels = np.arange(n_canaries) % 2
    source = noise()
    included = source.public.integers(0, 2, size=n_canaries).astype(bool)
    model = DPLocallyLinearClassifier(
        epsilon=epsilon,
        delta=delta,
        n_maps=1,
        projection_dim=0,
        sampling_rate=sampling_rate,
        epochs=epochs,
        learning_rate=_LEARNING_RATE,
        clip_norm=_CLIP_NORM,
        averaging=0.0,
        # The whole budget is for the gradients, by which the canaries are guessed.
        centring=0.0,
        standardize=(0.0, _SPREAD),
        schema=Schema(default=Continuous(-1, 1), target=Categorical([0, 1])),
        ledger=PrivacyLedger.in_memory(),
        dataset="canaries",
    )
    with use_randomness(source):
        model.fit(rows[included], labels[included])
    single = 1.0 - (1.0 - confidence) / 2.0
    # Made to find half of the noise: fewer guesses, even if all are right, could not refute much
    # more than what is claimed.
    size, _ = guesses_for(
        n_canaries, 2.0 * mu_of_budget(epsilon, delta), delta=delta, confidence=single
    )

    def judged(scores: Floats) -> OneRunBound:
        return judge_guesses(scores, included, n_guesses=size, delta=delta, confidence=single)

    return MapsAudit(
        judged(_moved(source.record, labels)), judged(_margins(model, rows, labels)), confidence
    )


def _moved(record: Sequence[Recorded], labels: NDArray[np.int64]) -> Floats:
    """Return how far all released gradients point where each canary's does."""
    n_canaries = len(labels)
    columns = np.arange(n_canaries)
    total = np.zeros(n_canaries)
    for one in record:
        if one.name == _GRADIENTS:
            # Weights come first, by class and then by column; the intercepts follow.
            weights = one.output.ravel()[: 2 * n_canaries].reshape(2, n_canaries) / one.sigma
            total += weights[1 - labels, columns] - weights[labels, columns]
    return total


def _margins(model: Any, rows: NDArray[np.float32], labels: NDArray[np.int64]) -> Floats:
    """Return by how much the released model prefers each canary's own label."""
    scores = np.asarray(model.decision_function(rows), dtype=np.float64)
    return np.where(labels == 1, scores, -scores)
