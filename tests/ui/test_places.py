"""Positions of bins on the editor's plot."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.explanation.plots.axes import bin_texts
from interpret_dp.released import AdditiveFeature, AdditiveTerm
from interpret_dp.schema import Integer, Schema
from interpret_dp.ui.actions import selection_text
from interpret_dp.ui.figure import EditedTerm
from tests.editor.models import Holder, build_model

MODEL = build_model()
SESSION = Holder(MODEL).edit()


def places(name, session=SESSION):
    return EditedTerm.of(session, session.terms.index(name)).places


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


def test_bins_of_integers_are_named_by_their_values():
    age = AdditiveFeature("age", Integer(10, 90), np.array([17.5, 18.5, 64.5]))
    term = AdditiveTerm(0, np.zeros(6), np.ones(6), None)
    schema = Schema({"age": age.spec}, target=MODEL.schema.target)
    model = dataclasses.replace(MODEL, schema=schema, features=(age,), terms=(term,))
    session = Holder(model).edit()
    term = EditedTerm.of(session, 0)
    assert bin_texts(age)[1:-1] == ["10 to 17", "18", "19 to 64", "65 to 90"]
    assert selection_text(term, (2, 3, 4)) == "between 18 and 90 (about 3 rows, noisy count)"
    assert list(term.places.edges) == [9.5, 17.5, 18.5, 64.5, 90.5]


def test_shift_takes_what_lies_between():
    found = places("age")
    assert found.reaching([3], 5) == [3, 4, 5]
    assert found.reaching([4, 5], 2) == [2, 3, 4, 5]
    assert found.reaching([], 2) == [2]
