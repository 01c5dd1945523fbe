"""Local linear explanations in interpret's dashboards and in files, as a user sees them."""

import pytest

from interpret_dp import PrivateBackground
from interpret_dp.datasets import make_cohort
from tests.explanation import influences

pytestmark = pytest.mark.browser

COHORT = make_cohort(2_000)


def look(page, name, *words):
    """Check that a page shows these words and cuts nothing, and take its picture."""
    shown = page.text()
    assert [word for word in words if word not in shown] == []
    page.assert_nothing_is_cut()
    page.screenshot(name)


def test_in_the_small_dashboard(dashboard):
    page = dashboard(influences.adult_explanation(name="five applicants"), width=800)
    cost = "Looking at this explanation costs no privacy"
    look(page, "lime_overview", cost, "for any number of rows")
    page.select_row(0)
    look(page, "lime_row", cost, "7 of 14 effects are larger than noise")
    page.assert_clean()


def test_in_the_full_dashboard(dashboard):
    background = PrivateBackground(COHORT.schema, epsilon=0.5).fit(COHORT.X)
    explanations = [
        background.explain_data(),
        background.explain_local(lambda X: X["age"] / 100, COHORT.X[:3], name="three patients"),
        background.explain_global(
            lambda X: X["age"] / 100 + (X["age"] > 60), rows=COHORT.X[:3], name="curves"
        ),
        influences.explanation_of(
            [influences.text_record(0), influences.text_record(1)], name="two reviews"
        ),
    ]
    page = dashboard(explanations, width=800)
    page.open_tab("Data")
    page.choose_explanation("Data", explanations[0].name)
    look(page, "background_overview", "How much noise is in each column", "The background")
    page.tick_row(0)
    look(page, "background_column", "share that rows are drawn with")

    page.open_tab("Global")
    page.choose_explanation("Global", "curves")
    fit = "All curves together explain"
    look(page, "background_importances", "What matters to the model", fit)
    page.tick_row(0)
    rows = "your rows, one by one (ICE)"
    look(page, "background_curve", "Partial dependence: age", rows)

    page.open_tab("Local")
    page.choose_explanation("Local", "three patients")
    page.tick_row(1)
    band, value = "95 % of noise and sampling", "of this value, against typical ones"
    look(page, "background_row", "costs no privacy", "local fit: ", band, value)
    page.choose_explanation("Local", "three patients")
    page.choose_explanation("Local", "two reviews")
    page.tick_row(0)
    # A word of a text is no markup.
    look(page, "lime_texts", "<b>bold</b> = 1")
    page.assert_clean()
