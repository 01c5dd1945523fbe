"""Membership attacks: what they read, choose and judge, and that they find what is broken."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)
from interpret_dp.accounting import mu_of_budget
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import (
    LessNoise,
    Watching,
    canary_tables,
    membership_attack,
    model_facts,
    refit,
)
from interpret_dp.audit import membership as membership_module
from interpret_dp.audit.membership import ALL_FACTS, ALL_RELEASES
from interpret_dp.audit.power import loss_found_by_runs
from interpret_dp.audit.watching import log_likelihood_ratio
from interpret_dp.exceptions import SchemaError
from interpret_dp.mechanisms import active_randomness, gaussian_mechanism, use_randomness

DELTA = 1e-5
MIXED = Schema(
    {"age": Continuous(0, 10), "site": Categorical(["a", "b"]), "grade": Categorical([1, 2, 3])},
    target=Categorical(["no", "yes"]),
)


class Count:
    """Publishes a noisy number of rows, mu-GDP; the noise may be less than it says."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def fit(self, table: int) -> Count:
        randomness = active_randomness()
        assert randomness is not None
        exact = np.array([[table * LATTICE, 0]], dtype=np.int64)
        noisy, _ = gaussian_mechanism(
            "count", exact, sensitivity=LATTICE, mu=self.mu, randomness=randomness
        )
        self.count_, self.other_ = (noisy[0] / LATTICE).tolist()
        return self


def attack_count(true_mu: float, **given: Any) -> Any:
    arguments: dict[str, Any] = {
        "facts": lambda model: {"other": model.other_, "count": model.count_},
        "epsilon": 4.0,
        "delta": DELTA,
        "mu": 1.0,
        "runs": 400,
    }
    return membership_attack(lambda table: Count(true_mu).fit(table), 5, 4, **(arguments | given))


@pytest.mark.statistical
def test_an_honest_count_stands_and_half_its_noise_does_not() -> None:
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


@pytest.mark.statistical
def test_the_best_statistic_is_chosen() -> None:
    """The fact that carries nothing is never chosen: 200 choosing runs of mu = 3 a side."""
    report = attack_count(3.0)
    assert report.n_statistics == 4
    assert report.epsilon_statistic != "other"
    assert report.mu_statistic in ("count", ALL_FACTS, ALL_RELEASES)


def test_an_exact_number_refutes_any_claim() -> None:
    def fit(table: int) -> Any:
        return table

    report = membership_attack(
        fit, 5, 4, facts=lambda n: {"rows": float(n)}, epsilon=1.0, delta=DELTA, runs=200
    )
    assert report.refuted
    assert (report.mu, report.mu_bound, report.mu_statistic) == (None, None, None)
    assert report.epsilon_statistic == "rows"
    # 100 of 100 against 0 of 100.
    tail = 0.05 / 4
    p = tail ** (1 / 100)
    assert report.epsilon_bound == pytest.approx(math.log((p - DELTA) / (1 - p)), rel=1e-9)


def test_the_second_half_alone_judges() -> None:
    """Facts that tell the worlds apart in the first half only prove nothing."""
    calls: list[int] = []

    def facts(table: int) -> Mapping[str, float]:
        calls.append(table)
        return {"rows": float(table) if len(calls) <= 100 else 0.0}

    report = membership_attack(
        lambda table: table, 5, 4, facts=facts, epsilon=1.0, delta=DELTA, mu=0.27, runs=100
    )
    assert len(calls) == 200
    assert (report.epsilon_bound, report.mu_bound) == (0.0, 0.0)
    assert not report.refuted


def test_confidence_is_shared_by_both_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    original = membership_module.attack_bound

    def watched(*samples: Any, delta: float, confidence: float) -> Any:
        seen.append(confidence)
        return original(*samples, delta=delta, confidence=confidence)

    monkeypatch.setattr(membership_module, "attack_bound", watched)
    attack_count(1.0, runs=20, confidence=0.9)
    assert [c for c in seen if c > 0.5] == pytest.approx([0.95, 0.95])
    seen.clear()
    attack_count(1.0, runs=20, confidence=0.9, mu=None)
    assert [c for c in seen if c > 0.5] == [0.9]


def test_arguments_and_facts_are_checked() -> None:
    with pytest.raises(ValueError, match="runs is 19"):
        attack_count(1.0, runs=19)
    with pytest.raises(ValueError, match="epsilon is 0"):
        attack_count(1.0, epsilon=0)
    names = itertools.cycle("aab")
    with pytest.raises(ValueError, match="they must be the same"):
        membership_attack(
            lambda table: table, 1, 0, facts=lambda _: {next(names): 1.0}, epsilon=1.0, delta=DELTA
        )
    with pytest.raises(ValueError, match="without NaN"):
        attack_count(1.0, facts=lambda _: {"x": math.nan}, runs=20)


# --------------------------------------------------------------------------- what is looked at


def watched_fit(fit: Any, table: Any) -> tuple[Any, Watching]:
    watching = Watching()
    with use_randomness(watching):
        return fit(table), watching


def test_the_ratio_of_a_sum_is_that_of_its_densities() -> None:
    def fit(table: int) -> Any:
        return Count(1.0).fit(table)

    model, watching = watched_fit(fit, 5)
    (released,) = watching.record
    scale = released.sigma / LATTICE
    expected = norm.logpdf(model.count_, 5, scale) - norm.logpdf(model.count_, 4, scale)
    assert log_likelihood_ratio(fit, 4, watching) == pytest.approx(expected, rel=1e-9)
    assert log_likelihood_ratio(fit, 5, watching) == 0.0


class Chased:
    """The second sum is the table and twice what was released before it."""

    def fit(self, table: int) -> Any:
        randomness = active_randomness()
        assert randomness is not None
        (first,) = randomness.perturb("first", np.array([[7]]), 1, 100.0)[0].tolist()
        # A public coin, the same in a replay.
        coin = int(randomness.public.integers(1000))
        exact = np.array([[table * 10 + 2 * first + coin]])
        (self.second_,) = randomness.perturb("second", exact, 10, 5.0)[0].tolist()
        self.apart_ = self.second_ - 2 * first - coin
        return self


def test_a_sum_that_moves_with_earlier_noise_is_judged_given_that_noise() -> None:
    """By direction alone the second release says nothing: earlier noise is 200 wide, not 5."""
    model, watching = watched_fit(lambda table: Chased().fit(table), 3)
    expected = norm.logpdf(model.apart_, 30, 5) - norm.logpdf(model.apart_, 20, 5)
    found = log_likelihood_ratio(lambda table: Chased().fit(table), 2, watching)
    assert found == pytest.approx(expected, rel=1e-9)


class OfOtherForms:
    """Releases that one table is asked for and the other is not, and sums of private samples."""

    def fit(self, table: int) -> Any:
        randomness = active_randomness()
        assert randomness is not None
        randomness.perturb("as many sums as rows", np.ones((1, table), dtype=np.int64), 1, 2.0)
        drawn = randomness.sample(100 * table, 0.5)
        randomness.perturb_sampled("rows in a sample", np.array([len(drawn)]), 1, 2.0)
        if table == 3:
            randomness.perturb("only here", np.array([[1]]), 1, 2.0)
        return self


@pytest.mark.parametrize(("table", "other"), [(3, 2), (2, 3)])
def test_releases_of_another_form_and_of_a_private_sample_count_as_nothing(
    table: int, other: int
) -> None:
    _, watching = watched_fit(lambda t: OfOtherForms().fit(t), table)
    assert len(watching.record) == (3 if table == 3 else 2)
    assert log_likelihood_ratio(lambda t: OfOtherForms().fit(t), other, watching) == 0.0


def test_less_noise_is_less_noise() -> None:
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


def test_canaries_stand_at_the_other_end_of_everything() -> None:
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


def test_facts_are_what_the_model_says_of_the_row() -> None:
    tables = canary_tables(MIXED, 200)
    fit = refit(DPExplainableBoostingClassifier(schema=MIXED, epsilon=50.0, n_jobs=1))
    model = fit(tables.with_row)
    facts = model_facts(tables.row)(model)
    assert facts["logit of class 1"] == pytest.approx(float(model.decision_function(tables.row)[0]))
    parts = float(np.sum(model.eval_terms(tables.row)))
    assert facts["score of the bins"] == pytest.approx(parts, abs=1e-9)
    assert facts["intercept"] + parts == pytest.approx(facts["logit of class 1"], abs=1e-6)
    assert facts["number of rows"] == pytest.approx(201, abs=5)
    assert facts["weight of the bins"] >= 0.0


def test_facts_of_interpret_s_own_models() -> None:
    from interpret.privacy import DPExplainableBoostingClassifier as Reference

    tables = canary_tables(
        Schema({"a": Continuous(0, 1), "b": Continuous(0, 1)}, target=Categorical([0, 1])), 60
    )
    model = Reference(
        feature_types=["continuous"] * 2, privacy_bounds=[(0, 1)] * 2, max_rounds=5, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = refit(model)(tables.with_row)
    facts = model_facts(tables.row)(fitted)
    assert facts["number of rows"] == 61.0
    assert facts["score of the bins"] == pytest.approx(float(fitted.eval_terms(tables.row).sum()))


def test_refitting_charges_nobody_and_keeps_the_parameters() -> None:
    own = PrivacyLedger.in_memory()
    own.create_budget("patients", 1.0, 1e-6)
    model = DPExplainableBoostingRegressor(
        schema=Schema({"a": Continuous(0, 1)}, target=Continuous(0, 5)),
        epsilon=0.3,
        max_rounds=1,
        ledger=own,
        dataset="patients",
    )
    fitted = refit(model)(canary_tables(model.schema, 5).with_row)
    assert own.spent("patients").mu == 0.0
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.dataset) == (0.3, "audit")
    assert (model.ledger, model.dataset) == (own, "patients")


# ---------------------------------------------------------------------- the least that is found


def test_what_an_attack_finds() -> None:
    settings: dict[str, Any] = {"delta": DELTA, "epsilon": 1.0, "confidence": 0.95}
    mu = mu_of_budget(1.0, DELTA)
    found = [loss_found_by_runs(n, mu=mu, **settings) for n in (100, 1000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert all(epsilon > 1.0 for epsilon in found)
    assert loss_found_by_runs(1000, mu=None, **settings) > found[1]
    assert loss_found_by_runs(2, mu=mu, **settings) == math.inf


@pytest.mark.statistical
def test_what_is_said_to_be_found_is_found() -> None:
    """The stated loss is refuted in at least 90 % of attacks: 200 of them, 90 % less 3 errors.

    Level and power: a true rate of 90 % gives fewer than 167 of 200 with a probability of 0.1 %.
    """
    from interpret_dp.accounting.gaussian import epsilon_of_mu
    from interpret_dp.audit import mu_lower_bound

    judged, claimed = 300, 0.5
    epsilon = loss_found_by_runs(judged, delta=DELTA, epsilon=1.0, mu=claimed, confidence=0.95)
    true_mu = mu_of_budget(epsilon, DELTA)
    assert epsilon_of_mu(true_mu, DELTA) == pytest.approx(epsilon, rel=1e-6)
    rng = np.random.default_rng(5)
    hits = [
        (rng.normal(loc=shift, size=(200, judged)) > true_mu / 2).sum(axis=1)
        for shift in (true_mu, 0.0)
    ]
    refuted = sum(
        mu_lower_bound(int(p), judged, int(q), judged) > claimed for p, q in zip(*hits, strict=True)
    )
    assert refuted >= 167
