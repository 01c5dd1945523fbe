"""Algorithms 1 to 4 of the paper, made private.

Earlier explanations are used twice. One is taken over for a query next to its own, which is free.
Other queries start from an explanation that is good already, so that fewer steps are enough. Every
decision that depends on rows is a release: the exponential mechanism
picks the start, and the length of the first noisy gradient, which is paid for as a step, decides on
the number of further ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.lattice import LATTICE, Neighbourhood
from interpret_dp.accounting.plans import PlannedChoice, PlannedRelease
from interpret_dp.lime.black_box import LABEL_UNITS, Labels
from interpret_dp.lime.coordinates import UNITS, Points, WeightTable, differences
from interpret_dp.mechanisms.additive import noise_scale
from interpret_dp.release import ReleaseSession

# Algorithm 1: projected noisy gradient descent on the unit ball, and the exact sums it rests on.
#
# The local loss of equation 1, summed over rows, is quadratic: phi' A phi - 2 b' phi + constant,
# with A = sum w (x - z)(x - z)' and b = sum w f(x) (x - z). Both are sums of integers, and all
# products and partial sums are exact: no order of rows and no size of a block changes a bit.
#
# Every step releases a noisy gradient; all of them compose exactly, as Gaussian releases do. The
# gradient is that of the sum over rows, not of the mean: the number of rows is private.

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

PHI_UNITS = 2**10
"""Units of an explanation's coefficients at which gradients are taken."""

_MOST_ROWS = 2**13
_EXACT = 2**53  # floats hold all integers below
# A label of 1 has as many units as a distance of 1, times those of a coefficient.
_LABEL_STEP = UNITS * PHI_UNITS // LABEL_UNITS


@dataclass(frozen=True)
class ExplanationData:
    """The private rows of the explanation data, as integers; left out of the representation.

    Attributes
    ----------
    points : ndarray of int16, shape (n_rows, n_coordinates)
        As ``Coordinates.points`` returns them.
    labels : ndarray of int16, shape (n_rows, n_outputs)
        Between ``-LABEL_UNITS`` and ``LABEL_UNITS``: what lies outside is clipped.
    """

    points: Points = field(repr=False)
    labels: Labels = field(repr=False)

    def __post_init__(self) -> None:
        """Keep the labels within the bound that every sensitivity rests on."""
        object.__setattr__(self, "labels", np.clip(self.labels, -LABEL_UNITS, LABEL_UNITS))

    def rows(self, mask: NDArray[np.bool_]) -> ExplanationData:
        """Return the rows for which ``mask``, shape (n_rows,), is true."""
        return ExplanationData(self.points[mask], self.labels[mask])


@dataclass(frozen=True)
class Queries:
    """Points to be explained; public.

    Attributes
    ----------
    points : ndarray of int16, shape (n_queries, n_coordinates)
        As ``Coordinates.points`` returns them.
    outputs : tuple of int, shape (n_queries,)
        Which of the model's outputs is explained at each point.
    labels : tuple of int, shape (n_queries,)
        That output at each point, in steps of ``1 / LABEL_UNITS``.
    is_centered : bool
        Whether half of how far a row's label is from the query's is explained, which lies between
        -1 and 1 again. False: the label itself, as in equation 1 of the paper, whose linear
        function is 0 at the query, even if the model's output is not.
    """

    points: Points
    outputs: tuple[int, ...]
    labels: tuple[int, ...]
    is_centered: bool = False

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.points)

    def at(self, indices: Sequence[int]) -> Queries:
        """Return some of the queries."""
        return Queries(
            self.points[list(indices)],
            tuple(self.outputs[index] for index in indices),
            tuple(self.labels[index] for index in indices),
            self.is_centered,
        )


@dataclass(frozen=True)
class ExactMoments:
    """The sums of one query, in lattice units; private.

    Attributes
    ----------
    second : ndarray of int64, shape (n_coordinates, n_coordinates)
        A, symmetric.
    first : ndarray of int64, shape (n_coordinates,)
        b, in units that are ``PHI_UNITS`` times finer.
    """

    second: Integers = field(repr=False)
    first: Integers = field(repr=False)

    def gradients(self, phis: Floats) -> Integers:
        """Return half the gradient of the loss at some explanations, on the lattice; private.

        Parameters
        ----------
        phis : ndarray of float64, shape (n_explanations, n_coordinates)
            Public. They are cut to the unit ball and truncated, so that no norm exceeds
            ``PHI_UNITS``.

        Returns
        -------
        ndarray of int64, shape (n_explanations, n_coordinates)
            A phi - b. A row adds at most ``PHI_UNITS * weights.gradient_norm`` to its length.
        """
        phis = np.nan_to_num(phis, nan=0.0, posinf=0.0, neginf=0.0)
        norms = np.linalg.norm(phis, axis=-1, keepdims=True)
        units = np.trunc(phis / np.maximum(norms, 1.0) * (_INSIDE * PHI_UNITS)).astype(np.int64)
        return np.asarray(units @ self.second - self.first)


# Keeps integer coefficients inside the unit ball in spite of rounding of the square root.
_INSIDE = 1.0 - 2.0**-20


def exact_moments(
    data: ExplanationData, queries: Queries, weights: WeightTable
) -> list[ExactMoments]:
    """Sum the moments of each query.

    Parameters
    ----------
    data : ExplanationData
        Private.
    queries : Queries
    weights : WeightTable

    Returns
    -------
    list of ExactMoments, one a query
        Private. A row of weight w and label f adds ``w t t'`` and ``w f t`` for the vector t from
        the query to it, all integers. Where queries are centred, f is half of how far the label is
        from the query's, truncated towards zero.
    """
    return [_moments(data, queries, at, weights) for at in range(len(queries))]


def _moments(
    data: ExplanationData, queries: Queries, at: int, weights: WeightTable
) -> ExactMoments:
    n_coordinates = queries.points.shape[1]
    second = np.zeros((n_coordinates, n_coordinates), dtype=np.int64)
    first = np.zeros(n_coordinates, dtype=np.int64)
    # No entry of what a row adds is larger than its norm. Floats are exact and much faster, as
    # long as the sum of a block stays below 2**53.
    n_rows = min(_MOST_ROWS, _EXACT // weights.moments_norm)
    kind = np.float64 if n_rows else np.int64
    for start in range(0, len(data.points), n_rows or _MOST_ROWS):
        rows = slice(start, start + (n_rows or _MOST_ROWS))
        steps = differences(data.points[rows], queries.points[at]).astype(np.int64)
        row_weights = weights.of_squares((steps**2).sum(axis=1))[:, np.newaxis]
        second += ((row_weights * steps).astype(kind).T @ steps.astype(kind)).astype(np.int64)
        labels = _explained(data.labels[rows, queries.outputs[at]], queries, at)
        first += (row_weights[:, 0] * labels * weights.stretch) @ steps
    return ExactMoments(second, first)


def _explained(labels: NDArray[np.int16], queries: Queries, at: int) -> Integers:
    """Return the explained values: labels, or half their differences from the query's."""
    explained = labels.astype(np.int64)
    if queries.is_centered:
        difference = explained - min(max(queries.labels[at], -LABEL_UNITS), LABEL_UNITS)
        explained = np.sign(difference) * (np.abs(difference) // 2)
    return explained * _LABEL_STEP


GRADIENTS = "gradients"
"""The name of the releases."""

# Length of the first step, which sets that of all others. Measured on adult: 0.2 is too short where
# noise is strong, and with the usual 1 the loss is twice as large.
_FIRST_STEP = 0.3
# Entries of exact matrices that are held at a time, 8 bytes each.
_MOST_ENTRIES = 2**23


def gradients_release(
    weights: WeightTable, neighbourhood: Neighbourhood, mu: float, n_queries: int, steps: int
) -> PlannedRelease:
    """Return the planned releases of ``n_queries`` explanations that cost ``mu`` together.

    Parameters
    ----------
    weights : WeightTable
    neighbourhood : Neighbourhood
    mu : float
        Gaussian differential privacy of everything together.
    n_queries : int
    steps : int
        Gradients of each query; the paper takes 300.

    Raises
    ------
    TypeError, ValueError
        If a number is below 1 (2 for ``steps``), or the noise would not fit into 64 bits. Nothing
        was read or spent.
    """
    n_queries = check_int("n_queries", n_queries, low=1)
    steps = check_int("steps", steps, low=2, mend="The paper takes 300 gradients a query.")
    count = n_queries * steps
    each = PlannedRelease(GRADIENTS, mu / math.sqrt(count), count)
    noise_scale(GRADIENTS, neighbourhood.sensitivity(row_norm(weights), aligned=False), each.mu)
    return each


def row_norm(weights: WeightTable) -> int:
    """Return a bound on what one row adds to the length of a gradient, in lattice units."""
    return PHI_UNITS * weights.gradient_norm


def descend(
    session: ReleaseSession,
    data: ExplanationData,
    queries: Queries,
    weights: WeightTable,
    steps: int,
) -> Floats:
    """Find the explanation of each query by noisy gradient descent.

    Parameters
    ----------
    session : ReleaseSession
        Open, with :func:`gradients_release` in its plan, for as many queries and steps.
    data : ExplanationData
        Private.
    queries : Queries
    weights : WeightTable
    steps : int

    Returns
    -------
    ndarray of float64, shape (n_queries, n_coordinates)
        Public.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithm 1, with changes that are post-processing of the
    released gradients (:class:`Descents`). All gradients follow from the moments, so that the rows
    are read once and not in every step.
    """
    averages = []
    size = max(1, _MOST_ENTRIES // queries.points.shape[1] ** 2)
    for start in range(0, len(queries), size):
        batch = queries.at(range(len(queries))[start : start + size])
        moments = exact_moments(data, batch, weights)
        descents = Descents(np.zeros(batch.points.shape))
        for step in range(steps):
            slopes = noisy_gradients(session, moments, descents.coefficients, weights)[0]
            descents.advance(slopes, is_averaged=step >= steps // 2)
        averages.append(descents.averages())
    return np.concatenate(averages)


def noisy_gradients(
    session: ReleaseSession, moments: Sequence[ExactMoments], phis: Floats, weights: WeightTable
) -> tuple[Floats, float]:
    """Release one gradient for each query.

    Parameters
    ----------
    session : ReleaseSession
        Open, with :func:`gradients_release` in its plan.
    moments : sequence of ExactMoments, shape (n_queries,)
        Private.
    phis : ndarray of float64, shape (n_queries, n_coordinates)
        In the unit ball; public.
    weights : WeightTable

    Returns
    -------
    slopes : ndarray of float64, shape (n_queries, n_coordinates)
        Half the gradient of the loss, summed over rows, over the standard deviation of its noise.
    sigma : float
        That standard deviation, on the lattice.
    """
    exact = [sums.gradients(phi[np.newaxis])[0] for sums, phi in zip(moments, phis, strict=True)]
    # Two rows can pull in opposite directions.
    noisy, sigma = session.gaussian(
        GRADIENTS, np.stack(exact), row_norm=row_norm(weights), aligned=False
    )
    return noisy / sigma, sigma


class Descents:
    """One descent for each query of a batch, from released gradients alone; public.

    Parameters
    ----------
    starts : ndarray of float64, shape (n_queries, n_coordinates)
        In the unit ball.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n_queries, n_coordinates)
        Where the next gradient is to be taken.

    Notes
    -----
    The step length is that of AdaGrad-Norm (Streeter and McMahan 2010), a constant over the root of
    the sum of squared noisy gradients: it needs no number of rows. The later half of the iterates
    is averaged, since the last one is mostly noise.
    """

    def __init__(self, starts: Floats) -> None:
        self.coefficients = starts
        self._squares = np.zeros((len(starts), 1))
        self._total = np.zeros_like(starts)
        self._n_averaged = 0

    def advance(self, slopes: Floats, *, is_averaged: bool) -> None:
        """Take one step.

        Parameters
        ----------
        slopes : ndarray of float64, shape (n_queries, n_coordinates)
            Released gradients, over the standard deviation of their noise.
        is_averaged : bool
            Whether the place reached counts in the average.
        """
        self._squares += np.sum(slopes**2, axis=1, keepdims=True)
        lengths = _FIRST_STEP / np.sqrt(np.maximum(self._squares, np.finfo(float).tiny))
        moved = self.coefficients - lengths * slopes
        self.coefficients = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1.0)
        if is_averaged:
            self._total += self.coefficients
            self._n_averaged += 1

    def averages(self) -> Floats:
        """Return the average of each descent, shape (n_queries, n_coordinates)."""
        return np.asarray(self._total / self._n_averaged)


# Earlier released explanations, and Algorithm 4, which explains from them without private rows.
#
# Algorithm 4 is post-processing, and free: it sees queries, which are public, and the black box's
# answers to them.

# Bisection of a bracket of 64-bit floats cannot need more.
_STEPS = 200
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Explained:
    """One explanation.

    Attributes
    ----------
    point : ndarray of int16, shape (n_coordinates,)
        The query: the asker's own.
    output : int
        Which of the model's outputs is explained.
    label : int
        That output at the query, in steps of ``1 / LABEL_UNITS``; public, as the query is.
    coefficients : ndarray of float64, shape (n_coordinates,)
        phi, in the unit ball: how the model's output, mapped to -1 to 1, changes when a coordinate
        moves by a distance of 1. Public.
    method : str
    origin : {"released", "reused", "post-processed"}
        Computed on the private rows and paid for; taken over from a near query; or computed from
        earlier explanations.
    mu : float
        What it cost; 0 unless released.
    """

    point: Points = field(repr=False)
    output: int
    label: int
    coefficients: Floats = field(repr=False)
    method: str
    origin: str
    mu: float = 0.0


def released(history: Iterable[Explained], output: int) -> list[Explained]:
    """Return the explanations of one output that were computed on private rows, oldest first.

    Others are left out: one that was taken over from a near query may be wrong a step further on
    (Algorithm 3 of the paper, ``Flag``).
    """
    return [one for one in history if one.origin == "released" and one.output == output]


def minimum_on_ball(design: Floats, target: Floats) -> Floats:
    """Return the shortest minimum of ``||design phi - target||`` over ``||phi|| <= 1``.

    Parameters
    ----------
    design : ndarray of float64, shape (n_rows, n)
    target : ndarray of float64, shape (n_rows,)

    Returns
    -------
    ndarray of float64, shape (n,)
        Directions in which no row lies stay at 0.

    Notes
    -----
    With the singular values s of the design, phi is V s u'y / (s^2 + m), where m is 0 inside the
    ball and otherwise the number for which ||phi|| is 1; ||phi|| decreases in m, so that bisection
    finds it (Moré and Sorensen 1983).
    """
    left, scales, right = np.linalg.svd(design, full_matrices=False)
    has_rows = scales > _SMALLEST * max(float(scales.max(initial=0.0)), 1.0)
    scales, right = scales[has_rows], right[has_rows]
    pulls, squares = (left.T @ target)[has_rows] * scales, scales**2

    def solution(multiplier: float) -> Floats:
        return np.asarray(pulls / (squares + multiplier))

    if np.linalg.norm(solution(0.0)) <= 1.0:
        return np.asarray(solution(0.0) @ right)
    low, high = 0.0, float(np.linalg.norm(pulls))
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        is_long = np.linalg.norm(solution(middle)) > 1.0
        low, high = (middle, high) if is_long else (low, middle)
    return np.asarray(solution(high) @ right)


def explain_from_history(
    queries: Queries, weights: WeightTable, history: Sequence[Explained]
) -> list[Floats]:
    """Explain queries by earlier explanations; costs nothing.

    Parameters
    ----------
    queries : Queries
    weights : WeightTable
    history : sequence of Explained

    Returns
    -------
    list of ndarray of float64, shape (n_coordinates,) each
        Public.

    Raises
    ------
    ValueError
        If nothing was released for the output of a query.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithm 4 and equation 8, which fits a linear function to
    earlier queries in place of rows. As printed its labels are phi_j . z_j; that is worse than
    explaining nothing (measured on adult: a loss of 0.19 against 0.077), because phi_j . (x - z_j)
    stands for the model, whose value at z_j need not be that. Here the labels are
    the model's own answers at earlier queries, which are public, as these are. The explanation is
    good where earlier queries are rows of the same kind as the explanation data.
    """
    explanations = []
    for at, (point, output) in enumerate(zip(queries.points, queries.outputs, strict=True)):
        earlier = released(history, output)
        if not earlier:
            raise ValueError(
                f"No explanation of output {output} was computed yet, so that there is nothing "
                "to explain it from. Explain rows with this output by another method first."
            )
        steps = differences(np.array([one.point for one in earlier]), point)
        squares = np.sum(steps.astype(np.int64) ** 2, axis=1)
        roots = np.sqrt(weights.of_squares(squares) / 2.0**weights.bits)
        labels = np.array([one.label for one in earlier]) / LABEL_UNITS
        if queries.is_centered:
            labels = (labels - queries.labels[at] / LABEL_UNITS) / 2.0
        explanations.append(
            minimum_on_ball(steps / weights.unit * roots[:, np.newaxis], labels * roots)
        )
    return explanations


#: Up to here an explanation is taken over. On adult, taking over the best explanation of a query
#: at a distance of 0.04 to 0.06 has a mean loss of 0.0004, as computing one at epsilon 0.1 has; at
#: 0.08 to 0.1 it is three times as much.
DEFAULT_REUSE_DISTANCE = 0.06

_START, _ROWS = "start", "rows"
# Parts of the square of a query's mu. The rest goes to the gradients.
_START_SHARE, _ROWS_SHARE = 0.05, 0.01
# Keeps rounding errors of the split below the query's mu.
_ROUNDING = 2.0**-40
# Candidates for the start: more of them would only dilute the choice.
_MOST_CANDIDATES = 32


@dataclass(frozen=True)
class AdaptiveConfig:
    """Settings of the adaptive methods; public.

    Attributes
    ----------
    steps : int
        T: gradients of a fully computed explanation, 2 or more; the paper takes 300.
    mu : float
        The most that one query may cost.
    enhanced : bool
        Section 4.4: the number of steps follows from beta alone and not from the noise, too.
    reuse_distance : float
        Explanations of queries no further apart than this are taken over, in the distance of which
        1 is the largest; 0 takes nothing over.
    n_rows : float or None
        Public, or released before, at least 1. None: a hundredth of the square of ``mu`` is
        spent on it with the first computed query.
    """

    steps: int
    mu: float
    enhanced: bool
    reuse_distance: float
    n_rows: float | None

    @property
    def method(self) -> str:
        """Name of the method."""
        return "enhanced" if self.enhanced else "adaptive"

    def mu_of(self, share: float) -> float:
        """Return the mu of a share of a query's budget."""
        return self.mu * math.sqrt(share) * (1.0 - _ROUNDING)

    def starts(self, count: int) -> PlannedChoice:
        """Return the choices of where to start for so many queries."""
        return PlannedChoice(_START, self.mu_of(_START_SHARE), count)

    @property
    def gradients_share(self) -> float:
        """Share of a query's budget for all its gradients."""
        return 1.0 - _START_SHARE - (_ROWS_SHARE if self.n_rows is None else 0.0)

    def further_steps(self, beta: float, noise: float) -> int:
        """Return how many steps follow the first one.

        Parameters
        ----------
        beta : float
            Estimated norm of the gradient of the mean loss at the start.
        noise : float
            Expected norm of the noise on a gradient of the mean loss.

        Notes
        -----
        Theorem 4.4: (beta')^(1 - 1 / 2a) T steps are enough, beta' being the larger of the two, if
        a = log(1 / beta') / log log T is above 1/2. As (beta')^(-1 / 2a) is the root of log T, that
        is beta' T sqrt(log T), and the condition says that it is below T.
        """
        size = beta if self.enhanced else max(beta, noise)
        needed = size * self.steps * math.sqrt(math.log(self.steps))
        return math.ceil(min(max(needed, 2.0), self.steps)) - 1


def adaptive_plan(
    weights: WeightTable,
    neighbourhood: Neighbourhood,
    config: AdaptiveConfig,
    n_queries: int,
    history: Sequence[Explained],
) -> tuple[PlannedRelease, ...]:
    """Return the most that ``n_queries`` explanations may release; ``config.mu`` a query.

    Parameters
    ----------
    weights : WeightTable
    neighbourhood : Neighbourhood
    config : AdaptiveConfig
    n_queries : int
    history : sequence of Explained
        Explanations before the request.

    Raises
    ------
    TypeError, ValueError
        If there is no query, or the noise would not fit into 64 bits. Nothing was read or spent.
    """
    mu = config.mu_of(config.gradients_share * n_queries)
    planned = [gradients_release(weights, neighbourhood, mu, n_queries, config.steps)]
    # The first explanation of all starts from nothing.
    n_choices = n_queries if any(one.origin == "released" for one in history) else n_queries - 1
    if n_choices:
        planned.append(config.starts(n_choices))
    if config.n_rows is None:
        planned.append(PlannedRelease(_ROWS, config.mu_of(_ROWS_SHARE), 1))
    return tuple(planned)


def explain_adaptively(
    session: ReleaseSession,
    data: ExplanationData,
    queries: Queries,
    weights: WeightTable,
    config: AdaptiveConfig,
    history: Sequence[Explained],
) -> tuple[list[Explained], float | None]:
    """Explain a batch of queries, each with the help of all that were explained before it.

    Parameters
    ----------
    session : ReleaseSession
        Open, with :func:`adaptive_plan` in its plan; one that charges what was used.
    data : ExplanationData
        Private.
    queries : Queries
    weights : WeightTable
    config : AdaptiveConfig
    history : sequence of Explained

    Returns
    -------
    explained : list of Explained, one a query
        Public.
    n_rows : float or None
        The number of rows that was given or released; None if nothing had to be computed.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithms 2 and 3 and section 4.4. Their line 7 of Algorithm 2
    computes beta exactly and lets it choose noise and steps, which is not private; here it is the
    length of the first noisy gradient, less what noise adds to it. Which queries are taken over is
    decided by queries alone. The candidates for the start are the explanations nearest to the
    query, and 0, where Algorithm 1 starts. docs/proofs/dp_lime.md.
    """
    descending = _AdaptiveDescents(session, data, weights, config)
    explained: list[Explained] = []
    for at in range(len(queries)):
        query = queries.at([at])
        near = _nearest([*history, *explained], query, weights)
        if near and near[0][1] <= config.reuse_distance and config.reuse_distance > 0:
            explanation = dataclasses.replace(
                near[0][0], point=query.points[0], label=query.labels[0], origin="reused", mu=0.0
            )
        else:
            explanation = descending.explain(query, [one.coefficients for one, _ in near])
        explained.append(explanation)
    return explained, descending.n_rows


def _nearest(
    earlier: Sequence[Explained], query: Queries, weights: WeightTable
) -> list[tuple[Explained, float]]:
    """Return the released explanations nearest to a query, with their distances: public.

    Only explanations that were computed count (``Flag`` in Algorithm 3). The largest distance of
    points is 1. Where explanations start from labels, half the difference of labels counts, too.
    """
    others = released(earlier, query.outputs[0])
    if not others:
        return []
    points = np.array([one.point for one in others])
    distances = np.linalg.norm(differences(points, query.points[0]), axis=1) / weights.unit
    if query.is_centered:
        labels = np.array([one.label for one in others])
        distances = np.hypot(distances, (labels - query.labels[0]) / (2.0 * LABEL_UNITS))
    order = np.argsort(distances, kind="stable")[: _MOST_CANDIDATES - 1]
    return [(others[at], float(distances[at])) for at in order]


class _AdaptiveDescents:
    """Explanations of one query after the other, from the best of earlier explanations or 0."""

    def __init__(
        self,
        session: ReleaseSession,
        data: ExplanationData,
        weights: WeightTable,
        config: AdaptiveConfig,
    ) -> None:
        self._session, self._data, self._weights, self._config = session, data, weights, config
        self.n_rows = config.n_rows

    def explain(self, query: Queries, starts: list[Floats]) -> Explained:
        """Explain one query, starting from the best of some explanations or from 0."""
        config, spent = self._config, []
        if self.n_rows is None:
            self.n_rows = self._released_rows()
            spent.append(config.mu_of(_ROWS_SHARE))
        moments = exact_moments(self._data, query, self._weights)[0]
        candidates = np.array([np.zeros(query.points.shape[1]), *starts])
        best = 0
        if starts:
            best = self._best_start(moments, candidates)
            spent.append(config.starts(1).pair.mu)
        phi, n_steps = self._descent(moments, candidates[best], self.n_rows)
        share = config.gradients_share * n_steps / config.steps
        mu = math.hypot(*spent, config.mu_of(share))
        point, output, label = query.points[0], query.outputs[0], query.labels[0]
        return Explained(point, output, label, phi, config.method, "released", mu)

    def _released_rows(self) -> float:
        """Release the number of rows, at least 1."""
        exact = np.array([[len(self._data.points) * LATTICE]])
        noisy, _ = self._session.gaussian(_ROWS, exact, row_norm=LATTICE, aligned=True)
        return max(1.0, float(noisy[0, 0]) / LATTICE)

    def _best_start(self, moments: ExactMoments, candidates: Floats) -> int:
        """Release which of some explanations has one of the shortest gradients at a query.

        Line 6 of Algorithm 2, with the gradient of the sum over rows. The lengths are rounded down
        in exact arithmetic.
        """
        lengths = [
            math.isqrt(sum(entry * entry for entry in gradient))
            for gradient in moments.gradients(candidates).tolist()
        ]
        return self._session.choose(_START, lengths, row_norm=row_norm(self._weights))

    def _descent(self, moments: ExactMoments, start: Floats, n_rows: float) -> tuple[Floats, int]:
        """Descend from a start; the first gradient decides on the number of steps, returned too."""
        descents = Descents(start[np.newaxis])
        step, steps = 0, self._config.steps
        while step < steps:
            slopes, sigma = noisy_gradients(
                self._session, [moments], descents.coefficients, self._weights
            )
            if step == 0 and start.any():
                # From half a gradient of the sum, over its noise, to a gradient of the mean.
                scale = 2.0 * sigma / (PHI_UNITS * self._weights.scale * n_rows)
                noise = float(len(start))
                signal = max(0.0, float(np.sum(slopes**2)) - noise)
                steps = 1 + self._config.further_steps(
                    scale * math.sqrt(signal), scale * math.sqrt(noise)
                )
            descents.advance(slopes, is_averaged=step >= max(1, steps // 2))
            step += 1
        return descents.averages()[0], steps
