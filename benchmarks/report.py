"""How benchmarks write pages of results: each ends with the command, the day and the code."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import interpret_dp
from benchmarks.machine import describe_machine, machine_text
from interpret_dp._documents import write_file

__all__ = [
    "Report",
    "Section",
    "command",
    "drawing",
    "provenance",
    "public_tables",
    "spread",
    "write_page",
]

_RESULTS = Path("benchmarks/results")
_FIGURES = Path("docs/figures")
_CODE = ("interpret_dp", "benchmarks/*.py")


def command() -> str:
    """Return the command that runs."""
    return shlex.join(["python", "-m", _module(), *sys.argv[1:]])


def provenance(measured_by: str | None = None) -> str:
    """Return the command (default: what runs), the day, and version and commit of the code."""
    commit = _git("rev-parse", "--short=10", "HEAD") or "an unknown commit"
    if _git("status", "--porcelain", "--untracked-files=no", "--", *_CODE):
        commit += "-dirty"
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    code = f"interpret_dp {interpret_dp.__version__} at {commit}"
    return f"`{measured_by or command()}`, {day}, {code}."


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def write_page(path: Path, text: str) -> None:
    """Write a page of results that ends with its provenance.

    Parameters
    ----------
    path : Path
    text : str
        Markdown.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, f"{text.rstrip()}\n\n{provenance()}\n")


class Section:
    """A section of a page: paragraphs, tables and figures, printed as it grows.

    Parameters
    ----------
    title : str
    figure : str
        The name of its figure in docs/figures.
    measured_by : str
        The command.
    """

    def __init__(self, title: str, figure: str, measured_by: str) -> None:
        self._figure, self._measured_by = figure, measured_by
        self._parts: list[str] = []
        self.add(f"### {title}")

    def add(self, *parts: str | pd.DataFrame) -> None:
        """Add paragraphs and tables."""
        for part in parts:
            text = part if isinstance(part, str) else "\n".join(_table(part))
            print(text, flush=True)
            self._parts.append(text)

    @contextmanager
    def drawing(self, shows: str, n_columns: int, **size: Any) -> Iterator[Any]:
        """Yield axes row by row, and add the image; ``shows`` says what it shows."""
        with drawing(self._figure, n_columns, **size) as axes:
            yield axes
        self.add(f"![{shows}](figures/{self._figure}.png)")

    @property
    def text(self) -> str:
        """The section as Markdown, with its provenance."""
        return "\n\n".join([*self._parts, provenance(self._measured_by)])


@contextmanager
def drawing(
    name: str, n_columns: int, *, width: float = 4.6, height: float = 3.4, n_rows: int = 1
) -> Iterator[Any]:
    """Yield axes, of so many inches each, and save them as a small image; flat, row by row."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    size = (width * n_columns, height * n_rows)
    figure, axes = pyplot.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    yield axes.ravel()
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    _FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(_FIGURES / f"{name}.png", dpi=90, metadata={"Software": None})
    pyplot.close(figure)


class Report:
    """A page of tables, printed as it grows.

    Parameters
    ----------
    title : str
    is_kept : bool, default=True
        False for quick runs: neither the page nor its figures are written.
    is_timed : bool, default=False
        Say on the page what machine it is.
    packages : sequence of str
        Whose versions matter to the times.
    """

    def __init__(
        self,
        title: str,
        *,
        is_kept: bool = True,
        is_timed: bool = False,
        packages: Sequence[str] = (),
    ) -> None:
        self._is_kept, self._is_timed = is_kept, is_timed
        self._lines = [f"# {title}"]
        self._raw: dict[str, Any] = {
            "command": command(),
            "machine": describe_machine(packages),
            "sections": [],
        }
        if is_timed:
            self._lines += ["", machine_text(self._raw["machine"])]
        print("\n".join(self._lines), flush=True)

    def add(
        self,
        heading: str,
        frame: pd.DataFrame | None = None,
        note: str = "",
        *,
        measured: Any = None,
    ) -> None:
        """Add a section of a note and a table.

        Parameters
        ----------
        heading : str
        frame : DataFrame, optional
        note : str
        measured : object, optional
            Every single measurement, as JSON takes it; None: what the table says.
        """
        rows = [] if frame is None else frame.to_dict("records")
        self._raw["sections"].append(
            {"heading": heading, "rows": rows if measured is None else measured}
        )
        lines = ["", f"## {heading}"]
        if note:
            lines += ["", note]
        if frame is not None:
            lines += ["", *_table(frame)]
        print("\n".join(lines), flush=True)
        self._lines += lines

    def write(self, name: str, draw: Callable[[dict[str, Any], Path], None] | None = None) -> None:
        """Write the page to benchmarks/results, and times as JSON beside it.

        Parameters
        ----------
        name : str
        draw : callable, optional
            Draws what was measured into the image of that name, given both.
        """
        if self._is_kept:
            path = _RESULTS / f"{name}.md"
            write_page(path, "\n".join(self._lines))
            raw = json.dumps(self._raw, indent=1, default=_plain)
            if self._is_timed:
                path.with_suffix(".json").write_text(raw, encoding="utf-8")
            if draw is not None:
                draw(json.loads(raw), _FIGURES / f"{name}.png")


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Say the median, and in brackets the smallest and the largest."""
    middle, low, high = (
        f"{value:.{digits}g}" for value in (np.median(values), min(values), max(values))
    )
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def _plain(value: Any) -> Any:
    """Return a value of numpy as JSON takes it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)


def _module() -> str:
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return "benchmarks" if spec is None else spec.name.removesuffix(".__main__")


def _table(frame: pd.DataFrame) -> list[str]:
    lines = ["| " + " | ".join(map(str, frame.columns)) + " |"]
    lines.append("|" + " --- |" * len(frame.columns))
    for row in frame.itertuples(index=False):
        lines.append("| " + " | ".join(_cell(value) for value in row) + " |")
    return lines


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)


@contextmanager
def public_tables() -> Iterator[None]:
    """Silence what reading a schema off rows warns of: benchmarks treat their tables as public."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Schema.draft reads")
        yield
