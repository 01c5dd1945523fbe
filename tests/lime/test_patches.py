"""Patches of pixels: what they cover, and how effects are shared."""

from __future__ import annotations

import numpy as np

from interpret_dp import Continuous
from interpret_dp.lime.patches import Patches


def test_patches_cover_an_image_and_share_effects_equally() -> None:
    patches = Patches((48, 48), (Continuous(0, 255),) * 48**2)
    assert patches.side == 4
    assert len(patches.names) == len(set(patches.names)) == 144
    assert patches.names[13] == "rows 4-7, columns 4-7"
    values = np.arange(288.0).reshape(2, 144)
    shared = patches.spread(values).reshape(2, 48, 48)
    np.testing.assert_allclose(shared[1, 4:8, 4:8], values[1, 13] / 16)
    np.testing.assert_allclose(shared.sum(axis=(1, 2)), values.sum(axis=1))
