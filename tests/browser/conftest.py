"""Interpret's own server, and what opens its pages and files in the browser of the session."""

import socket

import pytest

from tests.ui.dash.conftest import session, shown

__all__ = ["session", "shown"]


@pytest.fixture(scope="session")
def show_server():
    """Start the server behind `interpret.show`; return the function that gives a page's address.

    It is stopped at the end: a process that still serves crashes when it exits.
    """
    import interpret

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free = listener.getsockname()
    interpret.init_show_server(free)
    # interpret finds a page by the identity of the object, so none may be collected.
    served = []

    def serve(explanations):
        served.append(explanations)
        return str(interpret.show_link(explanations))

    yield serve
    assert interpret.shutdown_show_server()


@pytest.fixture
def dashboard(browser_page, show_server):
    """Return ``dashboard(explanations, width=1400)``, which opens interpret's standard dashboard.

    The small dashboard shows a single explanation, the full one a list of them.
    """
    from tests.browser.driver import Dashboard

    def open_dashboard(explanations, width=1400):
        browser_page.set_viewport_size({"width": width, "height": 1000})
        page = Dashboard(browser_page)
        page.open(show_server(explanations))
        return page

    return open_dashboard


@pytest.fixture
def open_file(browser_page):
    """Return ``open_file(path, width=1400)``, which opens a page without any network."""
    from tests.browser.driver import Dashboard

    def open_page(path, width=1400):
        browser_page.set_viewport_size({"width": width, "height": 1000})
        page = Dashboard(browser_page)
        page.open_file(path)
        return page

    return open_page
