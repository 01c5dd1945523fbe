"""The editor's buttons, its plot and the places on it, without a page."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interpret_dp.editor import KINDS
from interpret_dp.explanation.plots.shape import common_range
from interpret_dp.ui.actions import TOOLS, EditorInput, perform
from interpret_dp.ui.figure import EditedTerm
from tests.editor.models import Holder, build_model, changed, words
from tests.editor.test_verdict import wavy


@pytest.fixture
def session():
    return Holder(build_model()).edit()


def use(session, action, name="age", **request):
    term = EditedTerm.of(session, session.terms.index(name))
    return perform(term, action, EditorInput(**request))


METHODS = {
    "Increasing": ("make_monotone", {"increasing": True}),
    "Decreasing": ("make_monotone", {"increasing": False}),
    "Monotone": ("make_monotone", {}),
    "Convex": ("make_convex", {}),
    "Concave": ("make_concave", {}),
    "Connect ends": ("interpolate", {}),
    "Fit a line": ("interpolate", {"method": "fit"}),
    "Flatten": ("flatten", {}),
    "Align left": ("align", {"to": "left"}),
    "Align right": ("align", {"to": "right"}),
    "Shift by": ("shift", {"by": 0.5}),
    "Scale by": ("scale", {"factor": 0.5}),
    "Set to": ("set_scores", {"scores": 0.5}),
    "Cap at": ("cap", {"magnitude": 0.5}),
    "In steps": ("interpolate", {"steps": 2}),
    "Remove effect": ("remove_effect", {}),
    "Smooth": ("smooth", {}),
}


def test_every_method_has_a_button():
    assert METHODS.keys() == {tool.label for tool in TOOLS.values()}
    assert {kind for kind, _ in METHODS.values()} == KINDS.keys()


@pytest.mark.parametrize("action", TOOLS)
@pytest.mark.parametrize("name", ["age", "dose", "grade", "city"])
def test_a_button_does_what_its_method_does_wherever_it_is_shown(session, action, name):
    kind, arguments = METHODS[TOOLS[action].label]
    number = str(arguments.get("steps", 0.5))
    request = {"bins": tuple(range(2, len(session.view(name).labels) - 1)), "number": number}
    if not TOOLS[action].suits(session.view(name).kind):
        with pytest.raises(ValueError, match=r"order|distance"):
            use(session, action, name, **request)
        return
    outcome, reference = use(session, action, name, **request), Holder(session.base).edit()
    record = getattr(reference, kind)(name, bins=request["bins"], **arguments)
    np.testing.assert_array_equal(session.view(name).current, reference.view(name).current)
    np.testing.assert_array_equal(session.released.intercept, reference.released.intercept)
    said = "Nothing changed" if record is None else f"{name}: {words(record)}."
    assert outcome.text.startswith(said)


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


def test_a_repair_needs_a_direction(session):
    with pytest.raises(ValueError, match="direction"):
        use(session, "repair", shape="monotone")
    wavy_session = Holder(wavy()).edit()
    assert use(wavy_session, "repair", shape="increasing").text.startswith("Repaired")
    again = use(wavy_session, "repair", shape="increasing")
    assert again.text.startswith("There is nothing to repair")
    assert len(wavy_session.history) == 1


# ----------------------------------------------------------------------------------------- the plot


GESTURES = {"click": {"type": "c"}, "drag": {"type": "d"}}


def figure(session, name, **options):
    term = EditedTerm.of(session, session.terms.index(name))
    return term.figure(gestures=GESTURES, **options)


def test_released_last_and_present_scores_are_told_apart(session):
    session.shift("age", 0.5, bins=[2])
    session.shift("age", 0.5, bins=[4])
    drawn = figure(session, "age")
    in_legend = {trace.name for trace in drawn.data if trace.showlegend is not False}
    assert {"edited", "released", "before the last edit"} <= in_legend
    by_name = {trace.name: trace for trace in drawn.data if trace.mode == "lines"}
    versions = ("edited", "before the last edit", "released")
    assert len({by_name[name].line.color for name in versions}) == 3
    assert len({by_name[name].line.dash for name in versions}) == 3


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
    # No button sends the figure away.
    assert "sendChartToCloud" in drawn.layout.modebar.remove


def test_a_bin_that_is_not_drawn_does_not_stretch_the_common_scale():
    model = build_model()
    scores = np.array(model.terms[0].scores)
    scores[-1] = 1e3  # no number is undeclared
    assert common_range(changed(model, 0, scores=scores)) == common_range(model)


# ----------------------------------------------------------------------------------- places of bins


PLACES = EditedTerm.of(Holder(build_model()).edit(), 0).places


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_range_holds_what_it_overlaps(first, second):
    low, high = sorted((first, second))
    expected = [
        code
        for code, left, right in zip(PLACES.codes, PLACES.left, PLACES.right, strict=True)
        if min(right, high) > max(left, low)
    ]
    assert [c for c in PLACES.between(low, high) if high > low] == (expected if high > low else [])
