"""Approximation loss of private local explanations on adult: ``python -m benchmarks.lime_loss``.

Loss is equation 4 of Patel, Shokri and Zick (2022), the mean over rows of the local loss above that
of the best explanation; the black box is a random forest of 100 trees of depth 10. ``paper`` is
their Algorithm 1 with their own noise formula, which takes the number of rows as public. ``top 5``
counts the five largest one-hot coordinates that an explanation shares with the best one, ``top 5
features`` the five features with the largest effects.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.lime_paper import paper_answers
from benchmarks.lime_report import Report
from benchmarks.lime_setting import (
    Answers,
    Indices,
    Task,
    adult_task,
    answer,
    mean_and_error,
    top_overlap,
)
from benchmarks.lime_truth import Truth, truth_of

__all__ = ["METHODS", "main", "measure"]

_ALIKE = 40
METHODS = ("interactive", "adaptive", "enhanced", "paper")


def measure(
    task: Task,
    n_queries: int,
    epsilons: Sequence[float],
    methods: Sequence[str] = METHODS,
    *,
    centered: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the loss, its standard error, the overlap and the total epsilon of each method.

    Parameters
    ----------
    task : Task
    n_queries : int
        Rows of the table that are explained, one after the other.
    epsilons : sequence of float
        Of one fully computed query.
    methods : sequence of str
        Members of ``METHODS``.
    centered : bool
        Whether how outputs differ from that at the query is explained.
    """
    chosen = task.draw(n_queries, seed)
    truth = truth_of(task, chosen, centered=centered)
    nothing = mean_and_error(truth.losses(np.zeros_like(truth.best)))
    records = [{"method": "(no explanation)", "loss": nothing[0], "error": nothing[1]}]
    explainers: dict[str, Callable[[float], Answers]] = {
        "paper": lambda epsilon: paper_answers(truth, len(task), epsilon, seed=seed)
    }
    for method in methods:
        for epsilon in epsilons:
            explainer = explainers.get(method)
            found = (
                explainer(epsilon)
                if explainer is not None
                else answer(task, chosen, method, epsilon, centered=centered)
            )
            loss, error = mean_and_error(truth.losses(found.phis))
            record: dict[str, Any] = {"method": method, "epsilon": epsilon}
            record |= {"loss": loss, "error": error, "top 5": top_overlap(found.phis, truth.best)}
            record["top 5 features"] = _shared_features(task, chosen, found, truth)
            record |= {"reused": int((found.origins == "reused").sum())}
            records.append(record | {"total epsilon": found.epsilons()[-1]})
    return pd.DataFrame(records)


def _shared_features(task: Task, chosen: Indices, found: Answers, truth: Truth) -> float:
    effects = [
        [task.features.effects(phi, point) for phi, point in zip(phis, points, strict=True)]
        for phis, points in ((found.phis, task.points[chosen]), (truth.best, task.points[chosen]))
    ]
    return top_overlap(*effects)


def main() -> None:
    """Print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.01, 0.1, 1.0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument(
        "--centered", action="store_true", help="explain differences from the query's output"
    )
    parser.add_argument("--quick", action="store_true", help="20 queries; nothing is written")
    arguments = parser.parse_args()
    n_queries = 20 if arguments.quick else arguments.queries
    report = Report("Loss of private local explanations", is_kept=not arguments.quick)
    task = adult_task()
    found = measure(
        task, n_queries, arguments.epsilons, arguments.methods, centered=arguments.centered
    )
    form = "differences from the query's output" if arguments.centered else "equation 1"
    title = f"adult, m = {len(task):,}, n = {task.points.shape[1]}, {n_queries} queries"
    best = truth_of(task, task.draw(_ALIKE), centered=arguments.centered).best
    alike = np.median(np.corrcoef(best)[np.triu_indices(_ALIKE, 1)])
    note = f"The best explanations of two rows correlate {alike:.2f} (median, {_ALIKE} rows)."
    report.add(f"{title}: {form}", found, note)
    report.write("lime_loss_centered" if arguments.centered else "lime_loss")


if __name__ == "__main__":
    main()
