"""The privacy panel and the privacy tab in interpret's dashboards, as a user sees them."""

import pytest

from tests.browser.shared import script
from tests.explanation.influences import adult_explanation
from tests.ledger.requests import reserve

pytestmark = pytest.mark.browser


def test_the_local_view_the_privacy_tab_and_a_plan(dashboard, shown):
    page = dashboard([shown.local, shown.total, shown.costs, shown.earlier], width=800)
    page.open_tab("Local")
    page.tick_row(1)
    contributions, heatmap = page.figures()
    assert contributions["layout"]["title"]["text"].startswith("Probability of yes")
    assert len(heatmap["layout"]["yaxis"]["ticktext"]) == 10
    # Two cards of one explanation, and its panel once.
    assert page.page.locator(".idp-privacy").count() == 1
    page.page.locator(".idp-privacy > summary").click()
    page.page.get_by_text("All figures").click()
    assert shown.local.privacy.guarantee.sentence in page.text()
    assert "NAN" not in page.text().upper().split()
    page.assert_fits()
    page.screenshot("panel_local")

    page.open_tab("Privacy")
    models = "'four patients', 'all patients': epsilon 1 at delta 1e-06; one more like this model"
    assert models in page.text()
    assert len(page.figures()) == 2
    page.assert_fits()
    page.screenshot("privacy_tab")

    # What is charged elsewhere is there as soon as the tab is opened again.
    before = shown.ledger.spent("costs").n_requests
    named = {"explainer": "another process", "purpose": "a look <at> ages"}
    shown.ledger.commit(reserve(shown.ledger, "costs", mu=0.05, **named))
    page.open_tab("Overview")
    assert "another process" not in page.text()
    page.open_tab("Privacy")
    assert "another process" in page.text()
    assert f"by {before + 1} requests" in page.text()

    # A slider shows what each epsilon buys.
    page.page.get_by_role("button", name="Plan the next fit").first.click()
    rail = page.page.locator(".slider-rail-touch-rect")
    rail.wait_for()
    page.settle()
    marks = "trace => trace.name === 'chosen epsilon' && trace.visible"
    chosen = (
        "() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => plot.data)"
        f".filter({marks}).map(trace => trace.x[0])"
    )
    assert page.page.evaluate(chosen) == [1]
    requests = []
    page.page.on("request", lambda request: requests.append(request.post_data or ""))
    rail.click(position={"x": 4, "y": 4})
    page.page.wait_for_function(f"() => String(({chosen})()) === '0.1'")
    # Every figure was drawn before.
    assert not [request for request in requests if "idp-plan" in request]
    page.page.get_by_text("The same in numbers").click()
    for width in (1366, 390):
        page.narrow(width)
        page.screenshot(f"privacy_plan_{width}")
        for scheme in ("dark", "light"):
            page.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert page.page.evaluate(script("faint")) == []
    page.assert_clean()


# ----------------------------------------------------------------- a fitted estimator in a notebook


def test_guarantee_is_below_the_diagram(shown, browser_page):
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


# -------------------------------------------- the harness: a tool that sees no error proves nothing


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
