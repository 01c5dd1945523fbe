"""Quantiles: which share of the rows lies below, what is released for it, and doubts."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import interpret_dp as dp
from interpret_dp.ebm.objectives import Quantile
from interpret_dp.explanation.plots.parts import score_unit
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.released.summary import average_sentence
from tests.ebm.losses.test_losses import normal_shape
from tests.ebm.tasks import FEATURES, model_of
from tests.released.test_sql import run_sqlite

SCHEMA = dp.Schema(FEATURES, target=dp.Continuous(-40, 60))


def table(n_rows=20_000, seed=3):
    """Return features, the centre of the target and its standard deviation, which grows with x."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(size=n_rows), "g": rng.choice(["a", "b"], n_rows)})
    x = X["x"].to_numpy()
    return X, 10 * np.sin(4 * x) + 4 * (X["g"] == "b").to_numpy(), 2 + 6 * x


def drawn(X, centre, deviation, seed=0):
    return centre + deviation * np.random.default_rng(seed).normal(size=len(X))


def fitted(objective, X, y, **parameters):
    with use_randomness(SeededRandomness(1)):
        settings = {"schema": SCHEMA, "epsilon": 4.0, "delta": 1e-6}
        return model_of("regression", objective=objective, **settings | parameters).fit(X, y)


@pytest.fixture(scope="module")
def models():
    X, *moments = table()
    y = drawn(X, *moments)
    objectives = ("rmse", *(f"quantile:alpha={alpha}" for alpha in (0.1, 0.5, 0.9)))
    return {objective: fitted(objective, X, y) for objective in objectives}


def below(model, seed=8):
    """Return the share of the rows that is expected below their prediction, by tenths of x."""
    X, centre, deviation = table(seed=seed)
    shares = norm.cdf((model.predict(X) - centre) / deviation)
    return pd.Series(shares).groupby((10 * X["x"]).astype(int).to_numpy()).mean()


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_the_share_alpha_lies_below_wherever_the_spread_is(alpha, models):
    shares = below(models[f"quantile:alpha={alpha}"])
    assert shares.mean() == pytest.approx(alpha, abs=0.01)
    assert (shares - alpha).abs().max() < 0.025
    # Control: the mean has another share below.
    assert alpha == 0.5 or abs(below(models["rmse"]).mean() - alpha) > 0.3


def test_the_median_is_the_default_and_no_mean_is_promised(models):
    X, *moments = table()
    median = models["quantile:alpha=0.5"]
    alone = fitted("quantile", X, drawn(X, *moments))
    np.testing.assert_array_equal(alone.predict(X[:50]), median.predict(X[:50]))
    releases = {share.name: share.count for share in median.guarantee_.releases}
    assert releases["target cells"] == 2
    assert "total" not in releases
    assert median.total_error_ is None
    assert not average_sentence(median.released_)
    assert average_sentence(models["rmse"].released_)


def test_more_rows_of_a_person_are_not_promised_either():
    unit = dp.PrivacyUnit("person", max_rows=1, total_rows=3)
    X, *moments = table(300)
    X["person"] = np.arange(300) // 2
    model = fitted("quantile", X, drawn(X, *moments), schema=SCHEMA.replace(unit=unit))
    assert "rate" not in {share.name for share in model.guarantee_.releases}


# --------------------------------------------------------------------------- files and figures


def test_files_sql_and_figures_hold_a_quantile(models, tmp_path):
    model, X = models["quantile:alpha=0.9"], table(60)[0]
    model.save(tmp_path / "model.json")
    again = dp.load_model(tmp_path / "model.json")
    assert again.objective == "quantile:alpha=0.9"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    found = run_sqlite(model.to_sql("sqlite", table="people", keep=["position"]), X)
    np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=1e-9)
    released = dataclasses.replace(model.to_released(), target="cost")
    assert score_unit(released) == "change of the 0.9 quantile of cost, in its unit"
    nameless = models["quantile:alpha=0.5"].to_released()
    assert score_unit(nameless) == "change of the 0.5 quantile, in its unit"
    assert model.edit().smooth("x") is not None


# -------------------------------------------------------------------------------- start, doubts


def test_rows_may_start_from_scores_of_their_own():
    X, centre, deviation = table()
    y = drawn(X, centre, deviation)
    known = centre + 1.0
    with use_randomness(SeededRandomness(1)):
        model = model_of("regression", objective="quantile:alpha=0.9", schema=SCHEMA, epsilon=4.0)
        model.fit(X, y, init_score=known)
    shares = norm.cdf((model.predict(X, init_score=known) - centre) / deviation)
    assert shares.mean() == pytest.approx(0.9, abs=0.015)


def test_many_rows_of_one_value_are_said(models):
    X, *moments = table()
    y = np.where(np.random.default_rng(2).uniform(size=len(X)) < 0.5, 7.0, drawn(X, *moments))
    with pytest.warns(
        dp.DeclarationWarning, match=r"one value: of all rows 5\d % between .* and 7"
    ):
        fitted("quantile", X, y)
    schema = dp.Schema(FEATURES, target=dp.Continuous(0, 60))
    with pytest.warns(dp.DeclarationWarning, match=r"of all rows \d+ % between 0 and"):
        fitted("quantile:alpha=0.9", X, np.maximum(drawn(X, *moments), 0.0), schema=schema)


@pytest.mark.parametrize("alpha", [0.0002, 0.5])
@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_small_tables_are_fitted_without_a_doubt_that_noise_makes(n_rows, alpha):
    X, *moments = table(n_rows)
    model = fitted(f"quantile:alpha={alpha}", X, drawn(X, *moments), max_rounds=4, epsilon=0.5)
    assert np.isfinite(model.predict(table(10)[0])).all()


# ------------------------------------------------------------------------------------ the loss


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.9])
def test_the_start_is_the_quantile_and_steps_follow_from_the_density(alpha):
    """Of normal targets, with next to no noise; the density there is that of the normal law."""
    loss = Quantile(-10.0, 10.0, 1.0, 1.5, shape=normal_shape(1.5), alpha=alpha)
    start = loss.start(np.array([1e6, 0.0, 0.0]), 1e-6, 2.0, None, False)
    clip, quantile = start.loss.clip, 1.5 * norm.ppf(alpha)
    assert clip * start.level[0] == pytest.approx(quantile, abs=0.02)
    density = clip * norm.pdf(quantile, scale=1.5)
    assert start.loss.density == pytest.approx(density, rel=0.1)
    assert (start.scale.curvature, start.scale.step) == (start.loss.density, 1 / start.loss.density)
    # A row's residual is alpha or alpha - 1 at most, and noise is made for that.
    assert start.scale.norm == pytest.approx(2.0 * max(alpha, 1 - alpha))
    gaps = np.array([-5.0, 5.0])
    assert start.loss.residual(gaps, clip).tolist() == pytest.approx([alpha - 1, alpha])
    # Variance of the sample quantile over that of a residual: alpha (1 - alpha) / density^2.
    spread = start.loss.dispersion(0.0, 0.0) / start.scale.curvature
    assert spread == pytest.approx(alpha * (1 - alpha) / start.loss.density**2)
    # In the middle of the rounds, residuals are narrower.
    later = start.loss.narrowed(normal_shape(0.3), 0.01)
    assert later.density > start.loss.density
    assert later.late_scale(start.scale).norm == start.scale.norm
