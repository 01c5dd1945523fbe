"""The tab "Privacy" of interpret's full dashboard: accounts, and plans of the next fit.

Accounts show what the ledger says and nothing else: no figure of the rows is in a ledger.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dash
import numpy as np
from dash import MATCH, dcc, html, no_update
from dash.dependencies import Input, Output, State
from dash.development.base_component import Component

from interpret_dp.exceptions import LedgerError
from interpret_dp.explanation.budget import PERCENT_NOTE, BudgetState, account_rows, request_texts
from interpret_dp.explanation.markup import render
from interpret_dp.explanation.objects import PrivateEBMExplanation
from interpret_dp.explanation.plan import FitPlan
from interpret_dp.explanation.plots.parts import probabilities
from interpret_dp.explanation.plots.spending import OURS, timeline_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.ui.actions import Outcome
from interpret_dp.ui.dash.components import (
    error_message,
    explanations_of,
    figure_component,
    from_html,
    is_editable,
    message_on_error,
    or_error,
    shows_ours,
    titled_card,
)
from interpret_dp.ui.dash.parts import message

# Cards of the privacy tab that plan the next fit, with a figure whose slider chooses epsilon.
#
# A plan reads no private row and charges nothing: its rows are simulated. It takes some seconds, so
# a thread makes it, once for the same guesses, and the page asks for it.

_PAUSE = 500  # milliseconds between two looks at whether the plan is made

_plans: weakref.WeakKeyDictionary[Any, dict[Any, Future[FitPlan]]] = weakref.WeakKeyDictionary()


# It starts no thread before the first plan.
_worker = ThreadPoolExecutor(1, "interpret_dp-plan")


def _part(name: str, number: Any) -> dict[str, Any]:
    """Return the id of a part of the card of an explanation, by its number in the app."""
    return {"type": f"idp-plan-{name}", "number": number}


def _plan(explanation: Any, n_rows: Any, guess: Any) -> Future[FitPlan]:
    """Begin a plan, or return the one that was begun for these guesses and this budget."""
    numbers = _numbers(explanation, guess)
    left = explanation.privacy.as_of_now().remaining_epsilon
    plans = _plans.setdefault(explanation, {})
    key = n_rows, numbers, left
    if key not in plans:
        name = "spread" if explanation.model.classes is None else "rate"
        given: Any = {name: numbers[0] if len(numbers) == 1 else numbers}
        plans[key] = _worker.submit(explanation.plan_next, n_rows, **given)
    return plans[key]


def _numbers(explanation: Any, guess: Any) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in str(guess or "").split(","))
    except ValueError:
        raise ValueError(
            f"'{_guess(explanation.model)[0]}' is {guess!r}; it must be a number, or several with "
            "commas between them, by your public guess. Never read it off the private rows."
        ) from None


def plan_cards(explanations: Sequence[Any]) -> list[Component]:
    """Return a card for each data set that an additive model is shown of, the first one."""
    models: dict[str | None, int] = {}
    for number, explanation in enumerate(explanations):
        is_ours = isinstance(explanation, PrivateEBMExplanation)
        if is_ours and explanation.model.schema.target is not None:
            models.setdefault(explanation.privacy.guarantee.dataset, number)
    return [_card(explanations[number], number) for number in models.values()]


def _card(explanation: Any, number: int) -> Component:
    ids = partial(_part, number=number)
    name, guess = _guess(explanation.model)
    n_rows = round(explanation.model.n_rows)
    fields = {
        "rows": dcc.Input(n_rows, "number", id=ids("rows"), min=2),
        "guess": dcc.Input(guess, "text", id=ids("guess")),
    }
    content = from_html(render("plan_card.html", name=explanation.name, guess=name), fields, ids)
    return titled_card(
        f"Plan of the next fit: {explanation.privacy.guarantee.dataset or 'not named'}",
        [
            content,
            dcc.Store(id=ids("asked")),
            dcc.Interval(id=ids("clock"), interval=_PAUSE, disabled=True),
        ],
    )


def _guess(model: Any) -> tuple[str, str]:
    """Return the name of the guess that a plan needs, and the model's own value, "" without one."""
    target = model.schema.target
    if model.classes is None:
        return "Standard deviation of the target", ""
    share = probabilities(model, np.zeros(1)) if len(model.classes) == 2 else None
    if share is None:
        return f"Shares of {', '.join(map(str, target.levels))}", ""
    own = float(share[0]) if target.levels[1] == model.classes[1] else 1.0 - float(share[0])
    return f"Share of '{target.levels[1]}'", f"{own:.2g}"


_VALUE, _CONTENT = "privacy", "privacy-tab"
_MAX_REQUESTS = 200  # in the table, the latest


def register(app: dash.Dash) -> None:
    """Add the callbacks that fill the tab to one of interpret's apps."""

    @app.callback(Output(_CONTENT, "children"), [Input("tabs", "value")])
    @message_on_error()
    def fill(tab: str | None) -> Any:
        # As interpret's own tabs do: empty while another one is shown, so that it is read anew.
        return _content(explanations_of(app)) if tab == _VALUE else None

    @app.callback(
        Output(_part("shown", MATCH), "children"),
        Output(_part("clock", MATCH), "disabled"),
        Output(_part("asked", MATCH), "data"),
        Input(_part("start", MATCH), "n_clicks"),
        Input(_part("clock", MATCH), "n_intervals"),
        State(_part("rows", MATCH), "value"),
        State(_part("guess", MATCH), "value"),
        State(_part("asked", MATCH), "data"),
        prevent_initial_call=True,
    )
    def plan(_clicks: Any, _looks: Any, n_rows: Any, guess: Any, request: Any) -> Any:
        trigger: Any = dash.ctx.triggered_id
        has_begun = trigger["type"] == _part("clock", 0)["type"]
        # A field may change while a plan is made.
        request = request if has_begun else [n_rows, guess]
        try:
            future = _plan(explanations_of(app)[trigger["number"]], *request)
            if future.done():
                # The figure, and the table that says the same in numbers.
                numbers = from_html(render("plan_numbers.html", plan=future.result()))
                figure = figure_component(future.result().draw("slider"))
                return [figure, numbers], True, request
        except (TypeError, ValueError) as error:
            return message(Outcome(str(error), "error")), True, request
        except Exception as error:
            return error_message(error), True, request
        line = html.Div("Planning: fits of simulated rows run.", role="status")
        return no_update if has_begun else line, False, request


def with_tab(layout: Any, app: Any) -> Any:
    """Return interpret's layout with our tab and without empty ones, open at our global models.

    The small dashboard, and others' work, are left as they are.
    """
    if app.ctx is None or not shows_ours(app):
        return layout
    kinds = {"overview", *(explanation.explanation_type for explanation in explanations_of(app))}
    # The layout is the app's own object and is served again and again.
    layout = copy.deepcopy(layout)
    content = html.Div(id=_CONTENT, className="contain")
    tabs = layout["tabs"]
    own = dcc.Tab(label="Privacy", value=_VALUE, children=content)
    tabs.children = [*(tab for tab in tabs.children if tab.value in kinds), own]
    tabs.mobile_breakpoint = 0  # in one row, also on a narrow page
    if any(map(is_editable, explanations_of(app))):
        tabs.value = "global"
    return layout


def _content(explanations: list[Any]) -> Component:
    accounts = collect_accounts(explanations)
    cards = [*map(_account_card, accounts), *plan_cards(explanations)]
    introduction = from_html(render("privacy_tab.html", accounts=accounts))
    return html.Div([titled_card("Privacy", [introduction]), *cards], className="idp-tab")


def _account_card(account: ShownAccount) -> Component:
    return titled_card(f"Data set: {account.dataset}", [or_error(_account_content, account)])


def _account_content(account: ShownAccount) -> Component:
    budget, document = account.budget, account.document
    requests = request_texts(document) if document else []
    shown = sum(m.spend.model_share or 0.0 for m in account.models if m.request is not None)
    page = render(
        "account.html",
        **vars(account),
        requests=requests,
        most_requests=_MAX_REQUESTS,
        names={model.request: ", ".join(model.names) for model in account.models},
        rows=account_rows(document) if document else {},
        bar=budget.bar(OURS, shown) if budget else [],
        percent_note=PERCENT_NOTE,
    )
    if not requests:
        return from_html(page)
    figure = timeline_figure(document, {model.request for model in account.models})
    return from_html(page, {"figure": figure_component(figure)})


# -------------------------------------------------------------------------- reading the ledgers


@dataclass(frozen=True, kw_only=True)
class ShownModel:
    """One model of the dashboard, with the explanations that show it.

    Attributes
    ----------
    spend : PrivacySpend
        Its cost, with the ledger's figures as of now.
    names : tuple of str
        The explanations.
    request : int or None
        Number of its request in the ledger; None if the ledger does not hold it.
    """

    spend: PrivacySpend
    names: tuple[str, ...]
    request: int | None


@dataclass(frozen=True, kw_only=True)
class ShownAccount:
    """One data set's account.

    Attributes
    ----------
    dataset, ledger : str
        Name of the data set and words for its ledger.
    models : tuple of ShownModel
        The models of this dashboard that were charged to it.
    assumptions : tuple of str
        The assumptions of their promises, each clause once.
    budget : BudgetState or None
        None if no limit was declared.
    head : str or None
        Hash of the ledger's last entry.
    document : mapping
        Its budget and its requests; empty if nothing can be read.
    problem : str
        Why nothing can be read; empty if all is well.
    """

    dataset: str
    ledger: str
    models: tuple[ShownModel, ...]
    assumptions: tuple[str, ...]
    budget: BudgetState | None = None
    head: str | None = None
    document: Mapping[str, Any] = field(default_factory=dict, compare=False)
    problem: str = ""


def collect_accounts(explanations: Sequence[Any]) -> list[ShownAccount]:
    """Return one account per data set and ledger, in the order of the explanations.

    Explanations of other packages, which have no ``privacy``, are passed over.
    """
    groups: dict[tuple[Any, str], list[Any]] = {}
    for explanation in explanations:
        spend = getattr(explanation, "privacy", None)
        if isinstance(spend, PrivacySpend):
            dataset = spend.guarantee.dataset or "not named"
            groups.setdefault((spend.account, dataset), []).append(explanation)
    return [_account(ledger, dataset, group) for (ledger, dataset), group in groups.items()]


def _account(ledger: Any, dataset: str, explanations: Sequence[Any]) -> ShownAccount:
    promises = [e.privacy.guarantee for e in explanations]
    clauses = dict.fromkeys(clause for p in promises for clause in p.shown_assumptions)
    words, problem, head, document, entries = explanations[0].privacy.ledger, "", None, {}, []
    try:
        if not isinstance(ledger, PrivacyLedger):
            problem = "The explanations carry no ledger, so nothing is known of other requests."
        elif dataset not in ledger.datasets():
            problem = (
                f"The ledger has no entry of data set {dataset!r}. A model that was loaded from a "
                "file finds its account if the ledger is given: load_model(path, ledger=...)."
            )
        else:
            whole, entries, words = ledger.to_dict(dataset), ledger.entries(dataset), repr(ledger)
            head, (document,) = whole["head"], whole["datasets"]
    except LedgerError as error:
        problem = f"The ledger cannot be read now: {error}"
    # Numbers of requests by the hash of the entry that closed each.
    numbers = {e["hash"]: e["reservation"] for e in entries if e["kind"] == "commit"}
    return ShownAccount(
        dataset=dataset,
        ledger=words,
        models=_models(explanations, numbers),
        assumptions=tuple(clauses),
        budget=BudgetState.of(document) if document else None,
        head=head,
        document=document,
        problem=problem,
    )


def _models(explanations: Sequence[Any], numbers: dict[str, int]) -> tuple[ShownModel, ...]:
    groups: dict[Any, list[Any]] = {}
    for explanation in explanations:
        guarantee = explanation.privacy.guarantee
        groups.setdefault(guarantee.ledger_head or id(guarantee), []).append(explanation)
    return tuple(
        ShownModel(
            spend=group[0].privacy.as_of_now(),
            names=tuple(str(explanation.name) for explanation in group),
            request=numbers.get(head) if isinstance(head, str) else None,
        )
        for head, group in groups.items()
    )
