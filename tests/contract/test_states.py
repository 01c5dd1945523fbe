"""A promise that is conditional or void says so wherever it is shown, before its figures."""

import dataclasses
import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import interpret_dp as dp
from interpret_dp.accounting.registry import STATEMENTS
from interpret_dp.cli import main
from interpret_dp.explanation.pages import render_html, render_ledger_page
from interpret_dp.ui.dash.privacy_tab import _content
from interpret_dp.ui.notebook.controls import privacy_text
from tests.ledger.requests import reserve

COLUMNS = dp.Schema(default=dp.Continuous(-3, 3))
SCHEMA = COLUMNS.replace(target=dp.Categorical([0, 1]))
EPSILON = 1.37
STATED = {n: ["A"] if s.is_list else "A text." for n, s in STATEMENTS.items() if s.default is None}
STATED["publication_date"] = "2026-11-27"
# How texts say a state, and what a void promise must not say.
SAYS = {
    "does not hold": ("does not hold",),
    "holds if": ("holds only if", "Holds only on conditions", "on conditions", "holds if"),
}
PROMISES = "epsilon 1.37", "e^1.37", "Gaussian differential privacy, which implies"
# Nor what it assumed, which the failure contradicts.
PROMISES += ("learned nothing from",)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module", params=["does not hold", "holds if"])
def shown(request, rows, tmp_path_factory):
    """Explainers whose promise is void by a learning step, or conditional by an exact score."""
    state, folder = request.param, tmp_path_factory.mktemp("states")
    X, y = rows
    ledger = dp.PrivacyLedger(f"sqlite:///{folder}/privacy.db")
    ledger.create_budget("ward", epsilon=100, delta=1e-3)
    charged = {"ledger": ledger, "dataset": "ward", "epsilon": EPSILON}
    models = [
        dp.DPExplainableBoostingClassifier(schema=SCHEMA, max_rounds=1, **charged),
        dp.DPLocallyLinearClassifier(schema=SCHEMA, epochs=1, **charged),
    ]
    own = {"schema": COLUMNS, **charged}
    with warnings.catch_warnings(action="ignore"):
        for model in models:
            if state == "holds if":
                model.fit(X, y).score(X, y)
            else:
                make_pipeline(StandardScaler(), model).fit(X, y)
        if state == "holds if":
            ledger.commit(reserve(ledger, "ward"), conditions=("starting scores are public",))
        background = dp.PrivateBackground(**own).fit(X)
        lime = dp.DPLimeTabular(models[0], background=background, trained_on_same_people=True)
        measured = dp.private_metrics(
            {"model": models[0]}, X, y, epsilon=0.5, delta=1e-6, ledger=ledger, dataset="ward"
        )
    path = folder / "model.json"
    models[0].save(path)
    return SimpleNamespace(
        state=state,
        rows=rows,
        ledger=ledger,
        models=models,
        path=path,
        measured=measured,
        explainers=[*models, lime],
    )


def texts_of_guarantee(guarantee):
    yield "sentence", guarantee.sentence
    yield "str", str(guarantee)
    yield "repr", repr(guarantee)
    yield "html", guarantee._repr_html_()
    yield "brief", guarantee.brief
    yield "notebook's editor", privacy_text(guarantee, 0)


def texts_of_explanation(explanation):
    spend = explanation.privacy
    yield "line", spend.line
    yield "spend", str(spend)
    yield "spend's record", repr(spend)
    yield "panel", spend._repr_html_()
    yield "explanation", repr(explanation)
    yield "explanation's html", explanation._repr_html_()
    yield "figure", str(explanation.visualize(0).to_json())
    yield "dashboard's tab", json.dumps(_content([explanation]).to_plotly_json(), default=plain)


def plain(component):
    return component.to_plotly_json() if hasattr(component, "to_plotly_json") else str(component)


def texts_of_model(model, measured, path):
    X = np.zeros((1, 2))
    yield "diagram", model._repr_mimebundle_()["text/html"]
    yield "summary", str(model.summary())
    yield "summary's html", model.summary()._repr_html_()
    yield "released", repr(model.to_released())
    yield "registry", model.guarantee_.to_registry_yaml(even_if_void=True, **STATED)
    yield from texts_of_explanation(model.explain_global())
    yield from texts_of_explanation(model.explain_local(X))
    if isinstance(model, dp.DPLocallyLinearClassifier):
        return
    yield "SQL", model.to_sql()
    with warnings.catch_warnings(action="ignore"):  # interpret's form is in beta
        yield "interpret's JSON", json.dumps(model.to_jsonable())
    yield "page", render_html(model.to_released(), model.privacy_spend_)
    card = model.card(measured, even_if_void=True, **STATED)
    yield "card", card.to_markdown()
    yield "card's page", card.to_html()
    yield "again", dp.load_model(path).guarantee_.sentence


def check(name, text, state):
    places = [place for word in SAYS[state] if (place := text.find(word)) >= 0]
    assert places, f"{name} does not say that the promise {state}"
    # What somebody asked for, in a ledger's record, is no promise.
    text = text.replace("asked for epsilon", "asked for")
    for promise in PROMISES:
        place = text.find(promise)
        if state == "does not hold":
            assert place < 0, f"{name} promises: ...{text[max(0, place - 99) : place + 99]}..."
        # A figure of plotly has its title at the end of its JSON.
        elif place >= 0 and not name.endswith("figure"):
            assert min(places) < place + 40, f"{name} has the figure before the state"


def test_every_text_says_the_state(shown):
    for explainer in shown.explainers:
        assert explainer.guarantee_.state == shown.state
        name = type(explainer).__name__
        found = list(texts_of_guarantee(explainer.guarantee_))
        if explainer in shown.models:
            found += texts_of_model(explainer, shown.measured, shown.path)
        for kind, text in found:
            check(f"{name}: {kind}", text, shown.state)
    document = json.loads(shown.path.read_text(encoding="utf-8"))
    assert json.dumps(document).count(f'"state": "{shown.state}"') == 1


def test_the_ledger_says_the_state(shown, capsys):
    """A score leaves no entry: the ledger knows of the steps, and of starting scores."""
    ledger = shown.ledger
    (account,) = ledger.to_dict()["datasets"]
    assert account["guarantee_state"] == shown.state
    assert main(["ledger", "show", "--ledger", ledger.display_url]) == 0
    for name, text in (
        ("command", capsys.readouterr().out),
        ("notebook", ledger._repr_html_()),
        ("report", ledger.report().to_string()),
        ("officer", render_ledger_page(ledger.oversight())),
        ("document", json.dumps(ledger.to_dict())),
    ):
        assert any(word in text for word in SAYS[shown.state]), name
    panel = shown.models[0].privacy_spend_
    if shown.state == "holds if":
        panel = dataclasses.replace(
            panel, guarantee=dataclasses.replace(panel.guarantee, conditions=())
        )
        assert "Of releases on &#39;ward&#39;: The promise holds only if" in panel._repr_html_()
    assert account["guarantee_sentence"] in render_ledger_page(ledger.oversight()).replace(
        "&#39;", "'"
    )


def test_commands_refuse_what_does_not_hold(shown, tmp_path, capsys):
    is_void, model = shown.state == "does not hold", str(shown.path)
    assert main(["show", model, "--text"]) == (3 if is_void else 0)
    check("show", capsys.readouterr().out, shown.state)
    assert main(["show", model, "--html", str(tmp_path / "m.html")]) == (3 if is_void else 0)
    stated = tmp_path / "about.toml"
    stated.write_text("".join(f"{n} = {json.dumps(v)}\n" for n, v in STATED.items()), "utf-8")
    for command in ("card", "registry"):
        for override in ([], ["--even-if-void"]):
            out = tmp_path / f"{command}{len(override)}.md"
            given = [command, model, "--statements", str(stated), "--output", str(out), *override]
            code, wrote = main(given), out.exists()
            says = capsys.readouterr().err
            assert (code == 0) == wrote == bool(override or not is_void)
            assert wrote or "--even-if-void" in says
            if wrote:
                check(command, out.read_text(encoding="utf-8"), shown.state)
                # What people state does not stand alone.
                assert "A text. The model knows: The promise" in out.read_text(encoding="utf-8")


def test_a_failure_hides_no_condition(shown):
    guarantee = dataclasses.replace(
        shown.models[0].guarantee_, failures=("a step learned",), conditions=("b is public",)
    )
    ledger = dp.PrivacyLedger.in_memory()
    for clauses in ({"failures": guarantee.failures}, {"conditions": guarantee.conditions}):
        ledger.commit(reserve(ledger, "ward"), **clauses)
    (account,) = ledger.to_dict()["datasets"]
    for text in (guarantee.sentence, account["guarantee_sentence"]):
        assert text.startswith("The promise does not hold: a step learned.")
        assert text.endswith("only if b is public.")


def test_an_error_says_why_and_what_to_do(shown):
    guarantee = shown.models[0].guarantee_
    if shown.state == "holds if":
        assert guarantee.to_registry(**STATED) == guarantee.to_registry(even_if_void=True, **STATED)
        return
    for publish in (guarantee.to_registry, guarantee.to_registry_yaml, shown.models[0].card):
        with pytest.raises(ValueError, match=r"StandardScaler.*Fit again.*even_if_void=True"):
            publish(**STATED)
    record = guarantee.to_registry(even_if_void=True, **STATED)
    assert record["deployment"]["privacy_loss"]["privacy_parameters"] == {"delta": 1.0}
