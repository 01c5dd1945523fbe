"""The card of a published model: what it says, whatever names hold, and that it costs nothing."""

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger, PrivacySpend, load_model
from interpret_dp.accounting.guarantee import ReleaseShare
from interpret_dp.accounting.registry import STATEMENTS
from interpret_dp.datasets import make_cohort
from interpret_dp.explanation.card import NOT_COVERED, STATED, ModelCard, question_table
from interpret_dp.release import ReleaseSession
from interpret_dp.released import AdditiveFeature, EditRecord
from interpret_dp.schema import Categorical, Continuous
from tests.editor.models import build_model

ROOT = Path(__file__).parents[2]
HOSTILE = "</script><b>1</b> | {{ 7 * 7 }}\n# *x* `y` &amp; [z](w)"
EDIT = EditRecord(
    term="age", what="flattened", who="Ada", when="2026-11-27T08:30:59Z", why="no bump is known"
)
STATED_TEXTS = {
    name: ["Ward 5", "Ward 6"] if one.is_list else f"Text on {name}."
    for name, one in STATEMENTS.items()
    if not one.choices
} | {"publication_date": "2026-11-27"}


def model_of(**changes):
    return dataclasses.replace(build_model(), **({"edits": (EDIT,)} | changes))


def paid():
    """Return what private_metrics returns, as far as a card reads it."""
    table = pd.DataFrame({"accuracy": [0.81]}, index=["before"])
    guarantee = dataclasses.replace(build_model().guarantee, epsilon=1.5)
    return SimpleNamespace(table=table, standard_errors=table / 100, guarantee=guarantee)


def test_a_card_says_what_a_reader_asks_in_both_forms():
    model = model_of()
    card = ModelCard(model, STATED_TEXTS, paid())
    page, text = card.to_html(), card._repr_markdown_()
    for part in (page, text):
        for said in ("Text on name.", "Text on intended_use.", "Ward 5 and Ward 6 (2026-11-27)"):
            assert said in part.replace("\\", "")
        assert "The probability of" in part
        assert "0.81 ± 0.0081" in part
        assert "epsilon 1.5 at delta 1e-05, on top of the model" in part
        assert "no bump is known" in part
        assert "wrongly accuses 5 of 100" in part
        assert model.digest in part
        assert "Bands leave out bias" in part
        assert "Data collection exposure" in part
        assert "docs/proofs/neighbouring_tables.md" in part.replace("\\", "")
    assert page.count('class="plot"') == 1 + len(model.terms)
    assert model.guarantee.sentence in text
    assert "in 100 of 100 draws" in text


def test_accuracy_is_named_as_what_it_is():
    assert "interpret_dp.private_metrics releases" in ModelCard(model_of(), {}).accuracy_note
    card = ModelCard(model_of(), {}, {"AUROC": 0.84})
    assert card.accuracy_table is not None
    assert card.accuracy_table.rows == [["AUROC", "0.84"]]
    assert "Measured on public rows" in card.accuracy_note


@pytest.mark.parametrize(("error", "said"), [(0.2, "1 % of their mean"), (1.0, "Do not rely on")])
def test_a_regression_says_how_right_its_total_is(error, said):
    regression = {"task": "regression", "classes": None, "total_error": error, "edits": ()}
    schema = build_model().schema.replace(target=Continuous(0, 100))
    model = model_of(schema=schema, **regression)
    model = dataclasses.replace(model, intercept=model.intercept + 20.0 - model.mean_prediction)
    card = ModelCard(model, {})
    for part in (card.to_html(), card.to_markdown()):
        accuracy, rest = part.split("Accuracy", 1)[1].split("What is promised", 1)
        assert said in accuracy
        assert said not in rest
    spend = PrivacySpend(guarantee=model.guarantee, average=card.average)
    assert said in spend._repr_html_()
    # An edit moves the mean: nothing is stated then, as of a classification.
    assert ModelCard(dataclasses.replace(model, edits=(EDIT,)), {}).average == ""
    assert ModelCard(model_of(), {}).average == ""


def test_names_are_shown_literally():
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    age, dose, grade, _ = build_model().features
    city = AdditiveFeature("city", Categorical([HOSTILE, "a", "b"]))
    features = (age, dataclasses.replace(dose, name=HOSTILE), grade, city)
    edits = (dataclasses.replace(EDIT, why=HOSTILE),)
    model = model_of(features=features, edits=edits)
    stated = {"name": HOSTILE, "notes": HOSTILE, "data_curators": [HOSTILE]}
    card = ModelCard(model, stated)
    assert HOSTILE not in card.to_html()
    tokens = parser.parse(card.to_markdown())
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in [*tokens, *inline]}
    assert not kinds & {"html_block", "html_inline", "link_open", "em_open", "code_inline"}
    shown = " ".join(HOSTILE.split())
    headings = [t.children for t, u in zip(tokens[1:], tokens, strict=False) if u.tag == "h1"]
    assert "".join(child.content for child in headings[0]) == shown
    texts = ["".join(c.content for c in t.children) for t in tokens if t.type == "inline"]
    assert texts.count(shown) == 4  # the name, the note, the reason of the edit, and the term
    # Each row of a table has as many cells as its head.
    assert card.to_markdown().count("| Guarantee |") == 7


def test_characters_that_pages_may_not_hold_are_shown_as_escapes():
    card = ModelCard(model_of(), {"name": "a\x00\x1b\x7f\x9b\uffffb"})
    for page in (card.to_html(), card.to_markdown().replace("\\\\", "\\")):
        assert r"a\u0000\u001b\u007f\u009b\uffffb" in page
        # Older versions of plotly.js hold some themselves.
        own = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        assert not re.search("[\x00\x1b\x7f-\x9f\uffff]", own)


@pytest.mark.parametrize("releases", [(), (ReleaseShare("levels", 0.01, 1, 1e-7),)])
def test_every_question_has_evidence_that_exists_or_says_that_there_is_none(releases):
    guarantee = dataclasses.replace(build_model().guarantee, mu=None, releases=releases)
    model = model_of(guarantee=guarantee)
    rows = question_table(model, {"justification": "By policy."}).rows
    parts = [part for part, *_ in rows]
    assert parts == sorted(parts, key=["Guarantee", "Algorithm", "Deployment"].index)
    evidence = {topic: text for _, topic, _, _, text in rows}
    assert evidence["Choice of parameters"] == STATED
    for topic in ("Data collection exposure", "Preparation"):
        assert evidence[topic] == NOT_COVERED
    paths = [text for text in evidence.values() if text not in (STATED, NOT_COVERED)]
    assert len(paths) == 12
    assert [path for text in paths for path in text.split(", ") if not (ROOT / path).exists()] == []
    (bounds,) = (answer for _, topic, _, answer, _ in rows if topic == "Bounds")
    assert ("released, within" in bounds) == bool(releases)


def test_seeded_noise_promises_nothing():
    guarantee = dataclasses.replace(build_model().guarantee, tests_only=True)
    with pytest.raises(ValueError, match=r"fixed seed.*even_if_void=True"):
        ModelCard(model_of(guarantee=guarantee), {})
    card = ModelCard(model_of(guarantee=guarantee), {}, even_if_void=True)
    assert "does not hold" in card.questions.rows[0][3]
    assert "Someone who sees" not in card.to_markdown()
    measured = paid()
    measured.guarantee = guarantee
    with pytest.raises(ValueError, match="even_if_void=True"):
        ModelCard(model_of(), {}, measured)
    assert (
        "nothing promised" in ModelCard(model_of(), {}, measured, even_if_void=True).accuracy_note
    )


NOT_SHOWN = [
    ({"statements": {"purpose": "x"}}, TypeError, "no field that is stated"),
    ({"accuracy": 0.84}, TypeError, "must be what private_metrics returned"),
    ({"accuracy": {"AUROC": float("nan")}}, ValueError, "AUROC"),
]


@pytest.mark.parametrize(("given", "error", "message"), NOT_SHOWN)
def test_what_cannot_be_shown_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        ModelCard(model_of(), **{"statements": {}} | given)


def test_publishing_reads_no_private_row_and_no_ledger(tmp_path, monkeypatch):
    patients = make_cohort(1_000)
    patients.X.assign(outcome=patients.y).to_parquet(tmp_path / "private.parquet")
    rows = pd.read_parquet(tmp_path / "private.parquet")
    ledger = PrivacyLedger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create_budget("ward", epsilon=2, delta=1e-5)
    model = DPExplainableBoostingClassifier(
        schema=patients.schema, ledger=ledger, dataset="ward", max_rounds=2
    )
    model.fit(rows.drop(columns="outcome"), rows["outcome"]).save(tmp_path / "model.json")
    before = ledger.head, ledger.entries()
    (tmp_path / "private.parquet").unlink()
    del rows, model

    def refused(*_given, **_named):
        raise AssertionError("a release was asked for")

    monkeypatch.setattr(ReleaseSession, "__init__", refused)
    monkeypatch.setattr(PrivacyLedger, "reserve", refused)
    loaded = load_model(tmp_path / "model.json")
    card = loaded.card({"AUROC": 0.8}, name="Readmission")
    for name in ("card.html", "card.md"):
        card.save(tmp_path / name)
    public = make_cohort(5, seed=1).X
    assert loaded.shap_values(public).values.shape == (5, 10)
    explanation = loaded.explain_global()
    assert explanation.top_terms(3)
    assert explanation.describe()
    explanation.figure(0)
    assert 0 < loaded.explain_local(public).data(0)["same_decision"] <= 1
    assert (ledger.head, ledger.entries()) == before
