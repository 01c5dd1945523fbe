"""Tweedie deviance and quantiles, simulated: ``python -m benchmarks.premiums_and_quantiles``.

Pure premiums: 5 % of the policies have claims, whose sizes are gamma variables; the true mean is
known. Figures are the total predicted over that observed, on the fitted rows, and the share of the
deviance that the true means explain, on new policies. Quantiles: a sum of curves with noise whose
spread grows fourfold. Figures are the share of the rows that is expected below their prediction,
less alpha, over all new rows and at most over tenths of the column by which the spread grows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from interpret.glassbox import ExplainableBoostingRegressor
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks.objectives import markdown
from benchmarks.report import write_page
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    Integer,
    PrivacyWarning,
    Schema,
)

__all__ = ["premium_table", "premiums", "quantile_table", "spread_table"]

Floats = NDArray[np.float64]

DELTA = 1e-6
_POWER, _LARGEST, _TEST_SEED = 1.5, 20_000.0, 999
PREMIUMS = Schema(
    {
        "age": Integer(18, 89),
        "power": Continuous(0, 10),
        "zone": Categorical(list("abcdef")),
        "bonus": Continuous(0, 1),
        "other": Continuous(0, 1),
    },
    target=Continuous(0, _LARGEST),
)
SPREADS = Schema(
    {
        "x": Continuous(0, 1),
        "z": Continuous(-3, 3),
        "g": Categorical(["a", "b", "c"]),
        "u": Continuous(0, 1),
    },
    target=Continuous(-60, 80),
)


def premiums(n_rows: int, seed: int) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return features, claims and their true means."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "power": rng.uniform(0, 10, n_rows),
            "zone": rng.choice(list("abcdef"), n_rows, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03]),
            "bonus": rng.beta(2, 5, n_rows),
            "other": rng.uniform(size=n_rows),
        }
    )
    age, zones = X["age"].to_numpy(), {"a": 0, "b": 0.1, "c": 0.2, "d": 0.3, "e": 0.5, "f": 0.7}
    log_rate = 0.6 * np.exp((18 - age) / 12) + 0.008 * np.maximum(age - 65, 0) + X["bonus"]
    log_size = 0.06 * X["power"] + X["zone"].map(zones)
    rate, size = np.exp(log_rate.to_numpy()), np.exp((log_size - log_size.mean()).to_numpy())
    rate *= 0.05 / rate.mean()
    claims = rng.gamma(0.8 * rng.poisson(rate), 1_000.0 * size / 0.8)
    return X, np.minimum(claims, _LARGEST), 1_000.0 * rate * size


def premium_table(n_rows: int, epsilons: list[float], n_fits: int) -> list[dict[str, Any]]:
    """Return a line for interpret, without privacy, and one for each objective and epsilon."""
    X_test, _, truth = premiums(200_000, _TEST_SEED)

    def part(mean: Floats | float) -> float:
        """Return the expected deviance, but for what no prediction changes."""
        values = np.maximum(mean, 1e-6)
        own = values ** (2 - _POWER) / (2 - _POWER) - truth * values ** (1 - _POWER) / (1 - _POWER)
        return float(np.mean(own))

    def line(name: str, epsilon: float, count: int) -> dict[str, Any]:
        totals, shares = [], []
        for seed in range(count):
            X, y, _ = premiums(n_rows, seed)
            model: Any = DPExplainableBoostingRegressor(
                epsilon=epsilon, delta=DELTA, schema=PREMIUMS, objective=name, random_state=seed
            )
            if np.isinf(epsilon):
                model = ExplainableBoostingRegressor(
                    objective=name, interactions=0, outer_bags=4, n_jobs=1, random_state=seed
                )
            model.fit(X, y)
            totals.append(float(model.predict(X).sum() / y.sum()))
            constant = part(truth.mean())
            shares.append((constant - part(model.predict(X_test))) / (constant - part(truth)))
        return {
            "objective": name,
            "epsilon": epsilon,
            "total": float(np.mean(totals)),
            "its spread": float(np.std(totals)),
            "explained": float(np.mean(shares)),
        }

    tweedie = f"tweedie_deviance:variance_power={_POWER}"
    lines = [line(tweedie, np.inf, min(n_fits, 3))]
    for epsilon in epsilons:
        lines += [line(name, epsilon, n_fits) for name in (tweedie, "poisson_deviance", "rmse")]
    return lines


def spread_table(n_rows: int, seed: int) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return features, and the mean and the standard deviation of each row's target."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.uniform(size=n_rows),
            "z": rng.normal(size=n_rows).clip(-3, 3),
            "g": rng.choice(["a", "b", "c"], n_rows),
            "u": rng.uniform(size=n_rows),
        }
    )
    x = X["x"].to_numpy()
    centre = 10 * np.sin(4 * x) + 3 * X["z"].to_numpy() + 4 * (X["g"] == "b").to_numpy()
    return X, centre, 2 + 6 * x


def quantile_table(n_rows: int, epsilons: list[float], n_fits: int) -> list[dict[str, Any]]:
    """Return a line for each alpha and epsilon."""
    X_test, centre_test, spread_test = spread_table(100_000, _TEST_SEED)
    tenths = np.minimum((10 * X_test["x"]).astype(int), 9).to_numpy()
    lines = []
    for alpha in (0.1, 0.5, 0.9):
        for epsilon in epsilons:
            overall, worst_tenths, errors = [], [], []
            for seed in range(n_fits):
                X, centre, spread = spread_table(n_rows, seed)
                y = centre + spread * np.random.default_rng([seed, 1]).normal(size=n_rows)
                model = DPExplainableBoostingRegressor(
                    epsilon=epsilon,
                    delta=DELTA,
                    schema=SPREADS,
                    objective=f"quantile:alpha={alpha}",
                    random_state=seed,
                )
                predicted = model.fit(X, y).predict(X_test)
                gaps = norm.cdf((predicted - centre_test) / spread_test) - alpha
                overall.append(float(gaps.mean()))
                worst_tenths.append(float(pd.Series(gaps).groupby(tenths).mean().abs().max()))
                errors.append(predicted - centre_test - spread_test * norm.ppf(alpha))
            lines.append(
                {
                    "alpha": alpha,
                    "epsilon": epsilon,
                    "below - alpha": float(np.mean(overall)),
                    "largest error of a fit": float(np.abs(overall).max()),
                    "largest error of a tenth": float(np.mean(worst_tenths)),
                    "rmse of the quantile": float(np.sqrt(np.mean(np.square(errors)))),
                }
            )
    return lines


def main() -> None:
    """Measure and write ``premiums_and_quantiles.md``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--fits", type=int, default=20)
    name = "premiums_and_quantiles"
    parser.add_argument("--out", type=Path, default=Path(f"benchmarks/results/{name}.md"))
    arguments = parser.parse_args()
    how = (arguments.rows, arguments.epsilons, arguments.fits)
    # Seeds of the noise are public here.
    warnings.simplefilter("ignore", PrivacyWarning)
    text = (
        f"# Pure premiums and quantiles\n\n`python -m benchmarks.{name}`: {arguments.rows:,} "
        f"simulated rows, {arguments.fits} fits a line, delta {DELTA:g}. An epsilon of infinity is "
        "interpret's own model, without privacy.\n\n"
        f"## Totals predicted over observed\n\n{markdown(premium_table(*how))}\n"
        f"## Shares of the rows below their predicted quantile\n\n{markdown(quantile_table(*how))}"
    )
    write_page(arguments.out, text)


if __name__ == "__main__":
    main()
