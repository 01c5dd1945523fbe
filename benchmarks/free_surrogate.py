"""How faithful a surrogate of drawn rows is: ``python -m benchmarks.free_surrogate``.

A private background is released, rows are drawn from it, the black box predicts them, and an
ordinary EBM is fitted to the predictions: free after the background. Printed is the share of the
variance (R2) of the black box's outputs that it explains on held-out rows: of probabilities, whose
log-odds are fitted, or of predictions.

Half of the rows train the black box, an eighth is held out and three eighths are private. Each
repetition draws them anew. ``drawn`` is the R2 on drawn rows that no fit has seen: all that a user
can see for free. Rows are 10,000 unless a column says 50,000, which is measured in the first
repetition alone. ``own trainer`` is a DP-EBM of the drawn rows, with hardly any noise.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from interpret.glassbox import ExplainableBoostingRegressor
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

from benchmarks.problems import DELTA, TABLES, Problem, load_problem
from interpret_dp import Continuous, DPExplainableBoostingRegressor, PrivateBackground, Schema

__all__ = ["main", "measure"]

Floats = NDArray[np.float64]

EPSILONS = (0.5, 1.0, 4.0)
_ROWS = 10_000
_MANY_ROWS = 50_000
_UNSEEN_ROWS = 5_000
_PAIRS = 10
_FREE = {"free": (_ROWS, 0), "free, pairs": (_ROWS, _PAIRS)}
_FREE_OF_MANY = {"free, 50,000": (_MANY_ROWS, 0), "pairs, 50,000": (_MANY_ROWS, _PAIRS)}
# Labels have no noise: one bag and few, long steps lose little and take seconds.
_SETTINGS = {"outer_bags": 1, "max_rounds": 100, "learning_rate": 0.2, "smoothing_rounds": 0}
_OWN_EPSILON = 100.0
# Logits of probabilities nearer to 0 or 1 count as that of this one.
_LEAST_PROBABILITY = 0.01
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


def measure(name: str, kind: str, repetition: int) -> Iterator[dict[str, Any]]:
    """Yield one record an epsilon: R2 on held-out rows and on drawn ones.

    Parameters
    ----------
    name : str
        Of a benchmark table.
    kind : {"boosted", "forest"}
        The black box.
    repetition : int
        Seed of the parts and of the drawn rows; the first also fits to 50,000 rows.
    """
    problem = load_problem(name)
    X, n_rows = problem.X, len(problem.X)
    order = np.random.default_rng(repetition).permutation(n_rows)
    trained, asked, private = np.split(order, [n_rows // 2, 5 * n_rows // 8])
    model = _model(problem, kind, X.iloc[trained], problem.y.iloc[trained])
    held_out, rows = X.iloc[asked].reset_index(drop=True), X.iloc[private].reset_index(drop=True)
    is_classifier = problem.task == "classification"

    def predict(frame: pd.DataFrame) -> Floats:
        return np.asarray(
            model.predict_proba(frame)[:, 1] if is_classifier else model.predict(frame)
        )

    truth = predict(held_out)
    variants = _FREE | (_FREE_OF_MANY if repetition == 0 else {})
    for epsilon in EPSILONS:
        budget: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
        found = {}
        background = PrivateBackground(problem.schema.select(X.columns), n_jobs=1, **budget)
        background.fit(rows)
        drawn = background.sample(_MANY_ROWS, 2 * repetition)
        unseen = background.sample(_UNSEEN_ROWS, 2 * repetition + 1)
        labels, unseen_labels = predict(drawn), predict(unseen)
        for variant, (n_drawn, n_pairs) in variants.items():
            ebm = ExplainableBoostingRegressor(
                interactions=n_pairs, n_jobs=1, random_state=repetition, **_SETTINGS
            )
            free = _fitted(ebm, drawn[:n_drawn], labels[:n_drawn], problem)
            found[variant] = _r2(truth, free(held_out))
            if variant in _FREE:
                found[f"{variant}: drawn"] = _r2(unseen_labels, free(unseen))
        own = DPExplainableBoostingRegressor(
            schema=_own_schema(problem), epsilon=_OWN_EPSILON, delta=DELTA, n_jobs=1
        )
        found["own trainer"] = _r2(
            truth, _fitted(own, drawn[:_ROWS], labels[:_ROWS], problem)(held_out)
        )
        yield {"table": name, "epsilon": epsilon, "repetition": repetition, **found}


def _fitted(
    model: Any, rows: pd.DataFrame, labels: Floats, problem: Problem
) -> Callable[[pd.DataFrame], Floats]:
    """Fit to the labels, or to their log-odds; return predictions in units of the labels."""
    if problem.task == "classification":
        clipped = np.clip(labels, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        model.fit(rows, np.log(clipped / (1.0 - clipped)))
        return lambda X: 1.0 / (1.0 + np.exp(-model.predict(X)))
    target = problem.schema.target
    model.fit(rows, labels)
    return lambda X: np.clip(model.predict(X), target.lower, target.upper)  # type: ignore[union-attr]


def _own_schema(problem: Problem) -> Schema:
    """Return the schema of a fit to the labels, or to their log-odds."""
    if problem.task == "regression":
        return problem.schema
    bound = float(np.log((1.0 - _LEAST_PROBABILITY) / _LEAST_PROBABILITY))
    features = problem.schema.select(problem.X.columns).features
    return Schema(features, target=Continuous(-bound, bound))


def _r2(truth: Floats, predicted: Floats) -> float:
    return float(1 - ((truth - predicted) ** 2).mean() / truth.var())


def main() -> None:
    """Print the mean R2 by table and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--model", choices=["boosted", "forest"], default="boosted")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    records: list[dict[str, Any]] = []
    for name in arguments.tables:
        start = time.perf_counter()
        for repetition in range(arguments.repetitions):
            records += measure(name, arguments.model, repetition)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    found = pd.DataFrame(records).drop(columns="repetition")
    by_table = found.groupby(["table", "epsilon"]).mean()
    for title, part in (("R2", by_table), ("Mean over tables", by_table.groupby("epsilon").mean())):
        print(f"\n{title}\n{part.round(3).to_string()}")


if __name__ == "__main__":
    main()
