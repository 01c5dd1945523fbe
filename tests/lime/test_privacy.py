"""Replays of both methods on neighbouring explanation sets, and controls that must fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.audit import ReplayReport, replay
from interpret_dp.lime import descent, statistics
from interpret_dp.lime import moments as moments_module
from interpret_dp.lime.features import UNITS
from interpret_dp.lime.moments import ExplanationData, Queries
from interpret_dp.lime.weighting import WeightTable, stable_weight, weight_table
from interpret_dp.release import ReleaseDoor
from tests.lime.explanation_sets import (
    ASKED,
    EXTREMES,
    RELATIONS,
    Record,
    explanation_data,
    extreme_data,
    extreme_pair,
    neighbours,
    published,
    queries,
    records,
    request,
    weights,
)

METHODS = ["statistics", "interactive"]


def replayed(
    method: str,
    relation: str,
    first: Any,
    second: Any,
    table: WeightTable | None = None,
    asked: Queries | None = None,
    make: Callable[[Any], ExplanationData] = explanation_data,
) -> ReplayReport:
    def fit(rows: Any) -> Any:
        return request(
            make(rows),
            asked or queries(ASKED),
            table or weights(),
            method=method,
            relation=relation,
        )

    return replay(fit, first, second, published=published)


@pytest.mark.parametrize("extreme", EXTREMES, ids=range(len(EXTREMES)))
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_a_neighbouring_explanation_set_differs_only_where_it_was_charged(
    method: str, relation: str, extreme: Record
) -> None:
    for pair in neighbours(relation, extreme):
        report = replayed(method, relation, *pair)
        assert report.ok, report
        assert report.mu == pytest.approx(1.0, rel=1e-6)


def line(place: int, label: int) -> ExplanationData:
    """Return one row on a line, ``place`` units from the middle."""
    return ExplanationData(np.array([[place]], dtype=np.int16), np.array([[label]], dtype=np.int16))


NOWHERE = ExplanationData(np.zeros((0, 1), dtype=np.int16), np.zeros((0, 1), dtype=np.int16))
MIDDLE = Queries(np.zeros((1, 1), dtype=np.int16), (0,))


def test_the_sensitivity_of_the_moments_is_reached() -> None:
    """At the distance where w sqrt(s (s + unit^2)) is largest, with a label at its bound."""
    table = weight_table(stable_weight, 0.5, UNITS**2, 1)
    places = range(5, UNITS + 1, 8)
    ratios = [
        replayed(
            "statistics", "add_or_remove_one", line(at, UNITS), NOWHERE, table, MIDDLE, lambda d: d
        ).worst_ratio
        for at in places
    ]
    assert 0.99 < max(ratios) <= 1.0


def test_the_sensitivity_of_the_gradient_is_reached() -> None:
    """At an explanation on the sphere that points away from the label."""
    table = weight_table(stable_weight, 0.5, UNITS**2, 1)
    whole = np.array([2**10])
    moments = [
        moments_module.exact_moments(line(at, -UNITS), MIDDLE, table)[0]
        for at in range(1, UNITS + 1)
    ]
    norms = [int(abs(whole @ one.second - one.first * 2**10)[0]) for one in moments]
    assert 0.99 < max(norms) / (2**10 * table.gradient_norm) <= 1.0


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15)
@given(st.data())
def test_no_pair_of_extreme_rows_exceeds_the_sensitivity(method: str, data: Any) -> None:
    """Any coordinates, labels, weight constants and queries; both relations."""
    n = data.draw(st.integers(1, 3))
    c, stretch = data.draw(st.sampled_from([0.01, 0.5, 8])), data.draw(st.integers(1, 3))
    table = weight_table(stable_weight, c, n * UNITS**2, stretch)
    asked = Queries(extreme_data(data, 1, n).points, (0,))
    relation = data.draw(st.sampled_from(RELATIONS))
    pair = extreme_pair(data, relation, n)
    report = replayed(method, relation, *pair, table, asked, lambda own: own)
    assert report.ok, report


# What would break the promise, and must be found.


@pytest.mark.parametrize("method", METHODS)
def test_a_norm_that_is_too_small_is_found(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = weight_table(stable_weight, 0.5, UNITS**2, 1)
    module = statistics if method == "statistics" else descent
    right = module._row_norm(table)
    monkeypatch.setattr(module, "_row_norm", lambda weights: right * 8 // 10)
    # At phi = 0 the gradient is b alone, so that the worst label and distance are those of b.
    reports = [
        replayed(method, "add_or_remove_one", line(at, UNITS), NOWHERE, table, MIDDLE, lambda d: d)
        for at in (53, UNITS)
    ]
    assert any(v.kind == "sensitivity" for report in reports for v in report.violations)


@pytest.mark.parametrize("method", METHODS)
def test_a_door_that_forgets_the_factor_of_replacing_is_found(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = ReleaseDoor.gaussian

    def forgetful(door: Any, name: str, exact: Any, *, row_norm: int, aligned: bool) -> Any:
        return release(door, name, exact, row_norm=row_norm // 2, aligned=False)

    monkeypatch.setattr(ReleaseDoor, "gaussian", forgetful)
    pair = line(53, UNITS), line(-53, UNITS)
    table = weight_table(stable_weight, 0.5, UNITS**2, 1)
    report = replayed(method, "replace_one", *pair, table, MIDDLE, lambda d: d)
    assert any(v.kind == "sensitivity" for v in report.violations)


@pytest.mark.parametrize("method", METHODS)
def test_a_label_that_depends_on_other_rows_is_found(method: str) -> None:
    def turned(rows: Any) -> ExplanationData:
        data = explanation_data(rows)
        return ExplanationData(data.points, data.labels * np.int16((-1) ** len(rows)))

    rows = records(200)
    report = replayed(method, "add_or_remove_one", [*rows, EXTREMES[0]], rows, make=turned)
    assert any(v.kind == "sensitivity" for v in report.violations)


def test_an_exact_number_among_what_is_published_is_found() -> None:
    def telling(rows: Any) -> Any:
        fits = request(explanation_data(rows), queries(ASKED), weights(), method="statistics")
        counted = np.full_like(fits[0].standard_errors, len(rows))
        return [dataclasses.replace(fits[0], standard_errors=counted)]

    report = replay(telling, records(30), records(29), published=published)
    assert [v.kind for v in report.violations] == ["published"]
