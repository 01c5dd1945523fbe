"""The privacy panel: what an explanation, its model and its data set have cost, in plain words.

A template that is filled from the document of :meth:`PrivacySpend.to_dict` alone. Notebooks and
exported pages show its HTML, interpret's dashboard the same elements as components of Dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interpret_dp._validate import ceil_text, counted
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD, HOLDS, HOLDS_IF, detection_text
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.explanation.budget import OF_SEVERAL_ROWS
from interpret_dp.explanation.markup import percent_up, render

EDGES = {HOLDS: "#0072b2", HOLDS_IF: "#e69f00", DOES_NOT_HOLD: "#d55e00"}
"""Colour of a box by the state of the guarantee in it."""

TITLES = {
    HOLDS: "Privacy guarantee",
    HOLDS_IF: "Privacy guarantee, on conditions",
    DOES_NOT_HOLD: "No privacy guarantee: it does not hold",
}
"""First line of a box, by state."""


def panel_html(document: Mapping[str, Any], *, boxed: bool = True) -> str:
    """Return the panel of one explanation: a plain block, and all figures in a fold.

    Parameters
    ----------
    document : mapping
        ``explanation.privacy.to_dict()``.
    boxed : bool
        Draw a frame, whose edge shows at a glance whether anything is promised.
    """
    state, guarantee = document["state"], document["guarantee"]
    return render(
        "panel.html",
        **document,
        boxed=boxed,
        edge=EDGES[state],
        title=TITLES[state],
        is_void=state == DOES_NOT_HOLD,
        of_rows=_is_of_rows(guarantee),
        # A figure and its unit stay on one line.
        meaning=meaning_text(document).replace(" %", "\N{NO-BREAK SPACE}%"),
        shares=_shares(guarantee["releases"]),
    )


def _is_of_rows(guarantee: Mapping[str, Any]) -> bool:
    """Whether a promise is about rows: it must not be read as one about everybody who has some."""
    return bool(guarantee["unit"] == Neighbourhood().unit_text)


def meaning_text(document: Mapping[str, Any]) -> str:
    """Return what the figures mean, in the terms of somebody who wants to find a person."""
    if document["state"] == DOES_NOT_HOLD:
        return "No figure bounds what somebody can find out."
    seen = f"that the {document['subject']} published"
    guarantee = document["guarantee"]
    of_rows, probability = _is_of_rows(guarantee), percent_up(document["detection"]["model"])
    relation = guarantee["neighboring"]
    odds = detection_text(probability, relation=relation, of_rows=of_rows, seen=seen)
    return f"{odds} {OF_SEVERAL_ROWS}" if of_rows else odds


def _shares(releases: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return what the releases behind a guarantee took of it."""
    total = sum(release["mu"] ** 2 for release in releases)
    shares = []
    for release in releases:
        text = counted(release["count"], "release")
        if total:
            text += f", {100 * release['mu'] ** 2 / total:.3g} % of the spend"
        if release.get("delta"):
            text += f", own delta {ceil_text(release['delta'])}"
        shares.append({"name": release["name"], "text": text})
    return shares
