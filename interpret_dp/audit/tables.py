"""An audit's results as Markdown, as JSON and as a figure."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interpret_dp._documents import replaced_file, sealed
from interpret_dp._figures import floor_text
from interpret_dp._version import __version__
from interpret_dp.audit.results import STANDS, AttackLine, ReplayLine

__all__ = ["draw_figure", "to_json", "to_markdown"]

_BELOW, _ABOVE = "#2471a3", "#c0392b"

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
        f"interpret_dp {__version__}; minutes of one processor: {minutes}. Every line at delta "
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
    """Return a JSON document of all lines, with the digest of its content."""
    document: dict[str, Any] = {
        "interpret_dp": __version__,
        "attacks": [line.to_dict() for line in lines if isinstance(line, AttackLine)],
        "replays": [line.to_dict() for line in lines if isinstance(line, ReplayLine)],
    }
    return json.dumps(sealed(document), indent=2, allow_nan=False) + "\n"


def draw_figure(lines: Sequence[AttackLine | ReplayLine], path: Path) -> None:
    """Draw, for each attack, the claimed epsilon and the bound that it proved, as a PNG.

    Parameters
    ----------
    lines : sequence of AttackLine or ReplayLine
        Replays have no place in it.
    path : Path
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    attacks = sorted(
        (line for line in lines if isinstance(line, AttackLine)),
        key=lambda line: (line.expected != STANDS, line.subject, line.epsilon),
    )
    figure = Figure(figsize=(9.0, 1.4 + 0.27 * len(attacks)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    places = range(len(attacks))
    colours = [_ABOVE if line.is_refuted else _BELOW for line in attacks]
    claims, bounds = [line.epsilon for line in attacks], [line.best for line in attacks]
    axes.hlines(places, 0, claims, color="#d5d8dc", lw=6, zorder=1)
    axes.scatter(claims, places, marker="|", s=160, color="#424949", zorder=2, label="claimed")
    axes.scatter(bounds, places, color=colours, zorder=3, label="proved: at least")
    axes.set_yticks(list(places), _labels(attacks))
    axes.invert_yaxis()
    axes.set_xlim(left=-0.05)
    axes.set_xlabel("epsilon; right of its mark: refuted")
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(left=False)
    with replaced_file(path) as pending:
        figure.savefig(pending, dpi=130, format="png")


def _labels(attacks: Sequence[AttackLine]) -> list[str]:
    """Return the name of each attack; with its evidence where two have one name."""
    names = [f"{line.subject}, epsilon {line.epsilon:g}" for line in attacks]
    return [
        f"{name}, by {line.evidence}" if names.count(name) > 1 else name
        for name, line in zip(names, attacks, strict=True)
    ]
