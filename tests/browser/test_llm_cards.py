"""The maps of a locally linear model in interpret's dashboard, as they are seen."""

import numpy as np
import pytest

from tests.explanation import maps_models as maps

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("kind", ["image_classes", "table_rows"])
def test_in_the_small_dashboard(dashboard, kind):
    explanation = maps.table_rows()
    if kind == "image_classes":
        pictures = maps.image_model(n_classes=10, n_maps=12)
        explanation = maps.all_maps(pictures, inputs=maps.image_inputs(pictures, 300))
    page = dashboard(explanation, width=800)
    _look(page, rows=kind == "table_rows")
    page.select_row(1)
    _look(page, rows=kind == "table_rows")
    if kind == "table_rows":
        _choose_the_second_class(page, explanation)
    page.screenshot(f"llm_{kind}")
    page.assert_clean()


def _look(page, *, rows):
    text = page.text()
    assert "No noise band" in text
    assert "Privacy cost of this explanation: 0" in text
    assert ("no noise protects them" in text) == rows
    page.assert_nothing_is_cut()


def _choose_the_second_class(page, explanation):
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
