"""What passes the session, as an attacker may see it: every release that was paid for.

The ledger charges for all releases of a fit, also for those that the model does not show. So an
attack may use them all, and by the likelihood ratio of one row nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_real
from interpret_dp.audit.replaying import Recorded, Recorder, Replaying
from interpret_dp.mechanisms import SeededRandomness, SystemRandomness, use_randomness

__all__ = ["LessNoise", "Watching", "log_likelihood_ratio"]

_Table = TypeVar("_Table")
Integers = NDArray[np.int64]


class Watching(Recorder, SystemRandomness):
    """The operating system's noise, as in every fit, and a record of what it was added to.

    Attributes
    ----------
    record : list of Recorded
        Each release beside its exact sums, which are private: for tables that somebody made up.
    seed : int
        Of the public coin flips, and of nothing else: with them a fit can be replayed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.record = []
        self.seed = self.below(2**128)
        self.public = SeededRandomness(self.seed).public


class LessNoise(Watching):
    """The negative control of an audit: a share of the noise that is declared and charged.

    For tests of audits only; guarantees that are made with it say so.

    Parameters
    ----------
    share : float
        0.5 for half of the noise.
    """

    tests_only = True

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = check_real("share", share, low=0, low_open=True, high=1)

    def noise(self, sigma: float, size: int) -> Integers:
        """Draw a share of what was asked for."""
        return super().noise(sigma * self._share, size)


def log_likelihood_ratio(
    fit: Callable[[_Table], Any], neighbour: _Table, watched: Watching
) -> float:
    """Return how much likelier the releases of a fit are on its own table than on a neighbour.

    Parameters
    ----------
    fit : callable
        As :func:`interpret_dp.audit.replay` takes it; run on the neighbour with what was released
        in place of its own releases, so that each sum is asked for after the same ones.
    neighbour : object
        What ``fit`` takes.
    watched : Watching
        The source of the fit's noise.

    Returns
    -------
    float
        Logarithm of the ratio of the densities of all noisy sums, given those before each: no
        attacker can do better (Neyman and Pearson), however sums depend on earlier noise.
        Selections, choices and sums of private samples count as nothing, and so does what one of
        the tables is not asked for.
    """
    replaying = _Comparing(watched.seed, watched)
    with use_randomness(replaying):
        fit(neighbour)
    return replaying.ratio


class _Comparing(Replaying):
    """Adds up by how much likelier the recorded sums are on the first table than on this one."""

    def __init__(self, seed: int, recording: Recorder) -> None:
        super().__init__(seed, recording)
        self.ratio = 0.0

    def perturb_sampled(
        self, name: str, exact: Integers, sensitivity: int, sigma: float
    ) -> Integers:
        """Leave the ratio as it is: who is in a private sample is no attacker's to know."""
        before = self.ratio
        noisy = super().perturb_sampled(name, exact, sensitivity, sigma)
        self.ratio = before
        return noisy

    def _note(self, name: str, exact: Integers, twin: Recorded | None) -> None:
        if twin is None or twin.name != name or twin.exact.shape != exact.shape:
            return
        apart = (twin.exact - exact).ravel().astype(np.float64)
        # Twice as far as the output is from halfway between both.
        beyond = (2 * twin.output - twin.exact - exact).ravel().astype(np.float64)
        self.ratio += float(apart @ beyond) / (2.0 * twin.sigma**2)
