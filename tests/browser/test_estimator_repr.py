"""The picture of a fitted estimator in a notebook, as a browser lays it out."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser


def test_guarantee_is_below_the_diagram(shown: Any, browser_page: Any) -> None:
    from tests.browser.driver import Dashboard

    model = shown.model
    view = Dashboard(browser_page)
    browser_page.set_content(model._repr_html_())
    diagram = browser_page.locator(".sk-container").bounding_box()
    card = browser_page.locator(".interpret-dp-guarantee")
    assert card.bounding_box()["y"] >= diagram["y"] + diagram["height"]
    assert model.guarantee_.sentence in card.inner_text()
    assert "trusted with the rows" not in card.inner_text()
    card.locator("summary").click()
    assert "trusted with the rows" in card.inner_text()
    view.screenshot("estimator_repr")
    view.assert_clean()
