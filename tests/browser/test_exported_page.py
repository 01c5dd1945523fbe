"""The exported page in a browser without a network."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
MARKUP = "<b>f</b>"


@pytest.fixture(scope="module")
def exported(cohort, tmp_path_factory):
    """Write the page of a small model with six predictions; names of levels are hostile."""
    from interpret_dp import Categorical, DPExplainableBoostingClassifier, Schema
    from interpret_dp.explanation.export import write_html

    schema = Schema(
        {**cohort.schema.features, "sex": Categorical([MARKUP, HOSTILE])},
        target=cohort.schema.target,
    )
    X = cohort.X.assign(sex=cohort.X["sex"].replace({"male": HOSTILE, "female": MARKUP}))
    model = DPExplainableBoostingClassifier(epsilon=4, delta=1e-6, schema=schema).fit(X, cohort.y)
    curves = {name: curve for name, curve in cohort.curves.items() if name != "sex"}
    local = model.explain_local(X[:6], cohort.y[:6])
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_html(path, model.to_released(), model.privacy_spend_, truth=curves, local=local)
    return path


@pytest.fixture
def page(browser_page, exported):
    from tests.browser.driver import Dashboard

    dashboard = Dashboard(browser_page)
    browser_page.context.set_offline(True)
    browser_page.goto(exported.as_uri())
    dashboard.settle()
    return dashboard


def _scales(page):
    return page.page.evaluate(
        "() => [...document.querySelectorAll('#shapes .plot')]"
        ".map(plot => plot._fullLayout.yaxis.range.map(end => end.toFixed(6)).join())"
    )


def test_every_figure_is_drawn_without_a_network(page):
    assert len(page.figures()) == 1 + 10 + 6
    assert all(figure["data"] for figure in page.figures())
    page.screenshot("exported_page")
    page.assert_clean()


def test_names_are_text_and_nothing_else(page):
    assert page.page.title() == "Model of unnamed"
    assert page.page.locator("img").count() == 0
    assert HOSTILE[:21] in page.text()
    assert MARKUP in page.text()


def test_one_scale_for_all_and_back(page):
    before = _scales(page)
    assert len(set(before)) == 10
    page.page.locator("#same-scale").check()
    page.settle()
    assert len(set(_scales(page))) == 1
    page.page.locator("#same-scale").uncheck()
    page.settle()
    # Tick labels of another width leave the curve another height, which plotly's margins follow.
    again, first = (np.array([s.split(",") for s in one], float) for one in (_scales(page), before))
    assert (np.abs(again - first) < 0.01 * np.ptp(first, axis=1, keepdims=True)).all()


def test_a_narrow_screen_needs_no_sideways_scrolling(page):
    page.page.set_viewport_size({"width": 400, "height": 800})
    page.settle()
    width = page.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 400
    page.screenshot("exported_page_narrow")
