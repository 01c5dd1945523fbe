"""Frozen noise: a fit's releases, recorded, compared with those of another fit, and replayed to it.

The ledger charges for all releases of a fit, also for those that the model does not show. So an
attack may use them all, and by the likelihood ratio of one row nothing is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_real
from interpret_dp.accounting.composition import GdpPair, compose
from interpret_dp.accounting.gaussian import mu_of_lattice, mu_of_range
from interpret_dp.mechanisms import Randomness, SeededRandomness, SystemRandomness, use_randomness

Integers: TypeAlias = NDArray[np.int64]
Keys: TypeAlias = tuple[str | float, ...]

# Below every threshold: a value that the first table lacks is not released on the second.
_NEVER_RELEASED = -(2**62)
_Table = TypeVar("_Table")


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

    Examples
    --------
    >>> from interpret_dp.audit import Violation
    >>> print(Violation("sensitivity", "boosting", "the sum changed by 2 sensitivities"))
    sensitivity: boosting: the sum changed by 2 sensitivities
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

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
    >>> from interpret_dp.audit import canary_tables, refit, replay
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=1))
    >>> check = replay(fit, tables.with_row, tables.without_row).releases[0]
    >>> check.name, check.ratio
    ('target', 1.0)
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
    """The result of a replay. Private: the ratios come from sums without noise.

    Attributes
    ----------
    releases : tuple of ReleaseCheck
    violations : tuple of Violation

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
    >>> from interpret_dp.audit import canary_tables, refit, replay
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=1))
    >>> report = replay(fit, tables.with_row, tables.without_row)
    >>> report.violations
    ()
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


@dataclass(frozen=True)
class Recorded:
    """One call of the mechanism in the first run.

    ``keys`` names the counts of a selection; None where the sums have fixed places. Of a choice,
    ``exact`` are the scores, ``sigma`` is 0 and ``epsilon`` above it.
    """

    name: str
    exact: Integers
    sensitivity: int
    sigma: float
    output: Integers
    keys: Keys | None = None
    epsilon: float = 0.0

    @property
    def kind(self) -> str:
        """The kind of release."""
        if self.epsilon:
            return "choice"
        return "sums" if self.keys is None else "selection"


class Recorder(Randomness):
    """Any source of noise, made to keep what it was asked for and what it answered.

    Attributes
    ----------
    record : list of Recorded
        Private, for its exact sums: for tables that somebody made up.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.record: list[Recorded] = []

    def perturb(self, name: str, exact: Integers, sensitivity: int, sigma: float) -> Integers:
        """Record a release."""
        output = super().perturb(name, exact, sensitivity, sigma)
        self.record.append(Recorded(name, exact.copy(), sensitivity, sigma, output.copy()))
        return output

    def perturb_occurring(
        self, name: str, keys: Sequence[str | float], exact: Integers, **scale: Any
    ) -> Integers:
        """Record a selection."""
        output = super().perturb_occurring(name, keys, exact, **scale)
        declared = scale["sensitivity"], scale["sigma"]
        self.record.append(Recorded(name, exact.copy(), *declared, output.copy(), tuple(keys)))
        return output

    def choose(self, name: str, scores: Sequence[int], sensitivity: int, epsilon: float) -> int:
        """Record a choice."""
        chosen = super().choose(name, scores, sensitivity, epsilon)
        self.record.append(
            Recorded(name, _scores(scores), sensitivity, 0.0, np.array([chosen]), epsilon=epsilon)
        )
        return chosen


class Recording(Recorder, SeededRandomness):
    """Seeded noise, recorded."""


class Replaying(SeededRandomness):
    """Answers every release with the first run's output, and checks what it replaces."""

    def __init__(self, seed: int, recording: Recorder) -> None:
        super().__init__(seed)
        self._recording = recording
        self._calls = 0
        self.checks: list[ReleaseCheck] = []
        self.violations: list[Violation] = []

    def perturb(self, name: str, exact: Integers, sensitivity: int, sigma: float) -> Integers:
        """Check a release against its counterpart and return the counterpart's output."""
        twin = self._twin(name, sensitivity, sigma, "sums")
        self._note(name, exact, twin)
        if twin is None:
            return super().perturb(name, exact, sensitivity, sigma)
        if exact.shape != twin.exact.shape:
            self._report("sequence", name, "its shape differs")
            return super().perturb(name, exact, sensitivity, sigma)
        squares = [
            _squared_distance(one, other) for one, other in zip(exact, twin.exact, strict=True)
        ]
        self._check(twin, sigma, squares)
        return twin.output.copy()

    def perturb_sampled(
        self, name: str, exact: Integers, sensitivity: int, sigma: float
    ) -> Integers:
        """Check a release of a sample's sums, which are one release whatever their shape."""
        before = len(self.checks)
        output = self.perturb(name, exact[np.newaxis], sensitivity, sigma).reshape(exact.shape)
        self.checks[before:] = [replace(c, is_sampled=True) for c in self.checks[before:]]
        return output

    def perturb_occurring(
        self,
        name: str,
        keys: Sequence[str | float],
        exact: Integers,
        *,
        newcomer: int,
        sensitivity: int,
        sigma: float,
    ) -> Integers:
        """Check a selection against its counterpart; values that are new stay unreleased.

        A value that the first table alone has and that was released shows in what is published:
        its probability is the selection's delta.
        """
        twin = self._twin(name, sensitivity, sigma, "selection")
        if twin is None or twin.keys is None:
            return super().perturb_occurring(
                name, keys, exact, newcomer=newcomer, sensitivity=sensitivity, sigma=sigma
            )
        mine = dict(zip(keys, exact.tolist(), strict=True))
        its = dict(zip(twin.keys, twin.exact.tolist(), strict=True))
        every = mine.keys() | its.keys()
        self._check(twin, sigma, [sum((mine.get(k, 0) - its.get(k, 0)) ** 2 for k in every)])
        unshared = [mine.get(key, 0) + its.get(key, 0) for key in mine.keys() ^ its.keys()]
        if max(unshared, default=0) > newcomer:
            self._report("sensitivity", name, "a new value counts more than was declared")
        answers = dict(zip(twin.keys, twin.output.tolist(), strict=True))
        return np.array([answers.get(key, _NEVER_RELEASED) for key in keys], dtype=np.int64)

    def choose(self, name: str, scores: Sequence[int], sensitivity: int, epsilon: float) -> int:
        """Check every score of a choice against its counterpart, and choose what was chosen."""
        twin = self._twin(name, sensitivity, 0.0, "choice")
        if twin is None or len(scores) != len(twin.exact):
            if twin is not None:
                self._report("sequence", name, "its number of candidates differs")
            return super().choose(name, scores, sensitivity, epsilon)
        if epsilon != twin.epsilon:
            self._report("sequence", name, "its epsilon differs")
        changes = _scores(scores) - twin.exact
        self._check(twin, 0.0, [max(int(abs(change)) for change in changes) ** 2], epsilon)
        return int(twin.output[0])

    def _note(self, name: str, exact: Integers, twin: Recorded | None) -> None:
        """Take note of the sums of both runs; for subclasses that want more than the checks."""

    def finish(self) -> None:
        """Check that nothing is left of the first run's releases and public coin flips."""
        for missing in self._recording.record[self._calls :]:
            self._calls += 1
            self._report("sequence", missing.name, "not on the neighbour")
        if self.public.bit_generator.state != self._recording.public.bit_generator.state:
            self.violations.append(
                Violation("sequence", "public coin flips", "another number of them was drawn")
            )

    def _twin(self, name: str, sensitivity: int, sigma: float, kind: str) -> Recorded | None:
        """Return the first run's release at this place, or None where there is none like it."""
        number, self._calls = self._calls, self._calls + 1
        if number >= len(self._recording.record):
            self._report("sequence", name, "only on the neighbour")
            return None
        twin = self._recording.record[number]
        for what, mine, its in (
            ("name", name, twin.name),
            ("kind", kind, twin.kind),
            ("sensitivity", sensitivity, twin.sensitivity),
            ("sigma", sigma, twin.sigma),
        ):
            if mine != its:
                self._report("sequence", name, f"its {what} differs")
        return twin if kind == twin.kind else None

    def _check(
        self, twin: Recorded, sigma: float, squares: Sequence[int], epsilon: float = 0.0
    ) -> None:
        worst = max(squares, default=0)
        ratio = math.sqrt(worst) / twin.sensitivity
        sigma, epsilon = min(sigma, twin.sigma), max(epsilon, twin.epsilon)
        counted = twin.name, len(squares), twin.sensitivity
        self.checks.append(ReleaseCheck(*counted, sigma, ratio, epsilon))
        if worst > twin.sensitivity**2:
            self._report(
                "sensitivity", twin.name, f"it changed by {ratio:.9g} of what was declared"
            )

    def _report(self, kind: str, name: str, detail: str) -> None:
        self.violations.append(Violation(kind, f"{name} (call {self._calls - 1})", detail))


def _scores(scores: Sequence[int]) -> Any:
    """Return scores as Python's integers, whose differences do not overflow."""
    return np.array([int(score) for score in scores], dtype=object)


def _squared_distance(one: Integers, other: Integers) -> int:
    """Return the squared L2 distance, exactly: Python's integers do not overflow."""
    changed = one != other
    return int(((one[changed].astype(object) - other[changed].astype(object)) ** 2).sum())


class Watching(Recorder, SystemRandomness):
    """The operating system's noise, as in every fit, and a record of what it was added to.

    Attributes
    ----------
    record : list of Recorded
        Each release beside its exact sums, which are private: for tables that somebody made up.
    seed : int
        Of the public coin flips, and of nothing else: with them a fit can be replayed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seed = self.below(2**128)
        self.public = SeededRandomness(self.seed).public


class LessNoise(Watching):
    """The negative control of an audit: a share of the noise that is declared and charged.

    For tests of audits only; guarantees that are made with it say so.

    Parameters
    ----------
    share : float
        0.5 for half of the noise.

    Examples
    --------
    >>> from functools import partial
    >>> from interpret_dp.audit import LessNoise
    >>> half = partial(LessNoise, 0.5)  # membership_attack(..., noise=half) must refute the claim
    >>> half().record
    []
    """

    tests_only = True

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = check_real("share", share, low=0, low_open=True, high=1)

    def noise(self, sigma: float, size: int) -> Integers:
        """Draw a share of what was asked for."""
        return super().noise(sigma * self._share, size)


def log_likelihood_ratio(
    fit: Callable[[_Table], Any], neighbour: _Table, watched: Watching
) -> float:
    """Return how much likelier the releases of a fit are on its own table than on a neighbour.

    Parameters
    ----------
    fit : callable
        As :func:`interpret_dp.audit.replay` takes it; run on the neighbour with what was released
        in place of its own releases, so that each sum is asked for after the same ones.
    neighbour : object
        What ``fit`` takes.
    watched : Watching
        The source of the fit's noise.

    Returns
    -------
    float
        Logarithm of the ratio of the densities of all noisy sums, given those before each: no
        attacker can do better (Neyman and Pearson), however sums depend on earlier noise.
        Selections, choices and sums of private samples count as nothing, and so does what one of
        the tables is not asked for.
    """
    replaying = _Comparing(watched.seed, watched)
    with use_randomness(replaying):
        fit(neighbour)
    return replaying.ratio


class _Comparing(Replaying):
    """Adds up by how much likelier the recorded sums are on the first table than on this one."""

    def __init__(self, seed: int, recording: Recorder) -> None:
        super().__init__(seed, recording)
        self.ratio = 0.0

    def perturb_sampled(
        self, name: str, exact: Integers, sensitivity: int, sigma: float
    ) -> Integers:
        """Leave the ratio as it is: who is in a private sample is no attacker's to know."""
        before = self.ratio
        noisy = super().perturb_sampled(name, exact, sensitivity, sigma)
        self.ratio = before
        return noisy

    def _note(self, name: str, exact: Integers, twin: Recorded | None) -> None:
        if twin is None or twin.name != name or twin.exact.shape != exact.shape:
            return
        difference = (twin.exact - exact).ravel().astype(np.float64)
        # Twice as far as the output is from halfway between both.
        twice_offset = (2 * twin.output - twin.exact - exact).ravel().astype(np.float64)
        self.ratio += float(difference @ twice_offset) / (2.0 * twin.sigma**2)
