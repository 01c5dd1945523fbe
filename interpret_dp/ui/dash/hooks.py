"""The entry point ``dash_hooks``: Dash imports this module when the first app of a process is made.

It loads in every environment that has this package, whatever the app, so it is short, imports
little, and lets no error through: that would break apps that have nothing to do with ours. The
rest is imported when interpret makes an app.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable
from typing import Any

__all__: list[str] = []

_log = logging.getLogger(__name__)
_NOTICE = "interpret's dashboard stays without its privacy parts; its figures are complete."


def _is_interprets(app: Any) -> bool:
    """Whether an app is one of interpret's; without importing interpret into foreign apps."""
    return any(
        kind.__name__ == "UDash" and kind.__module__ == "interpret.visual._udash"
        for kind in type(app).__mro__
    )


# By their servers: Dash tells a layout hook what the layout is, and not whose.
_apps: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def _served_app() -> Any:
    """Return the app of interpret whose page is being served; None for others and otherwise."""
    import flask

    if not flask.has_app_context():
        return None
    server = flask.current_app._get_current_object()  # type: ignore[attr-defined]
    app = _apps.get(id(server))
    # An identity may be given again after an app is gone.
    return app if app is not None and app.server is server else None


def _guarded(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the hook with its errors logged; the argument is handed back instead."""

    @functools.wraps(hook)
    def guarded(argument: Any) -> Any:
        try:
            return hook(argument)
        except Exception:
            _log.warning(_NOTICE, exc_info=True)
            return argument

    return guarded


def _set_up(app: Any) -> Any:
    if _is_interprets(app):
        from interpret_dp.ui.dash.install import set_up

        _apps[id(app.server)] = app
        set_up(app)
    return app


def _lay_out(layout: Any) -> Any:
    app = _served_app()
    if app is None:
        return layout
    from interpret_dp.ui.dash.install import lay_out

    return lay_out(layout, app)


try:
    import dash

    dash.hooks.setup()(_guarded(_set_up))
    dash.hooks.layout()(_guarded(_lay_out))
except Exception:
    _log.warning(_NOTICE, exc_info=True)
