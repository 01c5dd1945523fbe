"""The browser of the browser tests, for built pages."""

from tests.browser.conftest import browser, browser_page

__all__ = ["browser", "browser_page"]
