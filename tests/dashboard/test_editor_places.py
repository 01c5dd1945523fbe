"""Where bins stand on the editor's plot."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.dashboard.editor_places import places_of
from tests.editor.models import Holder, build_model

MODEL = build_model()
SESSION = Holder(MODEL).edit()


def places(name, session=SESSION):
    term = session.terms.index(name)
    return places_of(session.base, term, session.view(term))


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


def test_shift_takes_what_lies_between():
    found = places("age")
    assert found.reaching([3], 5) == [3, 4, 5]
    assert found.reaching([4, 5], 2) == [2, 3, 4, 5]
    assert found.reaching([], 2) == [2]
