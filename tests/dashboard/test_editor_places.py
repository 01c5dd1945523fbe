"""Where bins stand on the editor's plot."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.dashboard.editor_places import places_of
from tests.editor.models import Holder, build_model

MODEL = build_model()
SESSION = Holder(MODEL).edit()


def places(name, session=SESSION):
    term = session.terms.index(name)
    return places_of(session.base, term, session.view(term))


def test_a_curve_stands_on_the_scale_of_its_declaration():
    age, dose = places("age"), places("dose")
    assert age.edges.tolist() == SESSION.view("age").edges.tolist()
    assert dose.edges == pytest.approx(np.log1p(SESSION.view("dose").edges))


def test_missing_values_stand_beside_the_curve_if_there_are_any():
    for scale, has_missing in ((100.0, False), (1e-3, True)):
        session = Holder(dataclasses.replace(build_model(), noise_scale_binning=scale)).edit()
        found = places("age", session)
        assert found.codes[: found.n_steps] == tuple(range(1, len(session.view("age").labels) - 1))
        assert (found.codes[-1] == 0) is has_missing
        assert (found.tick_labels[-1] == "missing") is has_missing
        assert bool(found.left[-1] > found.edges[-1]) is has_missing


def test_an_edited_bin_is_shown_though_it_holds_no_rows():
    quiet = dataclasses.replace(build_model(), noise_scale_binning=100.0)
    session = Holder(quiet).edit()
    last = len(session.view("city").labels) - 1
    assert set(places("city", session).codes) == set(range(1, last))
    session.set_scores("city", 2.5, bins=last)
    assert places("city", session).codes[-1] == last


def test_nominal_levels_are_ordered_by_their_released_score_and_stay():
    session = Holder(build_model()).edit()
    before = places("city", session)
    scores = session.view("city").original
    regular = [code for code in before.codes if 0 < code < len(scores) - 1]
    assert [scores[code] for code in regular] == sorted(scores[regular], reverse=True)
    session.set_scores("city", [5.0, -5.0, 0.0], bins=[1, 2, 3])
    assert places("city", session).codes[: len(regular)] == tuple(regular)


def test_ordinal_levels_keep_the_order_of_their_declaration():
    assert places("grade").codes[:4] == (1, 2, 3, 4)


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_range_holds_what_it_overlaps(first, second):
    low, high = sorted((first, second))
    found = places("age")
    expected = [
        code
        for code, left, right in zip(found.codes, found.left, found.right, strict=True)
        if min(right, high) > max(left, low)
    ]
    assert [c for c in found.between(low, high) if high > low] == (expected if high > low else [])


def test_neighbours_are_one_run_and_the_missing_bin_is_another():
    found = places("age")
    edges = found.edges
    assert found.runs([1, 2, 4]) == [(edges[0], edges[2]), (edges[3], edges[4])]
    assert found.runs([]) == []
    everything = found.runs(found.codes)
    assert len(everything) == 1 + (0 in found.codes)


def test_shift_takes_what_lies_between():
    found = places("age")
    assert found.reaching([3], 5) == [3, 4, 5]
    assert found.reaching([4, 5], 2) == [2, 3, 4, 5]
    assert found.reaching([], 2) == [2]


def test_the_whole_curve_leaves_missing_values_out():
    found = places("age")
    assert found.whole() == list(range(1, len(SESSION.view("age").labels) - 1))
    assert set(places("city").whole()) >= {1, 2, 3}
