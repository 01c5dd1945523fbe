"""Editing the heat map of a pair: regions, what is refused, verdicts, undo, files, notebooks."""

import dataclasses

import numpy as np
import pytest
from plotly.callbacks import BoxSelector, Points

from interpret_dp.released import AdditiveFeature, AdditiveTerm
from tests.editor.models import Holder, build_model, noise_covariance, words

AGE = np.array([30.0, 55.0])
NAME = "age & city"
SHAPE = (5, 5)


def build(scores=None, covariance=True):
    base = build_model()
    age, dose, grade, city = base.features
    features = (AdditiveFeature("age", age.spec, age.cuts, AGE), dose, grade, city)
    rng = np.random.default_rng(1)
    square = noise_covariance(25, rng)
    pair = AdditiveTerm(
        0,
        rng.normal(size=25) if scores is None else scores,
        np.arange(1.0, 26.0),
        square if covariance else None,
        partner=3,
    )
    return dataclasses.replace(base, features=features, terms=(*base.terms, pair))


@pytest.fixture
def session():
    return Holder(build()).edit()


def table(session):
    return session.released.terms[4].scores.reshape(SHAPE)


def test_a_region_is_the_cells_of_both_ranges(session):
    view = session.view(NAME)
    assert (view.name, view.kind, view.edges) == (NAME, "interaction", None)
    assert (view.labels[0], view.labels[7]) == ("missing & missing", "10 to 30 & Lyon")
    before = table(session)
    record = session.remove_effect(
        NAME, between={"age": (31, 40)}, levels={"city": ["Bonn", 3]}, recentre=False
    )
    changed = np.argwhere(table(session) != before).tolist()
    assert changed == [[2, 1], [2, 3]]
    assert not table(session)[2, [1, 3]].any()
    assert words(record) == (
        "effect removed between 30 and 55 of 'age' and for 'Bonn' and '3' of 'city'"
    )
    changes = session.diff()
    assert changes["term"].tolist() == [NAME]
    assert " & " in changes["at"].iloc[0]


def test_smoothing_does_not_mix_the_levels_of_a_nominal_feature():
    scores = np.zeros(SHAPE)
    scores[1:4, 1] = [1.0, -1.0, 1.0]
    session = Holder(build(scores.ravel())).edit()
    session.smooth(NAME, length=0.5, recentre=False)
    after = table(session)[1:4, 1:4]
    # The first level is drawn together; the others stay alike.
    assert np.ptp(after[:, 0]) < 2.0
    assert np.ptp(after[:, 1:]) < np.ptp(after[:, 0])


SENSELESS_EDITS = [
    ("make_monotone", {}, "the cells of 'age & city' are a heat map"),
    ("make_convex", {}, "are a heat map"),
    ("interpolate", {}, "Use flatten, smooth"),
    ("align", {"to": "left"}, "are a heat map"),
    ("flatten", {"between": (30, 40)}, "must be a mapping by feature"),
    ("flatten", {"levels": {"dose": [1]}}, "must be a mapping by feature"),
    ("flatten", {"between": {"city": (1, 2)}}, "categorical"),
    ("flatten", {"bins": [25]}, "0 .missing. to 24"),
    ("flatten", {"bins": [3], "between": {"age": (1, 2)}}, "at most one selection"),
    ("smooth", {"bins": [0, 1, 6]}, "missing and unseen values"),
]


@pytest.mark.parametrize(("kind", "arguments", "text"), SENSELESS_EDITS)
def test_what_makes_no_sense_is_refused(session, kind, arguments, text):
    with pytest.raises(ValueError, match=text):
        getattr(session, kind)(NAME, **arguments)
    assert not session.history


def test_verdicts_on_heat_maps():
    clear = np.zeros(25)
    clear[12] = 5.0
    session = Holder(build(clear)).edit()
    verdict = session.verdict(NAME, "flat")
    assert not verdict.within_noise
    assert verdict.bumps[0].bins == (12,)
    assert (
        "1 cell of the released heat map of 'age & city' is more than noise: at 30 to 55 & Lyon"
        in str(verdict)
    )
    quiet = Holder(build(np.full(25, 1e-4))).edit().verdict(NAME, "flat")
    assert quiet.within_noise
    assert quiet.p_value > 0.5
    with pytest.raises(ValueError, match="is not known"):
        Holder(build(covariance=False)).edit().verdict(NAME, "flat")
    for refused in (lambda: session.verdict(NAME), lambda: session.suggest_repairs({NAME: "+"})):
        with pytest.raises(ValueError, match="Test for 'flat'"):
            refused()


def test_verdicts_reject_at_their_level():
    """Of 200 heat maps of noise alone, 10 are expected at 5 %; 21 have probability 0.0006."""
    rng = np.random.default_rng(0)
    model = build()
    covariance = model.terms[4].covariance
    rejected = 0
    for noise in rng.multivariate_normal(np.zeros(25), covariance, size=200):
        term = dataclasses.replace(model.terms[4], scores=noise)
        noisy = dataclasses.replace(model, terms=(*model.terms[:4], term))
        rejected += not Holder(noisy).edit().verdict(NAME, "flat").within_noise
    assert 1 <= rejected <= 20


def test_the_notebook_shows_the_heat_map(session):
    editor = session.widget(NAME)
    assert editor.figure.data[0].type == "heatmap"
    assert editor.controls.tools["increasing"].disabled
    assert "cells of" in editor.controls.verdict.value
    assert editor.controls.tools["smooth"].disabled  # nothing is selected yet
    (cells,) = [trace for trace in editor.figure.data if trace.meta == "bins"]
    cells._dispatch_on_selection(Points(), BoxSelector(xrange=[0.8, 1.2], yrange=[-0.4, 2.4]))
    assert editor.selected == (11, 12, 13)
    assert not editor.controls.tools["smooth"].disabled
    editor.controls.tools["remove"].click()
    assert not table(session)[2, 1:4].any()
    assert len(editor.figure.layout.shapes) == 3
    editor.controls.history_buttons["undo"].click()
    assert not session.history
    editor.controls.term.value = 0
    assert editor.controls.figure.children == (editor.figure,)
    editor.controls.term.value = 4
    assert editor.controls.figure.children == (editor.figure,)
    editor.close()
