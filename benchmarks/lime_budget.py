"""A stream of queries under one budget: what each method pays for the same loss.

Figures 2, 3 and 5 of Patel, Shokri and Zick (2022). Every method gets the same stream, rows and
weights; its epsilon of one query is searched for so that its mean loss over the first queries is
that of ``paper`` at epsilon 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_paper import PAPER_EPSILON, paper_answers, paper_total
from benchmarks.lime_report import COLOURS, Report
from benchmarks.lime_setting import (
    DELTA,
    STEPS,
    Answers,
    Indices,
    Task,
    answer,
    explain,
    mean_and_error,
    open_explainer,
)
from benchmarks.lime_truth import Truth, truth_of
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.lime.adaptive import AdaptiveConfig

__all__ = ["Stream", "budget_study", "calibrated"]

Floats = NDArray[np.float64]

METHODS = ("statistics", "interactive", "adaptive", "enhanced")
_ADAPTIVE = ("adaptive", "enhanced")
_WITH_HISTORY = ("statistics", *_ADAPTIVE)
_LOWEST, _HIGHEST, _HALVINGS = 1e-3, 0.1, 8
_SURROGATE = 1.0


@dataclass(frozen=True)
class Stream:
    """Rows that are asked about one after the other, and what is right."""

    task: Task
    chosen: Indices
    truth: Truth

    def part(self, n_queries: int) -> Stream:
        """Return the first of them."""
        return Stream(self.task, self.chosen[:n_queries], self.truth.part(n_queries))

    def losses(self, answers: Answers) -> Floats:
        """Return equation 4 of each answer."""
        return self.truth.losses(answers.phis)


def calibrated(stream: Stream, method: str, loss: float) -> float:
    """Return the smallest epsilon of a query at which a method's mean loss is at most ``loss``.

    Eight halvings of an interval on a logarithmic scale: within 2 %. Answers that are taken over
    from near rows do not count.
    """
    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = answer(stream.task, stream.chosen, method, math.exp(middle))
        is_good = stream.losses(found)[found.released].mean() <= loss
        low, high = (low, middle) if is_good else (middle, high)
    return math.exp(high)


@dataclass(frozen=True)
class Outcome:
    """What one method did with the stream.

    Attributes
    ----------
    epsilon : float
        Of one fully computed query.
    answers : Answers
    losses : ndarray, shape (n_queries,)
    free : ndarray
        Losses of further rows that were explained from its history; empty if there were none.
    """

    epsilon: float
    answers: Answers
    losses: Floats
    free: Floats

    @property
    def computed(self) -> Floats:
        """The losses of what was computed on the private rows."""
        found: Floats = self.losses[self.answers.released]
        return found

    @property
    def steps(self) -> Floats:
        """Gradients of each computed query of an adaptive method; they follow from its cost."""
        config = AdaptiveConfig(steps=STEPS, mu=1.0, enhanced=False, reuse_distance=0.0, n_rows=1.0)
        costs = self.answers.mus[self.answers.released]
        shares = (costs / mu_of_budget(self.epsilon, DELTA)) ** 2
        # All but the first explanation also pay for the choice of where to start.
        shares[1:] -= 1.0 - config.gradients_share
        return shares / config.gradients_share * STEPS


def budget_study(
    task: Task,
    n_queries: int,
    n_calibrated: int,
    report: Report,
    *,
    name: str,
    yardstick: float = PAPER_EPSILON,
) -> None:
    """Measure, tabulate and draw.

    Parameters
    ----------
    task : Task
    n_queries : int
        Of the stream; a third as many are then explained from each history alone.
    n_calibrated : int
        On how many of them each method's epsilon is found.
    report : Report
    name : str
        Of the table, for titles and file names.
    yardstick : float
        Epsilon of a query of ``paper``, whose loss all methods are given.
    """
    chosen = task.draw(n_queries + n_queries // 3)
    stream = Stream(task, chosen[:n_queries], truth_of(task, chosen[:n_queries]))
    rest = Stream(task, chosen[n_queries:], truth_of(task, chosen[n_queries:]))
    found = paper_answers(stream.truth, len(task), yardstick)
    losses = stream.losses(found)
    wanted = float(losses[:n_calibrated].mean())
    outcomes = {"paper": Outcome(yardstick, found, losses, np.empty(0))}
    for method in METHODS:
        epsilon = calibrated(stream.part(n_calibrated), method, wanted)
        outcomes[method] = _outcome(stream, rest, method, epsilon)
        print(method, f"{epsilon:.4g}", flush=True)
    report.add(
        f"{name}: {n_queries:,} queries at equal loss",
        _totals(outcomes),
        f"m = {len(task):,}, n = {task.points.shape[1]}. Each method's epsilon of a query is "
        f"chosen so that its loss over the first {n_calibrated} queries is that of `paper` at "
        f"{yardstick:g}. Totals at delta {DELTA:g}, by exact composition; `paper, own` by the "
        f"paper's composition theorem, at delta {(n_queries + 1) * DELTA:.3g}, since its queries' "
        "deltas add up. Losses and steps are those of computed answers.",
    )
    report.add(
        f"{name}: answers that cost nothing",
        _free(stream, outcomes),
        "Taken over from near rows of the stream; and further rows explained from the history "
        "alone (Algorithm 4).",
    )
    _draw(report, outcomes, n_queries, name)


def _outcome(stream: Stream, rest: Stream, method: str, epsilon: float) -> Outcome:
    explainer = open_explainer(stream.task, method, epsilon, len(stream.chosen))
    found = explain(explainer, stream.task, stream.chosen)
    free = np.empty(0)
    if method in _WITH_HISTORY:
        free = rest.losses(explain(explainer, stream.task, rest.chosen, "non_interactive"))
    return Outcome(epsilon, found, stream.losses(found), free)


def _totals(outcomes: Mapping[str, Outcome]) -> pd.DataFrame:
    paper = outcomes["paper"]
    own = paper_total(len(paper.losses), paper.epsilon)
    exact = paper.answers.epsilons()[-1]
    records: list[dict[str, Any]] = []
    for method, outcome in outcomes.items():
        loss, error = mean_and_error(outcome.computed)
        total = outcome.answers.epsilons()[-1]
        record: dict[str, Any] = {
            "method": method,
            "epsilon of a query": outcome.epsilon,
            "loss": loss,
            "error": error,
        }
        if method == "paper":
            first = {"computed": len(outcome.computed), "total epsilon": own}
            records.append(record | {"method": "paper, own"} | first)
            record["method"] = "paper, exact"
        record |= {"computed": len(outcome.computed), "total epsilon": total}
        record |= {"paper, own over it": own / total, "paper, exact over it": exact / total}
        if method in _ADAPTIVE:
            record["mean steps"] = float(outcome.steps.mean())
        records.append(record)
    return pd.DataFrame(records)


def _free(stream: Stream, outcomes: Mapping[str, Outcome]) -> pd.DataFrame:
    """Return losses of answers that were taken over or computed from the history."""
    groups: list[tuple[str, Floats]] = []
    for method, outcome in outcomes.items():
        if method in _ADAPTIVE:
            reused = outcome.losses[outcome.answers.origins == "reused"]
            groups.append((f"{method}, taken over", reused))
        if method in _WITH_HISTORY:
            groups.append((f"from the history of {method}", outcome.free))
    groups.append(("(no explanation)", stream.truth.losses(np.zeros_like(stream.truth.best))))
    records: list[dict[str, Any]] = []
    for name, losses in groups:
        loss, error = mean_and_error(losses)
        records.append({"answers": name, "number": len(losses), "loss": loss, "error": error})
    return pd.DataFrame(records)


def _draw(report: Report, outcomes: Mapping[str, Outcome], n_queries: int, name: str) -> None:
    """Draw figures 2a, 2b and 5."""
    asked = np.arange(1, n_queries + 1)
    edges = np.geomspace(1e-3, 0.3, 50)
    with report.drawing(f"lime_budget_{name}", 3) as axes:
        spent, losses, steps = axes
        own = [paper_total(int(k), outcomes["paper"].epsilon) for k in asked]
        spent.plot(asked, own, color=COLOURS["paper"], label="paper, own composition")
        for method, outcome in outcomes.items():
            style: dict[str, Any] = {"color": COLOURS[method], "linewidth": 1.5, "label": method}
            bars = style | {"histtype": "step"}
            losses.hist(np.maximum(outcome.computed, edges[0]), edges, **bars)
            if method == "paper":
                style |= {"linestyle": ":", "label": "paper, exact composition"}
            spent.plot(asked, outcome.answers.epsilons(), **style)
            if method in _ADAPTIVE:
                steps.hist(outcome.steps, np.linspace(0, STEPS, 31), **bars)
        label = f"surrogate at epsilon {_SURROGATE:g}, once"
        spent.axhline(_SURROGATE, color=COLOURS["surrogate"], linestyle="--", label=label)
        free = np.maximum(outcomes["adaptive"].free, edges[0])
        label = "non_interactive, free"
        losses.hist(free, edges, histtype="step", color=COLOURS["non_interactive"], label=label)
        spent.set(yscale="log", xlabel="queries", ylabel=f"epsilon spent, delta {DELTA:g}")
        losses.set(xscale="log", xlabel="loss (equation 4)", ylabel="queries")
        steps.set(xlabel="gradient steps of a query", ylabel="queries")
        for axis in axes:
            axis.legend(frameon=False, fontsize=7)
