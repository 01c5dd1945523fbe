"""The noise of the sums in the averaged curve, against its propagation one unit at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp.ebm.noise import propagation
from interpret_dp.ebm.noise.propagation import TermHistory, noise_variances, unit_covariance
from interpret_dp.ebm.trainer import partitions
from interpret_dp.ebm.trainer.curves import Averaged
from tests.memory import peak_of

MANY = 65_534 + 2


def make_term(
    n_codes,
    is_ordered,
    n_rounds,
    n_leaves=6,
    *,
    count_noise=20.0,
    seed=0,
    later=1.0,
    contrasts=False,
):
    """Return updates, weights and curvatures of a term whose bins differ much in weight.

    From half of the rounds on, noise is ``later`` times as large, and steps are longer if it is.
    The intercept is shifted up to three times between updates.
    """
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.5, 500.0, n_codes)
    weights[-1] = 0.0 if is_ordered else weights[-1]
    updates = []
    for number in range(n_rounds):
        part = partitions.partition_bins(weights, is_ordered, n_leaves, number)
        gain = partitions.leaf_gains(
            np.bincount(part.leaf, weights, minlength=part.n_leaves),
            step=0.8 if number < n_rounds // 2 else 0.8 * (1.5 - 0.5 * later),
            count_noise=count_noise,
            lightest=0.0 if is_ordered else weights.sum() / n_leaves,
        )
        noise = later if number >= n_rounds // 2 else 1.0
        # Of the size that sums over all leaves have, and larger.
        size = noise * rng.uniform(0.5, 5.0) / weights.sum()
        shifts = partitions.Shifts(int(rng.integers(4)), 0.3, float(size))
        updates.append(partitions.TermUpdate(part, gain, noise, contrasts, shifts))
    return updates, weights, rng.uniform(0.05, 1.0, n_codes)


def covariance_by_units(updates, weights, curvature, averaged):
    """Follow the noise of each leaf sum, and of each shift, forwards by itself: one curve each."""
    hessian = curvature * weights
    moved = np.any([update.gain[update.partition.leaf] > 0 for update in updates], axis=0)
    bend = hessian[moved].sum() / max(weights[moved].sum(), 1e-300)
    covariance = np.zeros((len(weights), len(weights)))
    for first, noisy in enumerate(updates):
        n_leaves, n_shifts = noisy.partition.n_leaves, noisy.shifts.number
        deviation = np.zeros((len(weights), n_leaves + n_shifts))
        average = np.zeros_like(deviation)
        level = np.zeros(n_leaves + n_shifts)
        for index, update in enumerate(updates[first:], start=first):
            for number in range(update.shifts.number):
                level *= 1.0 - update.shifts.step * bend
                if index == first:
                    level[n_leaves + number] += update.shifts.noise
            sums = np.zeros((update.partition.n_leaves, n_leaves + n_shifts))
            np.add.at(sums, update.partition.leaf, -hessian[:, np.newaxis] * deviation)
            if update.by_contrasts:
                responses = np.zeros_like(sums)
                np.add.at(responses, update.partition.leaf, -hessian[:, np.newaxis] * level)
                sums += partitions.without_total(update, responses)
            if index == first:
                own = noisy.noise * np.eye(n_leaves)
                sums[:, :n_leaves] += partitions.without_total(noisy, own)
            change = partitions.centred_change(update, weights, sums)
            deviation += change
            if index >= len(updates) - averaged.rounds:
                average += (deviation + averaged.extrapolation * change) / averaged.rounds
        average -= weights @ average / weights.sum()
        covariance += average @ average.T
    return covariance


def record(updates, weights, curvature, averaged):
    return TermHistory(updates, weights, curvature * weights, averaged)


@settings(deadline=None)
@given(
    n_codes=st.integers(3, 25),
    is_ordered=st.booleans(),
    n_rounds=st.integers(1, 12),
    seed=st.integers(0, 1_000),
    later=st.sampled_from([1.0, 0.4]),
    contrasts=st.booleans(),
    rounds=st.integers(1, 12),
    ahead=st.sampled_from([0.0, 1.0, 4.0]),
    noise=st.floats(0.1, 10.0),
)
def test_covariance_and_variances_are_those_of_the_units_of_noise(
    n_codes, is_ordered, n_rounds, seed, later, contrasts, rounds, ahead, noise
):
    how = {"seed": seed, "later": later, "contrasts": contrasts}
    term = make_term(n_codes, is_ordered, n_rounds, **how)
    averaged = Averaged(min(rounds, n_rounds), ahead)
    expected = noise**2 * covariance_by_units(*term, averaged)
    # A bin that moves alone does not move at all: the two parts of its noise cancel.
    tolerance = 1e-12 * (noise * max(update.gain.max() for update in term[0])) ** 2
    square = noise**2 * unit_covariance(record(*term, averaged))[0]
    np.testing.assert_allclose(square, expected, rtol=1e-9, atol=tolerance)
    rng = np.random.default_rng(0)
    variances = noise_variances(record(*term, averaged), noise=noise, rng=rng)
    np.testing.assert_allclose(variances, np.diagonal(expected), rtol=1e-9, atol=tolerance)


def test_variances_of_many_levels_are_close_to_the_exact_ones():
    history = record(*make_term(1_100, False, 20), Averaged(10, 1.5))
    exact = 4.0 * np.diagonal(unit_covariance(history)[0])
    found = noise_variances(history, noise=2.0, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found > 0, exact > 0)
    np.testing.assert_allclose(found[exact > 0], exact[exact > 0], rtol=0.15)


def test_simulated_variances_are_close_to_the_exact_ones(monkeypatch):
    """The standard error is 3 %; 300 bins differ by 20 % with a probability below 1e-7."""
    term = make_term(300, True, 20, 40, later=0.4, contrasts=True)
    history = record(*term, Averaged(10, 1.5))
    exact = np.sqrt(noise_variances(history, noise=2.0, rng=np.random.default_rng(0)))
    monkeypatch.setattr(propagation, "_MOST_EXACT_CELLS", 100)
    found = np.sqrt(noise_variances(history, noise=2.0, rng=np.random.default_rng(0)))
    np.testing.assert_array_equal(found == 0, exact == 0)
    ratio = found[exact > 0] / exact[exact > 0]
    assert not (ratio == 1.0).any()
    assert np.abs(ratio - 1.0).max() < 0.2
    assert abs(ratio.mean() - 1.0) < 0.02


@pytest.mark.parametrize(("is_ordered", "n_leaves"), [(True, 16), (False, 16), (True, 400)])
def test_the_widest_term_needs_little_memory(is_ordered, n_leaves):
    """One matrix of all bins would take 34 GB."""
    term = make_term(MANY, is_ordered, 40 if n_leaves == 16 else 4, n_leaves)
    how = {"noise": 1.0, "rng": np.random.default_rng(0)}
    variances, peak = peak_of(lambda: noise_variances(record(*term, Averaged(2)), **how))
    assert variances.shape == (MANY,)
    assert (variances[1:-1] >= 0).all()
    assert variances.max() > 0
    assert peak < 200e6
