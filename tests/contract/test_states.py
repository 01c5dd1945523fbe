"""A promise stands nowhere without its state, and one that does not hold is printed nowhere."""

import dataclasses
import html
import json
import re
import shlex

import pytest
from dash._utils import to_json

from interpret_dp import DPExplainableBoostingClassifier, Guarantee, PrivacyLedger, load_model
from interpret_dp.cli import main
from interpret_dp.datasets import make_cohort
from interpret_dp.explanation import PrivacySpend
from interpret_dp.explanation.card import ModelCard
from interpret_dp.explanation.guarantee_card import guarantee_card
from interpret_dp.explanation.pages.ledger import render_ledger_page
from interpret_dp.explanation.pages.model import render_html
from interpret_dp.explanation.pages.questions import question_table
from interpret_dp.ui.dash.app.privacy_tab import _guarded_card, _introduction, collect_accounts
from interpret_dp.ui.notebook.controls import privacy_text
from tests.ledger.requests import reserve

CLAUSE = "'scale' (StandardScaler) learned from these rows"
STATEMENTS = {
    "name": "Readmission",
    "data_curators": ["A hospital"],
    "description": "Risk",
    "intended_use": "Teaching",
    "data_product_region": "Europe",
    "publication_date": "2026-11-28",
    "actors": "The curator",
    "release_type_details": "One fit",
    "preprocessing_and_hyperparameter_tuning": "None.",
    "justification": "Usual",
    "registry_authors": ["A"],
}
# As a figure of a promise; a parameter is written epsilon=1.37.
FIGURE = re.compile(r"epsilon\W{1,3}1\.37|e\^1\.37|epsilon: 1\.37")
WORDS = {
    "does not hold": re.compile(r"not hold|nothing promised|nothing is promised"),
    "holds if": re.compile(r"holds? only if|condition"),
}


@pytest.fixture(scope="module")
def fitted():
    patients = make_cohort(300)
    model = DPExplainableBoostingClassifier(schema=patients.schema, epsilon=1.37, max_rounds=1)
    return model.fit(patients.X, patients.y)


@pytest.fixture(params=["does not hold", "holds if", "holds"])
def model(request, fitted):
    clauses = {"does not hold": "failures", "holds if": "conditions"}
    released = fitted.to_released()
    name = clauses.get(request.param)
    changes = {name: (CLAUSE,)} if name else {}
    guarantee = dataclasses.replace(released.guarantee, **changes)
    assert guarantee.state == request.param
    released = dataclasses.replace(released, guarantee=guarantee)
    return DPExplainableBoostingClassifier.from_released(released, PrivacyLedger.in_memory())


def outputs(model, folder, capsys):
    """Yield everything that speaks of a model's promise, by name, as plain text."""
    released, guarantee = model.to_released(), model.guarantee_
    spend, explanation = model.privacy_spend_, model.explain_global(name="a model")
    card = ModelCard(released, STATEMENTS, even_if_void=True)
    accounts = collect_accounts([explanation])
    yield "sentence", guarantee.sentence
    yield "text", str(guarantee)
    yield "notebook", guarantee._repr_html_()
    yield "brief", guarantee.brief
    yield "strength", guarantee.strength
    yield "released", repr(released)[1:-1]
    yield "summary", str(model.summary())
    yield "summary in a notebook", model.summary()._repr_html_()
    yield "explanation", repr(explanation)[1:-1]
    yield "estimator", guarantee_card(guarantee)
    yield "line", spend.line
    yield "panel", spend._repr_html_()
    yield "page", render_html(released, spend).split("<h2>What matters")[0]
    yield "card", card.to_markdown()
    yield "card as a page", card.to_html()
    yield "questions", " ".join(" ".join(row) for row in question_table(released, {}).rows[:1])
    yield "editor", privacy_text(guarantee, 0)
    yield "privacy tab", to_json(_introduction(accounts))
    yield "account in the tab", to_json(_guarded_card(accounts[0]))
    yield "record", guarantee.to_registry_yaml(even_if_void=True, **STATEMENTS)
    model.save(folder / "model.json")
    for options in ("--text", f"--html {folder / 'model.html'}"):
        code = main(shlex.split(f"show {folder / 'model.json'} {options}"))
        assert code == (guarantee.state == "does not hold")
        yield f"show {options}", capsys.readouterr().out


def plain(text):
    """Return what a reader of a page sees."""
    return " ".join(
        html.unescape(re.sub(r"<style.*?</style>|<[^>]*>", " ", text, flags=re.S)).split()
    )


def test_no_promise_is_shown_without_its_state(model, tmp_path, capsys):
    state = model.guarantee_.state
    for name, text in outputs(model, tmp_path, capsys):
        shown = plain(text)
        if state == "does not hold" and name != "record":
            assert not FIGURE.search(shown), (name, FIGURE.findall(shown))
        if state == "holds":
            assert not any(words.search(shown) for words in WORDS.values()), name
        elif FIGURE.search(shown) or state == "does not hold":
            # The state comes first.
            said = WORDS[state].search(shown)
            assert said, name
            figure = FIGURE.search(shown)
            assert figure is None or name == "record" or said.start() < figure.end() + 40, name


def test_what_does_not_hold_is_published_on_demand_alone(model, tmp_path, capsys):
    model.save(tmp_path / "model.json")
    (tmp_path / "about.toml").write_text(
        "\n".join(f"{name} = {json.dumps(value)}" for name, value in STATEMENTS.items())
    )
    promise, is_void = model.guarantee_, model.guarantee_.state == "does not hold"
    calls = (
        lambda **more: model.card(**STATEMENTS, **more).to_markdown(),
        lambda **more: promise.to_registry_yaml(**STATEMENTS, **more),
    )
    for call in calls:
        if is_void:
            with pytest.raises(ValueError, match=r"StandardScaler.*even_if_void=True"):
                call()
        else:
            call()
        text = call(even_if_void=True)
        # The publishers' word on preparation does not stand alone.
        assert ("None. The model says: " in text) == (promise.state != "holds")
    for command, ending in (("card", "md"), ("registry", "yaml")):
        target = tmp_path / f"published.{ending}"
        line = (
            f"{command} {tmp_path / 'model.json'} --statements {tmp_path / 'about.toml'} "
            f"--output {target}"
        )
        assert main(shlex.split(line)) == (2 if is_void else 0)
        assert target.exists() != is_void
        assert main(shlex.split(f"{line} --even-if-void --overwrite")) == 0
        capsys.readouterr()


def test_the_state_survives_its_file(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json").guarantee_
    assert (again.conditions, again.failures) == (
        model.guarantee_.conditions,
        model.guarantee_.failures,
    )


@pytest.mark.parametrize("clauses", ["conditions", "failures"])
def test_an_account_has_the_worst_state_of_its_requests(clauses, tmp_path, capsys):
    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("ward", epsilon=3, delta=1e-6)
    ledger.commit(reserve(ledger, "ward"))
    ledger.commit(reserve(ledger, "ward"), **{clauses: [CLAUSE]})
    state = {"conditions": "holds if", "failures": "does not hold"}[clauses]
    (account,) = ledger.to_dict("ward")["datasets"]
    assert account["guarantee_state"] == state
    assert list(ledger.report("ward")["guarantee_state"]) == ["holds", state]
    promise = Guarantee(epsilon=0.4, delta=1e-6, mu=0.1, mechanism="noise", dataset="ward")
    main(["ledger", "show", "--ledger", ledger.url])
    for text in (
        capsys.readouterr().out,
        plain(render_ledger_page(ledger.oversight("ward"))),
        plain(PrivacySpend.of_model(promise, ledger)._repr_html_()),
    ):
        assert CLAUSE in " ".join(text.split())
    assert "conditions" in ledger._repr_html_() or "not all of it holds" in ledger._repr_html_()
