"""The browser of the browser tests, for built pages."""

from tests.browser.conftest import _browser_context, browser, browser_page

__all__ = ["_browser_context", "browser", "browser_page"]
