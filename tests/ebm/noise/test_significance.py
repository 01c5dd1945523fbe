"""Half-way, terms that show nothing but noise leave their rounds to the others."""

from collections import Counter

import numpy as np

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
from interpret_dp.ebm.noise.uncertainty import excess
from interpret_dp.mechanisms import SeededRandomness, use_randomness

N_BINS = 20


def test_noise_that_is_not_finite_says_nothing():
    weights = np.ones(N_BINS)
    for value in (np.inf, np.nan):
        assert excess(np.zeros(N_BINS), np.full(N_BINS, value), weights) == np.inf


SCHEMA = Schema({f"x{i}": Continuous(-1, 1) for i in range(8)}, target=Categorical(["no", "yes"]))


def rows(n_rows=6_000, seed=0):
    """Return a table in which the first two of eight columns matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, 8))
    y = rng.random(n_rows) < 1 / (1 + np.exp(-3 * X[:, 0] - 2 * np.abs(X[:, 1])))
    return X, np.where(y, "yes", "no")


class Counting(SeededRandomness):
    def __init__(self, seed):
        super().__init__(seed)
        self.counts = Counter()

    def perturb(self, name, exact, sensitivity, sigma):
        self.counts[name, float(sigma)] += len(exact)
        return super().perturb(name, exact, sensitivity, sigma)


def fit(seed=0, **settings):
    counting = Counting(seed)
    model = DPExplainableBoostingClassifier(
        epsilon=1.0, delta=1e-6, schema=SCHEMA, feature_names=list(SCHEMA.features), **settings
    )
    with use_randomness(counting):
        model.fit(*rows())
    return model, counting.counts


def test_noise_is_released_as_zero_and_no_release_is_added_to_the_plan():
    """Chance that a term that is nothing is kept: a sixth, so that six are with 3e-5 a fit."""
    model, counts = fit()
    # 40 rounds of eight terms are planned; what is left over does not make another round.
    spent = sum(count for (name, _), count in counts.items() if name == "boosting")
    assert 320 - 8 < spent <= 320
    flat = {n for n, s in zip(model.term_names_, model.term_scores_, strict=True) if not s.any()}
    assert flat
    assert not flat & {"x0", "x1"}
    for k in range(2, 8):
        assert model.standard_deviations_[k].max() > 0
    chosen, counts = fit(max_rounds=40)
    assert sum(count for (name, _), count in counts.items() if name == "boosting") == 320
    # Rounds that the caller chose are every term's.
    assert chosen.best_iteration_.tolist() == model.best_iteration_.tolist()
