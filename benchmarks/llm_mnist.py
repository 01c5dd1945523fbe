"""DP-LLM on MNIST: test accuracy at the two budgets of the paper's figure 5.

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

from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, Schema
from interpret_dp.datasets import DATA_VARIABLE

DELTA = 1e-5
TARGETS = {"inputs": {2.0: 0.949, 0.5: 0.925}, "scattering": {2.0: 0.981, 0.5: 0.970}}
SCHEMA = Schema(default=Continuous(0, 255), target=Categorical(range(10)))
STANDARDS = (0.1307 * 255, 0.3081 * 255)
_SPLIT_ROWS = 50_000


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
    parser.add_argument("--device", default="auto")
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
        scores, seconds = [], []
        for run in range(asked.runs):
            start = time.perf_counter()
            model = DPLocallyLinearClassifier(
                epsilon=epsilon,
                delta=DELTA,
                schema=SCHEMA,
                standardize=STANDARDS if asked.features == "inputs" else None,
                features=asked.features,
                device=asked.device,
                **dict(asked.set),
            ).fit(X, y)
            seconds.append(time.perf_counter() - start)
            scores.append(model.score(X_test, y_test))
            print(
                f"epsilon {epsilon:g} run {run}: {scores[-1]:.4f} in {seconds[-1]:.0f} s, "
                f"{model.steps_}",
                flush=True,
            )
        target = TARGETS[asked.features].get(epsilon)
        lines.append(
            f"| {epsilon:g} | {100 * np.mean(scores):.2f} | {100 * np.std(scores):.2f} | "
            f"{'' if target is None else f'{100 * target:.1f}'} | {np.mean(seconds):.0f} |"
        )
    print("| epsilon | accuracy, % | deviation | target | fit, s |\n|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
