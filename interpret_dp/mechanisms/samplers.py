"""Exact discrete Gaussian noise: OpenDP's sampler, and ours for long vectors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.mechanisms.vectorised import vectorised_discrete_gaussian

__all__ = ["OPENDP_DRAWS", "discrete_gaussian"]

# Calls of up to this many draws go to OpenDP, which the field knows and reviews; they take it a
# twentieth of a second. Above that, ours is a thousand times faster. Both sample the same
# distribution exactly, so that the switch shows in no release.
OPENDP_DRAWS = 4096


@lru_cache(maxsize=16)
def _noise_measurement(sigma: float) -> Any:
    # opendp.prelude takes seconds to import, these modules a quarter of one.
    # T="i64" and not T=int: OpenDP reads int as 32 bits, which a lattice sum overflows.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    measurement: Any = make_gaussian(
        vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=sigma
    )
    return measurement


def discrete_gaussian(sigma: float, size: int) -> NDArray[np.int64]:
    """Draw exact discrete Gaussian noise; nobody can reproduce it.

    Calls of up to ``OPENDP_DRAWS`` = 4,096 draws use OpenDP's sampler, longer ones
    :func:`~interpret_dp.mechanisms.vectorised.vectorised_discrete_gaussian`.

    Parameters
    ----------
    sigma : float
        Scale, in lattice units.
    size : int
        Number of independent draws.

    Returns
    -------
    ndarray of int64, shape (size,)
        Probability proportional to ``exp(-z**2 / (2 sigma**2))`` at every integer ``z``.

    Notes
    -----
    OpenDP's is an implementation of Canonne, Kamath and Steinke, "The Discrete Gaussian for
    Differential Privacy" (2020), Algorithm 3: rational arithmetic only, no floating point. Its
    bits come from OpenSSL's generator, which the operating system seeds, as do those of ours. Draws
    saturate at 2**63; :func:`~interpret_dp.mechanisms.gaussian_mechanism` keeps scales far below
    that. Ours refuses such scales itself and is as exact (docs/proofs/vectorised_sampler.md).
    """
    if size == 0:
        return np.zeros(0, dtype=np.int64)
    if size > OPENDP_DRAWS:
        return vectorised_discrete_gaussian(sigma, size)
    return np.asarray(_noise_measurement(float(sigma))([0] * size), dtype=np.int64)
