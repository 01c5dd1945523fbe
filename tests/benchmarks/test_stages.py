"""Stages add up to the whole, count once, and leave the functions as they were."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from benchmarks.stages import REST, timed_stages


def _work(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture
def room() -> SimpleNamespace:
    """Return a module of two functions, of which one calls the other."""
    found = SimpleNamespace(inner=lambda: _work(0.02))
    found.outer = lambda: (_work(0.01), found.inner())
    return found


def test_each_stage_has_its_share_and_the_rest_is_named(room):
    with timed_stages({"a": [(room, "inner")], "b": [(room, "outer")]}) as seconds:
        room.inner()
        _work(0.005)
        room.outer()
    assert list(seconds) == ["a", "b", REST]
    # Busy loops end no earlier than they say. What is inside another stage counts there alone.
    assert seconds["a"] >= 0.02
    assert seconds["b"] >= 0.03
    assert seconds[REST] >= 0.005


def test_what_was_timed_is_put_back_even_after_an_error(room):
    before = room.inner
    with (
        pytest.raises(ValueError, match="broken"),
        timed_stages({"a": [(room, "inner")]}),
    ):
        raise ValueError("broken")
    assert room.inner is before


def test_a_stage_that_is_renamed_is_an_error_and_not_a_zero(room):
    with pytest.raises(AttributeError), timed_stages({"a": [(room, "gone")]}):
        pass
