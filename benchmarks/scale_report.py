"""The page docs/performance.md and its figures, from the raw numbers of ``benchmarks.scale``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import write_page
from benchmarks.scale_figures import draw_figures

__all__ = ["write_report"]

Fits = Sequence[dict[str, Any]]
_Bests = Callable[[Fits], list[tuple[int, float]]]

_INTRODUCTION = """\
# Speed and memory on one machine

Measured by `python -m benchmarks.scale` on simulated rows with 14 features and two classes,
at epsilon 1 and delta 1e-6, with default settings. The reference is
`interpret.privacy.DPExplainableBoostingClassifier`. Both engines take turns on the same rows; a
warm fit follows one that is not measured. Warm and first fits show the median of {fits}, with the
smallest and largest value in parentheses. Raw numbers are in benchmarks/results/scale.json."""

_BUSY = """\
**Other work kept the machine busy, so times are too long and ratios rough, above all for few rows.
Repeat the measurement on a quiet machine.**"""

_WHERE = """\
## Where the time goes

A pass over the rows that updates four features and sums four others took {pass_ns:.2f} ns for each
row on {threads} threads, which is {share:.0%} of the speed at which these copy memory."""

_MEMORY = """\
## Memory

Peak memory that `fit` adds to the table, divided by the number of rows. Ours needs at most K + 16
bytes for each row with K features, here 30: the scores, the label, and one byte for each feature
(two above 256 bins; exact bounds: tests/ebm/test_memory.py). A fixed part comes on top, which
counts where rows are few. Weights, starting scores, further classes and pairs need more."""


def write_report(raw: dict[str, Any], docs: Path | None, bests: _Bests) -> str:
    """Return the page; write it and its figures if there is a place for them.

    Parameters
    ----------
    raw : dict
        What ``benchmarks.scale`` measured; sections may be missing.
    docs : Path or None
    bests : callable
        From the fits of one size to the reference's best settings.
    """
    machine = "; ".join(f"{name} {value}" for name, value in raw["machine"].items())
    fits = " or ".join(map(str, sorted({len(_of(size, "ours")) for size in raw.get("sizes", ())})))
    parts = [_INTRODUCTION.format(fits=fits or "all"), f"Machine: {machine}."]
    if raw["machine"]["load average before"][0] > raw["machine"]["processors"] / 2:
        parts.append(_BUSY)
    if "sizes" in raw:
        parts += ["## Warm fits", _table(_WARM, [_warm_cells(size) for size in raw["sizes"]])]
        parts += [
            "## Against the reference at its best",
            "Two settings of the reference: that of the highest AUROC, and the fastest within "
            "0.001 of it, among max_rounds 30, 100, 300 and learning_rate 0.01, 0.05, 0.2. Above a "
            "million rows only the fastest settings that were as good at the next smaller size "
            "compete. The speed-up is that of our warm fits.",
            _table(_BEST, [row for size in raw["sizes"] for row in _best_cells(size, bests)]),
            "## Both with 300 rounds, the reference's default",
            _table(_EQUAL, [_equal_cells(size) for size in raw["sizes"]]),
        ]
    if "memory" in raw:
        parts += [_MEMORY, _table(_BYTES, _memory_cells(raw["memory"]))]
    if "cold" in raw:
        parts += [
            "## First fit of a fresh process",
            f"With {raw['cold'][0]['rows']:,} rows.",
            _table(_COLD, _cold_cells(raw["cold"])),
        ]
    if "passes" in raw:
        parts.append(_where(raw["passes"]))
    if "growth" in raw and "sizes" in raw:
        parts += [
            "## How the cost grows",
            "![time against rows, features and rounds](figures/performance.png)",
        ]
    text = "\n\n".join(parts) + "\n"
    if docs is not None:
        write_page(docs / "performance.md", text)
        draw_figures(raw, docs / "figures" / "performance.png")
    return text


def _of(size: dict[str, Any], engine: str, setting: tuple[Any, Any] = (None, None)) -> Fits:
    return [
        fit
        for fit in size["fits"]
        if fit["engine"] == engine and (fit["rounds"], fit["rate"]) == setting
    ]


def _middle(fits: Fits, name: str) -> float:
    return median(fit[name] for fit in fits)


def _spread(fits: Fits, name: str, digits: int = 2) -> str:
    values = [fit[name] for fit in fits]
    shown = f"{median(values):.{digits}f}"
    if len(values) == 1:
        return shown
    return f"{shown} ({min(values):.{digits}f} to {max(values):.{digits}f})"


_WARM = (
    "rows",
    "ours (s)",
    "reference (s)",
    "speed-up",
    "AUROC, ours",
    "AUROC, reference",
)


def _warm_cells(size: dict[str, Any]) -> list[str]:
    ours, reference = _of(size, "ours"), _of(size, "reference")
    return [
        f"{size['rows']:,}",
        _spread(ours, "seconds"),
        _spread(reference, "seconds"),
        f"{_middle(reference, 'seconds') / _middle(ours, 'seconds'):.1f}",
        f"{_middle(ours, 'AUROC'):.4f}",
        f"{_middle(reference, 'AUROC'):.4f}",
    ]


_BEST = ("rows", "reference's setting", "reference (s)", "AUROC", "speed-up")


def _best_cells(size: dict[str, Any], bests: _Bests) -> list[list[str]]:
    ours = _of(size, "ours")
    rows = []
    for setting in bests(size["fits"]):
        found = _of(size, "reference", setting)
        rows.append(
            [
                f"{size['rows']:,}",
                f"{setting[0]} rounds at {setting[1]:g}",
                _spread(found, "seconds"),
                _spread(found, "AUROC", 4),
                f"{_middle(found, 'seconds') / _middle(ours, 'seconds'):.1f}",
            ]
        )
    return rows


_EQUAL = ("rows", "ours (s)", "speed-up")


def _equal_cells(size: dict[str, Any]) -> list[str]:
    ours = [fit for fit in size["fits"] if fit["engine"] == "ours" and fit["rounds"] is not None]
    reference = _of(size, "reference")
    return [
        f"{size['rows']:,}",
        _spread(ours, "seconds"),
        f"{_middle(reference, 'seconds') / _middle(ours, 'seconds'):.1f}",
    ]


_BYTES = ("rows", "bytes for each row, ours", "reference")


def _memory_cells(fits: Fits) -> list[list[str]]:
    shown = {(fit["rows"], fit["engine"]): f"{fit['bytes'] / fit['rows']:.1f}" for fit in fits}
    return [
        [f"{rows:,}", *(shown.get((rows, engine), "") for engine in ("ours", "reference"))]
        for rows in dict.fromkeys(fit["rows"] for fit in fits)
    ]


_COLD = ("engine", "compiled code", "import (s)", "first fit (s)")


def _cold_cells(cold: Fits) -> list[list[str]]:
    rows = []
    for engine, is_new in (("ours", False), ("ours", True), ("reference", False)):
        found = [one for one in cold if (one["engine"], one["new"]) == (engine, is_new)]
        compiled = {"reference": "native", "ours": "none yet" if is_new else "on disk"}[engine]
        times = [_spread(found, f"{what} seconds") for what in ("import", "fit")]
        rows.append([engine, compiled, *times])
    return rows


def _where(passes: dict[str, Any]) -> str:
    seconds = median(passes["seconds"])
    moved = passes["bytes per row"] * passes["rows"] / seconds
    return _WHERE.format(
        pass_ns=seconds / passes["rows"] * 1e9,
        threads=passes["threads"],
        share=moved / passes["bandwidth"],
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])
