"""Local linear explanations in interpret's dashboard, as a user sees them."""

import pytest

from tests.explanation import influences

pytestmark = pytest.mark.browser


def look(page, name, *words):
    """Check that a page shows these words and cuts nothing, and take its picture."""
    shown = page.text()
    assert [word for word in words if word not in shown] == []
    page.assert_nothing_is_cut()
    page.screenshot(name)


def test_in_the_small_dashboard(dashboard):
    page = dashboard(influences.adult_explanation(name="five applicants"), width=800)
    cost = "Privacy cost of this explanation: 0"
    look(page, "lime_overview", cost)
    page.select_row(0)
    look(page, "lime_row", cost, "7 of 14 effects are larger than noise")
    page.assert_clean()
