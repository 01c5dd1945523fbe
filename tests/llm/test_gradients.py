"""Clipped sums: against autograd, against Opacus, against a loop; and what one row can change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.llm import gradients
from interpret_dp.llm.config import CLIP_SHARE
from interpret_dp.llm.gradients import ClosedForm, TrainingRows, map_gradients
from interpret_dp.llm.opacus_engine import OpacusSums

CLIP_NORM = 4.0
TEMPERATURE = 0.7


@pytest.fixture(params=["kept", "not kept"])
def space(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute with projected rows that are kept, and in the space of the inputs."""
    if request.param == "not kept":
        monkeypatch.setattr(gradients, "_MOST_KEPT", 0)


def problem(
    dtype: torch.dtype, *, projected: bool, n_rows: int = 40, seed: int = 0
) -> tuple[TrainingRows, Any, torch.Tensor, torch.Tensor]:
    """Return rows (some without a label), projections or None, weights and biases."""
    rng = np.random.default_rng(seed)
    n_maps, n_classes, n_inputs, dimension = 3, 4, 9, 5

    def drawn(*shape: int) -> torch.Tensor:
        return torch.tensor(rng.normal(size=shape), dtype=dtype)

    rows = TrainingRows(drawn(n_rows, n_inputs), torch.tensor(rng.integers(-1, n_classes, n_rows)))
    projections = drawn(n_maps, dimension, n_inputs) if projected else None
    size = dimension if projected else n_inputs
    return rows, projections, drawn(n_maps, n_classes, size), drawn(n_maps, n_classes)


def loss_of(
    row: torch.Tensor, label: int, projections: Any, weights: torch.Tensor, biases: torch.Tensor
) -> torch.Tensor:
    """Return one example's cross-entropy, straight from the definition of the model."""
    inputs = row if projections is None else torch.einsum("mdi,i->md", projections, row)
    pattern = "i,mki->mk" if projections is None else "md,mkd->mk"
    values = torch.einsum(pattern, inputs, weights) + biases
    shares = torch.softmax(TEMPERATURE * values, dim=0)
    return -torch.log_softmax((shares * values).sum(dim=0), dim=0)[label]


def looped_sum(
    rows: TrainingRows, projections: Any, weights: torch.Tensor, biases: torch.Tensor
) -> torch.Tensor:
    """Return the clipped sum one example at a time, by autograd."""
    total = torch.zeros(weights.numel() + biases.numel(), dtype=torch.float64)
    limit = CLIP_NORM * CLIP_SHARE
    for row, label in zip(rows.inputs, rows.classes.tolist(), strict=True):
        if label < 0:
            continue
        w, b = weights.clone().requires_grad_(), biases.clone().requires_grad_()
        loss_of(row, label, projections, w, b).backward()
        assert w.grad is not None
        assert b.grad is not None
        gradient = torch.cat([w.grad.reshape(-1), b.grad.reshape(-1)]).to(torch.float64)
        total += gradient * min(1.0, limit / float(gradient.norm()))
    return total


def relative_difference(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).norm() / other.norm())


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize("projected", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
def test_closed_form_is_what_a_loop_by_autograd_gives(
    dtype: torch.dtype, tolerance: float, projected: bool
) -> None:
    rows, projections, weights, biases = problem(dtype, projected=projected)
    looped = looped_sum(rows, projections, weights, biases)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    found = sums.clipped_sum(weights, biases, torch.arange(len(rows.inputs)))
    assert relative_difference(found, looped) < tolerance
    # Control: the test would see a clipping bound that is off by a thousandth.
    wrong = ClosedForm(rows, projections, TEMPERATURE, 1.001 * CLIP_NORM)
    other = wrong.clipped_sum(weights, biases, torch.arange(len(rows.inputs)))
    assert relative_difference(other, looped) > 1e-5


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize("projected", [True, False])
def test_both_engines_and_the_loop_agree(projected: bool) -> None:
    rows, projections, weights, biases = problem(torch.float32, projected=projected)
    everybody = torch.arange(len(rows.inputs))
    arguments = (rows, projections, TEMPERATURE, CLIP_NORM)
    closed = ClosedForm(*arguments).clipped_sum(weights, biases, everybody)
    opacus = OpacusSums(*arguments)
    looped = looped_sum(rows, projections, weights, biases)
    for _ in range(2):  # what one call leaves behind must not reach the next
        assert relative_difference(opacus.clipped_sum(weights, biases, everybody), closed) < 1e-5
    assert relative_difference(opacus.clipped_sum(weights, biases, everybody), looped) < 1e-5


@pytest.mark.parametrize("engine", [ClosedForm, OpacusSums])
def test_empty_samples_and_unlabelled_rows_add_nothing(engine: Any) -> None:
    rows, projections, weights, biases = problem(torch.float32, projected=True)
    sums = engine(rows, projections, TEMPERATURE, CLIP_NORM)
    nobody = torch.arange(0)
    assert sums.clipped_sum(weights, biases, nobody).tolist() == [0.0] * 72
    unlabelled = torch.nonzero(rows.classes < 0)[:, 0]
    assert len(unlabelled) > 3
    assert sums.clipped_sum(weights, biases, unlabelled).abs().max() == 0.0


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize("engine", [ClosedForm, OpacusSums])
def test_physical_batches_change_nothing_but_last_bits(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, projections, weights, biases = problem(torch.float64, projected=True)
    everybody = torch.arange(len(rows.inputs))
    whole = engine(rows, projections, TEMPERATURE, CLIP_NORM).clipped_sum(
        weights, biases, everybody
    )
    module = "interpret_dp.llm." + ("gradients" if engine is ClosedForm else "opacus_engine")
    monkeypatch.setattr(f"{module}.rows_at_a_time", lambda *_: 7)
    parts = engine(rows, projections, TEMPERATURE, CLIP_NORM).clipped_sum(
        weights, biases, everybody
    )
    assert relative_difference(parts, whole) < 1e-12


def test_nothing_of_size_batch_times_parameters_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest tensor that the values pass through has one entry a row, class and map."""
    seen: list[int] = []
    true_gradients = map_gradients

    def watched(values: torch.Tensor, *others: Any) -> torch.Tensor:
        seen.append(values.numel())
        return true_gradients(values, *others)

    monkeypatch.setattr(gradients, "map_gradients", watched)
    rows, projections, weights, biases = problem(torch.float32, projected=True)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    sums.clipped_sum(weights, biases, torch.arange(40))
    # Forty rows, filled up to 128.
    assert seen == [128 * 3 * 4]


@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1e-6, 1e-2, 1.0, 1e3, 1e6]),
    most_kept=st.sampled_from([None, 0, 4]),
)
@settings(max_examples=60)
def test_one_more_row_changes_the_sum_by_at_most_the_bound(
    seed: int, scale: float, most_kept: int | None
) -> None:
    """Rows of any size, in float32; the room for floating point is a relative 1e-4."""
    projected = most_kept is not None
    rows, projections, weights, biases = problem(torch.float32, projected=projected, seed=seed)
    rows = TrainingRows(rows.inputs * scale, rows.classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradients, "_MOST_KEPT", most_kept or 0)
        sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    everybody = torch.arange(len(rows.inputs))
    one = sums.clipped_sum(weights, biases, everybody)
    other = sums.clipped_sum(weights, biases, everybody[:-1])
    assert float((one - other).norm()) <= CLIP_NORM


@pytest.mark.usefixtures("space")
def test_large_gradients_are_clipped_to_the_bound_and_not_below_it() -> None:
    rows, projections, weights, biases = problem(torch.float64, projected=True)
    rows = TrainingRows(rows.inputs * 1e3, rows.classes)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    norms = [float(sums.clipped_sum(weights, biases, torch.tensor([i])).norm()) for i in range(40)]
    assert max(norms) == pytest.approx(CLIP_NORM * CLIP_SHARE, rel=1e-9)


@pytest.mark.usefixtures("space")
def test_values_beyond_the_floats_add_nothing() -> None:
    rows, projections, weights, biases = problem(torch.float32, projected=True)
    rows.inputs[3] = 1e30
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    everybody = torch.arange(40)
    with_it = sums.clipped_sum(weights, biases, everybody)
    without = sums.clipped_sum(weights, biases, everybody[everybody != 3])
    assert torch.isfinite(with_it).all()
    assert float((with_it - without).norm()) <= CLIP_NORM


def hidden_rows(n_rows: int, projection: torch.Tensor) -> torch.Tensor:
    """Return rows as large as inputs get, of which a projection leaves nothing."""
    _, _, basis = torch.linalg.svd(projection.to(torch.float64), full_matrices=True)
    rows = basis[-n_rows:]
    return (rows / rows.abs().amax(dim=1, keepdim=True) * 2.0**20).to(torch.float32)


@pytest.mark.usefixtures("space")
def test_rows_that_a_projection_hides_do_not_drown_the_others() -> None:
    """A sum in the space of the inputs holds them in full, and rounds to a multiple of their bits.

    Without a least norm, fifty of them move the sum by a twentieth of the bound.
    """
    rng = np.random.default_rng(0)
    projections = torch.tensor(rng.normal(size=(1, 10, 80)), dtype=torch.float32)
    hidden = hidden_rows(50, projections[0])
    ordinary = torch.tensor(rng.normal(size=(100, 80)), dtype=torch.float32)
    rows = TrainingRows(torch.cat([ordinary, hidden]), torch.zeros(150, dtype=torch.int64))
    weights = torch.tensor(rng.normal(size=(1, 3, 10)), dtype=torch.float32)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    together = sums.clipped_sum(weights, torch.zeros(1, 3), torch.arange(150))
    apart = sums.clipped_sum(weights, torch.zeros(1, 3), torch.arange(100))
    assert float((together - apart)[:-3].norm()) < 1e-3 * CLIP_NORM


@pytest.mark.usefixtures("space")
def test_a_rows_values_are_the_same_beside_any_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a sample's size, so that a row more changes no bit of what others add."""
    rows, projections, weights, biases = problem(torch.float32, projected=True, n_rows=600)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    seen: list[torch.Tensor] = []

    def watched(values: torch.Tensor, *others: Any) -> torch.Tensor:
        found = map_gradients(values, *others)
        seen.append(found.clone())
        return found

    monkeypatch.setattr(gradients, "map_gradients", watched)
    sums.clipped_sum(weights, biases, torch.arange(600))
    for size in (1, 2, 7, 33, 127, 128, 129, 300):
        sums.clipped_sum(weights, biases, torch.arange(5, 5 + size))
        assert torch.equal(seen[-1][..., :size], seen[0][..., 5 : 5 + size])


@pytest.mark.parametrize("n_inputs", [74, 75])
def test_projected_rows_are_kept_where_they_take_four_times_the_memory_at_most(
    n_inputs: int,
) -> None:
    rows = TrainingRows(torch.ones(5, n_inputs), torch.zeros(5, dtype=torch.int64))
    projections = torch.ones(30, 10, n_inputs)
    sums = ClosedForm(rows, projections, TEMPERATURE, CLIP_NORM)
    assert sums._rows.shape == ((5, 30, 10) if n_inputs == 75 else (5, 1, 74))
