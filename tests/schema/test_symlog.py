"""The symmetric-log scale: fine near zero, coarse far away, whatever the unit."""

from __future__ import annotations

import numpy as np

from interpret_dp import Continuous
from interpret_dp.schema import fine_edges


def test_cuts_are_even_in_the_order_of_magnitude() -> None:
    edges = fine_edges(Continuous(-(2**30), 2**30, "symlog"), 128)
    assert len(edges) == 127
    np.testing.assert_allclose(edges, -edges[::-1], rtol=1e-9, atol=1e-12)
    far = edges[edges > 1]
    ratios = far[1:] / far[:-1]
    np.testing.assert_allclose(ratios, ratios[-1], rtol=1e-5)
    assert 1.3 < ratios[-1] < 1.7
    assert ((edges > 0) & (edges < 1)).sum() > 10
