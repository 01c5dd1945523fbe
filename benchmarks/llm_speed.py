"""Time and memory of one DP-LLM epoch, against Opacus: ``python -m benchmarks.llm_speed``.

MNIST, 30 maps, 10 classes, float32, Poisson samples, noise and Adam in every step. Each measurement
is a process of its own (``benchmarks.llm_engines``); processes of all engines take turns, in turned
order every other time, and the figures are medians. Processor seconds are the main figure, since
other work on a machine stretches wall time. Memory is the largest resident size, less that of a
process that imports and loads the same and trains nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.llm_engines import LAYOUTS, Job, peak_megabytes
from benchmarks.report import Report, spread
from benchmarks.speed_figures import draw_llm

__all__ = ["SETTINGS", "main", "measure", "table_of"]

Result = dict[str, Any]

_LINEAR, _OPACUS = "one linear", ("hooks", "ghost")
_OURS = ("closed form", "")


@dataclasses.dataclass(frozen=True)
class Setting:
    """One table: the engines that are compared, and what they share."""

    heading: str
    note: str
    base: Job
    engines: tuple[tuple[str, str], ...]

    @property
    def jobs(self) -> list[Job]:
        """One for each engine and layout."""
        return [
            dataclasses.replace(self.base, engine=engine, layout=layout)
            for engine, layout in (_OURS, *self.engines)
        ]


_SHARED = tuple((engine, _LINEAR) for engine in _OPACUS)
_PER_MAP = tuple((engine, layout) for layout in ("linears", "grouped") for engine in _OPACUS)
_FOLDED = ("ghost", "folded")
_ONCE = "Every engine gets projected inputs that were computed once, which is not counted"

SETTINGS = (
    Setting(
        "No projection, batches of 2,000",
        "",
        Job(engine=""),
        _SHARED,
    ),
    Setting("No projection, batches of 500", "", Job(engine="", batch_sizes=(500,)), _SHARED),
    Setting(
        "The rule for images: 100 features for all maps",
        f"{_ONCE}.",
        Job(engine="", projection="cosine", dimension=100, batch_sizes=(2000, 500)),
        _SHARED,
    ),
    Setting(
        "The paper's projections: 300 random features for each map, computed once",
        f"{_ONCE}; ours works on the inputs, with norms that it computed once.",
        Job(engine="", projection="gaussian", dimension=300, batch_sizes=(2000, 500)),
        (*_PER_MAP, _FOLDED),
    ),
    Setting(
        "The paper's projections, in every batch",
        "Opacus projects each batch; ours folds the projections into its weights in each step.",
        Job(engine="", projection="gaussian", dimension=300, is_given=False),
        (("hooks", "linears"), ("ghost", "linears")),
    ),
    Setting(
        "100 random features for each map, computed once",
        f"{_ONCE}; ours works on the inputs, with norms that it computed once.",
        Job(engine="", projection="gaussian", dimension=100, batch_sizes=(2000, 500)),
        (*_PER_MAP, _FOLDED),
    ),
    Setting(
        "Other ways of Opacus, no projection, batches of 2,000",
        "",
        Job(engine=""),
        (("hooks", "linears"), ("ew", _LINEAR), ("functorch", _LINEAR)),
    ),
    Setting("No projection, batches of 2,000, two threads", "", Job(engine="", threads=2), _SHARED),
    Setting(
        "The rule for images, two threads",
        f"{_ONCE}.",
        Job(engine="", projection="cosine", dimension=100, threads=2),
        _SHARED,
    ),
)


def measure(job: Job) -> Result:
    """Run one job in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.llm_engines", json.dumps(dataclasses.asdict(job))]
    environment = {**os.environ, "OMP_NUM_THREADS": str(job.threads)}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{finished.stderr}")
    result: Result = json.loads(finished.stdout.splitlines()[-1])
    return result


def table_of(results: Sequence[tuple[Job, Sequence[Result]]], nothing: float) -> pd.DataFrame:
    """Return medians and spread, a row for each engine and batch size.

    Parameters
    ----------
    results : sequence of (Job, sequence of Result)
        Ours is first.
    nothing : float
        Megabytes of a process that trains nothing.
    """
    records: list[Result] = []
    for batch_size in results[0][0].batch_sizes:
        ours = np.nan
        for job, found in results:
            epochs = [result["epochs"][str(batch_size)] for result in found]
            seconds = float(np.median([epoch["processor"] for epoch in epochs]))
            ours = seconds if job.engine == _OURS[0] else ours
            peaks = [result["peak"] - nothing for result in found]
            once = [result["once"] for result in found]
            records.append(
                {
                    "batch": batch_size,
                    "engine": f"{job.engine}, {job.layout}" if job.layout else job.engine,
                    "processor s": spread([epoch["processor"] for epoch in epochs]),
                    "times ours": seconds / ours,
                    "of it random": float(
                        np.median([epoch.get("random numbers", np.nan) for epoch in epochs])
                    ),
                    "wall s": spread([epoch["wall"] for epoch in epochs]),
                    "steps": int(np.median([epoch["steps"] for epoch in epochs])),
                    "MB above": float(np.median(peaks)),
                    "s once": float(np.median(once)),
                }
            )
    return pd.DataFrame(records)


def _fit_table(n_fits: int) -> pd.DataFrame:
    """Return time and memory of whole default fits, each in a process of its own."""
    found = []
    for _ in range(n_fits):
        command = [sys.executable, "-m", "benchmarks.llm_speed", "--one-fit"]
        finished = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(finished.stdout.splitlines()[-1]))
    return pd.DataFrame([{name: spread([one[name] for one in found]) for name in found[0]}])


def _one_fit() -> Result:
    """Fit the default rule at epsilon 2."""
    from benchmarks.papers.harder import DELTA, SCHEMA, STANDARDS, load_images
    from interpret_dp import DPLocallyLinearClassifier

    X, y, X_test, y_test = load_images("MNIST")
    before = peak_megabytes()
    processor, wall = time.process_time(), time.perf_counter()
    model = DPLocallyLinearClassifier(
        epsilon=2.0, delta=DELTA, schema=SCHEMA, standardize=STANDARDS
    ).fit(X, y)
    return {
        "processor s": time.process_time() - processor,
        "wall s": time.perf_counter() - wall,
        "MB before": before,
        "MB at most": peak_megabytes(),
        "accuracy, %": 100 * model.score(X_test, y_test),
    }


def _where_time_goes() -> pd.DataFrame:
    """Return the processor milliseconds of each part of our epoch, in four settings."""
    columns: dict[str, Result] = {}
    for projection, dimension in (("none", 0), ("cosine", 100)):
        job = Job(
            engine=_OURS[0],
            projection=projection,
            dimension=dimension,
            batch_sizes=(2000, 500),
            has_stages=True,
        )
        for batch_size, epoch in measure(job)["epochs"].items():
            name = f"{dimension or 784} inputs, batches of {int(batch_size):,}"
            columns[name] = {stage: 1e3 * one for stage, one in epoch["stages"].items()}
    return pd.DataFrame(columns).rename_axis("part").reset_index()


def _many_classes() -> pd.DataFrame:
    """Return our epochs with ten classes and a hundred."""
    records = []
    for dimension in (0, 100):
        for n_classes in (10, 100):
            job = Job(
                engine="closed form",
                projection="cosine" if dimension else "none",
                dimension=dimension,
                n_classes=n_classes,
            )
            epoch = measure(job)["epochs"]["2000"]
            records.append(
                {
                    "inputs": dimension or 784,
                    "classes": n_classes,
                    "processor s": epoch["processor"],
                    "wall s": epoch["wall"],
                }
            )
    return pd.DataFrame(records)


def _write(
    results: dict[Job, list[Result]],
    nothing: float,
    settings: Sequence[Setting],
    where: pd.DataFrame,
    n_fits: int,
    name: str,
) -> None:
    report = Report(
        "Time and memory of one DP-LLM epoch", is_timed=True, packages=("torch", "opacus")
    )
    layouts = "; ".join(f"*{name}*: {what}" for name, what in LAYOUTS.items())
    report.add(
        "What is compared",
        note=f"Medians of {min(map(len, results.values()))} runs, each a process of its own; in "
        f"brackets the smallest and the largest. Opacus' model comes as {layouts}. "
        "`steps` says how many were timed where an epoch was too long, and scaled; `MB above` is "
        f"memory above the {nothing:.0f} MB of a process that trains nothing; `s once` is spent "
        "before the first epoch. Our noise is sampled exactly, Opacus' is a variate in single "
        "precision; what our samples and noise take is `of it random`.",
    )
    for setting in settings:
        rows = [(job, results[job]) for job in setting.jobs]
        report.add(
            setting.heading,
            table_of(rows, nothing),
            setting.note,
            measured=[{**dataclasses.asdict(job), "runs": results[job]} for job in setting.jobs],
        )
    report.add(
        "Where the time goes",
        where,
        "Ours, processor milliseconds of one epoch of 60,000 rows, one thread, one run. Noise is "
        "drawn once a step, whatever its rows.",
    )
    if n_fits:
        report.add(
            "A whole fit of the default rule (20 epochs at epsilon 2)",
            _fit_table(n_fits),
            f"Encoding, calibration and training; median of {n_fits}.",
        )
        report.add("Many classes", _many_classes(), "Ours, batches of 2,000; labels at random.")
    report.write(name, draw_llm)


def main() -> None:
    """Measure, print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=float, default=10.0, help="processor seconds of an epoch")
    parser.add_argument("--settings", type=int, nargs="+", default=range(len(SETTINGS)))
    parser.add_argument("--fits", type=int, default=5, help="whole fits after the epochs")
    parser.add_argument("--name", default="llm_speed", help="of the page and of the raw figures")
    parser.add_argument("--one-fit", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one_fit:
        print(json.dumps(_one_fit()))
        return
    settings = [
        dataclasses.replace(
            SETTINGS[index], base=dataclasses.replace(SETTINGS[index].base, limit=asked.limit)
        )
        for index in asked.settings
    ]
    where = _where_time_goes()
    nothing = measure(Job(engine="nothing"))["peak"]
    results: dict[Job, list[Result]] = defaultdict(list)
    jobs = [job for setting in settings for job in setting.jobs]
    for repeat in range(asked.repeats):
        for job in jobs[:: -1 if repeat % 2 else 1]:
            results[job].append(measure(job))
            print(repeat, job.engine, job.layout, results[job][-1], file=sys.stderr, flush=True)
        # What is there so far is kept if the rest is stopped.
        is_last = repeat == asked.repeats - 1
        n_fits = asked.fits if is_last else 0
        _write(results, nothing, settings, where, n_fits, asked.name)


if __name__ == "__main__":
    main()
