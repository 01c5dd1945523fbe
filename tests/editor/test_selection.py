"""Which bins a selection names."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp.editor.bins import bin_edges, bin_labels, bin_positions, scale_positions
from interpret_dp.editor.bins import select_bins as select
from interpret_dp.released import AdditiveFeature
from interpret_dp.schema import Categorical, Continuous
from tests.editor.models import build_model

AGE, DOSE, GRADE, CITY = build_model().features


def test_levels_are_matched_as_the_schema_matches_them():
    assert select(CITY, levels=["Lyon", 3]) == (2, 3)
    assert select(CITY, levels=[3.0, "Bonn", "Bonn"]) == (1, 3)


def test_no_selection_means_the_regular_bins_or_all():
    assert select(CITY) == (1, 2, 3)
    assert select(CITY, everything=True) == (0, 1, 2, 3, 4)


def test_an_empty_selection_is_refused_and_never_means_everything():
    for empty in ({"bins": []}, {"bins": slice(3, 3)}, {"bins": slice(50, 60)}):
        with pytest.raises(ValueError, match="nothing to edit"):
            select(AGE, **empty)


@pytest.mark.parametrize(
    ("feature", "selection", "error", "message"),
    [
        (AGE, {"between": (30, 20)}, ValueError, "must not be above"),
        (AGE, {"between": (1, 2)}, ValueError, "holds no bin"),
        (AGE, {"between": 5}, TypeError, "two numbers"),
        (AGE, {"between": ("a", "b")}, TypeError, "two numbers"),
        (AGE, {"levels": ["low"]}, ValueError, "continuous"),
        (AGE, {"bins": 10}, ValueError, "0 .missing. to 9"),
        (AGE, {"bins": [True]}, TypeError, "integer"),
        (AGE, {"bins": [1.0]}, TypeError, "integer"),
        (AGE, {"bins": "all"}, TypeError, "index, a slice"),
        (AGE, {"bins": slice("a", None)}, TypeError, "integers"),
        (AGE, {"bins": 1, "between": (20, 30)}, ValueError, "at most one"),
        (CITY, {"between": (1, 2)}, ValueError, "categorical"),
        (CITY, {"levels": ["Rome"]}, ValueError, "'Bonn', 'Lyon', 3"),
        (CITY, {"levels": ["3"]}, ValueError, "no level '3'"),
        (CITY, {"levels": "Bonn"}, TypeError, r"\['Bonn'\]"),
    ],
)
def test_wrong_selections_are_refused_with_what_is_allowed(feature, selection, error, message):
    with pytest.raises(error, match=message):
        select(feature, **selection)


def test_borders_end_at_the_declared_bounds_and_centres_lie_between():
    np.testing.assert_array_equal(bin_edges(AGE)[[0, -1]], [10, 90])
    assert bin_positions(AGE)[0] == 15
    np.testing.assert_array_equal(bin_positions(GRADE), [0, 1, 2, 3])
    assert bin_labels(AGE)[:2] == ("missing", "10 to 20")
    assert bin_labels(CITY) == ("missing", "Bonn", "Lyon", "3", "unseen")
    with pytest.raises(ValueError, match="no borders"):
        bin_edges(CITY)


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_positions_on_the_scale_run_from_0_to_1(scale):
    feature = AdditiveFeature("x", Continuous(-4, 100, scale=scale), np.array([-1.0, 0.5, 30]))
    positions = scale_positions(feature)
    assert (np.diff(positions) > 0).all()
    assert 0 < positions[0] < positions[-1] < 1


def test_positions_of_a_feature_with_one_value_are_finite():
    feature = AdditiveFeature("x", Continuous(2, 2), np.zeros(0))
    assert scale_positions(feature).tolist() == [0.0]
    assert bin_positions(feature).tolist() == [2.0]
    only = AdditiveFeature("x", Categorical(["one"]))
    assert scale_positions(only).tolist() == [0.0]
