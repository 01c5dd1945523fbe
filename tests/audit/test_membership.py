"""Membership attacks: what they read, choose and judge, and that they find what is broken."""

import functools
import itertools
import math

import numpy as np
import pytest

from benchmarks.audit.subjects import reference
from benchmarks.audit.suite import loss_found_by_runs
from interpret_dp import Categorical, Continuous, Schema, SchemaError, audit
from interpret_dp.accounting import mu_of_budget
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import (
    LessNoise,
    Watching,
    canary_tables,
    membership_attack,
    model_statistics,
)
from interpret_dp.audit.replaying import log_likelihood_ratio
from interpret_dp.mechanisms import active_randomness, gaussian_mechanism, use_randomness

DELTA = 1e-5
MIXED = Schema(
    {"age": Continuous(0, 10), "site": Categorical(["a", "b"]), "grade": Categorical([1, 2, 3])},
    target=Categorical(["no", "yes"]),
)


def noisy_counts(mu, table):
    """Publish a noisy number of rows, mu-GDP, and a count of nothing."""
    randomness = active_randomness()
    assert randomness is not None
    exact = np.array([[table * LATTICE, 0]], dtype=np.int64)
    noisy, _ = gaussian_mechanism("count", exact, sensitivity=LATTICE, mu=mu, randomness=randomness)
    return (noisy[0] / LATTICE).tolist()


def attack_count(true_mu, **given):
    """Attack a claim, whose noise may be less than it says."""
    claim = {"epsilon": 4.0, "delta": DELTA, "mu": 1.0, "runs": 400}
    claim["statistics"] = lambda counts: {"other": counts[1], "count": counts[0]}
    return membership_attack(functools.partial(noisy_counts, true_mu), 5, 4, **claim | given)


@pytest.mark.statistical
def test_an_honest_count_stands_and_half_its_noise_does_not():
    """Claim mu = 1; 1,000 runs a side, of which 500 judge; confidence 1 - 1e-4.

    Level: an honest count is refuted with probability below 1e-4; in fact the interval takes 0.47
    of mu, six standard errors (0.08). Power: with half the noise the bound is expected at 1.53.
    """
    honest = attack_count(1.0, runs=1000, confidence=1 - 1e-4)
    assert not honest.refuted
    assert honest.mu_bound > 0.2
    assert honest.epsilon_bound <= 4.0
    cheat = functools.partial(LessNoise, 0.5)
    caught = attack_count(1.0, runs=1000, confidence=1 - 1e-4, noise=cheat)
    assert caught.refuted
    assert caught.mu_bound > 1.0


def test_arguments_and_statistics_are_checked():
    with pytest.raises(ValueError, match="runs is 19"):
        attack_count(1.0, runs=19)
    with pytest.raises(ValueError, match="epsilon is 0"):
        attack_count(1.0, epsilon=0)
    names = itertools.cycle("aab")
    with pytest.raises(ValueError, match="they must be the same"):
        attack_count(1.0, statistics=lambda _: {next(names): 1.0})
    with pytest.raises(ValueError, match="without NaN"):
        attack_count(1.0, statistics=lambda _: {"x": math.nan}, runs=20)


# --------------------------------------------------------------------------- what is looked at


def of_other_forms(table):
    """Release what one table is asked for and the other is not, and sums of private samples."""
    randomness = active_randomness()
    assert randomness is not None
    randomness.perturb("as many sums as rows", np.ones((1, table), dtype=np.int64), 1, 2.0)
    drawn = randomness.sample(100 * table, 0.5)
    randomness.perturb_sampled("rows in a sample", np.array([len(drawn)]), 1, 2.0)
    if table == 3:
        randomness.perturb("only here", np.array([[1]]), 1, 2.0)


@pytest.mark.parametrize(("table", "other"), [(3, 2), (2, 3)])
def test_releases_of_another_form_and_of_a_private_sample_count_as_nothing(table, other):
    watching = Watching()
    with use_randomness(watching):
        of_other_forms(table)
    assert len(watching.record) == (3 if table == 3 else 2)
    assert log_likelihood_ratio(of_other_forms, other, watching) == 0.0


def test_less_noise_is_less_noise():
    """A tenth: 2,000 draws have a deviation within 10 % of it (six standard errors)."""
    less = LessNoise(0.1)
    assert less.tests_only
    found = less.perturb("x", np.zeros((1, 2000), dtype=np.int64), LATTICE, 1e6)
    assert 0.9e5 < found.std() < 1.1e5
    found = less.perturb_sampled("x", np.zeros(2000, dtype=np.int64), LATTICE, 1e6)
    assert 0.9e5 < found.std() < 1.1e5
    assert [one.sigma for one in less.record] == [1e6, 1e6]
    for share in (0, 1.5):
        with pytest.raises(ValueError, match="share is"):
            LessNoise(share)


def test_canaries_stand_at_the_other_end_of_everything():
    tables = canary_tables(MIXED, 3)
    X, y = tables.with_row
    assert list(X.columns) == ["age", "site", "grade"]
    assert X.to_numpy().tolist() == [[0.0, "a", 1]] * 3 + [[10.0, "b", 3]]
    assert y.tolist() == ["no"] * 3 + ["yes"]
    assert tables.row.to_numpy().tolist() == [[10.0, "b", 3]]
    assert len(tables.without_row[0]) == len(tables.without_row[1]) == 3
    numbers = canary_tables(Schema({"a": Continuous(1, 2)}, target=Continuous(0, 5)), 2)
    assert numbers.with_row[0]["a"].dtype == numbers.with_row[1].dtype == np.float64
    with pytest.raises(SchemaError, match="no target"):
        canary_tables(Schema({"a": Continuous(1, 2)}))


def test_former_names_work_and_warn():
    with pytest.warns(DeprecationWarning, match="model_facts is now model_statistics"):
        assert audit.model_facts is model_statistics
    with pytest.warns(DeprecationWarning, match="facts is now called statistics"):
        attack_count(1.0, statistics=None, facts=lambda _: {"x": 1.0}, runs=20)
    with pytest.raises(TypeError, match="statistics is missing"):
        attack_count(1.0, statistics=None)


def test_statistics_of_interpret_s_own_models():
    subject = reference(1.0, counts_rows=True)
    row = subject.with_row[0][-1:]
    model = subject.fit(subject.with_row)
    statistics = model_statistics(row)(model)
    assert statistics["number of rows"] == 401.0
    assert statistics["score of the bins"] == pytest.approx(float(model.eval_terms(row).sum()))


# ---------------------------------------------------------------------- the least that is found


def test_what_an_attack_finds():
    settings = {"delta": DELTA, "epsilon": 1.0, "confidence": 0.95}
    mu = mu_of_budget(1.0, DELTA)
    found = [loss_found_by_runs(n, mu=mu, **settings) for n in (100, 1000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert all(epsilon > 1.0 for epsilon in found)
    assert loss_found_by_runs(1000, mu=None, **settings) > found[1]
    assert loss_found_by_runs(2, mu=mu, **settings) == math.inf
