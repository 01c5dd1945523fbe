"""The maps of a locally linear model in interpret's dashboards and in files, as they are seen."""

import numpy as np
import pytest

from tests.explanation import maps_models as maps
from tests.explanation.influences import adult_explanation

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shown_maps():
    """Return what is shown: classes and rows, of a table and of images."""
    pictures = maps.image_model(n_classes=10, n_maps=12)
    return {
        "table_classes": maps.all_maps(
            maps.table_model(), inputs=np.tile(maps.TABLE_INPUTS, (50, 1)), name="three classes"
        ),
        "table_rows": maps.table_rows(),
        "image_classes": maps.all_maps(
            pictures, inputs=maps.image_inputs(pictures, 300), name="ten kinds of picture"
        ),
        "image_rows": maps.image_rows(pictures, n_rows=6, actual=[0, 1, 2, 3, 4, None]),
        "stroke_classes": maps.all_maps(maps.stroke_model(), name="bars across and upright"),
        "stroke_rows": maps.stroke_rows(),
    }


@pytest.mark.parametrize("kind", ["image_classes", "table_rows"])
def test_in_the_small_dashboard(dashboard, shown_maps, kind):
    page = dashboard(shown_maps[kind], width=800)
    _look(page, rows=kind == "table_rows")
    page.select_row(1)
    _look(page, rows=kind == "table_rows")
    if kind == "table_rows":
        _choose_the_second_class(page, shown_maps[kind])
    page.screenshot(f"llm_{kind}")
    page.assert_clean()


def _look(page, *, rows):
    text = page.text()
    assert "No noise band" in text
    assert "costs no privacy" in text
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


@pytest.mark.slow
def test_in_the_full_dashboard(dashboard, shown_maps):
    loans = adult_explanation(name="five applicants")
    page = dashboard([*shown_maps.values(), loans], width=800)
    for tab, of in (("Global", "classes"), ("Local", "rows")):
        page.open_tab(tab)
        for what in ("table", "image", "stroke"):
            name = shown_maps[f"{what}_{of}"].name
            page.choose_explanation(tab, name)
            page.tick_row(1)
            _look(page, rows=of == "rows")
            page.screenshot(f"llm_full_{what}_{of}")
            page.choose_explanation(tab, name)
    # Beside the table of six pictures there is one of five rows.
    page.choose_explanation("Local", "some pictures")
    page.tick_row(2)
    assert "actual: 2" in page.text()
    page.choose_explanation("Local", "five applicants")
    page.tick_row(6 + 2)
    assert "From the background: free" in page.text()
    page.open_tab("Privacy")
    assert "Data set: pictures" in page.text()
    assert "Data set: loans" in page.text()
    page.screenshot("llm_full_privacy")
    page.assert_clean()
