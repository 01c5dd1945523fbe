"""Local linear explanations in interpret's dashboards and in files, as a user sees them."""

from __future__ import annotations

import interpret
import pytest

from tests.explanation.influences import (
    adult_explanation,
    adult_totals,
    explanation_of,
    image_record,
    text_record,
)

pytestmark = pytest.mark.browser

WIDTHS = [1300, 800]


@pytest.fixture(scope="module")
def table():
    return adult_explanation(name="five applicants")


@pytest.fixture(scope="module")
def totals():
    return adult_totals(name="all answers")


@pytest.fixture(scope="module")
def texts():
    return explanation_of([text_record(0), text_record(1)], name="two reviews")


@pytest.fixture(scope="module")
def images():
    records = [image_record(seed, signal=1 - 0.2 * seed) for seed in range(5)]
    return explanation_of(records, name="five faces")


@pytest.fixture
def narrow_enough():
    """Return a check that a page needs no scrolling sideways and that no label is cut."""

    def check(page):
        assert page.page.evaluate(
            "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
        cut = page.page.evaluate(
            """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
              const box = plot.getBoundingClientRect();
              return [...plot.querySelectorAll('text')].filter(text => {
                const own = text.getBoundingClientRect();
                return own.width && (own.left < box.left - 1 || own.right > box.right + 1
                  || own.bottom > box.bottom + 1);
              }).map(text => text.textContent);
            })"""
        )
        assert not cut

    return check


def _choose(page, row):
    page.page.locator("#component-drop").click()
    page.page.locator(".dash-dropdown-option").nth(row + 1).click()
    page.page.keyboard.press("Escape")
    page.settle()


def _press(page, label):
    page.page.locator(".updatemenu-button", has_text=label).first.click()
    page.settle()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table(dashboard, table, narrow_enough, width):
    page = dashboard(table)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.settle()
    assert "These 5 explanations cost epsilon 0.145 together" in page.text()
    assert "reused from a near query" in page.text()
    narrow_enough(page)
    page.screenshot(f"lime_overview_{width}")

    _choose(page, 0)
    assert "This explanation cost epsilon 0.1" in page.text()
    assert "7 of 14 effects stand out from the noise" in page.text()
    assert "no noise protects them" in page.text()
    narrow_enough(page)
    page.screenshot(f"lime_row_{width}")

    _press(page, "by level")
    assert "marital-status = Never-married" in page.text()
    narrow_enough(page)
    _press(page, "by feature")
    assert "marital-status = Never-married" not in page.text()

    _choose(page, 3)
    assert "This explanation cost no privacy" in page.text()
    assert "From the released history: free, less exact" in page.text()
    page.screenshot(f"lime_row_from_history_{width}")
    page.assert_clean()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_text_of_many_words(dashboard, texts, narrow_enough, width):
    page = dashboard(texts)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.settle()
    narrow_enough(page)
    page.screenshot(f"lime_words_overview_{width}")
    _choose(page, 0)
    assert "great = 2" in page.text()
    assert "<b>bold</b> = 1" in page.text(), "a word is no markup"
    narrow_enough(page)
    page.screenshot(f"lime_words_{width}")
    page.assert_clean()


@pytest.mark.parametrize("width", WIDTHS)
def test_images(dashboard, images, narrow_enough, width):
    page = dashboard(images)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.settle()
    narrow_enough(page)
    page.screenshot(f"lime_images_{width}")
    _choose(page, 0)
    assert "influence: blue for, red against" in page.text()
    # Pixels are squares at any width.
    ratios = page.page.evaluate(
        """() => [...document.querySelectorAll('.js-plotly-plot .heatmaplayer image')]
          .map(image => image.getBoundingClientRect()).map(box => box.width / box.height)"""
    )
    assert len(ratios) == 4
    assert all(ratio == pytest.approx(1.0, abs=0.02) for ratio in ratios)
    narrow_enough(page)
    page.screenshot(f"lime_image_{width}")
    page.assert_clean()


@pytest.mark.parametrize("width", WIDTHS)
def test_totals(dashboard, totals, narrow_enough, width):
    page = dashboard(totals)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.settle()
    assert "mean absolute effect over 60 released explanations" in page.text()
    narrow_enough(page)
    page.screenshot(f"lime_totals_{width}")
    page.select("Name (education-num)")
    assert "raises the output in 60 of 60 explanations" in page.text()
    assert page.page.locator(".idp-editor").count() == 0
    narrow_enough(page)
    page.screenshot(f"lime_total_of_a_feature_{width}")
    page.assert_clean()


def test_a_model_and_an_explainer_in_one_dashboard(dashboard, cohort, table, totals):
    from interpret_dp import DPExplainableBoostingClassifier

    model = DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-6, schema=cohort.schema)
    model.fit(cohort.X, cohort.y)
    glassbox = model.explain_global(name="the glass box")
    page = dashboard([glassbox, table, totals], full=True)
    page.open_tab("Local")
    page.choose_explanation("Local", "five applicants")
    page.tick_row(2)
    assert "Reused from a near query: free" in page.text()
    assert "This explanation cost no privacy" in page.text()
    assert "These 5 explanations cost epsilon 0.145 together" in page.text()
    page.screenshot("lime_full_local")

    page.open_tab("Global")
    page.choose_explanation("Global", "all answers")
    assert "mean absolute effect over 60 released explanations" in page.text()
    page.open_tab("Privacy")
    assert "Data set: loans" in page.text()
    page.screenshot("lime_full_privacy")
    page.assert_clean()


def test_a_preserved_row_needs_no_server(browser_page, table, tmp_path):
    from tests.browser.driver import Dashboard

    path = tmp_path / "row.html"
    table.visualize(0).write_html(path)
    with_key = tmp_path / "preserved.html"
    interpret.preserve(table, 0, file_name=str(with_key), auto_open=False)
    browser_page.context.set_offline(True)
    page = Dashboard(browser_page)
    for file in (path, with_key):
        browser_page.goto(file.as_uri())
        page.settle()
        assert "Privacy cost of this explanation: 0.1" in page.text()
        _press(page, "by level")
        assert "marital-status = Never-married" in page.text()
    page.screenshot("lime_preserved")
    page.assert_clean()


def test_the_panel_is_what_a_notebook_shows(browser_page, table, tmp_path):
    from tests.browser.driver import Dashboard

    path = tmp_path / "cell.html"
    path.write_text(f"<!DOCTYPE html><body>{table._repr_html_()}</body>", encoding="utf-8")
    browser_page.set_viewport_size({"width": 800, "height": 700})
    browser_page.goto(path.as_uri())
    page = Dashboard(browser_page)
    assert "These 5 explanations cost epsilon 0.145 together" in page.text()
    assert "The explainer's whole budget" in page.text()
    page.screenshot("lime_panel_in_notebook")
