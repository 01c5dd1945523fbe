"""Rows in local memory: tables of probabilities, odd bounds, dtypes and threads."""

import math
import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends import local
from interpret_dp.backends.base import MAX_RESIDUAL, MAX_SCORE
from interpret_dp.backends.kernels import exponential_table, sigmoid_table
from interpret_dp.ebm.losses import GammaDeviance
from tests.contract.test_additive_rows import BOUNDS, LOCAL


def test_the_table_is_the_logistic_function_truncated():
    table = sigmoid_table()
    assert len(table) == 8192
    assert table.min() >= 0
    assert table.max() <= LATTICE
    assert (np.diff(table) >= 0).all()
    # No class is favoured: entries mirror each other to within the truncation.
    assert np.abs(table.astype(np.int64) + table[::-1] - LATTICE).max() <= 1
    for entry in (0, 1, 4000, 4095, 4096, 4097, 8191):
        logit = (entry - 4096 + 0.5) / 256
        assert abs(table[entry] - LATTICE / (1 + math.exp(-logit))) <= 1


def test_the_table_of_exponentials_is_truncated():
    table = exponential_table()
    assert len(table) == 4096
    assert table.min() >= 0
    assert (np.diff(table) <= 0).all()
    for entry in (0, 1, 255, 256, 3000, 4095):
        assert 0 <= LATTICE * math.exp(-(entry + 0.5) / 256) - table[entry] <= 1 + 1e-9


TARGET_BOUNDS = [
    (5.0, 5.0, 1.0),
    (-1e-300, 1e-300, 5e-301),
    (1e15, 1e15 + 1, 0.25),
    (-1e100, 1e100, 5e99),
    (0.0, 1.0, 0.3),
    (0.0, 3.0, 0.7),
    (-1 / 3, 1 / 7, 0.1),
]


@pytest.mark.parametrize(("lower", "upper", "clip"), TARGET_BOUNDS)
def test_targets_stay_within_their_integers(lower, upper, clip):
    """At both ends and between, whatever the rounding of the bounds does."""
    target = np.array([lower, upper, (lower + upper) / 2, np.nextafter(lower, upper), np.nan])
    codes = [np.zeros(5, dtype=np.uint8)]
    for row in range(5):
        rows = local.LocalRegressionRows(
            [codes[0][:1]], target[row : row + 1], lower=lower, upper=upper, clip=clip
        )
        count, total, squares = rows.target_sums().tolist()
        assert count == (0 if np.isnan(target[row]) else LATTICE)
        assert abs(total) <= count
        assert 0 <= squares <= abs(total)
        assert np.abs(rows._target.astype(int)).sum() <= int((upper - lower) / 2 / clip * LATTICE)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_threads_change_no_bit_of_a_large_table(task):
    """Enough rows that the real rule gives each thread its own part, in many chunks."""
    rng = np.random.default_rng(2)
    n = 5 * local._ROWS_PER_THREAD + 17
    codes = [rng.integers(0, 9, n).astype(np.uint8) for _ in range(3)]
    identity = [np.arange(9, dtype=np.uint16)] * 3
    wanted = np.arange(3)
    target = {
        "binary": (np.arange(n) % 3 - 1).astype(np.int16),
        "multiclass": (np.arange(n) % 4 - 1).astype(np.int16),
        "regression": np.where(np.arange(n) % 5 == 0, np.nan, np.linspace(-3, 5, n)),
    }[task]
    parts, sums = [], []
    for n_threads in (1, 2, 4, 64):
        rows = LOCAL[task](codes, target, n_threads=n_threads, **BOUNDS[task])
        rows.merge_bins(identity)
        rows.begin(np.full(rows.n_scores, LATTICE // 3))
        shape = (3, 9, rows.n_scores)
        steps = np.random.default_rng(3).integers(-(2**20), 2**20, shape).astype(np.int32)
        parts.append(len(rows._parts))
        sums.append([rows.advance(wanted, steps, wanted, 9) for _ in range(3)])
    assert parts[:2] == [1, 2]
    assert parts[-1] > 2
    for others in sums[1:]:
        np.testing.assert_array_equal(others, sums[0])


def test_an_error_in_a_thread_is_not_lost(monkeypatch):
    monkeypatch.setattr(local, "_ROWS_PER_THREAD", 1)
    rows = local.LocalBinaryRows(
        [np.zeros(4, dtype=np.uint8)], np.zeros(4, dtype=np.int16), n_threads=2
    )

    def failing(*arguments):
        first = arguments[-3]
        if threading.current_thread() is not threading.main_thread() and first > 0:
            raise RuntimeError("in a thread")

    monkeypatch.setattr(local.LocalBinaryRows, "_kernel", staticmethod(failing))
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(RuntimeError, match="in a thread"):
        rows.advance(none, np.zeros((0, 1, 1), dtype=np.int32), none, 1)


# ------------------------------------------------------------------------ tables of a log link


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 6.0), (2.0, 1e9), (1e-9, 1e-3), (0.0, 0.0)])
def test_means_are_exponentials_between_the_bounds(lower, upper):
    means, lowest = local.log_means(lower, upper), local.lowest_log_step(upper)
    assert len(means) == 4096
    assert means.min() >= lower
    assert means.max() <= upper
    for entry in (0, 1, 2000, 4000, 4095):
        exact = math.exp((lowest + entry + 0.5) / 256)
        assert means[entry] == pytest.approx(min(max(exact, lower), upper), rel=1e-12)
    if upper > 0:
        # The last step is that of the upper bound.
        assert means[-1] == pytest.approx(upper, rel=1 / 256)


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 6.0), (1000.0, 1001.0), (0.0, 0.0)])
def test_means_stay_within_the_integers_of_the_target(lower, upper):
    clip = (upper - lower) / 4 or 1.0
    table = local.poisson_table(lower, upper, clip, upper).astype(np.int64)
    assert np.abs(table).max() <= int((upper - lower) / 2 / clip * LATTICE)
    middle = (lower + upper) / 2
    assert (
        np.abs(table - (local.log_means(lower, upper) - middle) / clip * LATTICE).max() <= 1 + 1e-6
    )


@pytest.mark.parametrize("clip", [1.0, 2.0, 7.5])
def test_relative_errors_are_tabulated_and_clipped_at_the_widest_bound(clip):
    table = local.gap_table(GammaDeviance.residual, clip)
    assert table.max() == table[-1] == MAX_RESIDUAL
    assert table.min() >= -LATTICE / clip
    assert (np.diff(table) >= 0).all()
    for entry in (0, 3000, 4095, 4096, 4500, len(table) - 2):
        exact = math.expm1((entry + 0.5) / 256 - 16) / clip * LATTICE
        assert abs(table[entry] - min(exact, MAX_RESIDUAL)) <= 1 + 1e-6


@given(bounds=st.tuples(st.floats(1e-100, 1e100), st.floats(1.0, 1e6)), share=st.floats(0, 1))
def test_logarithms_are_those_of_their_step(bounds, share):
    lower, upper = bounds[0], min(bounds[0] * bounds[1], 1e100)
    target = min(max(lower * (upper / lower) ** share, lower), upper)
    many = local.log_steps(np.array([lower, target, upper]), lower, upper)
    alone = local.log_steps(np.array([target]), lower, upper)
    assert many.dtype == np.int32
    assert many[1] == alone[0]
    exact = math.log(target) * LATTICE
    assert abs(alone[0] - exact) <= 2**11 + 1e-6 * abs(exact) + 2


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_kept", [0, 3, 9, 10])
def test_a_block_of_codes_is_taken_over(dtype, n_kept):
    """In place, also where rows drop out and bins are merged into fewer bytes."""
    rng = np.random.default_rng(0)
    n_codes = 250 if dtype is np.uint8 else 700
    block = rng.integers(0, n_codes, (4, 10)).astype(dtype)
    labels = np.full(10, -1, dtype=np.int16)
    labels[rng.permutation(10)[:n_kept]] = rng.integers(0, 2, n_kept)
    maps = [(np.arange(n_codes) // 7 % 40).astype(np.uint16) for _ in range(4)]
    answers = []
    for codes in ([column.copy() for column in block], block):
        rows = local.LocalBinaryRows(codes, labels)
        counts = rows.bin_counts([n_codes] * 4)
        rows.merge_bins(maps)
        rows.begin(np.zeros(1, dtype=np.int64))
        nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 40, 1), dtype=np.int32)
        answers.append((*counts, rows.advance(*nothing, np.arange(4), 40)))
        assert rows._codes.dtype == np.uint8
    assert np.shares_memory(rows._codes, block) == (n_kept > 0)
    for one, other in zip(*answers, strict=True):
        assert (one == other).all()


def test_bins_are_merged_and_never_split():
    rows = local.LocalBinaryRows([np.zeros(2, dtype=np.uint8)], np.array([0, 1], dtype=np.int16))
    with pytest.raises(ValueError, match="merged, not split"):
        rows.merge_bins([np.array([300], dtype=np.uint16)])


def test_merging_to_many_bins_keeps_two_bytes():
    rows = local.LocalBinaryRows(
        [np.array([0, 299], dtype=np.uint16)], np.array([0, 1], dtype=np.int16)
    )
    rows.merge_bins([np.arange(300, dtype=np.uint16)])
    none = np.zeros(0, dtype=np.int64)
    sums = rows.advance(none, np.zeros((0, 300, 1), dtype=np.int32), np.array([0]), 300)
    assert np.flatnonzero(sums[0, :, 0]).tolist() == [0, 299]


def test_one_rows_softmax_residuals_stay_within_the_declared_norm():
    rng = np.random.default_rng(0)
    both, label = np.arange(2), np.array([1], dtype=np.int16)
    codes = [np.array([1], dtype=np.uint8), np.array([2], dtype=np.uint8)]
    for n_classes in (3, 10, 200):
        for _ in range(50):
            rows = local.LocalMulticlassRows(codes, label, n_classes=n_classes)
            scale = 2.0 ** rng.integers(10, 28)
            updates = rng.normal(scale=scale, size=(2, 4, n_classes)).astype(np.int32)
            sums = rows.advance(both, updates, both, 4)
            for slot, code in ((0, 1), (1, 2)):
                residual = sums[slot, code].astype(object)
                assert sum(residual**2) <= rows.residual_norm**2
                assert sum(residual) >= 0


# -------------------------------------------------------------------------------- grids of features


widths_of_features = st.lists(st.integers(1, 70), min_size=1, max_size=9)


@given(widths_of_features, st.integers(0, 5_000), st.randoms(use_true_random=False))
def test_every_feature_is_in_one_group_and_groups_are_small(widths, most_cells, random):
    order = random.sample(range(len(widths)), random.randint(0, len(widths)))
    found = local.Grids.of(np.array(order, dtype=np.int64), np.array(widths), most_cells=most_cells)
    assert [place for group in found.members for place in group] == list(range(len(order)))
    for group, shape, features in zip(found.members, found.shapes, found.features, strict=True):
        assert features[features >= 0].tolist() == [order[place] for place in group]
        assert list(shape) == [widths[order[place]] for place in group]
        assert len(group) == 1 or np.prod(shape) <= most_cells


@pytest.mark.parametrize("far", [False, True])
def test_scores_are_added_at_once_only_where_none_can_saturate(monkeypatch, far):
    """A public bound decides, so that the answer is that of one feature after another."""
    made, grids_of = [], local.Grids.of

    def noted(*arguments, **settings):
        made.append(settings.get("most_cells"))
        return grids_of(*arguments, **settings)

    monkeypatch.setattr(local, "Grids", type("Noted", (), {"of": staticmethod(noted)}))
    rows = local.LocalBinaryRows([np.zeros(2, np.uint8)] * 2, np.array([0, 1], np.int16))
    rows.merge_bins([np.zeros(1, np.uint16)] * 2)
    rows.begin(np.zeros(1, dtype=np.int64))
    up = MAX_SCORE if far else MAX_SCORE // 2
    updates = np.array([[[up]], [[up]]], dtype=np.int32)
    rows.advance(np.array([0, 1]), updates, np.array([0]), 1)
    assert made[0] == (0 if far else None)
    assert (rows._scores == MAX_SCORE).all()
