"""Survival: hazards and curves that are right, times at the borders, refusals, texts and files."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import interpret_dp as dp
from interpret_dp.backends import survival
from interpret_dp.ebm import training
from interpret_dp.ebm.outcomes import ranks_of
from interpret_dp.ebm.survival import Baseline
from interpret_dp.ebm.trainer import boosting
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.released.survival import concordance
from interpret_dp.schema.encode import CELLS, encode_times

LATEST = 10.0
FEATURES = {"age": dp.Continuous(0, 1), "drug": dp.Categorical(["a", "b"])}
SCHEMA = dp.Schema(FEATURES, target=dp.Continuous(-LATEST, LATEST))


def patients(n_rows, *, effect=1.0, shape=1.0, scale=1.0, seed=0):
    """Return rows, signed times and true log hazards; Weibull hazards, a third are censored."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(0, 1, n_rows), "drug": rng.choice(["a", "b"], n_rows)})
    log_hazard = effect * (3.0 * (X["age"] - 0.5) + 0.8 * (X["drug"] == "b") - 0.4).to_numpy()
    time = LATEST * (rng.exponential(1, n_rows) / np.exp(log_hazard) / scale) ** (1 / shape)
    end = np.minimum(rng.uniform(0.2, 1.5, n_rows), 1.0) * LATEST
    return X, np.where(time <= end, time, -end), log_hazard


def fitted(X, y, *, seed=1, **given):
    given = {"epsilon": 4.0, "delta": 1e-6, "schema": SCHEMA, "n_jobs": 1, **given}
    with use_randomness(SeededRandomness(seed)):
        return dp.DPExplainableBoostingRegressor(objective="survival_cox", **given).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted(*patients(20_000)[:2])


def expected_events(model, X, y):
    places = np.sqrt(np.abs(y) / LATEST), np.linspace(0, 1, CELLS + 1)
    return (np.interp(*places, model.released_.baseline[0]) * model.predict(X)).sum()


def slope(model, X, log_hazard):
    return np.polyfit(log_hazard, np.log(model.predict(X)), 1)[0]


@pytest.mark.parametrize(("shape", "scale"), [(0.5, 0.2), (1.0, 1.0), (2.0, 0.4)])
def test_hazards_survival_and_totals_are_the_true_ones(shape, scale):
    """Four standard deviations over seeds are 0.10 of the slope, 0.03 of a probability, 3 %."""
    X, y, log_hazard = patients(20_000, shape=shape, scale=scale)
    model = fitted(X, y)
    assert slope(model, X, log_hazard) == pytest.approx(1.0, abs=0.16)
    times = LATEST * np.array([0.1, 0.3, 0.6, 0.9])
    hazard = scale * (times / LATEST) ** shape
    truth = np.exp(-hazard * np.exp(log_hazard)[:, np.newaxis]).mean(axis=0)
    curves = model.predict_survival(X, times)
    assert curves.survival.mean(axis=0) == pytest.approx(truth, abs=0.03)
    assert expected_events(model, X, y) == pytest.approx((y > 0).sum(), rel=0.03)
    assert model.total_error_ < 0.02


def test_a_baseline_of_all_rows_alone_would_flatten_hazards(monkeypatch):
    """Those at high risk leave: without sums of rows at risk the slope is 0.77, with them 0.96."""
    X, y, log_hazard = patients(20_000, effect=1.6, scale=2.0)
    assert slope(fitted(X, y), X, log_hazard) > 0.92
    for module in (boosting, training):
        monkeypatch.setattr(module, "release_risk", lambda _rows, start, *_, **__: start)
    assert slope(fitted(X, y), X, log_hazard) < 0.82


def test_curves_fall_from_one_within_their_bands(model):
    X, _, _ = patients(50, seed=3)
    curves = model.predict_survival(X)
    assert curves.times[[0, -1]].tolist() == [0.0, LATEST]
    assert (curves.survival[:, 0] == 1.0).all()
    assert (np.diff(curves.survival, axis=1) <= 0.0).all()
    assert (curves.lower <= curves.survival).all()
    assert (curves.survival <= curves.upper).all()
    narrow = model.predict_survival(X, confidence=0.5)
    assert (narrow.upper - narrow.lower <= curves.upper - curves.lower).all()
    at = model.predict_survival(X, [2.5, 5.0])
    expected = np.exp(np.log(at.survival[0]) / model.predict(X)[0] * model.predict(X)[1])
    assert at.survival[1] == pytest.approx(expected)
    for times in ([-1.0], [LATEST + 1e-9], [np.nan]):
        with pytest.raises(ValueError, match="numbers from 0 to 10, the declared end"):
            model.predict_survival(X, times)


def test_times_at_the_borders():
    y = [0.0, -0.0, 10.0, -10.0, 10.5, -99.0, np.inf, -np.inf, np.nan, 2.5]
    events, places = encode_times(np.array(y), LATEST)
    assert events[:8].tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    assert np.isnan(events[8])
    assert places[[0, 2, 4, 6, 9]].tolist() == [0, 4095, 4095, 4095, 2048]


@pytest.mark.parametrize("counts", [np.zeros((2, CELLS)), -np.ones((2, CELLS)), np.eye(2, CELLS)])
def test_a_baseline_of_noise_rises_from_zero(counts):
    baseline = Baseline.of(counts, 30.0)
    assert baseline.cumulative[0] == 0.0
    assert baseline.cumulative[-1] > 0.0
    assert (np.diff(baseline.cumulative) >= 0.0).all()
    assert np.isfinite(baseline.deviations(0.1)).all()
    assert baseline.shares.min() >= 1


@pytest.mark.parametrize(("n_rows", "noise", "error"), [(1e6, 1.0, 0.001), (500, 60.0, 0.4)])
def test_a_baseline_is_right_of_rows_at_risk_up_to_the_end(n_rows, noise, error):
    """Most are censored there. Where noise hides rows at risk, hazards are those of all rows."""
    hazards = 0.5 * np.linspace(0.0, 1.0, CELLS + 1) ** 2
    counts = n_rows * np.stack([-np.diff(np.exp(-hazards)), np.exp(-0.5) * np.eye(CELLS)[-1]])
    tables = counts + noise * np.random.default_rng(0).standard_normal((50, *counts.shape))
    curves = [np.exp(-Baseline.of(table, noise).cumulative) for table in tables]
    assert np.abs(curves - np.exp(-hazards)).max(axis=1).mean() < error


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 3)), min_size=1, max_size=12))
def test_concordance_counts_pairs(rows):
    signed, ratios = np.array(rows, dtype=float).T
    right = pairs = 0.0
    for i, first in enumerate(signed):
        for j, second in enumerate(signed):
            is_later = abs(second) > abs(first) or (abs(second) == abs(first) and second < 0)
            if first >= 0 and is_later:
                pairs += 1
                right += (ratios[i] > ratios[j]) + (ratios[i] == ratios[j]) / 2
    expected = right / pairs if pairs else np.nan
    assert concordance(signed, ratios) == pytest.approx(expected, nan_ok=True)


def test_a_score_takes_targets_as_fit_does(model):
    X, y, _ = patients(300, seed=4)
    for target in (pd.Series(y, index=np.arange(300)[::-1]), list(y), y.astype(object)):
        assert model.score(X, target) == model.score(X, y)
    with pytest.raises(ValueError, match="same number of rows"):
        model.score(X, y[:9])


def test_copies_that_are_made_while_rows_follow_come_to_the_same_scores(monkeypatch):
    """Dask copies parts at any time; that a later baseline was half taken must not matter."""
    places, shares = np.arange(9, dtype=np.uint16) * 400, np.full(4096, 1000, dtype=np.int32)
    given = {"places": places, "shares": shares, "lower": 0.0, "upper": 1.0, "clip": 1.0}
    rows = survival.LocalSurvivalRows(np.zeros((1, 9), np.uint8), np.ones(9), n_threads=1, **given)
    zero, hazards, copies = np.zeros(1, np.int64), np.arange(4096), []
    rows.begin(zero)

    def one_by_one(n_rows):
        for row in range(n_rows):
            copies.append(pickle.dumps(rows))
            yield slice(row, row + 1)

    monkeypatch.setattr(survival, "chunks", one_by_one)
    rows.follow(hazards)
    for copy in map(pickle.loads, copies.copy()):
        copy.begin(zero)
        copy.follow(hazards)
        assert (vars(copy)["_scores"] == vars(rows)["_scores"]).all()


def test_a_file_holds_the_baseline(model, tmp_path):
    X, y, _ = patients(200, seed=5)
    model.save(tmp_path / "model.json")
    loaded = dp.load_model(tmp_path / "model.json")
    assert loaded.predict_survival(X).upper == pytest.approx(model.predict_survival(X).upper)
    assert loaded.score(X, y) == model.score(X, y)
    document = model.released_.to_dict()
    for bad in ([[0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]], [[0.0, 2.0, 1.0]] * 2):
        with pytest.raises(ValueError, match="baseline"):
            type(model.released_).from_dict({**document, "baseline": bad, "seal": ""})


def test_texts_speak_of_hazards(model):
    X, y, _ = patients(400, seed=5)
    text = str(model.summary())
    assert "Hazard ratios of about 20," in text
    assert "Expected numbers of events are right to within" in text
    assert "The hazard ratio of events up to time 10" in model.card(even_if_void=True).to_markdown()
    assert "Predictions are hazard ratios." in model.to_sql()
    assert model.to_interpret().predict(X) == pytest.approx(model.predict(X))
    assert model.rating_table()["relativity"][0] == 1.0
    explanation = model.explain_global()
    for key, n_curves in ((0, 5), (1, 2)):
        figure = explanation.draw("survival", key)
        assert sum(trace.mode == "lines" for trace in figure.data) == n_curves
        assert figure.layout.showlegend
    session = model.edit(autosave=False)
    session.use_public_rows(X, y, public=True)
    assert session.metrics().loc["current", "concordance"] == model.score(X, y)


def test_private_metrics_rank_and_count_events(model):
    """Of 20,000 rows noise and cells move concordance by 0.01, totals by 3 %, each at most."""
    X, y, _ = patients(20_000, seed=9)
    found = dp.private_metrics({"m": model}, X, y, epsilon=4.0, delta=1e-6, by="drug")
    table = found.table.loc["m"]
    assert table["concordance"] == pytest.approx(model.score(X, y), abs=0.015)
    assert table["event_share"] == pytest.approx((y > 0).mean(), abs=0.01)
    assert table["predicted_over_observed"] == pytest.approx(1.0, abs=0.05)
    lines = found.calibration
    assert lines["observed"].is_monotonic_increasing
    assert (lines["predicted"] - lines["observed"]).abs().max() < 0.12
    # Sums alone: an exponential of floats may round differently beside other rows.
    ranks = ranks_of(model, SimpleNamespace(table=X), y)
    assert np.array_equal(ranks, model.predict_with_uncertainty(X)[:, 0])
    groups = found.by_group.set_index("group")
    for drug in "ab":
        share = (y[X["drug"] == drug] > 0).mean()
        assert groups.loc[drug, "event_share"] == pytest.approx(share, abs=0.02)


def test_what_does_not_suit_is_refused_before_a_charge():
    X, y, _ = patients(100)
    ledger = dp.PrivacyLedger.in_memory()
    account = {"ledger": ledger, "dataset": "d"}
    for target in (None, dp.Continuous(-5, 10), dp.Continuous(1, 10)):
        with pytest.raises(dp.SchemaError, match="minus the latest time and that"):
            fitted(X, y, schema=dp.Schema(FEATURES, target=target), **account)
    for more in ({"exposure": np.ones(100)}, {"init_score": np.ones(100)}):
        estimator = dp.DPExplainableBoostingRegressor(
            objective="survival_cox", schema=SCHEMA, **account
        )
        with pytest.raises(ValueError, match="the time of each row is its exposure"):
            estimator.fit(X, y, **more)
    with pytest.raises(dp.SchemaError, match="needs times"):
        fitted(X, y > 0, **account)
    assert not ledger.entries()
    as_counts = dp.DPExplainableBoostingRegressor(schema=SCHEMA, max_rounds=1).fit(X, y)
    with pytest.raises(ValueError, match="has no times"):
        as_counts.predict_survival(X)
    with pytest.raises(ValueError, match="has no times"):
        as_counts.explain_global().draw("survival", 0)
    short = dp.Schema(FEATURES, target=dp.Continuous(0, 10))
    X, y, _ = patients(4_000)
    assert fitted(X, y, schema=short, max_rounds=1).schema_.target == dp.Continuous(-10, 10)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(365.0, "number of events is no more than noise"), (1e-5, "Most times are")],
)
def test_times_in_another_unit_are_said(factor, words):
    X, y, _ = patients(4_000)
    with pytest.warns(dp.DeclarationWarning, match=words):
        fitted(X, factor * y)


def test_hazard_ratios_have_no_exposure(model):
    X, y, _ = patients(100)
    for method, rows in ((model.predict, (X,)), (model.score, (X, y))):
        with pytest.raises(ValueError, match="exposure"):
            method(*rows, exposure=np.ones(100))
