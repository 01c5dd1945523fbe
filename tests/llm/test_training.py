"""The training's public parts: projections, schedules, the lattice."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from interpret_dp.llm import config
from interpret_dp.llm.request import MapsSettings, training_settings
from interpret_dp.llm.training import public_projections

IMAGE = (12, 10)
SETTINGS = dataclasses.replace(
    config.default_settings(120, IMAGE), n_maps=4, projection_dim=30, projection="gaussian"
)


def drawn(**changes):
    settings = dataclasses.replace(SETTINGS, **changes)
    found = public_projections(120, settings, IMAGE, np.random.default_rng(0))
    assert found.dtype == np.float32
    return found.astype(np.float64)


def test_smooth_projections_have_the_same_length_and_like_neighbours():
    smooth, rough = drawn(smoothing=1.0), drawn(smoothing=0.0)
    assert (smooth**2).sum(axis=2) == pytest.approx(60.0, rel=1e-2)
    for projections, low, high in ((smooth, 0.6, 0.95), (rough, -0.1, 0.1)):
        images = projections.reshape(4, 30, *IMAGE)
        assert low < np.corrcoef(images[..., 1:].ravel(), images[..., :-1].ravel())[0, 1] < high


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_orthonormal_projections_are_orthogonal_and_of_the_same_length(smoothing):
    for projection in drawn(projection="orthonormal", smoothing=smoothing):
        # Random projections are rounded to bytes.
        assert projection @ projection.T == pytest.approx(60.0 * np.eye(30), abs=0.6)
        assert np.array_equal(
            projection * 2**config.PROJECTION_BITS, np.rint(projection * 2**config.PROJECTION_BITS)
        )


@pytest.mark.parametrize("n_parameters", [1, 100, 90_300, 235_500, 10**8])
def test_truncation_fits_into_the_room_that_clipping_leaves(n_parameters):
    """Two truncated sums differ by at most the clipped norm plus the root of the dimension."""
    points = config.lattice_points(n_parameters)
    assert math.log2(points).is_integer()
    assert config.CLIP_SHARE * points + math.sqrt(n_parameters) <= points * (1 - 4e-5)


def test_physical_batches_are_bounded_whatever_the_model():
    assert config.rows_at_a_time(300, 784) * (6 * 300 + 784) * 4 <= 2**26
    assert config.rows_at_a_time(10**9, 10) == 1


def test_more_inputs_than_can_be_summed_exactly_are_refused_with_the_request():
    coding = SimpleNamespace(n_inputs=config.MOST_PROJECTED + 1, n_varying=1, scattering=None)
    settings = MapsSettings(projection_dim=5)
    with pytest.raises(ValueError, match="projections of 524289 inputs; at most 524288"):
        training_settings(settings, coding, None)
    settings = dataclasses.replace(settings, projection_dim=0)
    assert training_settings(settings, coding, None).projection_dim is None
    coding.n_inputs = config.MOST_INPUTS + 1
    with pytest.raises(ValueError, match="There are 4194305 inputs; at most 4194304 can be summed"):
        training_settings(settings, coding, None)
