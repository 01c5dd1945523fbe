"""The tab "Privacy" of interpret's full dashboard: the accounts of all data sets concerned.

It shows what the ledger says and nothing else: no figure of the rows is in a ledger.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import dash
from dash import dcc, html
from dash.dependencies import Input, Output
from dash.development.base_component import Component

from interpret_dp._figures import ceil_text, floor_text, left_for_selections, selections_text
from interpret_dp.dashboard.accounts import ShownAccount, collect_accounts
from interpret_dp.dashboard.errors import error_message, message_on_error
from interpret_dp.dashboard.host import explanations_of, shows_ours
from interpret_dp.dashboard.panel import figure_component, to_component
from interpret_dp.explanation.panel import budget_bar, shares_text
from interpret_dp.explanation.plots.parts import literal, thinned
from interpret_dp.explanation.plots.spending import CLASSES, Requests, spending_plot

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["register", "spending_figure", "with_tab"]

_OURS, _OTHERS = "models of this dashboard", "other requests"
_VALUE, _CONTENT = "privacy", "privacy-tab"


def register(app: dash.Dash) -> None:
    """Add the callback that fills the tab to one of interpret's apps."""

    @app.callback(Output(_CONTENT, "children"), [Input("tabs", "value")])
    @message_on_error()
    def fill(tab: str | None) -> Any:
        # As interpret's own tabs do: empty while another one is shown, so that it is read anew.
        return _content(explanations_of(app)) if tab == _VALUE else None


def with_tab(layout: Any, app: Any) -> Any:
    """Return interpret's layout with our tab; the small dashboard, and others' work, as it is."""
    if app.ctx is None or not shows_ours(app):
        return layout
    # The layout is the app's own object and is served again and again.
    layout = copy.deepcopy(layout)
    tab = dcc.Tab(
        label="Privacy",
        value=_VALUE,
        children=html.Div(id=_CONTENT, className="contain"),
    )
    tabs = layout["tabs"]
    tabs.children = [*tabs.children, tab]
    return layout


def _content(explanations: list[Any]) -> Component:
    accounts = collect_accounts(explanations)
    cards = [_guarded_card(account) for account in accounts]
    return html.Div([_introduction(accounts), *cards], className="idp-tab")


def _introduction(accounts: list[ShownAccount]) -> Component:
    text = (
        "What has been spent on each data set whose models are shown here, read off the ledger "
        "just now. Looking at explanations and editing curves costs nothing; fitting a model does, "
        "and so does each new answer of an explainer. No figure of the rows is on this page."
    )
    seeded = [
        name
        for account in accounts
        for model in account.models
        if model.spend.guarantee.tests_only
        for name in model.names
    ]
    warning = None
    if seeded:
        warning = html.Div(
            f"Seeded noise, for tests only, promises nothing: {', '.join(seeded)}.",
            className="idp-error",
        )
    return _card("Privacy", [html.Div(text), warning])


def _guarded_card(account: ShownAccount) -> Component:
    title = f"Data set: {account.dataset}"
    try:
        return _card(title, _account_parts(account))
    except Exception as error:
        return _card(title, [error_message(error)])


def _card(title: str, parts: list[Component | None]) -> Component:
    """Return a card that looks like interpret's own."""
    return html.Div(
        [
            html.Div(html.Div(title, className="card-title"), className="card-header"),
            html.Div([part for part in parts if part is not None], className="card-body"),
        ],
        className="card",
    )


def _account_parts(account: ShownAccount) -> list[Component | None]:
    has_requests = account.requests is not None and not account.requests.empty
    problem = html.Div(account.problem, className="idp-error") if account.problem else None
    return [
        problem,
        None if account.problem else _summary(account),
        _room(account),
        figure_component(spending_figure(account)) if has_requests else None,
        _requests(account) if has_requests else None,
        _assumptions(account),
        html.Div(f"Ledger: {account.ledger}; head {account.head or 'none'}", className="idp-muted"),
    ]


def _summary(account: ShownAccount) -> Component:
    budget = account.budget
    if budget is None:
        return html.Div(
            "No limit declared: what is spent is recorded, and nothing is ever refused. Declare "
            "one with ledger.create_budget(...) in a ledger that outlives the process."
        )
    shown = sum(m.spend.model_share or 0.0 for m in account.models if m.request is not None)
    shown = min(shown, budget.spent_share)
    parts = [
        (_OURS, shown, CLASSES[0]),
        (_OTHERS, max(0.0, budget.spent_share - shown), CLASSES[1]),
    ]
    spent = "0" if not budget.n_requests else ceil_text(budget.spent_epsilon)
    words = (
        f"Spent epsilon {spent} of {budget.epsilon:g} at delta {budget.delta:g}"
        f"{selections_text(budget.delta_x)}, in "
        f"{budget.n_requests:,} request{'' if budget.n_requests == 1 else 's'}. Left for one more "
        f"release: epsilon {floor_text(budget.remaining_epsilon)} at delta {budget.delta:g}"
        + left_for_selections(budget.remaining_epsilon, budget.delta_x, budget.spent_delta)
        + ". "
    )
    waiting = "The budget has expired: an officer renews it. " if budget.expired else ""
    if budget.open_reservations:
        waiting += (
            f"{budget.open_reservations} of the requests run now or were left by a crash; all "
            "count as spent."
        )
    return html.Div(
        [
            html.Div([html.B(words), waiting], style={"marginBottom": "6px"}),
            to_component(budget_bar(parts)),
            html.Div(shares_text(*budget.spent_shares), className="idp-muted"),
        ]
    )


def _room(account: ShownAccount) -> Component | None:
    """Say how many more models like each of those shown fit under the budget."""
    lines = []
    for model in account.models:
        guarantee = model.spend.guarantee
        setting = f"epsilon {ceil_text(guarantee.epsilon)} at delta {ceil_text(guarantee.delta)}"
        names = ", ".join(repr(name) for name in model.names)
        more = model.spend.more_like_this
        room = "" if more is None else f"; room for {more:,} more at this setting"
        lines.append(html.Li(f"{names}: {setting}{room}"))
    return html.Div(
        [html.Div("Models and explainers shown here", style={"fontWeight": 600}), html.Ul(lines)],
        style={"margin": "10px 0"},
    )


def spending_figure(account: ShownAccount) -> Figure:
    """Return all spending up to each request, as steps, below the limit.

    In epsilon at the budget's delta; in mu where no limit was declared. Of very many requests a few
    are shown, and those of this dashboard; totals count all of them.
    """
    requests, budget = account.requests, account.budget
    if requests is None or requests.empty:
        raise ValueError(f"Data set {account.dataset!r} has no request; there is nothing to draw.")
    shown_here = {model.request for model in account.models}
    own = {place for place, number in enumerate(requests.index) if number in shown_here}
    requests = requests.iloc[sorted(own.union(thinned(len(requests))))]
    numbers = [int(number) for number in requests.index]
    unit = "mu" if budget is None else "epsilon"
    ours, others = (
        [i for i, number in enumerate(numbers) if (number in shown_here) is wanted]
        for wanted in (True, False)
    )
    return spending_plot(
        numbers,
        [float(total) for total in requests[f"total_{unit}"]],
        list(requests["time"]),
        [_words(request) for _, request in requests.iterrows()],
        [
            Requests(_OURS, CLASSES[0], "circle", ours),
            Requests(_OTHERS, CLASSES[1], "diamond", others),
        ],
        unit=unit,
        limits=[] if budget is None else [(numbers[0], budget.epsilon)],
        delta=0.0 if budget is None else budget.delta,
    )


def _words(request: Any) -> str:
    purpose = f", for {literal(request['purpose'])}" if request["purpose"] else ""
    return (
        f"{literal(request['explainer'])}{purpose}<br>asked for epsilon "
        f"{ceil_text(request['asked_epsilon'])} at delta {ceil_text(request['asked_delta'])}, "
        f"{request['state']}"
    )


_MOST_REQUESTS = 200


def _requests(account: ShownAccount) -> Component:
    requests = account.requests
    if requests is None:
        raise ValueError(f"The requests of data set {account.dataset!r} were not read.")
    names = {
        model.request: ", ".join(model.names)
        for model in account.models
        if model.request is not None
    }
    total_name = "Total mu" if account.budget is None else "Total epsilon"
    numeric = {"Epsilon", "Delta", "Cost (mu)", total_name}
    head = ["Date (UTC)", "Who", "User", "Purpose", "Epsilon", "Delta", "Cost (mu)",
            total_name, "State", "Shown here as"]  # fmt: skip
    body = []
    latest = requests.iloc[::-1][:_MOST_REQUESTS]
    for number, (_, request) in zip(latest.index, latest.iterrows(), strict=True):
        total = request["total_mu" if account.budget is None else "total_epsilon"]
        body.append(
            [
                request["time"],
                request["explainer"],
                request["user"] or "not told",
                request["purpose"] or "not given",
                ceil_text(request["asked_epsilon"]),
                ceil_text(request["asked_delta"]),
                ceil_text(request["mu"]),
                ceil_text(total),
                request["state"],
                names.get(number, ""),
            ]
        )
    classes = ["idp-number" if name in numeric else "" for name in head]
    cut = f", the latest {_MOST_REQUESTS}" if len(requests) > _MOST_REQUESTS else ""
    table = html.Table(
        [
            html.Thead(_row(html.Th, head, classes)),
            html.Tbody([_row(html.Td, cells, classes) for cells in body]),
        ]
    )
    return html.Details(
        [
            html.Summary(f"Requests ({len(requests):,}{cut})", style={"cursor": "pointer"}),
            html.Div(table, className="idp-scroll"),
        ],
        open=True,
    )


def _row(kind: Any, cells: list[str], classes: list[str]) -> Component:
    return html.Tr([kind(cell, className=c) for cell, c in zip(cells, classes, strict=True)])


def _assumptions(account: ShownAccount) -> Component:
    return html.Details(
        [
            html.Summary(
                f"What the promises assume ({len(account.assumptions)})",
                style={"cursor": "pointer"},
            ),
            html.Ul([html.Li(clause) for clause in account.assumptions]),
        ],
        style={"margin": "10px 0"},
    )
