"""What a replay on two neighbouring tables found."""

from __future__ import annotations

from dataclasses import dataclass

from interpret_dp.accounting.choices import mu_of_range
from interpret_dp.accounting.composition import GdpPair, compose
from interpret_dp.accounting.gaussian import mu_of_lattice

__all__ = ["ReleaseCheck", "ReplayReport", "Violation"]


@dataclass(frozen=True)
class Violation:
    """One way in which a fit broke its promise on this pair of tables.

    Attributes
    ----------
    kind : {"sensitivity", "sequence", "budget", "outcome", "published"}
        A sum changed by more than was declared; the releases or the public coin flips are not
        the same; they cost more than the guarantee says; errors, warnings or printed text differ;
        a published part differs.
    where : str
        The release, or the path of the part.
    detail : str
        What is wrong, in words.
    """

    kind: str
    where: str
    detail: str

    def __str__(self) -> str:
        """Return the violation as one line."""
        return f"{self.kind}: {self.where}: {self.detail}"


@dataclass(frozen=True)
class ReleaseCheck:
    """One call of the mechanism, of one or more stacked releases.

    Attributes
    ----------
    name : str
    count : int
        Stacked releases.
    sensitivity : int
        Declared for each of them, in lattice units.
    sigma : float
        Noise scale, in lattice units; 0 for a choice.
    ratio : float
        Largest L2 change of one of them, or largest change of a score of a choice, over the
        declared sensitivity. Private.
    epsilon : float
        Bounded range of a choice; 0 for noisy sums.
    is_sampled : bool
        Whether it was a sum over a Poisson sample of the rows. What such a step costs follows from
        the rate and from the number of steps, which a replay does not see: it counts as nothing.
    """

    name: str
    count: int
    sensitivity: int
    sigma: float
    ratio: float
    epsilon: float = 0.0
    is_sampled: bool = False

    @property
    def mu(self) -> float:
        """Gaussian differential privacy of one of them."""
        if self.is_sampled:
            return 0.0
        if self.epsilon:
            return mu_of_range(self.epsilon)
        return mu_of_lattice(self.sensitivity, self.sigma)


@dataclass(frozen=True)
class ReplayReport:
    """What a replay found. Private: the ratios come from sums without noise.

    Attributes
    ----------
    releases : tuple of ReleaseCheck
    violations : tuple of Violation
    """

    releases: tuple[ReleaseCheck, ...]
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        """Whether something was released and nothing broke the promise."""
        return bool(self.releases) and not self.violations

    @property
    def worst_ratio(self) -> float:
        """Largest change of a sum over its declared sensitivity; at most 1 if all is well."""
        return max((release.ratio for release in self.releases), default=0.0)

    @property
    def mu(self) -> float:
        """Gaussian differential privacy of all recorded releases together, but for samples."""
        pairs = [GdpPair(release.mu) for release in self.releases for _ in range(release.count)]
        return compose(pairs).mu

    def __str__(self) -> str:
        """Return a short table and the verdict."""
        names = dict.fromkeys(release.name for release in self.releases)
        lines = []
        for name in names:
            own = [release for release in self.releases if release.name == name]
            worst = max(release.ratio for release in own)
            count = sum(release.count for release in own)
            lines.append(f"  {name}: {count} releases, largest change / sensitivity {worst:.4g}")
        if self.ok:
            verdict = "Nothing broke the promise on this pair of tables."
        elif self.violations:
            verdict = f"The promise is broken in {len(self.violations)} places:"
        else:
            verdict = "Nothing was released, so nothing was checked."
        return "\n".join([verdict, *(f"  {violation}" for violation in self.violations), *lines])
