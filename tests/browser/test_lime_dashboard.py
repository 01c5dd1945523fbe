"""A real explainer in interpret's dashboards: what it released, and what each row cost."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from interpret_dp import DPLimeTabular, PrivacyLedger
from interpret_dp.datasets import make_cohort

pytestmark = pytest.mark.browser

EACH = 0.3
ROOM = 9  # such explanations fit into epsilon 1


@pytest.fixture(scope="module")
def answers(cohort: Any) -> dict[str, Any]:
    """Return explanations of a random forest: paid for, taken over, computed free, in total."""
    before = make_cohort(2_000, seed=1)
    forest = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
            remainder="passthrough",
        ),
        RandomForestClassifier(30, max_depth=6, random_state=0),
    ).fit(before.X, before.y)
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("ward", epsilon=2.0, delta=1e-6)
    explainer = DPLimeTabular(
        forest,
        cohort.X,
        schema=cohort.schema,
        epsilon=1.0,
        delta=1e-6,
        per_query=EACH,
        ledger=ledger,
        dataset="ward",
        trained_on_same_people=False,
    )
    asked = make_cohort(ROOM + 2, seed=5)
    first = explainer.explain_local(asked.X[:3], asked.y[:3], name="three patients")
    with pytest.warns(UserWarning, match="no room for 2 of the 11 rows"):
        rest = explainer.explain_local(asked.X, asked.y, name="eleven patients")
    return {
        "first": first,
        "rest": rest,
        "total": explainer.explain_global(name="all patients"),
    }


def _choose(page: Any, row: int) -> None:
    page.page.locator("#component-drop").click()
    page.page.locator(".dash-dropdown-option").nth(row + 1).click()
    page.page.keyboard.press("Escape")
    page.settle()


def _wide(page: Any) -> None:
    page.page.set_viewport_size({"width": 1300, "height": 1000})
    page.settle()


def test_rows_in_the_small_dashboard(dashboard: Any, answers: Any) -> None:
    page = dashboard(answers["rest"])
    _wide(page)
    text = page.text()
    assert re.search(r"These 11 explanations cost epsilon 0\.[0-9]+ together", text)
    assert "reused from a near query" in text
    assert "from the released history" in text
    assert "Effect on the probability of yes" in text
    page.screenshot("lime_real_overview")

    said = {
        0: ("Reused: it is the released explanation of a near query", "cost no privacy"),
        3: ("Released now for epsilon 0.3, method statistics", "This explanation cost epsilon 0.3"),
        ROOM: ("From the released history: free, less exact", "cost no privacy"),
    }
    for row, words in said.items():
        _choose(page, row)
        text = page.text()
        assert all(part in text for part in (*words, "no noise protects them"))
        assert re.search(r"of 10 effects stands? out from the noise", text)
        page.screenshot(f"lime_real_row_{row}")
    page.assert_clean()


def test_what_is_drawn_is_what_was_released(dashboard: Any, answers: Any) -> None:
    page = dashboard(answers["first"])
    _wide(page)
    _choose(page, 1)
    released = answers["first"].data(1)
    (figure,) = page.figures()
    drawn = {
        mark[0].partition(" = ")[0]: effect
        for trace in figure["data"]
        if trace.get("meta") == "effects" and trace.get("visible", True) is True
        for mark, effect in zip(trace["customdata"], _numbers(trace["x"]), strict=True)
    }
    expected = dict(zip(released["names"], released["scores"], strict=True))
    assert drawn == pytest.approx(expected)
    page.assert_clean()


def _numbers(values: Any) -> list[float]:
    """Return the numbers of a trace, which plotly sends packed."""
    if isinstance(values, list):
        return values
    packed = base64.b64decode(values["bdata"])
    return np.frombuffer(packed, dtype=values["dtype"]).tolist()


def test_totals_in_the_small_dashboard(dashboard: Any, answers: Any) -> None:
    page = dashboard(answers["total"])
    _wide(page)
    assert "mean absolute effect over 14 released explanations" in page.text()
    assert "costs no privacy" in page.text()
    page.screenshot("lime_real_totals")
    page.select("Name (prior_admissions)")
    assert "of 14 explanations" in page.text()
    page.screenshot("lime_real_total_of_a_feature")
    page.assert_clean()


def test_rows_and_totals_in_the_full_dashboard(dashboard: Any, answers: Any) -> None:
    page = dashboard([answers["first"], answers["rest"], answers["total"]], full=True)
    _wide(page)
    page.open_tab("Local")
    page.choose_explanation("Local", "eleven patients")
    page.tick_row(4)
    assert "This explanation cost epsilon 0.3" in page.text()
    page.screenshot("lime_real_full_local")
    page.open_tab("Global")
    page.choose_explanation("Global", "all patients")
    assert "mean absolute effect over 14 released explanations" in page.text()
    page.screenshot("lime_real_full_global")
    page.open_tab("Privacy")
    assert "Data set: ward" in page.text()
    page.screenshot("lime_real_full_privacy")
    page.assert_clean()
