"""Noise that is drawn ahead: each draw is used once, and by one request."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from interpret_dp.mechanisms import SystemRandomness, stock
from interpret_dp.mechanisms.stock import NoiseStock


@pytest.fixture
def calls(monkeypatch):
    """Replace the sampler by one that counts; return what it was asked for."""
    made, numbers = [], itertools.count()

    def sampler(sigma, size):
        made.append((sigma, size))
        return np.fromiter(itertools.islice(numbers, size), dtype=np.int64, count=size)

    monkeypatch.setattr(stock, "discrete_gaussian", sampler)
    return made


def test_no_draw_is_handed_out_twice_or_left_out(calls):
    held = NoiseStock()
    sizes = [3, 1, 0, 500, 8_000, 200, 20_000, 7]
    taken = np.concatenate([held.take(2.0**20, size) for size in sizes])
    assert (taken == np.arange(sum(sizes))).all()
    assert calls[0] == (2.0**20, 3)
    # The others come from calls long enough for the fast sampler.
    assert all(size > stock.OPENDP_DRAWS for _, size in calls[1:])
    assert len(calls) < len(sizes)


def test_a_scale_never_gets_the_draws_of_another(calls):
    held = NoiseStock()
    drawn_by_scale = {2.0**20: [], 2.0**21: []}
    for sigma in (2.0**20, 2.0**20, 2.0**21, 2.0**20, 2.0**21, 2.0**20):
        drawn_by_scale[sigma] += held.take(sigma, 5).tolist()
    # Two calls for each scale: what was asked for first, and one ahead.
    assert [sigma for sigma, _ in calls] == [2.0**20, 2.0**20, 2.0**21, 2.0**21]
    starts = np.cumsum([0] + [size for _, size in calls])
    own = {sigma: [] for sigma in drawn_by_scale}
    for (sigma, size), start in zip(calls, starts[:-1], strict=True):
        own[sigma] += range(start, start + size)
    for sigma, drawn in drawn_by_scale.items():
        assert drawn == own[sigma][: len(drawn)]


def test_scales_that_were_not_asked_for_lately_are_forgotten(calls):
    held = NoiseStock()
    for _ in range(3):
        for exponent in range(20, 21 + stock._MOST_SCALES):
            held.take(2.0**exponent, 5)
    # One scale too many: each is gone when it is asked for again.
    assert [size for _, size in calls] == [5] * len(calls) == [5] * 3 * (stock._MOST_SCALES + 1)
    assert len(held._draws) == stock._MOST_SCALES


def test_a_sampler_that_fails_leaves_nothing_to_use_twice(calls, monkeypatch):
    held = NoiseStock()
    before = np.concatenate([held.take(2.0**20, 5), held.take(2.0**20, 5)])

    def failing(sigma, size):
        raise OSError("no bits")

    with monkeypatch.context() as patched:
        patched.setattr(stock, "discrete_gaussian", failing)
        with pytest.raises(OSError, match="no bits"):
            held.take(2.0**20, 2 * stock._DRAWS)
    after = np.concatenate([held.take(2.0**20, 5), held.take(2.0**20, 5)])
    assert not np.intersect1d(before, after).size
    assert calls


def test_what_was_taken_is_not_a_window_into_the_stock(calls):
    held = NoiseStock()
    held.take(2.0**20, 1)
    taken = held.take(2.0**20, 4)
    taken[:] = -1
    assert (held.take(2.0**20, 4) >= 0).all()
    assert taken.base is None


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
@pytest.mark.usefixtures("calls")
def test_a_copy_has_none_of_the_draws(twin_of):
    randomness = SystemRandomness()
    randomness.noise(2.0**20, 1)
    randomness.noise(2.0**20, 1)
    twin = twin_of(randomness._stock)
    own = np.concatenate([randomness.noise(2.0**20, 100), randomness.noise(2.0**20, 100)])
    others = np.concatenate([twin.take(2.0**20, 100), twin.take(2.0**20, 100)])
    assert not np.intersect1d(own, others).size


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_draws_its_own():
    held = NoiseStock()
    held.take(2.0**40, 1)
    held.take(2.0**40, 1)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover  nothing but this runs in the child
        os.write(writable, held.take(2.0**40, 8).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    of_child = np.frombuffer(os.read(readable, 64), dtype=np.int64)
    os.close(readable)
    os.close(writable)
    # At this scale two independent draws are equal with probability below 2**-41.
    assert not np.intersect1d(of_child, held.take(2.0**40, 8)).size


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_while_another_thread_draws_does_not_block_the_child(monkeypatch):
    started = threading.Event()

    def slow(sigma, size):
        started.set()
        time.sleep(0.2)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(stock, "discrete_gaussian", slow)
    held = NoiseStock()
    thread = threading.Thread(target=held.take, args=(2.0**20, 1))
    thread.start()
    assert started.wait(60)
    with warnings.catch_warnings():
        # Python warns of what is tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # pragma: no cover  nothing but this runs in the child
        signal.alarm(60)  # a child that blocks dies, which is seen below
        held.take(2.0**20, 1)
        os._exit(0)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_threads_share_it_and_no_draw(calls):
    held = NoiseStock()
    held.take(2.0**20, 1)
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda _: held.take(2.0**20, 37), range(2_000)))
    drawn = np.concatenate(taken)
    assert len(np.unique(drawn)) == len(drawn) == 2_000 * 37
    assert calls


def test_the_system_draws_ahead(calls):
    randomness = SystemRandomness()
    for _ in range(100):
        randomness.noise(2.0**20, 18)
    assert len(calls) == 2
