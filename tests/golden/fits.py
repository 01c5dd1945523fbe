"""Fits with frozen noise, and the numbers that they release.

A change that is meant to change nothing leaves these numbers as they are. A change of a rule of the
trainer changes them; then write them again, and say in the commit what became better::

    python -m tests.golden.fits
"""

import json

import numpy as np
import pandas as pd

import interpret_dp as dp
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.golden.kinds import FEATURES, FILES, additive, maps, rows, score

NUMBERS = FILES / "fits.numbers.json"


def summary(model):
    """Return the released numbers of an additive model."""
    return {
        "intercept": np.ravel(model.intercept_).tolist(),
        "scores": [np.ravel(scores).tolist() for scores in model.term_scores_],
        "deviations": [np.ravel(found).tolist() for found in model.standard_deviations_],
        "weights": [np.ravel(weights).tolist() for weights in model.bin_weights_],
        "releases": {share.name: [share.count, share.mu] for share in model.guarantee_.releases},
    }


def fitted(y, X=None, schema=None, **parameters):
    """Fit with frozen noise; texts and integers are labels."""
    X = rows() if X is None else X
    given = {k: parameters.pop(k) for k in ("sample_weight", "init_score") if k in parameters}
    is_label = np.asarray(y).dtype.kind in "UOi" and "objective" not in parameters
    target = dp.Categorical(sorted(set(y))) if is_label else dp.Continuous(-6, 8)
    estimator = (
        dp.DPExplainableBoostingClassifier if is_label else dp.DPExplainableBoostingRegressor
    )
    schema = dp.Schema(FEATURES, target=target) if schema is None else schema
    model = estimator(**{"schema": schema, "epsilon": 2.0, "delta": 1e-6} | parameters)
    with use_randomness(SeededRandomness(11)):
        return summary(model.fit(X, y, **given))


def columns(n_rows, n_columns, shared=0.0):
    """Return normal columns, whose correlation is ``shared``."""
    rng = np.random.default_rng(2)
    own, common = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(n_rows, 1))
    values = np.sqrt(1 - shared) * own + np.sqrt(shared) * common
    return pd.DataFrame(values, columns=[f"x{k}" for k in range(n_columns)])


def curve(X):
    """Return a curved score of two columns."""
    return np.sin(2 * X["x0"].to_numpy()) + X["x1"].to_numpy()


def drawn(chance, labels=("no", "yes")):
    """Draw labels; the last one has these log-odds, the others share the rest."""
    rng = np.random.default_rng(6)
    is_last = rng.random(len(chance)) < 1 / (1 + np.exp(-chance))
    return np.where(is_last, labels[-1], rng.choice(labels[:-1], len(chance)))


def mapped(kind):
    """Return what locally linear maps say of some rows."""
    X = np.random.default_rng(4).integers(0, 256, size=(12, 8, 8)) if kind == "images" else rows(30)
    return {"probabilities": np.ravel(maps(kind).predict_proba(X)).tolist()}


def cases():
    """Return every fit by its name."""
    X, latent = rows(), score(rows())
    labels = np.where(latent > 0, "yes", "no")
    few, many, alike = columns(3_000, 8), columns(6_000, 8), columns(4_000, 6, shared=0.8)
    plain = dp.Schema(default=dp.Continuous(-4, 4), target=dp.Continuous(-6, 8))
    signs = dp.Schema(default=dp.Continuous(-4, 4), target=dp.Categorical(["no", "yes"]))
    three = dp.Schema(default=dp.Continuous(-4, 4), target=dp.Categorical(["never", "no", "yes"]))
    codes = np.random.default_rng(8).integers(400, size=3_000)
    wide = pd.DataFrame({"code": codes, "x0": few["x0"]})
    levels = {"code": dp.Categorical(range(400)), "x0": dp.Continuous(-4, 4)}
    people = X.assign(patient=np.arange(len(X)) // 2)
    one_person = dp.Schema(
        FEATURES, dp.Categorical(["no", "yes"]), unit=dp.PrivacyUnit("patient", 2)
    )
    undeclared = dp.Schema({"stage": FEATURES["stage"]})
    amounts = dp.Schema(FEATURES, target=dp.Continuous(0, 6))
    started = {"sample_weight": 1.0 + (X["dose"] > 10), "init_score": latent / 2}
    kinds = ("pairs", "classes", "monotone", "poisson", "gamma")
    return {
        **{kind: (lambda kind=kind: summary(additive(kind))) for kind in kinds},
        "noise alone": lambda: fitted(labels, epsilon=0.02),
        "two of eight matter": lambda: fitted(drawn(3 * curve(few)), few, signs, epsilon=1.0),
        "next to no noise": lambda: fitted(curve(alike), alike, plain, epsilon=1e6),
        "correlated": lambda: fitted(drawn(2 * curve(alike)), alike, signs, epsilon=8.0),
        "rare": lambda: fitted(drawn(curve(many) - 4.5), many, signs, epsilon=1.0),
        "rare of three": lambda: fitted(
            drawn(curve(many) - 4.0, ("never", "no", "yes")), many, three, epsilon=4.0
        ),
        "rare and drowned": lambda: fitted(drawn(curve(many) - 5), many, signs, epsilon=0.1),
        "many levels": lambda: fitted(
            np.sin(codes) + curve(few), wide, dp.Schema(levels, target=dp.Continuous(-6, 8))
        ),
        "weights and start": lambda: fitted(latent, privacy_weight_max=2.0, **started),
        "people": lambda: fitted(labels, people, one_person),
        "undeclared": lambda: fitted(labels, X, undeclared),
        "counts without a bound": lambda: fitted(
            np.floor(np.exp(latent)), X, dp.Schema(FEATURES), objective="poisson_deviance"
        ),
        "tweedie": lambda: fitted(
            np.maximum(latent, 0), X, amounts, objective="tweedie:variance_power=1.6"
        ),
        "quantile": lambda: fitted(latent, objective="quantile:alpha=0.8"),
        "chosen settings": lambda: fitted(
            latent, max_rounds=7, max_leaves=3, learning_rate=0.1, max_bins=16
        ),
        "pairs of counts": lambda: fitted(
            np.floor(np.exp(latent)),
            schema=dp.Schema(FEATURES, target=dp.Continuous(0, 20)),
            **{"objective": "poisson_deviance", "interactions": 1, "epsilon": 20.0},
        ),
        "pairs of three classes": lambda: fitted(
            np.where(latent > 1, "high", labels), interactions=1, max_rounds=4, epsilon=20.0
        ),
        "chosen pairs": lambda: fitted(labels, interactions=2, max_rounds=4, epsilon=20.0),
        "classic": lambda: fitted(latent, composition="classic"),
        "maps of a table": lambda: mapped("table"),
        "maps of images": lambda: mapped("images"),
    }


def main():
    """Write the numbers of all fits."""
    numbers = {name: fit() for name, fit in cases().items()}
    NUMBERS.write_text(json.dumps(_rounded(numbers)) + "\n", encoding="utf-8")


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.9g}")


if __name__ == "__main__":
    main()
