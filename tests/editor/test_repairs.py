"""Repairs that the noise justifies, for directions that the user declares."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.editor.models import Holder, build_model, session
from tests.editor.test_verdict import with_age


def wavy():
    """Return a rising curve with a small bump, a clear dip, and much noise but at the dip."""
    scores = np.array([0.0, 1.0, 0.9, 2.0, 3.0, 4.0, 3.5, 5.0, 6.0])
    deviations = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.01, 0.01, 0.5, 0.5])
    return with_age(scores, np.diag(deviations**2))


def test_only_bumps_that_noise_explains_are_repaired():
    editing = Holder(wavy()).edit()
    (suggestion,) = editing.suggest_repairs({"age": "+"})
    assert (suggestion.term, suggestion.increasing, suggestion.class_label) == ("age", True, None)
    assert suggestion.bins == (2, 3)
    assert suggestion.p_value > 0.05
    assert "is more than noise explains" in suggestion.text
    (record,) = editing.apply([suggestion])
    assert record.what == "made increasing between 1 and 3"
    np.testing.assert_allclose(
        editing.view("age").current[1:-1], [0, 0.95, 0.95, 2, 3, 4, 3.5, 5, 6]
    )
    assert editing.suggest_repairs({"age": "+"}) == ()
    editing.undo()
    assert editing.suggest_repairs({"age": "+"}) == (suggestion,)


def test_a_higher_level_repairs_less_and_signal_is_never_repaired():
    editing = Holder(with_age(np.array([0.0, 1.0, 0.0, 2.0]), 0.5**2 * np.eye(4))).edit()
    (suggestion,) = editing.suggest_repairs({"age": "+"})
    assert 0.1 < suggestion.p_value < 0.6
    assert editing.suggest_repairs({"age": "+"}, alpha=0.6) == ()
    clear = Holder(with_age(np.array([0.0, 1.0, -1.0, 2.0]), 0.01**2 * np.eye(4))).edit()
    assert clear.suggest_repairs({"age": "+"}) == ()


def test_falling_directions_and_several_terms_are_repaired():
    model = wavy()
    falling = dataclasses.replace(model.terms[0], scores=-model.terms[0].scores)
    editing = Holder(dataclasses.replace(model, terms=(falling, *model.terms[1:]))).edit()
    found = editing.suggest_repairs({"age": "-", "grade": "+"})
    assert found[0].increasing is False
    records = editing.apply(found)
    assert [record.term for record in records] == [entry.term for entry in found]
    assert editing.pending == records


def test_classes_have_directions_of_their_own():
    model = build_model(3)
    loud = [dataclasses.replace(term, covariance=term.covariance * 1e4) for term in model.terms]
    editing = Holder(dataclasses.replace(model, terms=tuple(loud))).edit()
    found = editing.suggest_repairs({"age": {"a": "+", "c": "-"}})
    assert [(entry.class_label, entry.increasing) for entry in found] == [("a", True), ("c", False)]
    editing.apply(found)
    change = editing.view("age").current != editing.view("age").original
    assert change.any(axis=0).tolist() == [True, False, True]
    assert editing.suggest_repairs({"age": {"a": "+", "c": "-"}}) == ()


@pytest.mark.parametrize(
    ("monotone", "error", "message"),
    [
        ({"age": "up"}, ValueError, r"it must be '\+' \(increasing\) or '-'"),
        ({"age": True}, ValueError, r"it must be '\+'"),
        ({"height": "+"}, ValueError, "no term 'height'"),
        ({"city": "+"}, ValueError, "ordered=True"),
        (["age"], TypeError, "mapping of terms to directions"),
    ],
)
def test_wrong_directions_are_refused(monotone, error, message):
    with pytest.raises(error, match=message):
        session().suggest_repairs(monotone)


def test_only_suggestions_are_applied_and_none_if_one_is_not():
    editing = Holder(wavy()).edit()
    found = editing.suggest_repairs({"age": "+"})
    with pytest.raises(TypeError, match="no Suggestion"):
        editing.apply([*found, "age"])
    assert editing.history == ()
    assert editing.apply([]) == ()
