"""Denoising, pruning, monotone curves and monotone repairs leave means where they were observed.

R = 12 fits of 20,000 simulated rows at epsilon 2: a wave in x, a line in z, and six features
without effect, of which some are pruned.

- Means by fifths of x and z: the mean difference of prediction and observation, over fits, must be
  within 4 sampling errors of the observed means. They were up to 1.3 off, with a deviation of 0.7,
  so that one of 20 fails by chance with probability below 1e-3. Power: curves of which an editor
  took a third must fail.
- Totals: of a regression within 4 of its stated errors; of a classification, which releases no
  total, within 1.5 %: boosting leaves 0.2 to 0.7 % less than was observed, of which denoising moves
  less than 0.1 %, and 4 standard errors of 12 fits are 0.7 %. Power: predictions that are 2.5 %
  higher must fail.
- The mean score of each denoised term is that of its noisy curve, up to rounding.
- A monotone repair moves the mean prediction of the rows by less than one stated error, or 0.2 %.
  Power: a shift without its share of the intercept moves it by more. Keeping the total
  takes 95 % of that back: more is not known of the rows.
"""

import functools
import math

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp

pytestmark = pytest.mark.statistical

FITS, ROWS = 12, 20_000
TASKS = "regression", "classification"
VARIANTS = {"pruned": {}, "monotone": {"monotone_constraints": {"z": 1}}}
# Totals of a monotone regression: test_totals.py.
MONOTONE = ("classification", "monotone")
FEATURES = {"x": dp.Continuous(0, 10), "z": dp.Continuous(0, 10)}
FEATURES |= {f"none{k}": dp.Continuous(0, 10) for k in range(6)}


@functools.cache
def fits(task, variant):
    """Return each fit with its rows and their targets, which are 0 and 1 in a classification."""
    found = []
    for seed in range(FITS):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.uniform(0, 10, (ROWS, len(FEATURES))), columns=list(FEATURES))
        score = np.sin(X["x"]) + 0.1 * X["z"]
        estimator, target = dp.DPExplainableBoostingRegressor, dp.Continuous(0, 25)
        y = (10 + score + rng.normal(size=ROWS)).to_numpy()
        if task == "classification":
            estimator, target = dp.DPExplainableBoostingClassifier, dp.Categorical([0, 1])
            y = (rng.random(ROWS) < 1 / (1 + np.exp(1.5 - score))).to_numpy().astype(int)
        schema = dp.Schema(FEATURES, target=target)
        model = estimator(epsilon=2.0, delta=1e-6, schema=schema, **VARIANTS[variant])
        found.append((model.fit(X, y), X, y))
    return found


def predicted(model, X):
    is_class = hasattr(model, "predict_proba")
    return model.predict_proba(X)[:, 1] if is_class else model.predict(X)


def worst_fifth(task, factor):
    """Return the largest mean difference of a fifth, in sampling errors of its observed mean."""
    gaps, squares = [], []
    for fitted, X, y in fits(task, "pruned"):
        session = fitted.edit()
        session.scale("x", factor)
        gap = pd.Series(predicted(session.model, X) - y)
        fifths = [gap.groupby(X[name] // 2) for name in "xz"]
        gaps.append([fifth.mean() for fifth in fifths])
        squares.append([fifth.sem() ** 2 for fifth in fifths])
    return np.abs(np.mean(gaps, axis=0) / np.sqrt(np.mean(squares, axis=0) / FITS)).max()


@pytest.mark.parametrize("task", TASKS)
def test_means_by_bin_are_those_observed(task):
    assert worst_fifth(task, 1.0) <= 4 < worst_fifth(task, 2 / 3)


@pytest.mark.parametrize(("task", "variant"), [*((task, "pruned") for task in TASKS), MONOTONE])
def test_totals_are_those_observed(task, variant):
    found = fits(task, variant)
    totals = np.array([y.mean() for _, _, y in found])
    gaps = np.array([predicted(model, X).mean() for model, X, _ in found]) - totals
    if task == "regression":
        stated = np.array([model.total_error_ for model, _, _ in found])
        assert (np.abs(gaps) <= 4 * stated).all()
        limit = 4 * stated.mean() / math.sqrt(FITS)
    else:
        limit = 0.015 * totals.mean()
    assert abs(gaps.mean()) <= limit < abs((gaps + 0.025 * totals).mean())
    pruned = [not term.scores.any() for model, _, _ in found for term in model.released_.terms]
    if task == "classification":
        assert any(pruned)


@pytest.mark.parametrize("task", TASKS)
def test_denoising_and_monotone_repairs_keep_means(task):
    for model, X, y in fits(task, "pruned")[:4]:
        terms = [term for term in model.released_.terms if term.scores.any()]
        removed = [term.scores - term.noisy_scores for term in terms]
        means = [t.weights @ r / t.weights.sum() for t, r in zip(terms, removed, strict=True)]
        assert np.abs(means).max() <= 1e-9 < np.abs(np.concatenate(removed)).max()
        session, before = model.edit(), predicted(model, X).mean()
        session.apply(session.suggest_repairs({"z": "+"}))
        session.make_monotone("z", increasing=True)
        limit = model.total_error_ if task == "regression" else 0.002 * y.mean()
        assert abs(predicted(session.model, X).mean() - before) <= limit
        session.shift("z", 0.1, recentre=False)
        moved = abs(predicted(session.model, X).mean() - before)
        assert moved > limit
        session.keep_total()
        assert abs(predicted(session.model, X).mean() - before) <= limit + 0.05 * moved
