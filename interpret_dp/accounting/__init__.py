"""Privacy arithmetic: Gaussian differential privacy, event trees, composition, the guarantee.

Never sees data. Importing it is light: SciPy and dp_accounting are imported on first use.
"""

from __future__ import annotations

from interpret_dp.accounting.composition import GdpPair, compose, gaussian_part, reduce_event
from interpret_dp.accounting.events import gaussian_events_json
from interpret_dp.accounting.gaussian import (
    classic_mu,
    delta_of_mu,
    detection_power,
    epsilon_of_mu,
    largest_mu,
    lattice_sigma,
    mu_of_budget,
    mu_of_lattice,
)
from interpret_dp.accounting.guarantee import (
    DEFAULT_ASSUMPTIONS,
    UNDECLARED_ASSUMPTIONS,
    Guarantee,
    ReleaseShare,
)

__all__ = [
    "DEFAULT_ASSUMPTIONS",
    "UNDECLARED_ASSUMPTIONS",
    "GdpPair",
    "Guarantee",
    "ReleaseShare",
    "classic_mu",
    "compose",
    "delta_of_mu",
    "detection_power",
    "epsilon_of_mu",
    "gaussian_events_json",
    "gaussian_part",
    "largest_mu",
    "lattice_sigma",
    "mu_of_budget",
    "mu_of_lattice",
    "reduce_event",
]
