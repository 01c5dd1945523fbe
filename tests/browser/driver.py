"""Drives interpret's standard dashboard in a browser and notes everything that goes wrong."""

import re
import time
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.shared import script

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
    # Whatever is not on this machine fails, so a clean page is also one that needs no network.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
# Generous: a machine that other work slows down stalls for many seconds.
_WAIT_MS = 60_000
# A gesture asks the server a moment later, so that one look is not enough.
_QUIET_LOOKS = 2


class Dashboard:
    """One page that shows interpret's small dashboard (one explanation) or its full one (a list).

    Parameters
    ----------
    page : Page
        A fresh page of the browser.
    """

    def __init__(self, page):
        self.page = page
        self.console_errors = []
        self.failed_requests = []
        self._pending = set()
        page.set_default_timeout(_WAIT_MS)
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        page.on("response", self._note_response)
        page.on("request", lambda request: self._pending.add(request))
        page.on("requestfinished", lambda request: self._pending.discard(request))
        page.on("requestfailed", self._note_failure)

    def _note_console(self, message):
        if message.type == "error":
            self.console_errors.append(message.text)

    def _note_response(self, response):
        if response.status >= 400:
            self.failed_requests.append(f"{response.status} {response.url}")

    def _note_failure(self, request):
        self._pending.discard(request)
        self.failed_requests.append(request.url)

    def open(self, url):
        """Open the page and wait until Dash has rendered it and no callback is under way."""
        self.page.goto(url)
        expect(self.page.locator(".app, .mini-app")).to_be_visible(timeout=_WAIT_MS)
        self.settle()

    def open_file(self, path):
        """Open a page that is a file, from here on without any network, this machine's included."""
        self.page.context.set_offline(True)
        self.page.goto(path.as_uri())
        self.page.locator(".js-plotly-plot .main-svg").first.wait_for()
        self.settle()

    def settle(self):
        """Wait until no request and no callback is under way, in two looks in a row.

        Every figure is drawn then. The browser's own "network idle" holds once per page; callbacks
        come after it.
        """
        deadline = time.monotonic() + _WAIT_MS / 1000
        quiet = 0
        while quiet < _QUIET_LOOKS:
            if time.monotonic() > deadline:
                raise TimeoutError(f"still waiting for {[entry.url for entry in self._pending]}")
            quiet = quiet + 1 if self.page.evaluate(script("rests")) and not self._pending else 0

    def look_at_all(self):
        """Scroll through an exported page, so that every figure is drawn."""
        for plot in self.page.locator(".plot").all():
            plot.scroll_into_view_if_needed()
            plot.locator(".main-svg").first.wait_for()
        self.settle()

    def hold_still(self):
        """Wait until nothing on the page has changed for a while: before a gesture on a plot."""
        self.page.evaluate(script("unchanged"))

    def open_term(self, name):
        """Show a term of a model by its bar."""
        exact = self.page.get_by_text(name, exact=True)
        self.page.locator(".idp-term").filter(has=exact).first.click()
        self.settle()

    def select_row(self, position):
        """Small dashboard: show the part at a position, counted from 0 after the overview."""
        self.page.locator("#component-drop").click()
        self.page.locator(".dash-dropdown-option").nth(position + 1).click()
        self.page.keyboard.press("Escape")
        self.settle()

    def open_tab(self, name):
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

    def choose_explanation(self, tab, name):
        """Full dashboard: show the explanation called ``name`` in an open tab as well."""
        self._choose(self.page.locator(f"#{tab.lower()}-model-drop"), name)

    def tick_row(self, position):
        """Full dashboard: tick a row (counted from 0) of the visible table of instances."""
        self.page.locator(".dash-select-cell input:visible").nth(position).click()
        self.settle()

    def _choose(self, dropdown, text):
        # A list of options that is drawn anew forgets a choice, or makes it twice.
        self.hold_still()
        dropdown.click()
        self.hold_still()
        self.page.locator(".dash-dropdown-option", has_text=text).first.click()
        self.hold_still()
        self.page.keyboard.press("Escape")
        self.settle()

    def figures(self):
        """Return traces and layout of every visible plotly figure, as the page holds them."""
        return self.page.evaluate(
            "() => [...document.querySelectorAll('.js-plotly-plot')]"
            ".filter(plot => plot.offsetParent !== null)"
            ".map(plot => JSON.parse(JSON.stringify({data: plot.data, layout: plot.layout})))"
        )

    def text(self):
        """Return all text that the page shows, that of embedded HTML included."""
        return "\n".join(frame.locator("body").inner_text() for frame in self.page.frames)

    def screenshot(self, name):
        """Write the whole page as ``screenshots/<name>.png`` and return its path."""
        SCREENSHOTS.mkdir(exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path, full_page=True)
        return path

    def assert_fits(self):
        """Fail if a page must be scrolled sideways."""
        excess = self.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert excess <= 0

    def narrow(self, width):
        """Make the window narrow and wait until nothing is wider; plotly draws anew after a while.

        Times out if something stays wider.
        """
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.wait_for_function(script("fits"), arg=width)

    def assert_nothing_is_cut(self):
        """Fail if a page must be scrolled sideways, a label is cut, or one covers another."""
        self.assert_fits()
        assert self.page.evaluate(script("cut")) == []
        assert self.page.evaluate(script("overlapping")) == []

    def assert_clean(self):
        """Fail if the page logged an error or a request of it failed."""
        assert not self.console_errors, self.console_errors
        assert not self.failed_requests, self.failed_requests
