"""interpret's dashboard from outside: which apps are its own, what they show, what is running."""

from __future__ import annotations

import re
import sys
import weakref
from typing import Any

import dash
import flask
from dash.exceptions import MissingCallbackContextException

# Where interpret's callbacks put what `visualize` returns.
_CONTAINERS = re.compile(r"viz-container|\w+-(overall-plot|plots)-container-\d+")


def is_interprets(app: Any) -> bool:
    """Whether an app is one of interpret's; without importing interpret into foreign apps."""
    return any(
        kind.__name__ == "UDash" and kind.__module__ == "interpret.visual._udash"
        for kind in type(app).__mro__
    )


# By their servers: Dash tells a layout hook what the layout is, and not whose.
_apps: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def remember(app: Any) -> None:
    """Note one of interpret's apps, for :func:`served_app`."""
    _apps[id(app.server)] = app


def served_app() -> Any:
    """Return the app of interpret whose page is being served; None for others and otherwise."""
    if not flask.has_app_context():
        return None
    server = flask.current_app._get_current_object()  # type: ignore[attr-defined]
    app = _apps.get(id(server))
    # An identity may be given again after an app is gone.
    return app if app is not None and app.server is server else None


def filled_container() -> str | None:
    """Return the id that a callback of interpret fills with an explanation; None outside of one."""
    try:
        outputs = dash.ctx.outputs_list
    except MissingCallbackContextException:
        return None
    # One output is given as such, several as a list or mapping; interpret's have one.
    identity = outputs.get("id") if isinstance(outputs, dict) else None
    return identity if isinstance(identity, str) and _CONTAINERS.fullmatch(identity) else None


def explanations_of(app: Any) -> list[Any]:
    """Return the explanations that one of interpret's apps shows, in its order."""
    if app.ctx is not None:
        return [explanation for explanation, _ in app.ctx]
    return [] if app.ctx_item is None else [app.ctx_item[0]]


def shows_ours(app: Any) -> bool:
    """Whether one of interpret's apps shows an explanation of ours."""
    return any(hasattr(explanation, "privacy") for explanation in explanations_of(app))


def runners() -> list[Any]:
    """Return the runners of the server behind ``interpret.show``; empty where there is none."""
    interactive = sys.modules.get("interpret.visual._interactive")
    outer = None if interactive is None else interactive.get_visualize_provider()
    # `show` alone puts the provider that serves into another one.
    providers = (outer, getattr(outer, "provider", None))
    candidates = [getattr(provider, "app_runner", None) for provider in providers]
    return [runner for runner in candidates if runner is not None]
