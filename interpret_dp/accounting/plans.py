"""Planned releases of one request and what they cost; never sees data."""

from __future__ import annotations

from dataclasses import dataclass, field

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting import events
from interpret_dp.accounting.composition import GdpPair, compose_repeated, reduce_event
from interpret_dp.accounting.gaussian import range_of_mu
from interpret_dp.accounting.guarantee import ReleaseShare

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
    of_total : bool
        Whether up to ``total_rows`` rows of a unit are in the sums.

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
    of_total: bool = False

    #: What they are, in an error message.
    words = "releases"

    def __post_init__(self) -> None:
        """Check the figures."""
        check_int(f"The number of releases {self.name!r}", self.count, low=1)
        what = f"mu of each release {self.name!r}"
        mend = "Ask for another epsilon or delta, or for another number of rounds."
        check_real(what, self.mu, low=SMALLEST_MU, high=_LARGEST_MU, mend=mend)

    @property
    def node(self) -> dict[str, object]:
        """One of the releases, as an event."""
        return events.gaussian_node(self.mu)

    @property
    def pair(self) -> GdpPair:
        """The cost of one of them: of the event, so that plan, charge and bill are one figure."""
        return reduce_event(events.composed_json([(self.node, 1)]))

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
        return events.thresholding_node(self.mu, self.delta)


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
        return events.exponential_node(self.epsilon)


@dataclass(frozen=True)
class SampledSteps:
    """Noisy sums over fresh Poisson samples; public.

    Attributes
    ----------
    noise_multiplier : float
        Noise scale over what one row adds to a sum at most.
    probability : float
        With which each row is in a sample.
    count : int
        Number of samples.
    """

    noise_multiplier: float
    probability: float
    count: int

    def __post_init__(self) -> None:
        """Check the figures."""
        check_real("noise_multiplier", self.noise_multiplier, low=0)
        check_real("probability", self.probability, low=0, high=1, low_open=True)
        check_int("count", self.count, low=0)


@dataclass(frozen=True)
class PlannedSampling:
    """Releases of Poisson samples under one name, which cost a pair (mu, delta) together.

    Attributes
    ----------
    name : str
    mu, delta : float
        The pair of all of them together.
    steps : SampledSteps or None
        None where rate and number follow from what the request releases first, such as the number
        of rows; the pair is fixed all the same.

    Raises
    ------
    TypeError, ValueError
        If ``mu`` or ``delta`` is out of range, or the steps cost more than the pair.
    """

    name: str
    mu: float
    delta: float
    steps: SampledSteps | None = None

    #: As an event, they are one.
    count = 1

    def __post_init__(self) -> None:
        """Check the figures."""
        what = f"all releases {self.name!r} together"
        check_real(f"mu of {what}", self.mu, low=0, low_open=True)
        events.check_own_delta(f"delta of {what}", self.delta)
        if self.steps is not None:
            self.check(self.steps)

    @classmethod
    def calibrated(
        cls, name: str, mu: float, delta: float, *, probability: float, count: int
    ) -> PlannedSampling:
        """Return the plan of so many steps, with the least noise that the pair allows."""
        noise = events.calibrated_noise(mu, delta, probability, count)
        steps = SampledSteps(noise, probability, count)
        return cls(name, events.covering_mu(noise, probability, count, delta), delta, steps)

    def settled(self, *, probability: float, count: int) -> SampledSteps:
        """Return steps of a rate and number that were not known before, as noisy as need be."""
        noise = events.calibrated_noise(self.mu, self.delta, probability, count)
        return SampledSteps(noise, probability, count)

    def check(self, steps: SampledSteps) -> None:
        """Raise ValueError if these steps cost more than the pair."""
        mu = events.covering_mu(steps.noise_multiplier, steps.probability, steps.count, self.delta)
        if mu > self.mu:
            raise ValueError(
                f"The steps of {self.name!r} need mu {mu:.6g} at delta {self.delta:g}; mu "
                f"{self.mu:.6g} is planned. Use noise for fewer steps, or more noise."
            )

    @property
    def node(self) -> dict[str, object]:
        """All of them, as an event."""
        if self.steps is None:
            return events.dominated_node(self.mu, self.delta)
        steps = self.steps
        return events.sampled_gaussian_node(
            steps.noise_multiplier, steps.probability, steps.count, self.delta
        )

    @property
    def share(self) -> ReleaseShare:
        """All of them together, as a line of the bill."""
        count = 1 if self.steps is None else self.steps.count
        return ReleaseShare(self.name, self.mu, count, self.delta)

    def mu_of_first(self, steps: SampledSteps, used: int) -> float:
        """Return what the first ``used`` of these steps cost, with the pair's delta."""
        check_int("used", used, low=0, high=steps.count)
        if used == 0:
            return 0.0
        mu = events.covering_mu(steps.noise_multiplier, steps.probability, used, self.delta)
        return min(mu, self.mu)


@dataclass
class SamplingInProgress:
    """A planned sampling and how far it has come."""

    planned: PlannedSampling
    used: int = 0

    def __post_init__(self) -> None:
        """Start with the planned steps, if they are known."""
        self.steps = self.planned.steps

    @property
    def mu(self) -> float:
        """The cost of the steps begun, with the plan's own delta."""
        return 0.0 if self.steps is None else self.planned.mu_of_first(self.steps, self.used)


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
        return events.composed_json([(part.node, part.count) for part in self.releases])

    @property
    def cost(self) -> GdpPair:
        """The cost of the whole plan, rounded up: sqrt(sum of squares) of mu, and sum of delta."""
        return reduce_event(self.event)

    @property
    def shares(self) -> tuple[ReleaseShare, ...]:
        """The lines of the bill."""
        return tuple(part.share for part in self.releases)
