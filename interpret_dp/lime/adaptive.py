"""Methods "adaptive" and "enhanced": Algorithms 2 and 3 of the paper, made private.

What was released before is used twice: an explanation is taken over for a query next to its own,
which is free, and the others start from an explanation that is good already, so that fewer steps
are enough. Everything that looks at rows to decide this is a release: the exponential mechanism
picks the start, and the length of the first noisy gradient, which is paid for as a step, decides on
the number of further ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.descent import (
    PHI_UNITS,
    Descents,
    GradientDoor,
    gradients_release,
    part_size,
)
from interpret_dp.lime.features import UNITS, Points
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.history import Explained, History
from interpret_dp.lime.moments import ExactMoments, ExplanationData, Queries, exact_moments
from interpret_dp.lime.proxies import Predictor, Proxies, check_predictors, joint_distances
from interpret_dp.lime.weighting import WeightTable
from interpret_dp.release import PlannedChoice, PlannedRelease, ReleaseDoor

__all__ = [
    "DEFAULT_REUSE_DISTANCE",
    "AdaptiveAnswer",
    "AdaptiveConfig",
    "adaptive_plan",
    "explain_adaptively",
]

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
# So many released explanations say how far others are from predictions.
_LEAST_CHECKED = 8


@dataclass(frozen=True)
class AdaptiveConfig:
    """What a user chooses of the adaptive methods; public.

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
        """Its name."""
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
    history: History,
) -> tuple[PlannedRelease, ...]:
    """Return the most that ``n_queries`` explanations may release; ``config.mu`` a query.

    Parameters
    ----------
    weights : WeightTable
    neighbourhood : Neighbourhood
    config : AdaptiveConfig
    n_queries : int
    history : History
        What was released before the request.

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
    door: ReleaseDoor,
    data: ExplanationData,
    queries: Queries,
    query_labels: Sequence[int],
    weights: WeightTable,
    config: AdaptiveConfig,
    history: History,
) -> AdaptiveAnswer:
    """Explain a batch of queries, each with the help of all that were explained before it.

    Parameters
    ----------
    door : ReleaseDoor
        Open, with :func:`adaptive_plan` in its plan; one that charges what was used.
    data : ExplanationData
        Private.
    queries : Queries
    query_labels : sequence of int, shape (n_queries,)
        What the model says of each query, in steps of ``1 / UNITS``; public.
    weights : WeightTable
    config : AdaptiveConfig
    history : History
        Read, not changed.

    Returns
    -------
    AdaptiveAnswer
        Public.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithms 2 and 3 and section 4.4. Their line 7 of Algorithm 2
    computes beta exactly and lets it choose noise and steps, which is not private; here it is the
    length of the first noisy gradient, less what noise adds to it. Which queries are taken over is
    decided by queries alone, before anything is computed. The candidates for the start are the
    explanations nearest to the query, two predictions from the history, and 0, where Algorithm 1
    starts. docs/proofs/dp_lime.md.
    """
    computing = _Computing(door, data, weights, config, history)
    sources = _sources(queries, query_labels, weights.unit, config.reuse_distance, history)
    found: dict[int, Explained] = {}
    computed = [index for index in range(len(queries)) if index not in sources]
    for part in _parts(computed, part_size(queries.points.shape[1])):
        exact = exact_moments(data, queries.at(part), weights)
        for index, moments in zip(part, exact, strict=True):
            found[index] = computing.explain(queries.at([index]), query_labels[index], moments)
    for index, source in sources.items():
        found[index] = dataclasses.replace(
            found[source] if isinstance(source, int) else source,
            point=queries.points[index],
            label=query_labels[index],
            origin="reused",
            mu=0.0,
        )
    return AdaptiveAnswer([found[index] for index in range(len(queries))], computing.n_rows)


def _parts(indices: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(indices), size):
        yield indices[start : start + size]


def _sources(
    queries: Queries,
    query_labels: Sequence[int],
    unit: float,
    reuse_distance: float,
    history: History,
) -> dict[int, Explained | int]:
    """Return whose explanation each query takes over, of those that do: public.

    An index stands for an earlier query of the batch. Only explanations that are computed count
    (``Flag`` in Algorithm 3): what was taken over once could be wrong a step further on.
    """
    sources: dict[int, Explained | int] = {}
    if reuse_distance == 0:
        return sources
    labels = np.asarray(query_labels) / UNITS
    for output in set(queries.outputs):
        known: list[Explained | int] = list(history.released(output))
        points: list[Any] = [one.point for one in history.released(output)]
        values = [one.label / UNITS for one in history.released(output)]
        for index in (at for at, own in enumerate(queries.outputs) if own == output):
            point, label = queries.points[index], float(labels[index])
            if points:
                anchor = None if queries.anchors is None else label
                seen: Points = np.array(points)
                apart = joint_distances(seen, np.array(values), point, anchor, unit)
                nearest = int(np.argmin(apart))
                if apart[nearest] <= reuse_distance:
                    sources[index] = known[nearest]
                    continue
            known.append(index)
            points.append(point)
            values.append(label)
    return sources


@dataclass(frozen=True)
class _Start:
    """Where a descent may start, and about how far the minimum is from there."""

    fit: LinearFit
    reach: float


class _Computing:
    """Computes one explanation after the other, each from what is known by then."""

    def __init__(
        self,
        door: ReleaseDoor,
        data: ExplanationData,
        weights: WeightTable,
        config: AdaptiveConfig,
        history: History,
    ) -> None:
        self._door, self._data = door, data
        self._gradients = GradientDoor(door, weights)
        self._weights, self._config = weights, config
        self._known = History(tuple(history))
        self._checked: dict[int, tuple[int, dict[Predictor, float]]] = {}
        self.n_rows = config.n_rows

    def explain(self, query: Queries, label: int, moments: ExactMoments) -> Explained:
        """Explain one query, and remember it.

        Parameters
        ----------
        query : Queries
            A single one.
        label : int
        moments : ExactMoments
            Private.
        """
        spent = []
        if self.n_rows is None:
            self.n_rows = self._released_rows()
            spent.append(self._config.mu_of(_ROWS_SHARE))
        candidates = self._candidates(query, label)
        chosen = 0
        if len(candidates) > 1:
            phis = np.array([one.fit.coefficients for one in candidates])
            chosen = self._gradients.choose(_START, moments, phis)
            spent.append(self._config.starts(1).pair.mu)
        fit, n_steps = self._descent(query, moments, candidates[chosen], self.n_rows)
        share = self._config.gradients_share * n_steps / self._config.steps
        explained = Explained(
            query.points[0],
            query.outputs[0],
            label,
            fit,
            self._config.method,
            "released",
            math.hypot(*spent, self._config.mu_of(share)),
        )
        self._known.add(explained)
        return explained

    def _released_rows(self) -> float:
        """Release the number of rows, at least 1."""
        exact = np.array([[self._data.count() * LATTICE]])
        noisy, _ = self._door.gaussian(_ROWS, exact, row_norm=LATTICE, aligned=True)
        return max(1.0, float(noisy[0, 0]) / LATTICE)

    def _candidates(self, query: Queries, label: int) -> list[_Start]:
        """Return where the descent may start; 0 alone if nothing was released for this output."""
        nothing = np.zeros(query.points.shape[1])
        candidates = [_Start(LinearFit(nothing, nothing), 1.0)]
        output = query.outputs[0]
        released = self._known.released(output)
        if released:
            anchor = None if query.anchors is None else label / UNITS
            proxies, point = Proxies.of_released(released, self._weights), query.points[0]
            reaches = dict(self._reaches(proxies, output, anchor is not None))
            reach = reaches.pop(Proxies.fit_nearest, 1.0)
            candidates += [
                _Start(predict(proxies, point, anchor), own) for predict, own in reaches.items()
            ]
            near = proxies.nearest(point, anchor, _MOST_CANDIDATES - len(candidates))
            fits = map(LinearFit, near.coefficients, near.errors)
            candidates += [_Start(fit, reach) for fit in fits]
        return candidates

    def _reaches(self, proxies: Proxies, output: int, is_anchored: bool) -> dict[Predictor, float]:
        """Return how far explanations are from what each predictor says, as the history shows.

        Checked again when there is an eighth more to learn from; too short a history shows nothing.
        """
        if len(proxies) < _LEAST_CHECKED:
            return {}
        n_then, reaches = self._checked.get(output, (0, {}))
        if 8 * len(proxies) >= 9 * n_then:
            found = check_predictors(proxies, is_anchored)
            reaches = {
                predict: float(np.linalg.norm(check.errors)) for predict, check in found.items()
            }
            self._checked[output] = len(proxies), reaches
        return reaches

    def _descent(
        self, query: Queries, moments: ExactMoments, start: _Start, n_rows: float
    ) -> tuple[LinearFit, int]:
        """Descend from a start, as far as the first gradient says; return the steps, too."""
        steps, fit = self._config.steps, start.fit
        descents = Descents(
            fit.coefficients[np.newaxis],
            fit.standard_errors[np.newaxis],
            query.centerings,
            start.reach,
        )
        noisy, sigma = self._gradients.noisy([moments], descents.coefficients)
        if fit.coefficients.any():
            # From half a gradient of the sum, over its noise, to a gradient of the mean.
            scale = 2.0 * sigma / (PHI_UNITS * self._weights.scale * n_rows)
            noise = float(descents.n_directions[0])
            beyond = max(0.0, float(np.sum(descents.centered(noisy / sigma) ** 2)) - noise)
            steps = 1 + self._config.further_steps(
                scale * math.sqrt(beyond), scale * math.sqrt(noise)
            )
        descents.advance(noisy / sigma, is_averaged=False)
        for step in range(1, steps):
            noisy, sigma = self._gradients.noisy([moments], descents.coefficients)
            descents.advance(noisy / sigma, is_averaged=step >= steps // 2)
        return descents.fits()[0], steps
