"""Approximate bounds: empty bins are rarely believed, and full ones are found."""

import numpy as np
import pytest
from scipy.stats import norm

from interpret_dp.mechanisms import additive
from interpret_dp.mechanisms.additive import FALSE_ALARM, occupied_range
from tests.statistical.noise_checks import LEVEL, binomial_p

SIGMA = 2.0**20


def histogram(n_bins=257, **rows):
    """Return counts without noise, in units of sigma at the given bins."""
    counts = np.zeros(n_bins)
    for place, count in rows.items():
        counts[int(place[1:])] = count
    return np.rint(counts * SIGMA).astype(np.int64)


NOISY_HISTOGRAMS = [
    (histogram(), None),
    (histogram(_5=4.9), None),
    (histogram(_5=5.0), (5, 5)),
    (histogram(_0=9, _256=9), (0, 256)),
    (histogram(_9=20, _7=20), (7, 9)),
    # A neighbour needs less than a bin anywhere; a gap ends the range.
    (histogram(_9=20, _10=3.2, _11=3.2), (9, 11)),
    (histogram(_9=20, _10=3.0), (9, 9)),
    (histogram(_9=20, _11=4.8), (9, 9)),
    (histogram(_0=3.2, _1=20), (0, 1)),
    (histogram(_255=20, _256=3.2), (255, 256)),
]


@pytest.mark.parametrize(("noisy", "found"), NOISY_HISTOGRAMS)
def test_which_bins_are_believed(noisy, found):
    assert occupied_range(noisy, SIGMA) == found


def alarms(trials, n_bins):
    rng = np.random.default_rng(3)
    noisy = np.rint(rng.normal(scale=SIGMA, size=(trials, n_bins))).astype(np.int64)
    return sum(occupied_range(row, SIGMA) is not None for row in noisy)


@pytest.mark.statistical
def test_empty_histograms_raise_as_few_alarms_as_stated(monkeypatch):
    """20,000 empty histograms of 51 bins; two-sided, level 1e-9, at a rate that can be seen.

    The rate is set to 1 %. Controls: ten times and a tenth of it are more than 10 standard errors
    away.
    """
    for rate, is_true in ((0.01, True), (0.1, False), (0.001, False)):
        monkeypatch.setattr(additive, "FALSE_ALARM", rate)
        found = alarms(20_000, 51)
        assert (binomial_p(found, 20_000, 0.01) > LEVEL) is is_true


@pytest.mark.statistical
def test_a_bin_is_found_as_often_as_its_rows_say():
    """20,000 histograms with one bin of five noise units; level 1e-9, two-sided.

    Controls: the rates at 4.5 and 5.5 noise units are more than 40 standard errors away.
    """
    rng = np.random.default_rng(4)
    trials, n_bins, at = 20_000, 257, 100
    noise = np.rint(rng.normal(scale=SIGMA, size=trials)).astype(np.int64)
    found = 0
    for draw in noise:
        noisy = histogram(n_bins)
        noisy[at] = 5 * SIGMA + draw
        found += occupied_range(noisy, SIGMA) is not None
    limit = norm.isf(FALSE_ALARM / n_bins)
    for rows, is_true in ((5.0, True), (4.5, False), (5.5, False)):
        assert (binomial_p(found, trials, norm.sf(limit - rows)) > LEVEL) is is_true
