"""Whether the rule for images, chosen on MNIST, carries over to other images made of MNIST.

One fit of each at epsilon 2 on the split of the training part, beside the same without the released
centre and with random projections of each map. Run: ``python -m benchmarks.llm_other_images``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.llm_mnist import DELTA, SCHEMA, STANDARDS, load_mnist
from benchmarks.report import Report
from interpret_dp import DPLocallyLinearClassifier

__all__ = ["main"]

_ROWS_OF_COLOUR = 10_000


def _half(images: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)))


def _faint(images: NDArray[Any]) -> NDArray[Any]:
    return images / 4 + 90


def _coloured(images: NDArray[Any], seed: int) -> NDArray[Any]:
    """Return 32 x 32 images in random colours on random dark ones."""
    rng = np.random.default_rng(seed)
    ink = rng.uniform(0.3, 1.0, size=(len(images), 1, 1, 3))
    paper = rng.uniform(0.0, 0.3, size=(len(images), 1, 1, 3))
    share = np.pad(images, ((0, 0), (2, 2), (2, 2)))[..., np.newaxis] / np.float32(255)
    return 255 * np.asarray(share * ink + (1 - share) * paper)


def main() -> None:
    """Run and write the table."""
    X, y, X_test, y_test = load_mnist(split=True)
    few = slice(_ROWS_OF_COLOUR)
    cases: dict[str, tuple[Any, ...]] = {
        "a quarter of the contrast": (_faint(X), y, _faint(X_test), y_test, None),
        "5,000 rows": (X[:5_000], y[:5_000], X_test, y_test, STANDARDS),
        "14 x 14": (_half(X), y, _half(X_test), y_test, STANDARDS),
        "32 x 32 in colour, 10,000 rows": (
            _coloured(X[few], 1),
            y[few],
            _coloured(X_test[few], 2),
            y_test[few],
            None,
        ),
    }
    rows = []
    for name, (train, labels, test, truth, standards) in cases.items():
        random = {"projection": "gaussian", "smoothing": max(train.shape[1:3]) / 28}
        found: dict[str, Any] = {"images": name}
        rules = {"the rule": {}, "not centred": {"centring": 0}, "random projections": random}
        for rule, parameters in rules.items():
            model = DPLocallyLinearClassifier(
                2.0, DELTA, schema=SCHEMA, standardize=standards, **parameters
            )
            found[rule] = f"{100 * model.fit(train, labels).score(test, truth):.2f}"
        print(found, flush=True)
        rows.append(found)
    report = Report("DP-LLM on other images")
    report.add("Accuracy by the rule for images, %", pd.DataFrame(rows))
    report.write("llm_other_images")


if __name__ == "__main__":
    main()
