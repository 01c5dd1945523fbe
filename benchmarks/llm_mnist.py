"""DP-LLM on MNIST: accuracy and calibration at the two budgets of the paper's figure 5.

Settings come from the default rule for images. MNIST's labels and the range of a pixel are
declared, and for pixels its public mean and deviation (0.1307 and 0.3081 of 255). The rule's
constants were chosen on a split of the training part (``--split`` repeats that, with other settings
by ``--set``), never on the test part.

Run: ``python -m benchmarks.llm_mnist`` (ten seconds or so a fit on a core that does nothing else),
or with ``--features scattering`` (three minutes or so a fit, two of them for the transform).
"""

from __future__ import annotations

import argparse
import ast
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import DATA_VARIABLE
from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, Schema

DELTA = 1e-5
TARGETS = {"inputs": {2.0: 0.949, 0.5: 0.925}, "scattering": {2.0: 0.981, 0.5: 0.970}}
SCHEMA = Schema(default=Continuous(0, 255), target=Categorical(range(10)))
STANDARDS = (0.1307 * 255, 0.3081 * 255)
_SPLIT_ROWS = 50_000
_BINS = 15


def load_mnist(*, split: bool) -> tuple[Any, Any, Any, Any]:
    """Return training images and labels, and those to score on.

    Parameters
    ----------
    split : bool
        Score on 10,000 rows of the training part, and train on the others.
    """
    path = Path(os.environ.get(DATA_VARIABLE, ".")) / "mnist.npz"
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no mnist.npz in the folder that {DATA_VARIABLE} names. Put the file of "
            "Keras there, with arrays x_train, y_train, x_test and y_test."
        )
    with np.load(path) as arrays:
        X, y = arrays["x_train"], arrays["y_train"]
        if not split:
            return X, y, arrays["x_test"], arrays["y_test"]
    order = np.random.default_rng(12345).permutation(len(X))
    train, held_out = order[:_SPLIT_ROWS], order[_SPLIT_ROWS:]
    return X[train], y[train], X[held_out], y[held_out]


def calibration_of(
    probabilities: NDArray[np.float64], classes: NDArray[Any]
) -> tuple[float, float]:
    """Return log loss and expected calibration error.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_rows, n_classes)
    classes : ndarray of int, shape (n_rows,)
        Positions of the true classes.

    Notes
    -----
    The error is that of Guo et al. (2017): rows in 15 equal bins of the largest probability, the
    gap between its mean and the accuracy in each, weighted by rows.
    """
    of_truth = probabilities[np.arange(len(classes)), classes]
    largest = probabilities.max(axis=1)
    gaps = (probabilities.argmax(axis=1) == classes) - largest
    bins = np.minimum((_BINS * largest).astype(int), _BINS - 1)
    error = np.abs(np.bincount(bins, gaps, _BINS)).sum() / len(classes)
    return float(-np.log(np.maximum(of_truth, 1e-12)).mean()), float(error)


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except ValueError:
        return name, value


def main() -> None:
    """Fit and print one line a fit, and a table of means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[2.0, 0.5])
    parser.add_argument("--features", choices=list(TARGETS), default="inputs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--split", action="store_true")
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="parameters of the classifier, such as n_maps=60 projection=gaussian",
    )
    asked = parser.parse_args()
    X, y, X_test, y_test = load_mnist(split=asked.split)
    lines = []
    for epsilon in asked.epsilons:
        scores, losses, seconds = [], [], []
        for run in range(asked.runs):
            start = time.perf_counter()
            model = DPLocallyLinearClassifier(
                epsilon=epsilon,
                delta=DELTA,
                schema=SCHEMA,
                standardize=STANDARDS if asked.features == "inputs" else None,
                features=asked.features,
                **dict(asked.set),
            ).fit(X, y)
            seconds.append(time.perf_counter() - start)
            found = model.predict_proba(X_test)
            scores.append(float(np.mean(found.argmax(axis=1) == y_test)))
            losses.append(calibration_of(found, y_test))
            print(
                f"epsilon {epsilon:g} run {run}: {scores[-1]:.4f}, log loss {losses[-1][0]:.4f}, "
                f"calibration error {losses[-1][1]:.4f}, in {seconds[-1]:.0f} s, {model.steps_}",
                flush=True,
            )
        target = TARGETS[asked.features].get(epsilon)
        loss, error = np.mean(losses, axis=0)
        lines.append(
            f"| {epsilon:g} | {100 * np.mean(scores):.2f} | {100 * np.std(scores):.2f} | "
            f"{'' if target is None else f'{100 * target:.1f}'} | {loss:.3f} | {error:.3f} | "
            f"{np.mean(seconds):.0f} |"
        )
    print("| epsilon | accuracy, % | deviation | target | log loss | calibration error | fit, s |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
