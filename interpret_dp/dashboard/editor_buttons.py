"""What the parts of the editor's card are made of: ids, buttons, and how they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component

from interpret_dp.dashboard.editor_icons import icon

__all__ = ["BUTTON", "SELECTOR", "Ids", "action_button", "data_attributes"]

BUTTON, SELECTOR = "idp-editor-button", "idp-editor-selector"
"""Types of the ids of buttons that act, and of buttons that select."""


@dataclass(frozen=True)
class Ids:
    """Ids of one rendering of one term's card; ``dash.MATCH`` may stand for either part."""

    uid: Any
    key: Any

    def __call__(self, part: str) -> dict[str, Any]:
        """Return the id of a part of the card."""
        return {"type": f"idp-editor-{part}", "uid": self.uid, "key": self.key}

    @property
    def gestures(self) -> dict[str, Any]:
        """Ids of the stores that the page's gestures report to."""
        return {name: self(name) for name in ("click", "drag")}

    def button(self, action: Any) -> dict[str, Any]:
        """Return the id of a button that acts on the session; ``dash.ALL`` for all of them."""
        return {"type": BUTTON, "uid": self.uid, "key": self.key, "action": action}

    def selector(self, action: Any) -> dict[str, Any]:
        """Return the id of a button that selects."""
        return {"type": SELECTOR, "uid": self.uid, "key": self.key, "action": action}


def action_button(
    ids: Ids, action: str, label: str, hint: str, *, disabled: bool = False, strong: bool = False
) -> Component:
    """Return a button that acts on the session."""
    drawing = icon(action)
    return html.Button(
        [label] if drawing is None else [drawing, html.Span(label)],
        id=ids.button(action),
        title=hint,
        disabled=disabled,
        n_clicks=0,
        className="idp-editor-button" + (" idp-editor-strong" if strong else ""),
        **data_attributes(action=action),
    )


def data_attributes(**values: str) -> Any:
    """Return attributes by which the page's gestures find their way."""
    return {f"data-{name}": value for name, value in values.items()}
