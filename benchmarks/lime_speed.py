"""How long private explanations take: ``python -m benchmarks.lime_speed``.

Against Algorithm 1 of Patel, Shokri and Zick (2022) as a loop of 300 passes over 1,000,000 rows of
50 numbers, of which a few are timed, and against lime on adult. Seconds are of the processor and of
one thread (set OMP_NUM_THREADS=1), so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_agreement import LimeAdult
from benchmarks.lime_paper import paper_noise
from benchmarks.lime_report import Report
from benchmarks.lime_setting import DELTA, STEPS, C, Task, open_explainer, task_of
from interpret_dp import Continuous, Schema
from interpret_dp.schema import open_table

__all__ = ["against_lime", "against_loop", "main"]

Floats = NDArray[np.float64]

_EPSILON = 0.1


def _weights(apart: Floats) -> Floats:
    distances = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    with np.errstate(divide="ignore"):
        found: Floats = np.minimum(1.0, C / (2 * distances * (distances + 1)))
    return found


def _literal_pass(rows: Floats, labels: Floats, query: Floats, phi: Floats) -> Floats:
    """Return the gradient of equation 1, from the rows."""
    apart = rows - query
    found: Floats = 2 * (_weights(apart) * (apart @ phi - labels)) @ apart / len(rows)
    return found


def _kept_pass(apart: Floats, weights: Floats, labels: Floats, phi: Floats) -> Floats:
    """Return the same where differences and weights are kept from pass to pass."""
    found: Floats = 2 * (weights * (apart @ phi - labels)) @ apart / len(apart)
    return found


def _seconds_a_pass(
    gradient: Callable[[Floats], Floats], shape: tuple[int, ...], n_passes: int
) -> float:
    """Time passes of Algorithm 1; the first one is not counted."""
    n_rows, n_columns = shape
    rng = np.random.default_rng(0)
    sigma = paper_noise(_EPSILON, DELTA, STEPS, n_rows, C)
    phi = np.zeros(n_columns)
    start = 0.0
    for step in range(n_passes + 1):
        if step == 1:
            start = time.process_time()
        noisy = gradient(phi) + sigma * rng.standard_normal(n_columns)
        phi = phi - 3.0 / np.sqrt(step + 1) * noisy
        phi /= max(1.0, float(np.linalg.norm(phi)))
    return (time.process_time() - start) / n_passes


def _loop_seconds(rows: Floats, labels: Floats, n_passes: int) -> tuple[float, float]:
    """Return the seconds of a pass from the rows, and of one that keeps what it can."""
    query = rows[0]
    literal = _seconds_a_pass(
        lambda phi: _literal_pass(rows, labels, query, phi), rows.shape, n_passes
    )
    apart = rows - query
    weights = _weights(apart)
    kept = _seconds_a_pass(
        lambda phi: _kept_pass(apart, weights, labels, phi), rows.shape, n_passes
    )
    return literal, kept


def against_loop(n_rows: int, n_columns: int, n_passes: int) -> pd.DataFrame:
    """Return the seconds of one query."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(n_columns)]
    rows = pd.DataFrame(rng.uniform(-1, 1, (n_rows, n_columns)), columns=names)
    score = 1 / (1 + np.exp(-(rows.to_numpy()[:, :8].sum(axis=1))))
    schema = Schema({name: Continuous(-1, 1) for name in names})
    task = task_of(rows, schema, np.column_stack([1 - score, score]))
    literal, kept = _loop_seconds(
        rows.to_numpy() / (2 * task.features.stretch), 2 * score - 1, n_passes
    )
    records: list[dict[str, Any]] = []
    for method in ("statistics", "interactive"):
        seconds, once = _query_seconds(task, method, 5)
        records.append(
            {
                "method": method,
                "seconds of a query": seconds,
                "once": once,
                "loop, every pass from the rows": literal * STEPS,
                "times as fast": literal * STEPS / seconds,
                "loop, differences and weights kept": kept * STEPS,
                "times as fast as that": kept * STEPS / seconds,
            }
        )
    return pd.DataFrame(records)


def _query_seconds(
    task: Task, method: str, n_queries: int, model: Any = None
) -> tuple[float, float]:
    """Return the seconds of a query after the first, and those that the first took more."""
    explainer = open_explainer(task, method, _EPSILON, n_queries + 1, model=model)
    taken = []
    for row in task.draw(n_queries + 1):
        start = time.process_time()
        explainer.explain_local(task.rows.iloc[[row]])
        taken.append(time.process_time() - start)
    usual = float(np.median(taken[1:]))
    return usual, taken[0] - usual


class _ForestOfRows:
    """The forest as a user has it: it takes rows, and computes."""

    def __init__(self, lime: LimeAdult) -> None:
        self._lime = lime

    def predict_proba(self, X: pd.DataFrame) -> Floats:
        found: Floats = self._lime.model.predict_proba(
            self._lime.task.features.points(open_table(X))
        )
        return found


def against_lime(n_queries: int) -> pd.DataFrame:
    """Return the seconds of a query, one at a time and in a batch."""
    lime = LimeAdult()
    task = lime.task
    model = _ForestOfRows(lime)
    chosen = task.draw(n_queries)
    lime.effects(int(chosen[0]))
    taken = []
    for row in chosen:
        start = time.process_time()
        lime.effects(int(row))
        taken.append(time.process_time() - start)
    theirs = float(np.median(taken))
    records: list[dict[str, Any]] = [{"method": "lime", "seconds of a query": theirs}]
    for method in ("statistics", "interactive"):
        seconds, once = _query_seconds(task, method, n_queries, model)
        record = {"method": f"{method}, one at a time", "seconds of a query": seconds}
        records.append(record | {"once": once, "times as fast": theirs / seconds})
        explainer = open_explainer(task, method, _EPSILON, n_queries + 1, model=model)
        explainer.explain_local(task.rows.iloc[:1])
        start = time.process_time()
        explainer.explain_local(task.rows.iloc[chosen])
        seconds = (time.process_time() - start) / n_queries
        record = {"method": f"{method}, {n_queries} at a time", "seconds of a query": seconds}
        records.append(record | {"times as fast": theirs / seconds})
    return pd.DataFrame(records)


def main() -> None:
    """Print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="20,000 rows; nothing is written")
    arguments = parser.parse_args()
    n_rows = 20_000 if arguments.quick else arguments.rows
    report = Report("How long private explanations take", is_kept=not arguments.quick)
    report.add(
        "Against lime on adult",
        against_lime(arguments.queries),
        "Random forest of 100 trees of depth 10; medians. `once` is what the first query takes "
        "more: the black box labels the rows.",
    )
    report.add(
        f"Against {STEPS} passes over {n_rows:,} rows of {arguments.columns} numbers",
        against_loop(n_rows, arguments.columns, arguments.passes),
        f"Loops: {arguments.passes} passes are timed and multiplied.",
    )
    report.write("lime_speed")


if __name__ == "__main__":
    main()
