"""Made-up accounts and released explanations: of a table like adult, and of texts."""

import numpy as np

from interpret_dp.accounting import Guarantee, largest_mu, mu_of_budget
from interpret_dp.explanation.budget import BudgetState
from interpret_dp.explanation.local_objects import local_explanation
from interpret_dp.explanation.spend import PrivacySpend

EPSILON, DELTA = 1.0, 1e-6

ADULT = {
    "age": (39, 0.11),
    "workclass": ("State-gov", 0.01),
    "fnlwgt": (77516, -0.004),
    "education": ("Bachelors", 0.16),
    "education-num": (13, 0.21),
    "marital-status": ("Married-civ-spouse", 0.31),
    "occupation": ("Exec-managerial", 0.12),
    "relationship": ("Husband", 0.05),
    "race": ("White", 0.015),
    "sex": ("Male", -0.02),
    "capital-gain": (2174, 0.44),
    "capital-loss": (0, 0.09),
    "hours-per-week": (40, 0.13),
    "native-country": (None, 0.0),
}


def guarantee(**changes):
    """Return the promise of a background of epsilon 1 for the data set "loans"."""
    fields = {
        "epsilon": EPSILON,
        "delta": DELTA,
        "mu": mu_of_budget(EPSILON, DELTA),
        "mechanism": "discrete Gaussian noise on histograms",
        "dataset": "loans",
    }
    return Guarantee(**(fields | changes))


def background_spend(**changes):
    """Return the cost of an explanation from that background."""
    return PrivacySpend(**({"guarantee": guarantee(), "subject": "background"} | changes))


def _record(names, values, scores, errors, **others):
    columns = {"names": names, "values": values, "scores": scores, "standard_errors": errors}
    usual = {"perf": None, "extra": {"names": [], "scores": [], "values": []}}
    return usual | {"meaning": "of this value, against typical ones"} | columns | others


def adult_record(seed=0, **changes):
    """Return the explanation of one row of a table like adult."""
    rng = np.random.default_rng(seed)
    names = list(ADULT)
    error = 0.03
    scores = [effect + error * rng.normal() for _, effect in ADULT.values()]
    scores[-1] = 0.0
    values = [value for value, _ in ADULT.values()]
    fields = {
        "type": "univariate",
        "output": "probability of >50K",
        "predicted": 0.73 - 0.1 * seed,
    }
    return _record(names, values, scores, [error] * 13 + [0.0], **fields) | changes


def text_record(seed=0, n_words=500):
    """Return the explanation of one bag of words; a few words matter, and most do not occur."""
    rng = np.random.default_rng(seed)
    words = ["great", "awful", "boring", "<b>bold</b>", "wonderful"]
    words += [f"word{i}" for i in range(n_words - len(words))]
    effects = np.zeros(n_words)
    effects[:5] = 0.4, -0.35, -0.2, 0.15, 0.25
    counts = (rng.random(n_words) < 0.08) * rng.integers(1, 4, n_words)
    counts[[0, 2, 3]] = 2, 1, 1
    counts[1] = 0
    scores = (effects + 0.02 * rng.normal(size=n_words)).tolist()
    perf = {"actual": 1.0, "actual_score": 1.0, "predicted": 0.88, "predicted_score": 0.88}
    output = {"output": "probability of positive", "predicted": 0.88}
    return _record(words, counts.tolist(), scores, [0.02] * n_words, perf=perf, **output)


def explanation_of(records, **changes):
    """Return the explanation object of such records."""
    names = list(records[0]["names"])
    fields = {
        "privacy": background_spend(),
        "name": "loans explained",
        "feature_names": names,
        "feature_types": ["continuous"] * len(names),
    }
    return local_explanation(records, **(fields | changes))


def adult_explanation(**changes):
    """Return five rows of a table like adult."""
    return explanation_of([adult_record(seed) for seed in range(5)], **changes)


def budget_state(**changes):
    """Return a budget of epsilon 4 at delta 1e-5, of which two fits at epsilon 1 were spent."""
    whole = {"epsilon": 4.0, "delta": 1e-5, "mu": largest_mu(4.0, 1e-5), "delta_x": 0.0}
    spent = {"spent_mu": 2**0.5 * mu_of_budget(1.0, 1e-6), "spent_delta": 0.0}
    state = {"remaining_epsilon": 3.5, "n_requests": 2, "open_reservations": 0}
    return BudgetState(**{"dataset": "trial"} | whole | spent | state | changes)
