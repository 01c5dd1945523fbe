"""Explanations from a private background against the same explanations without noise.

Run by ``python -m benchmarks.background``. Effects are compared with those of a background without
noise that has the same cells; values replaced one at a time (ICE) and, where lime is installed, its
explanations are compared with those computed from the private rows themselves. What the dependence
between columns is worth is compared with values of whole private rows.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.problems import DELTA, Problem, load_problem
from benchmarks.report import write_page
from interpret_dp import PrivateBackground
from interpret_dp.fitting.rows import open_rows
from interpret_dp.lime.background import _products
from interpret_dp.lime.background_explanation import Perturbations
from interpret_dp.released.background import Background, ColumnDependence

__all__ = ["main", "model_of"]

Floats = NDArray[np.float64]

TABLES = ("adult", "wine_quality", "elevators")
EPSILONS = (1.0, 0.1, 0.03)
_ICE_ROWS = 500
_SEEDS = 8
_TRAINED = 20_000
_WHOLE_ROWS = 20_000


def model_of(problem: Problem, kind: str, X: pd.DataFrame, y: Any) -> Any:
    """Fit a boosted model or a forest of 30 trees on rows of the table."""
    texts = [name for name in X if X[name].dtype.kind not in "iuf"]
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
    )
    encode = make_column_transformer((encoder, texts), remainder="passthrough")
    is_classification = problem.task == "classification"
    if kind == "boosted":
        found = (
            HistGradientBoostingClassifier if is_classification else (HistGradientBoostingRegressor)
        )
        model = found(random_state=0)
    else:
        forest = RandomForestClassifier if is_classification else RandomForestRegressor
        model = forest(30, min_samples_leaf=5, random_state=0)
    return make_pipeline(encode, model).fit(X, y)


def _without_noise(background: Background, X: pd.DataFrame) -> Background:
    """Return the background with the rows' own sums, in the same cells."""
    columns = []
    for column in background.columns:
        feature, cells = column.feature, X[column.feature.name]
        if feature.cuts is None:
            found = cells.value_counts()
            inner = [found.get(level, 0) for level in feature.spec.levels]  # type: ignore[union-attr]
        else:
            codes = np.searchsorted(feature.cuts, cells.dropna(), side="right")
            inner = np.bincount(codes, minlength=len(feature.cuts) + 1).tolist()
        missing = int(cells.isna().sum()) if column.has_missing else 0
        counts = np.array([missing, *inner, 0.0])
        noise = np.where(column.noise > 0, 1e-3, 0.0)
        columns.append(dataclasses.replace(column, counts=counts, noise=noise))
    total = float(max(column.counts.sum() for column in columns))
    private, _ = open_rows(
        X,
        None,
        feature_names=None,
        schema=background.schema,
        sample_weight=None,
        unit=None,
        has_target=False,
    )
    places = tuple(k for k, column in enumerate(columns) if column.signs.any())
    products = _products(private, places, [columns[k] for k in places])
    return dataclasses.replace(
        background,
        columns=tuple(columns),
        n_rows=total,
        dependence=ColumnDependence(places, products, 1e-3),
    )


def _ice(predict: Callable[[Any], Floats], rows: pd.DataFrame, usual: pd.DataFrame) -> Floats:
    """Return how the output changes if one value alone takes the place of usual ones."""
    found = np.empty(rows.shape)
    for row in range(len(rows)):
        parts = []
        for name in rows:
            part = rows.iloc[np.full(len(usual), row)].reset_index(drop=True)
            part[name] = usual[name].to_numpy()
            parts.append(part)
        answers = predict(pd.concat(parts)).reshape(rows.shape[1], -1).mean(axis=1)
        found[row] = predict(rows.iloc[row : row + 1])[0] - answers
    return found


def _of_whole_rows(predict: Callable[[Any], Floats], asked: Any, rows: Any, rng: Any) -> Floats:
    """Return the effects if random halves of the values are replaced by those of one other row."""
    half = rng.random((_WHOLE_ROWS // 2, asked.shape[1])) < 0.5
    kept = np.concatenate((half, ~half))
    design = np.column_stack([np.ones(len(kept)), kept])
    effects = np.empty(asked.shape)
    for row in range(len(asked)):
        part = rows.iloc[rng.choice(len(rows), len(kept))].reset_index(drop=True)
        for place, name in enumerate(part):
            part[name] = part[name].mask(kept[:, place], asked[name].iloc[row])
        effects[row] = np.linalg.lstsq(design, predict(part))[0][1:]
    return effects


def _lime(predict: Any, rows: pd.DataFrame, usual: pd.DataFrame) -> Floats:
    """Return lime's effects; categories are numbered, and so are missing cells."""
    from lime.lime_tabular import LimeTabularExplainer  # type: ignore[import-untyped]

    texts = [name for name in rows if rows[name].dtype.kind not in "iuf"]
    levels = {name: sorted({*usual[name].dropna(), *rows[name].dropna()}) for name in texts}

    def numbered(frame: pd.DataFrame) -> Floats:
        coded = {
            name: pd.Categorical(frame[name], levels[name]).codes.astype(float)
            if name in levels
            else frame[name]
            for name in frame
        }
        return pd.DataFrame(coded).to_numpy()

    def named(cells: Floats) -> Any:
        frame = pd.DataFrame(cells, columns=list(rows))
        for name, own in levels.items():
            codes = frame[name].astype(int).to_numpy()
            frame[name] = pd.Series(np.array([*own, None], dtype=object)[codes], dtype=object)
        high = predict(frame)
        return np.column_stack([1.0 - high, high])

    explainer = LimeTabularExplainer(
        numbered(usual),
        categorical_features=[list(rows).index(name) for name in texts],
        random_state=0,
    )
    found = np.zeros(rows.shape)
    for row, cells in enumerate(numbered(rows)):
        explained = explainer.explain_instance(cells, named, num_features=rows.shape[1])
        for place, effect in explained.as_map()[1]:
            found[row, place] = effect
    return found


def _agreement(found: Floats, truth: Floats) -> dict[str, float]:
    """Return the median correlation, the shared part of the top 5, and the share of equal signs."""
    correlations, shared, signs = [], [], []
    for own, right in zip(found, truth, strict=True):
        top = np.argsort(-np.abs(right))[:5]
        correlations.append(np.corrcoef(own, right)[0, 1])
        shared.append(len({*np.argsort(-np.abs(own))[:5].tolist()} & {*top.tolist()}))
        signs.append(float(np.mean(np.sign(own[top]) == np.sign(right[top]))))
    return {
        "correlation": float(np.median(correlations)),
        "top 5": float(np.mean(shared)),
        "sign": float(np.mean(signs)),
    }


def _effects(explanation: Any) -> tuple[Floats, Floats]:
    data = [explanation.data(row) for row in range(len(explanation.selector))]
    return np.array([d["scores"] for d in data]), np.array([d["standard_errors"] for d in data])


def _with_seed(background: Background, seed: int) -> PrivateBackground:
    found = PrivateBackground.from_released(background)
    found._perturbations = Perturbations(background, seed=seed)
    return found


def _truth(background: Background, model: Any, asked: pd.DataFrame) -> Floats:
    """Return the effects without noise, from other rows than those of the explanations."""
    seeds = range(100, 100 + _SEEDS)
    found = [_effects(_with_seed(background, k).explain_local(model, asked))[0] for k in seeds]
    return np.asarray(np.mean(found, axis=0))


def measured(
    table: str, kind: str, n_rows: int, n_draws: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return one record an epsilon, of all figures and of those that depend on whole rows."""
    problem = load_problem(table)
    X, y = problem.X, problem.y
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    asked, trained = X.iloc[order[:n_rows]], order[n_rows : n_rows + _TRAINED]
    model = model_of(problem, kind, X.iloc[trained], y.iloc[trained])
    rows = X.iloc[order[n_rows:]].reset_index(drop=True)

    def predict(frame: Any) -> Floats:
        is_classifier = hasattr(model, "predict_proba")
        answers = model.predict_proba(frame)[:, 1] if is_classifier else model.predict(frame)
        return np.asarray(answers, dtype=float)

    asked = asked.reset_index(drop=True)
    some = [rows.iloc[rng.choice(len(rows), _ICE_ROWS)] for _ in range(2)]
    ice = [_ice(predict, asked, part) for part in some]
    has_lime = find_spec("lime") is not None and problem.task == "classification"
    lime = _lime(predict, asked, rows.iloc[:_TRAINED]) if has_lime else None
    about = {"table": table, "model": kind}
    between = {f"ICE {name}": value for name, value in _agreement(ice[1], ice[0]).items()}
    records: list[dict[str, Any]] = [about | {"epsilon": "private rows"} | between]
    whole_rows = _of_whole_rows(predict, asked, rows, rng)
    outputs = predict(rows)
    compared = []

    def against_whole_rows(own: PrivateBackground) -> dict[str, float]:
        effects = _effects(own.explain_local(model, asked))[0]
        drawn = predict(own.sample(_TRAINED, 0))
        return {
            "correlation": _agreement(effects, whole_rows)["correlation"],
            "error": float(np.sqrt(np.mean((effects - whole_rows) ** 2)) / outputs.std()),
            "mean": float(abs(drawn.mean() - outputs.mean()) / outputs.std()),
        }

    for epsilon in EPSILONS:
        draws, pairs = [], []
        for _ in range(n_draws):
            own, independent = (
                PrivateBackground(
                    problem.schema.select(X.columns),
                    epsilon=epsilon,
                    delta=DELTA,
                    dependence=dependence,
                ).fit(rows)
                for dependence in (True, False)
            )
            without = against_whole_rows(independent)
            pairs.append(
                {
                    f"{name}{suffix}": value
                    for name, value in against_whole_rows(own).items()
                    for suffix, value in (("", value), (" without", without[name]))
                }
            )
            truth = _truth(_without_noise(own.background_, rows), model, asked)
            start = time.perf_counter()
            effects, errors = _effects(own.explain_local(model, asked))
            seconds = (time.perf_counter() - start) / n_rows
            # As figures draw it: noise alone would hardly give one as large among all of a row.
            reach = NormalDist().inv_cdf(1.0 - 0.05 / (2.0 * effects.shape[1]))
            certain = np.abs(effects) > reach * errors
            usual = own.sample(_TRAINED, 0)
            of_ice = _agreement(_ice(predict, asked, usual[:_ICE_ROWS]), ice[0])
            other = _with_seed(own.background_, 1).explain_local(model, asked)
            values = {
                "seed": _agreement(_effects(other)[0], effects)["correlation"],
                "correlation": _agreement(effects, truth)["correlation"],
                "held": float(np.mean(np.abs(effects - truth) <= 1.96 * errors)),
                "certain": float(certain.mean()),
                "wrong sign": float((np.sign(effects) != np.sign(truth))[certain].mean()),
                **{f"ICE {name}": value for name, value in of_ice.items()},
                "seconds": seconds,
            }
            if lime is not None:
                values["lime"] = _agreement(_lime(predict, asked, usual), lime)["correlation"]
            draws.append(values)
        means = pd.DataFrame(draws).mean().to_dict()
        records.append(about | {"epsilon": f"{epsilon:g}"} | means)
        compared.append(about | {"epsilon": f"{epsilon:g}"} | pd.DataFrame(pairs).mean().to_dict())
        print(records[-1], compared[-1], flush=True)
    return records, compared


def _lines(records: list[dict[str, Any]]) -> list[str]:
    frame = pd.DataFrame(records)
    shown = frame.map(lambda cell: f"{cell:.3f}" if isinstance(cell, float) else cell)
    rows = shown.where(frame.notna(), "").to_numpy().tolist()
    head = [list(frame), ["---"] * 3 + ["--:"] * (frame.shape[1] - 3)]
    return [f"| {' | '.join(row)} |" for row in (*head, *rows)]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/background.md"))
    arguments = parser.parse_args()
    records, compared = [], []
    for table in arguments.tables:
        for kind in ("boosted", "forest"):
            some, others = measured(table, kind, arguments.rows, arguments.draws)
            records += some
            compared += others
    lines = [
        "# Explanations from a private background",
        "",
        f"Means of {arguments.draws} releases and {arguments.rows} rows that the models have not "
        f"seen, at delta {DELTA:g}. `python -m benchmarks.background`",
        "",
        "`seed` is the median correlation with another seed. `correlation`, `held` (by 95 % error "
        "bars) and `wrong sign` (of those that figures draw as certain, `certain`) are against the "
        "background without noise. `ICE` and `lime` are against the private rows themselves: "
        "median correlation, shared ones of the top 5, equal signs.",
        "",
        *_lines(records),
        "",
        "## What the dependence between columns is worth",
        "",
        "Truth: random halves of a row's values are replaced by those of one whole private row. "
        "`correlation` and `error` (root mean square) are those of `explain_local` against it, "
        "`mean` is how far the mean prediction of drawn rows is off. The last two are in standard "
        "deviations of the predictions. `without`: `dependence=False`, at the same epsilon.",
        "",
        *_lines(compared),
    ]
    write_page(arguments.out, "\n".join(lines))


if __name__ == "__main__":
    main()
