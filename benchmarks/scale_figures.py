"""The figure of docs/performance.md: time against rows, features and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["draw_figures"]

_OURS, _REFERENCE, _FLOOR = "#14609c", "#d9480f", "#868e96"


def draw_figures(raw: dict[str, Any], path: Path) -> None:
    """Draw three panels and save them as one small image.

    Parameters
    ----------
    raw : dict
        What ``benchmarks.scale`` measured, with all sections.
    path : Path
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13.0, 3.8))
    _against_rows(axes[0], raw)
    _against_features(axes[1], raw)
    _against_rounds(axes[2], raw)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_ylabel("seconds")
        axis.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    pyplot.close(figure)


def _seconds(fits: Sequence[dict[str, Any]], engine: str, rounds: int | None = None) -> float:
    return median(
        fit["seconds"]
        for fit in fits
        if (fit["engine"], fit["rounds"], fit["rate"]) == (engine, rounds, None)
    )


def _against_rows(axis: Any, raw: dict[str, Any]) -> None:
    sizes = raw["sizes"]
    rows = [size["rows"] for size in sizes]
    ours = [_seconds(size["fits"], "ours") for size in sizes]
    reference = [_seconds(size["fits"], "reference") for size in sizes]
    floor = [_memory_bound(size["rows"], size["features"], raw["passes"]) for size in sizes]
    axis.loglog(rows, reference, "o-", color=_REFERENCE, label="reference, its defaults")
    axis.loglog(rows, ours, "o-", color=_OURS, label="ours, its default rule")
    axis.loglog(rows, floor, "--", color=_FLOOR, label="ours, if memory were all")
    axis.set_xlabel("rows (14 features)")


def _memory_bound(n_rows: int, n_features: int, passes: dict[str, Any]) -> float:
    """Return the seconds in which the bytes of a fit of 40 rounds could be copied.

    The table is read and its codes are written; they are read to be counted, read and written
    when bins are merged; and 40 rounds of 4 passes read each code twice, and of each row a label
    and a score, which is written back.
    """
    a_row = (8 + 1) * n_features + 3 * n_features + 40 * (2 * n_features + 4 * 9)
    return float(n_rows * a_row / passes["bandwidth"])


def _same_size(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the fits of as many rows as features and rounds were varied at."""
    n_rows = raw["growth"][0]["rows"]
    found: dict[str, Any] = next(size for size in raw["sizes"] if size["rows"] == n_rows)
    return found


def _against_features(axis: Any, raw: dict[str, Any]) -> None:
    same = _same_size(raw)
    found = sorted(
        (size["features"], _seconds(size["fits"], "ours")) for size in (same, *raw["growth"][:-1])
    )
    axis.plot(*zip(*found, strict=True), "o-", color=_OURS, label="ours")
    axis.set(xlabel=f"features ({same['rows']:,} rows)", xlim=(0, None), ylim=(0, None))


def _against_rounds(axis: Any, raw: dict[str, Any]) -> None:
    same = _same_size(raw)
    rounds = sorted({fit["rounds"] for fit in raw["growth"][-1]["fits"]})
    ours = [(n, _seconds(raw["growth"][-1]["fits"], "ours", n)) for n in rounds]
    ours = sorted([*ours, (300, _seconds(same["fits"], "ours", 300))])
    axis.plot(*zip(*ours, strict=True), "o-", color=_OURS, label="ours")
    axis.plot(
        [300], [_seconds(same["fits"], "reference")], "o", color=_REFERENCE, label="reference"
    )
    axis.set(xlabel=f"rounds ({same['rows']:,} rows)", xlim=(0, None), ylim=(0, None))
