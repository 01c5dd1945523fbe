"""How good a private surrogate of a black box is: ``python -m benchmarks.lime_surrogate``.

``tables``: boosted trees and a forest on public tables. The share of the variance of their
probabilities (or predictions) that a surrogate explains, on rows that nobody was asked about and on
rows whose columns are drawn independently, as explanations of single rows ask about them; and the
released share. ``words``: a logistic model of 500 simulated word counts, a fifth of which matter.
``images``: a logistic model of smooth simulated images.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.problems import DELTA, Problem, load_problem
from interpret_dp import Continuous, PrivateSurrogate, Schema

__all__ = ["main", "measure_simulated", "measure_table"]

Floats = NDArray[np.float64]

_KINDS = {
    "boosted": (HistGradientBoostingClassifier, HistGradientBoostingRegressor, {}),
    "forest": (RandomForestClassifier, RandomForestRegressor, {"n_estimators": 100}),
}


def _model(problem: Problem, kind: str, X: pd.DataFrame, y: Any) -> Any:
    texts = [name for name in X if X[name].dtype.kind not in "iuf"]
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
    )
    classifier, regressor, settings = _KINDS[kind]
    model = (classifier if problem.task == "classification" else regressor)(
        random_state=0, **settings
    )
    encode = make_column_transformer((encoder, texts), remainder="passthrough")
    return make_pipeline(encode, model).fit(X, y)


def measure_table(name: str, epsilons: Sequence[float], n_fits: int) -> pd.DataFrame:
    """Return one row a model and an epsilon: the mean over fits, and their standard deviation.

    Half of the rows train the model, and three quarters of the others are explained.

    Parameters
    ----------
    name : str
        Of a benchmark table.
    epsilons : sequence of float
        Of the whole surrogate, its fidelity included.
    n_fits : int
        At each epsilon.
    """
    problem = load_problem(name)
    order = np.random.default_rng(0).permutation(len(problem.X))
    trained, asked, private = np.split(order, [len(order) // 2, 5 * len(order) // 8])
    rows = {"held out": problem.X.iloc[asked].reset_index(drop=True)}
    rows["independent"] = pd.DataFrame(
        {
            column: cells.sample(frac=1.0, random_state=at).to_numpy()
            for at, (column, cells) in enumerate(rows["held out"].items())
        }
    )
    records = []
    for kind in _KINDS:
        model = _model(problem, kind, problem.X.iloc[trained], problem.y.iloc[trained])
        is_class = problem.task == "classification"
        truth = {
            of: model.predict_proba(X)[:, 1] if is_class else model.predict(X)
            for of, X in rows.items()
        }
        for epsilon in epsilons:
            fits = [
                _shares(model, problem, problem.X.iloc[private], rows, truth, epsilon)
                for _ in range(n_fits)
            ]
            found = pd.DataFrame(fits)
            shown = {
                column: f"{cells.mean():.2f} ± {cells.std():.2f}" for column, cells in found.items()
            }
            records.append({"table": name, "model": kind, "epsilon": epsilon, **shown})
    return pd.DataFrame(records)


def _shares(
    model: Any,
    problem: Problem,
    private: pd.DataFrame,
    rows: dict[str, pd.DataFrame],
    truth: dict[str, Floats],
    epsilon: float,
) -> dict[str, float]:
    """Return the explained share of the variance, true and as released."""
    surrogate = PrivateSurrogate(
        model, problem.schema, epsilon=epsilon, delta=DELTA, trained_on_same_people=False
    ).fit(private)
    released = surrogate.surrogate_
    last = released.n_outputs - 1
    found = {}
    for of, X in rows.items():
        errors = truth[of] - released.explain(X, [last] * len(X)).predictions
        found[of] = float(1 - (errors**2).mean() / truth[of].var())
    return found | {"released": float(surrogate.fidelity_.table["r2"].iloc[last])}


def measure_simulated(kind: str, epsilons: Sequence[float], n_rows: int) -> pd.DataFrame:
    """Return one row an epsilon.

    Parameters
    ----------
    kind : {"words", "images"}
        500 word counts, or images of 48 x 48 pixels.
    epsilons : sequence of float
    n_rows : int
    """
    make = _words if kind == "words" else _images
    rows, label, schema, keywords = make(n_rows)
    records = []
    for epsilon in epsilons:
        start = time.perf_counter()
        surrogate = PrivateSurrogate(
            _Known(rows, label),
            schema,
            epsilon=epsilon,
            delta=DELTA,
            trained_on_same_people=False,
            **keywords,
        ).fit(rows)
        seconds = time.perf_counter() - start
        errors = label - surrogate.surrogate_.explain(rows, [0] * n_rows).predictions
        records.append(
            {
                "epsilon": epsilon,
                "rmse": float(np.sqrt((errors**2).mean())),
                "r2": float(1 - (errors**2).mean() / label.var()),
                "released_r2": float(surrogate.fidelity_.table["r2"].iloc[0]),
                "seconds": seconds,
            }
        )
    return pd.DataFrame(records)


class _Known:
    """A black box that knows the answer to each row."""

    def __init__(self, rows: Floats, label: Floats) -> None:
        self._answers = dict(zip(map(bytes, rows), label.tolist(), strict=True))

    def __call__(self, X: Floats) -> Floats:
        return np.array([self._answers.get(bytes(row), 0.5) for row in X])


def _words(n_rows: int) -> tuple[Floats, Floats, Schema, dict[str, Any]]:
    rng = np.random.default_rng(0)
    frequency = np.minimum(0.3, 3 / np.arange(1, 501))
    rows = rng.poisson(frequency, size=(n_rows, 500)).astype(np.float64)
    weights = rng.normal(size=500) * (rng.uniform(size=500) < 0.2)
    score = np.minimum(rows, 3) @ weights
    score = 1.5 * (score - score.mean()) / score.std() + 0.5 * (rows[:, 0] > 0) * (rows[:, 3] > 0)
    return rows, 1 / (1 + np.exp(-score)), Schema(default=Continuous(0, 5)), {}


def _images(n_rows: int) -> tuple[Floats, Floats, Schema, dict[str, Any]]:
    rng = np.random.default_rng(0)
    side = 48
    places = np.mgrid[:side, :side].reshape(2, -1).T / side
    shapes = np.array(
        [np.exp(-((places - centre) ** 2).sum(1) / 0.02) for centre in rng.uniform(size=(20, 2))]
    )
    hidden = rng.normal(size=(n_rows, 20))
    rows = np.clip(0.5 + 0.25 * hidden @ shapes + 0.05 * rng.normal(size=(n_rows, side**2)), 0, 1)
    label = 1 / (1 + np.exp(-hidden[:, :4] @ [1, -1, 0.7, 0.5]))
    return rows, label, Schema(default=Continuous(0, 1)), {"image_shape": (side, side)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["tables", "words", "images"], nargs="?", default="tables")
    parser.add_argument("--names", nargs="+", default=["adult", "elevators"])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=50_000)
    arguments = parser.parse_args()
    if arguments.data == "tables":
        parts = (
            measure_table(name, arguments.epsilons, arguments.fits) for name in arguments.names
        )
    else:
        parts = iter([measure_simulated(arguments.data, arguments.epsilons, arguments.rows)])
    for found in parts:
        print(found.to_string(index=False, float_format="%.4g"), flush=True)


if __name__ == "__main__":
    main()
