"""Claimed against observed noise of the released curves: ``python -m benchmarks.calibration``.

The same rows are fitted many times with fresh randomness. Bins differ from fit to fit, so every
curve and its claimed standard deviation are read off at the same cells: the middles of the finest
bins, each level, and a missing value. A cell is honest if claimed over observed lies within 0.8
and 1.25. Shares are given twice: of bins, where the cells of one bin together count as one, and of
cells, where a wide bin counts as often as it has cells.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from benchmarks.engines import load_engine
from benchmarks.problems import PROBLEMS, Problem, load_problem
from benchmarks.report import write_page
from interpret_dp.datasets import make_cohort
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.schema import Categorical, Schema, fine_edges

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES", "Calibration", "Grid", "SelectedSources", "calibrate", "load_table"]

SOURCES = ("boosting", "histograms", "partitions")
"""What makes repeated fits differ: noise of the rounds, noise of the counts, random splits."""

LOWEST, HIGHEST = 0.8, 1.25
_CELLS = 128
_SUPPORTED = 3.0  # a cell counts as supported above this many standard deviations of a count
# An empty bin's score is rounded to the lattice and has no noise: this far below the largest.
_ROUNDING = 1e-4

Floats = NDArray[np.float64]


class SelectedSources(SeededRandomness):
    """Reproducible randomness of which only some sources differ from seed to seed.

    Parameters
    ----------
    seed : int
    vary : collection of str
        Members of ``SOURCES``; the others are drawn alike for every seed.
    quiet : collection of str
        Sources of noise that are switched off.
    """

    def __init__(self, seed: int, vary: Sequence[str] = SOURCES, quiet: Sequence[str] = ()) -> None:
        super().__init__(seed)
        streams = {
            source: np.random.default_rng(
                [SOURCES.index(source), seed + 1 if source in vary else 0]
            )
            for source in SOURCES
        }
        self.public = streams["partitions"]
        self._streams = streams
        self._quiet = frozenset(quiet)

    def perturb(
        self, name: str, exact: NDArray[np.int64], sensitivity: int, sigma: float
    ) -> NDArray[np.int64]:
        """Add noise from the stream of the release."""
        source = "boosting" if name == "boosting" else "histograms"
        if source in self._quiet:
            return exact.copy()
        noise = self._streams[source].normal(scale=sigma, size=exact.shape)
        return exact + np.rint(noise).astype(np.int64)


@dataclass(frozen=True)
class Grid:
    """Cells at which curves are compared.

    Attributes
    ----------
    frame : DataFrame, shape (most cells, n_features)
        Raw values; shorter columns repeat their first cell.
    labels : list of list of str
        For each feature, the names of its cells.
    """

    frame: pd.DataFrame
    labels: list[list[str]]

    @classmethod
    def of(cls, schema: Schema, names: Sequence[str]) -> Grid:
        """Lay the grid by the schema alone."""
        numbers = []
        for spec in schema.resolve(names):
            borders: list[float] = []
            if not isinstance(spec, Categorical):
                borders = [spec.lower, *fine_edges(spec, _CELLS), spec.upper]
            numbers.append(np.convolve(borders, [0.5, 0.5], "valid") if borders else [])
        return cls._of_values(schema, names, numbers)

    @classmethod
    def of_rows(cls, schema: Schema, rows: pd.DataFrame, n_values: int) -> Grid:
        """Lay the grid of numbers by the rows: as many lie between one cell and the next."""
        shares = (np.arange(n_values) + 0.5) / n_values
        names = list(rows.columns)
        numbers = [
            [] if isinstance(spec, Categorical) else np.unique(rows[name].quantile(shares))
            for name, spec in zip(names, schema.resolve(names), strict=True)
        ]
        return cls._of_values(schema, names, numbers)

    @classmethod
    def _of_values(cls, schema: Schema, names: Sequence[str], numbers: Sequence[Any]) -> Grid:
        import pandas as pd

        columns: list[list[Any]] = [
            [*spec.levels, None] if isinstance(spec, Categorical) else [*map(float, own), np.nan]
            for spec, own in zip(schema.resolve(names), numbers, strict=True)
        ]
        most = max(map(len, columns))
        frame = pd.DataFrame(
            {
                name: [*cells, *[cells[0]] * (most - len(cells))]
                for name, cells in zip(names, columns, strict=True)
            }
        )
        labels = [[*map(_label, cells[:-1]), "missing"] for cells in columns]
        return cls(frame, labels)

    def read(self, model: Any, per_bin: Sequence[Floats]) -> list[Floats]:
        """Look up a number per bin at every cell.

        Parameters
        ----------
        model : fitted DP-EBM with a term for every feature
        per_bin : sequence of ndarray, shaped as ``model.term_scores_``

        Returns
        -------
        list of ndarray of float64, shape (n_cells,) per feature
        """
        probe = copy.copy(model)
        probe.term_scores_ = [np.asarray(values) for values in per_bin]
        read = probe.eval_terms(self.frame)
        return [read[: len(labels), k] for k, labels in enumerate(self.labels)]


def _label(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Calibration:
    """Claimed and observed standard deviations of repeated fits, per feature and cell.

    Attributes
    ----------
    names : list of str
    labels : list of list of str
    claimed : list of ndarray of float64, shape (n_cells,)
        Root mean square over the fits of the claimed standard deviation.
    observed : list of ndarray of float64, shape (n_cells,)
        Standard deviation of the curve over the fits.
    weights : list of ndarray of float64, shape (n_cells,)
        Mean released number of rows of the bin that the cell is in.
    parts : list of ndarray of float64, shape (n_cells,)
        Mean part of its bin that a cell is: one over the number of cells in the bin.
    count_noise : float
        Mean standard deviation of a released count, in rows.
    """

    names: list[str]
    labels: list[list[str]]
    claimed: list[Floats]
    observed: list[Floats]
    weights: list[Floats]
    parts: list[Floats]
    count_noise: float

    def ratios(self, feature: int) -> Floats:
        """Return claimed over observed; NaN where the curve does not vary but by rounding."""
        observed = self.observed[feature]
        varies = observed > _ROUNDING * observed.max()
        return np.where(varies, self.claimed[feature] / np.where(varies, observed, 1.0), np.nan)

    def supported(self, feature: int) -> NDArray[np.bool_]:
        """Tell which cells lie in bins that hold more rows than the noise of a count."""
        enough: NDArray[np.bool_] = self.weights[feature] > _SUPPORTED * self.count_noise
        return enough

    def honest_share(
        self, *, supported_only: bool, per_bin: bool, features: Sequence[int] | None = None
    ) -> float:
        """Return the share of honest cells among those whose curve varies.

        Parameters
        ----------
        supported_only : bool
            Leave out cells without support.
        per_bin : bool
            Weigh each cell by the part of a bin that it is; otherwise all alike.
        features : sequence of int, default=None
            Features to look at; by default all.
        """
        honest = varying = 0.0
        for feature in range(len(self.names)) if features is None else features:
            ratios = self.ratios(feature)
            weights = self.parts[feature] if per_bin else np.ones(len(ratios))
            counted = ~np.isnan(ratios)
            if supported_only:
                counted &= self.supported(feature)
            within = counted & (ratios >= LOWEST) & (ratios <= HIGHEST)
            varying += float(weights[counted].sum())
            honest += float(weights[within].sum())
        return honest / varying if varying else float("nan")


def calibrate(
    problem: Problem,
    epsilon: float,
    *,
    repeats: int,
    vary: Sequence[str] = SOURCES,
    quiet: Sequence[str] = (),
) -> Calibration:
    """Fit the same rows many times.

    Parameters
    ----------
    problem : Problem
    epsilon : float
    repeats : int
        Number of fits, at least 2. The observed standard deviation then has a relative error of
        about ``1 / sqrt(2 repeats)``.
    vary, quiet
        See :class:`SelectedSources`.
    """
    engine = load_engine("ours")
    names = list(problem.X.columns)
    grid = Grid.of(problem.schema, names)
    scores: list[list[Floats]] = []
    variances: list[list[Floats]] = []
    weights: list[list[Floats]] = []
    parts: list[list[Floats]] = []
    count_noise = []
    for seed in tqdm(range(repeats), desc=f"{problem.name} {epsilon:g}", unit="fit"):
        with use_randomness(SelectedSources(seed, vary, quiet)):
            model = engine.build(problem, epsilon, problem.delta).fit(problem.X, problem.y)
        scores.append(grid.read(model, model.term_scores_))
        variances.append(
            grid.read(model, [term.noise_deviations**2 for term in model.released_.terms])
        )
        weights.append(grid.read(model, model.bin_weights_))
        bins = grid.read(model, [np.arange(len(w), dtype=float) for w in model.bin_weights_])
        parts.append([_parts(numbers.astype(np.intp)) for numbers in bins])
        count_noise.append(model.noise_scale_binning_)
    return Calibration(
        names=names,
        labels=grid.labels,
        claimed=[np.sqrt(np.mean(fits, axis=0)) for fits in zip(*variances, strict=True)],
        observed=[np.std(fits, axis=0, ddof=1) for fits in zip(*scores, strict=True)],
        weights=[np.mean(fits, axis=0) for fits in zip(*weights, strict=True)],
        parts=[np.mean(fits, axis=0) for fits in zip(*parts, strict=True)],
        count_noise=float(np.mean(count_noise)),
    )


def _parts(bins: NDArray[np.intp]) -> Floats:
    return np.asarray(1.0 / np.bincount(bins)[bins], dtype=np.float64)


def load_table(name: str) -> Problem:
    """Load a benchmark table, or simulate a cohort: ``cohort`` or ``cohort_regression``."""
    if name == "cohort":
        cohort = make_cohort()
        return Problem(name, cohort.X, cohort.y, cohort.schema, "classification")
    if name == "cohort_regression":
        cohort = make_cohort(task="regression")
        return Problem(name, cohort.X, cohort.y, cohort.schema, "regression")
    return load_problem(name)


def _table(calibration: Calibration) -> str:
    lines = [
        "| feature | supported bins | all bins | supported cells | quantiles of the ratio in "
        "supported cells: .05 .25 .5 .75 .95 | missing |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for feature, name in enumerate(calibration.names):
        ratios = calibration.ratios(feature)
        lines.append(
            f"| {name} | {_shares(calibration, [feature])} | "
            f"{_quantiles(ratios[calibration.supported(feature)])} | {ratios[-1]:.2f} |"
        )
    lines.append(f"| all | {_shares(calibration, None)} | | |")
    return "\n".join(lines)


def _shares(calibration: Calibration, features: Sequence[int] | None) -> str:
    kinds = ((True, True), (False, True), (True, False))
    return " | ".join(
        format(
            calibration.honest_share(
                supported_only=supported_only, per_bin=per_bin, features=features
            ),
            ".2f",
        )
        for supported_only, per_bin in kinds
    )


def _quantiles(ratios: Floats) -> str:
    known = ratios[~np.isnan(ratios)]
    if len(known) == 0:
        return ""
    return " ".join(f"{q:.2f}" for q in np.quantile(known, [0.05, 0.25, 0.5, 0.75, 0.95]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate and write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration", description="Claimed against observed noise."
    )
    tables = ("cohort", "cohort_regression", *PROBLEMS)
    parser.add_argument("--tables", nargs="+", choices=tables, default=["cohort", "adult"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--vary", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--quiet", nargs="+", choices=SOURCES[:2], default=[])
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results" / "calibration.md"
    )
    options = parser.parse_args(arguments)
    if options.repeats < 2:
        parser.error(f"--repeats is {options.repeats}; it must be at least 2.")
    parts = ["# Claimed over observed standard deviation of the released curves"]
    for name in options.tables:
        problem = load_table(name)
        for epsilon in options.epsilons:
            found = calibrate(
                problem,
                epsilon,
                repeats=options.repeats,
                vary=options.vary,
                quiet=options.quiet,
            )
            share = found.honest_share(supported_only=True, per_bin=True)
            parts += [
                f"## {name}, epsilon {epsilon:g}, {options.repeats} fits: {share:.1%} of supported "
                f"bins within {LOWEST} to {HIGHEST}",
                f"Varied: {', '.join(options.vary)}; switched off: "
                f"{', '.join(options.quiet) or 'nothing'}.",
                _table(found),
            ]
            print("\n\n".join(parts[-3:]) + "\n", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_page(options.out, "\n\n".join(parts))


if __name__ == "__main__":
    main()
