"""Time of our dashboard and of interpret's own, in one browser: ``python -m benchmarks.dashboard``.

Both show a model of the same simulated table: our private EBM and interpret's EBM. A step counts
until every figure is drawn. Ours opens at a curve, interpret's at importances. Results are
processor times of server and browser together, which other work on the machine changes little, and
wall times. Target: at most 1.5 times as slow.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.machine import describe_machine, machine_text
from benchmarks.report import write_page
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    Schema,
)

__all__ = ["main"]

_RESULTS = Path(__file__).parent / "results" / "dashboard.md"
# Numbers, and levels of one more feature.
_TABLES = ((14, 0), (500, 0), (14, 1_000))
_KINDS = ("ours", "interpret")
_ROWS, _CLICKS = 3_000, 2
_WAIT = 120_000  # milliseconds
_PAUSE = 300  # milliseconds: what a step sets off later belongs to it
_DRAWN = """
count => document.title !== 'Updating...' && [...document.querySelectorAll('.js-plotly-plot')]
    .filter(plot => plot.querySelector('.main-svg')).length === count
"""


# ----------------------------------------------------------------------------------- the server


def _explanation(kind: str, n_numbers: int, n_levels: int) -> Any:
    """Fit a model of noise, whose curves do not matter, and explain it."""
    rng = np.random.default_rng(0)
    names = [f"feature {number}" for number in range(n_numbers)]
    declared: dict[str, Any] = {name: Continuous(0, 1) for name in names}
    X = pd.DataFrame(rng.uniform(0, 1, (_ROWS, n_numbers)), columns=names)
    y = X.sum(axis=1).to_numpy()
    if n_levels:
        levels = [f"place {number:04d}" for number in range(n_levels)]
        X.insert(0, "place", rng.choice(levels, _ROWS))
        declared = {"place": Categorical(levels), **declared}
    if kind == "interpret":
        from interpret.glassbox import ExplainableBoostingRegressor

        options = {"interactions": 0, "outer_bags": 2, "max_rounds": 5, "n_jobs": 1}
        return ExplainableBoostingRegressor(**options).fit(X, y).explain_global(name="shown")
    schema = Schema(declared, target=Continuous(0, n_numbers))
    model = DPExplainableBoostingRegressor(schema=schema, epsilon=4.0)
    return model.fit(X, y).explain_global(name="shown")


def _serve(kind: str, n_numbers: int, n_levels: int, port: int) -> None:
    import interpret

    warnings.simplefilter("ignore")
    explanation = _explanation(kind, n_numbers, n_levels)
    shown = [explanation]
    interpret.init_show_server(("127.0.0.1", port))
    print(interpret.show_link(explanation), interpret.show_link(shown), flush=True)
    sys.stdin.read()
    interpret.shutdown_show_server()


@contextmanager
def _served(kind: str, table: tuple[int, int], port: int) -> Iterator[list[str]]:
    """Yield the addresses of the small and the full dashboard of another process."""
    module = [sys.executable, "-m", "benchmarks.dashboard", "--serve", kind]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*module, *map(str, (*table, port))], **pipes) as process:
        yield process.stdout.readline().split()  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------- the browser


def _processor_seconds() -> float:
    """Return the processor time of this process and of all that it has started."""
    own, children = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, _, rest = path.read_text(encoding="utf-8").partition(" (")
        except OSError:
            continue
        fields = rest.rpartition(") ")[2].split()
        own[int(number)] = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append(int(number))
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += own.get(process, 0)
        waiting += children.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def _measured(kind: str, page: Any, addresses: list[str]) -> dict[str, tuple[float, float]]:
    """Return the processor and the wall time of each step, in seconds."""
    times: dict[str, list[tuple[float, float]]] = {}

    def step(name: str, act: Callable[[], Any], n_figures: int, sign: str = "body") -> None:
        used, began = _processor_seconds(), time.perf_counter()
        act()
        page.locator(sign).first.wait_for(state="attached")
        page.wait_for_function(_DRAWN, arg=n_figures)
        wall = time.perf_counter() - began
        page.wait_for_timeout(_PAUSE)
        times.setdefault(name, []).append((_processor_seconds() - used, wall))

    def choose(place: str, option: int) -> None:
        page.locator(place).click()
        page.locator(".dash-dropdown-option").nth(option).click()
        page.keyboard.press("Escape")

    def open_global() -> None:
        page.goto(full)
        if kind == "interpret":
            page.locator("#tabs .tab", has_text="Global").click()
            page.locator("#global-model-drop").wait_for()
            choose("#global-model-drop", 0)

    def show_bar(place: int) -> tuple[Callable[[], Any], int, str]:
        bar = page.locator(".idp-term").nth(place)
        name = bar.locator("span").first.inner_text()
        return bar.click, 1, f'[aria-label="Editor of {name}"]'

    small, full = addresses
    page.goto(small)  # what the browser has to compile once
    page.wait_for_function(_DRAWN, arg=1)
    step("open the small dashboard", lambda: page.goto(small), 1)
    for place in range(1, _CLICKS + 1):
        click = f"small: show another term (mean of {_CLICKS})"
        if kind == "ours":
            step(click, *show_bar(place))
        else:
            title = f'.card-title:has-text("[{place - 1}]")'
            step(click, lambda place=place: choose("#component-drop", place), 1, title)
    step("open Global in the full dashboard", open_global, 1)
    for place in range(1, _CLICKS + 1):
        click = f"full: show another term (mean of {_CLICKS})"
        if kind == "ours":
            step(click, *show_bar(place))
        else:
            row = page.locator(".dash-select-cell input:visible").nth(place - 1)
            step(click, row.click, place + 1)
    return {
        name: (statistics.fmean(c for c, _ in entries), statistics.fmean(w for _, w in entries))
        for name, entries in times.items()
    }


def _compare(table: tuple[int, int], port: int, executable: str) -> list[str]:
    """Return the lines of one table of both dashboards."""
    from playwright.sync_api import sync_playwright

    from tests.browser.driver import CHROMIUM_ARGUMENTS

    times, said = {}, set()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(CHROMIUM_ARGUMENTS)
        )
        for number, kind in enumerate(_KINDS):
            with _served(kind, table, port + number) as addresses:
                page = browser.new_page(viewport={"width": 1366, "height": 900})
                page.set_default_timeout(_WAIT)
                if kind == "ours":
                    page.on("console", lambda message: said.add(message.text))
                    page.on("pageerror", lambda error: said.add(str(error)))
                times[kind] = _measured(kind, page, addresses)
                page.close()
        browser.close()
    n_numbers, n_levels = table
    title = f"{n_numbers} numbers" + (f" and one feature of {n_levels:,} levels" * bool(n_levels))
    lines = [
        f"## {title}",
        "",
        "| step | ours | interpret | ratio | wall, ours | wall, interpret |",
    ]
    lines.append("|---|---|---|---|---|---|")
    for name, (ours, our_wall) in times["ours"].items():
        theirs, their_wall = times["interpret"][name]
        lines.append(
            f"| {name} | {ours:.2f} s | {theirs:.2f} s | {ours / theirs:.2f} | {our_wall:.1f} s | "
            f"{their_wall:.1f} s |"
        )
    words = "; ".join(sorted(said)) or "nothing"
    return [*lines, "", f"Our pages wrote {words} into the browser's console.", ""]


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=4, metavar="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--chromium", default=shutil.which("chromium"), help="the browser's executable"
    )
    parser.add_argument("--port", type=int, default=7_600)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    arguments = parser.parse_args()
    if arguments.serve:
        kind, *numbers = arguments.serve
        _serve(kind, *map(int, numbers))
        return
    machine = machine_text(describe_machine(("dash", "plotly")))
    lines = ["# Our dashboard beside interpret's", "", "Command: `python -m benchmarks.dashboard`."]
    lines += ["", "Processor time of server and browser; wall times behind it.", machine, ""]
    for number, table in enumerate(_TABLES):
        lines += _compare(table, arguments.port + 2 * number, arguments.chromium)
        write_page(arguments.out, "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
