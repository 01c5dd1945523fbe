"""Small drawings of curves for the buttons of the editor."""

from __future__ import annotations

from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

__all__ = ["icon"]

_PATHS = {
    "increasing": "M2 14h4v-4h4V6h4V2",
    "decreasing": "M2 2v4h4v4h4v4h4",
    "monotone": "M2 5h4v3h4v3h4M11 2l3 3-3 3",
    "smooth": "M2 11c3-9 5-9 6-3s3 6 6-3",
    "convex": "M2 3c1 13 11 13 12 0",
    "concave": "M2 13C3 0 13 0 14 13",
    "line": "M3 12L13 4M3 12m-1.2 0a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 1 0-2.4 0"
    "M13 4m-1.2 0a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 1 0-2.4 0",
    "fit": "M2 13L14 4M4 8v.1M7 12v.1M9 4.5v.1M12 8.5v.1",
    "flatten": "M2 8h12M4 4v.1M8 12v.1M12 4v.1",
    "remove": "M3 3l10 10M13 3L3 13",
    "left": "M2 5h12M2 2v6M5 11h9",
    "right": "M2 11h12M14 8v6M2 5h9",
    "undo": "M6 3L2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 0 1 0 7H7",
    "redo": "M10 3l3.500 3.500L10 10M13 6.500H6.500a3.500 3.500 0 0 0 0 7H9",
    "reset": "M3 8a5 5 0 1 0 1.500-3.600M3 2v3h3",
}


def icon(name: str) -> Component | None:
    """Return the drawing of a button; None if it has none."""
    path = _PATHS.get(name)
    if path is None:
        return None
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16" '
        'fill="none" stroke="#24323f" stroke-width="1.7" stroke-linecap="round" '
        f'stroke-linejoin="round"><path d="{path}"/></svg>'
    )
    return html.Img(src=f"data:image/svg+xml,{quote(drawing)}", alt="", className="idp-editor-icon")
