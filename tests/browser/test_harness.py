"""The harness itself: a tool that sees no error proves nothing."""

from __future__ import annotations

import pytest

from tests.explanation.influences import adult_explanation

pytestmark = pytest.mark.browser


def test_errors_on_the_page_are_noticed(browser_page, show_server):
    from tests.browser.driver import Dashboard

    page = Dashboard(browser_page)
    page.open(show_server(adult_explanation()))
    page.assert_clean()

    page.page.evaluate("() => console.error('planted')")
    page.page.evaluate("() => fetch('/no-such-page')")
    page.page.evaluate("() => fetch('http://192.0.2.1/outside').catch(() => null)")
    page.settle()
    assert "planted" in page.console_errors
    assert any(entry.startswith("400 ") for entry in page.failed_requests)
    assert any("192.0.2.1" in entry for entry in page.failed_requests)
    with pytest.raises(AssertionError, match="planted"):
        page.assert_clean()
