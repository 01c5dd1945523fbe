"""Noise of the tests: the same in every run, another for each test."""

import numpy as np
import pytest

from interpret_dp.mechanisms import SystemRandomness
from tests.repeatable import drawn_alike, named_after


def drawn(name):
    """Return what two sources that are made under a name draw."""
    with drawn_alike(), named_after(name):
        sources = SystemRandomness(), SystemRandomness()
        return np.array(
            [[*source.noise(2**12, 3), source.below(2**40)] for source in sources], dtype=np.int64
        )


def test_names_sources_and_seeds_have_their_own_draws(monkeypatch):
    first = drawn("a")
    assert np.array_equal(drawn("a"), first)
    assert not np.intersect1d(first, drawn("b")).size
    assert not np.intersect1d(*first).size
    monkeypatch.setattr("tests.repeatable._SEED", "7")
    assert not np.intersect1d(first, drawn("a")).size


def test_inner_names_leave_the_outer_draws_where_they_were():
    with drawn_alike(), named_after("a"):
        plain = SystemRandomness().noise(2**12, 3)
    with drawn_alike(), named_after("a"):
        with named_after("b"):
            SystemRandomness()
        assert np.array_equal(SystemRandomness().noise(2**12, 3), plain)


def test_what_inherits_draws_alike_and_the_system_is_back_afterwards():
    class Watching(SystemRandomness):
        pass

    before = SystemRandomness.noise
    with drawn_alike(), named_after("a"):
        assert np.array_equal(Watching().noise(2**12, 3), drawn("a")[0, :3])
    assert SystemRandomness.noise is before


@pytest.fixture(scope="session")
def of_the_session():
    return SystemRandomness().noise(2**12, 3)


def test_a_fixture_of_the_session_draws_by_its_name_alone(of_the_session):
    assert not np.array_equal(SystemRandomness().noise(2**12, 3), of_the_session)
    with named_after(" of_the_session 0"):
        assert np.array_equal(SystemRandomness().noise(2**12, 3), of_the_session)
