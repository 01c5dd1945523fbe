"""The privacy panel: what an explanation, its model and its data set have cost, in plain words.

Built from the document of :meth:`PrivacySpend.to_dict` alone. Notebooks and exported pages show
it as HTML, interpret's dashboard as components of Dash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from interpret_dp._validate import ceil_text, floor_text, left_for_selections, selections_text
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD, HOLDS, HOLDS_IF, detection_text
from interpret_dp.accounting.lattice import ADD_OR_REMOVE_ONE, Neighbourhood
from interpret_dp.explanation.budget import OF_SEVERAL_ROWS, source_of
from interpret_dp.explanation.markup import Element, element
from interpret_dp.released.additive_model import edits_text

# Wong's palette: distinct to the colour-blind, and in grey.
_MODEL, _OTHERS, _LEFT = "#0072b2", "#e69f00", "#e4e9ee"
EDGES = {HOLDS: "#0072b2", HOLDS_IF: "#e69f00", DOES_NOT_HOLD: "#d55e00"}
"""Colour of a box by the state of the guarantee in it."""

TITLES = {
    HOLDS: "Privacy guarantee",
    HOLDS_IF: "Privacy guarantee, on conditions",
    DOES_NOT_HOLD: "No privacy guarantee: it does not hold",
}
"""First line of a box, by state."""

# People of whom guessing spots, the release spots, and nobody spots: distinct without colour.
_GUESSED, _SPOTTED, _UNSEEN = "\N{BLACK CIRCLE}", "\N{FISHEYE}", "\N{WHITE CIRCLE}"
_STRONG, _FAINT = "#a34700", "#556471"

# Shares below are rounding errors of sums.
_NOTHING = 1e-9

_FRAME = (
    "border: 1px solid #d3dae1; border-left: 5px solid {edge}; border-radius: 6px; "
    "padding: 12px 16px 10px; margin: 10px 0 6px; background: #fff; "
)
_TEXT = (
    "color: #24323f; font-family: system-ui, sans-serif; font-size: 14px; line-height: 1.45; "
    "overflow-wrap: anywhere; text-align: left"
)
_MUTED = "color: #556471; font-size: 12.5px"
_TILES = "display: flex; flex-wrap: wrap; gap: 8px; margin: 8px 0 10px"
_TILE = (
    "flex: 1 1 150px; box-sizing: border-box; padding: 7px 12px; border-radius: 5px; "
    "background: #eef3f7"
)

_CELL = "padding: 3px 18px 3px 0; vertical-align: top; border: 0; font-size: 13px"
_SOURCE_CELLS = [f"{_CELL}; text-align: {side}" for side in ("left", "left", "right", "right")]

_FREE = {
    "post-processed": "Nothing new was read from the data.",
    "reused": "Reused: an earlier explanation is shown again, which costs nothing.",
}
_ROW_WORDS = {
    "released now": "Released: computed on the private rows and paid for when requested. "
    "Looking at it again costs nothing.",
    "reused from a near query": "Reused: the released explanation of a near query is shown "
    "again, which costs nothing.",
    "from the released history": "Free: computed from earlier released explanations. It is less "
    "exact.",
    "from the background": "Free: computed from the released background, for any number of rows.",
}

_NEIGHBORING_WORDS = {
    "add_or_remove_one": "two tables that differ by adding or removing {unit}",
    "replace_one": "two tables that differ in the content of {unit}",
}


SHARES_OF = "Shares are of mu squared, which adds up from request to request; epsilon does not."


def shares_text(of_mu: float, of_delta: float) -> str:
    """Say of what the shares of a bar are: of the scarcer of a budget's two limits.

    Parameters
    ----------
    of_mu, of_delta : float
        What is spent of mu squared and of the part of delta for selections, 0 to 1.
    """
    if of_delta <= of_mu:
        return SHARES_OF
    return (
        "The bar shows the part of delta for selections, which is used up sooner than mu squared "
        f"({share_text(of_mu)} spent). What is left of epsilon is for requests without selections, "
        "such as fits whose schema declares all levels and labels."
    )


def privacy_panel(document: Mapping[str, Any], *, boxed: bool = True) -> Element:
    """Return the panel of one explanation: a plain block, and all figures in a fold.

    Parameters
    ----------
    document : mapping
        ``explanation.privacy.to_dict()``.
    boxed : bool
        Draw a frame, whose edge shows at a glance whether anything is promised.
    """
    guarantee = document["guarantee"]
    state, average = document["state"], document["average"]
    voided = state == DOES_NOT_HOLD
    frame = _FRAME.format(edge=EDGES[state]) if boxed else ""
    figures = [] if voided else [_tiles(document)]
    if document["budget"] is not None and not voided:
        figures += [_budget(document), _totals(document)]
    details = element(
        "div",
        *figures,
        None if voided else _sources_table(document),
        element("div", document["sentence"], style="margin: 6px 0"),
        None if voided else _assumptions(guarantee["assumptions"]),
        _record(document),
    )
    return element(
        "div",
        _state(document),
        _head(document) if document["edits"] or not voided else None,
        None if voided else _costs(document),
        _meaning(document),
        element("div", average, style="margin: 6px 0") if average else None,
        None if voided else _as_of(document),
        _folded("All figures: costs, budget, promise, assumptions", details),
        style=frame + _TEXT,
        css_class="interpret-dp-privacy",
    )


def meaning_text(document: Mapping[str, Any]) -> str:
    """Return what the figures mean, in the terms of somebody who wants to find a person."""
    if document["state"] == DOES_NOT_HOLD:
        return "What does this mean? No figure bounds what somebody can find out."
    seen = f"that the {document['subject']} published"
    if document["subject"] == "explainer":
        seen = "that the explainer may answer with its whole budget"
    guarantee = document["guarantee"]
    # A promise about rows must not be read as one about everybody who has some.
    of_rows = guarantee["unit"] == Neighbourhood().unit_text
    probability = _percent(document["detection"]["model"])
    relation = guarantee["neighboring"]
    odds = detection_text(probability, relation=relation, of_rows=of_rows, seen=seen)
    text = f"What does this mean? {odds}"
    return f"{text} {OF_SEVERAL_ROWS}" if of_rows else text


def budget_bar(parts: Sequence[tuple[str, float, str]]) -> Element:
    """Return a bar of coloured parts with a legend below.

    Parameters
    ----------
    parts : sequence of (name, share, colour)
        Shares between 0 and 1 that add up to at most 1; the rest of the bar is what is left.
    """
    left = max(0.0, 1.0 - sum(share for _, share, _ in parts))
    shown = [part for part in parts if part[1] > 0]
    spent = ", ".join(f"{name} {share_text(share)}" for name, share, _ in shown)
    bar = element(
        "div",
        *(
            element(
                "div",
                style=f"width: {100 * share:.4f}%; min-width: 3px; background: {colour}",
                title=f"{name}: {share_text(share)}",
            )
            for name, share, colour in shown
        ),
        style=f"display: flex; height: 16px; border-radius: 4px; overflow: hidden; "
        f"background: {_LEFT}; border: 1px solid #c6d0d9",
        css_class="interpret-dp-bar",
        role="img",
        title=f"{spent or 'nothing spent'}; left {share_text(left, down=True)}",
    )
    entries = [
        *((f"{name} {share_text(share)}", colour) for name, share, colour in shown),
        (f"left {share_text(left, down=True)}", _LEFT),
    ]
    legend = element(
        "div",
        *(
            element(
                "span",
                element(
                    "span",
                    style=f"display: inline-block; width: 11px; height: 11px; margin-right: 5px; "
                    f"border: 1px solid #c6d0d9; border-radius: 2px; background: {colour}",
                ),
                text,
            )
            for text, colour in entries
        ),
        style=f"display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 4px 0; {_MUTED}",
    )
    return element("div", bar, legend)


def share_text(share: float, *, down: bool = False) -> str:
    """Return a share as per cent: rounded up for what is spent, down for what is left."""
    return f"{(floor_text if down else ceil_text)(100.0 * share, digits=3)} %"


def _percent(probability: float) -> str:
    return f"{ceil_text(100.0 * probability, digits=2)} %"


def _state(document: Mapping[str, Any]) -> Element | None:
    """Return the state of a guarantee that is conditional or void, with every reason."""
    state = document["state"]
    if state == HOLDS:
        return None
    words = element("div", document["state_sentence"], style="font-weight: 400")
    return element(
        "div",
        TITLES[state],
        words,
        style=f"color: {_STRONG}; font-weight: 650; margin: 0 0 6px",
        css_class="interpret-dp-state",
    )


def _head(document: Mapping[str, Any]) -> Element:
    title, words = _answer_words(document)
    if document["state"] == DOES_NOT_HOLD:
        title, words = "Nothing is promised", ""
    badge = None
    if document["edits"]:
        badge = element(
            "span",
            edits_text(document["edits"]),
            style="background: #fff3d6; border: 1px solid #e69f00; border-radius: 10px; "
            "padding: 0 9px; margin-left: 10px; font-size: 12.5px; font-weight: 500; "
            "white-space: nowrap",
            css_class="interpret-dp-edits",
        )
    if document["edits"]:
        words += (
            " Edits are free too. The promise does not cover edits that were chosen by looking at "
            "rows that are not public."
        )
    return element(
        "div",
        element("div", title, badge, style="font-weight: 650; font-size: 15px"),
        element("div", words, style=_MUTED),
    )


def _costs(document: Mapping[str, Any]) -> Element:
    """Return the cost of the model, and what is left, in a line."""
    guarantee, queries, budget = (document[name] for name in ("guarantee", "queries", "budget"))
    subject = document["subject"]
    figures = f"epsilon {ceil_text(guarantee['epsilon'])} at delta {ceil_text(guarantee['delta'])}"
    words = f"The {subject} cost {figures}, paid once. "
    if subject == "explainer":
        words = f"All answers of the explainer together cost at most {figures}. "
    room = None if budget is None else _room(budget, subject)
    if queries is not None and queries["more_queries"] is not None:
        more = queries["more_queries"]
        room = f"Room for about {more:,} more quer{'y' if more == 1 else 'ies'}."
    left = None if room is None else element("b", room)
    return element("div", words, left, style="margin: 6px 0")


def _room(budget: Mapping[str, Any], subject: str) -> str | None:
    if budget["expired"]:
        return f"The budget of data set {budget['dataset']!r} has expired."
    more = budget["more_like_this"]
    if more is None:
        return None
    return f"Left for data set {budget['dataset']!r}: room for {more:,} more like this {subject}."


def _as_of(document: Mapping[str, Any]) -> Element | None:
    """Return when the account's figures were read; None where there are none."""
    budget, day = document["budget"], document["as_of"]
    if budget is None or not day:
        return None
    count = budget["n_requests"]
    requests = f"{count:,} request{'' if count == 1 else 's'}"
    words = f"What is left is as of {day}, after {requests} on {budget['dataset']!r}."
    return element("div", words, style=_MUTED, css_class="interpret-dp-as-of")


def _tiles(document: Mapping[str, Any]) -> Element:
    guarantee = document["guarantee"]
    at_delta = f"at delta {ceil_text(guarantee['delta'])}"
    if document["subject"] == "explainer":
        tiles = _query_tiles(document, at_delta)
    else:
        own, subject = ceil_text(document["explanation_epsilon"]), document["subject"]
        tiles = [
            ("This explanation", f"epsilon {own}", f"on top of the {subject}"),
            (f"The {subject}", f"epsilon {ceil_text(guarantee['epsilon'])}", at_delta),
        ]
    budget = document["budget"]
    if budget is not None:
        # At the budget's own delta, so that spent, left and the limit can be compared.
        of_limit = f"of {floor_text(budget['epsilon'])}, at delta {ceil_text(budget['delta'])}"
        spent = budget["spent_epsilon"]
        total = "more than can be stated" if spent is None else f"epsilon {ceil_text(spent)}"
        tiles += [
            (f"Everything on {budget['dataset']!r} so far", total, of_limit),
            (
                "Left for one more release",
                f"epsilon {floor_text(budget['remaining_epsilon'])}",
                f"at delta {ceil_text(budget['delta'])}"
                + left_for_selections(
                    budget["remaining_epsilon"], budget["delta_x"], budget["spent_delta"]
                ),
            ),
        ]
    return element(
        "div",
        *(
            element(
                "div",
                element("div", name, style=_MUTED),
                element("div", value, style="font-size: 17px; font-weight: 650"),
                element("div", unit, style=_MUTED),
                style=_TILE,
            )
            for name, value, unit in tiles
        ),
        style=_TILES,
        css_class="interpret-dp-tiles",
    )


def _budget(document: Mapping[str, Any]) -> Element:
    budget = document["budget"]
    spent, model = budget["spent_share"], budget["model_share"]
    if model is None:
        parts = [("spent", spent, _OTHERS)]
    else:
        others = spent - model
        parts = [
            (f"this {document['subject']}", model, _MODEL),
            ("other requests", others if others > _NOTHING else 0.0, _OTHERS),
        ]
    words = (
        f"Budget of data set {budget['dataset']!r}: epsilon {floor_text(budget['epsilon'])} at "
        f"delta {floor_text(budget['delta'])}{selections_text(budget['delta_x'])}, for everything "
        "ever released. "
    )
    if budget["ever"] is not None:
        words += (
            "Releases before its renewal, about people who have left, do not count against it. "
        )
    return element(
        "div",
        element("div", words, style="margin-bottom: 4px"),
        budget_bar(parts),
        element("div", shares_text(*budget["spent_shares"]), style=_MUTED),
        style="margin: 4px 0 8px",
        css_class="interpret-dp-budget",
    )


def _meaning(document: Mapping[str, Any]) -> Element:
    # A figure and its unit stay on one line.
    words = meaning_text(document).replace(" %", "\N{NO-BREAK SPACE}%")
    lead, _, rest = words.partition("? ")
    return element(
        "div",
        element("b", f"{lead}? "),
        rest,
        None if document["state"] == DOES_NOT_HOLD else _icons(document),
        style="margin: 6px 0",
        css_class="interpret-dp-meaning",
    )


def _icons(document: Mapping[str, Any]) -> Element:
    """Return 100 people or rows: whom guessing spots, and whom the release adds."""
    detection, guarantee = document["detection"], document["guarantee"]
    guessed = round(100 * detection["false_alarms"])
    spotted = min(100, max(guessed, math.ceil(100 * detection["model"])))
    noun = "rows" if guarantee["unit"] == Neighbourhood().unit_text else "people"
    where = "in the data" if guarantee["neighboring"] == ADD_OR_REMOVE_ONE else "with the other"
    groups = (
        (_GUESSED, guessed, "are spotted by guessing", _MODEL),
        (_SPOTTED, spotted - guessed, "more at most", _STRONG),
        (_UNSEEN, 100 - spotted, "or more are not spotted", _FAINT),
    )
    spans, place = [], 0
    for icon, count, _, ink in groups:
        # In tens, which can be counted, and between which a narrow page breaks the row.
        tens = "".join(icon + " " * (k % 10 == 9) for k in range(place, place + count))
        spans.append(element("span", tens, style=f"color: {ink}"))
        place += count
    row = element(
        "div",
        *spans,
        style="letter-spacing: 1px; line-height: 1.25; margin: 4px 0 0",
        role="img",
        title=f"Of 100 {noun} {where} at most {spotted} are spotted",
    )
    words = ", ".join(f"{icon} {count} {words}" for icon, count, words, _ in groups)
    return element("div", row, element("div", f"Of 100 {noun} {where}: {words}.", style=_MUTED))


def _totals(document: Mapping[str, Any]) -> Element:
    """Return what somebody finds out from everything that was released, or may ever be."""
    budget = document["budget"]
    words = (
        f"With everything that was ever released about {budget['dataset']!r}, the probability is "
        f"at most {_percent(budget['detection_spent'])}; once the whole budget is spent, at most "
        f"{_percent(budget['detection_limit'])}."
    )
    if budget["doubts"]:
        words = f"Of releases on {budget['dataset']!r}: {budget['doubts']} Otherwise: {words}"
    return element("div", words, style="margin: 6px 0")


def _assumptions(clauses: Sequence[str]) -> Element | None:
    if not clauses:
        return None
    listed = element(
        "ul",
        *(element("li", clause) for clause in clauses),
        style="margin: 4px 0 4px; padding-left: 22px; list-style: disc outside",
    )
    return _folded(f"What the promise assumes ({len(clauses)})", listed)


def _record(document: Mapping[str, Any]) -> Element:
    guarantee = document["guarantee"]
    pairs = _NEIGHBORING_WORDS[guarantee["neighboring"]].format(unit=guarantee["unit"])
    rows = [
        ("Protected unit", guarantee["unit"]),
        ("Neighbouring tables", pairs),
        ("Mechanism", guarantee["mechanism"]),
        ("Data set", guarantee["dataset"] or "not named"),
        ("Ledger", document["ledger"]),
        ("Ledger head", guarantee["ledger_head"] or "none"),
    ]
    if document["state"] != DOES_NOT_HOLD:
        rows[3:3] = [
            ("Composition", _composition(guarantee)),
            *((f"of which {s['name']}", _share(guarantee, s)) for s in guarantee["releases"]),
        ]
    cell = "padding: 2px 14px 2px 0; vertical-align: top; text-align: left; border: 0"
    styles = (f"{cell}; {_MUTED}; font-weight: 500", f"{cell}; font-size: 13px")
    body = element("tbody", *(_table_row(("th", "td"), row, styles) for row in rows))
    return _folded("How it was made: mechanism, composition, unit, ledger", _table(body))


def _table(*parts: Element, css_class: str = "") -> Element:
    style = "border-collapse: collapse; margin: 4px 0; border: 0"
    return element("table", *parts, style=style, css_class=css_class)


def _table_row(tags: Sequence[str], cells: Sequence[str], styles: Sequence[str]) -> Element:
    return element(
        "tr",
        *(
            element(tag, cell, style=style)
            for tag, cell, style in zip(tags, cells, styles, strict=True)
        ),
        style="background: none; border: 0",
    )


def _composition(guarantee: Mapping[str, Any]) -> str:
    if guarantee["mu"] is not None:
        return (
            "Gaussian releases compose exactly: the squares of their mu add up to the square of "
            f"mu {ceil_text(guarantee['mu'])}"
        )
    if guarantee["releases"]:
        return "the squares of mu add up, and the releases' own deltas add up beside them"
    return "not purely Gaussian: stated as epsilon and delta"


def _share(guarantee: Mapping[str, Any], share: Mapping[str, Any]) -> str:
    count = f"{share['count']:,} release{'' if share['count'] == 1 else 's'}"
    total = sum(other["mu"] ** 2 for other in guarantee["releases"])
    part = f", {100 * share['mu'] ** 2 / total:.3g} % of the spend" if total else ""
    own = f", own delta {ceil_text(share['delta'])}" if share.get("delta") else ""
    return f"{count}{part}{own}"


def _folded(summary: str, content: Element) -> Element:
    return element(
        "details",
        element("summary", summary, style="cursor: pointer; color: #0b5c8f"),
        content,
        style="margin: 4px 0",
    )


# ------------------------------------------------------------------ answers of an explainer


def _answer_words(document: Mapping[str, Any]) -> tuple[str, str]:
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


def _query_tiles(document: Mapping[str, Any], at_delta: str) -> list[tuple[str, str, str]]:
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
    total = ceil_text(document["guarantee"]["epsilon"])
    tiles = [
        ("These explanations" if many else "This explanation", f"epsilon {own}", at_delta),
        ("The explainer's whole budget", f"epsilon {total}", at_delta),
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


def _sources_table(document: Mapping[str, Any]) -> Element | None:
    """Return how many rows come from where, and what they cost; None for a single row."""
    rows = document["rows"]
    if len(rows) < 2:
        return None
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        key = (source_of(row["origin"], row["method"]), row["method"])
        groups.setdefault(key, []).append(row["epsilon"])
    body = [
        _table_row(("td",) * 4, [source, method, f"{len(costs):,}", _each(costs)], _SOURCE_CELLS)
        for (source, method), costs in groups.items()
    ]
    head = _table_row(
        ("th",) * 4,
        ["Where they come from", "Method", "Rows", "Epsilon of each"],
        [f"{style}; {_MUTED}; font-weight: 500" for style in _SOURCE_CELLS],
    )
    note = None
    if sum(row["epsilon"] > 0 for row in rows) > 1:
        words = "Epsilons do not add up: together the rows cost less than the sum."
        note = element("div", words, style=_MUTED)
    return element(
        "div",
        _table(element("thead", head), element("tbody", *body), css_class="interpret-dp-sources"),
        note,
        style="margin: 4px 0 8px",
    )


def _each(costs: Sequence[float]) -> str:
    lowest, highest = ceil_text(min(costs)), ceil_text(max(costs))
    if max(costs) == 0:
        return "free"
    return highest if lowest == highest else f"{lowest} to {highest}"
