"""Coverage of the bands over repeated fits: ``python -m benchmarks.bands``.

The same rows are fitted again and again with fresh noise in the rounds; the noise of the histograms
is drawn once, since bands are conditional on released bins. A band covers if it reaches the curve
without noise: that of the same fit with the noise of its rounds switched off, not denoised.
Half-way that goes on as the noisy fit did, with the same terms; with ``--free``
it decides for itself. With ``--anew`` all noise is fresh, that of the histograms, the target and
the correlations as well. Each fit has bins of its own then, and its bands are read off at values
with equal shares of the rows between them. Fits in which a bin does not move, since it is too
light, say nothing of its band and are left out. ``--change`` gives constants of the package other
values, as :mod:`benchmarks.rules` does. With ``--edit`` curves and those without noise are edited
alike. With ``--truth`` other rows of the cohort are drawn for each fit, and bands of noise and
sampling cover if they hold the true curve. ``--out`` also writes the table to a page.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from benchmarks.engines.ours import ENGINE
from benchmarks.problems import DELTA, load_problem
from benchmarks.repeated import SOURCES, Grid, SelectedSources
from benchmarks.report import write_page
from benchmarks.rules import changed, parsed
from benchmarks.simulated import simulate
from interpret_dp import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from interpret_dp.datasets import make_cohort
from interpret_dp.ebm import training
from interpret_dp.ebm.noise import boosted
from interpret_dp.editor.operations import edited_term
from interpret_dp.mechanisms import use_randomness

__all__ = ["coverage", "coverage_of_truth", "problems"]

Floats = NDArray[np.float64]

_SIMULATED = (
    *("small_regression", "skewed_regression", "wide_regression", "correlated_regression"),
    *("small_classification", "noisy_classification", "plain_classification"),
)
_TABLES = ("adult", "wine_quality", "elevators", "pol")
# What differs from fit to fit, beside the noise: public choices of the rounds.
_VARY = ("boosting", "partitions")
_VALUES = 64  # of a column of numbers: as many as it has bins at most
# Levels, and how many deviations a normal variable is within with that probability.
_LEVELS = {0.6827: 1.0, 0.95: 1.96}
_NEVER_MOVES = 1e-3
ESTIMATORS: dict[str, Any] = {
    "classification": DPExplainableBoostingClassifier,
    "regression": DPExplainableBoostingRegressor,
}
_OFTEN = 0.5  # Share of the fits in which a bin moves that has a probability of its own.


class _Fits:
    """One problem's fits, with what each curve was before it was denoised."""

    def __init__(self, task: str, X: Any, y: Any, schema: Any, epsilon: float) -> None:
        self._model = ESTIMATORS[task](epsilon=epsilon, delta=DELTA, schema=schema)
        self._rows = X, y
        self._schema, self._vary = schema, _VARY
        self.edit = ""  # of the curves of all ordered features, where one is asked for

    def draw_all_anew(self) -> None:
        """Let all noise differ from fit to fit."""
        self._vary = SOURCES

    def places(self) -> NDArray[np.intp]:
        """Return which bins of the last fit, of all terms side by side, to look at."""
        sizes = [len(weights) for weights in self._model.bin_weights_]
        if self._vary == _VARY:
            return np.arange(sum(sizes))
        grid = Grid.of_rows(self._schema, self._rows[0], _VALUES)
        codes = grid.read(self._model, [np.arange(size, dtype=float) for size in sizes])
        firsts = np.cumsum([0, *sizes[:-1]])
        both = zip(firsts, codes, strict=True)
        return np.concatenate([first + own for first, own in both]).astype(np.intp)

    def fit(self, seed: int) -> tuple[list[Any], set[int] | None]:
        """Return the released terms, and what was decided half-way."""
        decided: list[set[int]] = []

        def recorded(significant: Any) -> Any:
            def deciding(early: Any) -> set[int]:
                decided.append(significant(early))
                return decided[0]

            return deciding

        with self._boosting(recorded):
            model = self._fitted(SelectedSources(seed, vary=self._vary)).released_
        self._edited = self._model.edit(autosave=False)
        for name, feature in zip(model.term_names, model.features, strict=False):
            if self.edit and feature.kind != "nominal":
                getattr(self._edited, self.edit)(name)
        return self._edited.released.terms, decided[0] if decided else None

    def without_noise(self, seed: int, decided: set[int] | None) -> Floats:
        """Return the curves of a fit without noise before they are denoised.

        Parameters
        ----------
        seed : int
        decided : set of int, or None
            How it goes on half-way; None to let it decide for itself.
        """
        real, seen = boosted.denoised_scores, []

        def watched(terms: Any) -> Any:
            seen.append(_flat(terms.scores))
            return real(terms)

        def replayed(significant: Any) -> Any:
            return significant if decided is None else lambda early: decided

        with (
            mock.patch.object(boosted, "denoised_scores", watched),
            self._boosting(replayed),
        ):
            self._fitted(SelectedSources(seed, vary=self._vary, quiet=("boosting",)))
        return self._edited_alike(seen[0])

    def _edited_alike(self, curves: Floats) -> Floats:
        """Edit curves as those of the last fit were."""
        base, edited = self._edited.base, []
        operations = {step.operation.term: step.operation for step in self._edited._steps}
        ends = np.cumsum([term.scores.size for term in base.terms])[:-1]
        for term, own in zip(base.terms, np.split(curves, ends), strict=True):
            plain = replace(term, scores=own.reshape(term.scores.shape))
            operation = operations.get(base.subject(term).name)
            if operation is not None:
                plain = edited_term(base.subject(term), plain, operation)
            edited.append(plain.scores)
        return _flat(edited)

    def _fitted(self, sources: SelectedSources) -> Any:
        with use_randomness(sources):
            return self._model.fit(*self._rows)

    @staticmethod
    def _boosting(changed: Callable[[Any], Any]) -> Any:
        """Change what boosting asks half-way, where it asks."""
        real = training.boost

        def boost(*rest: Any, significant: Any, **options: Any) -> Any:
            return real(*rest, significant=significant and changed(significant), **options)

        return mock.patch.object(training, "boost", boost)


def _flat(parts: Any) -> Floats:
    return np.concatenate([np.ravel(part) for part in parts])


def coverage(fits: _Fits, n_fits: int, *, free: bool = False) -> dict[str, tuple[float, ...]]:
    """Return shares of bins and fits in which a band of 68 or 95 % held the curve without noise.

    Parameters
    ----------
    fits : _Fits
    n_fits : int
    free : bool
        Whether the fits without noise decide for themselves half-way.

    Returns
    -------
    dict of str to tuple of float
        Of the released bands and of those of ``standard_deviations``: both shares; the standard
        deviation over bins of each bin's own probability of being covered, without what a share of
        ``n_fits`` fits varies by chance; and the mean width over that of bands of the added noise.
    """
    bands: dict[str, list[Any]] = {"released bands": [], "standard deviations": []}
    noise, quiet = [], []
    for seed in range(n_fits):
        terms, decided = fits.fit(seed)
        there = fits.places()
        quiet.append(fits.without_noise(seed, None if free else decided)[there])
        noise.append(_flat(term.noise_deviations for term in terms)[there])
        for name, made in (("released bands", _band), ("standard deviations", _symmetric)):
            ends = [[_flat(end)[there] for end in made(terms, level)] for level in _LEVELS]
            bands[name].append(ends)
    deviations = np.array(noise)
    moved = deviations > _NEVER_MOVES * deviations.mean(axis=0).max()
    usual = 2.0 * np.array(list(_LEVELS.values()))[:, np.newaxis, np.newaxis] * deviations
    found = {}
    for name, of_fits in bands.items():
        lower, upper = np.array(of_fits).transpose(2, 1, 0, 3)
        held = (lower <= np.array(quiet)) & (np.array(quiet) <= upper)
        shares = [float(own[moved].mean()) for own in held]
        over_bins = [_spread(own, moved) for own in held]
        # Over the fits first: in some of them a bin hardly moves.
        often = moved.mean(axis=0) >= _OFTEN
        own = np.where(moved, upper - lower, 0.0)
        wide, expected = (width[..., often].mean(axis=1) for width in (own, usual))
        found[name] = (*shares, *over_bins, *np.mean(wide / expected, axis=1))
    return found


def _band(terms: Any, level: float) -> Iterator[Any]:
    return zip(*(term.band(level) for term in terms), strict=True)


def _symmetric(terms: Any, level: float) -> tuple[list[Floats], list[Floats]]:
    half = [_LEVELS[level] * term.standard_deviations for term in terms]
    return (
        [term.scores - reach for term, reach in zip(terms, half, strict=True)],
        [term.scores + reach for term, reach in zip(terms, half, strict=True)],
    )


def _spread(held: NDArray[np.bool_], moved: NDArray[np.bool_]) -> float:
    """Return the deviation of the probabilities of bins that move in most of the fits."""
    often = moved.mean(axis=0) >= _OFTEN
    n_fits = moved.sum(axis=0)[often]
    shares = (held & moved).sum(axis=0)[often] / n_fits
    by_chance = float(np.mean(shares * (1.0 - shares) / (n_fits - 1)))
    return float(np.sqrt(max(float(np.var(shares)) - by_chance, 0.0)))


def coverage_of_truth(
    task: str, n_rows: int, epsilon: float, n_fits: int, *, sampling: bool = True
) -> tuple[float, float]:
    """Return shares of rows and of bins whose 95 % bands hold the true curve's mean in their bin.

    Parameters
    ----------
    task : {"classification", "regression"}
        Of the simulated cohort.
    n_rows : int
    epsilon : float
    n_fits : int
        Each of other rows.
    sampling : bool, default=True
        Whether bands hold sampling error too.
    """
    of_rows, of_bins = [], []
    for seed in range(n_fits):
        cohort = make_cohort(n_rows, seed=seed, task=task)
        model = ESTIMATORS[task](epsilon=epsilon, delta=DELTA, schema=cohort.schema)
        released = model.fit(cohort.X, cohort.y).released_
        for term in released.terms:
            feature = released.subject(term)
            codes = [feature.code_of(value) for value in cohort.X[feature.name]]
            counts = np.bincount(codes, minlength=feature.n_codes)
            sums = np.bincount(codes, cohort.curves[feature.name](cohort.X[feature.name]))
            seen = np.flatnonzero(counts)
            lower, upper = (end[seen] for end in term.band(0.95, sampling=sampling))
            means = sums[seen] / counts[seen]
            held = (lower <= means) & (means <= upper)
            of_rows.append(held @ counts[seen] / n_rows)
            of_bins.append(held.mean())
    return float(np.mean(of_rows)), float(np.mean(of_bins))


def _truth_table(n_fits: int) -> Iterator[str]:
    yield "| cohort | rows, noise | bins, noise | rows, noise and sampling | bins |"
    yield "|---" * 5 + "|"
    problems = itertools.product((4_000, 16_000), ESTIMATORS, (0.5, 1.0, 4.0))
    for n_rows, task, epsilon in tqdm(list(problems)):
        shares = [
            coverage_of_truth(task, n_rows, epsilon, n_fits, sampling=sampling)
            for sampling in (False, True)
        ]
        cells = " | ".join(f"{100 * share:.0f} %" for both in shares for share in both)
        yield f"| {task}, {n_rows:,} rows, epsilon {epsilon:g} | {cells} |"


def problems() -> Iterator[tuple[str, _Fits]]:
    """Yield simulated cohorts, other simulated problems and public tables, each with its name."""
    for n_rows in (8_000, 20_000):
        for task in ("classification", "regression"):
            cohort = make_cohort(n_rows, seed=3, task=task)
            for epsilon in (0.5, 1.0, 4.0):
                name = f"cohort, {task}, {n_rows:,} rows, epsilon {epsilon:g}"
                yield name, _Fits(task, cohort.X, cohort.y, cohort.schema, epsilon)
    for name in _SIMULATED:
        drawn = simulate(name)
        for epsilon in (1.0, 4.0):
            fits = _Fits(drawn.task, drawn.X, drawn.y, drawn.schema, epsilon)
            yield f"{name}, epsilon {epsilon:g}", fits
    for name in _TABLES:
        table = load_problem(name)
        rows = table.split(0)
        fits = _Fits(table.task, rows.X_train, rows.y_train, table.schema, 1.0)
        yield f"{name}, epsilon 1", fits


def _cells(found: tuple[float, ...]) -> str:
    shares = [100.0 * share for share in found[:4]]
    return (
        f"{shares[0]:.1f} / {shares[1]:.1f} % | ± {shares[2]:.1f} / {shares[3]:.1f} | "
        f"{found[4]:.2f} / {found[5]:.2f}"
    )


def main() -> None:
    """Print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=25)
    parser.add_argument("--only", default="", help="a part of the names of the problems to run")
    parser.add_argument("--free", action="store_true", help="fits without noise decide half-way")
    parser.add_argument("--anew", action="store_true", help="all noise differs from fit to fit")
    parser.add_argument("--truth", action="store_true", help="of true curves, with sampling error")
    parser.add_argument("--edit", default="", help="of all ordered curves, such as make_monotone")
    parser.add_argument("--change", nargs="*", default=[], type=parsed, metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write the table to")
    arguments = parser.parse_args()
    if arguments.truth:
        print(*_truth_table(arguments.fits), sep="\n")
        return
    chosen = [entry for entry in problems() if arguments.only in entry[0]]
    lines = ["| problem | released bands | bins | width | standard deviations | bins | width |"]
    lines.append("|---" * 7 + "|")
    with changed(dict(arguments.change)):
        for name, fits in tqdm(chosen):
            fits.edit = arguments.edit
            if arguments.anew:
                fits.draw_all_anew()
            found = coverage(fits, arguments.fits, free=arguments.free)
            lines.append(f"| {name} | {' | '.join(map(_cells, found.values()))} |")
    table = "\n".join(lines)
    print(table)
    if arguments.out:
        command = shlex.join(["python", "-m", "benchmarks.bands", *sys.argv[1:]])
        noise = "all noise is fresh" if arguments.anew else "only the noise of the rounds is fresh"
        page = (
            f"# Coverage of the bands\n\n`{command}`: {arguments.fits} fits a line, "
            f"{ENGINE.version}, delta {DELTA:g}; in each fit {noise}. Shares of bins in which the "
            "band of 68.3 and of 95 % holds the curve without noise, the deviation of that share "
            "over bins, and the mean width over that of a band of the added noise."
        )
        write_page(arguments.out, f"{page}\n\n{table}")


if __name__ == "__main__":
    main()
