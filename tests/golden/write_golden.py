"""Writes the golden files: models, sessions, schemas and ledgers as version 0.1 wrote them.

They were written once, by this script, and stay as they are: a later version of the package must
read them and predict the same. Run it only to add a kind that is not there yet::

    python -m tests.golden.write_golden NAME ...

A file that exists is never written again. Those of ``GONE`` were written by what is no longer
there: a fit and a private search in one ledger, and the model that the search found.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    DPLocallyLinearClassifier,
    PrivacyLedger,
    PrivacyUnit,
    PrivateBackground,
    Schema,
)
from interpret_dp.mechanisms import SeededRandomness, use_randomness

FILES = Path(__file__).parent / "files"
FEATURES = {
    "age": Continuous(0, 100),
    "dose": Continuous(0, 1000, scale="log"),
    "stage": Categorical(["early", "late", "last"], ordered=True),
    "city": Categorical(["Bonn", "Lyon", 3]),
}
QUICK: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-6, "max_rounds": 6, "max_bins": 8}


def rows(n_rows: int = 800, seed: int = 0) -> pd.DataFrame:
    """Return rows of the four features, some cells missing and some undeclared."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 100, n_rows).round(1)
    age[rng.uniform(size=n_rows) < 0.05] = np.nan
    stages, cities = ["early", "late", "last", None], ["Bonn", "Lyon", 3, "Oslo"]
    return pd.DataFrame(
        {
            "age": age,
            "dose": np.exp(rng.uniform(0, 6, n_rows)).round(2),
            "stage": pd.Series(rng.choice(np.array(stages, dtype=object), n_rows), dtype=object),
            "city": pd.Series([cities[at] for at in rng.integers(4, size=n_rows)], dtype=object),
        }
    )


def score(X: pd.DataFrame, seed: int = 1) -> Any:
    """Return a score of each row, with noise."""
    late = (X["stage"] == "late").to_numpy()
    age = X["age"].fillna(50).to_numpy() / 50
    noise = np.random.default_rng(seed).normal(scale=0.3, size=len(X))
    return age - 1 + late * (age - 0.5) + 0.2 * np.log(X["dose"].to_numpy()) - 0.6 + noise


def additive(kind: str) -> Any:
    """Fit an additive model of a kind, with frozen noise."""
    X = rows()
    latent = score(X)
    targets: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "classification": (["no", "yes"], np.where(latent > 0, "yes", "no"), {}),
        "pairs": ([0, 1], (latent > 0).astype(int), {"interactions": [("age", "stage")]}),
        "classes": ([1, 2, 3], np.digitize(latent, [-0.3, 0.6]) + 1, {}),
        "regression": (None, latent, {}),
        "monotone": (None, latent, {"monotone_constraints": [1, 0, 0, 0]}),
        "poisson": (None, np.floor(np.exp(latent)), {"objective": "poisson_deviance"}),
        "gamma": (None, np.exp(latent) + 0.1, {"objective": "gamma_deviance"}),
    }
    levels, y, options = targets[kind]
    if levels:
        target: Any = Categorical(levels)
    else:
        target = Continuous(*{"poisson": (0, 20), "gamma": (0.1, 20)}.get(kind, (-4, 6)))
    estimator = DPExplainableBoostingClassifier if levels else DPExplainableBoostingRegressor
    model = estimator(schema=Schema(FEATURES, target=target), **QUICK, **options)
    with use_randomness(SeededRandomness(7)):
        return model.fit(X, y)


def maps(kind: str) -> Any:
    """Fit locally linear maps of a table or of images, with frozen noise."""
    rng = np.random.default_rng(3)
    common: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-5, "epochs": 3, "device": "cpu"}
    if kind == "images":
        images = rng.integers(0, 256, size=(300, 8, 8))
        labels = (images[:, :4].mean(axis=(1, 2)) > 127).astype(int)
        schema = Schema(default=Continuous(0, 255), target=Categorical([0, 1]))
        model = DPLocallyLinearClassifier(schema=schema, projection_dim=10, n_maps=2, **common)
        table: Any = images
    else:
        table = rows()
        labels = np.digitize(score(table), [-0.3, 0.6])
        schema = Schema(FEATURES, target=Categorical([0, 1, 2]))
        model = DPLocallyLinearClassifier(schema=schema, n_maps=2, **common)
    with use_randomness(SeededRandomness(8)):
        return model.fit(table, labels)


class BlackBox:
    """A probability that depends on age alone."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Return both probabilities of each row."""
        second = X["age"].fillna(50).to_numpy(dtype=float) / 100
        return np.column_stack([1 - second, second])


def predictions(model: Any, X: Any) -> dict[str, Any]:
    """Return what a model says of rows."""
    found = {"predict": model.predict(X).tolist()}
    if hasattr(model, "predict_proba"):
        found["predict_proba"] = model.predict_proba(X).tolist()
    return found


def asked(name: str) -> Any:
    """Return the rows whose predictions are stored beside a model."""
    if name == "maps_images":
        return np.random.default_rng(4).integers(0, 256, size=(12, 8, 8))
    return rows(40, seed=5)


def write_model(model: Any, name: str) -> None:
    """Write a model and what it predicts."""
    model.save(FILES / f"{name}.json")
    expected = predictions(model, asked(name))
    (FILES / f"{name}.expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


def write_session(name: str, pair: bool) -> None:
    """Write the edits of a session and the scores of the edited model."""
    from interpret_dp import load_model

    model: Any = load_model(FILES / ("pairs.json" if pair else "classification.json"))
    session = model.edit(author="Ada")
    session.make_monotone("age", increasing=True)
    session.smooth("dose")
    session.commit("risk rises with age and dose")
    session.remove_effect("city")
    session.set_scores("stage", [0.25], levels=["late"])
    session.cap("age & stage" if pair else "dose", 0.5)
    session.undo()
    session.shift("age", 0.125, between=(30, 60))
    session.commit("no effect of the city")
    session.save(FILES / f"{name}.json")
    edited = [scores.tolist() for scores in session.model.term_scores_]
    expected = {"records": len(session.history), "scores": edited}
    (FILES / f"{name}.expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


def schemas() -> dict[str, Schema]:
    """Return schemas that together use every kind of declaration."""
    return {
        "schema_full": Schema(
            FEATURES, target=Categorical(["no", "yes"]), unit=PrivacyUnit("patient", max_rows=4)
        ),
        "schema_default": Schema(default=Continuous(-1, 1), target=Continuous(-5, 5)),
    }


def write_background() -> None:
    """Write a background with its dependence, and rows that are drawn from it."""
    with use_randomness(SeededRandomness(3)):
        background = PrivateBackground(
            Schema(FEATURES), epsilon=5.0, ledger=PrivacyLedger.in_memory(), dataset="golden"
        ).fit(rows())
    background.save(FILES / "background.json")
    drawn = background.sample(6, 0).astype(object)
    drawn = drawn.where(drawn.notna(), None).to_dict("list")
    (FILES / "background.expected.json").write_text(json.dumps(drawn) + "\n", encoding="utf-8")


def write_ledger(name: str) -> None:
    """Write a ledger with a budget, two fits and a raise as SQL, and what it says of itself."""
    path = Path(tempfile.mkdtemp()) / f"{name}.db"
    ledger = PrivacyLedger(f"sqlite:///{path}")
    ledger.create_budget("cohort", epsilon=3, delta=1e-5, delta_x=1e-6)
    X, y = rows(200), np.where(score(rows(200)) > 0, "yes", "no")
    schema = Schema(FEATURES, target=Categorical(["no", "yes"]))
    model = DPExplainableBoostingClassifier(
        schema=schema, epsilon=0.5, delta=1e-6, max_rounds=2, ledger=ledger, dataset="cohort"
    )
    for _ in range(2):
        model.fit(X, y)
    ledger.raise_budget("cohort", 4.0, 2e-5, reason="board, 3 May")
    with closing(sqlite3.connect(path)) as connection:
        dump = "\n".join(connection.iterdump())
    (FILES / f"{name}.sql").write_text(dump + "\n", encoding="utf-8")
    export = ledger.to_dict() | {"ledger": f"sqlite:///{path.name}"}
    (FILES / f"{name}.export.json").write_text(json.dumps(export) + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[], None]] = {
    **{
        kind: (lambda kind=kind: write_model(additive(kind), kind))  # type: ignore[misc]
        for kind in (
            *("classification", "pairs", "classes", "regression", "monotone"),
            *("poisson", "gamma"),
        )
    },
    "maps_table": lambda: write_model(maps("table"), "maps_table"),
    "maps_images": lambda: write_model(maps("images"), "maps_images"),
    "session": lambda: write_session("session", pair=False),
    "session_pair": lambda: write_session("session_pair", pair=True),
    "background": write_background,
    "ledger": lambda: write_ledger("ledger"),
    **{
        name: (lambda name=name: schemas()[name].save(FILES / f"{name}.json"))  # type: ignore[misc]
        for name in ("schema_full", "schema_default")
    },
}

GONE = {"search", "ledger_search", "surrogate"}


def main() -> None:
    """Write the files that are named, or all that are not there."""
    FILES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or WRITERS:
        if not any(FILES.glob(f"{name}.*")):
            WRITERS[name]()
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
