"""How fast interpret's dashboard answers for a model of 100 features; target: 300 ms a callback.

``python -m benchmarks.dashboard`` asks the app what a browser asks it, without a browser and
without a network, and writes the times to ``benchmarks/results/dashboard.json``.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from interpret_dp import Continuous, DPExplainableBoostingRegressor, PrivacyLedger, Schema

FEATURES = 100
TARGET_SECONDS = 0.3
_RESULTS = Path(__file__).parent / "results" / "dashboard.json"


def fitted_explanation(folder: Path, n_features: int) -> tuple[Any, Any]:
    """Return a global and a local explanation of a model of noise; its curves do not matter."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(20_000, n_features))
    y = X.sum(axis=1)
    names = [f"feature {k}" for k in range(n_features)]
    schema = Schema(
        {name: Continuous(0, 1) for name in names}, target=Continuous(0, float(n_features))
    )
    ledger = PrivacyLedger(f"sqlite:///{folder / 'privacy.db'}")
    ledger.create_budget("wide", epsilon=8, delta=1e-5)
    model = DPExplainableBoostingRegressor(
        feature_names=names, schema=schema, epsilon=4.0, ledger=ledger, dataset="wide"
    ).fit(X, y)
    return model.explain_global(name="wide"), model.explain_local(X[:200], y[:200], name="rows")


def callbacks(total: Any, local: Any) -> dict[str, Callable[[], Any]]:
    """Return what a user does, by name, each as a request to interpret's full dashboard."""
    from tests.ui.dash.client import AppClient
    from tests.ui.dash.editor.client import EditorClient

    app = AppClient([total, local])
    small = AppClient(total)
    rows = {"local_model_drop": [1], "local_instance_idx_0": [7]}
    editor = EditorClient(small, 17)
    editor.change("idp-editor-number", "value", "0.01")
    return {
        "overview of all terms": small.part,
        "one term": lambda: small.part(17),
        "one prediction": lambda: app.ask("local-plots-container-0", **rows),
        "overview of 200 predictions": lambda: app.ask(
            "local-overall-plot-container-0", local_model_drop=[1]
        ),
        "privacy tab": app.privacy_tab,
        # Each with everything that follows: the edit, the drawing, the privacy panel.
        "editor: select": lambda: editor.box(0.2, 0.8),
        "editor: shift": lambda: editor.press("shift"),
        "editor: undo": lambda: editor.press("undo"),
        "editor: make increasing": lambda: editor.press("increasing"),
        "editor: smooth": lambda: editor.press("smooth"),
        "editor: signal or noise": lambda: editor.press("verdict"),
        "editor: scale of all terms": lambda: editor.change("idp-editor-scale", "value", "common"),
        "editor: notice nothing": lambda: editor.change("idp-editor-clock", "n_intervals", 1),
    }


def measure(action: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Return the first, the median and the slowest time of the later answers, in seconds."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    later = times[1:]
    return {"first": times[0], "median": statistics.median(later), "slowest": max(later)}


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        actions = callbacks(*fitted_explanation(Path(folder), arguments.features))
        times = {name: measure(action, arguments.repeats) for name, action in actions.items()}
    for name, entry in times.items():
        verdict = "within" if entry["median"] <= TARGET_SECONDS else "ABOVE"
        figures = ", ".join(f"{key} {1000 * value:.0f} ms" for key, value in entry.items())
        print(f"{name}: {figures} ({verdict} {1000 * TARGET_SECONDS:.0f} ms)")
    record = {
        "features": arguments.features,
        "repeats": arguments.repeats,
        "python": platform.python_version(),
        "processor": platform.machine(),
        "target_seconds": TARGET_SECONDS,
        "seconds": times,
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
