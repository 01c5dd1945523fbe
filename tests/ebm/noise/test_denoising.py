"""Posterior means of released curves: on average nearer to the truth, for noise of any form."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp import Continuous, DPExplainableBoostingRegressor, PrivacyWarning, Schema
from interpret_dp.ebm.noise import boosted
from interpret_dp.ebm.noise.denoising import Curve, denoise
from interpret_dp.ebm.noise.propagation import unit_covariance
from interpret_dp.ebm.noise.sampling import (
    explained_variance,
    sampling_variances,
    with_noise_of_others,
)
from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.noise.views import _KEPT, N_LENGTHS, SCALE_PRIOR, View, _kernels
from interpret_dp.ebm.trainer.curvature import log_loss_curvatures
from interpret_dp.ebm.trainer.curves import Averaged
from interpret_dp.released.intervals import assisted_interval
from tests.ebm.noise.test_propagation import make_term

WEIGHTS = np.concatenate(([50.0], np.full(30, 100.0), [0.0]))
PLACES = np.linspace(-1.0, 1.0, 30)
SHAPES = {
    "none": np.zeros(30),
    "line": PLACES,
    "wave": np.sin(3 * PLACES),
    "step": (PLACES > 0.3).astype(float),
    "spike": (np.arange(30) == 7).astype(float),
}


def centred(curve):
    return curve - WEIGHTS @ curve / WEIGHTS.sum()


def noisy_curve(rng, shape, size, *, is_ordered=True, wide=False):
    """Return a curve with noise of deviation 1 in every bin that has rows, and the truth."""
    truth = centred(np.concatenate(([0.0], size * SHAPES[shape], [0.0])))
    truth[-1] = 0.0
    deviations = np.where(WEIGHTS > 0, 1.0, 0.0)
    if wide:
        noise = deviations**2
        scores = truth + rng.normal(size=32) * deviations
    else:
        centre = np.eye(32) - WEIGHTS / WEIGHTS.sum()
        root = centre @ np.diag(deviations)
        root[-1] = 0.0
        noise, scores = root @ root.T, truth + root @ rng.normal(size=32)
    return Curve(scores, noise, WEIGHTS, is_ordered), truth


def errors(shape, size, **how):
    """Mean squared error over the rows of 40 models with five such terms, before and after."""
    rng = np.random.default_rng(1)
    before = after = 0.0
    for _ in range(40):
        drawn = [noisy_curve(rng, shape, size, **how) for _ in range(5)]
        for (curve, truth), found in zip(drawn, denoise([c for c, _ in drawn]), strict=True):
            before += WEIGHTS @ (curve.scores - truth) ** 2
            after += WEIGHTS @ (found.scores - truth) ** 2
    return before, after


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [0.3, 2.0, 30.0])
@pytest.mark.parametrize("how", [{}, {"is_ordered": False}, {"is_ordered": False, "wide": True}])
def test_curves_come_nearer_to_the_truth(shape, size, how):
    before, after = errors(shape, size, **how)
    assert after < 1.05 * before
    dropped = 40 * 5 * WEIGHTS @ centred(np.concatenate(([0.0], size * SHAPES[shape], [0.0]))) ** 2
    if shape != "none":
        # Not much worse than to drop the term, whatever it is.
        assert after < 1.1 * dropped + 0.1 * before
    if shape == "line" and how == {} and size < 30:
        assert after < 0.4 * before


def test_noise_alone_is_dropped():
    before, after = errors("none", 1.0)
    assert after < 0.02 * before


def test_unit_of_the_scores_does_not_matter():
    curve, _ = noisy_curve(np.random.default_rng(0), "wave", 2.0)
    large = Curve(1e3 * curve.scores, 1e6 * curve.noise, WEIGHTS, True)
    one, other = denoise([curve])[0], denoise([large])[0]
    np.testing.assert_allclose(1e3 * one.scores, other.scores, rtol=1e-6, atol=1e-6)


def test_what_nobody_has_stays_and_the_mean_over_the_rows_too():
    curve, _ = noisy_curve(np.random.default_rng(0), "wave", 2.0)
    found = denoise([curve])[0].scores
    assert found[-1] == 0.0
    assert abs(WEIGHTS @ found) < 1e-3


def test_a_curve_without_noise_and_no_curve_at_all_stay_as_they_are():
    quiet = Curve(np.arange(32.0), np.zeros((32, 32)), WEIGHTS, True)
    np.testing.assert_array_equal(denoise([quiet])[0].scores, quiet.scores)
    assert denoise([]) == []


@pytest.mark.parametrize("ahead", [0.0, 2.0])
def test_response_is_what_boosting_makes_of_a_curve(ahead):
    """Noise-free rounds by hand against the recorded map."""
    updates, weights, curvature = make_term(20, True, 12)
    stiffness = weights * curvature
    response = unit_covariance(updates, weights, stiffness, Averaged(6, ahead))[1]
    target = np.sin(np.arange(20.0))
    from interpret_dp.ebm.trainer.partitions import centred_change

    curve, average = np.zeros((20, 1)), np.zeros((20, 1))
    for number, update in enumerate(updates):
        residuals = stiffness[:, np.newaxis] * (target[:, np.newaxis] - curve)
        sums = np.zeros((update.partition.n_leaves, 1))
        np.add.at(sums, update.partition.leaf, residuals)
        change = centred_change(update, weights, sums)
        curve = curve + change
        average += (curve + ahead * change) / 6 if number >= 6 else 0.0
    np.testing.assert_allclose(response @ target, average[:, 0], rtol=1e-8, atol=1e-10)


def test_curvature_of_the_log_loss():
    weights = [np.array([1.0, 2.0, 1.0])]
    flat = log_loss_curvatures([np.zeros((3, 1))], np.array([-5.0]), weights)
    share = 1 / (1 + np.exp(5.0))
    np.testing.assert_allclose(flat[0], share * (1 - share))
    bent = log_loss_curvatures([np.array([[0.0], [5.0], [0.0]])], np.array([-5.0]), weights)
    assert bent[0][1] == pytest.approx(0.25)
    # What other terms add spreads the scores: in the mean they are less rare.
    other = [*weights, weights[0]]
    spread = log_loss_curvatures(
        [np.zeros((3, 1)), np.array([[2.0], [-2.0], [2.0]])], np.array([-5.0]), other
    )
    assert (spread[0] > flat[0]).all()
    several = log_loss_curvatures([np.zeros((3, 3))], np.zeros(3), weights)
    np.testing.assert_allclose(several[0], 2 / 9, rtol=1e-6)


def test_moments_are_those_of_normal_variables():
    """One length and scale against conditioning by hand."""
    rng = np.random.default_rng(4)
    curve, _ = noisy_curve(rng, "wave", 2.0)
    blur = np.eye(32) + 0.02 * rng.normal(size=(32, 32))
    curve = replace(curve, sampling=rng.uniform(0.5, 2.0, 32), response=blur)
    view = View(curve, 1.0)
    inner = view.moved
    noise = curve.noise[np.ix_(inner, inner)]
    noise = noise + 1e-8 * np.trace(noise) / len(noise) * np.eye(len(noise))
    part = blur[np.ix_(inner, inner)]
    luck = part @ np.diag(curve.sampling[inner]) @ part.T
    likely = np.zeros((N_LENGTHS, len(SCALE_PRIOR)))
    likely[1, 9] = 1.0
    kept = _KEPT[9]
    prior = kept / (1.0 - kept) * _kernels(curve, inner)[1] + luck
    gain = prior @ np.linalg.inv(prior + noise)
    mean, covariance = view.moments(likely)
    np.testing.assert_allclose(mean, gain @ curve.scores[inner], atol=1e-6)
    np.testing.assert_allclose(covariance, prior - gain @ prior, atol=1e-6)
    # Of two scales: their means, and the variance between them, are added.
    likely[1, 9], likely[2, 3] = 0.25, 0.75
    one, other = np.zeros_like(likely), np.zeros_like(likely)
    one[1, 9] = other[2, 3] = 1.0
    (m, v), (n, w) = view.moments(one), view.moments(other)
    mean, covariance = view.moments(likely)
    np.testing.assert_allclose(mean, 0.25 * m + 0.75 * n, atol=1e-9)
    between = 0.25 * 0.75 * np.outer(m - n, m - n)
    np.testing.assert_allclose(covariance, 0.25 * v + 0.75 * w + between, atol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", ["none", "wave", "step"])
def test_bands_hold_each_bin_of_a_curve_with_luck_in_it(shape, wide):
    """100 models of five terms. Bands: each bin has a standard error of 2.1 points at 68 %.

    The root of the expected square is right on average alone, and much less so bin by bin.
    """
    rng = np.random.default_rng(2)
    own_luck = np.where(WEIGHTS > 0, 0.4, 0.0)
    # Curves are centred, and with them their luck.
    blur = np.eye(32) if wide else np.eye(32) - WEIGHTS / WEIGHTS.sum()
    held, near = [], []
    for _ in range(100):
        drawn = []
        for _ in range(5):
            how = {"is_ordered": not wide, "wide": wide}
            curve, truth = noisy_curve(rng, shape, 2.0, **how)
            own = blur @ (rng.normal(size=32) * np.sqrt(own_luck))
            known = {"scores": curve.scores + own, "sampling": own_luck, "response": blur}
            drawn.append((replace(curve, **known), truth + own))
        for (curve, truth), found in zip(drawn, denoise([c for c, _ in drawn]), strict=True):
            spread, noise = (
                one if wide else np.diagonal(one) for one in (found.spread, curve.noise)
            )
            sizes = np.sqrt(noise)
            bands = [
                assisted_interval(curve.scores, sizes, found.mean, spread, level)
                for level in (0.6827, 0.95)
            ]
            held.append([((b.lower <= truth) & (truth <= b.upper))[:-1] for b in bands])
            apart = np.sqrt(spread + (found.scores - found.mean) ** 2)
            near.append([(np.abs(found.scores - truth) <= z * apart)[:-1] for z in (1.0, 1.96)])
    each, average = np.mean(held, axis=0), np.mean(near, axis=(0, 2))
    assert np.abs(each[0] - 0.683).max() < 0.08
    assert np.abs(each[1] - 0.95).max() < 0.04
    assert abs(average[0] - 0.683) < 0.08
    assert abs(average[1] - 0.95) < 0.03


def test_without_what_luck_may_do_the_process_is_all_that_is_expected():
    curve, _ = noisy_curve(np.random.default_rng(0), "wave", 2.0)
    plain, known = denoise([curve])[0], denoise([replace(curve, sampling=np.ones(32))])[0]
    np.testing.assert_allclose(plain.mean, plain.scores, atol=1e-6)
    assert np.abs(known.mean - known.scores).max() > 0.1
    for found in (plain, known):
        assert found.spread.shape == (32, 32)
        assert not found.spread[-1].any()
        # The unseen bin never moves: it is known.
        assert found.mean[-1] == found.scores[-1] == curve.scores[-1]


def test_luck_is_left_out_of_what_is_released():
    """Bins of few rows follow their luck, and other rows do not: curves are nearer without it."""
    rng = np.random.default_rng(3)
    luck = np.where(WEIGHTS > 0, 1.0, 0.0)
    blind, aware = 0.0, 0.0
    for _ in range(40):
        curve, truth = noisy_curve(rng, "wave", 2.0)
        noisy = replace(curve, scores=curve.scores + centred(rng.normal(size=32) * luck))
        for known in (False, True):
            given_ = replace(noisy, sampling=luck) if known else noisy
            error = WEIGHTS @ (denoise([given_])[0].scores - truth) ** 2
            blind, aware = (blind, aware + error) if known else (blind + error, aware)
    assert aware < 0.95 * blind


def test_sampling_variance_is_that_of_a_mean_of_logits():
    """Fitted log-odds of 200 rows, 4,000 times: its variance within 12 % (five standard errors)."""
    rng = np.random.default_rng(0)
    share, rows = 0.3, 200
    means = rng.binomial(rows, share, 4_000) / rows
    observed = np.var(np.log(means / (1 - means)))
    curvature = np.full((1, 1), share * (1 - share))
    claimed = sampling_variances(np.array([rows]), curvature, 1.0)[0, 0]
    assert claimed == pytest.approx(observed, rel=0.12)
    assert sampling_variances(np.array([0.0]), curvature, 1.0)[0, 0] < 10.0
    several = sampling_variances(np.full(2, 50.0), np.full((2, 3), 0.2), 1.0)
    np.testing.assert_allclose(several, 2 / 3 / 10.0)


def test_explained_variance_leaves_the_noise_out():
    rng = np.random.default_rng(1)
    bins = SimpleNamespace(weights=np.full(4_000, 2.0))
    signal, noise = rng.normal(size=4_000), 0.5 * rng.normal(size=4_000)
    spread = TermNoise(variances=np.full(4_000, 0.25))
    found = explained_variance([signal + noise, noise], [spread, spread], [bins, bins])
    assert found == pytest.approx(float(np.var(signal)), abs=0.08)


def bins_of(weights):
    return SimpleNamespace(weights=weights, n_codes=len(weights))


@pytest.mark.parametrize("wide", [False, True])
def test_noise_of_independent_terms_reaches_a_bin_by_the_luck_of_its_rows(wide):
    """4,000 draws know each bin's variance to 2 %; by these rows it varies by a quarter."""
    rng = np.random.default_rng(0)
    n_rows, n_terms = 2_000, 6
    codes = rng.integers(0, 20, size=(n_terms, n_rows))
    weights = [np.bincount(column, minlength=20).astype(float) for column in codes]
    deviations = np.linspace(0.5, 2.0, n_terms)
    draws = rng.normal(size=(4_000, n_terms, 20)) * deviations[:, np.newaxis]
    draws -= np.einsum("dkb,kb->dk", draws, np.array(weights) / n_rows)[..., np.newaxis]
    others = sum(draws[:, k, codes[k]] for k in range(1, n_terms))
    # The first term takes away the mean of what the others have in its bins.
    heard = np.stack([others[:, codes[0] == b].mean(axis=1) for b in range(20)], axis=1)
    variances = 0.95 * deviations**2  # a twentieth is centred away
    noise = [
        TermNoise(variances=np.full(20, variance))
        if wide
        else TermNoise(covariance=variance * np.eye(20), response=np.eye(20))
        for variance in variances
    ]
    found = with_noise_of_others(noise, [bins_of(w) for w in weights])[0].diagonal - variances[0]
    ratio = heard.var(axis=0) / found
    assert ratio == pytest.approx(np.ones(20), abs=0.75)
    assert ratio.mean() == pytest.approx(1.0, abs=0.12)


def test_what_reaches_a_term_is_blurred_and_stays_within_bins_that_move():
    updates, weights, _ = make_term(12, True, 20)
    covariance, response = unit_covariance(updates, weights, weights, Averaged(10, 1.5))
    noise = TermNoise(covariance=covariance, response=response)
    classes = TermNoise(covariance=np.stack([covariance] * 3), response=np.stack([response] * 3))
    bins = bins_of(weights)
    mean = weights @ np.diagonal(covariance) / weights.sum()
    expected = covariance + (response * (2 * mean / np.maximum(weights, 1.0))) @ response.T
    for one in (noise, classes):
        found = with_noise_of_others([one] * 3, [bins] * 3)
        assert found[0].covariance == pytest.approx(np.broadcast_to(expected, one.covariance.shape))
    still = TermNoise(variances=np.array([0.0, 1.0, 0.0]))
    alone = with_noise_of_others([noise, still], [bins, bins_of(np.array([5.0, 5.0, 0.0]))])
    assert (alone[1].variances > 0).tolist() == [False, True, False]
    assert alone[1].variances[1] == pytest.approx(1.0 + mean / 5.0)
    for one in (noise, classes):
        heard, hears = with_noise_of_others([one, one], [bins, bins], dismissed=[1])
        assert heard.covariance == pytest.approx(one.covariance)
        assert np.all(hears.diagonal.sum(axis=0) > one.diagonal.sum(axis=0))


@pytest.mark.parametrize("variance", [0.0, 1e300, np.inf])
def test_noise_beyond_any_number_reaches_no_term_as_such(variance):
    noise = [TermNoise(variances=np.full(3, variance)), TermNoise(variances=np.ones(3))]
    first, second = with_noise_of_others(noise, [bins_of(np.ones(3))] * 2)
    assert first.variances.tolist() == [variance] * 3
    assert np.isfinite(second.variances).all()


@given(
    sizes=st.lists(st.tuples(st.floats(-20, 20), st.floats(-40, 40)), min_size=1, max_size=4),
    rank=st.integers(1, 32),
    is_ordered=st.booleans(),
)
def test_noise_of_any_size_gives_finite_curves_and_no_warning(sizes, rank, is_ordered):
    """Steps that are too long let noise grow from round to round, in some terms only."""
    rng = np.random.default_rng(0)
    curves = []
    for score, variance in sizes:
        root = rng.normal(size=(32, rank))
        scores = 10.0**score * rng.normal(size=32)
        noise = 10.0**variance * (root @ root.T)
        luck = np.diagonal(noise).max() * rng.uniform(0.0, 1e4, 32)
        curves.append(Curve(scores, noise, WEIGHTS, is_ordered, sampling=luck))
        curves.append(Curve(scores, np.diagonal(noise), WEIGHTS, False, sampling=luck))
    for curve, found in zip(curves, denoise(curves), strict=True):
        assert np.isfinite(found.scores).all()
        if found.spread is not None:
            assert np.isfinite(found.mean).all()
            assert np.isfinite(found.spread).all()
            spread, noise = (
                np.diagonal(one) if one.ndim == 2 else one for one in (found.spread, curve.noise)
            )
            ends = assisted_interval(curve.scores, np.sqrt(noise), found.mean, spread, 0.95)
            assert np.isfinite(ends).all()
            assert (ends.lower <= ends.upper).all()


def test_a_fit_with_next_to_no_noise_keeps_its_curves(monkeypatch):
    # Columns with correlations of 0.8: what they share is not at rest after few rounds, which the
    # model of one curve cannot know, and next to no noise can explain.
    rng = np.random.default_rng(0)
    X = np.sqrt(0.8) * rng.normal(size=(5_000, 1)) + np.sqrt(0.2) * rng.normal(size=(5_000, 6))
    truth = np.sin(2 * X[:, 0]) + X[:, 1] - np.abs(X[:, 2]) + 0.5 * X[:, 3] ** 2
    y = truth + 0.5 * rng.normal(size=5_000)
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(6)])
    schema = Schema(default=Continuous(-4, 4), target=Continuous(-6, 8))

    def error(epsilon):
        model = DPExplainableBoostingRegressor(
            epsilon=epsilon, delta=1e-6, schema=schema, random_state=0
        )
        with pytest.warns(PrivacyWarning, match="random_state"):
            model.fit(table, y)
        return float(np.sqrt(np.mean((model.predict(table) - truth) ** 2)))

    usual = error(100.0)
    assert error(1e6) < 1.1 * usual
    # Where there is noise it changes nothing.
    monkeypatch.setattr(boosted, "_FAINTEST", 1e-9)
    assert error(100.0) == usual
    # Control: taken at its word, so little noise makes them much worse.
    monkeypatch.setattr(boosted, "_FAINTEST", 0.0)
    assert error(1e6) > 1.4 * usual
