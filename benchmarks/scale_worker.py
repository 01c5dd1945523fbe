"""One measurement of speed in one process: ``python -m benchmarks.scale_worker TASK JSON``.

Tasks are ``paired`` (engines in turns on one table), ``memory`` (of one fit), ``cold`` (the first
fit of this process) and ``passes`` (the loop over rows alone). The last line that is printed is the
result, as JSON.
"""

from __future__ import annotations

import json
import sys
import time

_BEGAN = time.perf_counter()

import os  # noqa: E402  what is imported below is timed by the task `cold`
import threading  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

__all__ = ["Setting", "main", "measured"]

#: Engine, and max_rounds and learning_rate where they are not its defaults.
Setting = tuple[str, int | None, float | None]

_EPSILON = 1.0
_TEST_ROWS = 200_000
_WARM_UP_ROWS = 32_000


def _resident() -> int:
    """Return the bytes of this process that are in memory now."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


class _Peak:
    """The most memory that a process takes while a block runs, by a thread that keeps looking."""

    def __enter__(self) -> _Peak:
        self.before = self.highest = _resident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self.highest = max(self.highest, _resident())

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def grown(self) -> int:
        return self.highest - self.before


def _estimator(problem: Any, setting: Setting) -> Any:
    from benchmarks.engines import load_engine
    from benchmarks.problems import DELTA

    engine, rounds, rate = setting
    estimator = load_engine(engine).build(problem, _EPSILON, DELTA)
    given = {"max_rounds": rounds, "learning_rate": rate}
    return estimator.set_params(**{name: value for name, value in given.items() if value})


def measured(problem: Any, test: Any, setting: Setting) -> dict[str, Any]:
    """Fit once; return seconds, seconds of all processors, and AUROC.

    Parameters
    ----------
    problem, test : Problem
    setting : Setting
    """
    model = _estimator(problem, setting)
    processor, began = time.process_time(), time.perf_counter()
    model.fit(problem.X, problem.y)
    return {
        "engine": setting[0],
        "rounds": setting[1],
        "rate": setting[2],
        "seconds": time.perf_counter() - began,
        "processor seconds": time.process_time() - processor,
        "AUROC": test.score(test.y, model.predict_proba(test.X)[:, 1]),
    }


def _paired(
    n_rows: int,
    settings: Sequence[Setting],
    repeats: int,
    *,
    n_features: int,
    once: Sequence[Setting] = (),
) -> dict[str, Any]:
    """Fit all settings in turns, as often as asked, after one unmeasured fit of a small table."""
    from benchmarks.scale_table import make_problem

    small = make_problem(min(n_rows, _WARM_UP_ROWS), n_features, seed=2)
    test = make_problem(_TEST_ROWS, n_features, seed=1)
    for engine in dict.fromkeys(setting[0] for setting in (*settings, *once)):
        _estimator(small, (engine, None, None)).fit(small.X, small.y)
    problem = make_problem(n_rows, n_features)
    fits = []
    for repeat in range(repeats):
        turn = repeat % max(len(settings), 1)
        for setting in (*settings[turn:], *settings[:turn]):
            fits.append(measured(problem, test, setting))
    fits += [measured(problem, test, setting) for setting in once]
    return {"rows": n_rows, "features": n_features, "fits": fits}


def _memory(engine: str, n_rows: int, n_features: int) -> dict[str, Any]:
    """Return how much a fit adds to the memory that holds the table, after a fit of a small one.

    For a fresh process: memory that an earlier fit gave back would be taken again unseen.
    """
    from benchmarks.scale_table import make_problem

    small = make_problem(_WARM_UP_ROWS, n_features, seed=2)
    _estimator(small, (engine, None, None)).fit(small.X, small.y)
    problem = make_problem(n_rows, n_features)
    model = _estimator(problem, (engine, None, None))
    with _Peak() as peak:
        model.fit(problem.X, problem.y)
    return {"engine": engine, "rows": n_rows, "bytes": peak.grown}


def _cold(engine: str, n_rows: int) -> dict[str, Any]:
    """Import an engine and fit once; the table is drawn in between, outside of both times."""
    if engine == "ours":
        import interpret_dp

        interpret_dp.DPExplainableBoostingClassifier  # noqa: B018  imports it
    else:
        import interpret.privacy  # noqa: F401
    imported = time.perf_counter() - _BEGAN
    from benchmarks.scale_table import make_problem

    problem = make_problem(n_rows)
    model = _estimator(problem, (engine, None, None))
    began = time.perf_counter()
    model.fit(problem.X, problem.y)
    return {
        "engine": engine,
        "rows": n_rows,
        "import seconds": imported,
        "fit seconds": time.perf_counter() - began,
    }


def _passes(n_rows: int, n_features: int, n_codes: int, repeats: int) -> dict[str, Any]:
    """Time passes over rows in memory, four features in and four out, on all processors."""
    import numpy as np

    from benchmarks.machine import bandwidth
    from interpret_dp.backends.local import LocalBinaryRows

    rng = np.random.default_rng(0)
    n_threads = len(os.sched_getaffinity(0))
    codes = [rng.integers(0, n_codes, n_rows).astype(np.uint8) for _ in range(n_features)]
    rows = LocalBinaryRows(codes, rng.integers(0, 2, n_rows).astype(np.int16), n_threads=n_threads)
    rows.merge_bins([np.arange(n_codes).astype(np.uint16)] * n_features)
    rows.begin(np.zeros(1, dtype=np.int64))
    updates = rng.integers(-(2**16), 2**16, (4, n_codes, 1)).astype(np.int32)
    taken = []
    for _ in range(repeats + 1):
        order = rng.permutation(n_features)
        began = time.perf_counter()
        rows.advance(order[:4], updates, order[4:8], n_codes)
        taken.append(time.perf_counter() - began)
    # Codes of four features twice, a label, and a score that is read and written.
    return {
        "rows": n_rows,
        "threads": n_threads,
        "bytes per row": 8 + 1 + 8,
        "seconds": taken[1:],
        "bandwidth": bandwidth(n_threads),
    }


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "paired": _paired,
    "memory": _memory,
    "cold": _cold,
    "passes": _passes,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one task and print its result."""
    name, parameters = sys.argv[1:] if arguments is None else arguments
    print(json.dumps(_TASKS[name](**json.loads(parameters))))


if __name__ == "__main__":
    main()
