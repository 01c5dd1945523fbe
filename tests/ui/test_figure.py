"""The editor's plot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from interpret_dp.explanation.plots.shape import common_range
from interpret_dp.ui.figure import EditedTerm
from tests.editor.models import Holder, build_model, without_rows

GESTURES = {"click": {"type": "c"}, "drag": {"type": "d"}}


@pytest.fixture
def session():
    return Holder(build_model()).edit()


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
