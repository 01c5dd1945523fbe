"""Method "statistics" against "interactive" for wide inputs: ``python -m benchmarks.lime_wide``.

What ``method="auto"`` rests on: is there a number of coordinates, or an epsilon, at which noisy
gradients are better than noisy moments? ``words``: 500 counts of simulated texts on two topics.
``images``: simulated smooth pictures of 48 x 48 pixels, or 12 x 12. Loss is equation 4 of Patel,
Shokri and Zick (2022), as printed; ``of nothing`` is its share of the loss of no explanation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_report import Report
from benchmarks.lime_setting import Task, answer, mean_and_error, task_of, top_overlap
from benchmarks.lime_truth import truth_of
from interpret_dp import Continuous, Schema

__all__ = ["image_task", "main", "measure", "word_task"]

Floats = NDArray[np.float64]


def word_task(n_rows: int, n_words: int, representation: str = "values", seed: int = 0) -> Task:
    """Return simulated texts on two topics, with word frequencies as in Zipf's law."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 2, n_rows)
    usual = np.minimum(0.6, 4.4 / np.arange(1, n_words + 1))
    occurs = np.minimum(0.9, usual * np.exp(rng.normal(0, 0.8, (2, n_words))))
    counts = (rng.random((n_rows, n_words)) < occurs[topic]) * rng.geometric(0.6, (n_rows, n_words))
    score = counts @ np.log(occurs[1] / occurs[0])
    return _task(counts.astype(np.float64), score, Continuous(0, 4), representation)


def image_task(n_rows: int, side: int, seed: int = 0) -> Task:
    """Return simulated pictures of bumps; the label compares two regions."""
    rng = np.random.default_rng(seed)
    across, down = np.meshgrid(*[np.linspace(-1, 1, side)] * 2)

    def bump(x: float, y: float, width: float) -> Floats:
        found: Floats = np.exp(-((across - x) ** 2 + (down - y) ** 2) / (2 * width**2)).ravel()
        return found

    places, widths = rng.uniform(-1, 1, (40, 2)), rng.uniform(0.1, 0.6, 40)
    shapes = np.array([bump(x, y, w) for (x, y), w in zip(places, widths, strict=True)])
    pictures = 0.35 * rng.normal(size=(n_rows, 40)) @ shapes
    pictures = 1 / (1 + np.exp(-pictures - 0.15 * rng.normal(size=pictures.shape)))
    one, other = bump(0.2, -0.3, 0.2) > 0.15, bump(-0.3, 0.4, 0.2) > 0.2
    score = pictures[:, one].mean(axis=1) - pictures[:, other].mean(axis=1)
    return _task(pictures, score, Continuous(0, 1), "values")


def _task(rows: Floats, score: Floats, spec: Continuous, representation: str) -> Task:
    probability = 0.5 + 0.5 * np.tanh(1.2 * (score - score.mean()) / score.std())
    table = pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])
    both = np.column_stack([1 - probability, probability])
    return task_of(table, Schema(default=spec), both, representation)


def measure(
    task: Task, n_queries: int, epsilons: Sequence[float], steps: Sequence[int]
) -> pd.DataFrame:
    """Return the loss of both methods.

    Parameters
    ----------
    task : Task
    n_queries : int
    epsilons : sequence of float
        Of one query.
    steps : sequence of int
        Gradients of one query, for "interactive".
    """
    chosen = task.draw(n_queries, seed=1)
    truth = truth_of(task, chosen)
    nothing = float(truth.losses(np.zeros_like(truth.best)).mean())
    records = []
    for epsilon in epsilons:
        for method, own_steps in [("statistics", 300), *(("interactive", own) for own in steps)]:
            name = method if method == "statistics" else f"{method}, {own_steps} gradients"
            record: dict[str, Any] = {"epsilon": epsilon, "method": name}
            try:
                found = answer(task, chosen, method, epsilon, steps=own_steps)
            except ValueError:
                # Gradients of many coordinates and steps need noise of more than 64 bits.
                record |= {"loss": float("nan"), "error": "refused"}
            else:
                loss, error = mean_and_error(truth.losses(found.phis))
                record |= {"loss": loss, "error": f"{error:.2g}", "of nothing": loss / nothing}
                record |= {"top 5": top_overlap(found.phis, truth.best)}
                record |= {"seconds a query": found.seconds}
            records.append(record)
    return pd.DataFrame(records)


def main() -> None:
    """Print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data; nothing is written")
    arguments = parser.parse_args()
    sizes = (5_000, 60, 8, 4) if arguments.quick else (20_000, 500, 48, 6)
    n_rows, n_words, side, n_queries = sizes
    steps = (20, 300)
    report = Report(
        "Wide inputs: noisy moments against noisy gradients", is_kept=not arguments.quick
    )
    for representation in ("values", "bins"):
        words = word_task(n_rows, n_words, representation)
        report.add(
            f"{n_words} words, as {representation}, m = {len(words):,}, {n_queries} queries",
            measure(words, n_queries, (0.01, 0.1, 1.0), steps),
        )
        del words
    small = image_task(12_000, 12)
    report.add(
        f"pictures of 12 x 12, m = {len(small):,}, {n_queries} queries",
        measure(small, n_queries, (0.01, 0.1, 1.0), steps),
    )
    pictures = image_task(min(n_rows, 12_000), side)
    n_queries = min(n_queries, 2)
    report.add(
        f"pictures of {side} x {side}, m = {len(pictures):,}, {n_queries} queries",
        measure(pictures, n_queries, (0.1, 1.0), (20, 80)),
    )
    report.write("lime_wide")


if __name__ == "__main__":
    main()
