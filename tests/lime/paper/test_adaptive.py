"""Adaptive methods: private by replay, never above a query's mu, fewer steps from a good start.

Through the explainer, with rows on which the model fails: tests/audit/test_replay.py.
"""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from interpret_dp import PrivacyLedger
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.accounting.plans import ReleasePlan
from interpret_dp.audit import replay
from interpret_dp.lime import adaptive
from interpret_dp.lime.adaptive import (
    AdaptiveConfig,
    Explained,
    ExplanationData,
    Queries,
    adaptive_plan,
    explain_adaptively,
    minimum_on_ball,
)
from interpret_dp.lime.black_box import LABEL_UNITS
from interpret_dp.lime.coordinates import UNITS, stable_weight, weight_table
from interpret_dp.release import ReleaseSession
from tests.audit.fits import check_both_ways, kinds
from tests.lime.paper import explanation_sets as sets

BATCH = [*sets.ASKED, (31, 2.1e5, "a", 5), (70, 9e5, "b", 5)]


def config(**changes):
    chosen = AdaptiveConfig(steps=12, mu=1.0, enhanced=False, reuse_distance=0.0, n_rows=None)
    return dataclasses.replace(chosen, **changes)


def explain(data, asked, chosen, *, history=(), neighbourhood=None, ledger=None, table=None):
    """Answer a batch, as an explainer would, and return the session with what it charged."""
    table = table or sets.weights()
    neighbourhood = neighbourhood or Neighbourhood()
    planned = adaptive_plan(table, neighbourhood, chosen, len(asked), history)
    assert ReleasePlan(planned).cost.mu <= chosen.mu * math.sqrt(len(asked))
    with sets.session_of(
        *planned, neighbourhood=neighbourhood, ledger=ledger, charges_used=True
    ) as session:
        answer = explain_adaptively(session, data, asked, table, chosen, history)
    return answer, session


# --------------------------------------------------------------------------------------- privacy


def published(found):
    (explained, n_rows), session = found
    parts = {"rows": n_rows, "charged": session.charged.mu}
    for at, one in enumerate(explained):
        parts |= {f"{at}.phi": one.coefficients, f"{at}.mu": one.mu, f"{at}.origin": one.origin}
    return parts


def fit_of(**given):
    """Return what answers the batch from explanation data."""
    chosen = config(enhanced=given.pop("enhanced", False))
    return lambda rows: explain(sets.explanation_data(rows), sets.queries(BATCH), chosen, **given)


@pytest.mark.parametrize("enhanced", [False, True])
@pytest.mark.parametrize("relation", sets.RELATIONS)
def test_all_rows_of_a_person_may_change(relation, enhanced):
    more, others = [*sets.records(), *sets.EXTREMES[:3]], sets.records()
    if relation == "replace_one":
        others = [*others, *[sets.EXTREMES[0]] * 3]
    unit = Neighbourhood(relation=relation, unit="person", max_rows=3)
    fit = fit_of(neighbourhood=unit, enhanced=enhanced)
    report, _ = check_both_ways(fit, more, others, published=published)
    assert {release.name for release in report.releases} == {"gradients", "start", "rows"}
    assert report.mu <= math.sqrt(len(BATCH))
    if relation == "add_or_remove_one":
        # The same change breaks a promise about single rows.
        assert kinds(replay(fit_of(), more, others, published=published)) == {"sensitivity"}


@settings(max_examples=15)
@given(st.data())
def test_no_pair_of_extreme_rows_exceeds_the_sensitivity(data):
    """Any coordinates, labels and starts in the history; both relations."""
    n = data.draw(st.integers(1, 3))
    phis = data.draw(arrays(np.float64, (4, n), elements=st.floats(-1, 1)))
    phis /= np.maximum(1.0, np.linalg.norm(phis, axis=1, keepdims=True))
    history = tuple(
        Explained(sets.extreme_data(data, 1, n).points[0], 0, 5, phi, "x", "released")
        for phi in phis
    )
    table = weight_table(stable_weight, 0.5, n * UNITS**2, 1)
    asked = Queries(sets.extreme_data(data, 1, n).points, (0,), (9,))
    relation = data.draw(st.sampled_from(sets.RELATIONS))
    given = {"history": history, "neighbourhood": Neighbourhood(relation=relation), "table": table}
    report = replay(
        lambda rows: explain(rows, asked, config(n_rows=10.0), **given),
        *sets.extreme_pair(data, relation, n),
        published=published,
    )
    assert report.ok, report


def test_the_sensitivity_of_the_choice_is_reached():
    """One row at the worst distance, against a start on the sphere that points away from it."""
    table = weight_table(stable_weight, 0.5, UNITS**2, 1)
    start = Explained(np.zeros(1, np.int16), 0, 0, np.array([1.0]), "x", "released")
    asked = Queries(np.zeros((1, 1), np.int16), (0,), (0,))
    given = {"history": (start,), "table": table}

    def ratio(place):
        report = replay(
            lambda rows: explain(ExplanationData(*rows), asked, config(n_rows=10.0), **given),
            (np.array([[place]], np.int16), np.array([[-LABEL_UNITS]], np.int16)),
            (np.zeros((0, 1), np.int16), np.zeros((0, 1), np.int16)),
            published=published,
        )
        (choice,) = [check for check in report.releases if check.name == "start"]
        assert report.ok
        return choice.ratio

    assert 0.99 < max(map(ratio, range(5, UNITS + 1, 16))) <= 1.0


# What would break the promise, and must be found.


def report_of_a_control():
    return replay(
        fit_of(), [*sets.records(200), sets.EXTREMES[0]], sets.records(200), published=published
    )


def test_a_norm_that_is_too_small_is_found(monkeypatch):
    right = adaptive.row_norm(sets.weights())
    for module in (adaptive, adaptive):
        monkeypatch.setattr(module, "row_norm", lambda table: right // 20)
    violations = report_of_a_control().violations
    found = {v.where.split()[0] for v in violations if v.kind == "sensitivity"}
    assert found == {"gradients", "start"}


def test_scores_on_another_scale_than_their_sensitivity_are_found(monkeypatch):
    choose = ReleaseSession.choose

    def scaled(session, name, scores, **given):
        return choose(session, name, [20 * score for score in scores], **given)

    monkeypatch.setattr(ReleaseSession, "choose", scaled)
    assert "sensitivity" in kinds(report_of_a_control())


def test_a_number_of_steps_from_the_exact_gradient_is_found(monkeypatch):
    """Line 7 of Algorithm 2 as printed."""

    class Printed(adaptive._AdaptiveDescents):
        def _descent(self, moments, start, n_rows):
            steps = 2 + int(np.linalg.norm(moments.first)) % 7
            monkeypatch.setattr(AdaptiveConfig, "further_steps", lambda *_: steps)
            return super()._descent(moments, start, n_rows)

    monkeypatch.setattr(adaptive, "_AdaptiveDescents", Printed)
    assert kinds(report_of_a_control()) & {"sequence", "published"}


def test_an_exact_number_of_rows_is_found(monkeypatch):
    monkeypatch.setattr(
        adaptive._AdaptiveDescents, "_released_rows", lambda self: float(len(self._data.points))
    )
    assert "published" in kinds(report_of_a_control())


# ------------------------------------------------------------------------------------------ cost


@pytest.mark.parametrize("enhanced", [False, True])
@pytest.mark.parametrize("n_rows", [None, 3000.0])
@pytest.mark.parametrize("mu", [0.05, 200.0])
def test_no_query_costs_more_than_its_mu(enhanced, n_rows, mu):
    asked, ledger = sets.records(12, seed=5), PrivacyLedger.in_memory()
    chosen = config(enhanced=enhanced, n_rows=n_rows, mu=mu, steps=40)
    data = sets.explanation_data(sets.records(3000))
    answer, session = explain(data, sets.queries(asked), chosen, ledger=ledger)
    mus = [one.mu for one in answer[0]]
    assert 0 < max(mus) <= mu
    # What the session charged is what was used.
    assert session.charged.mu == pytest.approx(math.hypot(*mus), rel=1e-9)
    assert ledger.spent("explained").mu == session.charged.mu
    assert session.charged.mu <= mu * math.sqrt(12)
    if mu == 200.0:
        assert session.charged.mu < 0.9 * mu * math.sqrt(12)
    assert (answer[1] == n_rows) is (n_rows is not None)


# ----------------------------------------------------------------------------------------- reuse


def made(row, origin="released", output=0):
    (point,), (label,) = sets.queries([row]).points, sets.queries([row]).labels
    return Explained(point, output, label, np.full(6, 0.1), "interactive", origin, 0.2)


NEAR = [(30, 2e5, "a", 5), (31, 2e5, "a", 5)]


NOT_TAKEN_OVER = [
    (),
    (made(NEAR[0], origin="reused"),),
    (made(NEAR[0], origin="post-processed"),),
    (made(NEAR[0], output=1),),
    (made((90, 2e5, "b", 5)),),
]


@pytest.mark.parametrize(
    "history", NOT_TAKEN_OVER, ids=["empty", "reused", "post-processed", "other output", "far"]
)
def test_nothing_else_is_taken_over(history):
    answer, session = explain(
        sets.explanation_data(sets.records(50)),
        sets.queries(NEAR[1:]),
        config(reuse_distance=0.05, n_rows=50.0),
        history=history,
    )
    assert answer[0][0].origin == "released"
    assert session.charged.mu > 0


# ----------------------------------------------------------------------------------------- checks


ENTRIES = st.floats(-1e3, 1e3).map(lambda value: 0.0 if abs(value) < 1e-3 else value)


@given(arrays(np.float64, (4, 3), elements=ENTRIES), arrays(np.float64, 4, elements=ENTRIES))
def test_no_point_of_the_ball_is_better(design, target):
    phi = minimum_on_ball(design, target)
    assert np.linalg.norm(phi) <= 1 + 1e-9
    # The loss is convex: it is least where no step towards another point of the ball lowers it.
    slope = design.T @ (design @ phi - target)
    size = max(np.abs(design).max() ** 2, np.abs(design).max() * np.abs(target).max(), 1e-300)
    assert slope @ phi + np.linalg.norm(slope) <= 1e-6 * size
