"""Coverage of the bands over repeated fits: ``python -m benchmarks.bands``.

The same rows are fitted again and again with fresh noise in the rounds; the noise of the histograms
is drawn once, since bands are conditional on released bins. A band covers if it reaches the curve
without noise: that of the same fit with the noise of its rounds switched off, not denoised, the
mean of five fits. Bins that never move are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from benchmarks.calibration import SelectedSources
from benchmarks.problems import DELTA
from benchmarks.simulated import simulate
from interpret_dp import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from interpret_dp.datasets import make_cohort
from interpret_dp.ebm import training
from interpret_dp.mechanisms import use_randomness

__all__ = ["coverage", "problems"]

Floats = NDArray[np.float64]

_SIMULATED = (
    *("small_regression", "skewed_regression", "wide_regression", "correlated_regression"),
    *("small_classification", "noisy_classification", "plain_classification"),
)
_QUIET_FITS = 5
_NEVER_MOVES = 1e-3


class _Fits:
    """One problem's fits, with what each curve was before it was denoised."""

    def __init__(self, task: str, X: Any, y: Any, schema: Any, epsilon: float) -> None:
        kind = DPExplainableBoostingClassifier
        if task == "regression":
            kind = DPExplainableBoostingRegressor
        self._model = kind(epsilon=epsilon, delta=DELTA, schema=schema)
        self._rows = X, y

    def fit(self, seed: int, *, quiet: bool = False) -> tuple[Any, Floats]:
        """Return the released model and its curves before they were denoised."""
        real, seen = training.denoised_terms, []

        def watched(scores: Any, *rest: Any) -> Any:
            seen.append(_flat(scores))
            return real(scores, *rest)

        sources = SelectedSources(
            seed, vary=("boosting", "partitions"), quiet=("boosting",) if quiet else ()
        )
        with mock.patch.object(training, "denoised_terms", watched), use_randomness(sources):
            released = self._model.fit(*self._rows).released_
        return released, seen[0]


def _flat(parts: Any) -> Floats:
    return np.concatenate([np.ravel(part) for part in parts])


def coverage(fits: _Fits, n_fits: int) -> dict[str, tuple[float, float]]:
    """Return the shares of bins that bands of 68 and of 95 % cover.

    Parameters
    ----------
    fits : _Fits
    n_fits : int

    Returns
    -------
    dict of str to (float, float)
        Of the released bands; of bands of the added noise around the released curves; and of the
        latter around the curves before they were denoised.
    """
    found: dict[str, list[Floats]] = {"scores": [], "raw": [], "bands": [], "noise": []}
    for seed in range(n_fits):
        released, raw = fits.fit(seed)
        found["scores"].append(_flat(term.scores for term in released.terms))
        found["bands"].append(_flat(term.standard_deviations for term in released.terms))
        found["noise"].append(_flat(term.noise_deviations for term in released.terms))
        found["raw"].append(raw)
    truth = np.mean([fits.fit(seed, quiet=True)[1] for seed in range(_QUIET_FITS)], axis=0)
    scores, raw, bands, noise = (np.array(part) for part in found.values())
    moved = noise.mean(axis=0) > _NEVER_MOVES * noise.mean(axis=0).max()

    def shares(curves: Floats, deviations: Floats) -> tuple[float, float]:
        errors = np.abs(curves - truth)[:, moved]
        one, two = (float(np.mean(errors <= by * deviations[:, moved])) for by in (1.0, 1.96))
        return one, two

    return {
        "released bands": shares(scores, bands),
        "the added noise": shares(scores, noise),
        "before denoising": shares(raw, noise),
    }


def problems() -> Iterator[tuple[str, _Fits]]:
    """Yield the simulated cohorts and the other simulated problems, each with its name."""
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=25)
    parser.add_argument("--only", default="", help="a part of the names of the problems to run")
    arguments = parser.parse_args()
    chosen = [entry for entry in problems() if arguments.only in entry[0]]
    lines = ["| problem | released bands | bands of the added noise | before denoising |"]
    lines.append("|---|---|---|---|")
    for name, fits in tqdm(chosen):
        found = coverage(fits, arguments.fits)
        cells = [f"{100 * one:.1f} / {100 * two:.1f} %" for one, two in found.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
