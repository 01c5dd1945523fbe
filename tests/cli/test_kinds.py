"""Whatever was released has the same verbs, and its page shows the numbers of its file."""

import numpy as np
import pytest

from interpret_dp import DPLimeTabular
from interpret_dp.cli.edits import open_released
from interpret_dp.explanation.markup import _environment
from tests.cli.test_registry import STATEMENTS
from tests.golden.kinds import FILES
from tests.lime.tables import SCHEMA, Risk, table


@pytest.fixture
def drawn(monkeypatch):
    """Return the figures that pages get, the overview of each page first."""
    figures, filters = [], _environment().filters
    monkeypatch.setitem(filters, "text_alternative", lambda figure: figures.append(figure) or "")
    return figures


def heights(values):
    """Return the numbers of a part that are not zero, by size."""
    values = np.concatenate([np.ravel(own) for own in values])
    return np.sort(values[values != 0])


KINDS = [("surrogate", ""), ("maps_table", "x"), ("maps_images", "z"), ("background", "y")]


@pytest.mark.parametrize(("kind", "axis"), KINDS)
def test_each_kind_of_file_is_shown_described_and_registered(kind, axis, typed, folder, drawn):
    file = FILES / f"{kind}.json"
    released = open_released(file).to_released()
    (folder / "about.toml").write_text(STATEMENTS)
    assert released.digest in typed(f"show {file} --text --html page.html", code=3).out
    # The promise of these files does not hold, so that nothing is written unasked.
    assert "--even-if-void" in typed(f"card {file} --output card.md", code=2).err
    for word, name in (("card", "card.md"), ("card", "card.html"), ("registry", "record.yaml")):
        typed(f"{word} {file} --statements about.toml --even-if-void --output {name}")
        text = (folder / name).read_text()
        assert released.guarantee.ledger_head in text
        assert "Planning of follow-up" in text
        assert word != "card" or released.digest in text
    assert ("Summary statistics" in text) is (kind == "background")
    if not axis:
        return
    parts = released.weights if axis != "y" else [[100 * own] for own in released.shares()]
    page, card = drawn[1 : len(drawn) // 2], drawn[len(drawn) // 2 + 1 :]
    for figure, again, part in zip(page, card, parts, strict=True):
        for traces in (figure.data, again.data):
            shown = heights([trace[axis] for trace in traces[: len(part)]])
            assert shown == pytest.approx(heights(part))


def test_an_explainer_of_a_black_box_has_them_with_its_own_promise_and_curves(drawn):
    explainer = DPLimeTabular(
        Risk(), table(2_000), schema=SCHEMA, epsilon=1.0, trained_on_same_people=True
    )
    assert str(explainer.summary()) == str(explainer.background.summary())
    card, curves = explainer.card(name="Risk by age"), explainer.explain_global().curves
    assert explainer.background.to_released().digest in card.to_markdown()
    assert [row[0] for row in card.terms.rows][:1] == ["site"]
    assert "explains the probability of high of another model" in card.to_markdown()
    for written in (explainer.to_html, card.to_html):
        assert explainer.guarantee_.scope in written()
        (curve,) = (trace for trace in drawn[1].data if trace.name == "partial dependence")
        assert set(curves.terms[0].scores[1:-1].round(9)) <= set(np.round(curve.y, 9))
        drawn.clear()
