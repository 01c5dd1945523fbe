"""Sentences about terms: what the band shows and no more."""

import dataclasses

import numpy as np
import pytest

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Integer, Schema
from interpret_dp.datasets import make_cohort
from interpret_dp.released import AdditiveFeature, AdditiveTerm
from interpret_dp.released.summary import term_sentence
from tests.editor.models import build_model

AGE = AdditiveFeature("age", Continuous(18, 95), np.array([30.0, 41.25, 50.0, 62.0]))
YEARS = AdditiveFeature("age", Integer(18, 95), np.array([29.5, 40.5, 49.5, 61.5]))
VISITS = AdditiveFeature("visits", Continuous(0, 20), np.array([4e-6, 2.0, 5.0, 9.0]))
CITY = AdditiveFeature("city", Categorical(["Bern", "Bonn", "Ghent", "Graz", "Lyon"]))
TOWN = AdditiveFeature("town", Categorical([f"town {number}" for number in range(10)]))


def sentence(feature, scores, deviation=0.01, *, n_classes=2, missing=0.0):
    """Describe a term whose bins have independent noise."""
    base = build_model(n_classes)
    curve = np.zeros((len(scores) + 2, *np.shape(scores)[1:]))
    curve[0], curve[1:-1] = missing, scores
    noise = np.full(curve.shape, deviation**2)
    term = AdditiveTerm(0, curve, np.full(len(curve), 100.0), None, noise)
    schema = Schema({feature.name: feature.spec}, target=base.schema.target)
    model = dataclasses.replace(base, schema=schema, features=(feature,), terms=(term,))
    return term_sentence(model, term)


EFFECTS = [
    (AGE, [-1, -1, 0, 1, 1], "higher for 'age' from 50 on, and lower below 41.2; "),
    (AGE, [1, 1, 1, 1, 1], "The log-odds of 'b' are higher for 'age' of any value."),
    (AGE, [-1, 1, 1, 1, -1], ", and lower below 30 and from 62 on."),
    (YEARS, [-1, 1, 1, 1, -1], "higher for 'age' from 30 to below 62, and lower below 30"),
    # A bin within its band joins its neighbours, unless the curve crosses zero there.
    (AGE, [1, 1, 0.001, 1, -1], "higher for 'age' below 62, and lower from 62 on."),
    (AGE, [1, 1, -0.001, 1, -1], "higher for 'age' below 41.2 and from 50 to below 62, and"),
    (VISITS, [1, 1, 1, 1, -1], "higher for 'visits' below 9, and lower from 9 on."),
    (VISITS, [-1, 1, 1, 1, 1], "higher for 'visits' above 0, and lower at 0."),
    (VISITS, [-1, 1, 1, 1, -1], "above 0 and below 9, and lower at 0 and from 9 on."),
    (CITY, [1, 1, 0, -1, 0], "higher for 'city' 'Bern' and 'Bonn', and lower for 'Graz'"),
    (CITY, [1, 1, 1, 1, 1], "higher for 'city' in 5 levels."),
    (TOWN, [1] * 5 + [-1] * 5, "higher for 'town' in 5 levels, and lower in 5 levels."),
    (CITY, [0, 0, 0, 0, 0], "'city' was released as zero: no effect was learned."),
]


@pytest.mark.parametrize(("feature", "scores", "says"), EFFECTS)
def test_ranges_and_levels_are_named_where_the_band_leaves_zero(feature, scores, says):
    assert says in sentence(feature, scores)


def test_noise_is_not_described():
    assert sentence(AGE, [-1, -1, 0, 1, 1], 0.9) == "The effect of 'age' may be noise alone."
    model = build_model()
    unknown = dataclasses.replace(model.terms[0], covariance=None)
    assert "is not known" in term_sentence(model, unknown)
    zero = dataclasses.replace(unknown, scores=np.zeros_like(unknown.scores))
    assert "released as zero" in term_sentence(model, zero)
    assert "no single value" in sentence(AGE, [0, 0, 0, 0, 0], missing=1.0)


def test_each_of_several_classes_has_a_sentence():
    scores = np.outer([-1, -1, 0, 1, 1], [1, -1, 0])
    text = sentence(AGE, scores, n_classes=3)
    assert "The score of 'a' is higher for 'age' from 50 on" in text
    assert "The score of 'b' is higher for 'age' below 41.2" in text
    assert "'c'" not in text


def test_an_explanation_describes_every_term():
    patients = make_cohort(2_000)
    model = DPExplainableBoostingClassifier(
        schema=patients.schema, interactions=[("age", "sex")], epsilon=1e4, max_rounds=2
    ).fit(patients.X, patients.y)
    described = model.explain_global().describe()
    assert list(described) == model.term_names_
    assert described["age & sex"] == "'age' and 'sex' have an effect together."
