"""Files that version 0.1 wrote load, predict and verify as they did then; fits release the same."""

import json
import sqlite3
from contextlib import closing, nullcontext

import numpy as np
import pandas as pd
import pytest

from interpret_dp import EditSession, PrivacyLedger, PrivateBackground, Schema, load_model
from interpret_dp.accounting import GdpPair, compose, reduce_event
from interpret_dp.exceptions import PrivacyWarning
from interpret_dp.released import AdditiveModel
from tests.golden.fits import NUMBERS, cases
from tests.golden.kinds import FILES, asked, predictions, schemas

MODELS = sorted(
    path.name.removesuffix(".expected.json")
    for path in FILES.glob("*.expected.json")
    if not path.name.startswith(("session", "background"))
)
# Sums and exponentials may differ in their last bits between processors.
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def _expected(name):
    return json.loads((FILES / f"{name}.expected.json").read_text(encoding="utf-8"))


OTHERS = {
    *("background", "ledger", "ledger_search", "schema_default", "schema_full"),
    *("session", "session_pair"),
}


def test_every_kind_has_its_files():
    assert len(MODELS) == 11
    # The numbers of fits are written by tests/golden/fits.py.
    assert {path.name.split(".")[0] for path in FILES.iterdir()} == {*MODELS, *OTHERS, "fits"}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_as_when_it_was_written(name, tmp_path):
    is_regression = json.loads((FILES / f"{name}.json").read_text()).get("task") == "regression"
    totals = pytest.warns(UserWarning, match="add up to too little")
    with totals if is_regression else nullcontext():
        model = load_model(FILES / f"{name}.json")
    expected = _expected(name)
    found = predictions(model, asked(name))
    assert found.keys() == expected.keys()
    for kind, values in expected.items():
        if isinstance(values[0], str):
            assert found[kind] == values
        else:
            np.testing.assert_allclose(found[kind], values, **CLOSE)
    model.explain_global().visualize(0)
    model.explain_local(asked(name)).visualize(0)
    model.save(tmp_path / "again.json")
    with totals if is_regression else nullcontext():
        again = load_model(tmp_path / "again.json")
    assert again.to_released().to_dict() == model.to_released().to_dict()


@pytest.mark.parametrize(
    ("name", "base"), [("session", "classification"), ("session_pair", "pairs")]
)
def test_a_session_is_replayed_to_the_same_scores(name, base):
    model = load_model(FILES / f"{base}.json")
    session = EditSession.load(FILES / f"{name}.json", model)
    expected = _expected(name)
    assert len(session.history) == expected["records"]
    for found, scores in zip(session.model.term_scores_, expected["scores"], strict=True):
        np.testing.assert_allclose(found, scores, **CLOSE)
    # Another processor rounds the zeros of a removed effect otherwise.
    document = session.to_dict()
    removal = next(edit for edit in document["edits"] if edit["kind"] == "remove_effect")
    removal["moved"] = [removal["moved"][0] + 1e-17]
    EditSession.from_dict(document, model)


@pytest.mark.parametrize("name", ["schema_full", "schema_default"])
def test_a_schema_reads_as_it_was_declared(name):
    assert Schema.load(FILES / f"{name}.json") == schemas()[name]


def test_a_background_draws_the_same_rows():
    background = PrivateBackground.load(FILES / "background.json")
    drawn, expected = background.sample(6, 0), pd.DataFrame(_expected("background"))
    pd.testing.assert_frame_equal(drawn, expected, check_dtype=False, rtol=1e-9)


def _opened(name, folder):
    """Return a ledger of the files, and what it said of itself."""
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        connection.executescript((FILES / f"{name}.sql").read_text(encoding="utf-8"))
    expected = json.loads((FILES / f"{name}.export.json").read_text(encoding="utf-8"))
    return PrivacyLedger(f"sqlite:///{folder / 'ledger.db'}"), expected


def test_a_ledger_verifies_and_says_what_it_said(tmp_path):
    ledger, expected = _opened("ledger", tmp_path)
    assert ledger.verify(expected["head"]) == ledger.head
    (data_set,) = expected["datasets"]
    spent = ledger.spent("cohort")
    assert (spent.mu, spent.delta) == (data_set["spent"]["mu"], data_set["spent"]["delta"])
    assert (spent.n_requests, spent.open_reservations) == (2, 0)
    budget = ledger.budget("cohort")
    assert budget is not None
    assert (budget.epsilon, budget.delta, budget.purpose) == (4.0, 2e-5, "board, 3 May")


def test_what_a_private_search_was_charged_and_promised_is_read_as_before(tmp_path):
    """What DPRandomizedSearch left in files of version 0.1 counts, and is shown, without it."""
    ledger, expected = _opened("ledger_search", tmp_path)
    (data_set,) = expected["datasets"]
    spent = ledger.spent("cohort")
    assert (spent.mu, spent.delta) == (data_set["spent"]["mu"], data_set["spent"]["delta"])
    assert ledger.report("cohort")["state"].tolist() == ["committed"] * 2
    model = load_model(FILES / "search.json")
    promise = model.guarantee_
    assert ledger.verify(promise.ledger_head) == expected["head"]
    assert (promise.epsilon, promise.delta) == (12.0, 1e-6)
    assert "the best of a random number of fits (truncated negative binomial" in promise.mechanism
    assert "how long the search took are not published" in model._repr_html_()
    fit, search = (entry for entry in ledger.entries("cohort") if entry["kind"] == "reserve")
    assert search["event"]["event"]["kind"] == "private_selection"
    assert search["mu"] == pytest.approx(promise.mu, rel=1e-9)
    both = compose([reduce_event(fit["event"]), GdpPair(search["mu"])])
    assert both.mu == pytest.approx(spent.mu, rel=1e-9)
    assert both.epsilon_at(1e-5) == pytest.approx(data_set["spent"]["epsilon"], rel=1e-9)


# ------------------------------------------------------------------------------------------- fits


STORED = json.loads(NUMBERS.read_text(encoding="utf-8"))


def _flat(value):
    if isinstance(value, dict):
        return [number for key in value for number in _flat(value[key])]
    if isinstance(value, list):
        return [number for item in value for number in _flat(item)]
    return [value]


@pytest.mark.parametrize("name", STORED)
def test_a_fit_with_frozen_noise_releases_the_stored_numbers(name):
    found = cases()[name]()
    assert found.keys() == STORED[name].keys()
    for part, expected in STORED[name].items():
        given, stored = np.array(_flat(found[part])), np.array(_flat(expected))
        if part == "deviations":
            # Bins with too few rows had no deviation when these were stored.
            given, stored = given[stored > 1e-9], stored[stored > 1e-9]
        # Scores are near 1; with next to no noise, processors differ by 1e-8. That may take one row
        # of 800 to the next entry of the table of exponentials, 1/256 away.
        atol = 1e-5 if (name, part) == ("poisson", "intercept") else 1e-7
        np.testing.assert_allclose(given, stored, rtol=1e-6, atol=atol, err_msg=part)


@pytest.mark.parametrize(
    ("changes", "is_void"),
    [({}, True), ({"projection_dim": 32_767}, False), ({"centring": 0.0}, False)],
)
def test_maps_whose_centre_overflowed_say_so_when_they_are_loaded(changes, is_void, tmp_path):
    """Of an older version, which did not write its number; the next file says so too."""
    document = json.loads((FILES / "maps_table.json").read_text(encoding="utf-8"))
    del document["sha256"]
    document["settings"] |= {"projection_dim": 32_768, "centring": 0.01} | changes
    document["guarantee"]["tests_only"] = False
    (tmp_path / "old.json").write_text(json.dumps(document), encoding="utf-8")
    expected = pytest.warns(PrivacyWarning, match="does not hold.*Withdraw this model")
    with expected if is_void else nullcontext():
        model = load_model(tmp_path / "old.json")
    assert model.guarantee_.state == ("does not hold" if is_void else "holds")
    if is_void:
        model.save(tmp_path / "again.json")
        with pytest.warns(PrivacyWarning):
            again = load_model(tmp_path / "again.json")
        assert again.guarantee_.failures == model.guarantee_.failures
    document["guarantee"]["package_version"] = "0.2.0.dev1"
    (tmp_path / "new.json").write_text(json.dumps(document), encoding="utf-8")
    new = load_model(tmp_path / "new.json")
    assert new.guarantee_.state == "holds"


def test_a_file_that_lost_its_link_is_refused():
    """Read with the other link, its scores would be other predictions."""
    document = json.loads((FILES / "poisson.json").read_text(encoding="utf-8"))
    for key in ("link", "sha256"):
        document.pop(key, None)
    with pytest.raises(ValueError, match="pairs or a log link"):
        AdditiveModel.from_dict(document)
    with pytest.raises(ValueError, match="link is 'logs'"):
        AdditiveModel.from_dict(document | {"link": "logs"})
