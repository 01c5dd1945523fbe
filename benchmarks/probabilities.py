"""Mean probability, log loss and slope of two classes: ``python -m benchmarks.probabilities``.

Every split is fitted twice with the same noise: as the package is, and with the intercept as it was
trained, for scores with noise in them. Mean probabilities are those of the training rows, whose
share of positives is beside them; log losses those of the test rows. So is the calibration slope
(Cox 1958): by how much the log odds of the balanced model should be multiplied, above one where
they are too timid.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from statistics import fmean
from typing import Any
from unittest import mock

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from tqdm.auto import tqdm

from benchmarks.engines.ours import ENGINE
from benchmarks.problems import DELTA, Problem, Split
from benchmarks.rules import drawn
from benchmarks.summary import markdown_table
from interpret_dp import PrivacyWarning
from interpret_dp.ebm.noise.boosted import Boosted

__all__ = ["measured"]

_PROBLEMS = (
    *("small_classification", "plain_classification", "noisy_classification"),
    *("rare_classification", "adult", "credit_fraud"),
)


def _fit(problem: Problem, split: Split, epsilon: float, seed: int) -> tuple[float, float, float]:
    """Return mean probability of the training rows, and log loss and slope of the test rows."""
    model = ENGINE.build(problem, epsilon, DELTA).set_params(random_state=seed)
    with warnings.catch_warnings():
        # Seeded, on public tables.
        warnings.simplefilter("ignore", PrivacyWarning)
        model.fit(split.X_train, split.y_train)
    loss = log_loss(split.y_test, model.predict_proba(split.X_test), labels=model.classes_)
    log_odds = model.decision_function(split.X_test).reshape(-1, 1)
    slope = LogisticRegression(C=np.inf).fit(log_odds, split.y_test).coef_[0, 0]
    return float(model.predict_proba(split.X_train)[:, 1].mean()), float(loss), float(slope)


def measured(name: str, epsilon: float, numbers: range) -> Iterator[tuple[float, ...]]:
    """Yield the share of positives, and all figures without and with the balanced intercept."""
    for number in tqdm(numbers, desc=f"{name} {epsilon:g}", leave=False):
        problem, split = drawn(name, number)
        found = []
        for is_balanced in (False, True):
            as_trained: Any = mock.patch.object(
                Boosted, "balanced_intercept", lambda self, _: self._result.intercept
            )
            with nullcontext() if is_balanced else as_trained:
                found += _fit(problem, split, epsilon, number)
        positive = np.unique(split.y_train)[1]
        yield float(np.mean(np.asarray(split.y_train) == positive)), *found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", default=list(_PROBLEMS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 4.0])
    parser.add_argument("--splits", type=int, default=4)
    arguments = parser.parse_args()
    numbers = range(100, 100 + arguments.splits)
    lines = []
    for name in arguments.problems:
        for epsilon in arguments.epsilons:
            found = zip(*measured(name, epsilon, numbers), strict=True)
            means = [fmean(column) for column in found]
            share, before, loss_before, _, after, loss_after, slope = means
            shares = [f"{100 * value:.3g} %" for value in (share, before, after)]
            losses = [f"{value:.4g}" for value in (loss_before, loss_after)]
            lines.append([name, f"{epsilon:g}", *shares, *losses, f"{slope:.2f}"])
    header = ["problem", "epsilon", "positives", "mean probability before", "after"]
    print(markdown_table([*header, "log loss before", "after", "slope"], lines))


if __name__ == "__main__":
    main()
