"""Drives interpret's standard dashboard in a browser and notes everything that goes wrong."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, Response, Route, expect

SCREENSHOTS = Path(__file__).parent / "screenshots"

# Chromium works as root in a container, with no network of its own and no first-run pages.
CHROMIUM_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Generous: a machine that other work slows down stalls for many seconds.
_WAIT_MS = 60_000
_POLL_MS = 50
_QUIET_POLLS = 6


class Dashboard:
    """One page that shows interpret's small dashboard (one explanation) or its full one (a list).

    Requests that leave the machine are refused and count as failed, so a clean page is also one
    that works without a network.

    Parameters
    ----------
    page : Page
        A fresh page of the browser.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.console_errors: list[str] = []
        self.failed_requests: list[str] = []
        self._pending: set[Request] = set()
        page.set_default_timeout(_WAIT_MS)
        page.route(re.compile(r"^https?://(?!127\.0\.0\.1[:/])"), self._refuse)
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        page.on("response", self._note_response)
        page.on("request", lambda request: self._pending.add(request))
        page.on("requestfinished", lambda request: self._pending.discard(request))
        page.on("requestfailed", self._note_failure)

    def _refuse(self, route: Route) -> None:
        route.abort()

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.console_errors.append(message.text)

    def _note_response(self, response: Response) -> None:
        if response.status >= 400:
            self.failed_requests.append(f"{response.status} {response.url}")

    def _note_failure(self, request: Request) -> None:
        self._pending.discard(request)
        self.failed_requests.append(request.url)

    def open(self, url: str) -> None:
        """Open the page and wait until Dash has rendered it and no callback is under way."""
        self.page.goto(url)
        expect(self.page.locator(".app, .mini-app")).to_be_visible(timeout=_WAIT_MS)
        self.settle()

    def settle(self) -> None:
        """Wait until no request has been under way for a while and every figure is drawn.

        The browser's own "network idle" holds once per page; callbacks come after it.
        """
        deadline = time.monotonic() + _WAIT_MS / 1000
        quiet = 0
        while quiet < _QUIET_POLLS:
            if time.monotonic() > deadline:
                raise TimeoutError(f"still waiting for {[entry.url for entry in self._pending]}")
            self.page.wait_for_timeout(_POLL_MS)
            quiet = 0 if self._pending or not self._drawn() else quiet + 1

    def _drawn(self) -> bool:
        return bool(
            self.page.evaluate(
                "() => [...document.querySelectorAll('.js-plotly-plot')]"
                ".every(plot => plot.querySelector('.main-svg'))"
            )
        )

    def select(self, text: str) -> None:
        """Small dashboard: show the part whose entry contains ``text``, as "Name (age)"."""
        self._choose(self.page.locator("#component-drop"), text)

    def open_tab(self, name: str) -> None:
        """Full dashboard: open a tab by its title ("Global", "Local", ...).

        A click is lost where the page is laid out anew under it: it is made until it counts.
        """
        tab = self.page.locator("#tabs .tab", has_text=re.compile(f"^{re.escape(name)}$"))
        deadline = time.monotonic() + _WAIT_MS / 1000
        while "tab--selected" not in (tab.get_attribute("class") or "").split():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the tab {name!r} does not open")
            tab.click()
            self.settle()

    def choose_explanation(self, tab: str, name: str) -> None:
        """Full dashboard: show the explanation called ``name`` in an open tab."""
        self._choose(self.page.locator(f"#{tab.lower()}-model-drop"), name)

    def tick_row(self, position: int) -> None:
        """Full dashboard: tick a row (counted from 0) of the visible table of instances."""
        self.page.locator(".dash-select-cell input:visible").nth(position).click()
        self.settle()

    def _choose(self, dropdown: Locator, text: str) -> None:
        dropdown.click()
        self.page.locator(".dash-dropdown-option", has_text=text).first.click()
        self.page.keyboard.press("Escape")
        self.settle()

    def figures(self) -> list[dict[str, Any]]:
        """Return traces and layout of every visible plotly figure, as the page holds them."""
        figures: list[dict[str, Any]] = self.page.evaluate(
            "() => [...document.querySelectorAll('.js-plotly-plot')]"
            ".filter(plot => plot.offsetParent !== null)"
            ".map(plot => JSON.parse(JSON.stringify({data: plot.data, layout: plot.layout})))"
        )
        return figures

    def text(self) -> str:
        """Return all text that the page shows, that of embedded HTML included."""
        return "\n".join(frame.locator("body").inner_text() for frame in self.page.frames)

    def screenshot(self, name: str) -> Path:
        """Write the whole page as ``screenshots/<name>.png`` and return its path."""
        SCREENSHOTS.mkdir(exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path, full_page=True)
        return path

    def assert_clean(self) -> None:
        """Fail if the page logged an error or a request of it failed."""
        assert not self.console_errors, self.console_errors
        assert not self.failed_requests, self.failed_requests
