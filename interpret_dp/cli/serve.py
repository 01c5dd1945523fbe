"""Serves explanations in interpret's own dashboard until the user stops it."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

from interpret_dp.cli.console import CommandError, FailedError, say, say_item

_HOST = "127.0.0.1"
_START_SECONDS = 10.0


def serve(explanations: Any, *, port: int | None, no_browser: bool) -> None:
    """Serve on this machine alone until Ctrl-C.

    Parameters
    ----------
    explanations : explanation or list of explanations
        Public. A list is shown in the full dashboard, with a tab for each kind.
    port : int or None
        None: any free one.
    no_browser : bool
        Open no page. Else one is opened where there is a screen.

    Raises
    ------
    CommandError
        If the port is taken or the server does not start.
    """
    import interpret
    from interpret.provider import DashProvider

    from interpret_dp.editor.autosave import autosaves
    from interpret_dp.ui.dash.app.guard import GuardedServer

    port = _claim_port(port)
    provider = DashProvider.from_address((_HOST, port))
    provider.app_runner.app = GuardedServer()
    interpret.set_visualize_provider(provider)
    provider.idempotent_start()
    # The process crashes on its way out if the server's thread is still running.
    atexit.register(interpret.shutdown_show_server)
    url = interpret.show_link(explanations)
    _wait_for_server(port)
    # Before the address is printed: whoever reads it may stop the server at once.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        say_item("Dashboard", url)
        say_item("", "Only this machine can reach it. Stop it with Ctrl-C.")
        if not no_browser and _has_screen():
            import webbrowser

            webbrowser.open(url)
        threading.Event().wait()
    except KeyboardInterrupt:
        say("\nStopped.")
        for autosave in autosaves():
            say_item("Edits", f"kept in {autosave.path}; the next show of this model offers them")
    finally:
        signal.signal(signal.SIGTERM, previous)


def _claim_port(port: int | None) -> int:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_HOST, port or 0))
        except OSError as error:
            raise CommandError(
                f"--port is {port}, which cannot be used ({error.strerror}). Give another, or "
                "leave it out to take any free one."
            ) from error
        return int(listener.getsockname()[1])


def _wait_for_server(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection((_HOST, port), timeout=1.0).close()
        except OSError as error:
            if time.monotonic() > deadline:
                raise FailedError(
                    f"interpret's server did not start on port {port} within {_START_SECONDS:g} s. "
                    "Give another --port."
                ) from error
            time.sleep(0.05)
        else:
            return


def _has_screen() -> bool:
    """Whether a browser can be opened without taking over a terminal."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
