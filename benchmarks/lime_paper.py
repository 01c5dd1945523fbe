"""The yardstick: Algorithm 1 of Patel, Shokri and Zick (2022) with their own noise and accounting.

For benchmarks only. Its noise is wider than it need be, and takes the number of rows as public.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.lime_setting import DELTA, STEPS, Answers, C
from benchmarks.lime_truth import Truth

__all__ = [
    "PAPER_EPSILON",
    "RATES",
    "paper",
    "paper_answers",
    "paper_mu",
    "paper_noise",
    "paper_total",
    "strong_composition",
]

Floats = NDArray[np.float64]

PAPER_EPSILON = 0.1
"""Of one query: what other methods are compared with."""

RATES = (0.3, 3.0, 30.0)
"""Step lengths of which the paper gets the best at each query, which no release could choose."""


def paper_noise(epsilon: float, delta: float, steps: int, n_rows: int, c: float) -> float:
    """Return the noise scale of line 1 of Algorithm 1, for sensitivity c / n_rows."""
    logarithms = np.log(np.e + np.sqrt(steps) * epsilon / delta) * np.log(steps / delta)
    return float(c / (n_rows * epsilon) * np.sqrt(16 * steps * logarithms))


def paper_mu(epsilon: float, delta: float = DELTA, steps: int = STEPS) -> float:
    """Return what a query with the paper's noise costs by exact Gaussian composition."""
    return math.sqrt(steps) / paper_noise(epsilon, delta, steps, 1, 1.0)


def strong_composition(epsilon: float, n_queries: int, slack: float) -> float:
    """Return the paper's own total: Theorem 4.3 of Kairouz, Oh and Viswanath, its reference [19].

    Parameters
    ----------
    epsilon : float
        Of each query, whose delta is added up besides.
    n_queries : int
    slack : float
        The additional delta.
    """
    growth = n_queries * epsilon * math.expm1(epsilon) / (math.exp(epsilon) + 1)
    root = epsilon * math.sqrt(2 * n_queries)
    first = growth + root * math.sqrt(math.log(math.e + math.sqrt(n_queries * epsilon**2) / slack))
    second = growth + root * math.sqrt(math.log(1 / slack))
    return min(n_queries * epsilon, first, second)


def paper_total(n_queries: int, epsilon: float = PAPER_EPSILON) -> float:
    """Return the paper's own total of queries at ``epsilon``; delta grows by 1e-6 a query."""
    return strong_composition(epsilon, n_queries, DELTA)


def paper(
    second: Floats, first: Floats, sigma: float, rng: np.random.Generator, steps: int = STEPS
) -> Floats:
    """Return the last iterate of Algorithm 1 on the mean loss, with steps c / sqrt(t).

    The paper does not say which c: each query gets the best of ``RATES``.
    """
    rates = np.array(RATES)[:, np.newaxis]
    phis = np.zeros((len(rates), len(first)))
    for step in range(1, steps):
        noise = sigma * rng.standard_normal(phis.shape)
        phis = phis - rates / math.sqrt(step) * (2 * (phis @ second - first) + noise)
        phis /= np.maximum(1.0, np.linalg.norm(phis, axis=1, keepdims=True))
    losses = np.einsum("ri,ij,rj->r", phis, second, phis) - 2 * phis @ first
    found: Floats = phis[int(np.argmin(losses))]
    return found


def paper_answers(
    truth: Truth, n_rows: int, epsilon: float, *, seed: int = 0, delta: float = DELTA
) -> Answers:
    """Explain every query by Algorithm 1 at the paper's ``epsilon``; costs by exact composition."""
    rng = np.random.default_rng(seed)
    sigma = paper_noise(epsilon, delta, STEPS, n_rows, C)
    start = time.perf_counter()
    phis = [
        paper(second, first, sigma, rng)
        for second, first in zip(truth.second, truth.first, strict=True)
    ]
    seconds = (time.perf_counter() - start) / len(truth)
    mus = np.full(len(truth), paper_mu(epsilon, delta))
    return Answers(np.array(phis), mus, np.full(len(truth), "released"), seconds)
