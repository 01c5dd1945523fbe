"""The first fit of a fresh process: ``python -m benchmarks.cold ENGINE PROBLEM EPSILON``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

from benchmarks.records import ColdFit

__all__ = ["cold_fit"]


def cold_fit(engine: str, problem: str, epsilon: float, *, compiled: bool) -> ColdFit:
    """Fit in a fresh process.

    Parameters
    ----------
    engine, problem : str
    epsilon : float
    compiled : bool
        False: without the compiled code that earlier processes left on disk, as on the day of
        the installation.
    """
    command = [sys.executable, "-m", "benchmarks.cold", engine, problem, str(epsilon)]
    with tempfile.TemporaryDirectory() as empty:
        environment = dict(os.environ)
        if not compiled:
            environment["NUMBA_CACHE_DIR"] = empty
        finished = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
    if finished.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{finished.stderr}")
    return ColdFit(
        problem=problem,
        engine=engine,
        compiled=compiled,
        **json.loads(finished.stdout.splitlines()[-1]),
    )


def _measure(engine_name: str, problem_name: str, epsilon: float) -> dict[str, object]:
    began = time.perf_counter()
    from benchmarks.engines import load_engine

    engine = load_engine(engine_name)
    imported = time.perf_counter()
    from benchmarks.problems import load_problem

    problem = load_problem(problem_name)
    split = problem.split(0)
    rows = engine.prepare(split.X_train)
    estimator = engine.build(problem, epsilon, problem.delta)
    ready = time.perf_counter()
    estimator.fit(rows, split.y_train)
    return {
        "version": engine.version,
        "import_seconds": imported - began,
        "fit_seconds": time.perf_counter() - ready,
    }


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
