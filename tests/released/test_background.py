"""The released background: what counts say about shares, rows drawn from it, and its file."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import interpret_dp as dp
from interpret_dp.released.background import (
    ZERO_ENDS,
    Background,
    BackgroundColumn,
    ColumnDependence,
    SharePosterior,
)
from interpret_dp.released.terms import AdditiveFeature
from tests.released.models import damaged

PROMISE = dp.Guarantee(epsilon=1.0, delta=1e-6, mu=None, mechanism="noise", dataset="made up")


def column(spec, counts, cuts=None, noise=1.0):
    deviations = np.full(len(counts), noise)
    if cuts is not None:
        deviations[-1] = 0.0
    return BackgroundColumn(AdditiveFeature("a", spec, cuts), counts, deviations)


def background(*columns, n_rows=1000.0, dependence=None):
    schema = dp.Schema({own.feature.name: own.feature.spec for own in columns})
    return Background(schema, columns, n_rows, PROMISE, dependence)


def related(products, noise=1.0):
    """Columns of two halves with these sums over 1000 rows."""
    halves = [
        BackgroundColumn(
            AdditiveFeature(name, dp.Continuous(0, 1), [0.5]), [0, 500, 500, 0], [1, 1, 1, 0]
        )
        for name in ("a", "b", "c")
    ]
    return background(*halves, dependence=ColumnDependence((0, 1, 2), products, noise))


# ------------------------------------------------------------------------------------ shares


def test_intervals_of_draws_hold_the_true_shares():
    """Of 40 levels most are empty, as countries of birth are; 95 % intervals, 300 histograms.

    The standard error of a coverage is below 0.004, since cells of one histogram hardly depend on
    each other.
    """
    rng = np.random.default_rng(0)
    truth = np.concatenate(([9000.0, 500.0, 300.0, 100.0, 80.0, 20.0], np.zeros(34)))
    noise = np.full(len(truth), 60.0)
    held = []
    for _ in range(300):
        posterior = SharePosterior(truth + rng.normal(0.0, 60.0, len(truth)), noise, 10_000.0)
        draws = posterior.draws(rng.random((2, 400, len(truth))))
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        share = truth / 10_000.0
        held.append((low - 1e-12 <= share) & (share <= high + 1e-12))
    assert np.mean(held) >= 0.93
    assert np.mean(np.array(held)[:, 0]) >= 0.90


def test_levels_that_nobody_has_get_hardly_any_rows():
    """Negative counts set to zero would give them a third of the rows."""
    rng = np.random.default_rng(1)
    truth = np.concatenate(([1000.0], np.zeros(40)))
    noisy = truth + rng.normal(0.0, 30.0, len(truth))
    clipped = np.maximum(noisy, 0.0)
    assert 1.0 - clipped[0] / clipped.sum() > 0.25
    assert 1.0 - SharePosterior(noisy, np.full(41, 30.0), 1000.0).mean()[0] < 0.08


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8),
    st.floats(1e-3, 1e6),
    st.floats(1.0, 1e9),
)
def test_shares_of_any_counts_add_up(counts, noise, total):
    posterior = SharePosterior(np.array(counts), np.full(len(counts), noise), total)
    uniforms = np.random.default_rng(0).random((2, 5, len(counts)))
    for shares in (posterior.mean(), posterior.draws(uniforms)):
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=-1), 1.0)


# ---------------------------------------------------------------------------------------- rows


def test_rows_have_the_values_of_their_cells():
    counts = [0, 500, 300, 200, 0]
    numbers = column(dp.Continuous(-1, 9), counts, [0.0, ZERO_ENDS])
    ages = column(dp.Integer(0, 100), counts, [17.5, 64.5])
    rows = background(numbers).sample(20_000, 0)["a"]
    assert rows.between(-1, 9).all()
    # The cell between 0 and the next number holds 0 alone.
    assert (rows == 0).mean() == pytest.approx(0.3, abs=0.02)
    assert (rows < 0).mean() == pytest.approx(0.5, abs=0.02)
    rows = background(ages).sample(20_000, 0)["a"]
    assert rows.dtype == np.int64
    assert set(rows[rows < 18]) == set(range(18))
    assert set(rows[rows > 64]) == set(range(65, 101))
    assert (rows < 18).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_tail_up_to_far_bounds_keeps_its_mean(mirrored):
    # Of an exponential distribution, each cell but the last holds half of what is left.
    cuts = np.log(2.0) * np.arange(1.0, 6.0)
    counts = 1000.0 * 0.5 ** np.array([1, 2, 3, 4, 5, 5])
    if mirrored:
        cuts, counts = 100.0 - cuts[::-1], counts[::-1]
    amounts = column(dp.Continuous(0, 100), [0, *counts, 0], cuts)
    sample = background(amounts).sample(100_000, random_state=0)["a"]
    tail = sample[sample < cuts[0]] if mirrored else sample[sample >= cuts[-1]]
    expected = cuts[0] - 1.0 if mirrored else cuts[-1] + 1.0
    assert tail.mean() == pytest.approx(expected, abs=0.1)
    assert tail.between(0, 100).all()


def test_values_between_two_bounds_are_spread_evenly():
    even = column(dp.Continuous(0, 1), [0, *[100.0] * 10, 0], np.arange(1, 10) / 10)
    sample = background(even).sample(100_000, random_state=0)["a"]
    assert sample[sample < 0.1].mean() == pytest.approx(0.05, abs=0.002)
    assert sample[sample >= 0.9].mean() == pytest.approx(0.95, abs=0.002)


@pytest.mark.parametrize("levels", [["x", "y"], [1, 2], [False, True]], ids=str)
def test_levels_keep_their_type(levels):
    rows = background(column(dp.Categorical(levels), [0, 900, 100, 0])).sample(2000, 3)["a"]
    assert rows.dtype == pd.Series(levels).dtype
    assert set(rows) == set(levels)


def test_missing_cells_are_drawn_where_their_count_stands_out():
    """Many models cannot read a missing cell, and noise alone must not make one."""
    for missing, expected in ((3.9, 0.0), (100.0, 0.1)):
        own = column(dp.Categorical(["x", "y"]), [missing, 450, 450, 0])
        share = background(own).sample(5000, 0)["a"].isna().mean()
        assert share == pytest.approx(expected, abs=0.02)


def test_undeclared_cells_have_no_value_to_draw():
    rows = background(column(dp.Categorical(["x", "y"]), [0, 0, 0, 1000])).sample(500, 0)["a"]
    assert set(rows) == {"x", "y"}


@pytest.mark.parametrize("kind", [dp.Continuous, dp.Integer])
def test_a_column_of_one_declared_value_is_that_value(kind):
    assert set(background(column(kind(5, 5), [0, 1000, 0], [])).sample(9)["a"]) == {5}


def test_a_cut_beyond_the_bounds_is_of_another_column():
    with pytest.raises(ValueError, match="A cut of column 'a' is beyond its bounds"):
        column(dp.Continuous(0, 1), [0, 500, 500, 0], [1.1])


def test_a_seed_gives_the_same_rows_and_none_gives_others():
    own = background(column(dp.Continuous(0, 1), [0, 500, 500, 0], [0.5]))
    assert own.sample(9, 1).equals(own.sample(9, 1))
    assert not own.sample(9).equals(own.sample(9))
    with pytest.raises(ValueError, match=r"n_rows is 0 .*must be an integer at least 1"):
        own.sample(0)


@pytest.mark.parametrize("noise", [1e-3, 1e6], ids=["noiseless", "noise alone"])
def test_correlations_follow_from_the_halves(noise):
    """For halves of equal size by Sheppard's formula; noise alone is shrunk to nothing."""
    products = np.array([500.0, -200.0, 0.0])
    expected = np.sin(np.pi / 2 * products / 1000) if noise < 1 else np.zeros(3)
    found = related(products.tolist(), noise).correlations()
    np.testing.assert_allclose(found[np.triu_indices(3, 1)], expected, atol=2e-3)


def test_correlations_that_noise_made_impossible_are_mended():
    own = related([1300.0, 900.0, -1000.0])
    found = own.correlations()
    assert np.linalg.eigvalsh(found)[0] > 0
    np.testing.assert_allclose(np.diagonal(found), 1.0)
    assert np.isfinite(own.sample(100, 0)).all(axis=None)


# ---------------------------------------------------------------------------------------- files


def test_a_file_gives_the_same_background_back(tmp_path):
    own = related([500.0, 0.0, 100.5])
    estimator = dp.PrivateBackground.from_released(own)
    estimator.save(tmp_path / "background.json")
    again = dp.PrivateBackground.load(tmp_path / "background.json")
    assert again.background_.digest == own.digest
    assert again.background_.sample(5, 0).equals(own.sample(5, 0))
    assert again.guarantee_ == PROMISE
    with pytest.raises(ValueError, match=r"PrivateBackground\.load"):
        dp.load_model(tmp_path / "background.json")


DAMAGES = [
    (["n_rows"], 0),
    (["columns", 0, "noise", 1], -1.0),
    (["columns", 0, "cuts"], [0.7, 0.5]),
    (["columns", 0, "name"], "z"),
    (["dependence", "places"], [0, 1]),
    (["dependence", "places"], [0, 1, 3]),
    (["dependence", "noise"], 0.0),
]


@pytest.mark.parametrize(("path", "value"), DAMAGES)
def test_a_damaged_document_is_refused(path, value):
    own = related([500.0, 0.0, 100.5])
    document = damaged(own.to_dict(), path, value)
    with pytest.raises(ValueError, match=r"background"):
        Background.from_dict(document)
