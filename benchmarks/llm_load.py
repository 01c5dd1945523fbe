"""Processor seconds of a DP-LLM fit beside other work, over those of the same fit without it.

Fits of 20,000 random images take turns: without and with busy processes, which this script starts.
``--threads`` shows what more than the one thread of a fit would cost.

Run: ``python -m benchmarks.llm_load`` (a minute).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, Schema
from interpret_dp.llm import estimator

_ROWS, _SIDE = 20_000, 28


def _spin() -> None:
    while True:
        sum(range(10_000))


@contextmanager
def busy(n_processes: int) -> Iterator[None]:
    """Keep so many processes busy."""
    processes = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(n_processes)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _limited(n_threads: int, _: int) -> threadpool_limits:
    return threadpool_limits(n_threads)


def main() -> None:
    """Print processor and wall seconds of each fit, and the ratio of the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--load", type=int, default=6, help="busy processes (default: 6)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, help="threads of products in the fit (default: one)")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(_ROWS, _SIDE, _SIDE))
    labels = rng.integers(0, 10, size=_ROWS)
    schema = Schema(default=Continuous(0, 255), target=Categorical(range(10)))
    if asked.threads is not None:
        limited = partial(_limited, asked.threads)
        mock.patch.object(estimator, "threadpool_limits", limited).start()

    def fit(n_rows: int) -> tuple[float, float]:
        processor, wall = time.process_time(), time.perf_counter()
        DPLocallyLinearClassifier(2.0, 1e-5, schema=schema).fit(images[:n_rows], labels[:n_rows])
        return time.process_time() - processor, time.perf_counter() - wall

    fit(1_000)
    seconds: dict[int, list[float]] = {0: [], asked.load: []}
    for _ in range(asked.repeats):
        for load, taken in seconds.items():
            with busy(load):
                processor, wall = fit(_ROWS)
            taken.append(processor)
            print(
                f"{load} busy processes: {processor:.2f} processor seconds, {wall:.1f} s, load "
                f"{os.getloadavg()[0]:.1f}",
                flush=True,
            )
    ratio = np.median(seconds[asked.load]) / np.median(seconds[0])
    print(f"ratio of the medians: {ratio:.2f}")


if __name__ == "__main__":
    main()
