"""What a request plans to release, one name at a time, and what that costs; never sees data."""

from __future__ import annotations

from dataclasses import dataclass, field

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.choices import range_of_mu
from interpret_dp.accounting.composition import GdpPair, compose_repeated, reduce_event
from interpret_dp.accounting.events import (
    composed_json,
    exponential_node,
    gaussian_node,
    thresholding_node,
)
from interpret_dp.accounting.guarantee import ReleaseShare

__all__ = ["SMALLEST_MU", "PlannedChoice", "PlannedRelease", "PlannedSelection"]

# Below the first, noise for a row that adds 256 LATTICE units to a sum would leave the integers.
# (Products of 256 columns add 181, and nothing else as much.) Above the second, noise for LATTICE
# units would be the lattice's least, whatever is paid.
SMALLEST_MU, _LARGEST_MU = 2.0**-28, 2.0**10


@dataclass(frozen=True)
class PlannedRelease:
    """``count`` noisy sums of one name that cost ``mu`` each.

    Attributes
    ----------
    name : str
    mu : float
        Gaussian differential privacy of each.
    count : int
    delta : float
        Own delta of each: 0 of all but selections.

    Raises
    ------
    TypeError, ValueError
        If ``count`` is below 1, or ``mu`` needs noise that the lattice cannot carry. Checked
        here, so that a fit refuses before it reserves.
    """

    name: str
    mu: float
    count: int
    delta: float = field(default=0.0, init=False)

    #: What they are, in an error message.
    words = "releases"

    def __post_init__(self) -> None:
        """Check the figures."""
        check_int(f"The number of releases {self.name!r}", self.count, low=1)
        check_real(
            f"mu of each release {self.name!r}",
            self.mu,
            low=SMALLEST_MU,
            high=_LARGEST_MU,
            mend="Ask for another epsilon or delta, or for another number of rounds.",
        )

    @property
    def node(self) -> dict[str, object]:
        """One of the releases, as an event."""
        return gaussian_node(self.mu)

    @property
    def pair(self) -> GdpPair:
        """What one of them costs: of the event, so that plan, charge and bill are one figure."""
        return reduce_event(composed_json([(self.node, 1)]))

    @property
    def share(self) -> ReleaseShare:
        """All of them together, as a line of the bill."""
        cost = compose_repeated([(self.pair, self.count)])
        return ReleaseShare(self.name, cost.mu, self.count, cost.delta)


@dataclass(frozen=True)
class PlannedSelection(PlannedRelease):
    """``count`` selections among the values that occur, which cost ``mu`` and ``delta`` each.

    Attributes
    ----------
    name, mu, count
        As of :class:`PlannedRelease`.
    delta : float
        Probability of naming a value that only one of two neighbouring tables has, above 0.

    Raises
    ------
    TypeError, ValueError
        As :class:`PlannedRelease`, or if ``delta`` is not a probability.
    """

    # The inherited default is no probability, and is refused.
    delta: float = 0.0
    words = "selections"

    def __post_init__(self) -> None:
        """Check the figures."""
        super().__post_init__()
        name = f"delta of each release {self.name!r}"
        check_real(name, self.delta, low=0, low_open=True, high=1, high_open=True)

    @property
    def node(self) -> dict[str, object]:
        """One of the selections, as an event."""
        return thresholding_node(self.mu, self.delta)


@dataclass(frozen=True)
class PlannedChoice(PlannedRelease):
    """``count`` choices by the exponential mechanism that cost ``mu`` each."""

    words = "choices"

    @property
    def epsilon(self) -> float:
        """The bounded range of each choice: at most 100, which costs less than a large ``mu``."""
        return range_of_mu(self.mu)

    @property
    def node(self) -> dict[str, object]:
        """One of the choices, as an event."""
        return exponential_node(self.epsilon)
