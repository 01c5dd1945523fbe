"""Attacks on DP-LLM that worked once, or nearly: each must find nothing any more."""

import json
import pickle

import numpy as np
import pytest

from interpret_dp import PrivacyLedger
from interpret_dp.accounting import GdpPair, compose
from interpret_dp.audit import replay
from interpret_dp.llm import training
from interpret_dp.llm.config import TrainingRows
from interpret_dp.llm.training import ClosedForm
from tests.llm.tables import Stopped, classifier, three_classes

CLIP_NORM = 0.5
ENGINES = ["closed_form", "opacus"]


def made(engine, inputs, classes, weights, temperature=1.0):
    """Return an engine on rows, without projections."""
    rows = TrainingRows(inputs.astype(np.float32), classes)
    if engine == "closed_form":
        return ClosedForm(rows, None, temperature, CLIP_NORM)
    pytest.importorskip("torch")
    from interpret_dp.llm.opacus_engine import OpacusSums

    n_parameters = weights.size + weights.shape[0] * weights.shape[1]
    return OpacusSums(rows, None, temperature, CLIP_NORM, n_parameters=n_parameters)


def ratio(sums, weights, table, neighbour):
    """Return how far the integers that are released move, over the declared sensitivity."""
    biases = np.zeros(weights.shape[:2], dtype=np.float32)
    moved = sums.lattice_sum(weights, biases, table) - sums.lattice_sum(weights, biases, neighbour)
    return float(np.linalg.norm(moved.astype(float))) / sums.row_norm


def test_control_single_precision_loses_the_room_among_like_rows():
    step = np.float32(0.49995 / np.sqrt(14))
    sums = np.cumsum(np.full(16_385, step, dtype=np.float32), dtype=np.float32)
    assert abs(float(sums[-1]) - float(sums[-2]) - float(step)) > 5e-5 * step


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kinds", "seed"), [(1, 8), (2, 5), (256, 3)])
def test_like_rows_by_the_thousand_give_one_more_no_more_than_its_share(engine, kinds, seed):
    """Ordinary sums in single precision gave one row up to 1.009 of what is declared."""
    rng = np.random.default_rng(seed)
    n_rows = 16_384
    drawn = rng.uniform(-2.5, 2.5, size=(kinds, 1)) * np.ones(14)
    inputs = np.tile(drawn, (n_rows // kinds + 1, 1))[: n_rows + 1]
    weights = rng.uniform(-0.2, 0.2, size=(1, 2, 14)).astype(np.float32)
    sums = made(engine, inputs, np.zeros(n_rows + 1, dtype=int), weights)
    everybody = np.arange(n_rows + 1)
    for others in (everybody[1:], everybody[:-1]):
        assert 0.1 < ratio(sums, weights, everybody, others) <= 1.0


def test_rows_that_nearest_integers_would_make_too_long_are_truncated():
    """At the clipping bound itself, nearest integers are too long for about half of all rows."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(400, 40)) * 20
    weights = rng.normal(size=(5, 4, 40)).astype(np.float32) * np.float32(0.02)
    biases, classes = np.zeros((5, 4), dtype=np.float32), rng.integers(0, 4, 400)

    def norms(surely):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("interpret_dp.llm.config.CLIP_SHARE", 1.0)
            patch.setattr("interpret_dp.llm.training._SURELY", surely)
            sums = made("closed_form", inputs, classes, weights)
            alone = [sums.lattice_sum(weights, biases, np.array([row])) for row in range(400)]
        return np.array([np.linalg.norm(one.astype(float)) for one in alone]) / sums.row_norm

    checked, nearest = norms(1 - 2.0**-30), norms(2.0)
    assert checked.max() <= 1.0
    assert 0.2 < (nearest > 1.0).mean() < 0.8
    assert (checked[nearest > 1.0] > 0.99).all()


def test_rows_whose_gradients_leave_single_precision_add_no_more_by_opacus():
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(4, 2, 14)) * 1e35).astype(np.float32)
    inputs = rng.normal(size=(5, 14))
    inputs[2] *= 1e3
    sums = made("opacus", inputs, np.zeros(5, dtype=int), weights)
    assert ratio(sums, weights, np.arange(5), np.array([0, 1, 3, 4])) <= 1.0


def test_an_empty_table_is_fitted_by_opacus_as_one_of_a_single_row_is():
    """Opacus wants a loader, which failed without rows: whoever saw it knew that none was there."""

    def fit(table):
        return classifier(engine="opacus", sampling_rate=1.0).fit(*table)

    pytest.importorskip("torch")
    empty = (np.empty((0, 4)), np.empty(0, dtype=object))
    single = (np.ones((1, 4)), np.array(["low"], dtype=object))
    report = replay(fit, empty, single, published=lambda model: {"weights": model.model_.weights})
    assert report.ok
    assert 0.01 < report.worst_ratio <= 1.0


@pytest.mark.thorough
def test_mixed_precision_around_the_fit_does_not_reach_it():
    """Lengths in 16 bits clipped rows to up to 1.06 of what is declared."""
    torch = pytest.importorskip("torch")
    X, y = three_classes(400)

    def fit(table):
        return classifier(projection_dim=3, sampling_rate=0.5, engine="opacus").fit(*table)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        report = replay(
            fit,
            (X, y),
            (np.vstack([X, [3.0, 3.0, 3.0, -3.0]]), np.append(y, "low")),
            published=lambda model: {"weights": model.model_.weights},
        )
    assert report.ok
    assert 0.01 < report.worst_ratio <= 1.0


# Charges


@pytest.mark.thorough
@pytest.mark.parametrize("keep", [True, False])
def test_a_stop_before_the_first_step_charges_no_gaussian_and_bills_none(keep, monkeypatch):
    monkeypatch.setattr(training, "progress", Stopped(0))
    ledger = PrivacyLedger.in_memory()
    model = classifier(ledger=ledger, dataset="d", keep_on_interrupt=keep, centring=0.0)
    if keep:
        assert model.fit(*three_classes(100)).guarantee_.releases == ()
    else:
        with pytest.raises(KeyboardInterrupt):
            model.fit(*three_classes(100))
    assert ledger.spent("d").mu == 0.0


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*not declared")
def test_undeclared_labels_and_bounds_are_in_the_ledger_with_their_deltas():
    ledger = PrivacyLedger.in_memory()
    model = classifier(schema=None, ledger=ledger, dataset="d").fit(*three_classes(3_000))
    billed = compose(GdpPair(share.mu, share.delta) for share in model.guarantee_.releases)
    labels = next(share for share in model.guarantee_.releases if share.name == "labels")
    assert labels.delta > 0
    assert ledger.spent("d").mu == pytest.approx(billed.mu, rel=1e-9)
    assert ledger.spent("d").delta == pytest.approx(billed.delta, rel=1e-9)
    assert billed.epsilon_at(1e-5) <= 4.0


# What is kept, and files


def test_nothing_of_a_row_is_kept_in_pickle_or_file(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "progress", Stopped(2))
    X, y = three_classes(307)
    planted = np.array([1.2345678912345, -2.7182818284, 0.57721566490153, 2.99412345])
    X[17] = planted
    model = classifier(keep_on_interrupt=True).fit(X, y)
    pickled = pickle.dumps(model)
    encoded = model._inputs(X[17:18])[0]
    for number in (*planted, *planted.astype(np.float32), *encoded, *encoded.astype(np.float64)):
        assert number.tobytes() not in pickled
    path = tmp_path / "model.json"
    model.save(path)
    text = path.read_text()
    assert not any(repr(float(number))[:9] in text for number in planted)
    assert "307" not in json.dumps(json.loads(text)["guarantee"])
