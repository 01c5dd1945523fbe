"""Models in the full dashboard: the way from opening it to a card, and what follows the edits."""

import re

import numpy as np
import pytest

from interpret_dp.ui.figure import EditedTerm
from tests.browser.editor_page import EditorPage

pytestmark = pytest.mark.browser

_COUNT_CLICKS = """
window.clicks = 0;
window.addEventListener("click", event => { window.clicks += event.isTrusted; }, true);
"""


def sizes_of(session):
    """Return the root mean square of each term of the current model."""
    terms = dict(zip(session.terms, session.released.terms, strict=True))
    return {n: np.average(t.scores**2, weights=t.weights) ** 0.5 for n, t in terms.items()}


@pytest.mark.slow
def test_a_hospital_needs_few_clicks_from_the_dashboard_to_a_card(
    dashboard, shown, session, tmp_path, browser_page
):
    browser_page.add_init_script(_COUNT_CLICKS)
    pane = dashboard([shown.total, shown.local], width=1366)
    pane.page.set_viewport_size({"width": 1366, "height": 768})
    editor, sizes = EditorPage(pane), sizes_of(session)
    assert editor.text("name") == max(sizes, key=sizes.get)
    plot = editor.card.locator(".js-plotly-plot .xy").first.bounding_box()
    assert plot["y"] + plot["height"] < 768
    assert pane.page.locator("#tabs .tab").all_inner_texts() == [
        "Overview", "Global", "Local", "Privacy",
    ]  # fmt: skip

    pane.open_term("age")
    editor.card.get_by_label("Shape to test for").locator("button.dash-dropdown").click()
    pane.page.locator(".dash-dropdown-option", has_text="increasing").first.click()
    editor.press("verdict")
    verdict = session.verdict("age", "increasing").text
    assert editor.text("line").startswith(verdict)
    message = editor.card.locator(".idp-editor-message").bounding_box()
    assert message["y"] + message["height"] <= 768
    editor.press("repair")
    assert len(session.history) == 1
    traces = pane.figures()[0]["data"]
    drawn = [t for t in traces if "edited curve" in t.get("name", "") and t["visible"]]
    made = EditedTerm.of(session, session.terms.index("age")).figure().data
    expected = [t for t in made if "edited curve" in (t.name or "") and t.visible]
    assert len(drawn) == len(expected) == 2
    for own, other in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(own["y"], other.y)
    editor.bar.locator(".idp-editor-why-field input").click()
    pane.page.keyboard.type("Risk rises with age")
    editor.press("commit")
    with pane.page.expect_download() as download:
        editor.press("card")
    assert pane.page.evaluate("window.clicks") <= 12
    path = tmp_path / "card.html"
    download.value.save_as(path)
    assert path.read_text(encoding="utf-8") == session.model.card().to_html()
    assert "Risk rises with age" in path.read_text(encoding="utf-8")
    pane.screenshot("panes_path")
    pane.assert_clean()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1366, 390])
def test_all_that_is_on_the_screen_is_of_the_current_model(dashboard, shown, session, width):
    again = shown.model.explain_global(name="again")
    pane = dashboard([shown.total, again, shown.local], width=width)
    # Somebody edits in Python, and then on the page.
    session.scale("systolic_bp", 3.0)
    editor = EditorPage(pane)
    pane.open_term("age")
    editor.press("select-all")
    editor.press("flatten")
    editor.bar.get_by_text("2 edits, 2 not committed").wait_for()
    pane.settle()
    sizes = sizes_of(session)
    terms = dict(zip(session.terms, session.released.terms, strict=True))
    bars = pane.page.locator(".idp-term").all()
    drawn = {bar.locator("span").first.inner_text(): bar for bar in bars}
    assert list(drawn) == sorted(sizes, key=sizes.get, reverse=True)
    longest = max(max(size, terms[n].noise_size or 0) for n, size in sizes.items())
    for name, bar in drawn.items():
        width_of_bar = bar.locator("i i").get_attribute("style")
        assert float(re.search(r"[\d.]+", width_of_bar)[0]) == pytest.approx(
            100 * sizes[name] / longest, abs=0.006
        )
        ratio = bar.locator("span").nth(1).inner_text().split(" \u00b7 ")
        assert float(ratio[0]) == pytest.approx(sizes[name], rel=0.006)
        assert (ratio[1] == "edited") is (name in ("age", "systolic_bp"))
    pane.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    box = editor.bar.bounding_box()
    assert 0 <= box["y"] < 65
    assert box["height"] < 230
    pane.screenshot(f"panes_{width}")

    # A second pane of the model has the same bar; the first one keeps what was in it.
    pane.open_term("bmi")
    editor.press("select-all")
    editor.type("number", "0.25")
    pane.choose_explanation("Global", "again")
    editor.card.locator(".idp-editor-name", has_text="bmi").wait_for()
    assert editor.card.locator(".idp-editor-number input").input_value() == "0.25"
    assert pane.page.locator(".idp-editor-model").count() == 1
    EditorPage(pane, 1).press("select-all")
    EditorPage(pane, 1).press("remove")
    editor.bar.get_by_text("3 edits, 3 not committed").wait_for()

    # Rows that were explained before are explained by the edited model.
    pane.open_tab("Local")
    pane.tick_row(1)
    predicted = session.model.explain_local(*shown.local.explained).selector
    cells = pane.page.locator(".dash-spreadsheet tr:visible").all_inner_texts()
    assert f"{predicted['PrScore'][1]:g}" in "".join(cells).split()
    rows = shown.local.explained[0]
    figure = next(f for f in pane.figures() if f["data"][0].get("meta") == "contributions")
    expected = session.model.explain_local(*shown.local.explained).figure(1).data[0].x
    assert figure["data"][0]["x"] == pytest.approx(list(expected))
    percent = float(re.search(r"([\d.]+) %", figure["layout"]["title"]["text"])[1])
    now, before = (m.predict_proba(rows)[1, 1] for m in (session.model, shown.model))
    assert percent == pytest.approx(100 * now, abs=0.5)
    assert abs(now - before) > 0.01
    pane.assert_clean()
