"""Our DP-EBM explanations in interpret's small and full dashboard, as a user sees them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger

pytestmark = pytest.mark.browser

LINE = "Privacy cost of this explanation: 0"


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


def annotations(figure):
    return [note["text"] for note in figure["layout"].get("annotations", [])]


def test_small_dashboard_shows_each_term_with_band_and_cost(dashboard, explanations):
    page = dashboard(explanations.total)
    (summary,) = page.figures()
    assert "age" in summary["data"][0]["y"]
    assert annotations(summary)[0].startswith(LINE)
    page.screenshot("ebm_small_summary")

    page.select("Name (age)")
    (term,) = page.figures()
    assert term["layout"]["title"]["text"].startswith("Term: age")
    names = {trace.get("name") for trace in term["data"]}
    assert {"Lower Bound", "Main", "Upper Bound"} <= names
    page.screenshot("ebm_small_continuous")

    page.select("Name (insurance)")
    (term,) = page.figures()
    assert "epsilon 1" in annotations(term)[0]
    page.screenshot("ebm_small_categorical")
    page.assert_clean()


def test_full_dashboard_shows_global_and_local(dashboard, explanations):
    page = dashboard([explanations.total, explanations.local], full=True)
    assert "all patients" in page.text()
    page.open_tab("Global")
    page.choose_explanation("Global", "all patients")
    page.tick_row(0)
    page.screenshot("ebm_full_global")
    assert any(annotations(figure) for figure in page.figures())

    page.open_tab("Local")
    page.choose_explanation("Local", "five patients")
    page.tick_row(0)
    contributions = page.figures()[0]
    assert any(label.startswith("age") for label in contributions["data"][0]["y"])
    assert annotations(contributions)[0].startswith(LINE)
    page.screenshot("ebm_full_local")
    page.assert_clean()
