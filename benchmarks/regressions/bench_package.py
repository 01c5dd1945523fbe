"""One benchmark for each thing that users wait for, through the public API of the package.

Only what a user calls is used here, so that the suite of one commit measures another one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPLimeTabular,
    PrivacyLedger,
    Schema,
)
from interpret_dp.accounting import gaussian_events_json

_ROUNDS = 3
_DELTA = 1e-6


def _classifier(table: Any) -> DPExplainableBoostingClassifier:
    return DPExplainableBoostingClassifier(epsilon=1.0, delta=_DELTA, schema=table.schema)


def _timed(benchmark: Any, action: Any, rounds: int = _ROUNDS) -> None:
    """Time an action after one that is not counted: it compiles, and fills caches."""
    benchmark.pedantic(action, rounds=rounds, warmup_rounds=1)


def bench_fit_32_thousand_rows(benchmark: Any, small: Any) -> None:
    """Two classes and 14 features, by the default rule."""
    _timed(benchmark, lambda: _classifier(small).fit(small.X, small.y), 5)


def bench_fit_a_million_rows(benchmark: Any, large: Any) -> None:
    """Spend most of the time on passes over the rows."""
    _timed(benchmark, lambda: _classifier(large).fit(large.X, large.y))


def bench_fit_five_classes(benchmark: Any, many_classes: Any) -> None:
    """32,000 rows of five classes."""
    _timed(benchmark, lambda: _classifier(many_classes).fit(many_classes.X, many_classes.y))


def bench_predict_a_million_rows(benchmark: Any, small: Any, large: Any) -> None:
    """Probabilities of two classes."""
    model = _classifier(small).fit(small.X, small.y)
    _timed(benchmark, lambda: model.predict_proba(large.X))


def bench_explain_global(benchmark: Any, small: Any) -> None:
    """All curves with their bands."""
    model = _classifier(small).fit(small.X, small.y)
    _timed(benchmark, model.explain_global, 5)


def bench_ten_charges(benchmark: Any, tmp_path: Path) -> None:
    """Reservations and commits in a file; each waits for the disk twice."""
    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("people", 8.0, _DELTA)
    mu = 0.001
    event = gaussian_events_json([(mu, 1)])

    def charge() -> None:
        for _ in range(10):
            reservation = ledger.reserve(
                "people",
                mu=mu,
                delta=0.0,
                event=event,
                epsilon=0.01,
                epsilon_delta=_DELTA,
                explainer="benchmark",
            )
            ledger.commit(reservation)

    _timed(benchmark, charge, 5)


def bench_lime_background(benchmark: Any, small: Any) -> None:
    """One row at a time; the model is a sum, which takes no time of its own."""
    explainer = DPLimeTabular(
        lambda X: X["x0"].to_numpy(),
        small.X,
        schema=small.schema,
        epsilon=0.1,
        delta=_DELTA,
        trained_on_same_people=False,
    )
    rows = iter(range(len(small.X)))

    def explain() -> None:
        at = next(rows)
        explainer.explain_local(small.X.iloc[at : at + 1])

    _timed(benchmark, explain, 5)


def bench_llm_one_epoch_of_images(benchmark: Any) -> None:
    """One epoch of 10,000 pictures of 28 x 28 and ten classes by the rule for images."""
    pytest.importorskip("torch", reason="the extra llm is not installed")
    from interpret_dp import DPLocallyLinearClassifier

    rng = np.random.default_rng(0)
    images = rng.random((10_000, 28, 28), dtype=np.float32)
    labels = rng.integers(10, size=len(images))

    def fit() -> None:
        DPLocallyLinearClassifier(
            epsilon=2.0,
            delta=1e-5,
            schema=Schema(default=Continuous(0, 1), target=Categorical(range(10))),
            epochs=1,
            n_rows=len(images),
        ).fit(images, labels)

    _timed(benchmark, fit)
