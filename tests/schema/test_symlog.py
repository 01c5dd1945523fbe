"""The symmetric-log scale: fine near zero, coarse far away, whatever the unit."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp import Continuous, Schema
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


@pytest.mark.parametrize(
    "bounds", [(-1e9, 1e9), (0, 1e6), (3, 8), (-5, 0), (-1e307, 1e307), (2, 2), (-5e-324, 5e-324)]
)
@pytest.mark.parametrize("n_bins", [1, 2, 7, 128])
def test_cuts_stay_between_the_bounds(bounds: tuple[float, float], n_bins: int) -> None:
    spec = Continuous(*bounds, "symlog")
    with np.errstate(all="raise", under="ignore"):
        edges = fine_edges(spec, n_bins)
    assert len(edges) < n_bins
    assert (np.diff(edges) > 0).all()
    assert ((edges > spec.lower) & (edges <= spec.upper)).all()
    assert np.isfinite(edges).all()


def test_documents_keep_the_scale() -> None:
    schema = Schema({"a": Continuous(-1, 1, "symlog")})
    assert Schema.from_dict(schema.to_dict()) == schema
    assert repr(schema.features["a"]) == "Continuous(-1, 1, scale='symlog')"
