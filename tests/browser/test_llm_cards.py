"""The maps of a locally linear model in interpret's dashboards and in files, as they are seen."""

from __future__ import annotations

from typing import Any

import interpret
import numpy as np
import pytest

from interpret_dp import PrivacySpend
from interpret_dp.explanation.maps_objects import rows_explanation
from tests.explanation.influences import adult_explanation
from tests.explanation.maps_models import (
    TABLE_INPUTS,
    all_maps,
    image_inputs,
    image_model,
    image_rows,
    stroke_model,
    stroke_rows,
    table_model,
    table_rows,
)
from tests.explanation.test_maps import HOSTILE, hostile_model

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shown_maps() -> dict[str, Any]:
    """Return what is shown: classes and rows, of a table and of images."""
    pictures = image_model(n_classes=10, n_maps=12)
    return {
        "table_classes": all_maps(
            table_model(), inputs=np.tile(TABLE_INPUTS, (50, 1)), name="three classes"
        ),
        "table_rows": table_rows(),
        "image_classes": all_maps(
            pictures, inputs=image_inputs(pictures, 300), name="ten kinds of picture"
        ),
        "image_rows": image_rows(pictures, n_rows=6, actual=[0, 1, 2, 3, 4, None]),
        "stroke_classes": all_maps(stroke_model(), name="bars across and upright"),
        "stroke_rows": stroke_rows(),
    }


@pytest.mark.parametrize("of", ["classes", "rows"])
@pytest.mark.parametrize("what", ["table", "image", "stroke"])
def test_in_the_small_dashboard(dashboard: Any, shown_maps: Any, what: str, of: str) -> None:
    kind = f"{what}_{of}"
    page = dashboard(shown_maps[kind], width=800)
    for position in (None, 1):
        if position is not None:
            page.select_row(position)
        text = page.text()
        assert "No noise band" in text
        assert "costs no privacy" in text
        assert ("no noise protects them" in text) == kind.endswith("rows")
        page.assert_nothing_is_cut()
    if of == "rows" and what != "stroke":
        _choose_the_second_class(page, shown_maps[kind])
    page.screenshot(f"llm_{kind}")
    page.assert_clean()


def _choose_the_second_class(page: Any, explanation: Any) -> None:
    chances = explanation.released.predict_proba(explanation.inputs[1:2])[0]
    second = explanation.released.classes[int(np.argsort(-chances)[1])]
    page.page.locator(".updatemenu-header").click()
    page.page.locator(".updatemenu-dropdown-button", has_text=f"class {second}:").click()
    page.settle()
    (figure,) = page.figures()
    assert figure["layout"]["title"]["text"].startswith(f"Probability of {second}: ")
    one = explanation.reading(1, second)
    assert f"Score {one.score:+.3g} = contributions {one.contributions.sum():+.3g}" in page.text()
    page.assert_nothing_is_cut()


def test_in_the_full_dashboard(dashboard: Any, shown_maps: Any) -> None:
    kinds = ("table_classes", "image_classes", "image_rows")
    loans = adult_explanation(name="five applicants")
    page = dashboard([*(shown_maps[kind] for kind in kinds), loans], width=800)
    page.open_tab("Global")
    page.choose_explanation("Global", "ten kinds of picture")
    page.tick_row(3)
    assert "The maps of 3" in page.text()
    page.open_tab("Local")
    page.choose_explanation("Local", "some pictures")
    page.tick_row(2)
    assert "actual: 2" in page.text()
    page.screenshot("llm_full_local")
    # Beside the table of six pictures there is one of five rows.
    page.choose_explanation("Local", "five applicants")
    page.tick_row(6 + 2)
    assert "Reused from a near query: free" in page.text()
    assert "These 5 explanations cost epsilon 0.145 together" in page.text()
    page.open_tab("Privacy")
    assert "Data set: pictures" in page.text()
    assert "Data set: loans" in page.text()
    page.screenshot("llm_full_privacy")
    page.assert_clean()


def test_in_a_file_and_names_are_no_markup(open_file: Any, browser_page: Any, tmp_path: Any):
    """A preserved view works by itself, and what a user calls things is text."""
    dialogs: list[str] = []
    browser_page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    hostile = hostile_model()
    explanation = rows_explanation(
        hostile,
        [[0.5, 1.0, 0.0]],
        [[0.7, HOSTILE]],
        privacy=PrivacySpend(guarantee=hostile.guarantee),
        name="markup",
    )
    explanation.selector.insert(0, "Number", range(len(explanation.selector)))
    file = tmp_path / "rows.html"
    interpret.preserve(explanation, 0, file_name=str(file), auto_open=False)
    page = open_file(file)
    assert "Privacy cost of this explanation: 0" in page.text()
    assert "<img src=x" in page.text()
    assert not browser_page.locator("img[src=x]").count()
    assert not dialogs
