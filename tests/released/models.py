"""Small released models, rows that visit all their bins, and scoring in plain Python."""

import copy
import functools
import math
import operator

import numpy as np
import pandas as pd

from interpret_dp.accounting import Guarantee, mu_of_budget
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.schema import Categorical, Continuous, Schema

GUARANTEE = Guarantee(epsilon=1.0, delta=1e-5, mu=mu_of_budget(1.0, 1e-5), mechanism="Gaussian")


def assemble(features, scores, intercept, labels, covariances=None):
    """Return a model with one term a feature; no label makes it a regression."""
    covariances = covariances or [None] * len(features)
    terms = tuple(
        AdditiveTerm(index, values, np.arange(1.0, len(values) + 1), covariance)
        for index, (values, covariance) in enumerate(zip(scores, covariances, strict=True))
    )
    return of_terms(features, terms, intercept, labels)


def of_terms(features, terms, intercept, labels, **changes):
    """Return a model of the given terms."""
    target = Categorical(list(labels)) if labels else Continuous(-100, 100)
    figures = {"n_rows": 10.0, "noise_scale_binning": 1.0, "noise_scale_boosting": 1.0, "rounds": 1}
    return AdditiveModel(
        task="classification" if labels else "regression",
        schema=Schema({feature.name: feature.spec for feature in features}, target=target),
        features=tuple(features),
        terms=tuple(terms),
        intercept=intercept,
        classes=tuple(labels) or None,
        guarantee=GUARANTEE,
        **figures | changes,
    )


def damaged(document, path, value):
    """Return a copy of a document with another value at a path."""
    whole = copy.deepcopy(document)
    *parents, last = path
    functools.reduce(operator.getitem, parents, whole)[last] = value
    return whole


def build_model(n_classes, names=("age", "job")):
    """Return a model of one continuous and one categorical feature; 0 classes: a regression."""
    features = (
        AdditiveFeature(names[0], Continuous(0, 50), np.array([20.0, 40.5])),
        AdditiveFeature(names[1], Categorical(["cook", "it's"])),
    )
    width = n_classes if n_classes > 2 else 1
    base = [np.array([0.1, -1.5, 0.25, 2.0, 9.0]), np.array([0.3, -0.7, 0.9, -0.1])]
    scores = [np.outer(values, 1.0 - 1.7 * np.arange(width)) for values in base]
    square = np.stack([np.eye(5)] * width)
    return assemble(
        features,
        [values[:, 0] if width == 1 else values for values in scores],
        np.linspace(-0.5, 0.5, width) if width > 1 else -0.5,
        ["a", "b", "c"][:n_classes],
        [square[0] if width == 1 else square, None],
    )


def odd_rows():
    """Return rows that visit every bin: on cuts, out of range, infinite, missing, undeclared."""
    ages = [19.9, 20.0, 40.5, -1e9, 1e9, math.inf, -math.inf, math.nan, 30.0, 5.0]
    jobs = ["cook", "it's", None, "it''s", "COOK", "cook ", "", "cook", "it's", None]
    return pd.DataFrame({"age": ages, "job": pd.Series(jobs, dtype=object)})


def score_rows(model, rows):
    """Return scores, shape (n_rows, n_scores), by the rule of the schema, cell by cell."""
    total = np.tile(model.intercept, (len(rows), 1))
    for term in model.terms:
        feature = model.features[term.feature]
        codes = [_code(feature, cell) for cell in rows[feature.name]]
        total += term.scores.reshape(len(term.scores), -1)[codes]
    return total


def _code(feature, cell):
    if cell is None or cell != cell:
        return 0
    if isinstance(feature.spec, Continuous):
        return 1 + int(np.searchsorted(feature.cuts, float(cell), side="right"))
    for position, level in enumerate(feature.spec.levels, start=1):
        if isinstance(cell, str) == isinstance(level, str) and cell == level:
            return position
    return feature.n_codes - 1
