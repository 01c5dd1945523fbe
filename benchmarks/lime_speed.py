"""Time of explanations from a background, against lime: ``python -m benchmarks.lime_speed``.

adult and a random forest of 30 trees. lime is measured where it is installed; it is no dependency.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from benchmarks.background import model_of
from benchmarks.problems import load_problem
from benchmarks.report import Report, public_tables, spread
from interpret_dp import DPLimeTabular, Schema

__all__ = ["main"]

_REPEATS = 5


def _seconds(run: Callable[[], Any], repeats: int = _REPEATS) -> list[float]:
    found = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return found


def _coded(X: pd.DataFrame) -> Any:
    """Return a table as numbers: texts by their place among all."""
    return np.column_stack(
        [
            X[name] if X[name].dtype.kind in "iuf" else pd.factorize(X[name], sort=True)[0]
            for name in X
        ]
    ).astype(float)


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 rows in place of 1,000")
    arguments = parser.parse_args()
    n_rows = 100 if arguments.quick else 1_000
    problem = load_problem("adult")
    frame, cells = problem.X, _coded(problem.X)
    of_frames = model_of(problem, "forest", frame, problem.y)
    of_cells = RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(cells, problem.y)
    given: dict[str, Any] = {"schema": problem.schema, "trained_on_same_people": True}
    made: list[DPLimeTabular] = []
    release = _seconds(lambda: made.append(DPLimeTabular(of_frames, frame, **given)))
    own, names = made[0], list(frame)
    with public_tables():
        coded = Schema.draft(pd.DataFrame(cells, columns=names))
    arrays = DPLimeTabular(of_cells, cells, names, schema=coded, trained_on_same_people=True)
    own.explain_local(frame.head(1))
    records = [("release a background of 14 columns", release)]
    records.append(("one row, a frame", _seconds(lambda: own.explain_local(frame.head(1)))))
    records.append(("one row, an array", _seconds(lambda: arrays.explain_local(cells[:1]))))
    if find_spec("lime") is not None:
        from lime.lime_tabular import LimeTabularExplainer  # type: ignore[import-untyped]

        texts = [at for at, name in enumerate(frame) if frame[name].dtype.kind not in "iuf"]
        peer = LimeTabularExplainer(cells, categorical_features=texts)
        records.append(
            (
                "one row, an array, by lime",
                _seconds(
                    lambda: peer.explain_instance(
                        cells[0], of_cells.predict_proba, num_features=cells.shape[1]
                    )
                ),
            )
        )
    for name, explainer, rows in (("a frame", own, frame), ("an array", arrays, cells)):
        found = _seconds(lambda own=explainer, X=rows: own.explain_local(X[:n_rows]), 1)  # type: ignore[misc]
        records.append((f"{n_rows:,} rows, {name}", found))
    report = Report(
        "Time of explanations from a background", is_kept=not arguments.quick, is_timed=True
    )
    table = pd.DataFrame(
        [{"what": what, "processor seconds": spread(found)} for what, found in records]
    )
    report.add(f"adult, {len(frame):,} rows, a forest of 30 trees", table)
    report.write("lime_speed")


if __name__ == "__main__":
    main()
