"""The released model: immutable, validated, and the same after a round trip."""

import dataclasses
import json

import numpy as np
import pytest

from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm, EditRecord
from interpret_dp.released.additive_model import lookup_tables
from interpret_dp.released.sql import DIALECTS, scoring_sql
from interpret_dp.schema import Categorical, Continuous
from tests.released.models import assemble, build_model, damaged

OTHER = {"type": "continuous", "lower": 0, "upper": 1, "scale": "linear"}


@pytest.fixture
def model():
    features = (
        AdditiveFeature("age", Continuous(0, 10), np.array([5.0])),
        AdditiveFeature("sex", Categorical(["f", "m"])),
    )
    scores = [np.array([0.0, -1.0, 1.0, 0.0]), np.array([0.0, 0.5, -0.5, 0.0])]
    square = np.arange(16.0).reshape(4, 4)
    return assemble(features, scores, -1.25, ["no", "yes"], [square + square.T, None])


def test_what_bands_are_drawn_from_is_kept_beside_the_noise(model):
    noise = np.diag([0.0, 1.0, 4.0, 0.0])
    scores = model.terms[0].scores
    noisy = scores + np.array([0.0, 1.0, -1.0, 0.0])
    first = dataclasses.replace(
        model.terms[0],
        weights=np.ones(4),
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


def test_sampling_error_widens_a_band_to_both_sides(model):
    """Of light bins it is at most as of a row of the others, and of empty ones in their spread."""
    errors = np.array([9.0, 4.0, 900.0, 9.0])
    term = dataclasses.replace(
        model.terms[0],
        weights=np.array([0.0, 50.0, 3.0, 0.0]),
        covariance=np.diag([0.0, 1.0, 4.0, 0.0]),
        sampling_variances=errors,
    )
    released = dataclasses.replace(model, terms=(term, model.terms[1]), noise_scale_binning=2.0)
    again = AdditiveModel.from_dict(json.loads(json.dumps(released.to_dict()))).terms[0]
    noise, both = again.band(), again.band(sampling=True)
    np.testing.assert_array_equal(again.sampling_variances, errors)
    # The score of the second bin is -1, and its error 2: a row of that bin has a mean square of 5.
    added = 1.959964 * np.array([0.0, 2.0, np.sqrt(5.0), 0.0])
    for end, whole in zip(noise, both, strict=True):
        reach = np.abs(whole - term.scores)
        np.testing.assert_allclose(reach, np.hypot(end - term.scores, added), rtol=1e-6)
    assert again.too_few_rows.tolist() == [True, False, False, True]
    unknown = dataclasses.replace(again, sampling_variances=None)
    np.testing.assert_array_equal(unknown.band(sampling=True), noise)


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


MEAN = {"posterior_mean": np.zeros(3)}


WRONG_NOISE = [
    ({"variances": np.ones(3)}, "both covariance and variances"),
    ({"covariance": None, "variances": np.ones(2)}, r"has shape \(2,\); it must have .*\(3,\)"),
    (
        {"covariance": None, "variances": [1.0, -1.0, 0.0]},
        "variances has values out of range.*at least 0",
    ),
    ({"covariance": None, "variances": [1.0, np.nan, 0.0]}, "not finite"),
    (
        MEAN | {"posterior_covariance": np.eye(3), "posterior_variances": np.ones(3)},
        "both posterior_covariance and posterior_variances",
    ),
    (MEAN | {"posterior_covariance": np.eye(2)}, r"posterior_covariance has shape \(2, 2\)"),
    (MEAN | {"posterior_variances": [1.0, -1.0, 0.0]}, "posterior_variances has .* at least 0"),
    ({"posterior_mean": np.zeros(2)}, r"posterior_mean has shape \(2,\)"),
    (MEAN | {"noisy_scores": [0.0, np.inf, 0.0]}, "noisy_scores has values that are not fin"),
    ({"posterior_variances": np.ones(3)}, "without posterior_mean; give both"),
]


@pytest.mark.parametrize(("known", "message"), WRONG_NOISE)
def test_noise_and_what_bands_are_made_from_are_checked(known, message):
    with pytest.raises(ValueError, match=message):
        AdditiveTerm(0, np.zeros(3), np.ones(3), **({"covariance": np.eye(3)} | known))


DAMAGED_DOCUMENTS = [
    (("features", 0, "cuts"), [5.0, 5.0], "must increase"),
    (("features", 1, "cuts"), [1.0], "cannot have cuts"),
    (("correlations",), [["age", "height", 0.5]], "each must be a feature"),
    (("correlations",), [["age", "sex", 1.5]], "at most 1"),
    (("correlations",), [["age", "sex"]], "incomplete or was changed|not enough values"),
    (("schema", "features", "extra"), OTHER, "declares columns that are not among its features"),
]


@pytest.mark.parametrize(("path", "value", "message"), DAMAGED_DOCUMENTS)
def test_damaged_documents_are_refused(model, path, value, message):
    with pytest.raises(ValueError, match=message):
        AdditiveModel.from_dict(damaged(model.to_dict(), path, value))


# ---------------------------------------------------------------------------- terms of two features


def with_pair(**changes):
    base = build_model(2)
    age, job = base.features
    features = (AdditiveFeature("age", age.spec, age.cuts, np.array([20.0])), job)
    pair = AdditiveTerm(0, np.linspace(-1, 2, 16), np.arange(16.0), np.eye(16) / 9, partner=1)
    pair = dataclasses.replace(pair, **changes)
    return dataclasses.replace(base, features=features, terms=(*base.terms, pair))


def test_files_with_pairs_have_a_version_that_older_readers_refuse():
    model = with_pair()
    document = model.to_dict()
    assert document["version"] == 2
    assert build_model(2).to_dict()["version"] == 1
    again = AdditiveModel.from_dict(document)
    assert again.digest == model.digest
    assert again.terms[2].partner == 1
    assert again.features[0].pair_cuts.tolist() == [20.0]
    assert "partner" not in document["terms"][0]
    assert "pair_cuts" not in document["features"][1]


WRONG_PAIRS = [
    ({"partner": 0}, "one is given twice"),
    ({"partner": 2}, "feature 2 is not one"),
    ({"partner": -1}, "term partner is -1.*at least 0"),
    ({"scores": np.zeros(15), "weights": np.zeros(15), "covariance": None}, "has 15 scores"),
    ({"weights": -np.ones(16)}, "weights has values out of range.*at least 0"),
]


@pytest.mark.parametrize(("changes", "text"), WRONG_PAIRS)
def test_pairs_that_do_not_fit_are_refused(changes, text):
    with pytest.raises(ValueError, match=text):
        with_pair(**changes)


def test_terms_need_names_of_their_own():
    model = with_pair()
    with pytest.raises(ValueError, match="each needs its own name"):
        dataclasses.replace(model, terms=(*model.terms, model.terms[2]))


@pytest.mark.parametrize(
    ("feature", "cuts", "text"),
    [(0, [20.0, 20.0], "must increase"), (0, [np.nan], "not finite"), (1, [1.0], "cannot have")],
)
def test_cuts_of_pairs_are_checked(feature, cuts, text):
    found = build_model(2).features[feature]
    with pytest.raises(ValueError, match=text):
        AdditiveFeature(found.name, found.spec, found.cuts, cuts)


def test_tables_have_one_row_a_cell():
    table = lookup_tables(with_pair())["age & job"]
    # A continuous feature has no unseen bin.
    assert len(table) == 3 * 4
    assert table["bin_first"].tolist()[4] == "[-inf, 20)"
    assert table["level_second"].tolist()[4:8] == [None, "cook", "it's", None]
    assert table["kind_second"].tolist()[:4] == ["missing", "bin", "bin", "unseen"]
    assert table["score"].tolist() == np.linspace(-1, 2, 16)[:12].tolist()
    assert np.allclose(table["standard_deviation"], 1 / 3)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_writes_pairs(dialect):
    text = scoring_sql(with_pair(), dialect)
    # Once for the first feature, and once a bin of it for the second; and one for each curve.
    assert text.count("CASE") >= 2 + 1 + 3


# --------------------------------------------------------------------------------- records of edits


RECORD = EditRecord(
    term="age", what="made increasing", who="Ada", when="2026-01-31T12:00:00Z", why="literature"
)


WRONG_RECORDS = [
    ({"what": ""}, ValueError, "what of an edit"),
    ({"who": "  "}, ValueError, "who of an edit"),
    ({"why": None}, TypeError, "must be a text"),
    ({"term": 3}, TypeError, "must be a text"),
    ({"why": "x" * 2001}, ValueError, "at most 2000"),
    ({"when": "2026-01-31"}, ValueError, "time in UTC"),
    ({"when": "2026-01-31T12:00:00+01:00"}, ValueError, "time in UTC"),
    ({"when": "soon"}, ValueError, "time in UTC"),
]


@pytest.mark.parametrize(("changes", "error", "message"), WRONG_RECORDS)
def test_records_that_say_nothing_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        dataclasses.replace(RECORD, **changes)


@pytest.mark.parametrize("entry", [{}, [], {**RECORD.to_dict(), "row": 1}, None])
def test_damaged_records_in_a_models_file_are_refused(entry):
    document = build_model(2).to_dict() | {"edits": [entry]}
    with pytest.raises(ValueError, match=r"An edit (lacks|has unknown keys|is of type)"):
        AdditiveModel.from_dict(document)


def test_edits_must_be_records():
    with pytest.raises(TypeError, match="EditRecord"):
        dataclasses.replace(build_model(2), edits=("made increasing",))
