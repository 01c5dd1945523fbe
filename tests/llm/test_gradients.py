"""Clipped sums: against autograd, against Opacus, against a loop; and what one row can change."""

import functools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.llm import gradients, integers
from interpret_dp.llm.config import CLIP_SHARE, GRID_BITS, PROJECTION_BITS
from interpret_dp.llm.gradients import ClosedForm
from interpret_dp.llm.integers import TrainingRows, rounded_rows
from interpret_dp.llm.opacus_engine import OpacusSums

CLIP_NORM = 4.0
TEMPERATURE = 0.7
N_PARAMETERS = {True: 3 * 4 * 6, False: 3 * 4 * 10}


def problem(*, projected, n_rows=40, seed=0):
    """Return rows (some without a label), projections or None, weights and biases."""
    rng = np.random.default_rng(seed)
    n_maps, n_classes, n_inputs, dimension = 3, 4, 9, 5

    def drawn(*shape):
        return torch.tensor(rng.normal(size=shape), dtype=torch.float32)

    rows = TrainingRows(drawn(n_rows, n_inputs), torch.tensor(rng.integers(-1, n_classes, n_rows)))
    projections = drawn(n_maps, dimension, n_inputs) if projected else None
    if projections is not None:
        projections = (projections * 2**PROJECTION_BITS).round() / 2**PROJECTION_BITS
    size = dimension if projected else n_inputs
    return rows, projections, drawn(n_maps, n_classes, size), drawn(n_maps, n_classes)


def in_units(sums, *arguments):
    """Return a sum in units of the gradient."""
    found = sums.lattice_sum(*arguments)
    assert found.dtype == torch.int64
    return found.to(torch.float64) * (CLIP_NORM / sums.row_norm)


def norm(whole):
    """Return the norm of integers in Python's own, rounded up."""
    return math.isqrt(sum(int(number) ** 2 for number in whole) - 1) + 1 if whole.any() else 0


def loss_of(row, label, projections, weights, biases):
    """Return one example's cross-entropy, straight from the definition of the model."""
    inputs = row if projections is None else torch.einsum("mdi,i->md", projections, row)
    pattern = "i,mki->mk" if projections is None else "md,mkd->mk"
    values = torch.einsum(pattern, inputs, weights) + biases
    shares = torch.softmax(TEMPERATURE * values, dim=0)
    return -torch.log_softmax((shares * values).sum(dim=0), dim=0)[label]


def looped_sum(rows, projections, weights, biases):
    """Return the clipped sum of rounded rows, one example at a time, by autograd."""
    total = torch.zeros(weights.numel() + biases.numel(), dtype=torch.float64)
    limit = CLIP_NORM * CLIP_SHARE
    inputs = rounded_rows(rows.inputs).inputs(torch.arange(len(rows.inputs)))
    wide = None if projections is None else projections.to(torch.float64)
    for row, label in zip(inputs, rows.classes.tolist(), strict=True):
        if label < 0:
            continue
        w, b = (t.to(torch.float64).requires_grad_() for t in (weights, biases))
        loss_of(row, label, wide, w, b).backward()
        gradient = torch.cat([w.grad.reshape(-1), b.grad.reshape(-1)])
        total += gradient * min(1.0, limit / float(gradient.norm()))
    return total


def relative_difference(one, other):
    return float((one - other).norm() / other.norm())


@pytest.mark.parametrize("projected", [True, False])
@pytest.mark.parametrize(("n_limbs", "tolerance"), [(2, 5e-4), (3, 1e-5), (4, 1e-5)])
def test_closed_form_is_what_a_loop_by_autograd_gives(n_limbs, tolerance, projected):
    """Two limbs, as in training, have 15 bits: what rows add is rounded to them."""
    rows, projections, weights, biases = problem(projected=projected)
    looped = looped_sum(rows, projections, weights, biases)
    everybody = torch.arange(len(rows.inputs))
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM, n_limbs=n_limbs)
    assert relative_difference(in_units(sums, weights, biases, everybody), looped) < tolerance
    # Control: the test would see a clipping bound that is off by a thousandth or two.
    wrong = ClosedForm(rows, projections, TEMPERATURE, 1.002 * CLIP_NORM, n_limbs=n_limbs)
    other = in_units(wrong, weights, biases, everybody) * 1.002
    assert relative_difference(other, looped) > tolerance


@pytest.mark.parametrize("projected", [True, False])
def test_both_engines_and_the_loop_agree(projected):
    rows, projections, weights, biases = problem(projected=projected)
    everybody = torch.arange(len(rows.inputs))
    arguments = (rows, projections, TEMPERATURE, CLIP_NORM)
    closed = in_units(ClosedForm(*arguments, n_limbs=3), weights, biases, everybody)
    opacus = OpacusSums(*arguments, n_parameters=N_PARAMETERS[projected])
    looped = looped_sum(rows, projections, weights, biases)
    for _ in range(2):  # what one call leaves behind must not reach the next
        found = opacus.clipped_sum(weights, biases, everybody)
        assert relative_difference(found, closed) < 1e-5
        assert relative_difference(found, looped) < 1e-5
    # The integers that are released, at two limbs
    sums = ClosedForm(*arguments)
    one = in_units(sums, weights, biases, everybody)
    other = opacus.lattice_sum(weights, biases, everybody).to(torch.float64)
    assert relative_difference(one, other * (CLIP_NORM / opacus.row_norm)) < 5e-4


# Sums are those of the rows, in any order and any way of computing


@functools.cache
def rows_one_by_one(projected):
    """Return 600 rows of all sizes (floating point would lose the small ones), and their sums."""
    rows, *model = problem(projected=projected, n_rows=600)
    rows = TrainingRows(rows.inputs * 10.0 ** torch.linspace(-6, 6, 600)[:, None], rows.classes)
    projections, weights, biases = model
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    single = [sums.lattice_sum(weights, biases, torch.tensor([row])) for row in range(600)]
    return rows, model, single


@pytest.mark.parametrize("projected", [True, False])
@pytest.mark.parametrize("way", ["bytes", "floats", "parts", "threads", "blocks"])
def test_sums_are_exactly_those_of_the_rows_one_by_one(way, projected, monkeypatch):
    rows, (projections, weights, biases), single = rows_one_by_one(projected)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    expected = torch.stack(single).sum(dim=0)
    if way == "floats":
        monkeypatch.setattr(integers, "_multiplies_bytes", lambda *_: False)
    if way == "parts":
        monkeypatch.setattr(gradients, "_CACHED_BYTES", 0)
    if way == "blocks":
        monkeypatch.setattr(gradients, "_ROWS_OF_A_SUM", 37)
    before = torch.get_num_threads()
    torch.set_num_threads(3 if way == "threads" else before)
    try:
        for order in (torch.arange(600), torch.randperm(600)):
            assert torch.equal(sums.lattice_sum(weights, biases, order), expected)
    finally:
        torch.set_num_threads(before)
    for size in (1, 7, 127, 128, 129, 300):
        some = sums.lattice_sum(weights, biases, torch.arange(5, 5 + size))
        assert torch.equal(some, torch.stack(single[5 : 5 + size]).sum(dim=0))


def test_nothing_of_size_batch_times_parameters_is_made(monkeypatch):
    """The largest tensor that the values pass through has two bytes a row, class and map."""
    seen = []
    true_limbs = gradients.clipped_limbs

    def watched(*arguments):
        seen.append([np.size(argument) for argument in arguments])
        true_limbs(*arguments)

    monkeypatch.setattr(gradients, "clipped_limbs", watched)
    rows, projections, weights, biases = problem(projected=True)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    sums.lattice_sum(weights, biases, torch.arange(40))
    # Forty rows, filled up to 128.
    assert [max(sizes) for sizes in seen] == [128 * 3 * 4 * 2]


# The norm of what a row adds

SCALES = [0.0, 1e-20, 1e-6, 1e-2, 1.0, 1e3, 1e6, 1e30]


@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from(SCALES),
    factor=st.sampled_from([0.0, 1e-3, 1.0, 1e4, 1e30]),
    projected=st.booleans(),
    n_limbs=st.sampled_from([1, 2, 3]),
)
@settings(max_examples=100)
def test_one_row_adds_at_most_the_bound_in_integers(seed, scale, factor, projected, n_limbs):
    """Rows and weights of any size; no room for anything."""
    rows, projections, weights, biases = problem(projected=projected, seed=seed, n_rows=9)
    rows = TrainingRows(rows.inputs * scale, rows.classes)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM, n_limbs=n_limbs)
    for row in range(9):
        added = sums.lattice_sum(weights * factor, biases * factor, torch.tensor([row]))
        assert norm(added) <= sums.row_norm


@pytest.mark.parametrize("share", [1.0, 1.3, 1e6, math.inf, math.nan])
@pytest.mark.parametrize("projected", [True, False])
def test_no_error_of_floating_point_can_raise_the_norm(share, projected, monkeypatch):
    """Whatever clipping makes of a row: what is too long is truncated, or dropped."""
    rows, projections, weights, biases = problem(projected=projected, n_rows=300)
    monkeypatch.setattr(gradients, "CLIP_SHARE", share)
    sums = ClosedForm(rows, projections, TEMPERATURE, 0.01)
    found = [norm(sums.lattice_sum(weights, biases, torch.tensor([row]))) for row in range(300)]
    assert max(found) <= sums.row_norm
    labelled = np.array(found)[rows.classes.numpy() >= 0] / sums.row_norm
    if share == 1.0:
        # Some were rounded to the nearest, and others had to be truncated; none was dropped.
        assert (labelled > 0.99).mean() > 0.9
    if share == 1.3:
        assert (labelled == 0).mean() > 0.9


# The two ways in which what a row adds is found


@pytest.mark.parametrize("projected", [True, False])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
def test_torch_and_the_compiled_loop_find_the_same(projected, scale):
    """What graphics cards run, on the processor; last bits of exp and of sums may differ."""
    rows, projections, weights, biases = problem(projected=projected, n_rows=300)
    rows = TrainingRows(rows.inputs * scale, rows.classes)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    part = torch.arange(256)
    matrix, scales = sums._matrix(weights)
    products = integers.byte_product(matrix, sums._rows.columns[part].T).reshape(2, 3, 4, 256)
    one = integers.joined(sums._coefficients(products, scales, biases, part))
    other = integers.joined(
        gradients._clipped_limbs(
            products,
            scales,
            biases,
            sums._rows.steps[part],
            sums._norms[part].T,
            rows.classes[part],
            TEMPERATURE,
            sums.row_norm / CLIP_NORM / 2**GRID_BITS,
            sums.row_norm * CLIP_SHARE,
            float(sums.row_norm) ** 2 * (1 - 2**-30),
            integers.largest_whole(2),
        )
    )
    assert int(one.abs().max()) > 500
    apart = (one - other).abs()
    assert int((apart > 1).sum()) <= (20 if scale > 100 else 0)
    assert float((apart > 0).to(torch.float64).mean()) < 0.05


def test_projections_whose_sums_leave_32_bits_are_refused():
    rows = TrainingRows(torch.ones(2, 2**17 + 1), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match="projections of 131073 inputs"):
        ClosedForm(rows, torch.ones(1, 1, 2**17 + 1), TEMPERATURE, CLIP_NORM)
    # At the edge sums of the largest bytes still fit.
    full = TrainingRows(rows.inputs[:, 1:], rows.classes)
    largest = torch.full((1, 1, 2**17), 127 / 2**PROJECTION_BITS)
    # Rows along a projection have few bits left of two limbs.
    sums = ClosedForm(full, largest, TEMPERATURE, CLIP_NORM, n_limbs=4)
    weights, biases = torch.tensor([[[1e-9], [-1e-9]]]), torch.zeros(1, 2)
    one = sums.lattice_sum(weights, biases, torch.tensor([0]))
    assert 0.9 * sums.row_norm < norm(one) <= sums.row_norm
    assert torch.equal(sums.lattice_sum(weights, biases, torch.tensor([0, 1])), 2 * one)
