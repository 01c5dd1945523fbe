"""Algorithms 2 and 3, made private: methods "adaptive" and "enhanced".

Earlier explanations are used twice. One is taken over for a query next to its own, which is free.
Other queries start from an explanation that is good already, so that fewer steps are enough. Every
decision that depends on rows is a release: the exponential mechanism
picks the start, and the length of the first noisy gradient, which is paid for as a step, decides on
the number of further ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.black_box import LABEL_UNITS
from interpret_dp.lime.paper.coordinates import differences
from interpret_dp.lime.paper.history import Explained, released
from interpret_dp.lime.paper.interactive import (
    PHI_UNITS,
    Descents,
    ExactMoments,
    ExplanationData,
    Queries,
    exact_moments,
    gradients_release,
    noisy_gradients,
    row_norm,
)
from interpret_dp.lime.paper.weighting import WeightTable
from interpret_dp.release import PlannedChoice, PlannedRelease, ReleaseSession

Floats = NDArray[np.float64]

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

    def __post_init__(self) -> None:
        """Check the figures."""
        check_int("steps", self.steps, low=2, mend="The paper takes 300 gradients a query.")
        check_real("mu", self.mu, low=0, low_open=True)
        check_real("reuse_distance", self.reuse_distance, low=0)
        if self.n_rows is not None:
            check_real("n_rows", self.n_rows, low=1)

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


@dataclass(frozen=True)
class AdaptiveAnswer:
    """Explanations of a batch; public.

    Attributes
    ----------
    explained : list of Explained, one a query
    n_rows : float or None
        The number of rows that was given or released; None if nothing had to be computed.
    """

    explained: list[Explained]
    n_rows: float | None


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
    n_queries = check_int("n_queries", n_queries, low=1)
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
    query_labels: Sequence[int],
    weights: WeightTable,
    config: AdaptiveConfig,
    history: Sequence[Explained],
) -> AdaptiveAnswer:
    """Explain a batch of queries, each with the help of all that were explained before it.

    Parameters
    ----------
    session : ReleaseSession
        Open, with :func:`adaptive_plan` in its plan; one that charges what was used.
    data : ExplanationData
        Private.
    queries : Queries
    query_labels : sequence of int, shape (n_queries,)
        Label of each query, in steps of ``1 / LABEL_UNITS``; public.
    weights : WeightTable
    config : AdaptiveConfig
    history : sequence of Explained

    Returns
    -------
    AdaptiveAnswer
        Public.

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
    for at, label in enumerate(query_labels):
        query = queries.at([at])
        near = _nearest([*history, *explained], query, label, weights)
        if near and near[0][1] <= config.reuse_distance and config.reuse_distance > 0:
            explanation = dataclasses.replace(
                near[0][0], point=query.points[0], label=label, origin="reused", mu=0.0
            )
        else:
            starts = [one.coefficients for one, _ in near]
            explanation = descending.explain(query, label, starts)
        explained.append(explanation)
    return AdaptiveAnswer(explained, descending.n_rows)


def _nearest(
    earlier: Sequence[Explained], query: Queries, label: int, weights: WeightTable
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
    if query.anchors is not None:
        labels = np.array([one.label for one in others])
        distances = np.hypot(distances, (labels - label) / (2.0 * LABEL_UNITS))
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

    def explain(self, query: Queries, label: int, starts: list[Floats]) -> Explained:
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
        return Explained(
            query.points[0], query.outputs[0], label, phi, config.method, "released", mu
        )

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
