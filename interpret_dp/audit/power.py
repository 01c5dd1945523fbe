"""What an attack would have found: the smallest privacy loss that it refutes with 90 %."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.gaussian import epsilon_of_mu
from interpret_dp.audit.bounds import epsilon_lower_bound, mu_lower_bound
from interpret_dp.audit.one_run import accuracy_of_extremes, bisected, one_run_epsilon

__all__ = ["loss_found_by_guesses", "loss_found_by_runs"]

# Both counts are at least as good as these quantiles with 0.95**2 > 0.9.
_QUANTILE = 0.05
_LARGEST_MU = 60.0
_THRESHOLDS = 25


def loss_found_by_runs(
    judged: int, *, delta: float, epsilon: float, mu: float | None, confidence: float
) -> float:
    """Return the smallest epsilon that a membership attack refutes a claim at, with 90 %.

    Parameters
    ----------
    judged : int
        Runs with the row that judge, and as many without.
    epsilon, delta, mu
        The claim; ``mu`` is None where it is not Gaussian.
    confidence : float
        Of the single bound that refutes.

    Returns
    -------
    float
        Epsilon at ``delta`` of the Gaussian mechanism whose true loss would be found, if the
        statistic carried all of it; infinite if none would.
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    judged = check_int("judged", judged, low=1)
    check_real("epsilon", epsilon, low=0)

    def refuted(true_mu: float) -> bool:
        # The middle is best for mu, and rare events without the row for epsilon.
        thresholds = [true_mu / 2.0]
        if mu is None:
            thresholds = list(np.linspace(true_mu / 2.0, true_mu / 2.0 + 4.0, _THRESHOLDS))
        for threshold in thresholds:
            present, absent = (
                int(binom.ppf(quantile, judged, chance))
                for quantile, chance in (
                    (_QUANTILE, float(ndtr(true_mu - threshold))),
                    (1.0 - _QUANTILE, float(ndtr(-threshold))),
                )
            )
            hits = (present, judged, absent, judged)
            if mu is not None:
                found = mu_lower_bound(*hits, confidence=confidence) > mu
            else:
                bound = epsilon_lower_bound(*hits, delta=delta, confidence=confidence)
                found = bound > epsilon
            if found:
                return True
        return False

    return _smallest(refuted, delta)


def loss_found_by_guesses(
    n_canaries: int, n_guesses: int, *, delta: float, epsilon: float, confidence: float
) -> float:
    """Return the smallest epsilon that a one-run audit refutes a claim at, with 90 %.

    Parameters
    ----------
    n_canaries, n_guesses : int
    epsilon, delta : float
        The claim.
    confidence : float

    Returns
    -------
    float
        As :func:`loss_found_by_runs`, of independent canaries whose scores carry all of it.
    """
    from scipy.stats import binom

    def refuted(true_mu: float) -> bool:
        accuracy = accuracy_of_extremes(true_mu, n_guesses / n_canaries)
        correct = int(binom.ppf(0.1, n_guesses, accuracy))
        bound = one_run_epsilon(n_canaries, n_guesses, correct, delta=delta, confidence=confidence)
        return bound > epsilon

    return _smallest(refuted, delta)


def _smallest(refuted: Callable[[float], bool], delta: float) -> float:
    """Return the epsilon of the smallest mu that is refuted."""
    if not refuted(_LARGEST_MU):
        return math.inf
    _, found = bisected(lambda mu: not refuted(mu), 0.0, _LARGEST_MU)
    return epsilon_of_mu(found, delta)
