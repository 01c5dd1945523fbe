"""Replays of fits that release correlations of features, on tables that differ by one row."""

from dataclasses import replace

import numpy as np
import pandas as pd

from interpret_dp import Categorical, Continuous, DPExplainableBoostingRegressor, Schema
from interpret_dp.audit import replay
from interpret_dp.backends.local import LocalRegressionRows
from interpret_dp.ebm import training
from tests.audit.fits import check_both_ways, kinds, releases_broken, watched

FEATURES = {f"x{i}": Continuous(-3, 3) for i in range(4)} | {"level": Categorical(list("abc"))}
SCHEMA = Schema(FEATURES, target=Continuous(-6, 6))


def fit(table):
    model = DPExplainableBoostingRegressor(epsilon=8.0, delta=1e-6, schema=SCHEMA)
    return model.fit(table[list(FEATURES)], table["y"])


def tables():
    """Return rows of five correlated columns, and the same without an odd one."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(3_000, 1))
    numbers = np.sqrt(0.6) * common + np.sqrt(0.4) * rng.normal(size=(3_000, 4))
    table = pd.DataFrame(numbers, columns=list(FEATURES)[:4])
    table["level"] = np.array(list("abc"))[np.digitize(common[:, 0], [-0.5, 0.5])]
    table["y"] = numbers.sum(axis=1) + rng.normal(size=3_000)
    table.loc[2_999] = [3.0, -3.0, 3.0, -3.0, "a", 6.0]
    return table, table.iloc[:-1]


def test_one_row_changes_no_more_than_was_declared(monkeypatch):
    released = watched(monkeypatch, training, "release_correlations")
    check_both_ways(fit, *tables(), seed=1)
    for one, other in (released[:2], released[2:]):
        assert one.terms == other.terms == [0, 1, 2, 3, 4]
        assert (one.matrix == other.matrix).all()
        assert one.matrix.any()


def test_control_vectors_longer_than_their_norm(monkeypatch):
    real = LocalRegressionRows.product_sums

    def careless(self, wanted, functions):
        return real(self, wanted, [2 * table for table in functions])

    monkeypatch.setattr(LocalRegressionRows, "product_sums", careless)
    report = replay(fit, *tables(), seed=1)
    assert kinds(report) == {"sensitivity"}
    assert releases_broken(report) == {"correlations"}


def test_control_correlations_that_look_at_rows(monkeypatch):
    real = training.release_correlations

    def leaking(rows, *args):
        found = real(rows, *args)
        return replace(found, matrix=found.matrix * (1 - 1 / rows._codes.shape[1]))

    monkeypatch.setattr(training, "release_correlations", leaking)
    assert "sensitivity" not in kinds(replay(fit, *tables(), seed=1))
