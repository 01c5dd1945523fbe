"""The privacy panel, and figures, as components of Dash."""

from __future__ import annotations

import re
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from interpret_dp.explanation.markup import Element
from interpret_dp.explanation.panel import privacy_panel
from interpret_dp.explanation.spend import PrivacySpend

__all__ = ["figure_component", "panel_children", "panel_id", "to_component"]


def panel_id(uid: Any, key: Any) -> dict[str, Any]:
    """Return the id of the panel of one card; ``dash.MATCH`` may stand for either part."""
    return {"type": "idp-panel", "uid": uid, "key": key}


def panel_children(spend: PrivacySpend) -> Component:
    """Return the panel with the ledger's figures as of now."""
    return to_component(privacy_panel(spend.as_of_now().to_dict()))


def to_component(node: Element) -> Component:
    """Return an element of a page as a component, with what is below it."""
    attributes = {"className": node.css_class, "title": node.title, "role": node.role}
    component: Component = getattr(html, node.tag.capitalize())(
        [child if isinstance(child, str) else to_component(child) for child in node.children],
        style={_camel(name): value for name, value in node.style.items()},
        **{name: value for name, value in attributes.items() if value},
    )
    return component


def _camel(name: str) -> str:
    return re.sub(r"-(\w)", lambda match: match.group(1).upper(), name)


def figure_component(figure: Any) -> Component:
    """Return a figure as a component that is as wide as its card."""
    return dcc.Graph(
        figure=figure,
        config={"displayModeBar": "hover", "displaylogo": False, "responsive": True},
        style={"height": f"{figure.layout.height}px"},
    )
