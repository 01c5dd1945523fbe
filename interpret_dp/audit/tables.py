"""An audit's results as Markdown, JSON and a figure, and into a page between two marks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interpret_dp._figures import floor_text
from interpret_dp._version import __version__
from interpret_dp.audit.results import STANDS, AttackLine, ReplayLine

__all__ = ["draw_figure", "put_into_page", "to_json", "to_markdown"]

BEGIN, END = "<!-- audit: begin -->", "<!-- audit: end -->"

_VERDICTS = {
    (False, True): "stands",
    (True, True): "**refuted, as it must be**",
    (True, False): "**REFUTED**",
    (False, False): "**NOT REFUTED, though it must be**",
}
_ATTACK_HEAD = (
    "| claim of | epsilon | proved epsilon >= | as Gaussian >= | attack | finds | verdict |\n"
    "|---|--:|--:|--:|---|--:|---|"
)
_REPLAY_HEAD = (
    "| explainer | pairs of tables | releases | largest change / sensitivity | violations |\n"
    "|---|--:|--:|--:|--:|"
)


def to_markdown(lines: Sequence[AttackLine | ReplayLine]) -> str:
    """Return both tables; bounds are rounded down."""
    attacks = [line for line in lines if isinstance(line, AttackLine)]
    replays = [line for line in lines if isinstance(line, ReplayLine)]
    minutes = math.ceil(sum(line.seconds for line in lines) / 60)
    parts = [
        f"interpret_dp {__version__}; {minutes} minutes of one processor. Every line at delta "
        f"{attacks[0].delta:g} and {attacks[0].confidence:.0%} confidence."
        if attacks
        else f"interpret_dp {__version__}."
    ]
    if attacks:
        parts.append("\n".join([_ATTACK_HEAD, *map(_attack_row, attacks)]))
    if replays:
        parts.append("\n".join([_REPLAY_HEAD, *map(_replay_row, replays)]))
    return "\n\n".join(parts) + "\n"


def _attack_row(line: AttackLine) -> str:
    gaussian = "" if line.gaussian_bound is None else _bound(line.gaussian_bound)
    how = line.attack if line.runs == 1 else f"{line.attack}, {line.runs:,} fits a side"
    finds = "nothing" if math.isinf(line.finds) else f"{line.finds:.3g}"
    verdict = _VERDICTS[line.is_refuted, line.is_as_expected]
    return (
        f"| {line.subject} | {line.epsilon:g} | {_bound(line.bound)} | {gaussian} "
        f"| {how}: {line.evidence} | {finds} | {verdict} |"
    )


def _replay_row(line: ReplayLine) -> str:
    # Rounded up, so that more than the sensitivity never shows as 1.
    ratio = math.ceil(line.worst_ratio * 1e4) / 1e4
    return (
        f"| {line.subject} | {line.pairs} | {line.releases:,} | {ratio:.4f} "
        f"| {len(line.violations) or 'none'} |"
    )


def _bound(value: float) -> str:
    return floor_text(value, 3) if value > 0 else "0"


def to_json(lines: Sequence[AttackLine | ReplayLine]) -> str:
    """Return a JSON document of all lines."""
    document: dict[str, Any] = {
        "interpret_dp": __version__,
        "attacks": [line.to_dict() for line in lines if isinstance(line, AttackLine)],
        "replays": [line.to_dict() for line in lines if isinstance(line, ReplayLine)],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def put_into_page(page: str, markdown: str) -> str:
    """Return a page with the text between its two marks replaced.

    Raises
    ------
    ValueError
        If the page does not have both marks, each once and in order.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after or END in before:
        raise ValueError(
            f"The page must have the lines {BEGIN!r} and {END!r}, each once and in this order. Put "
            "them where the tables belong."
        )
    return f"{before}{BEGIN}\n{markdown.strip()}\n{END}{after}"


def draw_figure(lines: Sequence[AttackLine | ReplayLine], path: Path) -> None:
    """Draw claimed epsilon against the proved bound, as a PNG.

    Parameters
    ----------
    lines : sequence of AttackLine or ReplayLine
        Replays have no place in it.
    path : Path
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    attacks = [line for line in lines if isinstance(line, AttackLine)]
    figure = Figure(figsize=(7.5, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    largest = 1.15 * max([1.0, *(max(line.epsilon, line.best) for line in attacks)])
    axes.fill_between([0, largest], [0, largest], [largest] * 2, color="#c0392b", alpha=0.08, lw=0)
    axes.plot([0, largest], [0, largest], color="#7f8c8d", lw=1)
    axes.text(0.02 * largest, 0.95 * largest, "above the line: the claim is refuted", va="top")
    for at, subject in enumerate(dict.fromkeys(line.subject for line in attacks)):
        own = [line for line in attacks if line.subject == subject]
        must_stand = own[0].expected == STANDS
        axes.plot(
            [line.epsilon * (1 + 0.015 * (at - 4)) for line in own],
            [line.best for line in own],
            "osD^vPX*<>hd"[at % 12],
            color="#2471a3" if must_stand else "#c0392b",
            label=subject + ("" if must_stand else " (must be refuted)"),
        )
    axes.set(
        xlim=(0, 1.15 * max([1.0, *(line.epsilon for line in attacks)])),
        ylim=(0, largest),
        xlabel=f"claimed epsilon (delta {attacks[0].delta:g})" if attacks else "claimed epsilon",
        ylabel="proved lower bound on epsilon",
    )
    if attacks:
        axes.legend(loc="center left", bbox_to_anchor=(0.0, -0.32), fontsize="small", frameon=False)
    figure.savefig(path, dpi=130, format="png")
