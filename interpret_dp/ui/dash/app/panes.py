"""Cards of interpret's full dashboard: a tick draws its own card alone, and the others stay.

interpret draws every ticked part anew at each tick, and the overview too. For our explanations its
callbacks change nothing (``install._live_card``), and those here answer the same inputs. The cards
of a pane are a chain: each slot holds the slot of the next card above its own card. A new card goes
into the last slot, so that no other component is updated, and stands on top as interpret's do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dash
from dash import ALL, ctx, html, no_update
from dash.dependencies import Input, Output, State
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from interpret_dp.ui.dash.app.host import explanations_of
from interpret_dp.ui.dash.components import titled_card

_TABS = ("data", "global", "local")
_N_PANES = 5  # of each tab, as interpret lays them out

_Content = Callable[[Any, int | None], Component]


def register(app: dash.Dash, content: _Content) -> None:
    """Add the callbacks to one of interpret's apps.

    Parameters
    ----------
    app : dash.Dash
    content : callable
        Returns what the card of an explanation's part shows; None is the overview.
    """
    for tab in _TABS:
        for pane in range(_N_PANES):
            _add_cards(app, tab, pane, content)
            _add_overview(app, tab, pane, content)


def _inputs(tab: str, pane: int) -> tuple[Input, Input]:
    return Input(f"{tab}-model-drop", "value"), Input(f"{tab}-instance-idx-{pane}", "children")


def _part(kind: str, container: str, model: Any = ALL, number: Any = ALL, key: Any = ALL) -> Any:
    """Return the id of a part of a pane."""
    identity = {"pane": container, "model": model, "number": number, "key": key}
    return {"type": f"idp-{kind}", **identity}


def _explanation(app: Any, chosen: Sequence[int] | None, pane: int) -> tuple[int, Any]:
    """Return number and explanation of a pane, if it is one of ours."""
    if chosen and pane < len(chosen):
        explanation = explanations_of(app)[chosen[pane]]
        if hasattr(explanation, "privacy"):
            return chosen[pane], explanation
    raise PreventUpdate


def _add_cards(app: dash.Dash, tab: str, pane: int, content: _Content) -> None:
    container = f"{tab}-plots-container-{pane}"

    @app.callback(
        Output(container, "children", allow_duplicate=True),
        Output(_part("slot", container), "children"),
        Output(_part("holder", container), "children"),
        *_inputs(tab, pane),
        State(_part("card", container), "id"),
        prevent_initial_call="initial_duplicate",
    )
    def fill(chosen: list[int] | None, ticked: list[int] | None, cards: list[Any]) -> Any:
        model, explanation = _explanation(app, chosen, pane)
        if not ticked:
            # interpret's own callback empties the pane.
            raise PreventUpdate
        slots, holders = ([entry["id"] for entry in outputs] for outputs in ctx.outputs_list[1:])
        shown = {card["key"]: card["number"] for card in cards if card and card["model"] == model}
        fresh = [key for key in ticked if key not in shown]
        gone = {number for key, number in shown.items() if key not in ticked}
        first = max((slot["number"] for slot in slots if slot["model"] == model), default=0)

        # From the last card, which is above the others, to the first.
        chain = html.Div(id=_part("slot", container, model, first + len(fresh), ""))
        for number, key in reversed(list(enumerate(fresh, first))):
            title = f"{explanation.name} [{key}]"
            identity = _part("card", container, model, number, key)
            card = titled_card(title, [content(explanation, key)], id=identity)
            holder = html.Div(card, id=_part("holder", container, model, number, ""))
            chain = html.Div([chain, holder], id=_part("slot", container, model, number, ""))

        if not shown:
            return chain, [no_update] * len(slots), [no_update] * len(holders)
        last = _part("slot", container, model, first, "")
        return (
            no_update,
            [chain.children if fresh and slot == last else no_update for slot in slots],
            [[] if holder["number"] in gone else no_update for holder in holders],
        )


def _add_overview(app: dash.Dash, tab: str, pane: int, content: _Content) -> None:
    container = f"{tab}-overall-plot-container-{pane}"

    @app.callback(
        Output(container, "children", allow_duplicate=True),
        *_inputs(tab, pane),
        State(_part("card", container), "id"),
        prevent_initial_call="initial_duplicate",
    )
    def fill(chosen: list[int] | None, _ticked: Any, cards: list[Any]) -> Any:
        model, explanation = _explanation(app, chosen, pane)
        if any(card and card["model"] == model for card in cards):
            raise PreventUpdate
        identity = _part("card", container, model, 0, "")
        return titled_card(
            f"{explanation.name} (Overall)", [content(explanation, None)], id=identity
        )
