"""interpret's server with its own pages guarded too: the list of dashboards, and the shutdown."""

from __future__ import annotations

from typing import Any

import flask
from interpret.visual.dashboard import DispatcherApp

from interpret_dp.dashboard.guard import refusal

__all__ = ["GuardedServer"]


class GuardedServer(DispatcherApp):  # type: ignore[misc]
    """What our commands serve."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Answer a request of WSGI, unless a page of another site sent it."""
        request = flask.Request(environ)
        answer = refusal(request)
        # A page of another site can ask for an image without saying who asks.
        if request.path == self.shutdown_path and request.method != "POST":
            answer = flask.Response("The server is stopped by POST.", 405, {"Allow": "POST"})
        return (answer or super().__call__)(environ, start_response)
