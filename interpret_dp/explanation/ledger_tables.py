"""Tables of an officer's report: acts, approvals, requests and entries; from the ledger's document.

Everything that people wrote is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from interpret_dp._figures import ceil_text, moment, selections_text

__all__ = [
    "acts_table",
    "approvals_table",
    "entries_table",
    "html_table",
    "requests_table",
]

_SHORT_HASH = 12
_MOST_ROWS = 1_000
_DATE = 10
_WITHOUT_BREAK = {"Date (UTC)", "Until", "Hash"}


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: AbstractSet[int] = frozenset()
) -> str:
    """Return a table of texts, which are escaped here.

    Parameters
    ----------
    head : sequence of str
    rows : sequence of sequence of str, each as long as ``head``
    numeric : set of int
        Columns that are set to the right.
    """

    def cells(tag: str, texts: Sequence[str]) -> str:
        written = []
        for place, (text, name) in enumerate(zip(texts, head, strict=True)):
            kind = "number" if place in numeric else ("fixed" if name in _WITHOUT_BREAK else "")
            label = f' class="{kind}"' if kind else ""
            written.append(f"<{tag}{label}>{html.escape(text)}</{tag}>")
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(cells("td", row) for row in rows)
    return (
        f"<div class=scroll><table><thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"
        "</div>"
    )


def acts_table(account: Mapping[str, Any]) -> str:
    """Return what officers decided, and why; empty if there is nothing."""
    rows = [
        [
            str(act["number"]),
            act["time"][:_DATE],
            act["user"] or "not told",
            _ACTS[act["kind"]](act),
            act["purpose"],
        ]
        for act in account["acts"][-_MOST_ROWS:]
    ]
    if not rows:
        return ""
    head = ["Entry", "Date (UTC)", "User", "Decision", "Reason"]
    note = _left_out(len(account["acts"]))
    return f"<h3>Decisions</h3>{note}{html_table(head, rows, numeric={0})}"


def approvals_table(account: Mapping[str, Any]) -> str:
    """Return requests for approval, the latest first; empty if there are none."""
    rows = [
        [
            str(approval["number"]),
            approval["time"],
            approval["user"],
            approval["dataset"],
            f"{ceil_text(approval['epsilon'])} at {approval['delta']:g}",
            approval["purpose"],
            _status(approval),
            approval["decided_by"],
            approval["reason"],
        ]
        for approval in account["approvals"][: -_MOST_ROWS - 1 : -1]
    ]
    if not rows:
        return ""
    head = ["Entry", "Date (UTC)", "User", "Data set", "Epsilon at delta", "Purpose", "Status",
            "Answered by", "Reason"]  # fmt: skip
    note = _left_out(len(account["approvals"]))
    return f"<h3>Approvals</h3>{note}{html_table(head, rows, numeric={0})}"


def requests_table(account: Mapping[str, Any]) -> str:
    """Return the latest requests with what had been spent up to each, the latest first."""
    unit = "mu" if account["budget"] is None else "epsilon"
    rows, n_requests = [], len(account["requests"])
    latest = (account[key][: -_MOST_ROWS - 1 : -1] for key in ("requests", "totals"))
    for request, total in zip(*latest, strict=True):
        figure = total[unit]
        rows.append(
            [
                str(request["number"]),
                request["time"],
                request["explainer"],
                request["user"] or "not told",
                request["host"] or "not told",
                request["purpose"] or "not given",
                ceil_text(request["epsilon"]),
                ceil_text(request["epsilon_delta"]),
                ceil_text(request["mu"]),
                "not finite" if figure is None else ceil_text(figure),
                request["state"] + ("" if request["counts"] else ", before new people"),
            ]
        )
    head = ["Entry", "Date (UTC)", "Class", "User", "Host", "Purpose", "Epsilon", "Delta",
            "Cost (mu)", f"Total {unit}", "State"]  # fmt: skip
    if not rows:
        return "<p class=note>Nothing was asked for yet.</p>"
    return (
        f"<details><summary>Requests ({n_requests:,})</summary>{_left_out(n_requests)}"
        f"{html_table(head, rows, numeric={0, 6, 7, 8, 9})}</details>"
    )


def entries_table(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the end of the log, entry by entry; hashes cut to their beginnings."""
    rows = [
        [
            str(entry["number"]),
            entry["time"][:_DATE],
            entry["kind"],
            entry["dataset"] or "whole ledger",
            entry["user"] or "not told",
            entry["explainer"],
            entry["purpose"],
            f"{entry['mu']:.6g}",
            f"{entry['delta']:.6g}",
            "" if entry["reservation"] is None else str(entry["reservation"]),
            entry["package_version"],
            entry["hash"][:_SHORT_HASH],
        ]
        for entry in entries[-_MOST_ROWS:]
    ]
    head = ["Entry", "Date (UTC)", "Kind", "Data set", "User", "Class", "Purpose or reason", "mu",
            "delta", "Closes", "Version", "Hash"]  # fmt: skip
    return f"{_left_out(len(entries))}{html_table(head, rows, numeric={0, 7, 8, 9})}"


def _left_out(n: int) -> str:
    """Return a note on the rows that a long table lacks; empty if it has all."""
    if n <= _MOST_ROWS:
        return ""
    return (
        f"<p class=note>Shown are the latest {_MOST_ROWS:,}; {n - _MOST_ROWS:,} earlier ones are "
        "left out. <code>interpret-dp ledger export --out log.csv</code> writes the whole log.</p>"
    )


def _status(approval: Mapping[str, Any]) -> str:
    if approval["status"] == "approved" and approval["expires"]:
        used = f"used {approval['used']} of {approval['uses']}"
        return f"approved until {moment(approval['expires'])}, {used}"
    return str(approval["status"])


def _budget_words(act: Mapping[str, Any], verb: str) -> str:
    words = f"{verb} epsilon {act['epsilon']:.6g} at delta {act['epsilon_delta']:g}"
    words += selections_text(act["delta"])
    if act["context"].get("expires"):
        words += f", until {moment(act['context']['expires'])}"
    return words


def _renewal_words(act: Mapping[str, Any]) -> str:
    words = _budget_words(act, "renewed")
    people = act["context"].get("new_people")
    return f"{words}; vouched for that all people are new: {people}" if people else words


def _link_words(act: Mapping[str, Any]) -> str:
    words = f"linked {act['dataset']!r} to {act['context']['to']!r}"
    return words + (", overspent together" if act["context"].get("overspent") else "")


def _policy_words(act: Mapping[str, Any]) -> str:
    above = act["context"].get("approval_above")
    if above is None:
        return "no approvals needed any more"
    return f"approvals needed above epsilon {above:g}" if above else "approvals needed for all"


_ACTS = {
    "budget": lambda act: _budget_words(act, "declared"),
    "raise": lambda act: _budget_words(act, "raised to"),
    "renew": _renewal_words,
    "link": _link_words,
    "policy": _policy_words,
}
