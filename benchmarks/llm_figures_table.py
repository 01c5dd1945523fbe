"""DP-LLM on a table, as figure 6 of Harder, Bauer and Park (2020) has it.

Run: ``python -m benchmarks.llm_figures_table``.

Accuracy against epsilon by the default rule, and against the number of maps with privacy (epsilon
1.5, delta 1e-5) and without. Their hospital's records are not public; adult stands in for them.
Rows are split once, a fifth of them to test on; no setting is chosen by them.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.llm_figures import Noiseless, class_scores
from benchmarks.llm_tables import DELTA, TABLES, Table, load_table
from benchmarks.report import Report, drawing
from interpret_dp import DPLocallyLinearClassifier
from interpret_dp.accounting.plans import SampledSteps
from interpret_dp.llm.request import MapsSettings, training_settings
from interpret_dp.llm.training import Training

__all__ = ["Fits", "main"]

_EPSILONS = (0.2, 0.5, 1.5, 8.0, np.inf)
_MAPS = (1, 2, 5, 20)
_EPSILON = 1.5


class Fits:
    """Fits on one split of a table.

    Parameters
    ----------
    table : Table
    runs : int
        Of each point.
    """

    def __init__(self, table: Table, runs: int) -> None:
        self._table = table
        self._runs = runs
        order = np.random.default_rng(0).permutation(len(table.y))
        held_out = len(order) // 5
        self._test, self._train = order[:held_out], order[held_out:]

    def measured(self, epsilon: float, n_maps: int | None = None) -> dict[str, Any]:
        """Return the mean accuracy of some fits, as a row; an infinite epsilon is no privacy."""
        fit = self._private if np.isfinite(epsilon) else self._open
        found = [fit(epsilon, n_maps, seed) for seed in range(self._runs)]
        row: dict[str, Any] = {"epsilon": epsilon} if n_maps is None else {"maps": n_maps}
        row |= {"private": "yes" if np.isfinite(epsilon) else "no"}
        row |= {"accuracy, %": f"{np.mean(found):.2f}"}
        if self._runs > 1:
            row |= {"deviation": float(np.std(found, ddof=1))}
        print(row, flush=True)
        return row

    def _private(self, epsilon: float, n_maps: int | None, seed: int) -> float:
        table = self._table
        model = DPLocallyLinearClassifier(epsilon, DELTA, n_maps=n_maps, schema=table.schema)
        model.fit(table.X.iloc[self._train], table.y[self._train])
        return 100 * float(model.score(table.X.iloc[self._test], table.y[self._test]))

    def _open(self, epsilon: float, n_maps: int | None, seed: int) -> float:
        """Fit by the same trainer without noise; the table is public."""
        table = self._table
        parameters = MapsSettings(n_maps=n_maps, schema=table.schema)
        settings = training_settings(parameters, table.coding, None)
        rate = settings.sampling_rate
        classes = np.searchsorted(table.labels, table.y)
        inputs = table.inputs(table.X).astype(np.float32)
        session: Any = Noiseless(rate, seed)
        training = Training(
            inputs[self._train],
            classes[self._train].astype(np.int16),
            len(table.labels),
            settings,
            SampledSteps(1.0, rate, settings.n_steps(rate)),
            session,
            image_shape=None,
            engine="closed_form",
        )
        scores = class_scores(training.run(verbose=False), settings, inputs[self._test])
        found = scores.argmax(axis=1)
        return 100 * float((found == classes[self._test]).mean())


def _draw(report: Report, name: str, by_epsilon: pd.DataFrame, by_maps: pd.DataFrame) -> None:
    with drawing(f"llm_{name}_points", 2) as (left, right):
        private = by_epsilon[by_epsilon["private"] == "yes"]
        left.plot(private["epsilon"], private["accuracy, %"].astype(float), marker="o")
        openly = by_epsilon[by_epsilon["private"] == "no"]["accuracy, %"].astype(float)
        left.axhline(openly.iloc[0], linestyle="--", label="not private")
        left.set_xlabel("epsilon")
        for kind, part in by_maps.groupby("private", sort=False):
            style, label = ("-", "private") if kind == "yes" else ("--", "not private")
            shown = part["accuracy, %"].astype(float)
            right.plot(part["maps"], shown, style, color="C0", marker="o", label=label)
        right.set_xlabel("maps")
        for axis, points in ((left, private["epsilon"]), (right, by_maps["maps"].unique())):
            axis.set_xscale("log")
            axis.set_xticks(list(points), [f"{point:g}" for point in points])
            axis.minorticks_off()
            axis.set_ylabel("test accuracy, %")
            axis.legend(frameon=False)


def main() -> None:
    """Run, print the tables and write them and the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", default="adult", choices=TABLES)
    parser.add_argument("--runs", type=int, default=1, help="fits of each point; 10 in the paper")
    asked = parser.parse_args()
    report = Report(f"DP-LLM on {asked.table}: epsilon and maps")
    fits = Fits(load_table(asked.table), asked.runs)
    by_epsilon = pd.DataFrame([fits.measured(epsilon) for epsilon in _EPSILONS])
    report.add("Accuracy against epsilon", by_epsilon, f"Fits of each point: {asked.runs}.")
    by_maps = pd.DataFrame(
        [fits.measured(epsilon, n_maps) for n_maps in _MAPS for epsilon in (_EPSILON, np.inf)]
    )
    report.add(f"Accuracy against the number of maps, epsilon {_EPSILON:g} and none", by_maps)
    _draw(report, asked.table, by_epsilon, by_maps)
    report.write(f"llm_{asked.table}_points")


if __name__ == "__main__":
    main()
