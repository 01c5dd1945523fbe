"""What a round trip costs on Dask workers, and what follows for 100 to 10,000 of them.

``python -m benchmarks.dask_scale`` starts two worker processes, measures, and writes
``benchmarks/results/dask_scale.md`` and ``.json``. What it says of more workers is a model: each
line names the measured constant that it is made of.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import pickle
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster, wait

from benchmarks.machine import describe_machine, machine_text
from benchmarks.report import write_page
from benchmarks.speed_figures import draw_dask
from interpret_dp.backends.dask.parts import Answer, Part, added
from interpret_dp.backends.dask.rows import DaskRows, current_workers
from interpret_dp.backends.local import LocalBinaryRows

_OUT = Path(__file__).parent / "results" / "dask_scale"
_FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "dask_scale.png"
_FEATURES, _BLOCK, _BINS = 14, 4, 66
_ROUNDS, _BLOCKS = 40, 4
_PARTITIONS = (2, 16, 64, 256)
_FAN_IN = 16
_THREADS, _WORKERS = (1, 32), (100, 1_000, 10_000)
_ROWS = (10**8, 10**9, 10**10)


def rows_of(seed: int, n_rows: int) -> LocalBinaryRows:
    """Return encoded rows; public and made up."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, _BINS, n_rows).astype(np.uint8) for _ in range(_FEATURES)]
    return LocalBinaryRows(codes, rng.integers(0, 2, n_rows).astype(np.int16))


def part_of(seed: int, n_rows: int) -> Part:
    """Return what a worker holds of a partition."""
    return Part(rows_of(seed, n_rows))


def block(number: int) -> tuple[Any, ...]:
    """Return the arguments of one round trip of a fit: a block moves, the next one is summed."""
    first = np.arange(_BLOCK) + number % 3 * _BLOCK
    updates = np.ones((_BLOCK, _BINS, 1), dtype=np.int32)
    return first, updates, (first + _BLOCK) % _FEATURES, _BINS


def seconds(
    action: Callable[[int], Any], repeats: int, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Time an action, after one that is not counted; by default in seconds of this process."""
    action(0)
    found = []
    for number in range(1, repeats + 1):
        start = clock()
        action(number)
        found.append(clock() - start)
    return found


def round_trips(n_partitions: int, repeats: int) -> tuple[list[float], list[float]]:
    """Return the times of round trips over partitions of one row each: all of it is overhead.

    Returns
    -------
    waited : list of float
        Seconds by the wall clock.
    worked : list of float
        Processor seconds of this process, which is client and scheduler.
    """
    workers = current_workers(1)
    parts = workers.each("part", part_of, list(range(n_partitions)), [1] * n_partitions)
    wait(parts)
    rows = DaskRows(workers, parts, rows_of(0, 0))
    both: list[list[float]] = []
    for clock in (time.perf_counter, time.process_time):
        both.append(seconds(lambda number: rows.advance(*block(number)), repeats, clock))
    return both[0], both[1]


def kernel_nanoseconds(n_rows: int, repeats: int) -> list[float]:
    """Return nanoseconds per row of a round trip's pass over the rows on one thread."""
    rows = rows_of(1, n_rows)
    found = seconds(lambda number: rows.advance(*block(number)), repeats)
    return [1e9 * one / n_rows for one in found]


def measured(repeats: int) -> dict[str, Any]:
    """Measure all constants of the model."""
    answer = Answer(np.ones((_BLOCK, _BINS, 1), dtype=np.int64))
    facts: dict[str, Any] = {
        "machine": describe_machine(("dask", "distributed")),
        "kernel_ns_per_row": kernel_nanoseconds(2_000_000, repeats),
        "add_16_answers_ms": [
            1e3 * s for s in seconds(lambda _: added([answer] * _FAN_IN), repeats)
        ],
        "answer_bytes": len(pickle.dumps(answer, protocol=5)),
        "question_bytes": len(pickle.dumps(block(0), protocol=5)),
        "trip_ms": {},
        "scheduler_ms": {},
    }
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster),
    ):
        for count in _PARTITIONS:
            waited, worked = round_trips(count, repeats)
            facts["trip_ms"][count] = [1e3 * one for one in waited]
            facts["scheduler_ms"][count] = [1e3 * one for one in worked]
            sys.stdout.write(f"{count} partitions: {statistics.median(waited) * 1e3:.1f} ms\n")
            sys.stdout.flush()
    return facts


def constants(facts: dict[str, Any]) -> dict[str, float]:
    """Return the model's constants: medians, and a line through the scheduler's work.

    What a worker does for a task is done by all workers at once; what the scheduler does is not.
    """
    counts = np.array([int(count) for count in facts["scheduler_ms"]], dtype=float)
    work = np.array([statistics.median(times) for times in facts["scheduler_ms"].values()])
    # Relative errors count, or the largest number of partitions alone would decide.
    slope, _ = np.polyfit(counts, work, 1, w=1 / work)
    return {
        # The shortest: what else the machine does only adds to it.
        "base_ms": min(next(iter(facts["trip_ms"].values()))),
        "per_partition_ms": float(slope),
        "kernel_ns": statistics.median(facts["kernel_ns_per_row"]),
        "add_ms": statistics.median(facts["add_16_answers_ms"]),
    }


def modelled(known: dict[str, float], n_workers: int, n_rows: int, n_threads: int) -> list[float]:
    """Return seconds of one fit: passes over the rows, the scheduler, and the tree's levels.

    Parameters
    ----------
    known : dict
        As :func:`constants` returns it.
    n_workers, n_rows : int
    n_threads : int
        Of each worker, which gets one task a round trip.
    """
    trips = _ROUNDS * _BLOCKS + 4
    # The constants hold two levels of tasks and the way there and back; each further level of the
    # tree is another hop between workers.
    levels = max(1, math.ceil(math.log(n_workers, _FAN_IN)))
    hop = known["base_ms"] / 2
    passes = known["kernel_ns"] * 1e-6 * n_rows / (n_workers * n_threads)
    scheduler = known["base_ms"] + known["per_partition_ms"] * n_workers
    tree = (levels - 1) * (hop + known["add_ms"])
    return [trips * one / 1e3 for one in (passes, scheduler, tree)]


def lines_of(facts: dict[str, Any]) -> list[str]:
    """Return the page of results."""
    known = constants(facts)
    lines = [
        "# Round trips on Dask workers",
        "",
        "`python -m benchmarks.dask_scale`; two worker processes of one thread. "
        f"{_FEATURES} features of {_BINS} bins, {_BLOCK} a round trip; medians and quarters "
        f"of {len(next(iter(facts['trip_ms'].values())))} round trips.",
        "",
        # Results of older versions do not say it.
        machine_text(facts["machine"]) if "machine" in facts else "Machine: not recorded.",
        "",
        "| partitions of one row | median ms a round trip | quarter | three quarters | "
        "processor ms of client and scheduler |",
        "|---|---|---|---|---|",
    ]
    for count, times in facts["trip_ms"].items():
        low, middle, high = statistics.quantiles(times, n=4)
        worked = statistics.median(facts["scheduler_ms"][count])
        lines.append(f"| {count} | {middle:.1f} | {low:.1f} | {high:.1f} | {worked:.1f} |")
    lines += [
        "",
        f"The shortest round trip took {known['base_ms']:.0f} ms. Each "
        f"further partition is {known['per_partition_ms']:.2f} ms of work for client and "
        f"scheduler. One pass over the rows: {known['kernel_ns']:.1f} ns a row on one thread. "
        f"Adding 16 answers: {known['add_ms']:.2f} ms. A question has "
        f"{facts['question_bytes']:,} bytes, an answer {facts['answer_bytes']:,}.",
        "",
        "## What follows for more workers (a model, not a measurement)",
        "",
        f"{_ROUNDS} rounds of {_BLOCKS} blocks; seconds a fit: all, and of these the passes over "
        "the rows, the scheduler, and further levels of the tree. One task a worker.",
        "",
        "| threads a worker | workers | rows | seconds | passes | scheduler | tree |",
        "|---|---|---|---|---|---|---|",
    ]
    for n_threads, n_workers, n_rows in itertools.product(_THREADS, _WORKERS, _ROWS):
        own = modelled(known, n_workers, n_rows, n_threads)
        parts = " | ".join(f"{one:,.0f}" for one in own)
        lines.append(f"| {n_threads} | {n_workers:,} | {n_rows:,} | {sum(own):,.0f} | {parts} |")
    return lines


def main() -> None:
    """Measure, and write the page of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--model-only", action="store_true", help="of what was measured before")
    parser.add_argument("--out", type=Path, default=_OUT)
    arguments = parser.parse_args()
    raw = arguments.out.with_suffix(".json")
    if arguments.model_only:
        facts = json.loads(raw.read_text(encoding="utf-8"))
    else:
        facts = measured(arguments.repeats)
        raw.write_text(json.dumps(facts), encoding="utf-8")
    text = "\n".join(lines_of(facts)) + "\n"
    write_page(arguments.out.with_suffix(".md"), text)
    if arguments.out == _OUT:
        draw_dask(
            facts["trip_ms"],
            facts["scheduler_ms"],
            functools.partial(modelled, constants(facts)),
            _FIGURE,
        )
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
