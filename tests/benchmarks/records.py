"""Made-up measurements of the benchmarks of accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.records import Fit, Results


def add(
    results: Results,
    problem: str,
    engine: str,
    epsilon: float | None,
    scores: Sequence[float],
    *,
    seconds: float = 1.0,
) -> None:
    """Add the scores of splits 0, 1 and so on."""
    results.add(
        Fit(
            problem=problem,
            engine=engine,
            version="1",
            epsilon=epsilon,
            split=split,
            score=score,
            seconds=seconds,
            test_rows_per_training_row=0.25,
        )
        for split, score in enumerate(scores)
    )
