"""Several sites fit one model: masked sums leave a site, never rows, counts or exact sums.

Every site runs the same program on its own rows. What it does not know of the others it learns from
released numbers, which all have alike. docs/proofs/sites.md has the protocol and what it promises.
"""

from __future__ import annotations

from interpret_dp._optional import import_optional
from interpret_dp.exceptions import SitesError

import_optional("cryptography", extra="sites", purpose="Fitting at sites")

from interpret_dp.sites.coordinator import Coordinator, simulate  # noqa: E402
from interpret_dp.sites.masks import SigningKey  # noqa: E402
from interpret_dp.sites.session import Site, Transport  # noqa: E402

__all__ = ["Coordinator", "SigningKey", "Site", "SitesError", "Transport", "simulate"]
