"""The reference at its best settings, beside ours: ``python -m benchmarks.tuned_reference``.

A grid of ``max_rounds`` and ``learning_rate`` on the first splits of ``benchmarks.accuracy``, whose
file has ours and the reference's defaults on the same rows. The best setting is chosen on the test
part itself, separately for each problem and epsilon, which flatters the reference: nobody could
choose so, and a search on private rows would have to be paid for. Continues an earlier run.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

from tqdm.auto import tqdm

from benchmarks.engines import Engine, load_engine
from benchmarks.machine import describe_machine
from benchmarks.paired import Paired, paired
from benchmarks.problems import DELTA, TABLES, Problem, Split, load_problem, metric_of
from benchmarks.records import Fit, Results
from benchmarks.report import write_page
from benchmarks.summary import markdown_table, number

__all__ = ["Setting", "best_setting", "default_setting", "engine_name", "main", "page"]

#: max_rounds and learning_rate.
Setting = tuple[int, float]

_RESULTS = Path(__file__).parent / "results"
_ROUNDS, _RATES = (30, 100, 300), (0.01, 0.05, 0.2)
_EPSILONS = (0.5, 2.0, 8.0)

_INTRODUCTION = """\
# The reference at its best settings

Written by `python -m benchmarks.tuned_reference`. delta {delta:g}. Of max_rounds {rounds} and
learning_rate {rates}, the setting with the best mean test score over the splits, for each problem
and epsilon: **chosen on the test part itself, which flatters the reference**. Its default is
{default}. Ours has its default rule, on the same splits, from the results of `benchmarks.accuracy`.
Differences are ours minus the reference at its best, with the corrected resampled standard error.

Versions: {versions}. Machine: {machine}."""


def engine_name(setting: Setting) -> str:
    """Return the engine's name in the file of results."""
    return f"reference, {setting[0]} rounds at {setting[1]:g}"


def _said(setting: Setting) -> str:
    return f"{setting[0]} rounds at {setting[1]:g}"


@cache
def default_setting() -> Setting:
    """Return the reference's own setting."""
    from interpret.privacy import DPExplainableBoostingClassifier

    found = DPExplainableBoostingClassifier().get_params()
    return int(found["max_rounds"]), float(found["learning_rate"])


def _measured(
    problem: Problem, engine: Engine, setting: Setting, epsilon: float, number: int, split: Split
) -> Fit:
    model = engine.build(problem, epsilon, DELTA)
    model.set_params(max_rounds=setting[0], learning_rate=setting[1])
    rows = engine.prepare(split.X_train)
    began = time.perf_counter()
    model.fit(rows, split.y_train)
    seconds = time.perf_counter() - began
    predicted = engine.predict(problem, model, engine.prepare(split.X_test))
    return Fit(
        problem=problem.name,
        engine=engine_name(setting),
        version=engine.version,
        epsilon=epsilon,
        split=number,
        score=problem.score(split.y_test, predicted),
        seconds=seconds,
        test_rows_per_training_row=len(split.y_test) / len(split.y_train),
    )


def _measure(
    options: argparse.Namespace, results: Results, accuracy: Results, grid: Sequence[Setting]
) -> None:
    """Measure what the file lacks, split by split, so that a broken run has whole splits."""
    engine = load_engine("reference")
    load = cache(load_problem)
    todo = list(itertools.product(range(options.splits), options.problems, options.epsilons))
    with tqdm(total=len(todo) * len(grid), unit="fit") as progress:
        for split_number, name, epsilon in todo:
            split = None
            for setting in grid:
                progress.set_description(f"{name} {epsilon:g} {_said(setting)}")
                progress.update()
                known = results.find(name, engine_name(setting), epsilon, split_number)
                if setting == default_setting() and known is None:
                    known = accuracy.find(name, "reference", epsilon, split_number)
                if known is not None and known.version == engine.version:
                    continue
                split = split or load(name).split(split_number)
                results.add([_measured(load(name), engine, setting, epsilon, split_number, split)])


def best_setting(
    results: Results, accuracy: Results, grid: Sequence[Setting], problem: str, epsilon: float
) -> tuple[Setting, dict[int, Fit]] | None:
    """Return the setting with the best mean, and its fits, over the splits that have all settings.

    Parameters
    ----------
    results, accuracy : Results
        Of this benchmark and of ``benchmarks.accuracy``, whose reference is the default setting.
    grid : sequence of Setting
    problem : str
    epsilon : float

    Returns
    -------
    (Setting, dict) or None
        None where no split has the whole grid.
    """
    default = default_setting()
    fits: dict[Setting, dict[int, Fit]] = {}
    for setting in grid:
        own = results.by_split(problem, engine_name(setting), epsilon)
        if setting == default:
            own = {**accuracy.by_split(problem, "reference", epsilon), **own}
        fits[setting] = own
    whole = set.intersection(*map(set, fits.values()))
    if not whole:
        return None
    sign = 1.0 if metric_of(problem) == "AUROC" else -1.0
    means = {
        setting: fmean(sign * own[split].score for split in whole) for setting, own in fits.items()
    }
    best = max(means, key=lambda setting: means[setting])
    return best, {split: fits[best][split] for split in whole}


_HEADER = (
    "problem",
    "metric",
    "epsilon",
    "splits",
    "best setting",
    "reference at its best",
    "reference's default",
    "ours",
    "difference",
    "standard error",
)


def _verdict(lead: Paired) -> str:
    error = lead.standard_error
    if error is None:
        return "one split says nothing"
    if abs(lead.gain) <= error:
        return "neither"
    return "ours" if lead.gain > 0 else "the reference"


def _row(
    results: Results, accuracy: Results, grid: Sequence[Setting], problem: str, epsilon: float
) -> tuple[list[str], Paired | None] | None:
    """Return the cells of a row, and ours against the reference at its best."""
    found = best_setting(results, accuracy, grid, problem, epsilon)
    if found is None:
        return None
    setting, best = found
    lead = paired(accuracy.by_split(problem, "ours", epsilon), best)
    default = paired(accuracy.by_split(problem, "reference", epsilon), best)
    sign = 1.0 if metric_of(problem) == "AUROC" else -1.0
    cells = [
        problem,
        metric_of(problem),
        f"{epsilon:g}",
        str(lead.splits if lead else len(best)),
        _said(setting),
        number(lead.other if lead else fmean(fit.score for fit in best.values()), 4),
        number(default.one if default else None, 4),
        number(lead.one if lead else None, 4),
        number(sign * lead.gain if lead else None, 4),
        number(lead.standard_error if lead else None, 4),
    ]
    return cells, lead


def page(results: Results, accuracy: Results, grid: Sequence[Setting]) -> str:
    """Return the page of results.

    Parameters
    ----------
    results, accuracy : Results
        Of this benchmark and of ``benchmarks.accuracy``.
    grid : sequence of Setting
    """
    pairs = dict.fromkeys((fit.problem, fit.epsilon) for fit in results if fit.epsilon)
    rows = [_row(results, accuracy, grid, *pair) for pair in pairs]
    known = [row for row in rows if row is not None]
    verdicts = Counter(_verdict(lead) for _, lead in known if lead is not None)
    versions = {f"reference: {fit.version}" for fit in results}
    versions |= {f"ours: {fit.version}" for fit in accuracy if fit.engine == "ours"}
    rounds, rates = (sorted(set(values)) for values in zip(*grid, strict=True))
    introduction = _INTRODUCTION.format(
        delta=DELTA,
        rounds=", ".join(map(str, rounds)),
        rates=", ".join(f"{rate:g}" for rate in rates),
        default=_said(default_setting()),
        versions="; ".join(sorted(versions)),
        machine="; ".join(f"{name} {value}" for name, value in describe_machine().items()),
    )
    counted = ", ".join(f"{name} in {count}" for name, count in verdicts.items())
    parts = [introduction, markdown_table(_HEADER, [cells for cells, _ in known])]
    if counted:
        parts.append(
            f"Better by more than one standard error, of {verdicts.total()} cells: {counted}."
        )
    return "\n\n".join(parts) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tuned_reference", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--problems", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(_EPSILONS))
    parser.add_argument("--rounds", nargs="+", type=int, default=list(_ROUNDS))
    parser.add_argument("--rates", nargs="+", type=float, default=list(_RATES))
    parser.add_argument("--splits", type=int, default=3, help="number of splits (default: 3)")
    parser.add_argument(
        "--summary", action="store_true", help="measure nothing; write the page of what there is"
    )
    parser.add_argument(
        "--accuracy",
        type=Path,
        default=_RESULTS / "accuracy.json",
        metavar="FILE",
        help="results of benchmarks.accuracy",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=_RESULTS / "tuned_reference.json",
        metavar="FILE",
        help="raw results (JSON); the page comes beside it as .md",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the file lacks, then write the page."""
    options = _parser().parse_args(arguments)
    results, accuracy = Results(options.out), Results(options.accuracy)
    grid = list(itertools.product(options.rounds, options.rates))
    if not options.summary:
        _measure(options, results, accuracy, grid)
    text = page(results, accuracy, grid)
    write_page(options.out.with_suffix(".md"), text)
    print(text)


if __name__ == "__main__":
    main()
