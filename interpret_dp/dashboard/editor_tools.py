"""The tools of the editor: buttons that edit the selected bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["LEVEL_TOOLS", "NUMBER_TOOLS", "SHAPE_TOOLS", "TOOLS", "Tool"]

_ORDERED = frozenset({"continuous", "ordinal"})
_CONTINUOUS = frozenset({"continuous"})
_ALL = _ORDERED | {"nominal", "interaction"}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A button that edits the selected bins.

    Attributes
    ----------
    label, hint : str
        What the button says, and what it says at length.
    kind : str
        Name of the session's method.
    arguments : mapping
    number : str
        Name of the argument that takes the typed number; empty if none does.
    suits : frozenset of str
        The kinds of terms that it makes sense for.
    takes_all : bool
        Whether the whole curve includes missing and undeclared values.
    """

    label: str
    hint: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    number: str = ""
    suits: frozenset[str] = _ALL
    takes_all: bool = False


SHAPE_TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "increasing": Tool(
            label="Increasing",
            hint="The nearest curve that never falls (isotonic regression)",
            kind="make_monotone",
            arguments={"increasing": True},
            suits=_ORDERED,
        ),
        "decreasing": Tool(
            label="Decreasing",
            hint="The nearest curve that never rises (isotonic regression)",
            kind="make_monotone",
            arguments={"increasing": False},
            suits=_ORDERED,
        ),
        "monotone": Tool(
            label="Monotone",
            hint="Increasing or decreasing, whichever is nearer",
            kind="make_monotone",
            arguments={"increasing": "auto"},
            suits=_ORDERED,
        ),
        "smooth": Tool(
            label="Smooth",
            hint="Take the noise off as far as its known size allows",
            kind="smooth",
            suits=_ORDERED | {"interaction"},
        ),
        "convex": Tool(
            label="Convex",
            hint="The nearest curve that bends upwards",
            kind="make_convex",
            suits=_CONTINUOUS,
        ),
        "concave": Tool(
            label="Concave",
            hint="The nearest curve that bends downwards",
            kind="make_concave",
            suits=_CONTINUOUS,
        ),
        "line": Tool(
            label="Connect ends",
            hint="A straight line from the first to the last selected bin",
            kind="interpolate",
            arguments={"method": "ends"},
            suits=_ORDERED,
        ),
        "fit": Tool(
            label="Fit a line",
            hint="The straight line nearest to the selected bins",
            kind="interpolate",
            arguments={"method": "fit"},
            suits=_ORDERED,
        ),
    }
)
LEVEL_TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "flatten": Tool(
            label="Flatten",
            hint="Give every selected bin their mean, weighted by the noisy counts",
            kind="flatten",
        ),
        "remove": Tool(
            label="Remove effect",
            hint="Score 0: with the whole curve selected, the feature no longer counts",
            kind="remove_effect",
            takes_all=True,
        ),
        "left": Tool(
            label="Align left",
            hint="Give every selected bin the score of the first of them",
            kind="align",
            arguments={"to": "left"},
            suits=_ORDERED,
        ),
        "right": Tool(
            label="Align right",
            hint="Give every selected bin the score of the last of them",
            kind="align",
            arguments={"to": "right"},
            suits=_ORDERED,
        ),
    }
)
NUMBER_TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "shift": Tool(label="Shift by", hint="Add the number", kind="shift", number="by"),
        "scale": Tool(
            label="Scale by", hint="Multiply by the number", kind="scale", number="factor"
        ),
        "set": Tool(label="Set to", hint="Give the number", kind="set_scores", number="scores"),
        "cap": Tool(
            label="Cap at",
            hint="No score above the number, none below minus the number",
            kind="cap",
            number="magnitude",
            takes_all=True,
        ),
    }
)
TOOLS: Mapping[str, Tool] = MappingProxyType({**SHAPE_TOOLS, **LEVEL_TOOLS, **NUMBER_TOOLS})
"""All of them, by the name of the button."""
