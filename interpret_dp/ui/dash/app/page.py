"""Parts of a page beside its cards: offers of earlier sessions' edits, and where edits are kept.

The page's script adds a notice when the page has lost its server.
"""

from __future__ import annotations

import copy
from typing import Any

import dash
from dash import ALL, ctx, dcc, html
from dash.dependencies import Input, Output
from dash.development.base_component import Component

from interpret_dp.editor import EarlierEdits, EditSession
from interpret_dp.editor.autosave import may_have_edits
from interpret_dp.explanation.objects import PrivateEBMExplanation
from interpret_dp.ui.actions import Outcome, counted
from interpret_dp.ui.dash.app.host import explanations_of
from interpret_dp.ui.dash.components import message_on_error
from interpret_dp.ui.dash.editor.parts import Ids, message

_OFFERS, _PLACES = "idp-page-offers", "idp-page-places"
_TAKE, _DISCARD = "idp-page-take", "idp-page-discard"


def with_page_parts(layout: Any, app: Any) -> Any:
    """Return the layout of one of interpret's apps with our parts above and below it.

    The layout of an app that shows no model of ours is returned as it is.
    """
    if not _has_editor(app):
        return layout
    # The layout is the app's own object and is served again and again.
    layout = copy.copy(layout)
    layout.children = [
        html.Div(id=_OFFERS, className="idp-page"),
        *layout.children,
        html.Div(id=_PLACES, className="idp-page idp-page-places"),
    ]
    return layout


def register(app: dash.Dash) -> None:
    """Add the callback that fills the parts to one of interpret's apps."""

    @app.callback(
        Output(_OFFERS, "children"),
        Output(_PLACES, "children"),
        Input({"type": _TAKE, "digest": ALL}, "n_clicks"),
        Input({"type": _DISCARD, "digest": ALL}, "submit_n_clicks"),
        # A card that appears, or is drawn after an edit.
        Input(Ids(ALL, ALL)("seen"), "data"),
    )
    @message_on_error(2)
    def fill(_takes: Any, _discards: Any, _seen: Any) -> Any:
        sessions, outcome = _sessions(app), None
        trigger = ctx.triggered_id or {}
        # Buttons that have just appeared trigger this as well.
        if trigger.get("type") in (_TAKE, _DISCARD) and ctx.triggered[0]["value"]:
            try:
                outcome = _answer(sessions, trigger["type"], trigger["digest"])
            except (ValueError, OSError) as error:
                outcome = Outcome(str(error), "error")
        return _offers(sessions, outcome), _places(sessions)


def _has_editor(app: Any) -> bool:
    return any(_is_editable(explanation) for explanation in explanations_of(app))


def _is_editable(explanation: Any) -> bool:
    return (
        isinstance(explanation, PrivateEBMExplanation) and explanation.explanation_type == "global"
    )


def _sessions(app: Any) -> list[EditSession]:
    """Return the sessions of the models that are shown, each once.

    A session is opened for the page alone only where an earlier one may have left edits: a large
    model takes a while to hash.
    """
    shown = [e for e in explanations_of(app) if _is_editable(e)]
    sessions = [e.edit_session for e in shown if e.has_edit_session or may_have_edits(e.model)]
    return list({id(session): session for session in sessions}.values())


def _answer(sessions: list[EditSession], action: str, digest: str) -> Outcome:
    for session in sessions:
        for earlier in session.autosave.earlier:
            if earlier.digest != digest:
                continue
            if action == _DISCARD:
                session.autosave.discard(earlier)
                return Outcome(f"Discarded {counted(earlier.count)}.")
            return Outcome(f"Took {counted(session.autosave.take(earlier))}.")
    raise ValueError(
        "The file was changed or is gone: another session took it, or goes on with its edits."
    )


def _offers(sessions: list[EditSession], outcome: Outcome | None) -> list[Component]:
    offers = [_offer(session, e) for session in sessions for e in session.autosave.earlier]
    return offers if outcome is None else [message(outcome), *offers]


def _offer(session: EditSession, earlier: EarlierEdits) -> Component:
    if earlier.problem:
        return message(Outcome(f"Edits of an earlier session: {earlier}", "note"))
    dataset = session.base.guarantee.dataset
    of_model = f" of the model of {dataset!r}" if dataset else ""
    take = html.Button(
        "Take them",
        id={"type": _TAKE, "digest": earlier.digest},
        n_clicks=0,
        title="Go on where the earlier session ended",
        className="idp-page-strong",
    )
    discard = dcc.ConfirmDialogProvider(
        html.Button("Discard", title="Delete the file"),
        id={"type": _DISCARD, "digest": earlier.digest},
        message=f"Delete {counted(earlier.count)} in {earlier.path}? This cannot be undone.",
    )
    title = html.B(f"An earlier session left {counted(earlier.count)}{of_model}.")
    text = f"The last is by {earlier.who}, {earlier.time}, in {earlier.path}."
    parts = [html.Div([title, html.Div(text)]), html.Div([take, discard])]
    return html.Div(parts, className="idp-page-offer")


def _places(sessions: list[EditSession]) -> list[Component]:
    """Return where the edits of each model are kept, or why they are not."""
    lines = []
    for session in sessions:
        autosave = session.autosave
        if autosave.problem:
            lines.append(message(Outcome(autosave.problem, "error")))
        elif autosave.path is not None:
            lines.append(html.Div(f"Edits are kept as they are made, in {autosave.path}."))
    return lines
