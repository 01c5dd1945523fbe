"""Compute explanations of a batch of queries by one of the methods that pay for each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.fitting.progress import progress
from interpret_dp.lime.descent import descend, gradients_release
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.moments import ExplanationData, Queries
from interpret_dp.lime.statistics import moments_release, release_moments
from interpret_dp.lime.weighting import WeightTable
from interpret_dp.release import PlannedRelease, ReleaseDoor

__all__ = ["BatchMethod", "chunks"]

# Exact moments of so many entries are held at a time, 8 bytes each.
_MOST_ENTRIES = 2**24
_MOST_QUERIES = 64


@dataclass(frozen=True)
class BatchMethod:
    """Method "statistics" or "interactive", for batches of queries; public.

    Attributes
    ----------
    name : {"statistics", "interactive"}
    weights : WeightTable
    steps : int
        Gradients of one query, for "interactive".
    radius : float
        Of the ball of explanations, for "statistics".
    """

    name: str
    weights: WeightTable
    steps: int
    radius: float

    def planned(
        self, neighbourhood: Neighbourhood, query_mu: float, n_queries: int
    ) -> PlannedRelease:
        """Return the releases of ``n_queries`` explanations that cost ``query_mu`` each."""
        mu = query_mu * math.sqrt(n_queries)
        if self.name == "statistics":
            return moments_release(self.weights, neighbourhood, mu, n_queries)
        return gradients_release(self.weights, neighbourhood, mu, n_queries, self.steps)

    def explain(
        self, door: ReleaseDoor, data: ExplanationData, queries: Queries
    ) -> list[LinearFit]:
        """Release the explanations of some of the planned queries."""
        if self.name == "statistics":
            moments = release_moments(door, data, queries, self.weights)
            centerings = queries.centerings or (None,) * len(moments)
            return [
                own.solve(centered, self.radius)
                for own, centered in zip(moments, centerings, strict=True)
            ]
        return descend(door, data, queries, self.weights, self.steps)


def chunks(indices: Sequence[int], n_coordinates: int, *, verbose: bool) -> Iterator[list[int]]:
    """Yield parts of a batch whose exact sums fit into memory, with a bar if it is wanted."""
    size = max(1, min(_MOST_QUERIES, _MOST_ENTRIES // n_coordinates**2))
    starts = range(0, len(indices), size)
    for start in progress(starts, verbose=verbose, desc="explaining", unit="batch"):
        yield list(indices[start : start + size])
