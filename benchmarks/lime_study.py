"""Studies of Patel, Shokri and Zick (2022) on data at hand: ``python -m benchmarks.lime_study``.

``budget``: a stream of queries under one budget, loss histograms and numbers of steps (figures 2, 3
and 5). ``little_noise``: the same at the loss of ``paper`` at epsilon 1. ``surrogate``: what is
paid once, beside them. ``models``: explanations of models that were trained with differential
privacy (figures 6 to 8). ``density``: what an adaptive method spends on dense and sparse rows, and
on an overfitted and a sound model (figure 9). Each writes a page to benchmarks/results and figures
to docs/figures.
"""

from __future__ import annotations

import argparse

from benchmarks.lime_additive import surrogate_table
from benchmarks.lime_budget import budget_study
from benchmarks.lime_density import density_study
from benchmarks.lime_models import models_study
from benchmarks.lime_report import Report
from benchmarks.lime_setting import adult_task

__all__ = ["main"]

STUDIES = ("budget", "little_noise", "surrogate", "models", "density")


def _budget(report: Report, *, quick: bool) -> None:
    n_queries, n_calibrated = (40, 20) if quick else (1_000, 100)
    budget_study(adult_task(), n_queries, n_calibrated, report, name="adult")


def _little_noise(report: Report, *, quick: bool) -> None:
    n_queries, n_calibrated = (40, 20) if quick else (300, 100)
    budget_study(
        adult_task(), n_queries, n_calibrated, report, name="adult_little_noise", yardstick=1.0
    )


def _surrogate(report: Report, *, quick: bool) -> None:
    task = adult_task()
    report.add(
        "Surrogates, paid once, and methods that pay for each query",
        surrogate_table(task, task.draw(20 if quick else 200), [0.05, 0.1, 0.5, 1.0]),
        "Differences from the query's output are explained. A surrogate's loss is below 0 where "
        "its curves say more than the best linear explanation.",
    )


def _models(report: Report, *, quick: bool) -> None:
    models_study([0.5, 2.0, 10.0], 20 if quick else 300, 0.1, report)


def _density(report: Report, *, quick: bool) -> None:
    density_study(40 if quick else 150, [0.1], report)


def main() -> None:
    """Run one study, print its tables and write them and its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--quick", action="store_true", help="a few queries; no page is written")
    arguments = parser.parse_args()
    report = Report(f"Local explanations: {arguments.study}", is_kept=not arguments.quick)
    studies = {
        "budget": _budget,
        "little_noise": _little_noise,
        "surrogate": _surrogate,
        "models": _models,
        "density": _density,
    }
    studies[arguments.study](report, quick=arguments.quick)
    report.write(f"lime_{arguments.study}")


if __name__ == "__main__":
    main()
