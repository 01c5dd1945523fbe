"""Least squares on the ball against its conditions of optimality."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from interpret_dp.lime.paper.history import minimum_on_ball

ENTRIES = st.floats(-1e3, 1e3).map(lambda value: 0.0 if abs(value) < 1e-3 else value)


@given(arrays(np.float64, (4, 3), elements=ENTRIES), arrays(np.float64, 4, elements=ENTRIES))
def test_no_point_of_the_ball_is_better(design: Any, target: Any) -> None:
    phi = minimum_on_ball(design, target)
    assert np.linalg.norm(phi) <= 1 + 1e-9
    # The loss is convex: it is least where no step towards another point of the ball lowers it.
    slope = design.T @ (design @ phi - target)
    size = max(np.abs(design).max() ** 2, np.abs(design).max() * np.abs(target).max(), 1e-300)
    assert slope @ phi + np.linalg.norm(slope) <= 1e-6 * size
