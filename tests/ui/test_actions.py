"""The editor's buttons, without a page."""

from __future__ import annotations

import inspect

import pytest

from interpret_dp.editor import EditSession
from interpret_dp.ui.actions import ACTIONS, TOOLS, Request, load, perform
from interpret_dp.ui.figure import EditedTerm
from tests.editor.models import Holder, build_model
from tests.editor.test_verdict import wavy

OPERATIONS = {
    *("make_monotone", "make_convex", "make_concave", "smooth", "interpolate", "flatten"),
    *("align", "set_scores", "shift", "scale", "cap", "remove_effect"),
}


@pytest.fixture
def session():
    return Holder(build_model()).edit()


def use(session, action, name="age", **request):
    term = EditedTerm.of(session, session.terms.index(name))
    return perform(term, action, Request(**request))


def test_every_operation_of_the_session_has_a_button():
    assert {tool.kind for tool in TOOLS.values()} == OPERATIONS
    for tool in TOOLS.values():
        known = inspect.signature(getattr(EditSession, tool.kind)).parameters
        assert set(tool.arguments) | ({tool.number} - {""}) <= set(known)
    assert not set(ACTIONS) & set(TOOLS)


@pytest.mark.parametrize("action", sorted(TOOLS))
@pytest.mark.parametrize("name", ["age", "dose", "grade", "city"])
def test_a_button_works_on_every_term_that_it_is_shown_for(session, action, name):
    kind = session.view(name).kind
    bins = tuple(range(1, len(session.view(name).labels) - 1))
    if TOOLS[action].suits(kind):
        outcome = use(session, action, name, bins=bins, number="2")
        assert outcome.level in ("done", "note")
    else:
        with pytest.raises(ValueError, match=r"order|distance"):
            use(session, action, name, bins=bins, number="2")


@pytest.mark.parametrize("action", sorted(TOOLS))
def test_no_selection_is_refused_and_never_means_everything(session, action):
    with pytest.raises(ValueError, match="Nothing is selected"):
        use(session, action, number="0.2")
    assert session.version == 0


@pytest.mark.parametrize("typed", ["", " ", "0,5", "many"])
def test_what_is_no_number_is_refused_with_an_example(session, typed):
    with pytest.raises(ValueError, match=r"such as 0\.1"):
        use(session, "shift", bins=(1,), number=typed)


@pytest.mark.parametrize("typed", ["nan", "inf"])
def test_numbers_that_are_not_finite_are_refused(session, typed):
    with pytest.raises(ValueError, match=r"finite|nan|inf"):
        use(session, "shift", bins=(1,), number=typed)


def test_a_chosen_class_is_edited_alone():
    session = Holder(build_model(n_classes=3)).edit()
    use(session, "flatten", bins=(1, 2, 3), column=1)
    view = session.view("age")
    assert (view.current != view.original).any(axis=0).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="choose one class"):
        use(session, "verdict")
    text = session.verdict("age", class_label="c", bins=(1, 2)).text
    assert use(session, "verdict", column=2, bins=(1, 2)).text == f"{text} Edits are not judged."


def test_a_repair_needs_a_direction(session):
    with pytest.raises(ValueError, match="direction"):
        use(session, "repair", shape="monotone")
    wavy_session = Holder(wavy()).edit()
    assert use(wavy_session, "repair", shape="increasing").text.startswith("Repaired")
    again = use(wavy_session, "repair", shape="increasing")
    assert again.text.startswith("There is nothing to repair")
    assert len(wavy_session.history) == 1


def test_loading_refuses_to_lose_edits(session):
    use(session, "flatten", bins=(1, 2))
    document = session.to_dict()
    use(session, "shift", bins=(3,), number="1")
    with pytest.raises(ValueError, match="would be lost"):
        load(session, document)
    assert len(session.history) == 2
    session.undo()
    session.undo()
    assert "Loaded 1 edit" in load(session, document).text
