"""Partitions, and the linear map from noisy sums to a change of the curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import log_loss

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Schema,
)
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.local import LocalBinaryRows
from interpret_dp.ebm.config import BoostingSettings, TrainerConfig, Unit
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.boosting import BoostingTask, HalfWay, boost
from interpret_dp.ebm.trainer.curves import Averaged
from interpret_dp.ebm.trainer.partitions import (
    TermUpdate,
    centred_change,
    leaf_gains,
    partition_bins,
)

weights = hnp.arrays(np.float64, st.integers(3, 50), elements=st.floats(0, 1e5))


@given(
    weights=weights, ordered=st.booleans(), n_leaves=st.integers(1, 20), number=st.integers(0, 99)
)
def test_partition_covers_every_bin_once(weights, ordered, n_leaves, number):
    part = partition_bins(weights, ordered, n_leaves, number)
    assert part.leaf.shape == weights.shape
    assert set(part.leaf) == set(range(part.n_leaves))
    # Missing and unseen are leaves of their own.
    assert (part.leaf == part.leaf[0]).sum() == 1
    assert (part.leaf == part.leaf[-1]).sum() == 1
    if ordered:
        assert part.n_leaves <= min(n_leaves, len(weights) - 2) + 3
        assert (np.diff(part.leaf[1:-1].astype(int)) >= 0).all()
    else:
        assert part.n_leaves == len(weights)


def test_partition_is_balanced_by_weight_and_moves():
    weights = np.array([0.0, *[100.0] * 40, 0.0])
    parts = [partition_bins(weights, True, 4, number) for number in range(40)]
    assert max(np.bincount(part.leaf, weights).max() for part in parts) <= 1_100
    cuts = [np.nonzero(np.diff(part.leaf[1:-1].astype(int)))[0] for part in parts]
    assert len(np.unique(np.concatenate(cuts))) > 30


@given(weights=weights, number=st.integers(0, 99))
def test_partition_by_tails_covers_every_bin_once(weights, number):
    part = partition_bins(weights, True, 2, number, by_tails=True)
    assert set(part.leaf) == set(range(part.n_leaves))
    assert part.n_leaves <= 5
    assert (np.diff(part.leaf[1:-1].astype(int)) >= 0).all()
    assert (part.leaf == part.leaf[0]).sum() == (part.leaf == part.leaf[-1]).sum() == 1
    levels = partition_bins(weights, False, 2, number, by_tails=True)
    assert levels.n_leaves == len(weights)


def test_tails_have_all_sizes():
    weights = np.array([0.0, *[10.0] * 500, 0.0])
    parts = [partition_bins(weights, True, 2, number, by_tails=True) for number in range(40)]
    low, high = (
        [np.bincount(part.leaf, weights)[leaf] / 5_000 for part in parts] for leaf in (0, -3)
    )
    assert low == pytest.approx(high, abs=0.004)
    # A quarter of the rounds each, for steps of a quarter of the logarithm from 1 to 50 %.
    sizes = np.histogram(low, bins=[0.0, *(0.01 * 50 ** (np.arange(1, 4) / 4)), 0.51])[0]
    assert (np.abs(sizes - 10) <= 2).all()


def test_gains_shrink_what_may_be_noise():
    gains = leaf_gains(
        np.array([0.0, 19.0, 40.0, 1e4, 1e5]), step=1.0, count_noise=10.0, lightest=2e4
    )
    assert gains[0] == gains[1] == 0.0
    assert 0 < gains[2] < 1 / 2e4
    assert gains[3] == pytest.approx(1 / 2e4, rel=1e-3)
    assert gains[4] == pytest.approx(1 / 1e5, rel=1e-3)


@given(weights=weights, seed=st.integers(0, 9))
def test_updates_are_centred_and_skip_leaves_without_gain(weights, seed):
    rng = np.random.default_rng(seed)
    part = partition_bins(weights, True, 5, seed)
    gain = rng.uniform(0.1, 1.0, part.n_leaves)
    gain[part.leaf[0]] = 0.0
    sums = rng.normal(size=(part.n_leaves, 3))
    change = centred_change(TermUpdate(part, gain), weights, sums)
    np.testing.assert_array_equal(change[0], 0.0)
    np.testing.assert_allclose(weights @ change, 0.0, atol=1e-6 * (1 + weights.sum()))
    # But for the mean, each bin moves by what its leaf was told to.
    offset = change - (gain[:, np.newaxis] * sums)[part.leaf]
    moved = part.leaf != part.leaf[0]
    assert np.ptp(offset[moved], axis=0).max() < 1e-9


class Watched(LocalBinaryRows):
    """Rows that note their scores after every pass."""

    def __init__(self, codes, labels):
        super().__init__(codes, labels)
        self.seen = []

    def advance(self, updated, updates, wanted, n_bins):
        found = super().advance(updated, updates, wanted, n_bins)
        self.seen.append(self._scores.ravel().copy())
        return found


class NoDoor:
    """Adds noise of half of the rows, without a plan."""

    def __init__(self):
        self.public_choices = np.random.default_rng(0)
        self.released = 0

    def gaussian(self, name, exact, *, row_norm, aligned):
        self.released += 1
        sigma = 2_000.0 * LATTICE
        noise = self.public_choices.normal(scale=sigma, size=exact.shape)
        return exact + np.rint(noise).astype(np.int64), sigma


def test_rows_forget_terms_that_do_not_go_on():
    """Before, their scores differ among rows that are alike in the only term that goes on."""
    rng = np.random.default_rng(1)
    codes = [rng.integers(1, 9, 4_000).astype(np.uint8) for _ in range(5)]
    rows = Watched([c.copy() for c in codes], rng.integers(0, 2, 4_000).astype(np.int16))
    bins = [
        Bins(np.arange(10, dtype=np.uint16), np.bincount(c, minlength=10).astype(float), None)
        for c in codes
    ]
    config = TrainerConfig(mu=1.0, n_features=5, max_bins=8, n_movable=5)
    task = BoostingTask(
        bins=bins,
        is_ordered=[True] * 5,
        directions=[0] * 5,
        movable=range(5),
        config=config,
        unit=Unit(curvature=1.0, step=4.0, start=0.25),
        intercept=np.zeros(1),
        n_rows=4_000.0,
        count_noise=1.0,
        divide_by_means=False,
    )
    when, door = [], NoDoor()

    def look(early):
        assert early.averaged == (Averaged(10),) * 5
        when.append(len(rows.seen))
        return HalfWay({3})

    result = boost(rows, task, door, look=look, verbose=False)

    def apart(scores):
        """Largest range of the scores of rows that are alike in the term that goes on."""
        return max(np.ptp(scores[codes[3] == code]) for code in range(1, 9))

    (half,) = when
    assert apart(rows.seen[half - 1]) > 0
    # One pass hands back what was pending, the next one adds what takes the others to zero.
    assert {apart(scores) for scores in rows.seen[half + 1 :]} == {0}
    assert np.ptp(rows.seen[-1]) > 0
    # 20 rounds of five terms, and 4 times 20 rounds at most of the one that goes on.
    assert door.released == 20 * 5 + 80
    assert result.dismissed == {0, 1, 2, 4}
    # Half-way curves are plain averages, those in the end of where a full step would have led.
    ahead = result.averaged[3].ahead
    assert ahead == pytest.approx(4.0 / result.step - 1.0)
    dismissed = Averaged(10)
    assert result.averaged == (dismissed,) * 3 + (Averaged(50, ahead), dismissed)
    assert [len(updates) for updates in result.updates] == [20, 20, 20, 100, 20]


class NoRows:
    """A table without rows: whatever moves is noise."""

    n_scores, residual_norm = 1, LATTICE

    def begin(self, level):
        assert level.shape == (1,)

    def advance(self, updated, updates, wanted, n_bins):
        return np.zeros((len(wanted), n_bins, 1), dtype=np.int64)


class DoorByNorm(NoDoor):
    """Adds noise in proportion to the declared norm."""

    def gaussian(self, name, exact, *, row_norm, aligned):
        sigma = 5.0 * row_norm
        noise = self.public_choices.normal(scale=sigma, size=exact.shape)
        return exact + np.rint(noise).astype(np.int64), sigma


def task_of_levels(count_noise):
    """Return a task of three features with a thousand rows, and a budget for 40 rounds."""
    weights = [np.array([0.0, *sizes, 0.0]) for sizes in ([900, 100], [500, 480, 20], [250] * 4)]
    bins = [Bins(np.arange(len(w), dtype=np.uint16), w, None) for w in weights]
    return BoostingTask(
        bins=bins,
        is_ordered=[False] * 3,
        directions=[0] * 3,
        movable=range(3),
        config=TrainerConfig(mu=1.0, n_features=3, max_bins=8, n_movable=3),
        unit=Unit(curvature=1.0, step=1.0),
        intercept=np.zeros(1),
        n_rows=1_000.0,
        count_noise=count_noise,
        divide_by_means=False,
    )


@pytest.mark.parametrize("can_move", [True, False])
def test_the_intercept_moves_by_the_noise_that_its_shifts_have(can_move):
    """A deviation of 200 fits has a standard error of 5 %; it is 1.6 if totals are plain."""
    task, door = task_of_levels(count_noise=1.0 if can_move else 1_000.0), DoorByNorm()
    fits = [boost(NoRows(), task, door, look=None, verbose=False) for _ in range(200)]
    ends = []
    for fit in fits:
        # Nothing but the last shifts is missing, which hardly count.
        n_rounds, averaged = len(fit.updates[0]), fit.averaged[0].rounds
        moves = [update.shifts for update in fit.updates[0]]
        assert 3 * n_rounds - 3 <= sum(move.number for move in moves) < 3 * n_rounds
        assert [move.step for move in moves[1:]] == pytest.approx([fit.step] * (n_rounds - 1))
        if not can_move:
            # Nothing is asked but the total, which has the noise of one leaf.
            assert not any(np.any(curve) for curve in fit.scores)
            one = fit.step / task.n_rows
            assert [move.noise for move in moves[1:]] == pytest.approx([one] * (n_rounds - 1))
        counts = np.minimum((n_rounds + 0.5 - np.arange(n_rounds)) / averaged, 1.0)
        variances = [move.number * (fit.noise * move.noise) ** 2 for move in moves]
        ends.append(fit.intercept[0] / (counts**2 @ variances) ** 0.5)
    assert np.std(ends) == pytest.approx(1.0, rel=0.2)
    assert abs(np.mean(ends)) < 0.3


def test_steps_are_longer_in_haste_within_limits():
    config = TrainerConfig(mu=1.0, n_features=5, max_bins=8)
    quiet = BoostingSettings(noise_level=1e-3, leaves=4, step=0.1)
    assert config.hastened(quiet, 0.1).step == 0.2
    assert config.hastened(replace(quiet, step=0.4), 0.1).step == 0.5
    assert config.hastened(replace(quiet, step=0.7), 0.1).step == 0.7
    assert config.hastened(quiet, 0.0) == config.hastened(quiet, -0.5) == quiet
    assert replace(config, learning_rate=0.1).hastened(quiet, 1.0) == quiet


def test_steps_grow_with_a_drift_that_is_clearer_than_noise():
    config = TrainerConfig(mu=1.0, n_features=5, max_bins=8)
    quiet = BoostingSettings(noise_level=1e-3, leaves=4, step=0.1)
    steps = [config.hastened(quiet, drift).step for drift in (0.25, 0.375, 0.5, 1.0)]
    assert steps == pytest.approx([0.2, 0.3, 0.4, 0.4])
    assert config.hastened(replace(quiet, step=0.4), 1.0).step == 1.0


def test_many_copies_of_a_column_do_not_swing():
    """All of a block answer the same residuals: with four blocks the error was 1.3 deviations."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=4_000)
    X = base[:, np.newaxis] + 0.1 * rng.normal(size=(4_000, 48))
    y = np.clip(base + 0.3 * rng.normal(size=4_000), -5, 5)
    names = [f"x{i}" for i in range(48)]
    schema = Schema({name: Continuous(-4, 4) for name in names}, target=Continuous(-5, 5))
    model = DPExplainableBoostingRegressor(
        epsilon=20.0, delta=1e-6, schema=schema, feature_names=names, random_state=0
    )
    with pytest.warns(match="voids"):
        model.fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.6 * y.std()


@pytest.mark.parametrize("random_state", [0, 1, 2])
def test_many_copies_of_a_column_do_not_swing_where_the_loss_bends(random_state):
    """A fifth of the rows are positive: the loss bends half as much again where it is steepest."""
    rng = np.random.default_rng(random_state)
    base = rng.normal(size=8_000)
    X = base[:, np.newaxis] + 0.05 * rng.normal(size=(8_000, 24))
    y = (base + 0.5 * rng.normal(size=8_000) > 0.8).astype(int)
    names = [f"x{i}" for i in range(24)]
    schema = Schema({name: Continuous(-4, 4) for name in names}, target=Categorical([0, 1]))
    model = DPExplainableBoostingClassifier(
        epsilon=8.0, delta=1e-6, schema=schema, feature_names=names, random_state=random_state
    )
    with pytest.warns(match="voids"):
        model.fit(X, y)
    # The best is 0.25. With 1.9 full steps in a block it is 0.38 to 0.42.
    assert log_loss(y, model.predict_proba(X)) < 0.3


@pytest.mark.parametrize(("step", "ahead"), [(0.5, 1.0), (2.0, 0.0), (1e-6, 19.0), (0.0, 0.0)])
def test_averages_go_as_far_as_a_full_step_or_twenty_short_ones(step, ahead):
    task = task_of_levels(count_noise=1.0)
    task = replace(task, config=replace(task.config, learning_rate=step))
    result = boost(NoRows(), task, DoorByNorm(), look=None, verbose=False)
    assert result.averaged == (Averaged(20, pytest.approx(ahead)),) * 3
