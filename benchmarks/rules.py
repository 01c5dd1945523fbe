"""Compare a rule of the trainer with another value of it, on the same rows with the same noise.

``python -m benchmarks.rules clip_spreads=1.0 --problems pol wine_quality`` fits every split twice,
as the package is and with the values that are named, both with the same seed, so that what differs
is mostly the rule. Names are those of ``interpret_dp/ebm/config.py``, or a module of the package
and a constant of it, as ``ebm.trainer.partitions._MOST_LEAVES=0``. Public tables, and those of
``benchmarks/simulated.py``, of which every split is another table.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any
from unittest import mock

import numpy as np
from tqdm.auto import tqdm

from benchmarks.engines.ours import ENGINE
from benchmarks.problems import PROBLEMS, Problem, Split, load_problem
from benchmarks.simulated import SIMULATED, simulate
from benchmarks.summary import markdown_table
from interpret_dp import PrivacyWarning, Schema
from interpret_dp.ebm.config import TUNING

__all__ = ["changed", "drawn", "error_of", "gains", "main", "parsed"]

#: Names of constants within the package, and other values.
Changes = Mapping[str, Any]


def parsed(change: str) -> tuple[str, Any]:
    """Read ``name=value``; the name is a tuned value, or a module of the package and a constant."""
    name, equals, value = change.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{change!r} is not a change; write rounds=80.")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{value!r} in {change!r} is not a Python literal such as 80, 0.3 or None."
        ) from None


@contextlib.contextmanager
def changed(changes: Changes) -> Iterator[None]:
    """Give tuned values and constants of the package other values for a while."""
    with contextlib.ExitStack() as stack:
        for name, value in changes.items():
            module, dot, constant = name.rpartition(".")
            if not dot:
                stack.callback(object.__setattr__, TUNING, name, getattr(TUNING, name))
                object.__setattr__(TUNING, name, value)  # it is frozen, and shared by all modules
                continue
            owner = importlib.import_module(f"interpret_dp.{module}")
            # An unknown name raises: a mistyped change would compare the package with itself.
            stack.enter_context(mock.patch.object(owner, constant, value))
        yield


def drawn(name: str, number: int, copies: int = 1) -> tuple[Problem, Split]:
    """Return a problem and its split of that number; simulated ones are drawn by the number.

    Each column is there ``copies`` times.
    """
    problem = simulate(name, number) if name in SIMULATED else load_problem(name)
    features = problem.schema.features
    X, declared = problem.X, dict(features)
    for copy in range(2, copies + 1):
        more = {column: f"{column} {copy}" for column in features}
        X = X.join(problem.X.rename(columns=more))
        declared |= {other: features[column] for column, other in more.items()}
    problem = replace(problem, X=X, schema=Schema(declared, target=problem.schema.target))
    return problem, problem.split(number)


def error_of(problem: Problem, split: Split, epsilon: float, seed: int) -> float:
    """Fit with seeded noise; return the RMSE, or 1 - AUROC: less is better."""
    model = ENGINE.build(problem, epsilon, problem.delta).set_params(random_state=seed)
    with warnings.catch_warnings():
        # Seeded, on public tables.
        warnings.simplefilter("ignore", PrivacyWarning)
        model.fit(split.X_train, split.y_train)
    score = problem.score(split.y_test, ENGINE.predict(problem, model, split.X_test))
    return score if problem.task == "regression" else 1.0 - score


def gains(
    name: str, epsilon: float, numbers: Sequence[int], changes: Changes, copies: int = 1
) -> list[tuple[float, float]]:
    """Return the error of each split, as the package is and with the changes."""
    found = []
    for number in tqdm(numbers, desc=f"{name} {epsilon:g}", leave=False):
        problem, split = drawn(name, number, copies)
        now = error_of(problem, split, epsilon, number)
        with changed(changes):
            found.append((now, error_of(problem, split, epsilon, number)))
    return found


def _line(name: str, epsilon: float, found: Sequence[tuple[float, float]]) -> list[str]:
    now, then = (fmean(errors) for errors in zip(*found, strict=True))
    shares = [100 * (other / one - 1) for one, other in found]
    error = stdev(shares) / math.sqrt(len(shares)) if len(shares) > 1 else np.nan
    return [
        name,
        f"{epsilon:g}",
        f"{len(found)}",
        f"{now:.5g}",
        f"{then:.5g}",
        f"{fmean(shares):+.2f} ± {error:.2f} %",
    ]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("changes", nargs="+", type=parsed, metavar="NAME=VALUE")
    parser.add_argument(
        "--problems", nargs="+", default=list(SIMULATED), choices=[*SIMULATED, *PROBLEMS]
    )
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5])
    parser.add_argument("--splits", type=int, default=8)
    # Others than those that the table against the reference reports.
    parser.add_argument("--first", type=int, default=100, help="number of the first split")
    parser.add_argument("--copies", type=int, default=1, help="of each column")
    arguments = parser.parse_args()
    changes = dict(arguments.changes)
    numbers = range(arguments.first, arguments.first + arguments.splits)
    lines = [
        _line(name, epsilon, gains(name, epsilon, numbers, changes, arguments.copies))
        for name in arguments.problems
        for epsilon in arguments.epsilons
    ]
    header = ["problem", "epsilon", "splits", "error", "error with the change", "difference"]
    print(markdown_table(header, lines))


if __name__ == "__main__":
    main()
