"""Refusal of requests to our dashboards that pages of other sites send."""

from __future__ import annotations

import ipaddress
import os
from typing import Any
from urllib.parse import urlsplit

import flask
from interpret.visual.dashboard import DispatcherApp

from interpret_dp.ui.dash.app.host import runners, shows_ours

# More host names that our dashboards answer to, separated by commas.
_HOSTS_VARIABLE = "INTERPRET_DP_ALLOWED_HOSTS"


def refuse_foreign_requests(app: Any) -> None:
    """Make one of interpret's apps check the headers Host and Origin of every request.

    Apps that show no explanation of ours answer as before.

    Parameters
    ----------
    app : dash.Dash
    """
    # Its answer is returned and not raised: interpret turns every exception into an error 500.
    app.server.before_request(lambda: _refusal(flask.request) if shows_ours(app) else None)


def _refusal(request: flask.Request) -> flask.Response | None:
    """Return the answer to a request that a page of another site sends; None for others."""
    foreign = _foreign_header(request)
    if foreign is None:
        return None
    return flask.Response(
        f"This dashboard refuses the header {foreign!r}. As Host it takes localhost, an IP address "
        "or the host that its server was given, and as Origin the same address as Host. If this is "
        "the address of your own proxy, set "
        f"the environment variable {_HOSTS_VARIABLE} to its host name (several are separated by "
        "commas) in the process that shows the dashboard, and reload.\n",
        status=403,
        mimetype="text/plain",
    )


class GuardedServer(DispatcherApp):  # type: ignore[misc]
    """interpret's server with its own pages guarded too: the list of dashboards, the shutdown."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Answer a request of WSGI, unless a page of another site sent it."""
        request = flask.Request(environ)
        answer = _refusal(request)
        # A page of another site can ask for an image without saying who asks.
        if request.path == self.shutdown_path and request.method != "POST":
            answer = flask.Response("The server is stopped by POST.", 405, {"Allow": "POST"})
        return (answer or super().__call__)(environ, start_response)


def _foreign_header(request: flask.Request) -> str | None:
    """Return the header of a request that names another site, or None."""
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    entries = os.environ.get(_HOSTS_VARIABLE, "").split(",")
    allowed = {_name(entry.strip()) for entry in entries} - {""}
    served = {"localhost"} | {runner.ip.lower() for runner in runners()}
    name = _name(host)
    # An IP address cannot be rebound: no name server is asked for it.
    if not _is_address(name) and name not in served | allowed:
        return f"Host: {host}"
    # The scheme may differ: a proxy may speak HTTPS to the browser and HTTP to us.
    if origin is None or origin.partition("://")[2].lower() == host.lower():
        return None
    return None if _name(origin) in allowed else f"Origin: {origin}"


def _name(address: str) -> str:
    """Return the host name in a header or setting, without its port; empty if there is none."""
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
