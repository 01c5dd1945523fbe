"""How often a term of nothing but luck and noise stands out: ``python -m benchmarks.shuffled``.

The target of simulated cohorts is shuffled over the rows, so that no term has an effect. Prints in
how many terms the signal to noise of a term reaches 2 even so: by sampling error, which is
not part of that ratio, and by noise.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from tqdm.auto import tqdm

from benchmarks.summary import markdown_table
from interpret_dp import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyWarning,
)
from interpret_dp.datasets import make_cohort
from interpret_dp.mechanisms import SeededRandomness, use_randomness

__all__ = ["ratios"]

_DELTA = 1e-6
_STANDS_OUT = 2.0


def ratios(task: str, n_rows: int, epsilon: float, seed: int) -> list[float]:
    """Return the signal to noise of every term of a fit to a shuffled target."""
    kind = DPExplainableBoostingClassifier
    if task == "regression":
        kind = DPExplainableBoostingRegressor
    cohort = make_cohort(n_rows, seed=seed, task=task)
    y = cohort.y.sample(frac=1.0, random_state=seed).to_numpy()
    model = kind(epsilon=epsilon, delta=_DELTA, schema=cohort.schema)
    with use_randomness(SeededRandomness(seed)), warnings.catch_warnings():
        # Seeded, on simulated rows.
        warnings.simplefilter("ignore", PrivacyWarning)
        terms = model.fit(cohort.X, y).released_.terms
    return [term.signal_to_noise or 0.0 for term in terms]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--cohorts", type=int, default=15)
    arguments = parser.parse_args()
    lines = []
    for task in ("classification", "regression"):
        for epsilon in (0.5, 1.0):
            found = [
                ratio
                for seed in tqdm(range(arguments.cohorts), desc=f"{task} {epsilon:g}")
                for ratio in ratios(task, arguments.rows, epsilon, seed)
            ]
            share = float(np.mean(np.array(found) >= _STANDS_OUT))
            lines.append([task, f"{epsilon:g}", f"{len(found)}", f"{100 * share:.1f} %"])
    print(markdown_table(["task", "epsilon", "terms", "reach 2"], lines))


if __name__ == "__main__":
    main()
