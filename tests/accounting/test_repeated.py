"""The best of a random number of runs: its law, its privacy profile, and what covers it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from interpret_dp.accounting import GdpPair, event_from_json, event_to_json, reduce_event
from interpret_dp.accounting.events import (
    PrivateSelectionEvent,
    composed_json,
    gaussian_node,
    selection_node,
)
from interpret_dp.accounting.gaussian import delta_of_mu, mu_of_budget
from interpret_dp.accounting.releases import (
    PlannedChoice,
    PlannedRelease,
    PlannedSearch,
    PlannedSelection,
)
from interpret_dp.accounting.repeated import (
    _STEP,
    _WORST_STEP,
    Repetitions,
    _largest_shift,
    _relative_slope,
    _rounding_down,
    _rounding_up,
    calibrated_run_mu,
    selection_mu,
    selection_profile,
)

LAWS = [(0.0, 5.0), (0.5, 10.0), (1.0, 2.0), (1.0, 5.0), (1.0, 50.0)]
MUS = [0.1, 0.4, 1.5]
EACH_MU = pytest.mark.parametrize(
    "mu", [pytest.param(mu, marks=[pytest.mark.thorough] * (mu != 0.4)) for mu in MUS]
)


def law(shape: float, mean: float) -> Repetitions:
    return Repetitions.of_mean(mean, shape)


def probabilities(repetitions: Repetitions, most: int = 20_000) -> Any:
    """Return P(K = k) for k from 1, straight from Papernot and Steinke's Definition 1."""
    k = np.arange(1, most)
    eta = repetitions.shape
    factors = (k - 1 + eta) / k
    factors[0] = 1.0
    weights = np.exp(k * math.log1p(-repetitions.stopping) + np.cumsum(np.log(factors)))
    return weights / weights.sum()


@pytest.mark.parametrize(("shape", "mean"), LAWS)
def test_the_rank_density_is_the_slope_of_the_generating_function(
    shape: float, mean: float
) -> None:
    repetitions = law(shape, mean)
    chances = probabilities(repetitions)
    k = np.arange(1, len(chances) + 1)
    assert chances @ k == pytest.approx(mean, rel=1e-6)
    assert repetitions.mean == pytest.approx(mean, rel=1e-9)
    for worse in (0.0, 0.01, 0.3, 0.9):
        slope = float(chances @ (k * (1.0 - worse) ** (k - 1)))
        assert repetitions.rank_density(np.array(worse)) == pytest.approx(slope, rel=1e-6)
        step = 1e-6
        logs = np.log(repetitions.rank_density(np.array([worse, worse + step])))
        assert repetitions.slope(np.array(worse)) == pytest.approx(-np.diff(logs)[0] / step, 1e-3)


@pytest.mark.parametrize(("shape", "mean"), LAWS)
def test_dp_accounting_gives_the_law_the_same_stopping_probability(
    shape: float, mean: float
) -> None:
    from dp_accounting.rdp import rdp_privacy_accountant

    theirs = rdp_privacy_accountant._gamma_truncated_negative_binomial(shape, mean)
    assert law(shape, mean).stopping == pytest.approx(theirs, rel=1e-6)


def divergence(
    mu: float, repetitions: Repetitions, score: Callable[[Any], Any], epsilon: float, *, flip: bool
) -> float:
    """Return delta of the best of K Gaussian runs in an order of outcomes, by summation.

    A run's outcome x has the law N(0, 1) or N(mu, 1), on 20,001 points; best is the highest
    score(x). Ties are halved, which is what drawing among them does.
    """
    x = np.linspace(-11.0, 11.0 + mu, 20_001)
    cells = [np.diff(ndtr(np.append(x, np.inf) - m), prepend=0.0)[: len(x)] for m in (0.0, mu)]
    with_row, without = cells[::-1] if flip else cells
    order = np.argsort(-score(x), kind="stable")
    with_row, without = with_row[order], without[order]
    ranks = [np.cumsum(part) - 0.5 * part for part in (with_row, without)]
    chosen = [
        part * repetitions.rank_density(rank)
        for part, rank in zip((with_row, without), ranks, strict=True)
    ]
    return float(np.maximum(chosen[0] - math.exp(epsilon) * chosen[1], 0.0).sum())


#: Orders that put the outcomes most typical of one table last, first, or outside of the rest.
ORDERS: dict[str, Callable[[Any], Any]] = {
    "increasing": lambda x: x,
    "decreasing": lambda x: -x,
    "far from the middle": lambda x: np.abs(x - 1.0),
    "near to it": lambda x: -np.abs(x - 1.0),
    "a tail first": lambda x: np.where(x > 1.3, x, -x - 10.0),
    "the other tail first": lambda x: np.where(x < -1.3, -x, x - 10.0),
}


@pytest.mark.parametrize(("shape", "mean"), LAWS)
@EACH_MU
def test_no_order_of_outcomes_loses_more_than_the_profile_and_its_cover(
    mu: float, shape: float, mean: float
) -> None:
    repetitions = law(shape, mean)
    covering = selection_mu(mu, repetitions)
    epsilons = np.linspace(0.0, 5.0 * mu + 1.0, 6)
    profile = selection_profile(mu, repetitions, epsilons)
    largest = np.zeros(len(epsilons))
    for score in ORDERS.values():
        for flip in (False, True):
            found = [divergence(mu, repetitions, score, e, flip=flip) for e in epsilons]
            largest = np.maximum(largest, found)
    # Sums over a grid of outcomes are off by less than this.
    assert (largest <= profile + 1e-7).all()
    assert (largest <= [delta_of_mu(covering, e) + 1e-7 for e in epsilons]).all()
    # A control of the test: one of the orders comes near the worst.
    assert largest[1] > 0.25 * profile[1]


def worst(mu: float, repetitions: Repetitions, epsilon: float) -> tuple[float, float]:
    """Return the proof's formula by plain summation, and what a mechanism's path attains.

    A path never goes back: the share ranked above by outcomes that are not counted increases.
    """
    z, zeta = np.linspace(-8.0, 8.0, 1601), np.linspace(-8.0 - mu, 8.0, 1601)
    m, n = ndtr(z), np.append(0.0, ndtr(zeta))
    fewer = np.append(0.0, ndtr(zeta + mu))
    own = repetitions.rank_density(m[:, None] + n)
    other = repetitions.rank_density(ndtr(z - mu)[:, None] + fewer)
    gains = own - math.exp(epsilon) * np.exp(mu * z - 0.5 * mu * mu)[:, None] * other
    weights = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * (z[1] - z[0])
    places = np.maximum.accumulate(gains.argmax(axis=1))
    on_path = np.where(m + n[places] <= 1.0, gains[np.arange(len(z)), places], 0.0)
    formula = np.maximum(gains.max(axis=1), 0.0) @ weights
    return float(formula), float(np.maximum(on_path, 0.0) @ weights)


@pytest.mark.parametrize(("shape", "mean"), LAWS)
@EACH_MU
def test_the_profile_is_the_worst_case_but_for_a_few_hundredths(
    mu: float, shape: float, mean: float
) -> None:
    repetitions = law(shape, mean)
    for epsilon in (0.0, mu, 3.0 * mu):
        formula, attained = worst(mu, repetitions, epsilon)
        bound = selection_profile(mu, repetitions, np.array([epsilon]))[0]
        assert formula * (1.0 - 1e-4) < bound < 1.03 * attained + 1e-9


@pytest.mark.parametrize(("shape", "mean"), LAWS)
def test_between_grid_points_the_bound_holds(shape: float, mean: float) -> None:
    """The densities inside random cells lie on the right side of the inflated interpolation."""
    repetitions = law(shape, mean)
    rng = np.random.default_rng(5)
    density = lambda z: np.exp(-0.5 * z * z)  # noqa: E731
    for _ in range(300):
        z, zeta = rng.uniform(-9.0, 9.0), rng.uniform(-9.0, 9.0)
        rows, columns = np.array([z, z + _STEP]), np.array([zeta, zeta + _WORST_STEP])
        corners = repetitions.rank_density(ndtr(rows)[:, None] + ndtr(columns))
        corners *= density(rows)[:, None]
        above = corners * (1.0 + _rounding_up(rows, columns, repetitions))
        below = corners * (1.0 - _rounding_down(rows, columns, repetitions))
        s, t = rng.uniform(size=2)
        inside = repetitions.rank_density(ndtr(z + s * _STEP) + ndtr(zeta + t * _WORST_STEP))
        inside = float(inside * density(z + s * _STEP))
        weights = np.outer([1.0 - s, s], [1.0 - t, t])
        assert (weights * below).sum() * (1 - 1e-12) <= inside
        assert inside <= (weights * above).sum() * (1 + 1e-12)


@pytest.mark.parametrize("mean", [1.5, 50.0, 1000.0])
def test_the_relative_slopes_vary_little_inside_a_cell(mean: float) -> None:
    """The factor 2 of the proof covers what second derivatives gain inside a cell."""
    repetitions = law(1.0, mean)
    z = np.arange(-9.0, 9.0, _WORST_STEP)
    slopes = _relative_slope(z, repetitions)
    largest = np.abs(np.diff(np.log(slopes[slopes > 1e-12]))).max()
    assert math.exp(2.0 * largest) * math.exp(1.5 * _WORST_STEP * slopes.max()) < 2.0


@pytest.mark.parametrize(("shape", "mean"), LAWS)
@EACH_MU
def test_far_out_the_cover_is_above_a_bound_in_closed_form(
    mu: float, shape: float, mean: float
) -> None:
    repetitions = law(shape, mean)
    covering, shift = selection_mu(mu, repetitions), _largest_shift(mu, repetitions)
    for epsilon in np.linspace(shift + 8.0 * mu, shift + 35.0 * mu, 20):
        bound = repetitions.mean * delta_of_mu(mu, epsilon - shift)
        assert bound <= delta_of_mu(covering, epsilon)


def test_the_cover_is_close_to_the_whole_profile() -> None:
    """2 % less would be refuted by the total variation alone."""
    for mu in MUS:
        repetitions = law(1.0, 5.0)
        covering = selection_mu(mu, repetitions)
        value, _ = worst(mu, repetitions, 0.0)
        assert delta_of_mu(0.98 * covering, 0.0) < value


def test_a_single_run_costs_hardly_more_than_itself() -> None:
    assert 0.3 < selection_mu(0.3, law(1.0, 1.001)) < 0.325


def test_what_a_search_costs_to_three_digits() -> None:
    """The table of the proof; composing five runs costs 2.236, of ten 3.162."""
    costs = {
        (0.0, 5.0): 1.617,
        (1.0, 2.0): 1.306,
        (1.0, 5.0): 1.743,
        (1.0, 10.0): 2.085,
    }
    for (shape, mean), cost in costs.items():
        assert selection_mu(0.3, law(shape, mean)) / 0.3 == pytest.approx(cost, abs=6e-4)


@pytest.mark.parametrize(("shape", "mean"), LAWS)
@EACH_MU
def test_renyi_bounds_of_dp_accounting_say_more_epsilon(
    mu: float, shape: float, mean: float
) -> None:
    """Their theorem holds for any runs of these Renyi divergences, so it must not say less."""
    import dp_accounting

    accountant = dp_accounting.rdp.RdpAccountant()
    run = dp_accounting.GaussianDpEvent(1.0 / mu)
    accountant.compose(dp_accounting.dp_event.RepeatAndSelectDpEvent(run, mean, shape))
    theirs = accountant.get_epsilon(1e-6)
    assert selection_profile(mu, law(shape, mean), np.array([theirs]))[0] < 1e-6


@pytest.mark.parametrize("total", [0.01, mu_of_budget(1.0, 1e-6), 3.0])
def test_calibration_uses_the_budget_and_no_more(total: float) -> None:
    repetitions = law(1.0, 5.0)
    run = calibrated_run_mu(total, repetitions)
    assert 0.997 * total < selection_mu(run, repetitions) <= total


def test_budgets_out_of_range_are_refused() -> None:
    for total in (1e-4, 200.0):
        with pytest.raises(ValueError, match=r"mu of each run is .*fewer runs"):
            calibrated_run_mu(total, law(1.0, 5.0))
    for mean in (1.0, 1001.0, math.nan):
        with pytest.raises(ValueError, match="mean is"):
            Repetitions.of_mean(mean, 1.0)
    for shape in (-0.1, 1.1, math.inf):
        with pytest.raises(ValueError, match="shape is"):
            Repetitions.of_mean(5.0, shape)


def test_the_event_is_charged_as_the_cover_and_read_back() -> None:
    repetitions = law(1.0, 5.0)
    document = composed_json([(selection_node(0.25, repetitions), 1)])
    event: Any = event_from_json(document)
    assert event == PrivateSelectionEvent(4.0, 1.0, repetitions.stopping)
    assert event_to_json(event) == document
    assert reduce_event(document) == GdpPair(selection_mu(0.25, repetitions))
    for key, value in (("shape", 1.5), ("stopping", 1.0), ("noise_multiplier", 0.0)):
        broken = {**document, "event": {**document["event"], key: value}}
        with pytest.raises(ValueError, match=f"{key} is"):
            reduce_event(broken)
    with pytest.raises(ValueError, match="mu of each run is"):
        reduce_event(composed_json([(selection_node(17.0, repetitions), 1)]))


def planned(*candidates: tuple[PlannedRelease, ...], mu: float = 0.2) -> PlannedSearch:
    return PlannedSearch("search", mu, 1, repetitions=law(1.0, 5.0), candidates=tuple(candidates))


def test_a_planned_search_is_billed_as_its_event() -> None:
    release = PlannedRelease("sum", 0.1, 4)
    plan = planned((release,), (PlannedChoice("pick", 0.2, 1),))
    assert plan.share.mu == reduce_event(composed_json([(plan.node, 1)])).mu
    assert plan.share.mu > selection_mu(0.2, law(1.0, 5.0)) * (1 - 1e-12)
    assert reduce_event(composed_json([(plan.node, 1), (gaussian_node(0.3), 1)])).mu == (
        pytest.approx(math.hypot(plan.share.mu, 0.3))
    )


def test_a_search_plans_candidates_that_fit_its_runs() -> None:
    with pytest.raises(ValueError, match="has no candidate"):
        planned()
    with pytest.raises(ValueError, match="plans a name twice"):
        planned((PlannedRelease("a", 0.1, 1), PlannedRelease("a", 0.1, 1)))
    with pytest.raises(ValueError, match=r"costs mu 0\.22360"):
        planned((PlannedRelease("a", 0.1, 5),))
    with pytest.raises(TypeError, match="sums and choices alone"):
        planned((PlannedSelection("levels", 0.1, 1, 1e-7),))
    with pytest.raises(TypeError, match="sums and choices alone"):
        planned((planned((PlannedRelease("a", 0.01, 1),), mu=0.01),))


def test_quantiles_are_those_of_the_normal_law() -> None:
    """The slope along a quantile is the rank's slope times the normal density there."""
    repetitions = law(1.0, 5.0)
    z = np.array([-2.0, 0.0, 2.0])
    step = 1e-6
    logs = np.log(repetitions.rank_density(ndtr(z[:, None] + [0.0, step])))
    expected = -np.diff(logs)[:, 0] / step
    assert _relative_slope(z, repetitions) == pytest.approx(expected, rel=1e-4)
    assert ndtri(ndtr(z)) == pytest.approx(z)
