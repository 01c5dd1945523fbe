"""The maps of a locally linear model in interpret's dashboards and in files, as they are seen."""

from __future__ import annotations

from typing import Any

import interpret
import numpy as np
import pytest

from interpret_dp import PrivacySpend
from interpret_dp.explanation.maps_objects import rows_explanation
from tests.explanation.maps_models import (
    TABLE_INPUTS,
    all_maps,
    image_inputs,
    image_model,
    image_rows,
    table_model,
    table_rows,
)
from tests.explanation.test_maps import HOSTILE, hostile_model

pytestmark = pytest.mark.browser

WIDTHS = [1300, 800]


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """Return what is shown: classes and rows, of a table and of images."""
    pictures = image_model(n_classes=10, n_maps=12)
    hostile = hostile_model()
    return {
        "table_classes": all_maps(
            table_model(), inputs=np.tile(TABLE_INPUTS, (50, 1)), name="three classes"
        ),
        "table_rows": table_rows(),
        "image_classes": all_maps(
            pictures, inputs=image_inputs(pictures, 300), name="ten kinds of picture"
        ),
        "image_rows": image_rows(pictures, n_rows=6, actual=[0, 1, 2, 3, 4, None]),
        "hostile_rows": rows_explanation(
            hostile,
            [[0.5, 1.0, 0.0]],
            [[0.7, HOSTILE]],
            privacy=PrivacySpend(guarantee=hostile.guarantee),
            name="markup",
        ),
    }


def _resize(page: Any, width: int) -> None:
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.settle()


def _choose(page: Any, position: int) -> None:
    page.page.locator("#component-drop").click()
    page.page.locator(".dash-dropdown-option").nth(position + 1).click()
    page.page.keyboard.press("Escape")
    page.settle()


def _assert_nothing_is_cut(page: Any) -> None:
    """Fail if a page must be scrolled sideways, a label is cut, or one covers another."""
    assert page.page.evaluate(
        "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    cut = page.page.evaluate(
        """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
          const box = plot.getBoundingClientRect();
          return [...plot.querySelectorAll('text')].filter(text => {
            const own = text.getBoundingClientRect();
            return own.width && (own.left < box.left - 1 || own.right > box.right + 1
              || own.bottom > box.bottom + 1 || own.top < box.top - 1);
          }).map(text => text.textContent);
        })"""
    )
    assert not cut
    overlapping = page.page.evaluate(
        """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
          const boxes = [...plot.querySelectorAll(
              '.gtitle, .annotation-text, .updatemenu-header-text, .xtick text, .ytick text')]
            .filter(text => text.textContent.trim())
            .map(text => [text.textContent, text.getBoundingClientRect()])
            .filter(([, box]) => box.width);
          return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) =>
            Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2).map(([two]) => [one, two]));
        })"""
    )
    assert not overlapping


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["table_classes", "table_rows", "image_classes", "image_rows"])
def test_in_the_small_dashboard(dashboard: Any, shown: Any, kind: str, width: int) -> None:
    page = dashboard(shown[kind])
    _resize(page, width)
    for name, position in (("overview", None), ("part", 1)):
        if position is not None:
            _choose(page, position)
        text = page.text()
        assert "No noise band" in text
        assert "costs no privacy" in text
        assert ("no noise protects them" in text) == kind.endswith("rows")
        _assert_nothing_is_cut(page)
        page.screenshot(f"llm_{kind}_{name}_{width}")
    page.assert_clean()


@pytest.mark.parametrize("kind", ["table_rows", "image_rows"])
def test_another_class_can_be_chosen(dashboard: Any, shown: Any, kind: str) -> None:
    page = dashboard(shown[kind])
    _resize(page, 800)
    _choose(page, 0)
    explanation = shown[kind]
    chances = explanation.released.predict_proba(explanation.inputs[:1])[0]
    second = explanation.released.classes[int(np.argsort(-chances)[1])]
    page.page.locator(".updatemenu-header").click()
    page.page.wait_for_timeout(300)
    page.screenshot(f"llm_{kind}_menu")
    page.page.locator(".updatemenu-dropdown-button", has_text=f"class {second}:").click()
    page.settle()
    (figure,) = page.figures()
    assert figure["layout"]["title"]["text"].startswith(f"Probability of {second}: ")
    visible = [trace for trace in figure["data"] if trace.get("visible", True) is True]
    assert len(visible) == (5 if kind == "table_rows" else 6)
    one = explanation.reading(0, second)
    assert f"Score {one.score:+.3g} = contributions {one.contributions.sum():+.3g}" in page.text()
    _assert_nothing_is_cut(page)
    page.screenshot(f"llm_{kind}_other_class")
    page.assert_clean()


@pytest.mark.parametrize("width", WIDTHS)
def test_in_the_full_dashboard(dashboard: Any, shown: Any, width: int) -> None:
    page = dashboard(
        [shown["table_classes"], shown["image_classes"], shown["image_rows"]], full=True
    )
    _resize(page, width)
    page.open_tab("Global")
    page.choose_explanation("Global", "ten kinds of picture")
    assert "The mean filter of each class" in page.text()
    page.tick_row(3)
    assert "The maps of 3" in page.text()
    page.screenshot(f"llm_full_global_{width}")
    page.open_tab("Local")
    page.choose_explanation("Local", "some pictures")
    page.tick_row(2)
    assert "actual: 2" in page.text()
    page.screenshot(f"llm_full_local_{width}")
    page.open_tab("Privacy")
    assert "pictures" in page.text()
    page.assert_clean()


def test_in_a_file_and_names_are_no_markup(browser_page: Any, shown: Any, tmp_path: Any) -> None:
    """A preserved view works by itself, and what a user calls things is text."""
    dialogs: list[str] = []
    browser_page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for kind in ("image_rows", "hostile_rows"):
        file = tmp_path / f"{kind}.html"
        explanation = shown[kind]
        explanation.selector.insert(0, "Number", range(len(explanation.selector)))
        interpret.preserve(explanation, 0, file_name=str(file), auto_open=False)
        browser_page.goto(file.as_uri())
        browser_page.locator(".js-plotly-plot .main-svg").first.wait_for()
        body = browser_page.locator("body").inner_text()
        assert "Privacy cost of this explanation: 0" in body
    assert not browser_page.locator("img[src=x]").count()
    assert "<img src=x" in body
    assert not dialogs
