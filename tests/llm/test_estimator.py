"""The estimator end to end: what it learns, promises, charges, refuses and never shows."""

import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from interpret_dp import Categorical, Continuous, PrivacyLedger, PrivacyWarning, Schema
from interpret_dp.accounting import GdpPair
from interpret_dp.audit import replay
from interpret_dp.exceptions import DeclarationWarning, SchemaError
from interpret_dp.llm import training
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.llm.tables import Stopped, classifier, three_classes


def spent(ledger, dataset="d"):
    """Return the pair that a data set was charged."""
    found = ledger.spent(dataset)
    return GdpPair(found.mu, found.delta)


@pytest.mark.thorough
def test_learns_what_no_linear_map_can_and_keeps_its_promise():
    X, y = three_classes(6_000)
    model = classifier(epochs=20, epsilon=8.0).fit(X, y)
    fresh = three_classes(3_000, seed=1)
    # Without privacy, and yet one linear map a class.
    linear = LogisticRegression().fit(X, y)
    assert model.score(*fresh) > linear.score(*fresh) + 0.05
    assert model.classes_.tolist() == ["high", "low", "middle"]
    promise = model.guarantee_
    assert (promise.epsilon, promise.delta, promise.mu) == (8.0, 1e-5, None)
    assert promise.pair.epsilon_at(1e-5) <= 8.0
    assert not any("ideal arithmetic" in part for part in promise.assumptions)
    assert not any("Opacus" in clause for clause in promise.assumptions)
    other = classifier(engine="opacus", epochs=0.1).fit(X[:50], y[:50])
    assert any("sums of gradients, which Opacus" in part for part in other.guarantee_.assumptions)


@pytest.mark.thorough
@pytest.mark.parametrize(("n_rows", "n_maps"), [(None, 2), (4_999, 1), (5_000, 2)])
def test_few_declared_rows_get_one_map(n_rows, n_maps):
    X, y = three_classes(200)
    model = classifier(n_maps=None, epsilon=2.0, n_rows=n_rows).fit(X, y)
    assert model.settings_.n_maps == n_maps
    assert model.model_.biases.shape == (3, n_maps)


def test_images_and_their_pixels_are_one_and_the_same():
    rng = np.random.default_rng(0)
    images, y = rng.uniform(0, 255, size=(300, 4, 5)), rng.integers(0, 2, 300)
    schema = Schema(default=Continuous(0, 255), target=Categorical([0, 1]))
    with use_randomness(SeededRandomness(1)):
        of_images = classifier(schema=schema, projection_dim=6).fit(images, y)
    with use_randomness(SeededRandomness(1)):
        flat = images.reshape(300, 20)
        of_rows = classifier(schema=schema, projection_dim=6, image_shape=(4, 5)).fit(flat, y)
    assert of_images.image_shape_ == of_rows.image_shape_ == (4, 5)
    expected = of_images.predict_proba(images)
    assert np.array_equal(expected, of_rows.predict_proba(flat))
    with use_randomness(SeededRandomness(1)):
        tensor = torch.tensor(images, requires_grad=True)
        of_tensors = classifier(schema=schema, projection_dim=6).fit(tensor, torch.tensor(y))
    for given in (tensor, images, tensor.float().to(torch.bfloat16)):
        close = 0.05 if given is not tensor and given is not images else 0.0
        assert np.abs(of_tensors.predict_proba(given) - expected).max() <= close
        assert of_tensors.predict(given).shape == (300,)
        assert of_tensors.score(given, y) == pytest.approx(of_images.score(images, y), abs=0.05)
        shown = of_tensors.explain_local(given[:2], torch.tensor(y[:2]))
        assert shown.data(0)["perf"]["actual"] == y[0]
        assert of_tensors.explain_global(X=given).use.n_rows == 300


def test_settings_are_those_that_were_used():
    X, y = three_classes(400)
    assert classifier(sampling_rate=0.2).fit(X, y).settings_.sampling_rate == 0.2
    sized = classifier(sampling_rate=None, batch_size=40, n_rows=400).fit(X, y)
    assert sized.settings_.sampling_rate == sized.steps_.probability == 0.1


def test_labels_that_cannot_match_by_their_dtype_are_refused():
    X, y = three_classes(200)
    numbers = np.arange(200) % 3
    with pytest.raises(SchemaError, match="The target has a dtype of integers"):
        classifier().fit(X, numbers)
    model = classifier().fit(X, y)
    with pytest.raises(SchemaError, match="y has a dtype of integers"):
        model.explain_local(X, numbers)
    assert model.explain_local(X[:2], np.array([y[0], "?"], dtype=object)).data(1)


@pytest.mark.filterwarnings("error::interpret_dp.DeclarationWarning")
def test_values_that_fill_little_of_their_bounds_are_said_from_released_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, size=(20_000, 4, 4)), rng.integers(0, 2, 20_000)
    schema = Schema(default=Continuous(0, 255), target=Categorical([0, 1]))
    with pytest.warns(DeclarationWarning, match="Values fill little of their declared bounds"):
        classifier(schema=schema, epochs=0.1).fit(X, y)
    # No warning: values fill their bounds, or there are too few rows to say that they do not.
    classifier(schema=schema, epochs=0.1).fit(60 * X, y)
    classifier(schema=schema, epochs=0.1).fit(X[:100], y[:100])
    words = Schema({"word": Categorical(["a", "b"])}, target=Categorical([0, 1]))
    X = pd.DataFrame({"word": np.where(X[:, 0, 0] < 0.4, "a ", "b")})
    with pytest.warns(DeclarationWarning, match=r"'word' .*: about (39|40|41) % of the cells"):
        classifier(schema=words, epochs=0.1).fit(X, y)
    # No warning: noise shrinks the means of many levels, and long rows are shortened.
    y, X = y[:8_000], pd.DataFrame({"word": ["a", "b"] * 4_000, "age": rng.uniform(0, 1, 8_000)})
    levels = {"word": Categorical(range(700))}
    many = pd.DataFrame({"word": np.arange(8_000) % 700})
    classifier(schema=words.replace(levels), epochs=0.1).fit(many, y)
    aged = words.replace({"age": Continuous(0, 1)})
    classifier(schema=aged, epochs=0.1, standardize=(0.5, 0.01)).fit(X, y)
    with pytest.warns(DeclarationWarning, match=r"^'age' .*: nearly all cells are close to the up"):
        classifier(schema=aged, epochs=0.1).fit(X.assign(age=X["age"] + 0.98), y)


# Charges


@pytest.mark.thorough
def test_a_batch_size_buys_a_noisy_count_or_takes_a_declared_one():
    X, y = three_classes()
    paid = classifier(sampling_rate=None, batch_size=150, centring=0).fit(X, y)
    assert [share.name for share in paid.guarantee_.releases] == ["number of rows", "gradients"]
    assert 0.09 < paid.steps_.probability < 0.11
    summary = paid.summary()
    assert re.match(r"3 classes of 3 maps, about 1,[45]\d\d rows, ", summary.title)
    assert [column.inputs for column in summary.columns] == [1, 1, 1, 1]
    weights = [column.weight for column in summary.columns]
    assert min(weights[:2]) > weights[3] > 0
    declared = classifier(sampling_rate=None, batch_size=150, n_rows=3_000, centring=0, delta=1e-3)
    match = r"delta is 0\.001, above one over .* rows, 3,000\."
    with pytest.warns(PrivacyWarning, match=match) as caught:
        declared.fit(X, y)
    assert caught[0].filename == __file__
    assert [share.name for share in declared.guarantee_.releases] == ["gradients"]
    assert (declared.steps_.probability, declared.steps_.count) == (0.05, 40)
    assert any("number of rows" in clause for clause in declared.guarantee_.assumptions)


def test_an_interruption_keeps_the_weights_if_asked_and_charges_the_steps_begun(monkeypatch):
    monkeypatch.setattr(training, "progress", Stopped(5))
    ledger = PrivacyLedger.in_memory()
    given = {"dataset": "d", "keep_on_interrupt": True, "centring": 0}
    model = classifier(ledger=ledger, **given).fit(*three_classes())
    (share,) = model.guarantee_.releases
    assert share.count == 5
    assert model.steps_.count == 20
    assert spent(ledger).mu == pytest.approx(share.mu, rel=1e-9)
    monkeypatch.undo()
    whole = classifier(centring=0).fit(*three_classes()).guarantee_.releases[0]
    assert share.mu < 0.75 * whole.mu
    assert model.predict(three_classes()[0]).shape == (1_500,)


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_fit_takes_one_thread_and_gives_back_the_others(monkeypatch, is_stopped):
    """Threads that wait for each other take processor seconds from other work."""
    before, during, step = torch.get_num_threads(), [], training.Training.step

    def counted(self):
        during.append(torch.get_num_threads())
        step(self)

    monkeypatch.setattr(training.Training, "step", counted)
    if is_stopped:
        monkeypatch.setattr(training, "progress", Stopped(5))
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt) if is_stopped else nullcontext():
            classifier().fit(*three_classes())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(during) == {1}


# Nothing private on display


def test_the_progress_bar_shows_steps_and_time_alone(capsys):
    classifier(verbose=True).fit(*three_classes())
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.strip().split("\r")[-1]
    assert "20/20" in last
    assert "loss" not in last
    assert "1500" not in shown.err
    classifier().fit(*three_classes())
    assert capsys.readouterr() == ("", "")


@pytest.mark.thorough
@pytest.mark.parametrize("change", ["ordinary", "extreme", "missing"])
@pytest.mark.parametrize(("dimension", "n_releases"), [(0, 5), (3, 4)])
def test_neighbours_differ_only_where_they_are_charged(change, dimension, n_releases):
    """Frozen noise: each sum moves by at most its sensitivity, and nothing else differs.

    Without a projection the centre is released as well.
    """
    X, y = three_classes(400)
    row = {"ordinary": [0.1] * 4, "extreme": [1e300, -np.inf, 3, 3], "missing": [np.nan] * 4}
    X2, y2 = np.vstack([X, row[change]]), np.append(y, "low")

    def fit(table):
        return classifier(projection_dim=dimension, sampling_rate=0.5).fit(*table)

    def published(model):
        return {"weights": model.model_.weights, "biases": model.model_.biases}

    for table, neighbour in (((X, y), (X2, y2)), ((X2, y2), (X, y))):
        report = replay(fit, table, neighbour, published=published)
        assert not report.violations
        assert len(report.releases) == n_releases
        # Control: the added row is sampled in about half of the steps, and is seen to count.
        assert report.worst_ratio > 0.01


# What is declared, and what is not
