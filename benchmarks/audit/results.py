"""Lines of an audit: claimed, proved and detectable losses; as Markdown, JSON and a figure."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from interpret_dp._documents import replaced_file, sealed
from interpret_dp._validate import floor_text
from interpret_dp._version import __version__
from interpret_dp.audit.replaying import ReplayReport

STANDS, REFUTED = "stands", "refuted"
"""Expected verdicts on a claim: no attack may refute it, or the attack must (a control)."""

_BELOW, _ABOVE = "#2471a3", "#c0392b"

_VERDICTS = {
    (False, True): "not refuted",
    (True, True): "**refuted, as expected**",
    (True, False): "**REFUTED**",
    (False, False): "**NOT REFUTED, but should be**",
}
_ATTACK_HEAD = (
    "| claim of | epsilon | verdict | proved | proved, Gaussian | can detect | attack |\n"
    "|---|--:|---|--:|--:|--:|---|"
)
_REPLAY_HEAD = (
    "| explainer | pairs of tables | releases | largest change / sensitivity | violations |\n"
    "|---|--:|--:|--:|--:|"
)


@dataclass(frozen=True)
class AttackLine:
    """One attack on one claim.

    Attributes
    ----------
    subject : str
        Whose claim.
    attack : str
        By what.
    epsilon, delta : float
        The claim.
    bound : float
        Lower bound on epsilon at ``delta``, proved by events.
    gaussian_bound : float or None
        The same from a bound on mu, where Gaussian differential privacy is claimed.
    confidence : float
    runs : int
        Fits with the row and as many without; 1 for a one-run audit.
    evidence : str
        What the larger bound rests on.
    finds : float
        Smallest true epsilon that this attack would refute the claim at, with 90 %.
    is_refuted : bool
    expected : {"stands", "refuted"}
    seconds : float
        Of the processor.
    """

    subject: str
    attack: str
    epsilon: float
    delta: float
    bound: float
    gaussian_bound: float | None
    confidence: float
    runs: int
    evidence: str
    finds: float
    is_refuted: bool
    expected: str
    seconds: float

    @property
    def best(self) -> float:
        """The larger of the two bounds."""
        return max(self.bound, self.gaussian_bound or 0.0)

    @property
    def is_as_expected(self) -> bool:
        """Whether the claim stands that must, and the control is refuted."""
        return self.is_refuted == (self.expected == REFUTED)

    def to_dict(self) -> dict[str, Any]:
        """Return the line for JSON; an infinite ``finds`` becomes None."""
        document = asdict(self)
        document["finds"] = None if math.isinf(self.finds) else self.finds
        return document


@dataclass(frozen=True)
class ReplayLine:
    """Frozen-noise replays of one explainer.

    Attributes
    ----------
    subject : str
    pairs : int
        Pairs of neighbouring tables, each replayed in both directions.
    releases : int
        Checked releases.
    worst_ratio : float
        Largest change of a release over its declared sensitivity; at most 1 if all is well.
    violations : tuple of str
    seconds : float
        Of the processor.
    """

    subject: str
    pairs: int
    releases: int
    worst_ratio: float
    violations: tuple[str, ...]
    seconds: float

    @property
    def is_as_expected(self) -> bool:
        """Whether something was released and nothing broke the promise."""
        return self.releases > 0 and not self.violations

    @classmethod
    def of(cls, subject: str, reports: list[ReplayReport], seconds: float) -> ReplayLine:
        """Sum up replays in both directions of some pairs of tables."""
        return cls(
            subject,
            len(reports) // 2,
            sum(release.count for report in reports for release in report.releases),
            max((report.worst_ratio for report in reports), default=0.0),
            tuple(str(violation) for report in reports for violation in report.violations),
            seconds,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return asdict(self)


def to_markdown(lines: Sequence[AttackLine | ReplayLine]) -> str:
    """Return both tables; bounds are rounded down."""
    attacks = _sorted_attacks(lines)
    replays = [line for line in lines if isinstance(line, ReplayLine)]
    minutes = math.ceil(sum(line.seconds for line in lines) / 60)
    parts = [
        f"interpret_dp {__version__}; {minutes} minutes of processor time. Every line is at delta "
        f"{attacks[0].delta:g} and has {attacks[0].confidence:.0%} confidence."
        if attacks
        else f"interpret_dp {__version__}."
    ]
    if attacks:
        parts.append("\n".join([_ATTACK_HEAD, *map(_attack_row, attacks)]))
    if replays:
        parts.append("\n".join([_REPLAY_HEAD, *map(_replay_row, replays)]))
    return "\n\n".join(parts) + "\n"


def _sorted_attacks(lines: Sequence[AttackLine | ReplayLine]) -> list[AttackLine]:
    """Return the attacks by subject and epsilon, controls last."""
    return sorted(
        (line for line in lines if isinstance(line, AttackLine)),
        key=lambda line: (line.expected != STANDS, line.subject, line.epsilon),
    )


def _attack_row(line: AttackLine) -> str:
    gaussian = "" if line.gaussian_bound is None else _bound(line.gaussian_bound)
    how = line.attack if line.runs == 1 else f"{line.attack}, 2 x {line.runs:,} fits"
    finds = "nothing" if math.isinf(line.finds) else f"{line.finds:.3g}"
    verdict = _VERDICTS[line.is_refuted, line.is_as_expected]
    return (
        f"| {line.subject} | {line.epsilon:g} | {verdict} | {_bound(line.bound)} | {gaussian} "
        f"| {finds} | {how}: {line.evidence} |"
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

    attacks = _sorted_attacks(lines)
    figure = Figure(figsize=(9.0, 1.4 + 0.27 * len(attacks)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    places = range(len(attacks))
    colours = [_ABOVE if line.is_refuted else _BELOW for line in attacks]
    claims, bounds = [line.epsilon for line in attacks], [line.best for line in attacks]
    axes.hlines(places, 0, claims, color="#d5d8dc", lw=6, zorder=1)
    axes.scatter(claims, places, marker="|", s=160, color="#424949", zorder=2, label="claimed")
    axes.scatter(bounds, places, color=colours, zorder=3, label="proved lower bound")
    axes.set_yticks(list(places), _labels(attacks))
    axes.invert_yaxis()
    axes.set_xlim(left=-0.05)
    axes.set_xlabel("epsilon (a dot right of its mark\nrefutes the claim)")
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
