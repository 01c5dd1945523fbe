"""The privacy panel and the privacy tab in interpret's dashboards, as a user sees them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explanation.influences import adult_explanation
from tests.ledger.requests import reserve

pytestmark = pytest.mark.browser


def _curve(page, meta):
    return [
        trace
        for trace in page.figures()[0]["data"]
        if trace.get("meta") == meta and trace.get("visible", True) is not False
    ]


def _range(page):
    return page.page.evaluate(
        "() => document.querySelector('.js-plotly-plot')._fullLayout.yaxis.range"
    )


def test_each_part_shows_figure_and_cost(dashboard, shown):
    page = dashboard(shown.total, width=800)
    assert "room for" in page.text()
    assert "NAN" not in page.text().upper().split()
    page.assert_fits()
    page.screenshot("panel_summary")

    for name in ("age", "insurance"):
        page.select(f"Name ({name})")
        assert (
            "would spot a row that is in the data with probability at most 8\N{NO-BREAK SPACE}%"
            in page.text()
        )
        page.screenshot(f"panel_{name}")
        page.page.get_by_text("All figures").click()
        assert shown.total.privacy.guarantee.sentence in page.text()
        page.assert_fits()
    page.page.get_by_text("How it was made").click()
    page.page.get_by_text("What the promise assumes").click()
    assert "Gaussian releases compose exactly" in page.text()
    assert shown.total.privacy.assumptions[0] in page.text()
    page.assert_clean()


def test_previews_and_scales_need_no_server(open_file, shown, tmp_path):
    path = tmp_path / "figure.html"
    shown.total.visualize(0).write_html(path)
    page = open_file(path)
    own = _range(page)
    page.press("preview decreasing")
    (preview,) = _curve(page, "decreasing")
    assert all(a >= b for a, b in zip(preview["y"], preview["y"][1:], strict=False))
    page.press("as released")
    assert not _curve(page, "decreasing")
    page.press("same scale for all terms")
    common = _range(page)
    assert common[0] <= own[0]
    assert common[1] >= own[1]
    assert common != own
    page.assert_clean()


def test_the_local_view_and_the_privacy_tab(dashboard, shown):
    page = dashboard([shown.local, shown.total, shown.costs, shown.earlier], width=800)
    page.open_tab("Local")
    page.choose_explanation("Local", "four patients")
    page.tick_row(1)
    contributions, heatmap = page.figures()
    assert contributions["layout"]["title"]["text"].startswith("Probability of yes")
    assert len(heatmap["layout"]["yaxis"]["ticktext"]) == 10
    # Two cards of one explanation, and its panel once.
    assert page.text().count("Looking at this explanation costs no privacy") == 1
    assert "no noise protects them" in page.text()
    page.assert_fits()
    page.screenshot("panel_local")

    page.open_tab("Privacy")
    assert "'four patients', 'all patients': epsilon 1 at delta 1e-06; room for" in page.text()
    assert "Data set: costs" in page.text()
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
    assert f"in {before + 1} requests" in page.text()
    page.assert_clean()


@pytest.mark.parametrize("width", [1366, 390])
def test_a_slider_shows_what_each_epsilon_buys(dashboard, shown, width):
    page = dashboard([shown.total, shown.costs], width=width)
    page.open_tab("Privacy")
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
    requests: list[str] = []
    page.page.on("request", lambda request: requests.append(request.post_data or ""))
    rail.click(position={"x": 4, "y": 4})
    page.page.wait_for_function(f"() => String(({chosen})()) === '0.1'")
    # Every figure was drawn before.
    assert not [asked for asked in requests if "idp-plan" in asked]
    page.page.get_by_text("The same in numbers").click()
    assert "no private row was read. Nothing was charged." in page.text()
    page.assert_fits()
    page.screenshot(f"privacy_plan_{width}")
    page.assert_clean()


# ----------------------------------------------------------------- a fitted estimator in a notebook


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
