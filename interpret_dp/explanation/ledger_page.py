"""A privacy officer's report as one page that needs no network; from the ledger's document.

Everything on it is in the ledger, which holds no figure of the rows.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from interpret_dp._figures import (
    ceil_text,
    floor_text,
    left_for_selections,
    moment,
    selections_text,
)
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.neighbourhood import ADD_OR_REMOVE_ONE, REPLACE_ONE, Neighbourhood
from interpret_dp.explanation.budget import (
    FALSE_ALARMS,
    OF_SEVERAL_ROWS,
    attackers_aim,
    spent_shares,
)
from interpret_dp.explanation.html_page import Plots, whole_page
from interpret_dp.explanation.ledger_tables import (
    acts_table,
    approvals_table,
    entries_table,
    html_table,
    requests_table,
)
from interpret_dp.explanation.markup import to_html
from interpret_dp.explanation.panel import SHARES_OF, budget_bar, shares_text
from interpret_dp.explanation.plots.parts import thinned
from interpret_dp.explanation.plots.spending import share_figure, timeline_figure

__all__ = ["render_ledger_page"]


_CHANGES = {ADD_OR_REMOVE_ONE: "presence and content", REPLACE_ONE: "content, not their number"}
_TO_THE_MINUTE = len("2000-01-31 12:00")


def render_ledger_page(document: Mapping[str, Any]) -> str:
    """Return the report as a complete HTML document; every name in it is escaped.

    Parameters
    ----------
    document : mapping
        ``PrivacyLedger.oversight()``.
    """
    plots = Plots()
    accounts = document["datasets"]
    body = "\n".join(
        [
            _header(document),
            _check(document),
            _overview(document) if accounts else "",
            *(_account(account, plots) for account in accounts),
            _roles(document["roles"]),
            _meaning(),
            _entries(document),
        ]
    )
    return whole_page("Privacy ledger report", body, plots, "ledger.css")


def _header(document: Mapping[str, Any]) -> str:
    return (
        "<header><h1>Privacy ledger report</h1><p>"
        f"{html.escape(document['ledger'])}<br>made {moment(document['made'])} UTC by "
        f"{html.escape(document['made_by'])}, with interpret_dp "
        f"{html.escape(document['package_version'])}. No figure of the rows is on this page."
        "</p></header>"
    )


def _check(document: Mapping[str, Any]) -> str:
    found = document["verification"]
    head = html.escape(document["head"] or "none: the log is empty")
    if not found["whole"]:
        words = f"<b>The log failed its check.</b> {html.escape(found['problem'])}"
    else:
        kept = (
            "It holds the head that was given."
            if found["head_given"]
            else "Entries cut off its end would show only against a head that was kept elsewhere: "
            "in a released model's guarantee, or in an earlier report."
        )
        words = (
            f"<b>The log is whole:</b> all {document['n_entries']:,} entries follow from one "
            f"another by their hashes. {kept}"
        )
    state = "" if found["whole"] else ' class="failed"'
    return (
        f'<section id="check"{state}><h2>Check of the log</h2><p>{words}</p>'
        f"<p class=head>Head: <code>{head}</code></p></section>"
    )


def _overview(document: Mapping[str, Any]) -> str:
    rows = []
    for account in document["datasets"]:
        budget, spent = account["budget"], account["spent"]
        waiting = sum(a["status"] == "waiting" for a in account["approvals"])
        rows.append(
            [
                _name(account),
                "no limit declared" if budget is None else _epsilon(budget["epsilon"], budget),
                _spent(account, "budget"),
                _spent(account, "ever"),
                _left(account),
                _end(budget),
                f"{spent['n_requests']:,}",
                f"{waiting:,}" if waiting else "none",
            ]
        )
    head = ["Data set", "Budget", "Spent", "Ever spent", "Left", "Until", "Requests", "Waiting"]
    return (
        '<section id="overview" class="card"><h2>Data sets</h2>'
        f"{html_table(head, rows, numeric={6, 7})}"
        "<p class=note>Spent and left are epsilon at the budget's delta. Left is what one more "
        "release may cost: epsilon does not add up, which is why spent and left together may be "
        "more than the budget. Waiting counts requests for approval.</p></section>"
    )


def _account(account: Mapping[str, Any], plots: Plots) -> str:
    budget = account["budget"]
    has_requests = bool(account["requests"])
    has_spent = bool(account["by_explainer"])
    limit = None if budget is None else budget["mu"]
    parts = [
        f"<h2>Data set: {html.escape(_name(account))}</h2>",
        _facts(account),
        _bar(account),
        _sentence(account),
    ]
    if has_requests:
        parts.append(f"<h3>Spending over time</h3>{plots.place(timeline_figure(account))}")
        n_requests = len(account["requests"])
        n_drawn = len(thinned(n_requests))
        if n_drawn < n_requests:
            parts.append(
                f"<p class=note>Drawn are {n_drawn:,} of {n_requests:,} requests; each total "
                "counts all requests before it.</p>"
            )
    if has_spent:
        parts.append("<div class=pair>")
        for by, title in (("explainer", "By class"), ("user", "By user")):
            figure = share_figure(account[f"by_{by}"], by, limit)
            parts.append(f"<div><h3>{title}</h3>{plots.place(figure)}</div>")
        parts.append(f"</div><p class=note>{html.escape(SHARES_OF)}</p>")
    parts += [acts_table(account), approvals_table(account), requests_table(account)]
    return f'<section class="card account">{"".join(parts)}</section>'


def _facts(account: Mapping[str, Any]) -> str:
    budget = account["budget"]
    above = account["approval_above"]
    rule = "none needed"
    if above is not None:
        rule = f"for requests above epsilon {above:g}" if above else "for every request"
    facts = [
        ("Budget", "no limit declared" if budget is None else _epsilon(budget["epsilon"], budget)),
        ("Spent", _spent(account, "budget")),
        ("Left for one more release", _left(account)),
        ("Until", _end(budget)),
        ("Protects", _protects(account["protected"])),
        ("Approval", rule),
    ]
    if account["periods"]:
        facts.insert(2, ("Spent since the last renewal", _spent(account, "period")))
        facts.insert(3, ("Ever spent", _spent(account, "ever")))
    tiles = "".join(
        f"<div><span>{html.escape(name)}</span><b>{html.escape(text)}</b></div>"
        for name, text in facts
    )
    return f"<div class=tiles>{tiles}</div>"


def _protects(protected: str | None) -> str:
    """Say whom all promises on an account are about; the ledger's word is a key."""
    if protected is None:
        return "decided by the first request"
    relation, _, unit = protected.partition(": ")
    whose = unit if unit == Neighbourhood().unit_text else f"all rows of {unit}"
    return f"{whose}: {_CHANGES[relation]}"


def _bar(account: Mapping[str, Any]) -> str:
    budget, spent = account["budget"], account["spent"]
    if budget is None:
        return ""
    shares = spent_shares(budget["mu"], budget["delta_x"], spent["mu"], spent["delta"])
    bar = to_html(budget_bar([("spent", max(shares), "#0072b2")]))
    return f"{bar}<p class=note>{html.escape(shares_text(*shares))}</p>"


def _sentence(account: Mapping[str, Any]) -> str:
    """Say what the figures mean for somebody in the data."""
    budget, spent = account["budget"], account["spent"]
    alarms = f"{100 * FALSE_ALARMS:g} %"
    ever = detection_power(spent["ever"]["mu"], FALSE_ALARMS, spent["ever"]["delta"])
    # Before the first request nobody may have said; the usual promise is then assumed.
    relation, _, unit = (account["protected"] or Neighbourhood().protected).partition(": ")
    of_rows = unit == Neighbourhood().unit_text
    wrongly = "of the absent" if relation == ADD_OR_REMOVE_ONE else "of those with other contents"
    text = (
        f"Somebody who sees everything that was ever released under this name, and may accuse "
        f"{alarms} {wrongly}, {attackers_aim(relation, of_rows=of_rows)} with probability at most "
        f"{_percent(ever)}; blind guessing reaches {alarms}."
    )
    if budget is not None:
        full = detection_power(budget["mu"], FALSE_ALARMS, budget["delta_x"])
        text += f" Once the whole budget is spent: at most {_percent(full)}."
    if spent["ever"]["mu"] > spent["mu"]:
        text += (
            " An officer said at a renewal that the people in the data are new. If somebody is in "
            "both the old and the new data, the first figure holds for that person, not the budget."
        )
    open_ones = spent["open_reservations"]
    if open_ones:
        text += (
            f" {open_ones:,} of the requests run now or were left by a crash; all count as spent."
        )
    if of_rows:
        text += f" {OF_SEVERAL_ROWS}"
    return f"<p>{html.escape(text)}</p>"


def _roles(roles: Mapping[str, Any] | None) -> str:
    if roles is None:
        return ""
    if not roles["officers"]:
        words = "No officer is named: everybody who can open the ledger may decide and spend."
    else:
        spenders = (
            "Everybody may spend."
            if roles["anybody_spends"]
            else f"Beside them may spend: {', '.join(roles['analysts']) or 'nobody'}."
        )
        words = f"Officers: {', '.join(roles['officers'])}. {spenders}"
    return (
        f'<section id="roles" class="card"><h2>Roles</h2><p>{html.escape(words)}</p>'
        "<p class=note>Names are those of user accounts. The library refuses what a role does not "
        "allow. Whoever may write the database by other programs is held back by the database's "
        "own rights alone.</p></section>"
    )


def _meaning() -> str:
    clauses = "".join(f"<dt>{html.escape(n)}</dt><dd>{html.escape(t)}</dd>" for n, t in _WORDS)
    return (
        '<section id="meaning" class="card"><h2>What the numbers mean</h2>'
        f"<dl>{clauses}</dl></section>"
    )


_WORDS = (
    (
        "Budget",
        "Everything that is ever released about the data set is together (epsilon, delta)-"
        "differentially private for the budget's epsilon and delta, even if each request was "
        "chosen after seeing the answers to the earlier ones. A request that does not fit is "
        "refused before anything is computed.",
    ),
    (
        "epsilon, delta",
        "The probability of any outcome differs by at most a factor e^epsilon, plus delta, "
        "between the data with and without one row, or all rows of one person; 'Protects' says "
        "which.",
    ),
    (
        "mu",
        "The same cost as it adds up: the squares of mu do. At a given delta it is an epsilon.",
    ),
    (
        "delta_x",
        "The part of the budget's delta that is kept for selections: fits that find out undeclared "
        "levels or labels use it up. What is left of it is shown beside what is left of epsilon.",
    ),
    (
        "States",
        "An open request runs now or was left by a crash; it counts in full, for ever. A cancelled "
        "one released nothing and costs nothing.",
    ),
    (
        "Renewals and links",
        "A renewal gives a budget a new end and forgets nothing, unless an officer vouches that "
        "the people are new. Linked names share one budget, what was spent on either before "
        "included.",
    ),
    (
        "What this assumes",
        "That the ledger was neither rolled back nor copied, that every release on these people "
        "went through it, and that no two unlinked names stand for the same people. Compare the "
        "heads of released models with this log: interpret-dp ledger verify --head HASH.",
    ),
)


def _entries(document: Mapping[str, Any]) -> str:
    shown = len(document["entries"])
    part = "" if shown == document["n_entries"] else f" of {document['n_entries']:,}"
    return (
        f'<section id="entries" class="card"><h2>Entries ({shown:,}{part})</h2>'
        "<details><summary>Show the log, entry by entry</summary>"
        f"{entries_table(document['entries'])}</details></section>"
    )


def _name(account: Mapping[str, Any]) -> str:
    return " = ".join(account["names"])


def _epsilon(epsilon: float, budget: Mapping[str, Any]) -> str:
    return f"epsilon {epsilon:.6g} at delta {budget['delta']:g}{selections_text(budget['delta_x'])}"


def _spent(account: Mapping[str, Any], which: str) -> str:
    """Return a total in epsilon, in mu where there is no limit; rounded up."""
    spent = account["spent"]
    pair = spent if which == "budget" else spent[which]
    if account["budget"] is None:
        return f"mu {ceil_text(pair['mu'])}" if pair["mu"] else "nothing"
    epsilon = account["spent_epsilon"][which]
    if epsilon is None:
        return f"mu {ceil_text(pair['mu'])} (no epsilon at this delta)"
    return f"epsilon {ceil_text(epsilon)}" if epsilon else "nothing"


def _left(account: Mapping[str, Any]) -> str:
    budget, left = account["budget"], account["remaining_epsilon"]
    if budget is None:
        return "no limit declared"
    if budget["expired"]:
        return "nothing: expired"
    rest = f"epsilon {floor_text(left)}" if left else "nothing"
    return rest + left_for_selections(left, budget["delta_x"], account["spent"]["delta"])


def _end(budget: Mapping[str, Any] | None) -> str:
    if budget is None or budget["expires"] is None:
        return "no end"
    return f"{moment(budget['expires'])[:_TO_THE_MINUTE]} UTC" + (
        " (expired)" if budget["expired"] else ""
    )


def _percent(share: float) -> str:
    return f"{ceil_text(100.0 * share)} %"
