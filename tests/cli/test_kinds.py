"""Whatever was released has the same verbs, and its page shows the numbers of its file."""

import base64
import json
import re
import shutil

import numpy as np
import pytest

from interpret_dp import DPLimeTabular
from interpret_dp.cli.edits import open_released
from interpret_dp.explanation.card import STATED
from tests.golden.kinds import FILES
from tests.lime.tables import SCHEMA, Risk, table

KINDS = ["classification", "surrogate", "maps_table", "maps_images", "background"]


def numbers(values):
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return np.array(values, dtype=float).ravel()


def drawn(page):
    """Return the traces of the figures of a page, the overview first."""
    (lines,) = re.findall(r"const figures = \[\n(.*?)\n\];", page, re.DOTALL)
    return [json.loads(line.strip().rstrip(","))["data"] for line in lines.split("\n") if line]


def heights(values):
    """Return the numbers of a part that are not zero, by size."""
    values = np.concatenate([numbers(own) for own in values])
    return np.sort(values[values != 0])


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_file_is_shown_summarised_and_described(kind, typed, folder):
    shutil.copy(FILES / f"{kind}.json", "it.json")
    model = open_released("it.json")
    released = model.to_released()
    outcome = typed("show it.json --text --html page.html", code=3)
    assert released.digest in outcome.out
    assert str(model.summary()).splitlines()[0]
    page = (folder / "page.html").read_text()
    assert released.guarantee.state_sentence in page
    # Of a promise that does not hold, as that of these files, nothing is written unasked.
    assert "even_if_void" in typed("card it.json --output card.md", code=2).err
    about = "--statements about.toml --even-if-void --output"
    (folder / "about.toml").write_text('intended_use = "Teaching"')
    for name in ("card.md", "card.html"):
        typed(f"card it.json {about} {name}")
        text = (folder / name).read_text()
        assert all(said in text for said in (released.digest, "Teaching", "How to cite"))
    shutil.copy(FILES.parents[2] / "examples" / "about.toml", "about.toml")
    typed(f"registry it.json {about} record.yaml")
    assert released.guarantee.ledger_head in (folder / "record.yaml").read_text()
    if hasattr(released, "terms"):
        return
    axis = {"background": "y", "maps_table": "x", "maps_images": "z"}[kind]
    parts = released.weights if kind != "background" else [[own] for own in released.shares()]
    scale, n_traces = (100, 1) if kind == "background" else (1, 2)
    for figures in (drawn(page), drawn((folder / "card.html").read_text())):
        for traces, part in zip(figures[1:], parts, strict=True):
            figure = heights([trace[axis] for trace in traces[:n_traces]])
            assert figure == pytest.approx(scale * heights(part))


def test_an_explainer_of_a_black_box_has_them_with_its_own_promise_and_curves():
    explainer = DPLimeTabular(
        Risk(), table(2_000), schema=SCHEMA, epsilon=1.0, trained_on_same_people=True
    )
    assert str(explainer.summary()) == str(explainer.background.summary())
    card = explainer.card(name="Risk by age", justification="By policy.")
    curves = explainer.explain_global().curves
    for page in (explainer.to_html(), card.to_html()):
        assert explainer.guarantee_.scope in page.replace("&#39;", "'")
        traces = [trace for trace in drawn(page)[1] if trace.get("name") == "partial dependence"]
        shown = set(np.round(numbers(traces[0]["y"]), 9))
        assert shown >= set(np.round(curves.terms[0].scores[1:-1], 9))
    assert explainer.background.to_released().digest in card.to_markdown()
    evidence = {topic: text for _, topic, _, _, text in card.questions.rows}
    assert evidence["Choice of parameters"] == STATED
    assert [p for text in evidence.values() for p in re.findall(r"\S+\.(?:md|py)", text)]
