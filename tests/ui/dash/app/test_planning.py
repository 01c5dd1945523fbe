"""The cards that plan the next fit: no row, no charge, and one plan for the same guesses."""

import pickle
import time

import interpret_dp as dp
from interpret_dp.datasets import simulate_table
from tests.ui.dash.client import AppClient, components, text_of

FEATURES = {"age": dp.Integer(18, 95), "sex": dp.Categorical(["f", "m"])}


def _part(name):
    return {"type": f"idp-plan-{name}", "number": 0}


def _inputs(client):
    """Return the values of the fields of the first card."""
    tree = components(client.privacy_tab())
    fields = [c["props"] for c in tree if c["type"] == "Input" and c["props"]["id"]["number"] == 0]
    return [field["value"] for field in fields]


def _answer(client, trigger, values, asked=None):
    """Return what is shown, whether the clock stands still, and what was asked."""
    (key,) = (key for key in client.app.callback_map if "idp-plan-shown" in key)
    names = {"shown": "children", "clock": "disabled", "asked": "data"}
    state = {"rows": values[0], "guess": values[1]}
    body = {
        "output": key,
        "outputs": [{"id": _part(name), "property": value} for name, value in names.items()],
        "inputs": [
            {"id": _part("start"), "property": "n_clicks", "value": 1},
            {"id": _part("clock"), "property": "n_intervals", "value": 1},
        ],
        "state": [{"id": _part(n), "property": "value", "value": v} for n, v in state.items()]
        + [{"id": _part("asked"), "property": "data", "value": asked}],
        "changedPropIds": [f'{{"number":0,"type":"idp-plan-{trigger[0]}"}}.{trigger[1]}'],
    }
    answer = client.post(body)
    # What does not change is left out of an answer.
    given = {kind: part for name, part in answer.items() for kind in names if kind in name}
    return [given.get(kind, {}).get(value) for kind, value in names.items()]


PRESS, LOOK = ("start", "n_clicks"), ("clock", "n_intervals")


def _planned(client, values):
    """Press the button and look until the plan is there."""
    shown, is_still, asked = _answer(client, PRESS, values)
    assert asked == values
    while not is_still:
        time.sleep(0.05)
        # Fields that change meanwhile count for the next plan.
        shown, is_still, _ = _answer(client, LOOK, [7, "x"], asked)
    return shown


def test_a_plan_needs_no_row_and_writes_no_ledger(tmp_path):
    schema = dp.Schema(FEATURES, target=dp.Categorical(["no", "yes"]))
    table = simulate_table(schema, 3_000, rate=0.3, seed=1)
    file = tmp_path / "privacy.db"
    ledger = dp.PrivacyLedger(f"sqlite:///{file}")
    ledger.create_budget("ward", epsilon=4, delta=1e-6)
    given = {"schema": schema, "ledger": ledger, "dataset": "ward"}
    model = dp.DPExplainableBoostingClassifier(epsilon=1, delta=1e-6, max_rounds=2, **given)
    model.fit(table.X, table.y).save(tmp_path / "model.json")
    del model, table
    explanation = dp.load_model(tmp_path / "model.json", ledger=ledger).explain_global()
    explanation = pickle.loads(pickle.dumps(explanation))
    before = file.read_bytes()

    client = AppClient([explanation])
    n_rows, share = _inputs(client)
    assert n_rows == round(explanation.model.n_rows)
    assert 0.2 < float(share) < 0.4
    shown = _planned(client, [n_rows, share])
    (graph,) = (c for c in components(shown) if c["type"] == "Graph")
    steps = graph["props"]["figure"]["layout"]["sliders"][0]["steps"]
    assert [step["label"] for step in steps] == ["0.1", "0.25", "0.5", "1", "2", "4"]
    text = text_of(shown)
    assert "no private row was read. Nothing was charged." in text
    assert f"{n_rows:,} 1 numbers 0." in text
    assert file.read_bytes() == before
    # The second time it is there at once.
    assert _answer(client, PRESS, [n_rows, share])[1]

    for values, words in (
        ([n_rows, "often"], "'Share of 'yes'' is 'often'; it must be a number"),
        ([n_rows, "1.5"], "rate is 1.5"),
        ([1, "0.3"], "n_rows is 1"),
    ):
        (message,) = components([_planned(client, values)])
        assert message["props"]["role"] == "alert"
        assert words in text_of(message)
