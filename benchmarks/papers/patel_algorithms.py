"""Algorithms 1 to 4 of Patel, Shokri and Zick (2022) in numpy, for benchmarks only.

Not for production: their algorithm 2 reads an exact norm of a gradient. The loss around a row is
phi' A phi - 2 b' phi + c, so that a gradient costs n^2. Rows weigh by equation 5 with c = 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting import epsilon_of_mu
from interpret_dp.accounting.gaussian import mu_of_range

Floats = NDArray[np.float64]
Points = NDArray[np.float32]

RADIUS = (math.sqrt(3.0) - 1.0) / 2.0
MULTIPLES = np.array([1.0, 10.0, 100.0])
"""Of the step length in the paper's proofs: each query gets the best, which favours the paper."""
_CHUNK = 5_000


@dataclass(frozen=True)
class Local:
    """The mean loss around a row, and what explains it best within the unit ball."""

    second: Floats
    first: Floats
    constant: float
    best: Floats

    def loss(self, phi: Floats) -> Floats:
        """Return equation 1, of explanations in the last axis."""
        quadratic = np.einsum("...i,...i->...", phi @ self.second, phi)
        return np.asarray(quadratic - 2 * phi @ self.first + self.constant)

    def excess(self, phi: Floats) -> Floats:
        """Return equation 4."""
        return np.asarray(self.loss(phi) - self.loss(self.best))

    def gradient(self, phi: Floats) -> Floats:
        """Return the gradient of equation 1."""
        return np.asarray(2 * (phi @ self.second - self.first))


def weights_of(apart: Points) -> Points:
    """Return equation 5, in one column."""
    far = np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), RADIUS)
    return np.asarray(1 / (2 * far * (far + 1)), np.float32)


def locals_of(points: Points, labels: Points, row: Points) -> list[Local]:
    """Return the loss around a row for each column of labels, all of which are -1 or 1."""
    n = points.shape[1]
    second, first, total = np.zeros((n, n)), np.zeros((labels.shape[1], n)), 0.0
    for start in range(0, len(points), _CHUNK):
        apart = points[start : start + _CHUNK] - row
        weights = weights_of(apart)
        apart *= np.sqrt(weights)
        second += apart.T @ apart
        first += (labels[start : start + _CHUNK] * np.sqrt(weights)).T @ apart
        total += float(weights.sum())
    second, first, constant = second / len(points), first / len(points), total / len(points)
    values, vectors = np.linalg.eigh(second)
    return [Local(second, own, constant, _best(values, vectors, own)) for own in first]


def _best(values: Floats, vectors: Floats, first: Floats) -> Floats:
    """Minimise on the unit ball, to which a ridge between two bounds belongs."""
    turned, values = vectors.T @ first, np.maximum(values, 0.0)
    low, high = 1e-9 * values[-1], float(np.linalg.norm(first)) + 1e-9
    for _ in range(60):
        middle = math.sqrt(low * high)
        is_long = np.linalg.norm(turned / (values + middle)) > 1.0
        low, high = (middle, high) if is_long else (low, middle)
    return np.asarray(vectors @ (turned / (values + high)))


def paper_sigma(epsilon: float, delta: float, steps: int, n_rows: float) -> float:
    """Return the noise of line 1 of algorithm 1."""
    logarithms = math.log(math.e + math.sqrt(steps) * epsilon / delta) * math.log(steps / delta)
    return math.sqrt(16 * steps * logarithms) / (n_rows * epsilon)


def descent(
    around: Local, start: Floats, sigma: float, steps: int, rates: Floats, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the explanations of DPGD-Explain, one for each step length."""
    phis = np.broadcast_to(start, (len(rates), len(start)))
    yield phis
    for step in range(1, steps):
        gradient = around.gradient(phis) + sigma * rng.standard_normal(phis.shape)
        phis = phis - rates[:, np.newaxis] / math.sqrt(step) * gradient
        phis = phis / np.maximum(1.0, np.linalg.norm(phis, axis=1, keepdims=True))
        yield phis


def _descended(around: Local, *given: Any) -> Floats:
    *_, last = descent(around, *given)
    return np.asarray(last[int(np.argmin(around.loss(last)))])


def algorithm_1(around: Local, sigma: float, steps: int, rng: np.random.Generator) -> Floats:
    """Explain a row from nothing, with the step length of the proof of theorem 3.2."""
    n = len(around.first)
    rates = MULTIPLES / math.sqrt(1 + n * sigma**2)
    return _descended(around, np.zeros(n), sigma, steps, rates, rng)


def lemma_rate(n: int, sigma: float, beta: float, steps: int) -> float:
    """Return the step length of equation 11."""
    noise, known = n * sigma**2, n * sigma**2 + beta**2
    return math.sqrt(2 / (known + math.sqrt(known**2 + 12 * noise * math.log(steps))))


@dataclass(frozen=True)
class Spending:
    """What a query may cost, by lines 2 and 3 of algorithm 3."""

    epsilon: float
    n_rows: int
    steps: int = 300
    delta: float = 1e-7

    @property
    def per_step(self) -> float:
        """Epsilon of one gradient, and of one choice where to start."""
        return self.epsilon / math.sqrt(8 * self.steps * math.log(2 / self.delta))

    @property
    def sigma(self) -> float:
        """The least noise."""
        factor = math.sqrt(2 * math.log(2.5 * self.steps / self.delta))
        return factor / (self.n_rows * self.per_step)


@dataclass(frozen=True)
class Answers:
    """Explanations of a stream: steps are 0 where taken over, beta is inf where none was read."""

    spending: Spending
    phis: Floats
    steps: Floats
    sigmas: Floats
    betas: Floats

    def exact(self, delta: float) -> Floats:
        """Return the total after each query by exact Gaussian composition."""
        squares = self.steps / (self.spending.n_rows * self.sigmas) ** 2
        squares += np.isfinite(self.betas) * mu_of_range(self.spending.per_step) ** 2
        return np.array([epsilon_of_mu(mu, delta) for mu in np.sqrt(np.cumsum(squares)).tolist()])

    def stated(self, slack: float) -> Floats:
        """Return the total after each query by the paper's theorem, over all gradients."""
        each = self.spending.per_step * np.array(
            [self.spending.sigma / self.sigmas, self.steps > 0]
        )
        return strong_composition(each, np.array([self.steps, np.isfinite(self.betas)]), slack)


def strong_composition(epsilons: Floats, counts: Floats, slack: float) -> Floats:
    """Return running totals by theorem 4.3 of Kairouz, Oh and Viswanath, the paper's [19]."""
    growth = np.cumsum((counts * epsilons * np.tanh(epsilons / 2)).sum(axis=0))
    squares = np.cumsum((counts * epsilons**2).sum(axis=0))
    return np.asarray(growth + np.sqrt(2 * squares * np.log(np.e + np.sqrt(squares) / slack)))


def explained(
    arounds: Sequence[Local], rows: Points, spending: Spending, kind: str, seed: int = 0
) -> Answers:
    """Explain a stream by algorithm 1 ("non-adaptive"), or 3 ("adaptive", "enhanced")."""
    rng, n, most = np.random.default_rng(seed), rows.shape[1], spending.steps
    growth, reach = math.sqrt(math.log(most)), math.log(most) / math.sqrt(most)
    phis = np.zeros(rows.shape)
    steps, sigmas, betas = np.zeros(len(rows)), np.full(len(rows), spending.sigma), []
    for at, around in enumerate(arounds):
        known = np.flatnonzero(steps)
        apart = np.linalg.norm(rows[known] - rows[at], axis=1)
        beta, steps[at] = math.inf, most
        if kind == "non-adaptive" or not len(known):
            phis[at] = algorithm_1(around, spending.sigma, most, rng)
        elif apart.min() <= reach:
            phis[at], steps[at] = phis[known[np.argmin(apart)]], 0
        else:
            norms = np.linalg.norm(around.gradient(phis[known]), axis=1)
            # The exponential mechanism, by Gumbel noise.
            scores = rng.gumbel(size=len(norms)) - spending.n_rows * spending.per_step * norms / 2
            beta = float(norms[np.argmax(scores)])
            sigmas[at] = max(beta / math.sqrt(n), spending.sigma)
            # Theorem 4.4 is min(T, b sqrt(log T) T), since b = log(T)^-a.
            size = beta if kind == "enhanced" else math.sqrt(n) * sigmas[at]
            steps[at] = max(2, min(most, math.ceil(size * growth * most)))
            rates = MULTIPLES * lemma_rate(n, sigmas[at], beta, most)
            start = phis[known[np.argmax(scores)]]
            phis[at] = _descended(around, start, sigmas[at], int(steps[at]), rates, rng)
        betas.append(beta)
    return Answers(spending, phis, steps, sigmas, np.array(betas))


def from_history(rows: Points, phis: Floats, row: Points) -> Floats:
    """Explain a row by algorithm 4: from queries and answers alone."""
    labels = np.einsum("ij,ij->i", phis, rows)[:, np.newaxis]
    return locals_of(rows, labels.astype(np.float32), row)[0].best
