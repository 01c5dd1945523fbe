"""Cards of the privacy tab that plan the next fit, with a figure whose slider chooses epsilon.

A plan reads no private row and charges nothing: its rows are simulated. It takes some seconds, so
a thread makes it, once for the same guesses, and the page asks for it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import dash
import numpy as np
from dash import MATCH, dcc, html, no_update
from dash.dependencies import Input, Output, State
from dash.development.base_component import Component

from interpret_dp.explanation.objects import PrivateEBMExplanation
from interpret_dp.explanation.plan import FitPlan
from interpret_dp.explanation.plots.parts import probabilities
from interpret_dp.ui.actions import Outcome
from interpret_dp.ui.dash.app.host import explanations_of
from interpret_dp.ui.dash.components import error_message, figure_component, titled_card
from interpret_dp.ui.dash.editor.parts import message

_PAUSE = 500  # milliseconds between two looks at whether the plan is made

_plans: weakref.WeakKeyDictionary[Any, dict[Any, Future[FitPlan]]] = weakref.WeakKeyDictionary()


@functools.cache
def _worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "interpret_dp-plan")


def register(app: dash.Dash) -> None:
    """Add the callback of the cards to one of interpret's apps."""

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
    def fill(_clicks: Any, _looks: Any, n_rows: Any, guess: Any, request: Any) -> Any:
        trigger: Any = dash.ctx.triggered_id
        has_begun = trigger["type"] == _part("clock", 0)["type"]
        # A field may change while a plan is made.
        request = request if has_begun else [n_rows, guess]
        try:
            plan = _plan(explanations_of(app)[trigger["number"]], *request)
            if plan.done():
                return _plan_parts(plan.result()), True, request
        except (TypeError, ValueError) as error:
            return message(Outcome(str(error), "error")), True, request
        except Exception as error:
            return error_message(error), True, request
        line = html.Div("Planning: fits of simulated rows run.", role="status")
        return no_update if has_begun else line, False, request


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
        plans[key] = _worker().submit(explanation.plan_next, n_rows, **given)
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
    name, guess = _guess(explanation.model)
    n_rows = round(explanation.model.n_rows)
    fields = [
        _field("Rows of the table", dcc.Input(n_rows, "number", id=_part("rows", number), min=2)),
        _field(name, dcc.Input(guess, "text", id=_part("guess", number))),
        html.Button(
            "Plan the next fit",
            id=_part("start", number),
            n_clicks=0,
            className="idp-page-strong",
        ),
    ]
    text = (
        f"What each epsilon would show, by the schema of '{explanation.name}' and the default "
        "settings: no private row is read, and nothing is charged. The number of rows is the "
        "released one. Change both values as you like; they must be public."
    )
    return titled_card(
        f"Plan of the next fit: {explanation.privacy.guarantee.dataset or 'not named'}",
        [
            html.Div(text),
            html.Div(fields, className="idp-page idp-plan"),
            html.Div(id=_part("shown", number)),
            dcc.Store(id=_part("asked", number)),
            dcc.Interval(id=_part("clock", number), interval=_PAUSE, disabled=True),
        ],
    )


def _field(name: str, field: Component) -> Component:
    return html.Label([html.Span(name), field])


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


def _plan_parts(plan: FitPlan) -> list[Component]:
    """Return the figure, and the table that says the same in numbers."""
    rows = [html.Tr([html.Td(text) for text in row]) for row in plan.text_rows()]
    head = html.Tr([html.Th(text) for text in plan.text_columns])
    table = html.Table([html.Thead(head), html.Tbody(rows)])
    words = html.Ul([html.Li(note) for note in plan.notes])
    return [
        figure_component(plan.draw("slider")),
        html.Details([html.Summary("The same in numbers"), table, words], className="idp-scroll"),
    ]
