"""Losses: the registry, and moments of residuals that follow from the residual alone."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import interpret_dp as dp
from interpret_dp.ebm.losses import LOSSES, RegressionLoss, SquaredError, register_loss
from interpret_dp.ebm.objectives import Quantile, checked_objective, loss_of
from interpret_dp.ebm.shape import Shape


class SquaredErrorOfGaps(RegressionLoss):
    """Squared error without the closed forms of its moments."""

    name = "rmse of gaps"

    @staticmethod
    def residual(gap, clip):
        return gap


def normal_shape(deviation):
    """Return the shape of a million targets, normal around 0."""
    edges = np.linspace(-9.9, 9.9, 200)
    counts = 1e6 * np.diff(norm.cdf(np.concatenate([[-10.0], edges, [10.0]]), scale=deviation))
    return Shape.of(edges, -10.0, 10.0, counts, noise=1e-9, n_rows=1e6)


@pytest.mark.parametrize("explained", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("clip", [0.5, 1.0, 4.0])
def test_moments_of_clipped_residuals_follow_from_the_residual_or_from_a_shape(clip, explained):
    general = SquaredErrorOfGaps(-10.0, 10.0, clip, spread=1.5)
    of_target = SquaredError(-10.0, 10.0, clip, spread=1.5, shape=normal_shape(1.5))
    left = general.unexplained(explained)
    of_residuals = SquaredError(-10.0, 10.0, clip, spread=1.5, residuals=normal_shape(left))
    for moment in ("mean_slope", "dispersion"):
        arguments = (explained,) if moment == "mean_slope" else (0.0, explained)
        wanted = getattr(general, moment)(*arguments)
        for loss in (of_target, of_residuals):
            assert getattr(loss, moment)(*arguments) == pytest.approx(wanted, rel=0.06, abs=0.002)


def test_without_residuals_beyond_the_clip_the_slope_is_1():
    """A target of one value; bounds are far out under a log link."""
    assert LOSSES["gamma_deviance"](1.0, 9.0, clip=2.0, spread=3.0).mean_slope(0.0) == 1.0
    assert SquaredError(1.0, 1.0, clip=1.0, spread=0.0).mean_slope(0.0) == 1.0


@pytest.mark.parametrize("clip", [1.0, 40.0])
def test_the_hessian_of_log_means_sums_to_its_average(clip):
    poisson = LOSSES["poisson_deviance"](0.0, 9.0, clip, spread=1.0)
    weights = np.array([3.0, 1.0, 6.0])
    (curvature,) = poisson.curvatures(
        [np.array([[0.2], [1.0], [-0.4]])], np.zeros(1), [weights], average=2.0
    )
    assert weights @ curvature[:, 0] / weights.sum() == pytest.approx(2.0)


def test_parameters_are_written_as_interpret_writes_them():
    alike = {
        "quantile": "quantile:alpha=0.5",
        "quantile: alpha = 0.90": "quantile:alpha=0.9",
        "tweedie": "tweedie_deviance:variance_power=1.5",
        "tweedie_deviance:variance_power=1.75": "tweedie_deviance:variance_power=1.75",
        "poisson": "poisson_deviance",
    }
    assert [checked_objective(given) for given in alike] == list(alike.values())
    target = dp.Continuous(0, 9)
    loss = loss_of("tweedie_deviance:variance_power=1.75", target, has_init_scores=False)
    assert loss.variance_power == 1.75


@pytest.mark.parametrize("power", [1.001, 1.5, 1.999])
def test_tweedie_lies_between_poisson_and_gamma(power):
    """Its dispersion for spreads that follow from the mean: phi mean^(p-1), at every growth."""
    loss = LOSSES["tweedie_deviance"](0.0, 9.0, 2.0, 1.0, variance_power=power)
    gaps = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(loss.residual(gaps, 2.0), np.exp((1 - power) * gaps))
    mean, phi, sigma = 3.0, 0.7, 0.8
    means = mean * np.exp(sigma * np.random.default_rng(0).normal(size=400_000) - sigma**2 / 2)
    variance = phi * (means**power).mean() / mean**2
    found = loss.dispersion_at(mean, variance, float(np.exp(sigma**2)))
    assert found == pytest.approx(phi * mean ** (power - 1), rel=0.03)
    weights, scores = np.array([3.0, 1.0, 6.0]), np.array([[0.2], [1.0], [-0.4]])
    (curvature,) = loss.curvatures([scores], np.zeros(1), [weights], average=2.0)
    expected = np.exp((2 - power) * scores[:, 0])
    expected *= 2.0 * weights.sum() / (weights @ expected)
    np.testing.assert_allclose(curvature[:, 0], expected)


def test_a_loss_of_ones_own_pays_for_no_total_of_more_rows(monkeypatch):
    monkeypatch.setitem(LOSSES, "rmse of gaps", SquaredErrorOfGaps)
    unit = dp.PrivacyUnit("person", max_rows=1, total_rows=3)
    schema = dp.Schema({"a": dp.Continuous(0, 1)}, target=dp.Continuous(0, 1), unit=unit)
    X = pd.DataFrame({"a": np.linspace(0, 1, 60)})
    said = {}
    for objective in ("rmse", "rmse of gaps"):
        model = dp.DPExplainableBoostingRegressor(schema=schema, objective=objective, max_rounds=4)
        released = model.fit(X, X["a"], unit=np.arange(60) // 4).released_
        names = [share.name for share in released.guarantee.releases]
        said[objective] = "rate" in names, "3" in released.guarantee.unit, "3" in released.speaks_of
    assert said == {"rmse": (True, True, True), "rmse of gaps": (False, False, False)}


def test_no_loss_is_registered_whose_residual_has_no_bound():
    """The rule of a loss is one of those whose loop over rows clips, and gaps have a residual."""
    before = dict(LOSSES)
    unknown = type("Unclipped", (SquaredErrorOfGaps,), {"name": "x", "rule": "unclipped"})
    with pytest.raises(ValueError, match=r"must be one of difference, mean.*residual_norm"):
        register_loss(unknown)
    with pytest.raises(ValueError, match=r"define residual\(gap"):
        register_loss(type("Empty", (RegressionLoss,), {"name": "x"}))
    for residual, message in (
        (lambda gap, clip: gap * np.nan, "a finite number for each gap"),
        (lambda gap, clip: gap[0], "a finite number for each gap"),
        (lambda gap, clip: gap if clip > 0.1 else gap * np.nan, "and clip=0.01"),
        (lambda gap, clip: -gap, "which never falls"),
        (lambda gap: gap, "fails for an array of gaps"),
        (lambda gap, clip: 0.5 * np.sign(gap), "has the slope 64"),
        (lambda gap, clip: np.where(gap > 0, 4 * gap, gap), "has the slope 4 .*no slope is above"),
    ):
        faulty = {"name": "x", "residual": staticmethod(residual)}
        with pytest.raises(ValueError, match=message):
            register_loss(type("Faulty", (RegressionLoss,), faulty))
    weighted = {"name": "x", "rule": "weighted mean", "link": "log"}
    for weights, message in (
        (lambda gap, clip: -gap, "is -16 at some gap.*a weight, which must be above 0"),
        (lambda gap, clip: np.exp(1e9 * gap), "a finite number for each gap"),
    ):
        faulty = weighted | {"residual": staticmethod(weights)}
        with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
            register_loss(type("Faulty", (SquaredErrorOfGaps,), faulty))
    with pytest.raises(ValueError, match=r"Steep\.residual has the slope 8 "):
        register_loss(type("Steep", (Quantile,), {"name": "x", "start": RegressionLoss.start}))
    with pytest.raises(ValueError, match=r"Colon needs a class attribute name.*without a colon"):
        register_loss(type("Colon", (SquaredErrorOfGaps,), {"name": "a:b"}))
    with pytest.raises(ValueError, match="'rmse' is registered"):
        register_loss(type("Taken", (SquaredError,), {}))
    with pytest.raises(ValueError, match="link is 'log' and its rule 'gap'"):
        register_loss(type("Mixed", (SquaredErrorOfGaps,), {"name": "x", "link": "log"}))
    with pytest.raises(ValueError, match="Nameless needs a class attribute name"):
        register_loss(type("Nameless", (RegressionLoss,), {}))
    instance = SquaredError(0.0, 1.0, clip=1.0, spread=1.0)
    with pytest.raises(TypeError, match="the class itself and not an instance"):
        register_loss(instance)
    # A cell that runs again registers the same loss.
    assert register_loss(SquaredError) is LOSSES["rmse"]
    assert register_loss(Quantile) is LOSSES["quantile"]
    assert before == LOSSES
