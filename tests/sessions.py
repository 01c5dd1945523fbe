"""A release session without plan and ledger, for tests of what a trainer releases."""

import numpy as np

from interpret_dp.accounting.lattice import Neighbourhood


class Session:
    """Adds normal noise of a given share of the sensitivity, and notes what it was asked."""

    neighbourhood = Neighbourhood()

    def __init__(self, noise=0.0):
        self.noise, self.asked = noise, []

    def gaussian(self, name, exact, *, row_norm, aligned):
        self.asked.append((name, exact, row_norm, aligned))
        sigma = self.noise * row_norm
        noisy = exact + np.random.default_rng(1).normal(scale=sigma, size=exact.shape)
        return np.rint(noisy).astype(np.int64), sigma
