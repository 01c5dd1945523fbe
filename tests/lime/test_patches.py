"""Patches of pixels: what they cover, and how effects are shared."""

from __future__ import annotations

import numpy as np

from interpret_dp import Continuous
from interpret_dp.lime.patches import Patches
from interpret_dp.schema import open_table


def test_patches_cover_an_image_and_share_effects_equally() -> None:
    patches = Patches((48, 48), (Continuous(0, 255),) * 48**2)
    assert patches.side == 4
    assert len(patches.names) == len(set(patches.names)) == 144
    assert patches.names[13] == "rows 4-7, columns 4-7"
    values = np.arange(288.0).reshape(2, 144)
    shared = patches.spread(values).reshape(2, 48, 48)
    np.testing.assert_allclose(shared[1, 4:8, 4:8], values[1, 13] / 16)
    np.testing.assert_allclose(shared.sum(axis=(1, 2)), values.sum(axis=1))


def test_patches_at_the_edge_are_smaller_and_means_are_of_the_bounded_pixels() -> None:
    patches = Patches((26, 20), (Continuous(0, 10),) * 520)
    assert patches.side == 2
    narrow = Patches((25, 13), (Continuous(0, 10),) * 325)
    assert narrow.side == 2
    assert narrow.names[-1] == "rows 24-24, columns 12-12"
    assert np.bincount(narrow.of_pixel).tolist()[-1] == 1
    assert set(narrow.features.values()) == {Continuous(0, 10)}
    image = np.full((1, 325), 3.0)
    image[0, [0, 1, 13]] = np.nan, 1e9, -np.inf
    column = narrow.table(open_table(image)).column(0)
    np.testing.assert_array_equal(column, [(5 + 10 + 0 + 3) / 4])
