"""Released models to edit, and the least that can stand for an estimator."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from interpret_dp import Categorical, Continuous, EditSession, Schema
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from tests.released.models import of_terms

AGE_CUTS = np.array([20.0, 25.0, 30.0, 40.0, 55.0, 60.0, 78.0])
DOSE_CUTS = np.array([0.5, 2.0, 10.0, 50.0])


@dataclass
class Holder:
    """Stands for an estimator: it holds a released model and opens sessions."""

    released: AdditiveModel

    def edit(self, author="Ada", *, autosave=True):
        return EditSession(self.released, Holder, author=author, autosave=autosave)


def noise_covariance(size, rng, scale=0.1):
    root = rng.normal(size=(size, size)) * scale
    return root @ root.T / size


def build_model(n_classes=2, seed=0, covariance=True):
    """Return terms age (continuous), dose (log scale), grade (ordinal) and city (nominal)."""
    rng = np.random.default_rng(seed)
    features = (
        AdditiveFeature("age", Continuous(10, 90), AGE_CUTS),
        AdditiveFeature("dose", Continuous(0, 100, scale="log"), DOSE_CUTS),
        AdditiveFeature("grade", Categorical(["low", "mid", "high", "top"], ordered=True)),
        AdditiveFeature("city", Categorical(["Bonn", "Lyon", 3])),
    )
    width = n_classes if n_classes > 2 else 1
    terms = []
    for index, feature in enumerate(features):
        size = feature.n_codes
        scores = rng.normal(size=(size, width))
        if feature.name == "age":
            # A zigzag, which no shape fits anywhere.
            scores = 0.2 * scores + (-1.0) ** np.arange(size)[:, np.newaxis]
        noise = np.stack([noise_covariance(size, rng) for _ in range(width)])
        weights = rng.uniform(0.5, 30.0, size)
        if width == 1:
            scores, noise = scores[:, 0], noise[0]
        terms.append(AdditiveTerm(index, scores, weights, noise if covariance else None))
    figures = {"n_rows": 100.0, "noise_scale_boosting": 0.1, "rounds": 10}
    return of_terms(features, terms, rng.normal(size=width), "abc"[:n_classes], **figures)


def changed(model, index, *, feature=None, term=None, **parts):
    """Return a model with another feature and another term at a place, or other parts of it."""
    features, terms = list(model.features), list(model.terms)
    features[index] = feature or features[index]
    terms[index] = term or dataclasses.replace(terms[index], **parts)
    schema = Schema({one.name: one.spec for one in features}, target=model.schema.target)
    return dataclasses.replace(model, schema=schema, features=features, terms=tuple(terms))


def without_rows(model, name, bins):
    """Return a model whose fit left some bins alone: few rows, no score, no noise."""
    index = model.term_names.index(name)
    term = model.terms[index]
    arrays = {key: np.array(getattr(term, key)) for key in ("scores", "weights", "covariance")}
    arrays["scores"][bins], arrays["weights"][bins] = 0.0, 1.0
    arrays["covariance"][..., bins, :] = arrays["covariance"][..., bins] = 0.0
    return changed(model, index, **arrays)


def as_older_version(model):
    """Return an edited model as an older version wrote it: without its released curves."""
    terms = [dataclasses.replace(term, released=None, moved=None) for term in model.terms]
    return dataclasses.replace(model, terms=tuple(terms))


def session(n_classes=2, seed=0, covariance=True):
    return Holder(build_model(n_classes, seed, covariance)).edit()


def words(record):
    """Return what an edit did, without how far it moved the mean prediction."""
    return record.what.partition(", which moves ")[0]


def mean_score(model):
    """Return the mean score over the released histograms, shape (n_scores,)."""
    total = np.array(model.intercept)
    for term in model.terms:
        total += term.weights @ term.scores.reshape(len(term.weights), -1) / term.weights.sum()
    return total
