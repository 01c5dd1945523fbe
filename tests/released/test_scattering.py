"""Wavelet features of images: each image by itself, bounded, and of the strokes that it has."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.ndimage import convolve

from interpret_dp.released.scattering import CELL, ORIENTATIONS, Scattering, _channels

SHAPES = [(8, 8), (9, 14), (28, 28), (12, 8, 3)]


def some_images(shape, n_rows, seed=0):
    """Return noise, a blank image, one of background but for a pixel, and huge values."""
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n_rows, int(np.prod(shape))))
    images[0], images[1] = 0.25, 0.0
    images[1, 5] = 1.0
    images[2] *= 2.0**20
    return images


def stroke(degrees, side=24):
    """Return a bar through the middle of an image, turned anticlockwise from the horizontal."""
    angle = np.deg2rad(degrees)
    down, right = np.mgrid[:side, :side] - (side - 1) / 2
    across = right * np.sin(angle) + down * np.cos(angle)
    return np.exp(-(across**2) / 2)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_image_has_the_same_bits_beside_any_others(shape):
    scattering, images = Scattering(shape), some_images(shape, 7)
    together = scattering.features(images)
    order = np.random.default_rng(1).permutation(7)
    assert scattering.features(images[order]).tobytes() == together[order].tobytes()
    changed = images.copy()
    changed[3] = -images[3]
    rest = np.arange(7) != 3
    assert scattering.features(changed)[rest].tobytes() == together[rest].tobytes()
    assert not np.array_equal(scattering.features(changed)[3], together[3])
    for image, features in zip(images, together, strict=True):
        # At another address in memory.
        alone = np.concatenate([[0.0], image])[1:]
        assert scattering.features(alone)[0].tobytes() == features.tobytes()


@given(
    shape=st.sampled_from(SHAPES),
    scale=st.sampled_from([0.0, 1e-8, 1e-3, 1.0, 2.0**20]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=30)
def test_no_image_is_longer_than_the_bound(shape, scale, seed):
    rng = np.random.default_rng(seed)
    image = scale * rng.normal(size=int(np.prod(shape))) * (rng.uniform() < rng.uniform())
    (features,) = Scattering(shape).features(image).astype(np.float64)
    assert np.isfinite(features).all()
    assert features @ features <= Scattering(shape).n_features
    if scale >= 0.1 and image.any():
        assert features @ features > 0.3 * Scattering(shape).n_features
    if scale == 0:
        assert not features.any()


@pytest.mark.parametrize("turn", range(ORIENTATIONS))
def test_a_stroke_raises_its_own_orientation_where_it_is(turn):
    channels = _channels(stroke(180 * turn / ORIENTATIONS).astype(np.float32))
    for first in (1, 1 + ORIENTATIONS):
        of_scale = channels[first : first + ORIENTATIONS].sum(axis=(1, 2))
        assert of_scale.argmax() == turn
    fine = channels[1 + turn]
    assert fine[2:4, 2:4].mean() > 2 * fine.mean()
    if turn == 0:
        assert set(np.argsort(fine[:, 3])[-2:]) == {2, 3}


def test_a_constant_is_brightness_alone():
    image = np.random.default_rng(0).uniform(size=(12, 12)).astype(np.float32)
    channels, shifted = _channels(image), _channels(image + 1)
    assert shifted[0] == pytest.approx(channels[0] + 1, abs=1e-5)
    assert shifted[1:] == pytest.approx(channels[1:], abs=1e-5)


def test_channels_are_moduli_of_morlet_wavelets_averaged_over_cells():
    """By direct convolution, from the definition: fine 45 degrees, then along 90 degrees."""
    image = np.random.default_rng(2).uniform(size=(16, 16))
    padded = np.pad(image, CELL, mode="reflect")
    down, right = np.mgrid[-14:15, -14:15]

    def wavelet(degrees, scale):
        angle = np.deg2rad(degrees)
        along = right * np.cos(angle) - down * np.sin(angle)
        across = right * np.sin(angle) + down * np.cos(angle)
        envelope = np.exp(-(across**2 + along**2 / 4) / (2 * (0.8 * scale) ** 2))
        wave = np.exp(0.75j * np.pi / scale * across)
        morlet = envelope * (wave - (envelope * wave).sum() / envelope.sum())
        return morlet / (4 * np.pi * (0.8 * scale) ** 2)

    def modulus(maps, filters):
        parts = [convolve(maps, part, mode="wrap") for part in (filters.real, filters.imag)]
        return np.hypot(*parts)

    def average(maps, step):
        middles = CELL + CELL * np.arange(4)[:, None] + 1.5
        window = np.exp(-((middles - np.arange(0, 24, step)) ** 2) / (2 * 1.6**2))
        window /= window.sum(axis=1, keepdims=True)
        return window @ maps @ window.T

    fine = modulus(padded, wavelet(45, 1))
    varying = modulus(fine, wavelet(90, 2))[::2, ::2]
    channels = _channels(image.astype(np.float32))
    second = 1 + 2 * ORIENTATIONS + 2 * ORIENTATIONS + 4
    assert channels[1 + 2] == pytest.approx(average(fine, 1), rel=1e-3)
    assert channels[second] == pytest.approx(average(varying, 2), rel=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_by_place_lose_nothing(shape):
    scattering = Scattering(shape)
    values = np.random.default_rng(3).normal(size=scattering.n_features)
    pixels = scattering.by_pixel(values)
    assert pixels.shape == (np.prod(shape),)
    assert pixels.sum() == pytest.approx(values.sum())
    colours, channels, *_ = scattering.shape
    of_cell = values.reshape(scattering.shape)[0, :, 0, 1].sum()
    corner = pixels.reshape(*shape[:2], colours)[:CELL, CELL : 2 * CELL, 0]
    assert corner == pytest.approx(np.full(corner.shape, of_cell / corner.size))
    named = [name for name in scattering.names if name.startswith("coarse 45")]
    assert len(named) * channels == scattering.n_features


def test_small_images_are_refused():
    with pytest.raises(ValueError, match=r"\(7, 28\); features='scattering' needs .* 8 x 8"):
        Scattering((7, 28))
