"""Noise that is the same in every run of the tests: a new draw would stop an unrelated change.

Each test and each fixture has its own, by its name, whatever ran before it. Processes that tests
start draw from the system, and so do tests of the samplers. `make fuzz` sets a seed, and each seed
has other noise.
"""

import os
import zlib
from contextlib import contextmanager
from itertools import count
from unittest import mock

from interpret_dp.mechanisms import SeededRandomness, SystemRandomness

_seeds = iter(())
_SEED = os.environ.get("INTERPRET_DP_TEST_SEED", "")


@contextmanager
def named_after(name):
    """Let sources that are made inside the block draw what this name always draws."""
    global _seeds
    outer, _seeds = _seeds, (zlib.crc32(f"{_SEED}{name} {number}".encode()) for number in count())
    try:
        yield
    finally:
        _seeds = outer


def _begin(self):
    self.seeded = SeededRandomness(next(_seeds))
    self.public = self.seeded.public


def _noise(self, sigma, size):
    return self.seeded.noise(sigma, size)


def _sample(self, n_rows, probability):
    return self.seeded.sample(n_rows, probability)


def _below(self, bound):
    return self.seeded.below(bound)


def drawn_alike():
    """Return a context in which the system's sources, and what inherits from them, are seeded."""
    return mock.patch.multiple(
        SystemRandomness, __init__=_begin, noise=_noise, sample=_sample, below=_below
    )
