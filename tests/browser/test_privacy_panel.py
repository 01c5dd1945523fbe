"""The privacy panel and the privacy tab in interpret's dashboards, as a user sees them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from interpret_dp import (
    Categorical,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)
from interpret_dp.accounting import gaussian_events_json

pytestmark = pytest.mark.browser

WIDTHS = [1300, 800]


@pytest.fixture(scope="module")
def shown(cohort, cost_cohort, tmp_path_factory):
    """Return explanations of two data sets in one ledger, and of one that has none."""
    ledger = PrivacyLedger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'privacy.db'}")
    ledger.create_budget("cohort", epsilon=4, delta=1e-5)
    ledger.create_budget("costs", epsilon=2, delta=1e-5)
    options = {"delta": 1e-6, "ledger": ledger}
    classifier = DPExplainableBoostingClassifier
    early = classifier(epsilon=0.5, schema=cohort.schema, dataset="cohort", **options)
    early.fit(cohort.X, cohort.y)
    model = classifier(epsilon=1.0, schema=cohort.schema, dataset="cohort", **options)
    model.fit(cohort.X, cohort.y)
    costs = DPExplainableBoostingRegressor(
        epsilon=1.0, schema=cost_cohort.schema, dataset="costs", **options
    ).fit(cost_cohort.X, cost_cohort.y)
    ranks = Schema(cohort.schema.features, target=Categorical(["high", "low", "middle"]))
    thirds = cost_cohort.y.rank(pct=True).mul(3).clip(upper=2.999).astype(int)
    # The ledger of this process holds the requests of all tests that ran in it: slow to draw.
    own = PrivacyLedger.in_memory()
    ranked = classifier(epsilon=4.0, schema=ranks, ledger=own, dataset="ranks").fit(
        cost_cohort.X, thirds.map({0: "low", 1: "middle", 2: "high"})
    )
    return SimpleNamespace(
        ledger=ledger,
        total=model.explain_global(name="all patients"),
        local=model.explain_local(cohort.X.head(5), cohort.y.head(5), name="five patients"),
        early=early.explain_global(name="an early fit"),
        costs=costs.explain_global(name="annual cost"),
        ranked=ranked.explain_global(name="three ranks of cost"),
    )


@pytest.fixture
def narrow_enough():
    """Return a check that a page needs no scrolling sideways."""

    def check(page):
        excess = page.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert excess <= 0

    return check


def _curve(page, meta):
    return [
        trace
        for trace in page.figures()[0]["data"]
        if trace.get("meta") == meta and trace.get("visible", True) is not False
    ]


def _press(page, label):
    page.page.locator(".updatemenu-button", has_text=label).first.click()
    page.settle()


@pytest.mark.parametrize("width", WIDTHS)
def test_each_part_shows_figure_and_cost(dashboard, shown, narrow_enough, width):
    page = dashboard(shown.total)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.settle()
    assert "Room for" in page.text()
    assert "NAN" not in page.text().upper().split()
    narrow_enough(page)
    page.screenshot(f"panel_summary_{width}")

    for name in ("age", "insurance"):
        page.select(f"Name ({name})")
        assert shown.total.privacy.guarantee.sentence in page.text()
        narrow_enough(page)
        page.screenshot(f"panel_{name}_{width}")
    page.page.get_by_text("How it was made").click()
    page.page.get_by_text("What the promise assumes").click()
    assert "Gaussian releases compose exactly" in page.text()
    assert shown.total.privacy.assumptions[0] in page.text()
    page.screenshot(f"panel_unfolded_{width}")
    page.assert_clean()


@pytest.fixture
def file_page(browser_page, tmp_path):
    """Return a function that opens a plain figure as a file, without any server or network."""
    from tests.browser.driver import Dashboard

    def open_figure(figure):
        path = tmp_path / "figure.html"
        figure.write_html(path)
        browser_page.context.set_offline(True)
        page = Dashboard(browser_page)
        browser_page.goto(path.as_uri())
        page.settle()
        return page

    return open_figure


def test_previews_and_scales_need_no_server(file_page, shown):
    page = file_page(shown.total.visualize(0))
    own = page.page.evaluate(
        "() => document.querySelector('.js-plotly-plot')._fullLayout.yaxis.range"
    )
    _press(page, "preview decreasing")
    (preview,) = _curve(page, "decreasing")
    assert all(a >= b for a, b in zip(preview["y"], preview["y"][1:], strict=False))
    page.screenshot("figure_preview")
    _press(page, "as released")
    assert not _curve(page, "decreasing")
    _press(page, "same scale for all terms")
    common = page.page.evaluate(
        "() => document.querySelector('.js-plotly-plot')._fullLayout.yaxis.range"
    )
    assert common[0] <= own[0]
    assert common[1] >= own[1]
    assert common != own
    page.assert_clean()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_local_view(dashboard, shown, narrow_enough, width):
    page = dashboard([shown.local, shown.total], full=True)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.open_tab("Local")
    page.choose_explanation("Local", "five patients")
    page.tick_row(1)
    contributions, heatmap = page.figures()
    assert contributions["layout"]["title"]["text"].startswith("Probability of yes")
    assert len(heatmap["data"][0]["y"]) == 10
    assert page.text().count("Looking at this explanation costs no privacy") == 2
    assert "no noise protects them" in page.text()
    narrow_enough(page)
    page.screenshot(f"panel_local_{width}")
    page.assert_clean()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_privacy_tab(dashboard, shown, narrow_enough, width):
    page = dashboard([shown.total, shown.local, shown.costs, shown.early, shown.ranked], full=True)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.open_tab("Privacy")
    text = page.text()
    assert "'all patients', 'five patients': epsilon 1 at delta 1e-06; room for" in text
    assert "Data set: costs" in text
    assert "No limit declared" in text
    assert len(page.figures()) == 3
    narrow_enough(page)
    page.screenshot(f"privacy_tab_{width}")

    # What is charged elsewhere is there as soon as the tab is opened again.
    before = shown.ledger.spent("costs").n_requests
    reservation = shown.ledger.reserve(
        "costs", mu=0.05, delta=0.0, event=gaussian_events_json([(0.05, 1)]), epsilon=0.1,
        epsilon_delta=1e-6, explainer="another process", purpose="a look <at> ages",
    )  # fmt: skip
    shown.ledger.commit(reservation)
    page.open_tab("Overview")
    assert "another process" not in page.text()
    page.open_tab("Privacy")
    assert "another process" in page.text()
    assert f"in {before + 1} requests" in page.text()
    page.assert_clean()
