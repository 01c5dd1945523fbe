"""What the privacy panel says of the answers of an explainer: their sources, costs and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interpret_dp._figures import ceil_text, floor_text
from interpret_dp.explanation.markup import Element, element
from interpret_dp.explanation.row_spend import source_of

__all__ = ["answer_words", "query_tiles", "sources_table"]

_MUTED = "color: #556471; font-size: 12.5px"
_CELL = "padding: 3px 18px 3px 0; vertical-align: top; border: 0; font-size: 13px"
_LEFT, _RIGHT = f"{_CELL}; text-align: left", f"{_CELL}; text-align: right"

_FREE = {
    "post-processed": "Nothing new was read from the data.",
    "reused": "Reused: an earlier explanation is shown again, which costs nothing.",
}
_ROW_WORDS = {
    "released now": "Released: computed on the private rows and paid for when it was asked. "
    "Looking at it again costs nothing.",
    "reused from a near query": "Reused: it is the released explanation of a near query, shown "
    "again, which costs nothing.",
    "from the released history": "Free: computed from earlier released explanations. It is less "
    "exact.",
    "from the background": "Free: computed from the released background, for any number of rows.",
    "from the surrogate": "Free: read off the released surrogate, an additive model of the "
    "explained one.",
}


def answer_words(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return what an explanation cost as a title, and a sentence on where it comes from.

    Parameters
    ----------
    document : mapping
        ``explanation.privacy.to_dict()``.
    """
    rows, released = document["rows"], document["origin"] == "released"
    cost = f"epsilon {ceil_text(document['explanation_epsilon'])}"
    if len(rows) > 1:
        subject = f"These {len(rows):,} explanations"
        title = f"{subject} cost {cost} together" if released else f"{subject} cost no privacy"
        return title, "Looking at them again costs nothing."
    if released:
        title = f"This explanation cost {cost}"
    elif rows:
        title = "This explanation cost no privacy"
    else:
        title = "Looking at this explanation costs no privacy"
    if rows:
        return title, _ROW_WORDS[source_of(rows[0]["origin"], rows[0]["method"])]
    paid = "Released anew: this explanation was computed on the private rows and paid for."
    return title, paid if released else _FREE[document["origin"]]


def query_tiles(document: Mapping[str, Any], at_delta: str) -> list[tuple[str, str, str]]:
    """Return name, value and unit of the figures of an explainer.

    Parameters
    ----------
    document : mapping
        ``explanation.privacy.to_dict()``.
    at_delta : str
        The delta of its guarantee, in words.
    """
    many = len(document["rows"]) > 1
    own = ceil_text(document["explanation_epsilon"])
    whole = ceil_text(document["guarantee"]["epsilon"])
    tiles = [
        ("These explanations" if many else "This explanation", f"epsilon {own}", at_delta),
        ("The explainer's whole budget", f"epsilon {whole}", at_delta),
    ]
    queries = document["queries"]
    if queries is None:
        return tiles
    spent, left, more = (
        queries[name] for name in ("spent_epsilon", "remaining_epsilon", "more_queries")
    )
    if spent is not None:
        tiles.append(("Spent on explanations so far", f"epsilon {ceil_text(spent)}", at_delta))
    if left is not None:
        unit = at_delta
        if more is not None:
            unit = f"about {more:,} more quer{'y' if more == 1 else 'ies'}"
        tiles.append(("Left for further queries", f"epsilon {floor_text(left)}", unit))
    return tiles


def sources_table(document: Mapping[str, Any]) -> Element | None:
    """Return how many rows come from where, and what they cost; None for a single row."""
    rows = document["rows"]
    if len(rows) < 2:
        return None
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        key = (source_of(row["origin"], row["method"]), row["method"])
        groups.setdefault(key, []).append(row["epsilon"])
    body = [
        _table_row("td", [source, method, f"{len(costs):,}", _each(costs)])
        for (source, method), costs in groups.items()
    ]
    head = _table_row("th", ["Where they come from", "Method", "Rows", "Epsilon of each"])
    note = (
        "Epsilons do not add up: together the rows cost less than the sum."
        if sum(row["epsilon"] > 0 for row in rows) > 1
        else None
    )
    return element(
        "div",
        element(
            "table",
            element("thead", head),
            element("tbody", *body),
            style="border-collapse: collapse; margin: 4px 0; border: 0",
            css_class="interpret-dp-sources",
        ),
        None if note is None else element("div", note, style=_MUTED),
        style="margin: 4px 0 8px",
    )


def _table_row(tag: str, cells: Sequence[str]) -> Element:
    styles = (_LEFT, _LEFT, _RIGHT, _RIGHT)
    head = f"; {_MUTED}; font-weight: 500" if tag == "th" else ""
    return element(
        "tr",
        *(element(tag, cell, style=f"{s}{head}") for cell, s in zip(cells, styles, strict=True)),
        style="background: none; border: 0",
    )


def _each(costs: Sequence[float]) -> str:
    lowest, highest = ceil_text(min(costs)), ceil_text(max(costs))
    if max(costs) == 0:
        return "free"
    return highest if lowest == highest else f"{lowest} to {highest}"
