"""All attacks on ourselves, one after the other or in processes: ``python -m benchmarks.audit``."""

from __future__ import annotations

import functools
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.audit import subjects
from benchmarks.audit.results import REFUTED, STANDS, AttackLine, ReplayLine
from benchmarks.audit.subjects import DELTA, REPLAYS, Subject, replay_explainer
from interpret_dp._validate import check_choice, check_int, check_real
from interpret_dp.accounting.gaussian import bisected, epsilon_of_mu
from interpret_dp.audit.membership import (
    epsilon_lower_bound,
    membership_attack,
    mu_lower_bound,
)
from interpret_dp.audit.one_run import (
    accuracy_of_extremes,
    audit_maps,
    one_run_epsilon,
)
from interpret_dp.audit.replaying import LessNoise, Watching
from interpret_dp.exceptions import DeclarationWarning

_CONFIDENCE = 0.95
_CLAIMS = (0.5, 1.0, 4.0)
# Both counts are at least as good as these quantiles with 0.95**2 > 0.9.
_QUANTILE = 0.05
_LARGEST_MU = 60.0
_THRESHOLDS = 25

Line: TypeAlias = AttackLine | ReplayLine
Progress: TypeAlias = Callable[[Iterable[int]], Iterable[int]]


class _Noise(NamedTuple):
    draw: Callable[[], Watching]
    words: str


_NOISES = {
    1.0: _Noise(Watching, ""),
    1 / 2: _Noise(functools.partial(LessNoise, 1 / 2), " with half the noise"),
    1 / 3: _Noise(functools.partial(LessNoise, 1 / 3), " with a third of the noise"),
}


@dataclass(frozen=True)
class Effort:
    """Numbers of fits with a row, and as many without, of each attack.

    Attributes
    ----------
    additive, others : int
        Against our additive models; against private metrics and backgrounds.
    reference : int
        Against interpret's own regressor.
    control_at_1, control_at_4 : int
        Of less noise under a claim of epsilon 1, and of 4. At 1 a weaker attack than this would not
        find it; 0 leaves it out.
    canaries : int
        Of a one-run audit.
    control_noise : float, default=1/2
        Share of the noise that these controls have.
    """

    additive: int
    others: int
    reference: int
    control_at_1: int
    control_at_4: int
    canaries: int
    control_noise: float = 1 / 2


EFFORTS = {
    "full": Effort(1000, 500, 3000, 3000, 600, 5000),
    "quick": Effort(40, 30, 400, 0, 200, 5000, 1 / 3),
}
"""``quick`` takes a minute and finds gross errors only; the controls and the reference it finds."""

# Processor seconds of one run with the row and one without, by subject, or of all by kind; measured
# where other programs shared both cores.
_SECONDS = {"classifier": 0.075, "regressor": 0.085, "metrics": 0.16, "background": 0.043}
_SECONDS |= {"reference": 0.007, "maps": 3.1, "maps control": 3.1, "replay": 1.3}
_STARTING = 5.0  # seconds of the command and its processes before the first attack


@dataclass(frozen=True)
class AuditTask:
    """One attack, by name; names can be sent to another process, and functions cannot.

    Attributes
    ----------
    kind : {"replay", "attack", "maps", "control", "maps control", "reference"}
    subject : str
        The explainer to replay, or the name of a maker in :mod:`benchmarks.audit.subjects`.
    epsilon : float
        The claim; 0 for a replay, which needs none.
    effort : str
        A key of ``EFFORTS``.
    """

    kind: str
    subject: str
    epsilon: float
    effort: str

    @property
    def title(self) -> str:
        """Title of the task, for a progress bar."""
        claim = f", epsilon {self.epsilon:g}" if self.epsilon else ""
        return f"{self.kind}: {self.subject}{claim}"

    @property
    def runs(self) -> int:
        """Fits with a row, and as many without; 1 of what is run once."""
        effort = EFFORTS[self.effort]
        if self.kind == "reference":
            return effort.reference
        if self.kind == "control":
            return effort.control_at_1 if self.epsilon == 1.0 else effort.control_at_4
        if self.kind == "attack":
            return effort.additive if self.subject in _ADDITIVE else effort.others
        return 1

    @property
    def seconds(self) -> float:
        """Processor seconds that it takes, roughly."""
        return self.runs * _SECONDS[self.kind if self.kind in _SECONDS else self.subject]

    def run(self, progress: Progress = iter) -> Line:
        """Carry it out."""
        effort = EFFORTS[self.effort]
        if self.kind == "replay":
            return replay_explainer(self.subject)
        if self.kind == "maps":
            return _audited_maps(self.epsilon, effort.canaries)
        if self.kind == "maps control":
            return _audited_maps(self.epsilon, effort.canaries, 1 / 3)
        if self.kind == "reference":
            return _attacked(_REFERENCES[self.subject](), self.runs, REFUTED, progress)
        subject = _MAKERS[self.subject](self.epsilon)
        if self.kind == "control":
            return _attacked(subject, self.runs, REFUTED, progress, effort.control_noise)
        return _attacked(subject, self.runs, STANDS, progress)


_ADDITIVE = ("classifier", "regressor")
_MAKERS: dict[str, Callable[[float], Subject]] = {
    "classifier": subjects.classifier,
    "regressor": subjects.regressor,
    "metrics": subjects.metrics,
    "background": subjects.background,
}
_REFERENCES: dict[str, Callable[[], Subject]] = {
    "its predictions": functools.partial(subjects.reference, 1.0, counts_rows=False),
    "its row count": functools.partial(subjects.reference, 1.0, counts_rows=True),
}


def tasks_of(effort: str) -> list[AuditTask]:
    """Return all attacks of an effort, those that take longest first.

    Raises
    ------
    ValueError
        If there is no such effort.
    """
    size = EFFORTS[check_choice("effort", effort, tuple(EFFORTS))]
    tasks = [("control", "regressor", 1.0)] if size.control_at_1 else []
    tasks += [("attack", subject, claim) for subject in _MAKERS for claim in _CLAIMS]
    tasks += [("reference", subject, 1.0) for subject in _REFERENCES]
    tasks += [("control", "regressor", 4.0)]
    tasks += [("maps", "DPLocallyLinearClassifier", claim) for claim in _CLAIMS]
    tasks += [("maps control", "DPLocallyLinearClassifier", 4.0)]
    tasks += [("replay", name, 0.0) for name in REPLAYS]
    return sorted((AuditTask(*task, effort) for task in tasks), key=lambda task: -task.seconds)


def seconds_of(tasks: Sequence[AuditTask], jobs: int) -> float:
    """Return about how long tasks take in processes that have a core each."""
    longest = max(task.seconds for task in tasks)
    return _STARTING + max(longest, sum(task.seconds for task in tasks) / jobs)


def run_tasks(
    tasks: Sequence[AuditTask],
    *,
    jobs: int = 1,
    progress: Callable[[AuditTask], Progress] = lambda _: iter,
) -> Iterator[Line]:
    """Carry out tasks, and yield the line of each as it is done.

    Parameters
    ----------
    tasks : sequence of AuditTask
    jobs : int, default=1
        Processes. With one everything runs here, and ``progress`` sees each attack's runs.
    progress : callable
        Returns, for a task, what wraps the numbers of its runs, such as ``tqdm``.
    """
    jobs = check_int("jobs", jobs, low=1)
    if jobs == 1:
        for task in tasks:
            yield task.run(progress(task))
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(task.run) for task in tasks]):
            yield done.result()


def _attacked(
    subject: Subject,
    runs: int,
    expected: str,
    progress: Progress,
    share: float = 1.0,
) -> AttackLine:
    start = time.process_time()
    with warnings.catch_warnings():
        # The noise of a small claim reaches beyond so few rows, in nearly every fit.
        warnings.simplefilter("ignore", DeclarationWarning)
        report = membership_attack(
            subject.fit,
            subject.with_row,
            subject.without_row,
            statistics=subject.statistics,
            epsilon=subject.epsilon,
            delta=DELTA,
            mu=subject.mu,
            runs=runs,
            confidence=_CONFIDENCE,
            noise=_NOISES[share].draw,
            progress=progress,
        )
    gaussian = None if report.mu_bound is None else _epsilon_of(report.mu_bound)
    by_mu = gaussian is not None and gaussian >= report.epsilon_bound
    single = 1.0 - (1.0 - _CONFIDENCE) / (1 if subject.mu is None else 2)
    return AttackLine(
        subject=subject.name + _NOISES[share].words,
        attack="membership",
        epsilon=subject.epsilon,
        delta=DELTA,
        bound=report.epsilon_bound,
        gaussian_bound=gaussian,
        confidence=_CONFIDENCE,
        runs=runs,
        evidence=(report.mu_statistic or "") if by_mu else report.epsilon_statistic,
        finds=loss_found_by_runs(
            runs - runs // 2,
            delta=DELTA,
            epsilon=subject.epsilon,
            mu=subject.mu,
            confidence=single,
        ),
        is_refuted=report.refuted,
        expected=expected,
        seconds=time.process_time() - start,
    )


def _epsilon_of(mu: float) -> float:
    return epsilon_of_mu(mu, DELTA) if mu > 0 else 0.0


def _audited_maps(epsilon: float, canaries: int, share: float = 1.0) -> AttackLine:
    start, noise = time.process_time(), _NOISES[share]
    audit = audit_maps(
        epsilon, DELTA, n_canaries=canaries, confidence=_CONFIDENCE, noise=noise.draw
    )
    evidence, bound = audit.best
    return AttackLine(
        subject=f"DPLocallyLinearClassifier{noise.words}",
        attack=f"one run, {canaries:,} canaries",
        epsilon=epsilon,
        delta=DELTA,
        bound=bound.epsilon,
        gaussian_bound=None,
        confidence=_CONFIDENCE,
        runs=1,
        evidence=f"{evidence}, {bound.n_correct} of {bound.n_guesses} guesses right",
        finds=loss_found_by_guesses(
            canaries, bound.n_guesses, delta=DELTA, epsilon=epsilon, confidence=bound.confidence
        ),
        is_refuted=bound.epsilon > epsilon,
        expected=STANDS if share == 1.0 else REFUTED,
        seconds=time.process_time() - start,
    )


def loss_found_by_runs(
    judged: int, *, delta: float, epsilon: float, mu: float | None, confidence: float
) -> float:
    """Return the smallest epsilon that a membership attack refutes a claim at, with 90 %.

    Parameters
    ----------
    judged : int
        Runs with the row that judge, and as many without.
    epsilon, delta, mu
        The claim; ``mu`` is None where it is not Gaussian.
    confidence : float
        Of the single bound that refutes.

    Returns
    -------
    float
        Epsilon at ``delta`` of the Gaussian mechanism whose true loss would be found, if the
        statistic carried all of it; infinite if none would.
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    judged = check_int("judged", judged, low=1)
    check_real("epsilon", epsilon, low=0)

    def refuted(true_mu: float) -> bool:
        # The middle is best for mu, and rare events without the row for epsilon.
        thresholds = [true_mu / 2.0]
        if mu is None:
            thresholds = list(np.linspace(true_mu / 2.0, true_mu / 2.0 + 4.0, _THRESHOLDS))
        for threshold in thresholds:
            present, absent = (
                int(binom.ppf(quantile, judged, chance))
                for quantile, chance in (
                    (_QUANTILE, float(ndtr(true_mu - threshold))),
                    (1.0 - _QUANTILE, float(ndtr(-threshold))),
                )
            )
            hits = (present, judged, absent, judged)
            if mu is not None:
                is_refuted = mu_lower_bound(*hits, confidence=confidence) > mu
            else:
                bound = epsilon_lower_bound(*hits, delta=delta, confidence=confidence)
                is_refuted = bound > epsilon
            if is_refuted:
                return True
        return False

    return _smallest(refuted, delta)


def loss_found_by_guesses(
    n_canaries: int, n_guesses: int, *, delta: float, epsilon: float, confidence: float
) -> float:
    """Return the smallest epsilon that a one-run audit refutes a claim at, with 90 %.

    Parameters
    ----------
    n_canaries, n_guesses : int
    epsilon, delta : float
        The claim.
    confidence : float

    Returns
    -------
    float
        As :func:`loss_found_by_runs`, of independent canaries whose scores carry all of it.
    """
    from scipy.stats import binom

    def refuted(true_mu: float) -> bool:
        accuracy = accuracy_of_extremes(true_mu, n_guesses / n_canaries)
        correct = int(binom.ppf(0.1, n_guesses, accuracy))
        bound = one_run_epsilon(n_canaries, n_guesses, correct, delta=delta, confidence=confidence)
        return bound > epsilon

    return _smallest(refuted, delta)


def _smallest(refuted: Callable[[float], bool], delta: float) -> float:
    """Return the epsilon of the smallest mu that is refuted."""
    if not refuted(_LARGEST_MU):
        return math.inf
    smallest = bisected(refuted, valid=_LARGEST_MU, invalid=0.0)
    return epsilon_of_mu(smallest, delta)
