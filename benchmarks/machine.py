"""The machine on which something was measured, and how fast it moves memory."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["bandwidth", "describe_machine", "machine_text"]

_BYTES = 2**28  # of each array: far more than any cache holds
_REPEATS = 5


def describe_machine(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a reader needs to judge a timing.

    Parameters
    ----------
    packages : sequence of str
        Whose versions matter besides those that always do.
    """
    names = ("numpy", "numba", "pandas", "interpret-core", *packages)
    return {
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory in GiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in names},
        "load average before": [round(load, 2) for load in os.getloadavg()],
    }


def machine_text(machine: Mapping[str, Any]) -> str:
    """Say it in a paragraph of a page, with a warning where other work was going on."""
    said = f"Machine: {'; '.join(f'{name} {value}' for name, value in machine.items())}."
    if machine["load average before"][0] > machine["processors"] / 2:
        said += (
            " **It was busy with other work: wall times are too long, and processor times somewhat,"
            " since caches are shared. Ratios are rough.**"
        )
    return said


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def bandwidth(n_threads: int) -> float:
    """Return the bytes a second that copying moves, read and written: the best of five copies.

    Parameters
    ----------
    n_threads : int
        Each copies a part of one array.
    """
    source, target = np.ones(_BYTES // 8), np.zeros(_BYTES // 8)
    parts = np.linspace(0, len(source), n_threads + 1).astype(int).tolist()

    def copy(part: int) -> None:
        rows = slice(parts[part], parts[part + 1])
        np.copyto(target[rows], source[rows])

    best = float("inf")
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(_REPEATS):
            began = time.perf_counter()
            list(pool.map(copy, range(n_threads)))
            best = min(best, time.perf_counter() - began)
    return 2 * _BYTES / best
