"""The released model: immutable, validated, and the same after a round trip."""

import copy
import dataclasses
import json

import numpy as np
import pytest

from interpret_dp.accounting import Guarantee, mu_of_budget
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.schema import Categorical, Continuous, Schema

OTHER = {"type": "continuous", "lower": 0, "upper": 1, "scale": "linear"}


@pytest.fixture
def model():
    schema = Schema(
        {"age": Continuous(0, 10), "sex": Categorical(["f", "m"])},
        target=Categorical(["no", "yes"]),
    )
    square = np.arange(16.0).reshape(4, 4)
    return AdditiveModel(
        task="classification",
        schema=schema,
        features=(
            AdditiveFeature("age", schema.features["age"], np.array([5.0])),
            AdditiveFeature("sex", schema.features["sex"]),
        ),
        terms=(
            AdditiveTerm(0, np.array([0.0, -1.0, 1.0, 0.0]), np.ones(4), square + square.T),
            AdditiveTerm(1, np.array([0.0, 0.5, -0.5, 0.0]), np.ones(4), None),
        ),
        intercept=-1.25,
        classes=("no", "yes"),
        n_rows=97.5,
        noise_scale_binning=3.0,
        noise_scale_boosting=0.25,
        rounds=40,
        guarantee=Guarantee(
            epsilon=1.0, delta=1e-5, mu=mu_of_budget(1.0, 1e-5), mechanism="discrete Gaussian"
        ),
        parameters={"epsilon": 1.0},
    )


def test_json_round_trip_is_exact(model):
    document = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    again = AdditiveModel.from_dict(document)
    assert again.to_dict() == model.to_dict()
    assert again.digest == model.digest
    np.testing.assert_array_equal(again.terms[0].covariance, model.terms[0].covariance)
    assert again.terms[1].covariance is None


def test_what_bands_are_drawn_from_is_kept_beside_the_noise(model):
    noise = np.diag([0.0, 1.0, 4.0, 0.0])
    scores = model.terms[0].scores
    noisy = scores + np.array([0.0, 1.0, -1.0, 0.0])
    first = dataclasses.replace(
        model.terms[0],
        covariance=noise,
        noisy_scores=noisy,
        posterior_mean=scores + np.array([0.0, 0.5, 0.0, 0.0]),
        posterior_covariance=noise / 4,
    )
    second = dataclasses.replace(
        model.terms[1],
        variances=np.full(4, 9.0),
        posterior_mean=model.terms[1].scores,
        posterior_variances=np.full(4, 4.0),
    )
    both = dataclasses.replace(model, terms=(first, second))
    document = json.loads(json.dumps(both.to_dict(), allow_nan=False))
    again = AdditiveModel.from_dict(document)
    for term in (both.terms[0], again.terms[0]):
        # The posterior's, and how far the scores are from its mean. The missing and the unseen bin
        # have too few rows: the root mean square of both scores and deviations.
        expected = [np.sqrt(1.75), np.sqrt(0.5), 1.0, np.sqrt(1.75)]
        np.testing.assert_allclose(term.standard_deviations, expected)
        np.testing.assert_array_equal(term.too_few_rows, [True, False, False, True])
        np.testing.assert_array_equal(term.noise_deviations, [0.0, 1.0, 2.0, 0.0])
        np.testing.assert_array_equal(term.noisy_scores, noisy)
        lower, upper = term.band()
        assert (lower[1:-1] <= noisy[1:-1]).all()
        assert (noisy[1:-1] <= upper[1:-1]).all()
        reach = 1.959964 * np.sqrt(1.75)
        np.testing.assert_allclose(lower[[0, -1]], scores[[0, -1]] - reach, rtol=1e-6)
        np.testing.assert_allclose(upper[[0, -1]], scores[[0, -1]] + reach, rtol=1e-6)
        # A score that was set by hand is known, and so is that of a bin with rows.
        for known in (
            {"scores": scores + 1.0, "noisy_scores": scores + 1.0},
            {"weights": 9 + scores},
        ):
            edited = dataclasses.replace(
                term, posterior_mean=None, posterior_covariance=None, **known
            )
            assert not edited.too_few_rows.any()
            assert edited.standard_deviations[0] == np.ptp([end[0] for end in edited.band()]) == 0
        # Judged by the noise.
        assert term.signal_to_noise == pytest.approx(np.sqrt(2.0 / 5.0))
    np.testing.assert_array_equal(again.terms[1].standard_deviations, np.full(4, 2.0))
    np.testing.assert_array_equal(again.terms[1].noise_deviations, np.full(4, 3.0))
    assert again.digest == both.digest
    # Files from before have no such keys: their bands are those of the noise.
    for entry in document["terms"]:
        for key in ("noisy_scores", "posterior_mean", "posterior_covariance"):
            entry.pop(key, None)
        entry.pop("posterior_variances", None)
    document = {key: value for key, value in document.items() if key != "digest"}
    older = AdditiveModel.from_dict(document)
    np.testing.assert_array_equal(older.terms[0].standard_deviations, [2.0, 1.0, 2.0, 2.0])
    np.testing.assert_allclose(older.terms[0].band().upper[2] - scores[2], 2 * 1.959964)
    assert "posterior_covariance" not in model.to_dict()["terms"][0]
    # Where no bin was learned, nothing says what a level could be like.
    silent = dataclasses.replace(older.terms[0], scores=np.zeros(4), covariance=np.zeros((4, 4)))
    assert np.isnan(silent.standard_deviations).all()


def test_signal_to_noise_is_a_ratio_of_root_mean_squares_over_the_rows(model):
    weights, variances = np.array([0.0, 3.0, 1.0, 0.0]), np.array([7.0, 1.0, 5.0, 7.0])
    term = AdditiveTerm(0, np.array([9.0, -2.0, 2.0, 9.0]), weights, None, variances)
    assert term.signal_to_noise == pytest.approx(np.sqrt(4.0 / 2.0))
    whole = dataclasses.replace(term, covariance=np.diag(variances) + 0.5, variances=None)
    assert whole.signal_to_noise == pytest.approx(np.sqrt(4.0 / 2.5))
    classes = AdditiveTerm(0, np.ones((3, 4)), np.ones(3), None, np.full((3, 4), 0.25))
    assert classes.signal_to_noise == pytest.approx(2.0)
    assert model.terms[1].signal_to_noise is None  # nothing is known of its noise
    assert dataclasses.replace(term, variances=np.zeros(4)).signal_to_noise is None


@pytest.mark.parametrize("rank", [1, 3, 40])
@pytest.mark.statistical
def test_noise_alone_reaches_twice_its_size_less_than_one_time_in_twenty(rank):
    """20,000 draws: a share of 4.6 % is below 5.2 % with probability 0.9999; 3 % more would not."""
    rng = np.random.default_rng(rank)
    mixed = rng.normal(size=(40, rank))
    term = AdditiveTerm(0, np.zeros(40), rng.uniform(0, 9, 40), mixed @ mixed.T)
    draws = mixed @ rng.normal(size=(rank, 20_000))
    size = np.sqrt(term.weights @ draws**2 / (term.weights @ term.standard_deviations**2))
    one = dataclasses.replace(term, scores=draws[:, 0]).signal_to_noise
    assert one == pytest.approx(size[0])
    assert np.mean(size > 2) < 0.052
    assert np.mean(size**2) == pytest.approx(1.0, abs=0.06)
    # Control: a rule at 1 would not hold.
    assert np.mean(size > 1) > 0.2


@pytest.mark.parametrize(
    ("covariance", "variances", "message"),
    [
        (np.eye(3), np.ones(3), "both covariance and variances"),
        (None, np.ones(2), r"has shape \(2,\); it must have shape \(3,\)"),
        (None, [1.0, -1.0, 0.0], "variances must not be negative"),
        (None, [1.0, np.nan, 0.0], "not finite"),
    ],
)
def test_variances_are_checked(covariance, variances, message):
    with pytest.raises(ValueError, match=message):
        AdditiveTerm(0, np.zeros(3), np.ones(3), covariance, variances)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (
            {"posterior_covariance": np.eye(3), "posterior_variances": np.ones(3)},
            "both posterior_covariance and posterior_variances",
        ),
        ({"posterior_covariance": np.eye(2)}, r"posterior_covariance has shape \(2, 2\)"),
        ({"posterior_variances": [1.0, -1.0, 0.0]}, "posterior_variances must not be negative"),
        ({"posterior_mean": np.zeros(2)}, r"posterior_mean has shape \(2,\)"),
        ({"noisy_scores": [0.0, np.inf, 0.0]}, "noisy_scores has values that are not finite"),
        ({"posterior_variances": np.ones(3)}, "without posterior_mean; give both"),
    ],
)
def test_what_bands_are_made_from_is_checked_as_noise_is(known, message):
    known = {"posterior_mean": np.zeros(3)} | known if "give both" not in message else known
    with pytest.raises(ValueError, match=message):
        AdditiveTerm(0, np.zeros(3), np.ones(3), np.eye(3), **known)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "something", "not a model file"),
        (("version",), 99, "newer interpret_dp"),
        (("intercept",), None, "intercept"),
        (("intercept",), "x", "intercept must be numbers"),
        (("terms", 0, "scores"), [0.0], "has shape"),
        (("terms", 0, "feature"), 5, "not one of the features"),
        (("terms", 0, "weights"), [-1.0, 1.0, 1.0, 1.0], "negative"),
        (("terms", 0, "covariance"), [1.0] * 9, "covariance has shape"),
        (("terms", 1, "variances"), [1.0], "variances has shape"),
        (("features", 0, "cuts"), [5.0, 5.0], "must increase"),
        (("features", 0, "cuts"), None, "must have cuts"),
        (("features", 1, "cuts"), [1.0], "cannot have cuts"),
        (("classes",), None, "has classes"),
        (("task",), "ranking", "must be 'classification'"),
        (("rounds",), 10**30, "rounds is 10"),
        (("terms",), 3, "incomplete or was changed"),
        (("terms",), [], "has no terms; it must have one at least"),
        (
            ("schema", "features", "extra"),
            OTHER,
            "declares columns that are not among its features",
        ),
    ],
)
def test_damaged_documents_are_refused(model, path, value, message):
    document = copy.deepcopy(model.to_dict())
    *parents, last = path
    place = document
    for step in parents:
        place = place[step]
    place[last] = value
    with pytest.raises(ValueError, match=message):
        AdditiveModel.from_dict(document)
