"""Rows as integers: right to their own unit, and of each row alone."""

import numpy as np
import pytest

from interpret_dp.llm.config import exact_rows, rounded_rows


def drawn(n_rows, scale, seed=0):
    return (np.random.default_rng(seed).normal(size=(n_rows, 11)) * scale).astype(np.float32)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 50.0, 3e3])
def test_rows_are_rounded_to_their_own_unit(scale):
    inputs = drawn(2_000, scale)
    columns = rounded_rows(inputs).astype(float)
    unit = 1 / columns[:, -1]
    largest = np.maximum(np.abs(inputs).max(axis=1), 1.0)
    error = np.abs(columns[:, :-1] * unit[:, np.newaxis] - inputs).max(axis=1)
    assert (error <= 0.5001 * unit).all()
    # The unit is a little more than the 32,767th of the largest entry, where it is a coarse one.
    assert (unit >= 0.9999 * largest / 32_767).all()
    assert (unit <= 1.000001 * largest / 32_767 / (1 - largest / 32_767)).all()


def test_entries_beyond_the_largest_are_cut():
    inputs = np.array([[1.0, 40_000.0, -3e38], [2.0, 20_000.0, 0.0]], dtype=np.float32)
    assert rounded_rows(inputs).tolist() == [[1, 32_767, -32_767, 1], [2, 20_000, 0, 1]]


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_a_row_of_zeros(entry):
    inputs, matrix = drawn(3, 1.0), drawn(5, 3.0, seed=1).T
    others = [0, 2]
    expected = rounded_rows(inputs)[others], exact_rows(inputs, matrix)[others]
    inputs[1, 4] = entry
    rounded, projected = rounded_rows(inputs), exact_rows(inputs, matrix)
    assert rounded[1].tolist() == [0] * 11 + [32_767]
    assert not projected[1].any()
    assert np.array_equal(rounded[others], expected[0])
    assert np.array_equal(projected[others], expected[1])


@pytest.mark.parametrize("n_rows", [1, 7, 1_023, 2_049])
@pytest.mark.parametrize("kind", ["rounded", "projected"])
def test_a_row_is_the_same_in_any_company(n_rows, kind):
    inputs = drawn(n_rows, 10 ** np.linspace(-5, 5, n_rows)[:, np.newaxis])
    matrix = drawn(5, 3.0, seed=1).T

    def result(rows):
        return rounded_rows(rows) if kind == "rounded" else exact_rows(rows, matrix)

    order = np.random.default_rng(2).permutation(n_rows)
    assert np.array_equal(result(inputs[order]), result(inputs)[order])
