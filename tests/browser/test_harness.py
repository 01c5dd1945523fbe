"""The harness itself, with interpret's own model: a tool that sees no error proves nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def explanations(cohort):
    from interpret.glassbox import ExplainableBoostingClassifier

    X = cohort.X.dropna().head(1_000)
    y = cohort.y[X.index]
    model = ExplainableBoostingClassifier(
        interactions=0, outer_bags=1, max_rounds=50, n_jobs=1, random_state=0
    ).fit(X, y)
    return SimpleNamespace(
        total=model.explain_global(name="all patients"),
        local=model.explain_local(X.head(5), y.head(5), name="five patients"),
    )


def test_small_dashboard_shows_summary_and_terms(dashboard, explanations):
    page = dashboard(explanations.total)
    (summary,) = page.figures()
    assert "age" in summary["data"][0]["y"]
    page.screenshot("harness_small_summary")

    page.select("Name (age)")
    (term,) = page.figures()
    assert term["layout"]["title"]["text"].startswith("Term: age")
    page.screenshot("harness_small_term")
    page.assert_clean()


def test_full_dashboard_shows_global_and_local(dashboard, explanations):
    page = dashboard([explanations.total, explanations.local], full=True)
    assert "all patients" in page.text()
    page.screenshot("harness_full_overview")

    page.open_tab("Global")
    page.choose_explanation("Global", "all patients")
    assert len(page.figures()) == 1
    page.screenshot("harness_full_global")

    page.open_tab("Local")
    page.choose_explanation("Local", "five patients")
    page.tick_row(0)
    contributions = page.figures()[0]["data"][0]
    assert any(label.startswith("age") for label in contributions["y"])
    # interpret puts this text into an embedded frame.
    assert "No Overall Graph" in page.text()
    page.screenshot("harness_full_local")
    page.assert_clean()


def test_errors_on_the_page_are_noticed(browser_page, show_server, explanations):
    from tests.browser.driver import Dashboard

    page = Dashboard(browser_page)
    page.open(show_server(explanations.total))
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


def test_small_dashboard_refuses_several_explanations(dashboard, explanations):
    with pytest.raises(TypeError, match="full=True"):
        dashboard([explanations.total, explanations.local])
