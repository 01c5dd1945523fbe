"""``standard_deviations_`` of pairs against repeated fits.

As for curves (test_noise_bands.py): the histograms' noise is drawn once, that of twelve rounds anew
in each of R = 45 fits of 8,000 rows, and 87 % of the cells that move must have claimed over
observed within 0.75 and 1.35. With R = 45 an exact claim misses that interval in 0.8 % of cells
(the observed deviation has a relative standard error of 11 %), so that of some 25 cells more than
three fail by chance with probability below 1e-4; claims that are half too small or twice too large
leave fewer than half of the cells within it, and must fail.
"""

import numpy as np
import pytest

from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.mechanisms import SeededRandomness
from tests.ebm.pairs.pair_problems import FEATURES, LABELS, problem
from tests.ebm.tasks import machine
from tests.statistical.test_noise_bands import claimed_over_observed, honest

pytestmark = pytest.mark.statistical

FITS = 45
PAIRS = [("age", "bmi"), ("site", "grade")]
WITHIN = (0.75, 1.35)
SUMS = "target", "bins", "weights", "correlations", "pair bins"


class FixedHistograms(SeededRandomness):
    """Noise of everything but the rounds is the same for every seed."""

    def __init__(self, seed):
        super().__init__(seed)
        # How many correlations are released depends on which terms go on.
        self._fixed = {
            name: np.random.default_rng([0, *name.encode()])
            for name in (*SUMS, "target cells", "total")
        }

    def perturb(self, name, exact, sensitivity, sigma):
        if name in ("boosting", "pairs"):
            return super().perturb(name, exact, sensitivity, sigma)
        drawn = self._fixed[name].normal(scale=sigma, size=exact.shape)
        return exact + np.rint(drawn).astype(np.int64)


def drawn(task, data):
    """Return schema, target, and further settings."""
    rng = np.random.default_rng(3)
    if task == "counts":
        schema = Schema(FEATURES, target=Continuous(0, 40))
        drawn = rng.poisson(2.0 * np.exp(0.5 * data.scores))
        return schema, drawn, {"objective": "poisson_deviance"}
    if task == "classes":
        schema = Schema(FEATURES, target=Categorical(["a", "b", "c"]))
        scores = np.outer(data.scores, [1.0, -1.0, 0.0]) + rng.gumbel(size=(len(data.X), 3))
        return schema, np.array(["a", "b", "c"])[scores.argmax(axis=1)], {}
    return LABELS, data.labels, {}


@pytest.mark.parametrize("task", ["classification", "counts", "classes"])
def test_bands_of_pairs_are_honest(task):
    data = problem(8_000)
    schema, target, more = drawn(task, data)
    settings = {"epsilon": 1.0, "delta": 1e-6, "max_rounds": 12, "n_jobs": 1} | more
    model = machine(schema, interactions=PAIRS, **settings)
    names = [" & ".join(pair) for pair in PAIRS]
    ratio = claimed_over_observed(lambda: model.fit(data.X, target), names, FixedHistograms, FITS)
    assert len(ratio) > 15
    assert honest(ratio, *WITHIN) >= 0.87
    # Controls: the same check must fail for claims that are too small or too large.
    assert honest(ratio / 2, *WITHIN) < 0.5
    assert honest(ratio * 2, *WITHIN) < 0.5
