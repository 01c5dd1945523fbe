"""The training's public parts: projections, schedules, the lattice, Adam against torch's own."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy.fft import dctn
from scipy.ndimage import gaussian_filter

from interpret_dp.llm import training
from interpret_dp.llm.config import (
    CLIP_SHARE,
    PROJECTION_BITS,
    default_settings,
    lattice_points,
    rows_at_a_time,
)
from interpret_dp.llm.maps import LocallyLinearMaps
from interpret_dp.llm.projections import public_projections

IMAGE = (12, 10)
SETTINGS = dataclasses.replace(
    default_settings(120, IMAGE), n_maps=4, projection_dim=30, projection="gaussian"
)


def drawn(**changes: object) -> np.ndarray:
    settings = dataclasses.replace(SETTINGS, **changes)  # type: ignore[arg-type]
    found = public_projections(120, settings, IMAGE, np.random.default_rng(0))
    assert found is not None
    assert found.dtype == np.float32
    return found.astype(np.float64)


def test_gaussian_projections_have_variance_one_half() -> None:
    assert drawn(smoothing=0.0).var() == pytest.approx(0.5, rel=0.05)


def test_smooth_projections_have_the_same_length_and_like_neighbours() -> None:
    smooth, rough = drawn(smoothing=1.0), drawn(smoothing=0.0)
    assert (smooth**2).sum(axis=2) == pytest.approx(60.0, rel=1e-2)
    for projections, low, high in ((smooth, 0.6, 0.95), (rough, -0.1, 0.1)):
        images = projections.reshape(4, 30, *IMAGE)
        assert low < np.corrcoef(images[..., 1:].ravel(), images[..., :-1].ravel())[0, 1] < high


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_orthonormal_projections_are_orthogonal_and_of_the_same_length(smoothing: float) -> None:
    for projection in drawn(projection="orthonormal", smoothing=smoothing):
        # Random projections are rounded to bytes.
        assert projection @ projection.T == pytest.approx(60.0 * np.eye(30), abs=0.6)
        assert np.array_equal(
            projection * 2**PROJECTION_BITS, np.rint(projection * 2**PROJECTION_BITS)
        )


@pytest.mark.parametrize("shape", [(12, 10), (10, 12), (8, 5, 3)])
def test_cosines_are_one_basis_for_all_maps_of_the_lowest_frequencies(
    shape: tuple[int, ...],
) -> None:
    settings = dataclasses.replace(SETTINGS, projection="cosine", smoothing=0.0)
    found = public_projections(120, settings, shape, np.random.default_rng(0))
    assert found is not None
    assert found.shape == (1, 30, 120)
    assert found[0] @ found[0].T == pytest.approx(60.0 * np.eye(30), abs=1e-3)
    images = found[0].reshape(30, *shape)
    transforms = np.abs(dctn(images, axes=range(1, images.ndim), norm="ortho"))
    waves = np.stack([np.unravel_index(t.argmax(), shape) for t in transforms])
    assert transforms.max(axis=tuple(range(1, images.ndim))) == pytest.approx(60**0.5, rel=1e-5)
    squares = ((waves / shape) ** 2).sum(axis=1)
    everyone = np.stack(np.unravel_index(np.arange(120), shape), axis=1)
    assert squares == pytest.approx(np.sort(((everyone / shape) ** 2).sum(axis=1))[:30])


def test_blurred_cosines_stay_orthogonal_and_get_shorter_as_a_blur_makes_them() -> None:
    settings = dataclasses.replace(SETTINGS, projection="cosine", smoothing=1.5)
    found = public_projections(120, settings, IMAGE, np.random.default_rng(0))
    assert found is not None
    products = found[0].astype(np.float64) @ found[0].T
    assert products - np.diag(np.diag(products)) == pytest.approx(0.0, abs=1e-3)
    assert np.trace(products) == pytest.approx(30 * 60.0, rel=1e-5)
    transforms = [np.abs(dctn(image)) for image in found[0].reshape(30, *IMAGE)]
    waves = [np.unravel_index(found.argmax(), IMAGE) for found in transforms]
    lengths = np.linalg.norm(found[0], axis=1)
    # A long wave, seen away from its ends, under scipy's own blur.
    wave = np.cos(np.pi * 3 * (np.arange(1200) + 0.5) / 12)
    blurred = gaussian_filter(wave, 1.5, truncate=8.0)
    expected = np.abs(blurred[300:900]).max() / np.abs(wave[300:900]).max()
    assert lengths[waves.index((3, 0))] / lengths[waves.index((0, 0))] == pytest.approx(
        expected, rel=1e-3
    )


def test_adam_is_torchs_and_the_average_is_a_running_one() -> None:
    rng = np.random.default_rng(0)
    start = torch.tensor(rng.normal(size=7), dtype=torch.float32)
    ours = training._Adam(start.clone(), 0.9)
    theirs = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([theirs], lr=0.01)
    average = start.clone()
    for _ in range(50):
        gradient = torch.tensor(rng.normal(size=7), dtype=torch.float32)
        theirs.grad = gradient
        optimizer.step()
        ours.update(gradient, 0.01)
        average = 0.9 * average + 0.1 * theirs.detach()
    assert torch.allclose(ours.parameters, theirs.detach(), atol=1e-5)
    assert torch.allclose(ours.average, average, atol=1e-5)


def test_learning_rate_falls_by_a_fifth_after_each_sixth() -> None:
    rates = [SETTINGS.learning_rate_at(step, 600) for step in range(600)]
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) == 6
    assert rates[-1] == pytest.approx(SETTINGS.learning_rate * 0.8**5)


def test_steps_use_each_row_as_often_as_asked() -> None:
    settings = dataclasses.replace(SETTINGS, epochs=30.0)
    assert settings.n_steps(1 / 30) == 900
    assert settings.n_steps(0.4) == 75
    assert settings.n_steps(1.0) == 30


@pytest.mark.parametrize("n_parameters", [1, 100, 90_300, 235_500, 10**8])
def test_truncation_fits_into_the_room_that_clipping_leaves(n_parameters: int) -> None:
    """Two truncated sums differ by at most the clipped norm plus the root of the dimension."""
    points = lattice_points(n_parameters)
    assert math.log2(points).is_integer()
    assert CLIP_SHARE * points + math.sqrt(n_parameters) <= points * (1 - 4e-5)


def test_physical_batches_are_bounded_whatever_the_model() -> None:
    assert rows_at_a_time(300, 784) * (6 * 300 + 784) * 4 <= 2**26
    assert rows_at_a_time(10**9, 10) == 1


def test_device_auto_is_the_processor_where_there_is_no_other() -> None:
    assert training.compute_device("cpu").type == "cpu"
    if torch.cuda.is_available():
        assert training.compute_device("auto").type == "cuda"
    else:
        assert training.compute_device("auto").type == "cpu"
        with pytest.raises(ValueError, match="device is 'cuda'"):
            training.compute_device("cuda")


def test_scores_are_weighted_sums_of_maps() -> None:
    rng = np.random.default_rng(0)
    model = LocallyLinearMaps(rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4)), 0.5)
    inputs = rng.normal(size=(9_000, 5))
    values = np.einsum("kmd,nd->nkm", model.weights, inputs) + model.biases
    shares = np.exp(0.5 * values) / np.exp(0.5 * values).sum(axis=2, keepdims=True)
    assert model.map_values(inputs) == pytest.approx(values)
    assert model.map_shares(inputs) == pytest.approx(shares)
    assert model.scores(inputs) == pytest.approx((shares * values).sum(axis=2))
