"""Our DP-EBM explanations in interpret's small and full dashboard, as a user sees them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def explanations(cohort, tmp_path_factory):
    ledger = PrivacyLedger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'privacy.db'}")
    ledger.create_budget("cohort", epsilon=4, delta=1e-5)
    model = DPExplainableBoostingClassifier(
        epsilon=1.0, delta=1e-6, schema=cohort.schema, ledger=ledger, dataset="cohort"
    ).fit(cohort.X, cohort.y)
    return SimpleNamespace(
        model=model,
        total=model.explain_global(name="all patients"),
        local=model.explain_local(cohort.X.head(5), cohort.y.head(5), name="five patients"),
    )


def test_small_dashboard_shows_each_term_with_band_and_cost(dashboard, explanations):
    page = dashboard(explanations.total)
    (summary,) = page.figures()
    assert "age" in summary["layout"]["yaxis"]["ticktext"]
    assert "Looking at this explanation costs no privacy" in page.text()
    page.screenshot("ebm_small_summary")

    page.select("Name (age)")
    (term,) = page.figures()
    assert "95 % noise band" in {trace.get("name") for trace in term["data"]}
    page.screenshot("ebm_small_continuous")

    page.select("Name (insurance)")
    assert explanations.model.guarantee_.sentence in page.text()
    page.screenshot("ebm_small_categorical")
    page.assert_clean()


def test_full_dashboard_shows_global_and_local(dashboard, explanations):
    page = dashboard([explanations.total, explanations.local], full=True)
    assert "all patients" in page.text()
    page.open_tab("Global")
    page.choose_explanation("Global", "all patients")
    page.tick_row(0)
    page.screenshot("ebm_full_global")
    assert page.text().count("What does this mean?") == 2

    page.open_tab("Local")
    page.choose_explanation("Local", "five patients")
    page.tick_row(0)
    contributions = page.figures()[0]
    labels = contributions["layout"]["yaxis"]["ticktext"]
    assert any(label.startswith("age") for label in labels)
    assert page.text().count("What does this mean?") == 2
    page.screenshot("ebm_full_local")
    page.assert_clean()
