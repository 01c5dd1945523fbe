"""Whether explanations name what matters: ``python -m benchmarks.lime_agreement``.

``lime``: how many of the five features with the largest effects are those that the package lime
names for the same black box, rows and class; adult, random forest of 100 trees of depth 10. The
package draws its own samples around a row and takes numbers by quartiles.

``irrelevant``: effects that explanations give to two columns that the black box does not use.

lime is no dependency of this project: ``pip install lime``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_report import Report, public_tables
from benchmarks.lime_setting import Indices, Task, adult_task, answer, forest, task_of, top_overlap
from benchmarks.lime_truth import truth_of
from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.datasets import load_benchmark
from interpret_dp.lime.features import LocalFeatures
from interpret_dp.schema import open_table

__all__ = ["LimeAdult", "agreement", "irrelevant", "main"]

Floats = NDArray[np.float64]

_COIN = ("heads", "tails", "edge")


class LimeAdult:
    """Adult and its forest as lime takes them: numbers, and categories as codes.

    Attributes
    ----------
    task : Task
    model : RandomForestClassifier
    """

    def __init__(self) -> None:
        from lime.lime_tabular import (  # type: ignore[import-untyped]
            LimeTabularExplainer,
        )

        self.task = adult_task()
        rows, target = load_benchmark("adult")
        self.model = forest(self.task.points, target)
        specs = self.task.features.specs
        self._numbers = [i for i, spec in enumerate(specs) if isinstance(spec, Continuous)]
        names = [self.task.features.names[i] for i in self._numbers]
        self._places = LocalFeatures.of_schema(
            Schema({name: specs[i] for name, i in zip(names, self._numbers, strict=True)}), names
        )
        self._starts = np.concatenate([[0], np.cumsum(self.task.features.widths)])
        self._table = np.column_stack(
            [self._column(rows[name], spec) for name, spec in zip(rows, specs, strict=True)]
        )
        levels = {
            i: [*spec.levels, "missing"]
            for i, spec in enumerate(specs)
            if isinstance(spec, Categorical)
        }
        self._explainer = LimeTabularExplainer(
            self._table,
            feature_names=list(rows.columns),
            categorical_features=list(levels),
            categorical_names=levels,
            class_names=["<=50K", ">50K"],
            random_state=0,
        )

    @staticmethod
    def _column(values: Any, spec: Any) -> Floats:
        if isinstance(spec, Continuous):
            return np.asarray(values, dtype=np.float64)
        codes = pd.Categorical(values, categories=list(spec.levels)).codes.astype(np.float64)
        return np.where(codes < 0, len(spec.levels), codes)

    def predict_proba(self, rows: Floats) -> Floats:
        """Return what the forest says of rows as lime has them."""
        points = np.zeros((len(rows), self.task.points.shape[1]), dtype=np.int16)
        numbers = pd.DataFrame(rows[:, self._numbers], columns=list(self._places.names))
        points[:, self._starts[self._numbers]] = self._places.points(open_table(numbers))
        for i, width in enumerate(self.task.features.widths):
            if i not in self._numbers:
                codes = rows[:, i].astype(np.intp)
                known = np.flatnonzero(codes < width)
                points[known, self._starts[i] + codes[known]] = 256
        found: Floats = self.model.predict_proba(points)
        return found

    def effects(self, row: int) -> Floats:
        """Return lime's weight of each feature at a row of the table."""
        found = self._explainer.explain_instance(
            self._table[row], self.predict_proba, num_features=self._table.shape[1]
        )
        weights = np.zeros(self._table.shape[1])
        for feature, weight in found.as_map()[1]:
            weights[feature] = weight
        return weights


def agreement(n_queries: int, epsilons: list[float]) -> pd.DataFrame:
    """Return the overlap with lime of each form of explanation, without noise and with it."""
    lime = LimeAdult()
    tasks = {"values": lime.task, "bins": adult_task(representation="bins")}
    chosen = lime.task.draw(n_queries)
    check = lime.predict_proba(lime._table[chosen]) - lime.task.model.probabilities[chosen]
    if np.abs(check).max() > 1e-9:
        raise RuntimeError("lime's black box is not that of the task.")
    theirs = [lime.effects(int(row)) for row in chosen]
    again = [lime.effects(int(row)) for row in chosen]
    twice = top_overlap(theirs, again)
    records: list[dict[str, Any]] = [
        {"representation": "lime, other samples", "explained": "", "optimum": twice}
    ]
    for representation, task in tasks.items():
        for centered in (False, True):
            truth = truth_of(task, chosen, centered=centered)
            record: dict[str, Any] = {
                "representation": representation,
                "explained": "difference from the query" if centered else "equation 1",
                "optimum": _overlap(task, chosen, truth.best, theirs),
            }
            for epsilon in epsilons:
                found = answer(task, chosen, "statistics", epsilon, centered=centered)
                record[f"epsilon {epsilon:g}"] = _overlap(task, chosen, found.phis, theirs)
            records.append(record)
    return pd.DataFrame(records)


def _overlap(task: Task, chosen: Indices, phis: Floats, theirs: list[Floats]) -> float:
    return top_overlap(_effects(task, chosen, phis), theirs)


def _effects(task: Task, chosen: Indices, phis: Floats, *, centered: bool = False) -> Floats:
    """Return the effects of features in units of the probability."""
    unit = 1.0 if centered else 0.5
    return unit * np.array(
        [
            task.features.per_feature(phi, task.points[row])
            for phi, row in zip(phis, chosen, strict=True)
        ]
    )


def irrelevant(n_queries: int, epsilons: list[float]) -> pd.DataFrame:
    """Return the mean absolute effects of used and unused columns."""
    adult = adult_task()
    rng = np.random.default_rng(0)
    rows = adult.rows.assign(
        noise=rng.uniform(size=len(adult)), coin=rng.choice(_COIN, size=len(adult))
    )
    with public_tables():
        drafted = Schema.draft(rows)
    task = task_of(rows, drafted, adult.model.probabilities)
    chosen = task.draw(n_queries)
    names = task.features.names
    groups: dict[str, Callable[[str], bool]] = {
        "number that is not used": lambda name: name == "noise",
        "category that is not used": lambda name: name == "coin",
        "age": lambda name: name == "age",
        "mean of the 14 used": lambda name: name not in ("noise", "coin"),
    }
    records = []
    for centered in (False, True):
        phis = {"no noise": truth_of(task, chosen, centered=centered).best}
        for epsilon in epsilons:
            found = answer(task, chosen, "statistics", epsilon, centered=centered)
            phis[f"epsilon {epsilon:g}"] = found.phis
        for noise, found_phis in phis.items():
            sizes = np.nanmean(
                np.abs(_effects(task, chosen, found_phis, centered=centered)), axis=0
            )
            record: dict[str, Any] = {
                "explained": "difference from the query" if centered else "equation 1",
                "noise": noise,
            }
            for group, belongs in groups.items():
                own = [i for i, name in enumerate(names) if belongs(name)]
                record[group] = float(sizes[own].mean())
            records.append(record)
    return pd.DataFrame(records)


def main() -> None:
    """Print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 0.1, 0.01])
    parser.add_argument("--quick", action="store_true", help="10 queries; nothing is written")
    arguments = parser.parse_args()
    n_queries = 10 if arguments.quick else arguments.queries
    report = Report("Whether explanations name what matters", is_kept=not arguments.quick)
    report.add(
        "Effects of columns that the black box does not use",
        irrelevant(n_queries, arguments.epsilons),
        f"Mean absolute effect on the probability over {n_queries} rows of adult.",
    )
    report.add(
        "Overlap of the top 5 features with lime's",
        agreement(n_queries, arguments.epsilons),
        f"Method `statistics`, {n_queries} rows of adult.",
    )
    report.write("lime_agreement")


if __name__ == "__main__":
    main()
