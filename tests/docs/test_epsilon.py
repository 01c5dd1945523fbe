"""The figures of docs/epsilon.md, computed again; all are rounded up."""

import math
from pathlib import Path

import pytest

from interpret_dp.accounting import detection_power, epsilon_of_mu, mu_of_budget
from tests.docs.pages import table_below

PAGE = Path(__file__).parents[2] / "docs" / "epsilon.md"
DELTA = 1e-6


def rounded_up(value, digits):
    # What lies above by less than the slack of the accounting is the number itself.
    scale = 10**digits
    return f"{math.ceil(value * scale - 1e-6) / scale:.{digits}f}"


def test_detections():
    rows = table_below(PAGE, "# What epsilon means")
    assert [float(row[0]) for row in rows] == [0.1, 0.25, 0.5, 1, 2, 4, 8]
    for epsilon, *figures in rows:
        mu = mu_of_budget(float(epsilon), DELTA)
        powers = [100 * detection_power(mu, level) for level in (0.05, 0.01)]
        assert figures == [rounded_up(mu, 3), *(f"{rounded_up(p, 1)} %" for p in powers)]


def test_fits_together():
    rows = table_below(PAGE, "## Why there is a mu")
    mu = mu_of_budget(1.0, DELTA)
    assert len(rows) == 5
    for fits, together in rows:
        assert together == rounded_up(epsilon_of_mu(mu * math.sqrt(int(fits)), DELTA), 2)


@pytest.mark.parametrize(("value", "printed"), [(0.2301, "0.24"), (0.23, "0.23")])
def test_rounding_is_upwards(value, printed):
    assert rounded_up(value, 2) == printed
