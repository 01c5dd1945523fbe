"""Exported pages of models and of ledgers in a browser without a network."""

import numpy as np
import pytest

from tests.browser.shared import script
from tests.browser.test_access import unnamed

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
MARKUP = "<b>f</b>"


@pytest.fixture(scope="module")
def exported(cohort, tmp_path_factory):
    """Write the page of a model with pairs and six predictions; names of levels are hostile."""
    from interpret_dp import Categorical, DPExplainableBoostingClassifier, Schema
    from interpret_dp.explanation.pages import render_html

    schema = Schema(
        {**cohort.schema.features, "sex": Categorical([MARKUP, HOSTILE])},
        target=cohort.schema.target,
    )
    X = cohort.X.assign(sex=cohort.X["sex"].replace({"male": HOSTILE, "female": MARKUP}))
    pairs = [("sex", "smoker"), ("age", "sex"), ("age", "smoker")]
    model = DPExplainableBoostingClassifier(
        epsilon=4, delta=1e-6, schema=schema, interactions=pairs
    ).fit(X, cohort.y)
    curves = {name: curve for name, curve in cohort.curves.items() if name != "sex"}
    local = model.explain_local(X[:6], cohort.y[:6])
    sentences = model.explain_global().describe()
    path = tmp_path_factory.mktemp("exported") / "page.html"
    content = render_html(model.to_released(), model.privacy_spend_, truth=curves, local=local)
    path.write_text(content, encoding="utf-8")
    model.card({"AUROC": 0.84}, intended_use="Teaching").save(path.with_name("card.html"))
    return path, sentences


def _scales(page, where):
    return page.page.evaluate(
        "where => [...document.querySelectorAll('#shapes .plot')]"
        ".filter(plot => !!plot.closest('.pair') === where)"
        ".map(plot => plot._fullLayout.yaxis.range.map(end => end.toFixed(6)).join())",
        where == "pairs",
    )


def test_every_figure_is_drawn_without_a_network_on_its_own_scale_or_one(open_file, exported):
    page = open_file(exported[0])
    # What is far below is drawn when it is scrolled to.
    assert 0 < len(page.figures()) < 1 + 10 + 3 + 6
    page.look_at_all()
    assert len(page.figures()) == 1 + 10 + 3 + 6
    assert all(figure["data"] for figure in page.figures())
    assert page.page.locator(".pair .js-plotly-plot .heatmaplayer").count() > 0
    page.screenshot("exported_page")

    # Names are text and nothing else.
    assert page.page.title() == "Model of unnamed"
    assert page.page.locator("img").count() == 0
    assert HOSTILE[:21] in page.text()
    assert MARKUP in page.text()

    # One scale for all curves, and back.
    before, of_the_pairs = _scales(page, "curves"), _scales(page, "pairs")
    assert len(set(before)) == 10
    page.page.locator("#same-scale").check()
    page.settle()
    assert len(set(_scales(page, "curves"))) == 1
    # The heat map's axis is the other feature.
    assert _scales(page, "pairs") == of_the_pairs
    page.page.locator("#same-scale").uncheck()
    page.settle()
    # Tick labels of another width leave the curve another height, which plotly's margins follow.
    again, first = (
        np.array([one.split(",") for one in scales], float)
        for scales in (_scales(page, "curves"), before)
    )
    assert (np.abs(again - first) < 0.01 * np.ptp(first, axis=1, keepdims=True)).all()

    # Many terms are searched.
    page.page.locator("#search").fill(" AGE ")
    shown = page.page.locator("#shapes .card:visible h3").all_inner_texts()
    assert sorted(shown) == ["age", "age & sex", "age & smoker"]
    page.page.locator("#search").fill("")
    assert page.page.locator("#shapes .card:visible").count() == 13
    page.assert_clean()


def test_a_narrow_page_draws_all_curves_for_one_scale_and_says_in_words_what_they_show(
    open_file, exported
):
    path, sentences = exported
    page = open_file(path, width=390)
    page.page.locator("#draws").check()
    page.page.locator("#same-scale").check()
    page.settle()
    assert len(_scales(page, "curves")) == 10
    page.look_at_all()
    shown = (
        "() => [...document.querySelectorAll('#shapes .plot')].map(plot => plot.data"
        ".filter(trace => trace.meta === 'plausible curves' && trace.visible).length)"
    )
    # Curves that were drawn before and those that are drawn later; the pairs have none.
    assert page.page.evaluate(shown).count(0) == 3
    page.screenshot("exported_page_draws")
    page.page.locator("#draws").uncheck()
    page.settle()
    assert not any(page.page.evaluate(shown))
    # Ticks of heat maps run together at this width.
    page.page.evaluate("() => document.querySelectorAll('.pair').forEach(card => card.remove())")
    page.assert_nothing_is_cut()
    missing, names = unnamed(page.page)
    assert missing == []
    assert {text for name, text in sentences.items() if "&" not in name} <= names
    assert any("intercept" in name and "age" in name for name in names)
    page.screenshot("exported_narrow")
    page.assert_clean()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_on_a_light_and_a_dark_screen(open_file, exported, scheme):
    page = open_file(exported[0], width=1366)
    page.page.emulate_media(color_scheme=scheme)
    page.look_at_all()
    assert page.page.evaluate(script("faint")) == []
    # The check sees what is faint, and figures are drawn on the page's own ground.
    page.page.evaluate("() => document.querySelector('h2').style.color = '#888'")
    assert len(page.page.evaluate(script("faint"))) == 1
    ground = "node => getComputedStyle(node).backgroundColor"
    drawn = page.page.locator("#shapes .main-svg").first.evaluate(ground)
    assert (drawn == "rgba(0, 0, 0, 0)") == (scheme == "dark")
    # Signs on pale cells are dark, whatever the screen.
    signs = page.page.locator(".heatmap-label text").evaluate_all(
        "nodes => nodes.map(node => [getComputedStyle(node).fill, node.style.fill])"
    )
    assert {shown == drawn for shown, drawn in signs} == {True}


# A screen, and the printed part of a sheet of A4 with margins of a centimetre.
@pytest.mark.parametrize(("kind", "width", "height"), [("screen", 1366, 768), ("print", 718, 1047)])
def test_a_card_begins_with_one_page(open_file, exported, kind, width, height):
    page = open_file(exported[0].with_name("card.html"), width=width)
    page.page.emulate_media(media=kind)
    first = page.page.locator("#card")
    assert first.evaluate("node => node.getBoundingClientRect().bottom") <= height
    said = "Epsilon 4 at delta 1e-06", "The probability of", "Teaching", "AUROC", "Spend"
    assert all(part in first.inner_text() for part in said)
    assert not page.page.locator("#questions table").is_visible()


# ----------------------------------------------------------------------------- the officer's report


@pytest.fixture
def report(tmp_path):
    """Write the page of a ledger with two accounts, and with markup in all that users wrote."""
    from interpret_dp.explanation.pages import render_ledger_page
    from interpret_dp.ledger import PrivacyLedger
    from tests.ledger.requests import reserve_epsilon
    from tests.ledger.team import acting_as

    ledger = PrivacyLedger.in_memory()
    used = ledger.for_purpose(HOSTILE)
    for name in ("cardiology", f"oncology {HOSTILE}"):
        ledger.create_budget(name, 4.0, 1e-6, purpose=HOSTILE)
        for user in ("ben", HOSTILE) * 4:
            with acting_as(user):
                used.commit(reserve_epsilon(used, 0.1, 1e-6, name))
    path = tmp_path / "report.html"
    path.write_text(render_ledger_page(ledger.oversight()), encoding="utf-8")
    return path


def test_the_report_works_without_a_network(open_file, report):
    page = open_file(report)
    page.look_at_all()
    assert len(page.figures()) == 2
    assert all(figure["data"] for figure in page.figures())
    page.screenshot("ledger_report")

    # Words of users are text and nothing else.
    assert page.page.title() == "Privacy ledger report"
    assert page.page.locator("img").count() == 0
    assert HOSTILE in page.text()

    # Long tables unfold and scroll inside, and a narrow screen needs no sideways scrolling.
    assert not page.page.locator("#entries table").is_visible()
    page.page.locator("#entries summary").click()
    page.settle()
    rows = page.page.locator("#entries tbody tr")
    assert rows.count() > 25
    assert rows.first.is_visible()
    heights = page.page.evaluate(
        "() => [...document.querySelectorAll('#entries .scroll')].map(e => e.clientHeight)"
    )
    assert max(heights) <= 560
    page.narrow(400)
    page.screenshot("ledger_report_narrow")
    page.assert_clean()
