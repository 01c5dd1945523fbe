"""Counts with and without exposure against other libraries: ``python -m benchmarks.claims``.

Policies are simulated with known rates, a product of curves, and exposures of 0.02 to 1 year.
Visits to a doctor are those of the RAND Health Insurance Experiment, which statsmodels brings
along. Needs the extra ``bench``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.objectives import DELTA, markdown
from benchmarks.report import write_page
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)

__all__ = ["deviance", "policies", "policy_table", "visit_table"]

Floats = NDArray[np.float64]
FEATURES: dict[str, Any] = {
    "age": Continuous(18, 80),
    "power": Continuous(4, 15),
    "distance": Continuous(0, 5),
    "region": Categorical(["a", "b", "c", "d", "e"]),
}
_REGIONS = {"a": 0.0, "b": 0.2, "c": -0.3, "d": 0.5, "e": -0.1}
_TARGET, _SHORT = Continuous(0, 4), 0.25


def policies(n_rows: int, seed: int, rate: float = 0.05) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return features, exposures and true rates; half of the policies run for a whole year."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, n_rows),
            "power": rng.uniform(4, 15, n_rows),
            "distance": rng.exponential(1.0, n_rows).clip(0, 5),
            "region": rng.choice(list(_REGIONS), n_rows),
        }
    )
    exposure = np.where(rng.random(n_rows) < 0.5, 1.0, rng.uniform(0.02, 1.0, n_rows))
    score = 0.6 * np.exp((18.0 - X["age"]) / 12.0) + 0.05 * (X["power"] - 9.0)
    score += 0.3 * np.sin(2.0 * X["distance"]) + X["region"].map(_REGIONS)
    return X, exposure, rate * np.exp(score.to_numpy(dtype=np.float64))


def deviance(y: Floats, mean: Floats) -> float:
    """Return the mean Poisson deviance."""
    logs = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / mean), 0.0)
    return float(2.0 * np.mean(logs - y + mean))


def _binned(X: pd.DataFrame, like: pd.DataFrame, n_bins: int = 20) -> pd.DataFrame:
    """Return categories of a generalised linear model: quantiles of numbers, and levels."""
    columns = {}
    for name, column in like.items():
        if column.dtype.kind in "fi":
            cuts = np.unique(np.quantile(column, np.arange(1, n_bins) / n_bins))
            columns[name] = pd.Categorical(np.searchsorted(cuts, X[name]), range(len(cuts) + 1))
        else:
            columns[name] = pd.Categorical(X[name], sorted(set(column)))
    return pd.DataFrame(columns)


Fit = Callable[[pd.DataFrame, Floats, Floats], Callable[[pd.DataFrame, Floats], Floats]]


def _ours(schema: Schema, epsilon: float, how: str) -> Fit:
    """Return a private fit: with exposure, with exposure as a column, or without any."""

    def fit(X: pd.DataFrame, y: Floats, exposure: Floats) -> Callable[..., Floats]:
        given = {"exposure": exposure} if how == "exposure" else {}
        own = schema
        if how == "column":
            features: dict[str, Any] = {**schema.features, "exposure": Continuous(0, 1)}
            own = Schema(features, target=schema.target)
            X = X.assign(exposure=exposure)
        model = DPExplainableBoostingRegressor(
            objective="poisson_deviance",
            schema=own,
            epsilon=epsilon,
            delta=DELTA,
            privacy_exposure_max=1.0 if how == "exposure" else None,
            ledger=PrivacyLedger.in_memory(),
            dataset="simulated",
        ).fit(X, y, **given)
        if how == "exposure":
            return lambda new, own: np.asarray(model.predict(new, exposure=own))
        if how == "column":
            return lambda new, own: np.asarray(model.predict(new.assign(exposure=own)))
        return lambda new, own: np.asarray(model.predict(new))

    return fit


def _interpret(X: pd.DataFrame, y: Floats, exposure: Floats) -> Callable[..., Floats]:
    from interpret.glassbox import ExplainableBoostingRegressor

    model = ExplainableBoostingRegressor(
        objective="poisson_deviance", interactions=0, outer_bags=4, random_state=1
    ).fit(X, y, init_score=np.log(exposure))
    return lambda new, own: np.asarray(model.predict(new, init_score=np.log(own)))


def _glum(X: pd.DataFrame, y: Floats, exposure: Floats) -> Callable[..., Floats]:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(family="poisson", alpha=1e-4)
    model.fit(_binned(X, X), y / exposure, sample_weight=exposure)
    return lambda new, own: np.asarray(model.predict(_binned(new, X)) * own)


def _private_squares(schema: Schema, epsilon: float) -> Fit:
    """Return a fit of interpret's own private regressor, which minimises squares."""
    from interpret.privacy import DPExplainableBoostingRegressor as Reference

    def fit(X: pd.DataFrame, y: Floats, exposure: Floats) -> Callable[..., Floats]:
        specs, target = schema.features.values(), schema.target
        bounds = [(s.lower, s.upper) if isinstance(s, Continuous) else (0, 1) for s in specs]
        if not isinstance(target, Continuous):
            raise TypeError("The target must be a number.")
        model = Reference(
            epsilon=epsilon,
            delta=DELTA,
            privacy_bounds=np.array(bounds, dtype=float),
            privacy_target_min=target.lower,
            privacy_target_max=target.upper,
        ).fit(X, y)
        return lambda new, own: np.maximum(model.predict(new), target.upper / 400)

    return fit


def policy_table(n_rows: int, epsilons: Sequence[float], n_fits: int) -> list[dict[str, Any]]:
    """Return one row a method and epsilon, with shares of the explainable deviance and totals."""
    schema = Schema(FEATURES, target=_TARGET)
    methods: list[tuple[str, float | None, Fit]] = [
        ("interpret, no privacy", None, _interpret),
        ("glum, no privacy", None, _glum),
    ]
    names = {"exposure": "ours", "column": "exposure as a column", "none": "without exposure"}
    methods += [(names[how], e, _ours(schema, e, how)) for how in names for e in epsilons]
    rows = []
    for name, epsilon, fit in methods:
        found = []
        for seed in range(n_fits if epsilon is not None else min(n_fits, 3)):
            X, exposure, rate = policies(n_rows, seed)
            rng = np.random.default_rng(seed + 10_000)
            y = rng.poisson(exposure * rate).astype(np.float64)
            X_new, own, true = policies(n_rows, seed + 1_000)
            y_new = rng.poisson(own * true).astype(np.float64)
            predict = fit(X, y, exposure)
            mean, constant = predict(X_new, own), own * y.sum() / exposure.sum()
            best, worst = deviance(y_new, own * true), deviance(y_new, constant)
            short = own < _SHORT
            found.append(
                (
                    (worst - deviance(y_new, mean)) / (worst - best),
                    predict(X, exposure).sum() / y.sum(),
                    mean[short].sum() / (own * true)[short].sum(),
                )
            )
        share, total, of_short = np.transpose(found)
        rows.append(
            {
                "method": name,
                "epsilon": "-" if epsilon is None else epsilon,
                "explained": float(share.mean()),
                "total predicted / observed": float(total.mean()),
                "lowest": float(total.min()),
                "highest": float(total.max()),
                "below a quarter of a year": float(of_short.mean()),
            }
        )
    return rows


def visit_table(epsilons: Sequence[float], n_fits: int) -> list[dict[str, Any]]:
    """Return one row a method and epsilon, with deviances and totals of visits to a doctor."""
    from statsmodels.datasets import randhie

    table = randhie.load_pandas().data.astype(float)
    bounds = {"lncoins": 5, "lpi": 8, "fmde": 9, "disea": 60}
    flags = ("idp", "physlm", "hlthg", "hlthf", "hlthp")
    widths = bounds | dict.fromkeys(flags, 1)
    features = {name: Continuous(0, upper) for name, upper in widths.items()}
    schema, visits = Schema(features, target=Continuous(0, 80)), table.pop("mdvis")
    X, y = table[list(features)], visits.to_numpy(dtype=np.float64)
    methods: list[tuple[str, float | None, Fit]] = [
        ("interpret, no privacy", None, _interpret),
        ("glum, no privacy", None, _glum),
    ]
    methods += [("ours", e, _ours(schema, e, "none")) for e in epsilons]
    methods += [("interpret.privacy (squares)", e, _private_squares(schema, e)) for e in epsilons]
    rows = []
    for name, epsilon, fit in methods:
        found = []
        for seed in range(n_fits if epsilon is not None else min(n_fits, 3)):
            is_new = np.random.default_rng(seed).random(len(y)) < 0.2
            X_old, y_old, nothing = X[~is_new], y[~is_new], np.ones(int((~is_new).sum()))
            predict = fit(X_old, y_old, nothing)
            mean = predict(X[is_new], np.ones(int(is_new.sum())))
            found.append((deviance(y[is_new], mean), predict(X_old, nothing).sum() / y_old.sum()))
        own, total = np.transpose(found)
        rows.append(
            {
                "method": name,
                "epsilon": "-" if epsilon is None else epsilon,
                "deviance on new rows": float(own.mean()),
                "total predicted / observed": float(total.mean()),
                "lowest": float(total.min()),
                "highest": float(total.max()),
            }
        )
    return rows


def main() -> None:
    """Measure and write ``claims.md``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/claims.md"))
    arguments = parser.parse_args()
    how = arguments.epsilons, arguments.fits
    text = (
        f"# Counts with and without exposure\n\n`python -m benchmarks.claims`: {arguments.fits} "
        f"private fits a line and 3 others, delta {DELTA:g}.\n\n"
        f"## {arguments.rows:,} simulated policies, 0.04 claims each\n\nExplained: share of the "
        "deviance on new rows between a constant rate and the true rates. Totals are those of the "
        f"fitted rows.\n\n{markdown(policy_table(arguments.rows, *how))}\n"
        "## Visits to a doctor: RAND Health Insurance Experiment, 20,190 rows\n\n"
        f"{markdown(visit_table(*how))}"
    )
    write_page(arguments.out, text)


if __name__ == "__main__":
    main()
