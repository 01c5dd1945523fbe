"""How long private explanations take: ``python -m benchmarks.lime_speed``.

Against Algorithm 1 of Patel, Shokri and Zick (2022) as a loop of 300 passes over 1,000,000 rows of
50 numbers, of which a few are timed, and against lime on adult. Seconds are of the processor and of
one thread (set OMP_NUM_THREADS=1), so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_agreement import LimeAdult
from benchmarks.lime_paper import paper_noise
from benchmarks.lime_report import Report, spread
from benchmarks.lime_setting import DELTA, STEPS, C, Task, open_explainer, task_of
from benchmarks.speed_figures import draw_lime
from benchmarks.stages import Stage, timed_stages
from interpret_dp import Continuous, Schema
from interpret_dp.schema import open_table

__all__ = ["against_lime", "against_loop", "main", "where_time_goes"]

Floats = NDArray[np.float64]

_EPSILON = 0.1
_METHODS = ("statistics", "interactive")


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


def _seconds_of_passes(
    gradient: Callable[[Floats], Floats], shape: tuple[int, ...], n_passes: int
) -> list[float]:
    """Time passes of Algorithm 1, each alone; the first one is not counted."""
    n_rows, n_columns = shape
    rng = np.random.default_rng(0)
    sigma = paper_noise(_EPSILON, DELTA, STEPS, n_rows, C)
    phi = np.zeros(n_columns)
    taken = []
    for step in range(n_passes + 1):
        start = time.process_time()
        noisy = gradient(phi) + sigma * rng.standard_normal(n_columns)
        phi = phi - 3.0 / np.sqrt(step + 1) * noisy
        phi /= max(1.0, float(np.linalg.norm(phi)))
        taken.append(time.process_time() - start)
    return taken[1:]


def _loop_seconds(rows: Floats, labels: Floats, n_passes: int) -> tuple[list[float], list[float]]:
    """Return the seconds of all steps, from passes over the rows and from ones that keep more."""
    query = rows[0]
    literal = _seconds_of_passes(
        lambda phi: _literal_pass(rows, labels, query, phi), rows.shape, n_passes
    )
    apart = rows - query
    weights = _weights(apart)
    kept = _seconds_of_passes(
        lambda phi: _kept_pass(apart, weights, labels, phi), rows.shape, n_passes
    )
    return [STEPS * one for one in literal], [STEPS * one for one in kept]


def against_loop(
    n_rows: int, n_columns: int, n_passes: int, n_queries: int
) -> tuple[pd.DataFrame, dict[str, list[float]]]:
    """Return the seconds of one query as a table, and every measurement."""
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
    measured = {"loop, every pass from the rows": literal, "differences and weights kept": kept}
    for method in _METHODS:
        taken, once = _query_seconds(task, method, n_queries)
        measured[method] = taken
        records.append(
            {
                "method": method,
                "seconds of a query": spread(taken),
                "once": once,
                "loop, every pass from the rows": spread(literal),
                "times as fast": median(literal) / median(taken),
                "loop, differences and weights kept": spread(kept),
                "times as fast as that": median(kept) / median(taken),
            }
        )
    return pd.DataFrame(records), measured


def _query_seconds(
    task: Task, method: str, n_queries: int, model: Any = None
) -> tuple[list[float], float]:
    """Return the seconds of each query after the first, and those that the first took more."""
    explainer = open_explainer(task, method, _EPSILON, n_queries + 1, model=model)
    taken = []
    for row in task.draw(n_queries + 1):
        start = time.process_time()
        explainer.explain_local(task.rows.iloc[[row]])
        taken.append(time.process_time() - start)
    return taken[1:], taken[0] - median(taken[1:])


def _batch_seconds(
    task: Task, method: str, n_queries: int, n_batches: int, model: Any
) -> list[float]:
    """Return the seconds of a query in each of some batches."""
    explainer = open_explainer(task, method, _EPSILON, n_queries * n_batches + 1, model=model)
    explainer.explain_local(task.rows.iloc[:1])
    taken = []
    for batch in range(n_batches):
        chosen = task.draw(n_queries, seed=batch)
        start = time.process_time()
        explainer.explain_local(task.rows.iloc[chosen])
        taken.append((time.process_time() - start) / n_queries)
    return taken


class _ForestOfRows:
    """The forest as a user has it: it takes rows, and computes."""

    def __init__(self, lime: LimeAdult) -> None:
        self._lime = lime

    def predict_proba(self, X: pd.DataFrame) -> Floats:
        found: Floats = self._lime.model.predict_proba(
            self._lime.task.features.points(open_table(X))
        )
        return found


def against_lime(
    lime: LimeAdult, n_queries: int, n_batches: int
) -> tuple[pd.DataFrame, dict[str, list[float]]]:
    """Return the seconds of a query, one at a time and in batches, and every measurement."""
    task, model = lime.task, _ForestOfRows(lime)
    chosen = task.draw(n_queries)
    lime.effects(int(chosen[0]))
    theirs = []
    for row in chosen:
        start = time.process_time()
        lime.effects(int(row))
        theirs.append(time.process_time() - start)
    measured = {"lime": theirs}
    records: list[dict[str, Any]] = [{"method": "lime", "seconds of a query": spread(theirs)}]
    for method in _METHODS:
        name = f"{method}, one at a time"
        measured[name], once = _query_seconds(task, method, n_queries, model)
        records.append({"method": name, "seconds of a query": spread(measured[name]), "once": once})
        name = f"{method}, {n_queries} at a time"
        measured[name] = _batch_seconds(task, method, n_queries, n_batches, model)
        records.append({"method": name, "seconds of a query": spread(measured[name])})
    for record in records[1:]:
        record["times as fast"] = median(theirs) / median(measured[record["method"]])
    return pd.DataFrame(records), measured


def where_time_goes(lime: LimeAdult, n_queries: int) -> pd.DataFrame:
    """Return the milliseconds of each stage of a query, one row at a time."""
    from interpret_dp.explanation import local_objects
    from interpret_dp.lime import descent, explainer, statistics
    from interpret_dp.lime.budget import ExplainerBudget
    from interpret_dp.release import ReleaseDoor

    stages: dict[str, Stage] = {
        "the model's answer to the row": [(explainer, "ask_model")],
        "sums over the rows": [(statistics, "exact_moments"), (descent, "exact_moments")],
        "steps of the descent": [(descent.Descents, "advance"), (descent.Descents, "fits")],
        "gradients and their noise": [(descent.GradientDoor, "noisy")],
        "noise of the sums": [(ReleaseDoor, "gaussian")],
        "solving": [(statistics.NoisyMoments, "solve")],
        "reserving and committing in the ledger": [
            (ReleaseDoor, "__enter__"),
            (ReleaseDoor, "__exit__"),
        ],
        "what is spent and left, for the explanation": [(explainer.DPLimeTabular, "_privacy")],
        "what is left, for the request": [(ExplainerBudget, "n_left")],
        "the explanation object": [(explainer, "record"), (local_objects, "local_explanation")],
    }
    found = {}
    for method in _METHODS:
        opened = open_explainer(
            lime.task, method, _EPSILON, n_queries + 1, model=_ForestOfRows(lime)
        )
        first, *others = lime.task.draw(n_queries + 1)
        opened.explain_local(lime.task.rows.iloc[[first]])
        with timed_stages(stages) as seconds:
            for row in others:
                opened.explain_local(lime.task.rows.iloc[[row]])
        found[f"{method}, ms"] = {name: 1e3 * one / n_queries for name, one in seconds.items()}
    frame = pd.DataFrame(found)
    frame = frame[(frame > 0.05).any(axis=1)].sort_values(frame.columns[0], ascending=False)
    return frame.rename_axis("stage").reset_index()


def main() -> None:
    """Print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="20,000 rows; nothing is written")
    asked = parser.parse_args()
    n_rows = 20_000 if asked.quick else asked.rows
    report = Report(
        "How long private explanations take",
        is_kept=not asked.quick,
        is_timed=True,
        packages=("lime", "scikit-learn"),
    )
    lime = LimeAdult()
    frame, measured = against_lime(lime, asked.queries, asked.batches)
    report.add(
        "Against lime on adult",
        frame,
        "Processor seconds; random forest of 100 trees of depth 10. Medians, in brackets the "
        f"smallest and the largest, of {asked.queries} queries or {asked.batches} batches. `once` "
        "is what the first query takes more: the black box labels the rows.",
        measured=measured,
    )
    report.add(
        "Where the time goes",
        where_time_goes(lime, asked.queries),
        f"Processor milliseconds of a query, one row at a time, means of {asked.queries}, on the "
        "same table. The two methods have different stages.",
    )
    frame, measured = against_loop(n_rows, asked.columns, asked.passes, asked.passes)
    report.add(
        f"Against {STEPS} passes over {n_rows:,} rows of {asked.columns} numbers",
        frame,
        f"Processor seconds; {asked.passes} queries. Loops: {asked.passes} passes are timed, each "
        f"alone, and multiplied by {STEPS}.",
        measured=measured,
    )
    report.write("lime_speed", draw_lime)


if __name__ == "__main__":
    main()
