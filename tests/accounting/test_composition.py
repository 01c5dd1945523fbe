"""Pairs: exact composition, and reduction of Gaussian trees compared with dp_accounting."""

import math
from fractions import Fraction

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given, strategies as st

from interpret_dp.accounting import composition, delta_of_mu, epsilon_of_mu
from interpret_dp.accounting.events import composed_json, gaussian_events_json
from interpret_dp.accounting.lattice import reciprocal_down, reciprocal_up, sqrt_up

PAIRS = st.builds(composition.GdpPair, st.floats(0, 10), st.floats(0, 0.01))


@given(st.lists(PAIRS, max_size=20))
def test_composition_is_rounded_up_by_at_most_one_step(pairs):
    total = composition.compose(pairs)
    square = sum((Fraction(pair.mu) ** 2 for pair in pairs), Fraction(0))
    delta = sum((Fraction(pair.delta) for pair in pairs), Fraction(0))
    assert Fraction(total.mu) ** 2 >= square
    assert total.mu == 0 or Fraction(math.nextafter(total.mu, 0)) ** 2 < square
    assert Fraction(total.delta) >= delta
    assert total.delta <= math.nextafter(float(delta), math.inf)
    assert list(composition.compose_each(pairs)) == [
        composition.compose(pairs[: n + 1]) for n in range(len(pairs))
    ]


def test_a_gaussian_tree_reduces_to_what_dp_accounting_says():
    releases = [dp_event.GaussianDpEvent(30.0), dp_event.GaussianDpEvent(40.0)]
    rounds = dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent(releases), 50)
    event = dp_event.ComposedDpEvent([dp_event.NoOpDpEvent(), rounds])
    nodes = [{"kind": "gaussian", "noise_multiplier": noise} for noise in (30.0, 40.0)]
    parts = [({"kind": "no_op"}, 1), ({"kind": "composed", "events": nodes}, 50)]
    pair = composition.reduce_event(composed_json(parts))
    assert pair.mu == pytest.approx(math.sqrt(50 * (30.0**-2 + 40.0**-2)), rel=1e-15)
    assert pair.delta == 0.0
    peer = PLDAccountant().compose(event).get_epsilon(1e-6)
    assert epsilon_of_mu(pair.mu, 1e-6) == pytest.approx(peer, rel=2e-3)


@given(st.lists(st.tuples(st.floats(1e-6, 10), st.integers(1, 10**6)), min_size=1, max_size=6))
def test_reduction_of_the_stored_json_never_understates(parts):
    square = sum(Fraction(mu) ** 2 * count for mu, count in parts)
    mu = composition.reduce_event(gaussian_events_json(parts)).mu
    assert square <= Fraction(mu) ** 2 <= square * (1 + Fraction(1, 2**49))


def test_a_kind_without_a_reduction_is_refused(monkeypatch):
    monkeypatch.setattr(composition, "check_event_json", lambda document: None)
    with pytest.raises(ValueError, match="'laplace' has no exact reduction"):
        composition.reduce_event({"event": {"kind": "laplace"}})


@given(st.floats(1e-12, 0.5), st.floats(0, 0.6))
def test_gaussian_part_leaves_the_total_intact(delta, own):
    left = composition.gaussian_part(delta, own)
    exact = Fraction(own) + (1 - Fraction(own)) * Fraction(left)
    assert left == 0.0 or exact <= Fraction(delta)
    if own < delta * 0.99:
        assert exact >= Fraction(delta) * (1 - Fraction(1, 10**13))


def test_epsilon_of_a_pair():
    pair = composition.GdpPair(0.5, 1e-7)
    epsilon = pair.epsilon_at(1e-6)
    assert pair.delta + (1 - pair.delta) * delta_of_mu(0.5, epsilon) == pytest.approx(1e-6)
    assert epsilon > composition.GdpPair(0.5).epsilon_at(1e-6)
    assert pair.epsilon_at(1e-7) == math.inf


# ------------------------------------------------------------------------------ directed rounding


POSITIVE = st.floats(1e-150, 1e150)


@given(POSITIVE, POSITIVE)
def test_root_is_the_smallest_float_that_is_large_enough(first, second):
    square = Fraction(first) ** 2 + Fraction(second) ** 2
    root = sqrt_up(square)
    assert Fraction(root) ** 2 >= square
    assert Fraction(math.nextafter(root, 0.0)) ** 2 < square
    assert sqrt_up(Fraction(first) ** 2) == first


def test_no_root_of_less_than_zero():
    with pytest.raises(ValueError, match="at least 0"):
        sqrt_up(Fraction(-1))


@given(POSITIVE)
def test_reciprocals_enclose_the_true_value(value):
    exact = 1 / Fraction(value)
    assert Fraction(reciprocal_down(value)) <= exact <= Fraction(reciprocal_up(value))
    assert reciprocal_up(value) <= math.nextafter(reciprocal_down(value), math.inf)
