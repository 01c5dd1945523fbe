"""The best of a random number of runs: its law, its privacy profile, and what covers it."""

import math
from bisect import bisect_left

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from interpret_dp import PrivacyLedger
from interpret_dp.accounting import GdpPair, delta_of_mu, event_to_json, reduce_event
from interpret_dp.accounting.composition import (
    Repetitions,
    _largest_shift,
    _tail_is_covered,
    selection_mu,
    selection_profile,
)
from interpret_dp.accounting.events import PrivateSelectionEvent
from tests.ledger.requests import reserve

LAWS = [(0.0, 5.0), (0.5, 10.0), (1.0, 50.0)]
MUS = [0.1, 0.4, 1.5]
EACH_MU = pytest.mark.parametrize(
    "mu", [pytest.param(mu, marks=[pytest.mark.thorough] * (mu != 0.4)) for mu in MUS]
)


def law(shape, mean):
    """Return the law with this mean."""
    stopping = brentq(lambda s: Repetitions(shape, s).mean - mean, 2.0**-16, 1.0 - 2.0**-40)
    return Repetitions(shape, stopping)


def divergence(mu, repetitions, score, epsilons, *, flip):
    """Return each epsilon's delta of the best of K Gaussian runs in an order, by summation.

    A run's outcome x has the law N(0, 1) or N(mu, 1), on 20,001 points; best is the highest
    score(x). Ties are halved, which is what drawing among them does.
    """
    x = np.linspace(-11.0, 11.0 + mu, 20_001)
    cells = [np.diff(ndtr(np.append(x, np.inf) - m), prepend=0.0)[: len(x)] for m in (0.0, mu)]
    with_row, without = cells[::-1] if flip else cells
    order = np.argsort(-score(x), kind="stable")
    chosen = []
    for part in (with_row[order], without[order]):
        rank = np.cumsum(part) - 0.5 * part
        chosen.append(part * repetitions.rank_density(rank))
    return [np.maximum(chosen[0] - math.exp(e) * chosen[1], 0.0).sum() for e in epsilons]


#: Orders that put the outcomes most typical of one table last, first, or outside of the rest.
ORDERS = {
    "increasing": lambda x: x,
    "decreasing": lambda x: -x,
    "far from the middle": lambda x: np.abs(x - 1.0),
    "near to it": lambda x: -np.abs(x - 1.0),
    "a tail first": lambda x: np.where(x > 1.3, x, -x - 10.0),
    "the other tail first": lambda x: np.where(x < -1.3, -x, x - 10.0),
}


@pytest.mark.parametrize(("shape", "mean"), LAWS)
@EACH_MU
def test_no_order_of_outcomes_loses_more_than_the_profile_and_its_cover(mu, shape, mean):
    repetitions = law(shape, mean)
    covering = selection_mu(mu, repetitions)
    epsilons = np.linspace(0.0, 5.0 * mu + 1.0, 6)
    profile = selection_profile(mu, repetitions, epsilons)
    largest = np.zeros(len(epsilons))
    for score in ORDERS.values():
        for flip in (False, True):
            found = divergence(mu, repetitions, score, epsilons, flip=flip)
            largest = np.maximum(largest, found)
    # Sums over a grid of outcomes are off by less than this.
    assert (largest <= profile + 1e-7).all()
    assert (largest <= [delta_of_mu(covering, e) + 1e-7 for e in epsilons]).all()
    # A control of the test: one of the orders comes near the worst.
    assert largest[1] > 0.25 * profile[1]


@pytest.mark.parametrize(("shape", "mean"), LAWS)
@EACH_MU
def test_far_out_the_cover_is_above_a_bound_in_closed_form(mu, shape, mean):
    repetitions = law(shape, mean)
    covering, shift = selection_mu(mu, repetitions), _largest_shift(mu, repetitions)
    for epsilon in np.linspace(shift + 8.0 * mu, shift + 35.0 * mu, 20):
        bound = repetitions.mean * delta_of_mu(mu, epsilon - shift)
        assert bound <= delta_of_mu(covering, epsilon)


@pytest.mark.parametrize("distance", [8.0, 20.0])
@pytest.mark.parametrize(("shape", "mean"), LAWS)
@pytest.mark.parametrize("mu", MUS)
def test_the_smallest_mu_that_covers_a_tail_is_enough_and_not_much_too_large(
    mu, shape, mean, distance
):
    repetitions = law(shape, mean)
    shift = _largest_shift(mu, repetitions)
    start = shift + distance * mu

    def is_enough(covering, epsilon):
        bound = repetitions.mean * delta_of_mu(mu, epsilon - shift)
        return bound <= delta_of_mu(covering, epsilon)

    coverings = list(mu * 1.002 ** np.arange(550))
    first = bisect_left(coverings, True, key=lambda c: _tail_is_covered(mu, repetitions, c, start))
    smallest = coverings[first]
    assert all(is_enough(smallest, epsilon) for epsilon in np.linspace(start, 1.5 * start, 50))
    assert not is_enough(smallest / 1.1, start)


def document_of(mu, repetitions):
    """Return the event of such a request as ledgers hold it."""
    event = PrivateSelectionEvent(1.0 / mu, repetitions.shape, repetitions.stopping)
    return event_to_json(event)


STORED_REQUESTS = [
    (0.1, 1.0, 0.2, 5.0, 0.17521832048771832),
    (0.4, 0.5, 0.05, 12.236067977499788, 0.8304527195804529),
    (1.5, 0.0, 0.01, 21.49757685421097, 2.7079262214579263),
]


@pytest.mark.parametrize(("mu", "shape", "stopping", "mean", "cover"), STORED_REQUESTS)
def test_stored_requests_go_on_to_cost_what_they_were_charged(mu, shape, stopping, mean, cover):
    repetitions = Repetitions(shape, stopping)
    assert repetitions.mean == pytest.approx(mean, rel=1e-12)
    assert selection_mu(mu, repetitions) == pytest.approx(cover, rel=1e-9)


def test_new_requests_of_this_kind_are_refused_and_cost_nothing():
    ledger = PrivacyLedger.in_memory()
    event = document_of(0.25, law(1.0, 5.0))
    nested = {**event, "event": {"kind": "composed", "events": [event["event"]]}}
    for document in (event, nested):
        with pytest.raises(ValueError, match=r"new ones are refused.*choosing_settings"):
            reserve(ledger, "people", event=document)
    assert ledger.datasets() == []


def test_the_event_is_charged_as_the_cover():
    repetitions = law(1.0, 5.0)
    document = document_of(0.25, repetitions)
    assert reduce_event(document) == GdpPair(selection_mu(0.25, repetitions))
    with pytest.raises(ValueError, match="mu of each run is"):
        reduce_event(document_of(17.0, repetitions))
