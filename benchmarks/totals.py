"""Are totals and effects right on average? ``python -m benchmarks.totals``.

Twelve simulated targets of every shape (rare events, costs, counts, long and heavy tails, a range
that was declared too wide) and hourly hires of bicycles have known means; public tables are
measured on held-out rows, among them the rings of abalone as counts. Printed
for each engine: the predicted total over the observed one on the training rows, of all and of the
fifth with the highest predictions; the slope of the true mean by the prediction; the worst tenth of
the predictions; the distance from the true mean over its standard deviation; the deviance, and how
often the 95 % bands of the prediction hold the true mean.

``--explainers`` asks the same of explanations: fits of LIME, class shares by DP-LLM, and columns
of a background, each over the truth.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.engines import nonprivate, ours, reference
from benchmarks.problems import Problem, load_problem
from benchmarks.summary import markdown_table
from benchmarks.tables import DATA_VARIABLE
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    DPLimeTabular,
    DPLocallyLinearClassifier,
    Integer,
    PrivacyWarning,
    PrivateBackground,
    Schema,
)

__all__ = ["TARGETS", "Target", "drawn", "explainers", "main", "measured", "totals"]

Floats = NDArray[np.float64]

DELTA = 1e-6
TABLES = ("abalone", "abalone_counts", "california_housing", "elevators", "pol", "wine_quality")
ENGINES = {"ours": ours, "interpret.privacy": reference, "EBM": nonprivate}
FEATURES = {
    "age": Integer(18, 89),
    "power": Integer(4, 14),
    "x3": Continuous(0, 1),
    "x4": Continuous(0, 1),
    "x5": Continuous(0, 1),
}
_TEST_ROWS = 20_000
_DRAWS_OF_A_MEAN = 400_000
_COVERED = 1.959964


@dataclass(frozen=True)
class Target:
    """A target whose mean grows with the risk, from 1 to 2.5.

    Attributes
    ----------
    draw : callable
        From a generator and the risk of each row to its target.
    lower, upper : float
        What is declared; targets beyond it count as the bound.
    objective : str
    """

    draw: Callable[[np.random.Generator, Floats], Any]
    lower: float
    upper: float
    objective: str = "rmse"

    @property
    def declared(self) -> Continuous:
        """The declaration."""
        return Continuous(self.lower, self.upper)

    def clipped(self, rng: np.random.Generator, risk: Floats) -> Floats:
        """Return targets within the declared bounds."""
        return np.clip(np.asarray(self.draw(rng, risk), dtype=np.float64), self.lower, self.upper)


def _some(rng: np.random.Generator, share: Floats, amounts: Any) -> Floats:
    """Return amounts of a share of the rows, and zero of the others."""
    return np.where(rng.random(len(share)) < share, amounts, 0.0)


def _collective(rng: np.random.Generator, risk: Floats) -> Floats:
    """Return the sum of a Poisson number of amounts."""
    number = rng.poisson(0.2 * risk)
    return rng.gamma(1.5 * np.maximum(number, 1e-9), 600.0) * (number > 0)


TARGETS = {
    "rare flag": Target(lambda rng, r: rng.random(len(r)) < 0.05 * r, 0, 1),
    "costs": Target(
        lambda rng, r: _some(rng, np.full(len(r), 0.1), 1e3 * r * rng.lognormal(size=len(r))),
        0,
        20_000,
    ),
    "days": Target(lambda rng, r: rng.geometric(1.0 / (1.0 + r)) - 1, 0, 30),
    "claims": Target(lambda rng, r: rng.poisson(0.033 * r), 0, 5, "poisson_deviance"),
    "severities": Target(
        lambda rng, r: 1e3 * r * rng.gamma(0.8, size=len(r)), 1, 2e5, "gamma_deviance"
    ),
    "rain": Target(lambda rng, r: _some(rng, 0.06 * r, rng.integers(1, 25, len(r))), 0, 24),
    "lognormal": Target(lambda rng, r: 400.0 * r * rng.lognormal(sigma=1.5, size=len(r)), 0, 1e5),
    "collective": Target(_collective, 0, 20_000),
    "two ends": Target(lambda rng, r: rng.beta(0.15 * r, 0.4), 0, 1),
    "heavy tails": Target(lambda rng, r: r + rng.standard_t(2.5, size=len(r)), -50, 50),
    "scores": Target(lambda rng, r: 110.0 * rng.beta(3.0 * r, 1.5), 0, 100),
    "wide range": Target(lambda rng, r: r + rng.normal(size=len(r)), -50, 70),
}
SCHEMA = Schema(FEATURES)
HIRES = "hires"
HIRES_SCHEMA = Schema(
    {
        **{"hour": Integer(0, 23), "month": Integer(1, 12), "workday": Integer(0, 1)},
        **{"celsius": Continuous(-10, 40), "humidity": Continuous(0, 100)},
    },
    target=Continuous(0, 1500),
)


def drawn(target: Target, n_rows: int, seed: int) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return rows, their risk and their targets."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "power": rng.integers(4, 15, n_rows),
            "x3": rng.uniform(size=n_rows),
            "x4": rng.uniform(size=n_rows),
            "x5": rng.uniform(size=n_rows),
        }
    )
    risk = _risk(X)
    return X, risk, target.clipped(rng, risk)


def hires(n_rows: int, seed: int) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return hours, their mean number of hires, and hires: as hourly counts of a city's bicycles.

    Means are 2 to 800, with rush hours on workdays alone, which no sum of curves can show; hires
    have a negative binomial distribution.
    """
    rng = np.random.default_rng(seed)
    month = rng.integers(1, 13, n_rows)
    season = -np.cos(2 * np.pi * (month - 0.5) / 12)
    X = pd.DataFrame(
        {
            "hour": rng.integers(0, 24, n_rows),
            "month": month,
            "workday": (rng.random(n_rows) < 0.68).astype(int),
            "celsius": np.clip(12 + 12 * season + 5 * rng.normal(size=n_rows), -10, 40),
            "humidity": 100 * rng.beta(4, 2.4, size=n_rows),
        }
    )
    hour, workday = X["hour"].to_numpy(), X["workday"].to_numpy()
    rush = np.exp(-((hour - 8) ** 2) / 2) + 1.2 * np.exp(-((hour - 17.5) ** 2) / 4)
    midday = np.exp(-((hour - 14) ** 2) / 25)
    log_mean = 1.3 + 3.6 * midday + workday * (1.6 * rush - 0.7 * midday) + 1.2 * (hour > 5)
    log_mean += 0.02 * X["celsius"].to_numpy() - 0.006 * X["humidity"].to_numpy()
    mean = np.minimum(np.exp(log_mean), 800.0)
    return X, mean, np.minimum(rng.poisson(mean * rng.gamma(8.0, 1 / 8, n_rows)), 1500.0)


def _risk(X: pd.DataFrame) -> Floats:
    return np.asarray(1.0 + 1.0 * (X["age"] < 30) + 0.5 * (X["power"] > 11), dtype=np.float64)


def true_means(target: Target, risk: Floats) -> Floats:
    """Return the mean target of each risk, of which there are four, over many draws."""
    levels, place = np.unique(risk, return_inverse=True)
    rng = np.random.default_rng(0)
    means = [target.clipped(rng, np.full(_DRAWS_OF_A_MEAN, level)).mean() for level in levels]
    return np.asarray(means)[place]


def measured(
    objective: str, on_training: tuple[Floats, Floats], on_test: tuple[Floats, Floats, Floats]
) -> dict[str, float]:
    """Return the figures of a fit.

    Parameters
    ----------
    objective : str
    on_training : tuple of ndarray
        Predictions and targets.
    on_test : tuple of ndarray
        Predictions, true means, or targets where these are not known, and targets.
    """
    from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_squared_error

    shown, y = on_training
    highest = shown >= np.quantile(shown, 0.8)
    predicted, mean, y_test = on_test
    tenths = np.array_split(np.argsort(predicted, kind="stable"), 10)
    ratios = [predicted[part].mean() / mean[part].mean() for part in tenths]
    spread = predicted.var()
    positive = np.maximum(predicted, 1e-6 * max(y_test.max(), 1e-6))
    deviance = {
        "rmse": lambda: mean_squared_error(y_test, predicted) / y_test.var(),
        "poisson_deviance": lambda: mean_poisson_deviance(y_test, positive),
        "gamma_deviance": lambda: mean_gamma_deviance(y_test, positive),
    }[objective]
    return {
        "total": float(shown.sum() / y.sum()),
        "highest fifth": float(shown[highest].sum() / y[highest].sum()),
        "slope": float(np.cov(predicted, mean)[0, 1] / spread) if spread > 0 else float("nan"),
        "worst tenth": float(max(ratios, key=lambda ratio: abs(np.log(max(ratio, 1e-3))))),
        "error": float(np.sqrt(np.mean((predicted - mean) ** 2)) / mean.std()),
        "deviance": float(deviance()),
    }


def _simulated(
    name: str, epsilon: float, n_rows: int, seed: int, engines: Sequence[str]
) -> Iterator[dict[str, Any]]:
    if name == HIRES:
        objective, schema = "poisson_deviance", HIRES_SCHEMA
        X, _, y = hires(n_rows, seed)
        X_test, mean, y_test = hires(_TEST_ROWS, 1_000_000 + seed)
    else:
        target = TARGETS[name]
        objective, schema = target.objective, SCHEMA.replace(target=target.declared)
        X, _, y = drawn(target, n_rows, seed)
        X_test, risk, y_test = drawn(target, _TEST_ROWS, 1_000_000 + seed)
        mean = true_means(target, risk)
    problem = Problem(name, X, pd.Series(y), schema, "regression", DELTA)
    for engine in engines:
        model = ENGINES[engine].ENGINE.build(problem, epsilon, DELTA)
        if engine != "interpret.privacy":
            model.set_params(objective=objective)
        model.fit(X, y)
        predicted = model.predict(X_test)
        found = measured(objective, (model.predict(X), y), (predicted, mean, y_test))
        if isinstance(model, DPExplainableBoostingRegressor):
            found["covered"] = _coverage(model, X_test, mean)
            off = float(np.mean(model.predict(X)) - y.mean())
            found["stated error"] = model.total_error_ / y.mean()
            found["off by"] = off / model.total_error_
        yield {"engine": engine, **found}


def _coverage(model: DPExplainableBoostingRegressor, X: pd.DataFrame, mean: Floats) -> float:
    """Return the share of the rows whose band holds the true mean."""
    middle, deviation = model.predict_with_uncertainty(X).T
    true = np.log(mean) if model.link_ == "log" else mean
    return float(np.mean(np.abs(middle - true) <= _COVERED * deviation))


def _public(
    name: str, epsilon: float, seed: int, engines: Sequence[str]
) -> Iterator[dict[str, Any]]:
    is_counted = name.endswith("_counts")
    objective = "poisson_deviance" if is_counted else "rmse"
    known = name.removesuffix("_counts")
    problem = _housing() if name == "california_housing" else load_problem(known)
    split = problem.split(seed)
    y, y_test = (np.asarray(part, dtype=np.float64) for part in (split.y_train, split.y_test))
    for engine in engines:
        found = ENGINES[engine].ENGINE
        model = found.build(problem, epsilon, DELTA)
        if is_counted and engine != "interpret.privacy":
            model.set_params(objective=objective)
        model.fit(found.prepare(split.X_train), y)
        shown = model.predict(found.prepare(split.X_train))
        predicted = model.predict(found.prepare(split.X_test))
        yield {"engine": engine, **measured(objective, (shown, y), (predicted, y_test, y_test))}


def _housing() -> Problem:
    """Return the prices of houses in California, which scikit-learn fetches."""
    from sklearn.datasets import fetch_california_housing

    file = Path(os.environ.get(DATA_VARIABLE, "")) / "california_housing.parquet"
    if file.is_file():
        table = pd.read_parquet(file)
        X, y = table.drop(columns="target"), table["target"]
    else:
        X, y = fetch_california_housing(return_X_y=True, as_frame=True)
    schema = Schema.draft(X.assign(target=y), target="target", task="regression")
    return Problem("california_housing", X, y, schema, "regression")


def totals(
    names: Sequence[str],
    epsilons: Sequence[float],
    n_rows: int,
    seeds: Sequence[int],
    engines: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Yield the figures of each fit."""
    for name in names:
        for epsilon in epsilons:
            for seed in seeds:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PrivacyWarning)
                    warnings.filterwarnings("ignore", "Possible PII|.*privacy", UserWarning)
                    fits = (
                        _simulated(name, epsilon, n_rows, seed, engines)
                        if name in {*TARGETS, HIRES}
                        else _public(name, epsilon, seed, engines)
                    )
                    for fit in fits:
                        yield {"target": name, "epsilon": epsilon, "seed": seed, **fit}


# --------------------------------------------------------------------------------- explainers

# Log-odds of a class at risk 1, and how far two columns together move them.
LOGISTIC = {
    "5 % of rows": (-3.5, 0.0),
    "6 %, interaction": (-3.5, 1.0),
    "0.6 % of rows": (-5.5, 0.0),
}
CLASS_SHARES = (0.005, 0.02, 0.05, 0.1)
_LEVELS = {"c": 0.95, "level of 4 %": 0.04, "level of 1 %": 0.01}
_EXPLAINED = 200


class _Logistic:
    """Classifier of known log-odds."""

    classes_ = np.array([0, 1])

    def __init__(self, level: float, interaction: float) -> None:
        self._level, self._interaction = level, interaction

    def predict_proba(self, X: pd.DataFrame) -> Floats:
        x3, x4 = (X[name].to_numpy(dtype=np.float64) for name in ("x3", "x4"))
        log_odds = self._level + _risk(X) - 1.0
        log_odds = log_odds + self._interaction * np.sign(np.sin(40 * x3) * np.sin(40 * x4))
        p = 1.0 / (1.0 + np.exp(-log_odds))
        return np.column_stack([1.0 - p, p])


def _costs(X: pd.DataFrame) -> Floats:
    """Return expected costs of a long tail."""
    return np.asarray(100.0 * np.exp(1.5 * _risk(X) + 3.0 * (X["x3"] + X["x4"] - 1.0)))


def explainers(epsilon: float, n_rows: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield by how much each explainer's figures exceed the truth, as a share of it."""
    rng = np.random.default_rng(seed)
    X, risk, _ = drawn(TARGETS["rare flag"], n_rows, seed)
    privacy: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
    box: dict[str, Any] = {**privacy, "trained_on_same_people": False}
    for name, target in TARGETS.items():
        y = target.clipped(rng, risk)
        bounds = Continuous(target.lower, target.upper)
        schema = SCHEMA.replace(features={**FEATURES, "column": bounds})
        column = PrivateBackground(schema, **privacy).fit(X.assign(column=y)).sample(200_000, seed)
        excess = column["column"].mean() / y.mean() - 1.0
        yield {"explainer": "background", "of": name, "excess": excess}
    for name, parameters in LOGISTIC.items():
        yield _lime(name, _Logistic(*parameters), X, box)
    yield _lime("costs", _costs, X, box)
    for share in CLASS_SHARES:
        y = rng.random(n_rows) < share * risk / risk.mean()
        schema = SCHEMA.replace(target=Categorical([False, True]))
        maps = DPLocallyLinearClassifier(schema=schema, **privacy).fit(X, y)
        excess = maps.predict_proba(X)[:, 1].mean() / y.mean() - 1.0
        yield {"explainer": "DP-LLM", "of": f"class of {100 * share:g} %", "excess": excess}
    levels = rng.choice(list(_LEVELS), n_rows, p=list(_LEVELS.values()))
    schema = SCHEMA.replace(features={**FEATURES, "level": Categorical(list(_LEVELS))})
    sample = PrivateBackground(schema, **privacy).fit(X.assign(level=levels)).sample(200_000, seed)
    for name in list(_LEVELS)[1:]:
        excess = (sample["level"] == name).mean() / (levels == name).mean() - 1.0
        yield {"explainer": "background", "of": name, "excess": excess}


def _lime(name: str, model: Any, X: pd.DataFrame, box: dict[str, Any]) -> dict[str, Any]:
    """Compare baseline and effects, added up, with the model at the explained rows."""
    rows = X.head(_EXPLAINED)
    explanation = DPLimeTabular(model, X, schema=SCHEMA, **box).explain_local(rows)
    shown = [explanation.data(row) for row in range(len(rows))]
    of_fits = sum(row["fit"]["prediction"] for row in shown)
    excess = of_fits / sum(row["predicted"] for row in shown) - 1.0
    return {"explainer": "DPLimeTabular", "of": name, "excess": excess}


def _excesses(found: pd.DataFrame) -> str:
    """Return means over the seeds in percent, with the spread over seeds."""
    lines = []
    for key, group in found.groupby(["explainer", "of", "epsilon"], sort=False):
        shown = f"{100 * group['excess'].mean():+.1f} ± {100 * group['excess'].std():.1f}"
        lines.append([*map(str, key), shown])
    return markdown_table(["explainer", "of", "epsilon", "excess, %"], lines)


def _table(fits: pd.DataFrame) -> str:
    """Return means over the seeds, and the spread of the totals."""
    figures = [name for name in fits if name not in ("target", "epsilon", "seed", "engine")]
    lines = []
    for key, group in fits.groupby(["target", "epsilon", "engine"], sort=False):
        means = (f"{group[name].mean():.3f}" for name in figures)
        lines.append([*map(str, key), *means, f"{group['total'].std():.3f}"])
    return markdown_table(["target", "epsilon", "engine", *figures, "spread of totals"], lines)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", nargs="+", default=[*TARGETS, HIRES, *TABLES])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 1.0, 4.0, 10.0])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    parser.add_argument("--out", type=Path, help="a file of JSON lines, one a fit")
    parser.add_argument("--explainers", action="store_true", help="measure explanations instead")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.fits)
    if arguments.explainers:
        excesses = [
            {"epsilon": epsilon, **excess}
            for seed in seeds
            for epsilon in arguments.epsilons
            for excess in explainers(epsilon, arguments.rows, seed)
        ]
        print(_excesses(pd.DataFrame(excesses)))
        return
    found = []
    for fit in totals(
        arguments.names, arguments.epsilons, arguments.rows, seeds, arguments.engines
    ):
        found.append(fit)
        if arguments.out is not None:
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(fit) + "\n")
    print(_table(pd.DataFrame(found)))


if __name__ == "__main__":
    main()
