"""Figures of what the benchmarks of DP-LIME's, DP-LLM's and Dask's speed measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["draw_dask", "draw_llm"]

_OURS, _THEIRS, _OTHER = "#14609c", "#d9480f", "#868e96"
_ENGINES = {"closed form": _OURS, "hooks": _THEIRS, "ghost": "#e8a200"}
_MODELLED = {10**8: "#868e96", 10**9: "#14609c", 10**10: "#d9480f"}

Raw = dict[str, Any]


@contextmanager
def _axes(path: Path, widths: Sequence[float], height: float) -> Iterator[Any]:
    """Yield axes in a row, of so many inches each, and save them as one small image."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1,
        len(widths),
        figsize=(sum(widths), height),
        width_ratios=widths,
        squeeze=False,
        layout="constrained",
    )
    yield axes[0]
    for axis in axes[0]:
        axis.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    pyplot.close(figure)


def _bars(axis: Any, measured: dict[str, Sequence[float]], colours: Sequence[str]) -> None:
    """Draw medians, with lines from the smallest to the largest, the first one on top."""
    middle = [float(np.median(values)) for values in measured.values()]
    low = [one - min(values) for one, values in zip(middle, measured.values(), strict=True)]
    high = [max(values) - one for one, values in zip(middle, measured.values(), strict=True)]
    places = np.arange(len(middle))
    axis.barh(places, middle, xerr=[low, high], color=colours, height=0.7, ecolor="#343a40")
    axis.set_yticks(places, list(measured))
    axis.invert_yaxis()


def _stacked(axis: Any, rows: Sequence[Raw], name: str, n_named: int = 6) -> None:
    """Draw a bar for each column but ``name``, of its largest parts and of all others together."""
    columns = [column for column in rows[0] if column != name]
    share = {row[name]: max(row[column] for column in columns) for row in rows}
    named = sorted(share, key=lambda part: -share[part])[:n_named]
    left = np.zeros(len(columns))
    shades = iter(["#14609c", "#d9480f", "#2b8a3e", "#e8a200", "#9c36b5", "#15aabf", _OTHER])
    for part in [*named, None]:
        label = part or "smaller parts"
        taken = [row for row in rows if (row[name] == part if part else row[name] not in named)]
        size = np.array([sum(row[column] for row in taken) for column in columns])
        axis.barh(np.arange(len(columns)), size, left=left, label=label, color=next(shades))
        left += size
    axis.set_yticks(np.arange(len(columns)), [column.removesuffix(", ms") for column in columns])
    axis.invert_yaxis()
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _sections(raw: Raw, *beginnings: str) -> list[Any]:
    """Return the measurements of the sections whose headings begin so."""
    found = {section["heading"]: section["rows"] for section in raw["sections"]}
    return [
        next(rows for heading, rows in found.items() if heading.startswith(beginning))
        for beginning in beginnings
    ]


def draw_llm(raw: Raw, path: Path) -> None:
    """Draw an epoch of DP-LLM against Opacus', and where its time goes.

    Parameters
    ----------
    raw : dict
        What ``benchmarks.llm_speed`` measured.
    path : Path
    """
    where = _sections(raw, "Where the time goes")[0]
    with _axes(path, (5.6, 7.6), 4.8) as (first, second):
        _epochs(first, raw)
        _stacked(second, where, "part")
        second.set(xlabel="processor ms of an epoch", title="where ours goes")


def _epochs(axis: Any, raw: Raw) -> None:
    """Draw processor seconds of an epoch: a group of bars a setting and size of batches."""
    groups: list[tuple[str, dict[str, float]]] = []
    for section in raw["sections"]:
        jobs = section["rows"]
        if not jobs or "runs" not in jobs[0]:
            continue
        for batch_size in map(str, jobs[0]["batch_sizes"]):
            seconds: dict[str, float] = {}
            for job in jobs:
                taken = [run["epochs"][batch_size]["processor"] for run in job["runs"]]
                # Of several layouts of one engine the fastest.
                best = min(seconds.get(job["engine"], np.inf), float(np.median(taken)))
                seconds[job["engine"]] = best
            if seconds.keys() <= _ENGINES.keys():
                groups.append((_short(jobs[0], batch_size), seconds))
    places = np.arange(len(groups))
    for number, (engine, colour) in enumerate(_ENGINES.items()):
        sizes = [seconds.get(engine, np.nan) for _, seconds in groups]
        axis.barh(places + (number - 1) * 0.27, sizes, height=0.25, color=colour, label=engine)
    axis.set_yticks(places, [name for name, _ in groups], fontsize=8)
    axis.invert_yaxis()
    axis.set(xscale="log", xlabel="processor s of an epoch", title="MNIST, 30 maps, 10 classes")
    axis.set_xlim(0.05, None)
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0.0, -0.12), ncols=3)


def _short(job: Raw, batch_size: str) -> str:
    projection = {"none": "no projection", "cosine": "the rule", "gaussian": "random, each map"}
    name = projection[job["projection"]] + (f" {job['dimension']}" if job["dimension"] else "")
    more = "" if job["is_given"] else ", in every batch"
    threads = "" if job["threads"] == 1 else f", {job['threads']} threads"
    return f"{name}{more}\nbatches of {int(batch_size):,}{threads}"


def draw_dask(
    trips: dict[str, Sequence[float]],
    scheduler: dict[str, Sequence[float]],
    modelled: Callable[[int, int, int], Sequence[float]],
    path: Path,
) -> None:
    """Draw what round trips took, and what the model says of more workers.

    Parameters
    ----------
    trips, scheduler : dict of str to sequence of float
        Milliseconds by the clock and of the caller's processor, for each number of partitions.
    modelled : callable
        Gives the seconds of the parts of a fit for a number of workers, of rows and of threads.
    path : Path
    """
    with _axes(path, (4.6, 5.4), 3.6) as (first, second):
        counts = [int(count) for count in trips]
        for label, times, colour in (
            ("by the clock", trips, _OURS),
            ("of client and scheduler", scheduler, _THEIRS),
        ):
            low, middle, high = np.quantile(list(times.values()), [0.25, 0.5, 0.75], axis=1)
            first.errorbar(
                counts, middle, [middle - low, high - middle], fmt="o-", color=colour, label=label
            )
        first.set(xscale="log", yscale="log", xlabel="partitions of one row", ylabel="ms a trip")
        first.set_title("measured, two workers")
        first.legend(frameon=False, fontsize=8)
        workers = np.unique(np.geomspace(10, 10_000, 40).astype(int))
        for n_rows, colour in _MODELLED.items():
            for n_threads, style in ((1, "-"), (32, "--")):
                seconds = [sum(modelled(int(one), n_rows, n_threads)) for one in workers]
                label = f"{n_rows:,} rows, {n_threads} thread{'s' * (n_threads > 1)} a worker"
                second.plot(workers, seconds, style, color=colour, label=label)
        second.set(xscale="log", yscale="log", xlabel="workers", ylabel="s a fit")
        second.set_title("modelled from it")
        second.legend(frameon=False, fontsize=7)
