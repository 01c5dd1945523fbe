"""An attack that refutes the claim of interpret's own private regressor, and not ours.

That it refutes interpret's is checked in tests/audit/test_suite.py; 1,500 runs proved epsilon 3.8.

Targets are declared in [9000, 10000]. 400 people have 9000; one more person, alone in a bin, has
10000. One round at learning rate 1 adds the whole first residual of that person, up to 10000, to
a score whose noise is made for the range of 1000. Nori et al. (2021) bound the residual by the
range, taking the model's part of the sum as public; which rows fall into a leaf is not.
"""

import sys

import numpy as np
import pytest

from interpret_dp import Continuous, DPExplainableBoostingRegressor, PrivacyLedger, Schema
from interpret_dp.accounting import mu_of_budget
from interpret_dp.audit import attack_bound
from interpret_dp.backends import local
from tests.audit.planted_kernels import without_clip

pytestmark = [
    pytest.mark.statistical,
    # Which bins are found depends on the noise: at times all rows are in one.
    pytest.mark.filterwarnings("ignore::interpret_dp.DeclarationWarning"),
]

EPSILON, DELTA = 1.0, 1e-5
N_OTHERS = 400
SETTINGS = {"epsilon": EPSILON, "delta": DELTA, "max_rounds": 1, "learning_rate": 1.0, "n_jobs": 1}
# An audit of mu is sharp, so that a true claim needs this much room to stand on every run.
STRICT = 1 - 1e-4


def table(present):
    X = np.zeros((N_OTHERS + present, 1))
    y = np.full(N_OTHERS + present, 9000.0)
    if present:
        X[-1], y[-1] = 1.0, 10000.0
    return X, y


SCHEMA = Schema({"feature_0000": Continuous(0, 1)}, target=Continuous(9000, 10000))


def fit_ours(present, ledger):
    return DPExplainableBoostingRegressor(
        schema=SCHEMA, ledger=ledger, dataset="people", **SETTINGS
    ).fit(*table(present))


def facts_of(model):
    """Return what a model says about the person's bin, the others' bin and the whole."""
    cuts, scores, weights = model.bins_[0][0], model.term_scores_[0], model.bin_weights_[0]
    own, others = (int(np.searchsorted(cuts, x, side="right")) + 1 for x in (1.0, 0.0))
    intercept = float(np.ravel(model.intercept_)[0])
    return [scores[own], scores[others], weights[own], weights[others], intercept]


def run(fit, present, runs):
    """Fit that often; return the facts and the published row counts."""
    facts, counts = [], []
    ledger = PrivacyLedger.in_memory()
    for number in range(runs):
        if number % 20 == 0:  # a request reads the whole log: a short one is faster
            ledger = PrivacyLedger.in_memory()
        model = fit(present, ledger)
        facts.append(facts_of(model))
        counts.append(float(np.sum(model.bag_weights_)))
    return np.array(facts), np.array(counts)


def attack(fit, runs):
    """Return, for each statistic, the bounds at 95 % and at the strict confidence."""
    samples = [run(fit, present, runs) for present in (True, False, True, False)]
    facts = [part[0] for part in samples]
    # The best linear statistic of the whole model, chosen on the first half of the runs.
    spread = np.cov(np.vstack([part - part.mean(axis=0) for part in facts[:2]]).T)
    shift = facts[0].mean(axis=0) - facts[1].mean(axis=0)
    direction = np.linalg.lstsq(spread, shift, rcond=None)[0]
    statistics = {
        "score of the bin": [part[:, 0] for part in facts],
        "prediction in the bin": [part[:, 0] + part[:, 4] for part in facts],
        "score times weight": [part[:, 0] * part[:, 2] for part in facts],
        "weight of the bin": [part[:, 2] for part in facts],
        "intercept": [part[:, 4] for part in facts],
        "whole model": [part @ direction for part in facts],
        "row count": [part[1] for part in samples],
    }
    return {
        name: (
            attack_bound((a, b), (c, d), delta=DELTA),
            attack_bound((a, b), (c, d), delta=DELTA, confidence=STRICT),
        )
        for name, (a, b, c, d) in statistics.items()
    }


@pytest.mark.slow
def test_our_claim_stands():
    """250 runs a side to choose and 250 to evaluate.

    At the strict confidence the interval takes 0.64 of mu, so that a statistic which carries all of
    the mu of 0.27 has an expected bound below 0, five standard errors (0.11) from the limit. A
    fault of the size of the control's below is found.
    """
    for name, (usual, strict) in attack(fit_ours, 250).items():
        assert usual.epsilon <= EPSILON, name
        assert strict.mu <= mu_of_budget(EPSILON, DELTA), name


@pytest.mark.slow
def test_control_our_own_trainer_without_its_clip(monkeypatch):
    """200 runs a side to choose and 200 to evaluate; confidence 95 %.

    Without the clip the first residual is some ten times its declared bound. Power: with 800 runs
    the bound on mu was 1.36 once; the claim is 0.27. With 200 runs the interval is twice as wide,
    which costs less than the difference.
    """
    monkeypatch.setattr(local.LocalRegressionRows, "_kernel", staticmethod(without_clip))
    # The clip follows the released spread, which is all noise here: less with more rows.
    monkeypatch.setattr(sys.modules[__name__], "N_OTHERS", 4000)
    usual = attack(fit_ours, 200)["prediction in the bin"][0]
    assert usual.mu > mu_of_budget(EPSILON, DELTA)
