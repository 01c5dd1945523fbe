"""Clipped sums: against autograd, against Opacus, against a loop; and what one row can change."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp.llm import training
from interpret_dp.llm.config import CLIP_SHARE, PROJECTION_BITS, TrainingRows, rounded_rows
from interpret_dp.llm.training import ClosedForm

CLIP_NORM = 4.0
TEMPERATURE = 0.7


def problem(*, projected, n_rows=40, seed=0):
    """Return rows (some without a label), projections or None, weights and biases."""
    rng = np.random.default_rng(seed)
    n_maps, n_classes, n_inputs, dimension = 3, 4, 9, 5

    def drawn(*shape):
        return rng.normal(size=shape).astype(np.float32)

    rows = TrainingRows(drawn(n_rows, n_inputs), rng.integers(-1, n_classes, n_rows))
    projections = drawn(n_maps, dimension, n_inputs) if projected else None
    if projections is not None:
        projections = np.rint(projections * 2**PROJECTION_BITS) / np.float32(2**PROJECTION_BITS)
    size = dimension if projected else n_inputs
    return rows, projections, drawn(n_maps, n_classes, size), drawn(n_maps, n_classes)


def in_units(sums, *arguments):
    """Return a sum in units of the gradient."""
    found = sums.lattice_sum(*arguments)
    assert found.dtype == np.int64
    return found * (CLIP_NORM / sums.row_norm)


def norm(whole):
    """Return the norm of integers in Python's own, rounded up."""
    return math.isqrt(sum(int(number) ** 2 for number in whole) - 1) + 1 if whole.any() else 0


def looped_sum(rows, projections, weights, biases):
    """Return the clipped sum of rounded rows, one example at a time, by autograd."""
    torch = pytest.importorskip("torch")
    total = np.zeros(weights.size + biases.size)
    columns = torch.tensor(rounded_rows(rows.inputs)).double()
    for row, label in zip(columns[:, :-1] / columns[:, -1:], rows.classes.tolist(), strict=True):
        if label < 0:
            continue
        w, b = (torch.tensor(t).double().requires_grad_() for t in (weights, biases))
        inputs = row if projections is None else torch.tensor(projections).double() @ row
        values = torch.einsum("i,mki->mk" if projections is None else "md,mkd->mk", inputs, w) + b
        shares = torch.softmax(TEMPERATURE * values, dim=0)
        (-torch.log_softmax((shares * values).sum(dim=0), dim=0)[label]).backward()
        gradient = np.concatenate([w.grad.ravel(), b.grad.ravel()])
        total += gradient * min(1.0, CLIP_NORM * CLIP_SHARE / np.linalg.norm(gradient))
    return total


def relative_difference(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)


@pytest.mark.parametrize("projected", [True, False])
def test_both_engines_give_what_a_loop_by_autograd_gives(projected):
    """What rows add is rounded, to 13 bits and more."""
    looped = looped_sum(*problem(projected=projected))
    from interpret_dp.llm.opacus_engine import OpacusSums

    rows, projections, *model = problem(projected=projected)
    everybody = np.arange(len(rows.inputs))
    closed = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    assert relative_difference(in_units(closed, *model, everybody), looped) < 2e-4
    # Control: the test would see a clipping bound that is off by a thousandth.
    wrong = ClosedForm(rows, projections, TEMPERATURE, 1.001 * CLIP_NORM)
    other = in_units(wrong, *model, everybody) * 1.001
    assert relative_difference(other, looped) > 2e-4
    arguments = (rows, projections, TEMPERATURE, CLIP_NORM)
    opacus = OpacusSums(*arguments, n_parameters=looped.size)
    for _ in range(2):  # what one call leaves behind must not reach the next
        assert relative_difference(in_units(opacus, *model, everybody), looped) < 1e-5


# Sums are those of the rows, in any order and in parts of any size


@functools.cache
def rows_one_by_one(projected):
    """Return 600 rows of all sizes (floating point would lose the small ones), and their sums."""
    rows, projections, *model = problem(projected=projected, n_rows=600)
    sizes = 10.0 ** np.linspace(-6, 6, 600, dtype=np.float32)
    rows = TrainingRows(rows.inputs * sizes[:, np.newaxis], rows.classes)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    return sums, model, [sums.lattice_sum(*model, np.array([row])) for row in range(600)]


@pytest.mark.parametrize("projected", [True, False])
@pytest.mark.parametrize("name", ["", "_CACHED_VALUES", "_PARTS_OF_A_SUM"])
def test_sums_are_exactly_those_of_the_rows_one_by_one(name, projected, monkeypatch):
    sums, model, single = rows_one_by_one(projected)
    if name:
        monkeypatch.setattr(training, name, 2)
    for order in (np.arange(600), np.random.default_rng(0).permutation(600)):
        assert np.array_equal(sums.lattice_sum(*model, order), np.sum(single, axis=0))
    for size in (1, 7, 127, 128, 129, 300):
        some = sums.lattice_sum(*model, np.arange(5, 5 + size))
        assert np.array_equal(some, np.sum(single[5 : 5 + size], axis=0))


def test_control_coefficients_that_are_no_integers_do_not_add_up(monkeypatch):
    sums, model, _ = rows_one_by_one(False)
    true_integers = training.clipped_integers
    monkeypatch.setattr(training, "clipped_integers", lambda *given: true_integers(*given) / 3)
    single = [sums.lattice_sum(*model, np.array([row])) for row in range(600)]
    together = sums.lattice_sum(*model, np.arange(600))
    assert not np.array_equal(together, np.sum(single, axis=0))


def test_nothing_of_size_batch_times_parameters_is_made(monkeypatch):
    seen = []
    true_sum = ClosedForm._part_sum

    def watched(*arguments):
        seen.append(len(arguments[-1]))
        return true_sum(*arguments)

    monkeypatch.setattr(ClosedForm, "_part_sum", watched)
    rows = TrainingRows(np.ones((5_000, 100), dtype=np.float32), np.zeros(5_000, dtype=int))
    sums = ClosedForm(rows, None, TEMPERATURE, CLIP_NORM)
    sums.lattice_sum(np.zeros((30, 10, 100)), np.zeros((30, 10)), np.arange(5_000))
    assert set(seen) == {128}
    assert len(seen) == -(-5_000 // 128)


# The norm of what a row adds

SCALES = [0.0, 1e-20, 1e-6, 1e-2, 1.0, 1e3, 1e6, 1e30]


@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from(SCALES),
    factor=st.sampled_from([0.0, 1e-3, 1.0, 1e4, 1e30]),
    projected=st.booleans(),
)
@settings(max_examples=100)
def test_one_row_adds_at_most_the_bound_in_integers(seed, scale, factor, projected):
    """Rows and weights of any size; no room for anything."""
    rows, projections, weights, biases = problem(projected=projected, seed=seed, n_rows=9)
    rows = TrainingRows(rows.inputs * np.float32(scale), rows.classes)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    weights, biases = weights * np.float32(factor), biases * np.float32(factor)
    for row in range(9):
        assert norm(sums.lattice_sum(weights, biases, np.array([row]))) <= sums.row_norm


@pytest.mark.parametrize("share", [1.0, 1.3, 1e6, math.inf, math.nan])
@pytest.mark.parametrize("projected", [True, False])
def test_no_error_of_floating_point_can_raise_the_norm(share, projected, monkeypatch):
    """Whatever clipping makes of a row: what is too long is truncated, or dropped."""
    rows, projections, *model = problem(projected=projected, n_rows=300)
    monkeypatch.setattr(training.config, "CLIP_SHARE", share)
    sums = ClosedForm(rows, projections, TEMPERATURE, 0.01)
    found = [norm(sums.lattice_sum(*model, np.array([row]))) for row in range(300)]
    assert max(found) <= sums.row_norm
    labelled = np.array(found)[rows.classes >= 0] / sums.row_norm
    if share == 1.0:
        # Some were rounded to the nearest, and others had to be truncated; none was dropped.
        assert (labelled > 0.99).mean() > 0.9
    if share == 1.3:
        assert (labelled == 0).mean() > 0.9


def test_rows_that_projections_hide_are_summed_exactly_beside_others():
    """A long row that is orthogonal to the projections has a short gradient, and is not cut."""
    inputs = np.array([[2e4, 2e4], [1.0, 0.5]], dtype=np.float32)
    rows = TrainingRows(inputs, np.array([0, 1]))
    projections = np.array([[[1.0, -1.0]]], dtype=np.float32)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    model = np.array([[[0.1], [-0.2]]], dtype=np.float32), np.zeros((1, 2), dtype=np.float32)
    hidden, usual = (sums.lattice_sum(*model, np.array([row])) for row in range(2))
    both = sums.lattice_sum(*model, np.array([0, 1] * 3_000))
    assert np.array_equal(both, 3_000 * (hidden + usual))
    assert 0 < norm(hidden) <= sums.row_norm
