"""Survival against other libraries and the truth: ``python -m benchmarks.survival``.

Patients are simulated with Weibull hazards. Free light chains (7,874 people) and breast cancer
(686) are tables that scikit-survival brings along. Needs the extra ``bench``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.objectives import DELTA, markdown
from benchmarks.report import write_page
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    Integer,
    PrivacyLedger,
    Schema,
)

Floats = NDArray[np.float64]
_STAGES = {"1": -0.6, "2": 0.0, "3": 0.7}
_PATIENTS: dict[str, Any] = {
    "age": Continuous(40, 90),
    "stage": Categorical(list(_STAGES)),
    "marker": Continuous(-3, 3),
}
# What each table's columns can hold, by its documentation.
_LIGHT_CHAINS: dict[str, Any] = {
    "age": Integer(50, 105),
    "creatinine": Continuous(0.2, 12, scale="log"),
    "flc.grp": Categorical([str(k) for k in range(1, 11)], ordered=True),
    "kappa": Continuous(0, 20),
    "lambda": Continuous(0, 20),
    "mgus": Categorical(["no", "yes"]),
    "sex": Categorical(["F", "M"]),
}
_BREAST_CANCER: dict[str, Any] = {
    "age": Integer(20, 90),
    "estrec": Continuous(0, 1200, scale="log"),
    "horTh": Categorical(["no", "yes"]),
    "menostat": Categorical(["Post", "Pre"]),
    "pnodes": Integer(0, 60),
    "progrec": Continuous(0, 2500, scale="log"),
    "tgrade": Categorical(["I", "II", "III"], ordered=True),
    "tsize": Integer(0, 150),
}
_HORIZONS = 0.1, 0.25, 0.5, 0.9  # shares of the latest time


class People(NamedTuple):
    """Features, signed times, and where they are known true survivals at the horizons."""

    X: pd.DataFrame
    y: Floats
    truth: Floats | None = None
    log_hazard: Floats | None = None


def patients(n_rows: int, seed: int, shape: float, share_seen: float) -> People:
    """Return patients that are seen for up to ``share_seen`` of the median time or 1, evenly.

    Hazards rise with a shape above 1.
    """
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.uniform(40, 90, n_rows),
            "stage": rng.choice(list(_STAGES), n_rows),
            "marker": rng.normal(size=n_rows).clip(-3, 3),
        }
    )
    score = 0.03 * (X["age"] - 65) + X["stage"].map(_STAGES) + 0.4 * np.sin(1.5 * X["marker"])
    log_hazard = score.to_numpy(dtype=np.float64)
    times = (rng.exponential(size=n_rows) / np.exp(log_hazard)) ** (1 / shape)
    seen = np.minimum(rng.uniform(0.0, 2.0 * share_seen, n_rows), share_seen)
    horizons = share_seen * np.array(_HORIZONS)
    truth = np.exp(-np.exp(log_hazard)[:, np.newaxis] * horizons**shape)
    return People(X, np.where(times <= seen, times, -seen), truth, log_hazard)


def tables() -> dict[str, tuple[pd.DataFrame, Floats, dict[str, Any], float]]:
    """Return features, signed times, declaration and latest time of each public table."""
    from sksurv.datasets import load_flchain, load_gbsg2

    found = {}
    for name, load, features, latest in (
        ("free light chains, 7,874 people", load_flchain, _LIGHT_CHAINS, 5_000.0),
        ("breast cancer, 686 people", load_gbsg2, _BREAST_CANCER, 2_500.0),
    ):
        X, outcome = load()
        # What people died of is not known before.
        event, time = (outcome[field] for field in outcome.dtype.names)
        X = X[list(features)].apply(lambda c: c.astype("str") if c.dtype == "category" else c)
        found[name] = X, np.where(event, time, -np.maximum(time, 0.5)), features, latest
    return found


def fitted(people: People, features: dict[str, Any], latest: float, epsilon: float) -> Any:
    """Return a private model."""
    account: dict[str, Any] = {"ledger": PrivacyLedger.in_memory(), "dataset": "benchmark"}
    return DPExplainableBoostingRegressor(
        objective="survival_cox",
        schema=Schema(features, target=Continuous(-latest, latest)),
        epsilon=epsilon,
        delta=DELTA,
        **account,
    ).fit(people.X, people.y)


def other_ranks(old: People, new: People) -> Iterator[tuple[str, Floats]]:
    """Yield log hazard ratios of models without privacy."""
    from lifelines import CoxPHFitter
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    both = pd.get_dummies(pd.concat([old.X, new.X]), drop_first=True, dtype=float)
    both = both.fillna(both.median())
    both = (both - both.mean()) / both.std()
    first, second = both[: len(old.X)], both[len(old.X) :]
    times = {"time": np.abs(old.y), "event": old.y >= 0}
    # With a smaller penalty its search does not converge on the light chains.
    cox = CoxPHFitter(penalizer=0.1).fit(first.assign(**times), "time", "event")
    yield "lifelines' Cox", np.asarray(cox.predict_log_partial_hazard(second))
    # Of 50,000 rows it would take hours.
    rows = np.arange(len(first))[:5_000]
    forest = RandomSurvivalForest(n_estimators=100, min_samples_leaf=15, random_state=0, n_jobs=2)
    forest.fit(first.iloc[rows], Surv.from_arrays(old.y[rows] >= 0, np.abs(old.y[rows])))
    yield "scikit-survival's forest of 5,000 rows", np.log(forest.predict(second))


def concordance(y: Floats, ranks: Floats) -> float:
    """Return lifelines' index of signed times."""
    from lifelines.utils import concordance_index

    return float(concordance_index(np.abs(y), -ranks, y >= 0))


def simulated(n_rows: int, epsilons: list[float], fits: int) -> list[dict[str, Any]]:
    """Return one row a hazard, a share of censored patients and an epsilon."""
    rows = []
    for shape, seen in ((s, c) for s in (1.0, 2.0, 0.6) for c in (1.5, 0.25)):
        old = patients(n_rows, 0, shape, seen)
        new = patients(20_000, 1, shape, seen)
        assert new.truth is not None
        assert new.log_hazard is not None
        for epsilon in epsilons:
            figures = []
            for _ in range(fits):
                model = fitted(old, _PATIENTS, seen, epsilon)
                ranks = np.log(model.predict(new.X))
                curves = model.predict_survival(new.X, seen * np.array(_HORIZONS))
                error = curves.survival - new.truth
                hazard = np.interp(
                    np.sqrt(np.abs(old.y)),
                    np.sqrt(seen) * np.linspace(0, 1, model.released_.baseline.shape[1]),
                    model.released_.baseline[0],
                )
                total = (hazard * model.predict(old.X)).sum() / (old.y >= 0).sum()
                slope = np.polyfit(new.log_hazard, ranks, 1)[0]
                covered = ((curves.lower <= new.truth) & (new.truth <= curves.upper)).mean()
                figures.append(
                    [
                        concordance(new.y, ranks),
                        concordance(new.y, new.log_hazard),
                        slope,
                        np.abs(error).mean(),
                        np.abs(error.mean(axis=0)).max(),
                        covered,
                        total,
                    ]
                )
            names = (
                *("concordance", "of the true hazards", "slope by the true log hazard"),
                *("mean error of a survival", "largest error of its mean", "within bands"),
                "events expected / observed",
            )
            means = np.mean(figures, axis=0)
            censored = float((old.y < 0).mean())
            given = {"Weibull shape": shape, "censored": censored, "epsilon": epsilon}
            rows.append({**given, **dict(zip(names, map(float, means), strict=True))})
    return rows


def public(epsilons: list[float], splits: int) -> list[dict[str, Any]]:
    """Return one row a table and a method: concordance on a quarter of the people."""
    rows = []
    for table, (X, y, features, latest) in tables().items():
        found: dict[str, list[float]] = {}
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(X))
            old, new = (
                People(X.iloc[part], y[part]) for part in np.split(order, [3 * len(X) // 4])
            )
            for epsilon in epsilons:
                ranks = fitted(old, features, latest, epsilon).predict(new.X)
                own = concordance(new.y, np.log(ranks))
                found.setdefault(f"interpret_dp, epsilon {epsilon:g}", []).append(own)
            for method, ranks in other_ranks(old, new):
                found.setdefault(method, []).append(concordance(new.y, ranks))
        rows += [
            {
                "table": table,
                "method": method,
                "concordance": float(np.mean(own)),
                "spread over splits": float(np.std(own)),
            }
            for method, own in found.items()
        ]
    return rows


def main() -> None:
    """Measure and write ``survival.md``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/survival.md"))
    given = parser.parse_args()
    horizons = ", ".join(f"{share:g}" for share in _HORIZONS)
    of_simulated = markdown(simulated(given.rows, given.epsilons, given.fits))
    text = (
        f"# Survival\n\n`python -m benchmarks.survival`: means of {given.fits} fits or splits, "
        f"delta {DELTA:g}.\n\n## {given.rows:,} simulated patients\n\nSurvival is that of "
        f"20,000 new patients at {horizons} of the latest time; bands are those of 95 %.\n\n"
        f"{of_simulated}\n## Tables of scikit-survival\n\nThree quarters of the people are "
        f"fitted.\n\n{markdown(public(given.epsilons, given.fits))}"
    )
    write_page(given.out, text)


if __name__ == "__main__":
    main()
