"""Rows at their extremes, at the limits of public sizes, against Python's integers.

The lines of docs/proofs/arithmetic.md, by the functions that compute them.
"""

import warnings

import numpy as np
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    PrivateBackground,
    Schema,
    evaluation,
)
from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT
from interpret_dp.backends import kernels, local
from interpret_dp.backends.base import MAX_SCORE
from interpret_dp.ebm.training import _on_lattice
from interpret_dp.fitting.declaring import MagnitudeGrid
from interpret_dp.fitting.rows import open_rows
from interpret_dp.lime.background import _counted, _fine_cuts, _products
from interpret_dp.llm.config import TrainingRows, exact_rows
from interpret_dp.llm.training import ClosedForm
from interpret_dp.schema.encode import encode_classes, encode_weights

EXTREMES = np.array([0, 5e-324, -1.0, 1e300, 1.797e308, -1.797e308, np.inf, -np.inf, np.nan])
NONE = np.zeros(0, dtype=np.int64)
CODE, WANTED = np.zeros((1, 1), dtype=np.uint8), np.zeros(1, dtype=np.int64)


# Boosting


@pytest.mark.parametrize("weight", [0, 1, LATTICE])
@pytest.mark.parametrize("score", [-MAX_SCORE, 0, MAX_SCORE])
@pytest.mark.parametrize("clip", [5e99, 1e97])
def test_residuals_stay_within_their_norm(weight, score, clip):
    weights = np.array([weight], dtype=np.int32)
    bounds = {"lower": -1e100, "upper": 1e100, "clip": clip}
    several = local.LocalMulticlassRows(
        CODE, np.array([7], dtype=np.int16), n_classes=32_767, weights=weights
    )
    numbers = (
        local.LocalRegressionRows(CODE, EXTREMES[k : k + 1], weights=weights, **bounds)
        for k in range(len(EXTREMES))
    )
    for rows in (several, *numbers):
        rows.begin(np.full(rows.n_scores, score) * (np.arange(rows.n_scores) % 2))
        sums = rows.advance(NONE, np.zeros((0, 1, rows.n_scores), np.int32), WANTED, 1)
        assert sum(int(entry) ** 2 for entry in sums.ravel()) <= rows.residual_norm**2
        assert sum(int(entry) ** 2 for entry in rows.target_sums()) <= rows.target_norm**2


@pytest.mark.parametrize("weight", [0, 1, LATTICE])
@pytest.mark.parametrize("average", [2.0**-20, 0.3, 1.0])
def test_rows_with_exposures_stay_within_their_norm(weight, average):
    """Each row by itself, of the largest target and of none, with all kinds of exposures."""
    bounds = {"lower": 0.0, "upper": 1e100, "clip": 1e98}
    shares = local.exposure_shares(EXTREMES, 1e300, is_log=False)
    assert shares.tolist() == [0, 0, 0, LATTICE, LATTICE, 0, LATTICE, 0, 0]
    logs = local.exposure_shares(np.array([*EXTREMES, -1e-7, -14.0]), 1.0, is_log=True)
    assert logs.tolist() == [*[LATTICE] * 2, 385_749, *[LATTICE] * 2, 0, LATTICE, 0, 0, LATTICE, 0]
    for share in {*shares.tolist(), 1}:
        for target in (0.0, 1e100):
            given = np.array([weight], dtype=np.int32), np.array([share], dtype=np.int32)
            own = {"weights": given[0], "exposure": given[1]}
            rows = local.LocalPoissonRows(CODE.copy(), np.array([target]), **own, **bounds)
            rows.clip_residuals(1e98, average)
            rows.begin(np.array([230 * LATTICE]))
            sums = rows.advance(NONE, np.zeros((0, 1, 1), np.int32), WANTED, 1)
            moments = rows.target_sums()
            assert abs(sums.sum()) <= (share > 0) * rows.residual_norm
            assert sum(int(entry) ** 2 for entry in moments) <= rows.target_norm**2
            assert rows.bin_counts([1])[0].sum() == moments[3] == weight * share // LATTICE


def test_a_clip_that_is_too_small_saturates_targets():
    """A loss of a user's own may ask for it: targets wrapped around, beyond 32 bits."""
    codes, bounds = np.zeros((1, 2), np.uint8), {"lower": -1, "upper": 1, "clip": 1e-300}
    rows = local.LocalRegressionRows(codes, np.array([-1.0, 1.0]), **bounds)
    assert rows._target.tolist() == [-MAX_SCORE, MAX_SCORE]


def test_sums_of_many_rows_are_those_of_python():
    n_rows = 2**16 + 1
    codes, weights = np.ones((2, n_rows), dtype=np.uint8), np.full(n_rows, LATTICE, dtype=np.int32)
    table = np.array([[0, 0], [PRODUCT_UNIT, -PRODUCT_UNIT]])
    sums = local.products(codes, weights, [0, 1], [table, table])
    sign = np.sign(np.outer([1, -1] * 2, [1, -1] * 2))
    assert np.array_equal(sums, sign * n_rows * LATTICE)
    rows = local.LocalBinaryRows(codes, np.ones(n_rows, dtype=np.int16), weights=weights)
    assert rows.bin_counts([2, 2])[0].tolist() == [0, n_rows * LATTICE]
    last = np.arange(66, dtype=np.uint16)
    evaluation = local.pair_codes(
        np.full((2, 1), 65, dtype=np.uint8), [(0, 1)], [last, last], [66, 66]
    )
    assert evaluation.tolist() == [[66 * 66 - 1]]


# Metrics, and what belongs to a row


def test_scores_of_any_model_are_in_a_cell():
    scores = np.array(np.meshgrid(EXTREMES, EXTREMES, EXTREMES)).reshape(3, -1).T
    shares, _ = evaluation._label_shares(scores, np.zeros(len(scores), dtype=np.int64))
    assert 0 <= shares.min() <= shares.max() <= 2**30
    shares, _ = evaluation._label_shares(np.zeros((1, 32_767)), np.zeros(1, dtype=np.int64))
    assert shares.tolist() == [2**30 // 32_767]


@pytest.mark.parametrize(
    "objective", ["rmse", "poisson_deviance", "gamma_deviance", "tweedie_deviance"]
)
def test_sums_of_metrics_keep_their_norm(objective):
    lower = 1e-3 if objective == "gamma_deviance" else 0.0
    schema = Schema({"feature_0000": Continuous(-1e9, 1e9)}, target=Continuous(lower, 1e15))
    model = DPExplainableBoostingRegressor(
        schema=schema, objective=objective, max_rounds=1, delta=1e-9, random_state=0
    )
    table = np.repeat(EXTREMES, len(EXTREMES))[:, np.newaxis]
    y = np.tile(EXTREMES, len(EXTREMES))
    with warnings.catch_warnings(action="ignore"):
        sums = evaluation.Calibration(model.fit(table, y))
    rows, _ = open_rows(table, y, feature_names=None, schema=schema, sample_weight=None, unit=None)
    groups, parts = sums.parts(rows)
    for row in parts.tolist():
        assert sum(part**2 for part in row) <= sums.row_norm**2
    # Nothing is cut by more than a unit: a bound that were wider would cost accuracy.
    every = sum(part**2 for part in parts[groups >= 0].max(axis=0).tolist())
    assert every > 0.6 * sums.row_norm**2
    numbers = np.abs(y[np.isfinite(y) & (y != 0)])
    assert kernels.logarithms(numbers) == pytest.approx(np.log(numbers), abs=1e-11)
    logs = np.linspace(-700.0, 700.0, 99_991)
    assert kernels.exponentials(logs) == pytest.approx(np.exp(logs), rel=1e-11)


def test_what_belongs_to_a_row_is_cut_before_it_is_cast():
    weights = encode_weights(EXTREMES, 5e-324, LATTICE)
    assert set(weights.tolist()) == {0, LATTICE}
    assert np.abs(_on_lattice(np.nan_to_num(EXTREMES))).max() == MAX_SCORE
    grid = MagnitudeGrid(4)
    assert grid.counts(EXTREMES).sum() == np.isfinite(EXTREMES).sum()
    many = Categorical(list(range(32_767)))
    assert encode_classes([0, 32_766, 32_767, None], many).tolist() == [0, 32_766, -1, -1]


# Backgrounds


@pytest.mark.parametrize("bounds", [(0, 1), (-8e307, 8e307), (0, 5e-324), (5, 5)])
def test_a_row_is_in_one_cell_of_each_histogram_and_adds_a_sign_to_each_pair(bounds):
    cells = np.array(np.meshgrid(EXTREMES, EXTREMES)).reshape(2, -1).T
    specs = [Continuous(*bounds)] * 2
    schema = Schema(default=specs[0])
    forms = {"feature_names": None, "schema": schema, "sample_weight": None, "unit": None}
    with warnings.catch_warnings(action="ignore"):
        columns = PrivateBackground(schema, epsilon=100.0).fit(cells).background_.columns
    fine, merged = [_fine_cuts(spec) for spec in specs], [one.feature.cuts for one in columns]

    def sums(table):
        rows, _ = open_rows(table, None, **forms, has_target=False)
        counts = [*_counted(rows, specs, fine), *_counted(rows, specs, merged)]
        return counts, _products(rows, (0, 1), columns)

    alone = [sums(row[np.newaxis]) for row in cells]
    for counts, products in alone:
        assert all(one.sum() == 1 and one.min() == 0 for one in counts)
        assert np.abs(products).max() <= 1
    counts, products = sums(cells)
    for place, whole in enumerate(counts):
        assert np.array_equal(whole, sum(one[place] for one, _ in alone))
    assert np.array_equal(products, sum(one for _, one in alone))


# DP-LLM


@pytest.mark.parametrize("n_inputs", [1, 32_768, 70_000])
@pytest.mark.parametrize("size", [1.0, 2.0**20, 3e38])
def test_gradients_of_many_inputs_are_within_their_norm(n_inputs, size):
    rng = np.random.default_rng(0)
    inputs = np.full((2, n_inputs), size, np.float32) * np.array([[1], [-1]], np.float32)
    rows = TrainingRows(inputs, np.array([0, 1]))
    engine = ClosedForm(rows, None, 1.0, 1.0)
    for scale in (1e-3, 1e30):
        weights = (scale * rng.normal(size=(1, 2, n_inputs))).astype(np.float32)
        biases = np.zeros((1, 2), dtype=np.float32)
        sums = [engine.lattice_sum(weights, biases, np.array(k)) for k in ([0], [1], [0, 1])]
        assert np.array_equal(sums[0] + sums[1], sums[2])
        for added in sums[:2]:
            assert sum(int(entry) ** 2 for entry in added) <= engine.row_norm**2


@pytest.mark.parametrize("n_inputs", [1, 2**15, 2**18])
def test_projected_rows_are_those_of_python(n_inputs):
    rows, matrix = np.full((1, n_inputs), 2.0**20), np.full((n_inputs, 1), -4.0)
    projected = exact_rows(rows.astype(np.float32), matrix.astype(np.float32))
    assert projected.tolist() == [[-n_inputs * 2.0**22]]
