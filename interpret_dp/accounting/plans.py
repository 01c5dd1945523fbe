"""All releases of one request, as one value; never sees data."""

from __future__ import annotations

from dataclasses import dataclass

from interpret_dp.accounting.composition import GdpPair, reduce_event
from interpret_dp.accounting.events import composed_json
from interpret_dp.accounting.guarantee import ReleaseShare
from interpret_dp.accounting.planned import PlannedSampling
from interpret_dp.accounting.releases import PlannedRelease

__all__ = ["ReleasePlan"]


@dataclass(frozen=True)
class ReleasePlan:
    """All releases that a request may make, fixed before the first row is read.

    Parameters
    ----------
    releases : tuple of PlannedRelease or PlannedSampling

    Raises
    ------
    ValueError
        If two parts have one name, so that it would not be clear what a release costs.
    """

    releases: tuple[PlannedRelease | PlannedSampling, ...]

    def __post_init__(self) -> None:
        """Check that names are unique."""
        names = [part.name for part in self.releases]
        if len(set(names)) < len(names):
            raise ValueError(f"The planned releases are named {names}; each needs its own name.")

    @property
    def event(self) -> dict[str, object]:
        """The plan as an event tree, for the ledger."""
        return composed_json([(part.node, part.count) for part in self.releases])

    @property
    def cost(self) -> GdpPair:
        """What the whole plan costs, rounded up: sqrt(sum of squares) of mu, and sum of delta."""
        return reduce_event(self.event)

    @property
    def shares(self) -> tuple[ReleaseShare, ...]:
        """The lines of the bill."""
        return tuple(part.share for part in self.releases)
