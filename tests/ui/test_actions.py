"""The editor's buttons, its plot and the places on it, without a page."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.editor import EditSession
from interpret_dp.explanation.plots.axes import bin_texts
from interpret_dp.explanation.plots.shape import common_range
from interpret_dp.released import AdditiveFeature, AdditiveTerm
from interpret_dp.schema import Integer, Schema
from interpret_dp.ui.actions import ACTIONS, TOOLS, Request, load, perform, selection_text
from interpret_dp.ui.figure import EditedTerm
from tests.editor.models import Holder, build_model, without_rows
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


@pytest.mark.parametrize("typed", ["", " ", "0,5", "many", "nan", "inf"])
def test_what_is_no_finite_number_is_refused(session, typed):
    message = typed if typed in ("nan", "inf") else r"such as 0\.1"
    with pytest.raises(ValueError, match=message):
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


# ----------------------------------------------------------------------------------------- the plot


GESTURES = {"click": {"type": "c"}, "drag": {"type": "d"}}


def figure(session, name, **options):
    term = EditedTerm.of(session, session.terms.index(name))
    return term.figure(gestures=GESTURES, **options)


def names_in_legend(drawn):
    return [trace.name for trace in drawn.data if trace.showlegend is not False]


def heights(drawn):
    """Return the scores that a drag moves, by bin."""
    found = {}
    for entry in drawn.layout.meta["traces"]:
        found |= dict(zip(entry["codes"], drawn.data[entry["trace"]].y, strict=True))
    return found


def test_released_last_and_present_scores_are_told_apart(session):
    session.shift("age", 0.5, bins=[2])
    session.shift("age", 0.5, bins=[4])
    drawn = figure(session, "age")
    assert {"edited", "released", "before the last edit"} <= set(names_in_legend(drawn))
    view = session.view("age")
    by_name = {trace.name: trace for trace in drawn.data if trace.mode == "lines"}
    assert by_name["edited"].y[3] == view.original[4] + 0.5
    assert by_name["before the last edit"].y[3] == view.original[4]
    assert by_name["released"].y[1] == view.original[2]
    versions = ("edited", "before the last edit", "released")
    assert len({by_name[name].line.color for name in versions}) == 3
    assert len({by_name[name].line.dash for name in versions}) == 3


@pytest.mark.parametrize(("name", "code"), [("age", 8), ("city", 1)])
def test_bins_with_too_few_rows_say_so_and_have_the_widest_band(name, code):
    drawn = figure(Holder(without_rows(build_model(), name, [code])).edit(), name)
    assert np.isfinite(drawn.layout.yaxis.range).all()
    texts = [text for trace in drawn.data if trace.text for text in trace.text]
    assert sum("released 0, too few rows to be learned" in text for text in texts) == 1
    heights_of_bands = [trace.y for trace in drawn.data if "95 %" in (trace.name or "")]
    assert np.isfinite(np.concatenate(heights_of_bands)).all()
    marks = [trace for trace in drawn.data if trace.name == "too few rows to be learned"]
    if name == "city":
        (whiskers,) = [trace.error_y for trace in drawn.data if "95 %" in (trace.name or "")]
        widths = np.add(whiskers.array, whiskers.arrayminus)
        assert len(widths) == 5
        assert np.count_nonzero(widths == widths.max()) == 1
        assert not marks
    else:
        assert [mark.y for mark in marks] == [(0.0, 0.0, None)]


def test_the_range_holds_everything_that_is_drawn(session):
    session.set_scores("age", 40.0, bins=[1])
    low, high = figure(session, "age").layout.yaxis.range
    assert low < session.view("age").original.min()
    assert high > 40.0
    common = figure(session, "city", on_common_scale=True).layout.yaxis.range
    assert common[1] - common[0] > np.ptp(session.view("city").current)


def test_selected_bins_are_marked_and_the_page_knows_them(session):
    drawn = figure(session, "age", selected=[2, 3, 6])
    edges = session.view("age").edges
    rects = [(s.x0, s.x1) for s in drawn.layout.shapes if s.type == "rect"]
    assert rects == [(edges[1], edges[3]), (edges[5], edges[6])]
    assert drawn.layout.meta["selected"] == [2, 3, 6]
    assert drawn.layout.meta["editor"] == GESTURES


def test_several_classes_have_their_own_colours_and_one_can_be_chosen():
    session = Holder(build_model(n_classes=3)).edit()
    drawn = figure(session, "age")
    lines = [t for t in drawn.data if t.mode == "lines" and t.name in ("a", "b", "c")]
    assert len({trace.line.color for trace in lines}) == 3
    assert len(drawn.layout.meta["traces"]) >= 3
    one = figure(session, "age", column=1)
    current = session.view("age").current[:, 1]
    assert heights(one) == {code: current[code] for code in heights(one)}


def test_no_button_sends_the_figure_away(session):
    assert "sendChartToCloud" in figure(session, "age").layout.modebar.remove


def test_a_bin_that_is_not_drawn_does_not_stretch_the_common_scale():
    model = build_model()
    terms = list(model.terms)
    scores = np.array(terms[0].scores)
    scores[-1] = 1e3  # no number is undeclared
    terms[0] = replace(terms[0], scores=scores)
    assert common_range(replace(model, terms=tuple(terms))) == common_range(model)


# ----------------------------------------------------------------------------------- places of bins


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
