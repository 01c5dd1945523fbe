"""What a request plans to release of Poisson samples, and what that costs; never sees data."""

from __future__ import annotations

from dataclasses import dataclass

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.events import dominated_node, sampled_gaussian_node
from interpret_dp.accounting.guarantee import ReleaseShare
from interpret_dp.accounting.sampled import SMALLEST_OWN_DELTA, calibrated_noise, covering_mu

__all__ = ["PlannedSampling", "SampledSteps", "SamplingInProgress"]


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
        check_real(
            f"delta of {what}",
            self.delta,
            low=SMALLEST_OWN_DELTA,
            high=1,
            high_open=True,
            mend="Ask for a larger delta.",
        )
        if self.steps is not None:
            self.check(self.steps)

    @classmethod
    def calibrated(
        cls, name: str, mu: float, delta: float, *, probability: float, count: int
    ) -> PlannedSampling:
        """Return the plan of so many steps, with the least noise that the pair allows."""
        noise = calibrated_noise(mu, delta, probability, count)
        steps = SampledSteps(noise, probability, count)
        return cls(name, covering_mu(noise, probability, count, delta), delta, steps)

    def settled(self, *, probability: float, count: int) -> SampledSteps:
        """Return steps of a rate and number that were not known before, as noisy as need be."""
        noise = calibrated_noise(self.mu, self.delta, probability, count)
        return SampledSteps(noise, probability, count)

    def check(self, steps: SampledSteps) -> None:
        """Raise ValueError if these steps cost more than the pair."""
        mu = covering_mu(steps.noise_multiplier, steps.probability, steps.count, self.delta)
        if mu > self.mu:
            raise ValueError(
                f"The steps of {self.name!r} need mu {mu:.6g} at delta {self.delta:g}; mu "
                f"{self.mu:.6g} is planned. Use noise for fewer steps, or more noise."
            )

    @property
    def node(self) -> dict[str, object]:
        """All of them, as an event."""
        if self.steps is None:
            return dominated_node(self.mu, self.delta)
        steps = self.steps
        return sampled_gaussian_node(
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
        mu = covering_mu(steps.noise_multiplier, steps.probability, used, self.delta)
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
        """What the steps begun cost, with the plan's own delta."""
        return 0.0 if self.steps is None else self.planned.mu_of_first(self.steps, self.used)
