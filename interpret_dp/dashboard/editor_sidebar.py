"""The tools beside the editor's plot, as components of Dash."""

from __future__ import annotations

from collections.abc import Mapping

from dash import dcc, html
from dash.development.base_component import Component

from interpret_dp.dashboard.editor_buttons import Ids, action_button
from interpret_dp.dashboard.editor_tools import LEVEL_TOOLS, NUMBER_TOOLS, SHAPE_TOOLS, Tool
from interpret_dp.editor import TermView

__all__ = ["tools"]


def tools(ids: Ids, view: TermView) -> list[Component]:
    """Return all that make sense for a term."""
    shapes = _suiting(SHAPE_TOOLS, view)
    groups = [
        _group("Shape of the selection", _grid(ids, shapes), "idp-editor-wide") if shapes else None,
        _group("Level of the selection", _grid(ids, _suiting(LEVEL_TOOLS, view))),
        _group(
            "By number",
            html.Div(
                [
                    dcc.Input(
                        id=ids("number"),
                        type="text",
                        placeholder="0.1",
                        className="idp-editor-number",
                    ),
                    *_buttons(ids, NUMBER_TOOLS),
                ],
                className="idp-editor-numbers",
            ),
        ),
    ]
    return [
        html.Fieldset(
            [group for group in groups if group is not None],
            id=ids("tools"),
            disabled=True,
            className="idp-editor-tools",
        ),
        _group("Signal or noise?", _verdict(ids, view), "idp-editor-wide"),
    ]


def _verdict(ids: Ids, view: TermView) -> Component:
    shapes = {
        "monotone": "monotone, either way",
        "increasing": "increasing",
        "decreasing": "decreasing",
        "flat": "flat: no effect at all",
    }
    has_order = view.kind not in ("nominal", "interaction")
    if not has_order:
        shapes = {"flat": "flat: no effect at all"}
    first = next(iter(shapes))
    return html.Div(
        [
            html.Div(
                "Apart from the noise, is the heat map"
                if view.kind == "interaction"
                else "Apart from the noise, is the curve",
                className="idp-muted",
            ),
            dcc.Dropdown(
                id=ids("shape"),
                options=[{"label": text, "value": name} for name, text in shapes.items()],
                value=first,
                clearable=False,
                searchable=False,
            ),
            html.Div(
                [
                    action_button(ids, "verdict", "Test", "Is there more than noise explains?"),
                    action_button(
                        ids,
                        "repair",
                        "Repair noise only",
                        "Straighten the bumps that noise explains; keep the others",
                        disabled=not has_order,
                    ),
                ],
                className="idp-editor-grid",
            ),
        ],
        className="idp-editor-test",
    )


def _group(title: str, content: Component, css_class: str = "") -> Component:
    heading = html.Div(title, className="idp-editor-heading")
    return html.Div([heading, content], className=css_class)


def _suiting(tools: Mapping[str, Tool], view: TermView) -> dict[str, Tool]:
    return {name: tool for name, tool in tools.items() if view.kind in tool.suits}


def _grid(ids: Ids, tools: Mapping[str, Tool]) -> Component:
    return html.Div(_buttons(ids, tools), className="idp-editor-grid")


def _buttons(ids: Ids, tools: Mapping[str, Tool]) -> list[Component]:
    return [action_button(ids, name, tool.label, tool.hint) for name, tool in tools.items()]
