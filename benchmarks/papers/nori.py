"""Nori, Caruana, Bu, Shen and Kulkarni (2021), tables 2 and 3, and the spreads of figure 6.

The same 80/20 splits for everyone, delta 1e-6, everybody's defaults. ``classic`` and ``gdp`` are
InterpretML's own DP-EBM with both of its ways to compose. The others run in an interpreter of their
own (:mod:`benchmarks.papers.peers`). Healthcare is not public: it has no line.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm.auto import tqdm

from benchmarks.engines import load_engine
from benchmarks.papers import Paper
from benchmarks.problems import DELTA, Problem, Split, load_problem
from interpret_dp.schema import Categorical, Continuous

__all__ = ["PUBLISHED", "TABLES", "measure"]

Floats = NDArray[np.float64]

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TABLES = {
    "table2": ("adult", "credit_fraud", "telco"),
    "table3": ("california_housing", "elevators", "pol", "wine_quality"),
}
#: Means of the paper: DPBoost, linear or logistic regression, DP-EBM classic, DP-EBM GDP.
PUBLISHED: Mapping[str, Mapping[float, tuple[float, ...]]] = {
    "adult": {
        0.5: (0.558, 0.488, 0.873, 0.875),
        1.0: (0.566, 0.471, 0.880, 0.883),
        2.0: (0.629, 0.521, 0.886, 0.887),
        4.0: (0.734, 0.549, 0.889, 0.889),
        8.0: (0.805, 0.534, 0.890, 0.890),
    },
    "credit_fraud": {
        0.5: (0.442, 0.558, 0.959, 0.966),
        1.0: (0.438, 0.544, 0.965, 0.966),
        2.0: (0.467, 0.526, 0.969, 0.969),
        4.0: (0.465, 0.539, 0.969, 0.969),
        8.0: (0.556, 0.546, 0.969, 0.969),
    },
    "telco": {
        0.5: (0.484, 0.541, 0.812, 0.829),
        1.0: (0.458, 0.479, 0.832, 0.835),
        2.0: (0.534, 0.527, 0.837, 0.838),
        4.0: (0.716, 0.615, 0.838, 0.839),
        8.0: (0.787, 0.673, 0.839, 0.839),
    },
    "california_housing": {
        0.5: (383072, 111967, 85652, 79967),
        1.0: (204277, 110241, 78527, 76827),
        2.0: (122494, 109518, 75491, 74573),
        4.0: (96336, 108882, 73967, 73754),
        8.0: (90029, 107815, 73327, 73165),
    },
    "elevators": {
        0.5: (0.051, 4.671, 0.010, 0.006),
        1.0: (0.025, 2.669, 0.007, 0.005),
        2.0: (0.013, 1.384, 0.006, 0.005),
        4.0: (0.008, 0.754, 0.005, 0.004),
        8.0: (0.006, 0.410, 0.004, 0.004),
    },
    "pol": {
        0.5: (78.190, 31.326, 35.156, 30.988),
        1.0: (50.527, 30.640, 30.911, 28.391),
        2.0: (47.511, 30.500, 27.616, 26.303),
        4.0: (45.592, 30.463, 25.454, 24.934),
        8.0: (45.435, 30.459, 24.625, 24.313),
    },
    "wine_quality": {
        0.5: (4.647, 3.621, 1.589, 0.938),
        1.0: (2.151, 2.133, 1.181, 0.841),
        2.0: (1.299, 1.263, 0.935, 0.779),
        4.0: (0.946, 0.940, 0.807, 0.746),
        8.0: (0.847, 0.839, 0.751, 0.733),
    },
}


def measure(item: str, n_splits: int, python: str | None) -> list[dict[str, Any]]:
    """Return a row for each table, epsilon and method: scores of the splits.

    Parameters
    ----------
    item : {"table2", "table3"}
    n_splits : int
    python : str or None
        An interpreter with the peers; None leaves them out.
    """
    scores: dict[tuple[str, float, str], list[float]] = {}
    for name in tqdm(TABLES[item]):
        problem = load_problem(name)
        for number in tqdm(range(n_splits), desc=name, leave=False):
            split = problem.split(number)
            for epsilon, method, predicted in _predictions(problem, split, python):
                own = scores.setdefault((name, epsilon, method), [])
                own.append(problem.score(split.y_test, predicted))
    return [
        {"table": name, "epsilon": epsilon, "method": method, "scores": own}
        for (name, epsilon, method), own in scores.items()
    ]


def _predictions(
    problem: Problem, split: Split, python: str | None
) -> Iterator[tuple[float, str, Floats]]:
    for epsilon in EPSILONS:
        for method in ("ours", "classic", "reference"):
            engine = load_engine(method)
            model = engine.build(problem, epsilon, DELTA)
            model.fit(engine.prepare(split.X_train), split.y_train)
            predicted = engine.predict(problem, model, engine.prepare(split.X_test))
            yield epsilon, method, predicted
    if python is not None:
        for method, found in _peers(problem, split, python).items():
            for epsilon, predicted in zip(EPSILONS, found, strict=True):
                yield epsilon, method, predicted


def _peers(problem: Problem, split: Split, python: str) -> dict[str, Floats]:
    """Return the peers' predictions, shape (n_epsilons, n_test) each."""
    target = problem.schema.target
    low, high = (target.lower, target.upper) if isinstance(target, Continuous) else (0.0, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(
            source,
            train=_inputs(problem, split.X_train),
            target=split.y_train.to_numpy(dtype=np.float64),
            test=_inputs(problem, split.X_test),
            epsilons=np.array(EPSILONS),
            low=low,
            high=high,
            classifies=problem.task == "classification",
        )
        script = str(Path(__file__).with_name("peers.py"))
        subprocess.run([python, script, str(source), str(answer)], check=True)
        with np.load(answer) as arrays:
            return dict(arrays)


def _inputs(problem: Problem, X: pd.DataFrame) -> Floats:
    """Return numbers from 0 to 1 by the declared bounds, and a column a level; (n_rows, n)."""
    columns = []
    for name, spec in zip(X, problem.schema.resolve(list(X)), strict=True):
        if isinstance(spec, Categorical):
            columns += [(X[name] == level).to_numpy(dtype=np.float64) for level in spec.levels]
        else:
            width = max(float(spec.upper - spec.lower), 1e-300)
            scaled = (X[name].to_numpy(dtype=np.float64) - spec.lower) / width
            columns.append(np.clip(np.nan_to_num(scaled, nan=0.5), 0.0, 1.0))
    return np.stack(columns, axis=1)


PAPER = Paper("Nori, Caruana, Bu, Shen and Kulkarni (2021): DP-EBM", (), {})
