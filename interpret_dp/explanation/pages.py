"""Pages of HTML that need no network: of a released model, and of a ledger's report.

Everything on it is in the ledger, which holds no figure of the rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interpret_dp._optional import part_count
from interpret_dp._validate import (
    ceil_text,
    floor_text,
    left_for_selections,
    moment,
    selections_text,
)
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD, FALSE_ALARMS, detection_text
from interpret_dp.accounting.lattice import ADD_OR_REMOVE_ONE, REPLACE_ONE, Neighbourhood
from interpret_dp.explanation.budget import OF_SEVERAL_ROWS, spent_shares
from interpret_dp.explanation.markup import TextTable, percent_up, render_page
from interpret_dp.explanation.panel import SHARES_OF, panel_html, shares_text
from interpret_dp.explanation.plots.bars import (
    SIGNAL_TO_NOISE,
    importance_figure,
    term_importance,
)
from interpret_dp.explanation.plots.heat import heat_figure
from interpret_dp.explanation.plots.parts import TOO_FEW_ROWS, row_noun, thinned
from interpret_dp.explanation.plots.prediction import local_figure, outcome_text, stability_text
from interpret_dp.explanation.plots.shape import TrueCurve, edit_note, shape_figure, with_bands
from interpret_dp.explanation.plots.spending import share_figure, timeline_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveModel, AdditiveTerm
from interpret_dp.released.summary import term_sentence

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


# The page of a released model, which works without a network.

_WIDE_LEVELS = 14


def render_html(
    model: AdditiveModel,
    privacy: PrivacySpend,
    *,
    title: str | None = None,
    lead: str = "",
    notes: Mapping[str, str] | None = None,
    truth: Mapping[str, TrueCurve] | None = None,
    local: Any = None,
    card: Any = None,
) -> str:
    """Return a page with the guarantee, the spend, importances and every shape function.

    Everything on it is post-processing of the released model and costs nothing. It asks no server
    for anything.

    Parameters
    ----------
    model : AdditiveModel
        The released model.
    privacy : PrivacySpend
        What it cost, and what its data set cost so far.
    title : str, default=None
        Heading; by default the data set's name.
    lead : str, default=""
        One or two sentences below the heading.
    notes : mapping of str to str, default=None
        What a reader should look at, each by a short label; a list above everything else.
    truth : mapping of str to callable, default=None
        The true curves by name of feature, for simulated data: drawn dashed.
    local : explanation, default=None
        A local explanation of interpret. All its rows are shown, and nothing protects them: show
        rows of your own, or of people who do not exist.
    card : ModelCard, default=None
        The card whose page it is: its sections are added.

    Returns
    -------
    str
        A complete HTML document; every name in it is escaped.
    """
    truth = truth or {}
    dataset = model.guarantee.dataset
    terms = sorted(model.terms, key=lambda term: -term_importance(term)[0])
    curves = [term for term in terms if term.partner is None]
    privacy = dataclasses.replace(privacy, edits=len(model.edits))
    return render_page(
        "model.html" if card is None else "model_card.html",
        card=card,
        title=title or (f"Model of {dataset}" if dataset else "Private additive model"),
        lead=lead,
        notes=notes,
        state=privacy.guarantee.state,
        state_sentence=privacy.guarantee.state_sentence,
        panel=panel_html(privacy.to_dict(), boxed=False),
        spend=privacy.line,
        signal_to_noise=SIGNAL_TO_NOISE,
        importances=importance_figure(model),
        too_few_rows=any(term.too_few_rows[1:-1].any() for term in curves) and TOO_FEW_ROWS,
        noun=row_noun(model),
        has_truth=bool(truth),
        has_pairs=len(curves) < len(terms),
        edits=edits_table(model),
        has_released=any(term.is_edited and term.released is not None for term in curves),
        shapes=[_shape_card(model, term, truth) for term in terms],
        predictions=None if local is None else _predictions(model, local),
    )


def edits_table(model: AdditiveModel) -> TextTable | None:
    """Return what people changed after the fit; None if nothing."""
    rows = [[e.term, e.what, e.who, e.when.replace("T", " ")[:16], e.why] for e in model.edits]
    return TextTable(["curve", "edit", "by", "when (UTC)", "why"], rows) if rows else None


def _shape_card(
    model: AdditiveModel, term: AdditiveTerm, truth: Mapping[str, TrueCurve]
) -> tuple[str, str, bool, str, Figure]:
    """Return a term's card: class, heading, whether it is edited, sentences and figure."""
    name = model.subject(term).name
    says = f"{term_sentence(model, term)} {edit_note(*with_bands(term))}".strip()
    if term.partner is not None:
        return " pair", name, term.is_edited, says, heat_figure(model, term)
    is_wide = len(model.features[term.feature].labels) > _WIDE_LEVELS
    figure = shape_figure(model, term, truth.get(name), draws=True)
    return " wide" if is_wide else "", name, term.is_edited, says, figure


def _predictions(model: AdditiveModel, local: Any) -> list[tuple[str, str, Figure]]:
    records = [local.data(row) for row in range(part_count(local.selector))]
    return [
        (outcome_text(model, record), stability_text(record), local_figure(model, record))
        for record in records
    ]


_CHANGES = {ADD_OR_REMOVE_ONE: "presence and content", REPLACE_ONE: "content, not their number"}
_TO_THE_MINUTE = len("2000-01-31 12:00")
_TO_THE_DAY = len("2000-01-31")
_SHORT_HASH = 12
_MOST_ROWS = 1_000


def render_ledger_page(document: Mapping[str, Any]) -> str:
    """Return the report as a complete HTML document; every name in it is escaped.

    Parameters
    ----------
    document : mapping
        ``PrivacyLedger.oversight()``.
    """
    accounts = document["datasets"]
    return render_page(
        "ledger.html",
        title="Privacy ledger report",
        ledger=document["ledger"],
        made=moment(document["made"]),
        made_by=document["made_by"],
        package_version=document["package_version"],
        check=document["verification"],
        n_entries=document["n_entries"],
        head=document["head"],
        overview=_overview(accounts),
        accounts=[_account(account) for account in accounts],
        shares_of=SHARES_OF,
        roles=document["roles"],
        n_shown=len(document["entries"]),
        entries=_entries_table(document["entries"]),
    )


def _latest(records: Sequence[Any]) -> tuple[Sequence[Any], int]:
    """Return the latest records that a table has room for, and how many it omits."""
    return records[-_MOST_ROWS:], max(0, len(records) - _MOST_ROWS)


def _overview(accounts: Sequence[Mapping[str, Any]]) -> TextTable:
    rows = []
    for account in accounts:
        budget, spent = account["budget"], account["spent"]
        waiting = sum(a["status"] == "waiting" for a in account["approvals"])
        rows.append(
            [
                _name(account),
                account["guarantee_state"],
                "no limit declared" if budget is None else _epsilon(budget["epsilon"], budget),
                _spent(account, "budget"),
                _spent(account, "ever"),
                _left(account),
                _end(budget),
                f"{spent['n_requests']:,}",
                f"{waiting:,}" if waiting else "none",
            ]
        )
    head = ["Data set", "Promise", "Budget", "Spent", "Ever spent", "Left", "Until", "Requests",
            "Waiting"]  # fmt: skip
    return TextTable(head, rows, {"Requests", "Waiting"})


def _account(account: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the section of one account shows."""
    budget, spent = account["budget"], account["spent"]
    shares, limit = None, None
    if budget is not None:
        limit = budget["mu"]
        shares = spent_shares(limit, budget["delta_x"], spent["mu"], spent["delta"])
    n_requests = len(account["requests"])
    return {
        "name": _name(account),
        "promise": account["guarantee_sentence"],
        "tiles": _tiles(account),
        "parts": shares and [("spent", max(shares), "#0072b2")],
        "shares": shares and shares_text(*shares),
        "meaning": _meaning(account),
        "n_requests": n_requests,
        "n_drawn": len(thinned(n_requests)) if n_requests else 0,
        "timeline": timeline_figure(account) if n_requests else None,
        "spending": [
            (heading, share_figure(account[f"by_{by}"], by, limit))
            for by, heading in (("explainer", "By class"), ("user", "By user"))
            if account["by_explainer"]
        ],
        "acts": _acts_table(account["acts"]),
        "approvals": _approvals_table(account["approvals"]),
        "requests": _requests_table(account),
    }


def _tiles(account: Mapping[str, Any]) -> list[tuple[str, str]]:
    budget = account["budget"]
    above = account["approval_above"]
    rule = "none needed"
    if above is not None:
        rule = f"for requests above epsilon {above:g}" if above else "for every request"
    tiles = [
        ("Budget", "no limit declared" if budget is None else _epsilon(budget["epsilon"], budget)),
        ("Spent", _spent(account, "budget")),
        ("Left for one more release", _left(account)),
        ("Until", _end(budget)),
        ("Protects", _protects(account["protected"])),
        ("Approval", rule),
    ]
    if account["periods"]:
        tiles.insert(2, ("Spent since the last renewal", _spent(account, "period")))
        tiles.insert(3, ("Ever spent", _spent(account, "ever")))
    return tiles


def _protects(protected: str | None) -> str:
    """Say whom all promises on an account are about; the ledger's word is a key."""
    if protected is None:
        return "decided by the first request"
    relation, _, unit = protected.partition(": ")
    whose = unit if unit == Neighbourhood().unit_text else f"all rows of {unit}"
    return f"{whose}: {_CHANGES[relation]}"


def _meaning(account: Mapping[str, Any]) -> str:
    """Say what the figures mean for somebody in the data."""
    if account["guarantee_state"] == DOES_NOT_HOLD:
        return "No figure here bounds what somebody can find out about a person in the data."
    budget, spent = account["budget"], account["spent"]
    ever = detection_power(spent["ever"]["mu"], FALSE_ALARMS, spent["ever"]["delta"])
    # Before the first request nobody may have said; the usual promise is then assumed.
    relation, _, unit = (account["protected"] or Neighbourhood().protected).partition(": ")
    of_rows = unit == Neighbourhood().unit_text
    seen = "ever released under this name"
    text = detection_text(percent_up(ever), relation=relation, of_rows=of_rows, seen=seen)
    if budget is not None:
        full = detection_power(budget["mu"], FALSE_ALARMS, budget["delta_x"])
        text += f" Once the whole budget is spent: at most {percent_up(full)}."
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
    return text


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


def _acts_table(acts: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return what officers decided, and why."""
    latest, n_omitted = _latest(acts)
    rows = [
        [
            str(act["number"]),
            act["time"][:_TO_THE_DAY],
            act["user"] or "unknown",
            _ACTS[act["kind"]](act),
            act["purpose"],
        ]
        for act in latest
    ]
    head = ["Entry", "Date (UTC)", "User", "Decision", "Reason"]
    return TextTable(head, rows, n_omitted=n_omitted)


def _approvals_table(approvals: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return requests for approval, the latest first."""
    latest, n_omitted = _latest(approvals)
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
        for approval in reversed(latest)
    ]
    head = ["Entry", "Date (UTC)", "User", "Data set", "Epsilon at delta", "Purpose", "Status",
            "Answered by", "Reason"]  # fmt: skip
    return TextTable(head, rows, n_omitted=n_omitted)


def _requests_table(account: Mapping[str, Any]) -> TextTable:
    """Return the latest requests with what had been spent up to each, the latest first."""
    unit = "mu" if account["budget"] is None else "epsilon"
    latest, n_omitted = _latest(list(zip(account["requests"], account["totals"], strict=True)))
    rows = [
        [
            str(request["number"]),
            request["time"],
            request["explainer"],
            request["user"] or "unknown",
            request["host"] or "unknown",
            request["purpose"] or "not given",
            ceil_text(request["epsilon"]),
            ceil_text(request["epsilon_delta"]),
            ceil_text(request["mu"]),
            "not finite" if total[unit] is None else ceil_text(total[unit]),
            request["guarantee_state"],
            request["state"] + ("" if request["counts"] else ", before new people"),
        ]
        for request, total in reversed(latest)
    ]
    head = ["Entry", "Date (UTC)", "Class", "User", "Host", "Purpose", "Epsilon", "Delta",
            "Cost (mu)", f"Total {unit}", "Promise", "State"]  # fmt: skip
    return TextTable(head, rows, {"Entry", *head[6:10]}, n_omitted)


def _entries_table(entries: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return the end of the log, entry by entry; hashes cut to their beginnings."""
    latest, n_omitted = _latest(entries)
    rows = [
        [
            str(entry["number"]),
            entry["time"][:_TO_THE_DAY],
            entry["kind"],
            entry["dataset"] or "whole ledger",
            entry["user"] or "unknown",
            entry["explainer"],
            entry["purpose"],
            f"{entry['mu']:.6g}",
            f"{entry['delta']:.6g}",
            "" if entry["reservation"] is None else str(entry["reservation"]),
            entry["package_version"],
            entry["hash"][:_SHORT_HASH],
        ]
        for entry in latest
    ]
    head = ["Entry", "Date (UTC)", "Kind", "Data set", "User", "Class", "Purpose or reason", "mu",
            "delta", "Closes", "Version", "Hash"]  # fmt: skip
    return TextTable(head, rows, {"Entry", "mu", "delta", "Closes"}, n_omitted)


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
    return f"{words}; vouched that all people are new: {people}" if people else words


def _link_words(act: Mapping[str, Any]) -> str:
    words = f"linked {act['dataset']!r} to {act['context']['to']!r}"
    return words + (", overspent together" if act["context"].get("overspent") else "")


def _policy_words(act: Mapping[str, Any]) -> str:
    above = act["context"].get("approval_above")
    if above is None:
        return "no approvals needed any more"
    return f"approvals needed above epsilon {above:g}" if above else "approvals needed for all"


def _unit_words(act: Mapping[str, Any]) -> str:
    most = act["context"].get("at_most")
    known = "no bound of the earlier rows is known" if most is None else f"at most {most} before"
    return f"protects ({act['context']['protected']}) from here on; {known}"


_ACTS = {
    "budget": lambda act: _budget_words(act, "declared"),
    "raise": lambda act: _budget_words(act, "raised to"),
    "renew": _renewal_words,
    "link": _link_words,
    "policy": _policy_words,
    "unit": _unit_words,
}
