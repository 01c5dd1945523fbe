"""Sites of a test: their noise is fixed, and one place can be fitted by the rules of sites."""

from types import SimpleNamespace

import numpy as np

from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.sites import simulate

NAMES = ("north", "south", "west")
SEED = 5


class Shares(SeededRandomness):
    """Noise of one site; that of one place is the sum of all sites' noise."""

    def __init__(self, place, n_sites, scale=1.0):
        super().__init__(0)
        self.place, self.n_sites, self.scale, self.exact = place, n_sites, scale, []

    def perturb(self, name, exact, sensitivity, sigma):
        self.exact.append((name, exact.copy(), sensitivity, sigma))
        rng = np.random.default_rng(len(self.exact))
        sizes = self.scale * sigma * rng.normal(size=(self.n_sites, *exact.shape))
        shares = np.rint(sizes).astype(np.int64)
        return exact + (shares.sum(axis=0) if self.place is None else shares[self.place])


def one_place(n_sites):
    """Return a site that has all rows, follows the rules of sites and has their noise."""
    numbers = {"n_sites": n_sites, "n_shares": n_sites - 1, "max_sites": 1}
    return SimpleNamespace(
        **{
            "clauses": (),
            "scope": "sites",
            "token": "",
            "has_released": False,
            "open": lambda terms: SEED,
        }
        | numbers,
        **{"close": lambda head, digest: (), "stop": lambda: None},
        total=lambda noisy, facts: noisy,
    )


def at_one_place(fit, n_sites):
    """Fit all rows; ``fit`` takes a site, and which rows are its own."""
    with use_randomness(Shares(None, n_sites)):
        return fit(one_place(n_sites), slice(None))


def at_sites(fit, places, n_sites, **options):
    """Fit at sites; ``places`` has the number of each row's site."""

    def of_site(site):
        number, begin = NAMES.index(site.name), site.open
        site.open = lambda terms: (begin(terms), SEED)[1]
        with use_randomness(Shares(number, n_sites)):
            return fit(site, np.flatnonzero(places == number))

    return simulate(NAMES[:n_sites], of_site, timeout=60, **options)
