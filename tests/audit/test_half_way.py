"""Replays of fits that look at what they released half-way, on tables that differ by one row.

Terms that are nothing are pruned then.
"""

from dataclasses import replace

import numpy as np
import pytest

from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.audit import refit, replay
from interpret_dp.ebm import training
from interpret_dp.ebm.config import TUNING
from interpret_dp.ebm.noise import uncertainty
from interpret_dp.ebm.trainer import releases
from interpret_dp.ebm.trainer.partitions import LeafRelease
from tests.audit.fits import kinds, releases_broken, watched
from tests.ebm.tasks import machine

NAMES = [f"x{i}" for i in range(8)]
TARGETS = {
    "two classes": Categorical([0, 1]),
    "three classes": Categorical([0, 1, 2]),
    "regression": Continuous(-5, 5),
}


def fit_of(target, epsilon=2.0):
    schema = Schema({name: Continuous(-1, 1) for name in NAMES}, target=target)
    return refit(machine(schema, epsilon=epsilon, delta=1e-6, feature_names=NAMES))


def tables(target):
    """Return rows of which the first column matters, and the same without the last one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3_000, 8))
    y = np.clip(2 * X[:, 0] + rng.normal(size=len(X)), -5, 5)
    if isinstance(target, Categorical):
        y = np.digitize(y, [0.0] if len(target.levels) == 2 else [-0.7, 0.7])
    # A row as far from the others as the schema has it.
    X[-1] = [-1, 1, -1, 1, -1, 1, -1, 1]
    y[-1] = y.max()
    return (X, y), (X[:-1], y[:-1])


@pytest.mark.parametrize("kind", TARGETS)
def test_one_row_decides_no_more_than_was_declared(kind, monkeypatch):
    results = watched(monkeypatch, training, "boost")
    with_row, without = tables(TARGETS[kind])
    report = replay(fit_of(TARGETS[kind]), with_row, without, seed=1)
    assert report.ok, report
    one, other = results
    assert one.pruned == other.pruned
    assert 0 < len(one.pruned) < 8
    assert one.step == other.step


def test_control_noise_of_less_than_a_row_adds(monkeypatch):
    """If sums without their mean were taken to have the norm of two leaves, whatever there are."""
    with_row, without = tables(TARGETS["regression"])

    def careless(self, residual_norm, n_scores):
        return residual_norm * 3 // 4

    monkeypatch.setattr(LeafRelease, "row_norm", careless)
    report = replay(fit_of(TARGETS["regression"]), with_row, without, seed=1)
    assert kinds(report) == {"sensitivity"}
    assert releases_broken(report) == {"boosting"}


CHOICES_FROM_ROWS = [
    pytest.param(uncertainty, "significance", (1.0, -np.inf), 2.0, id="terms"),
    pytest.param(releases, "least_supported_bins", (99, 0), 0.3, id="bins"),
]


@pytest.mark.parametrize(("module", "setting", "limits", "epsilon"), CHOICES_FROM_ROWS)
def test_control_a_choice_that_looks_at_rows(module, setting, limits, epsilon, monkeypatch):
    """If the number of rows decided which terms go on, or whether bins are public."""
    with_row, without = tables(TARGETS["two classes"])
    fit = fit_of(TARGETS["two classes"], epsilon)

    def leaking(table):
        limit = limits[0 if len(table[0]) == len(with_row[0]) else 1]
        monkeypatch.setattr(module, "TUNING", replace(TUNING, **{setting: limit}))
        return fit(table)

    assert not replay(leaking, with_row, without, seed=1).ok
    if module is releases:
        # With public bins the promise holds; with a choice of terms it does in the replays above.
        monkeypatch.setattr(module, "TUNING", replace(TUNING, **{setting: limits[0]}))
        assert replay(fit, with_row, without, seed=1).ok
