"""Speed and memory of DP-EBM against the reference: ``python -m benchmarks.scale``.

14 features, epsilon 1, delta 1e-6, a fixed generator and seed; the default rule of each engine.
Each size is a process of its own, in which the engines take turns on the same rows. Raw numbers go
to ``benchmarks/results/scale.json``; docs/performance.md and its figures are written from them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.scale_report import write_report
from benchmarks.scale_table import N_FEATURES

__all__ = ["main"]

_ROOT = Path(__file__).parents[1]
_RAW = _ROOT / "benchmarks" / "results" / "scale.json"
_SIZES = (32_000, 1_000_000, 3_000_000, 10_000_000)
_LARGE = 3_000_000  # from here on fewer repeats, and a smaller grid
_GRID = [(rounds, rate) for rounds in (30, 100, 300) for rate in (0.01, 0.05, 0.2)]
_SAME_ROUNDS = 300
_MOST_LARGE = 3  # settings of the grid at 3 million rows
#: What counts as equally accurate when the fastest of the reference's good settings is looked for.
AUROC_TOLERANCE = 0.001
_SECTIONS = ("sizes", "memory", "cold", "growth", "passes")


def _run(task: str, parameters: dict[str, Any], environment: dict[str, str] | None = None) -> Any:
    """Run one task of the worker in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scale_worker", task, json.dumps(parameters)]
    finished = subprocess.run(
        command,
        cwd=_ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(finished.stdout.splitlines()[-1])


def _measure_sizes(sizes: Sequence[int], repeats: int, large_repeats: int) -> list[dict[str, Any]]:
    """Fit both engines' defaults, the reference's grid, and ours with the reference's rounds."""
    found: list[dict[str, Any]] = []
    for n_rows in sorted(sizes):
        print(f"{n_rows:,} rows", file=sys.stderr, flush=True)
        grid = _GRID
        if n_rows >= _LARGE and found:
            # The whole grid would take as long as all else together: what was good one size below.
            good = _good_settings(found[-1]["fits"])
            grid = good[:1] if n_rows > _LARGE else good[:_MOST_LARGE]
        defaults: list[Any] = [("ours", None, None), ("reference", None, None)]
        result = _run(
            "paired",
            {
                "n_rows": n_rows,
                "n_features": N_FEATURES,
                "settings": defaults,
                "repeats": large_repeats if n_rows >= _LARGE else repeats,
                "once": [
                    *(("reference", *setting) for setting in grid),
                    ("ours", _SAME_ROUNDS, None),
                ],
            },
        )
        found.append(result)
    return found


def _good_settings(fits: Sequence[dict[str, Any]]) -> list[tuple[int, float]]:
    """Return the reference's settings that are about as accurate as its best, the fastest first."""
    tried = [fit for fit in fits if fit["engine"] == "reference" and fit["rounds"] is not None]
    best = max(fit["AUROC"] for fit in tried)
    near = [fit for fit in tried if fit["AUROC"] >= best - AUROC_TOLERANCE]
    return [(fit["rounds"], fit["rate"]) for fit in sorted(near, key=lambda fit: fit["seconds"])]


def _best_settings(fits: Sequence[dict[str, Any]]) -> list[tuple[int, float]]:
    """Return the most accurate of the reference's settings, and the fastest that is nearly so."""
    tried = [fit for fit in fits if fit["engine"] == "reference" and fit["rounds"] is not None]
    best = max(tried, key=lambda fit: fit["AUROC"])
    return list(dict.fromkeys([(best["rounds"], best["rate"]), _good_settings(fits)[0]]))


def _measure_memory(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Measure the memory of one fit per size and engine; of the reference below 3 million rows."""
    return [
        _run("memory", {"engine": engine, "n_rows": n_rows, "n_features": N_FEATURES})
        for n_rows in sorted(sizes)
        for engine in (("ours", "reference") if n_rows < _LARGE else ("ours",))
    ]


def _measure_cold(repeats: int) -> list[dict[str, Any]]:
    """Measure first fits of fresh processes; ours also before anything was compiled."""
    found = []
    # The first process may be the one that compiles.
    _run("cold", {"engine": "ours", "n_rows": _SIZES[0]})
    for _ in range(repeats):
        for engine in ("ours", "reference"):
            found.append({**_run("cold", {"engine": engine, "n_rows": _SIZES[0]}), "new": False})
        with tempfile.TemporaryDirectory() as empty:
            cache = {"NUMBA_CACHE_DIR": empty}
            new = _run("cold", {"engine": "ours", "n_rows": _SIZES[0]}, cache)
        found.append({**new, "new": True})
    return found


def _measure_growth(sizes: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """Let features and rounds grow, at the largest size up to a million rows."""
    n_rows = max((size for size in sizes if size <= _SIZES[1]), default=min(sizes))
    found = [
        _run(
            "paired",
            {
                "n_rows": n_rows,
                "n_features": n_features,
                "settings": [("ours", None, None)],
                "repeats": repeats,
            },
        )
        for n_features in (7, 28, 56)
    ]
    settings = [("ours", rounds, None) for rounds in (10, 20, 80, 160)]
    parameters = {"n_rows": n_rows, "n_features": N_FEATURES, "settings": settings}
    found.append(_run("paired", {**parameters, "repeats": repeats}))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=list(_SIZES), metavar="ROWS")
    parser.add_argument("--repeats", type=int, default=5, help="fits of each engine (default: 5)")
    parser.add_argument(
        "--large-repeats",
        type=int,
        default=5,
        help=f"fits of each engine from {_LARGE:,} rows on (default: 5)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only sizes up to 1 million, one fit each; for a look"
    )
    parser.add_argument(
        "--only",
        nargs="*",
        choices=_SECTIONS,
        default=list(_SECTIONS),
        help="measure these alone and keep the rest; without a name, just write the page again",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=_RAW,
        metavar="FILE",
        help="raw numbers; only for the usual file are the page and its figures written",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, keep the raw numbers, write the page."""
    options = _parser().parse_args(arguments)
    if not options.only and not options.out.exists():
        _parser().error(f"{options.out} does not exist; measure something first.")
    if options.quick:
        options.sizes = [n_rows for n_rows in options.sizes if n_rows <= _SIZES[1]]
        options.repeats, options.large_repeats = 1, 1
    began = time.perf_counter()
    raw: dict[str, Any] = {}
    if options.out.exists() and set(options.only) != set(_SECTIONS):
        raw = json.loads(options.out.read_text(encoding="utf-8"))
    if options.only:
        raw["machine"] = describe_machine()
    measures = {
        "sizes": lambda: _measure_sizes(options.sizes, options.repeats, options.large_repeats),
        "memory": lambda: _measure_memory(options.sizes),
        "cold": lambda: _measure_cold(options.repeats),
        "growth": lambda: _measure_growth(options.sizes, min(options.repeats, 3)),
        "passes": lambda: _run(
            "passes",
            {"n_rows": 4_000_000, "n_features": N_FEATURES, "n_codes": 66, "repeats": 20},
        ),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for section in options.only:
        print(section, file=sys.stderr, flush=True)
        raw[section] = measures[section]()
        if set(options.only) == set(_SECTIONS):
            raw["minutes"] = round((time.perf_counter() - began) / 60, 1)
        options.out.write_text(json.dumps(raw, indent=1), encoding="utf-8")
    is_usual = options.out == _RAW and not options.quick and set(_SECTIONS) <= set(raw)
    print(write_report(raw, _ROOT / "docs" if is_usual else None, _best_settings))


if __name__ == "__main__":
    main()
