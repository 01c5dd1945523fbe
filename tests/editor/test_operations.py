"""The operations on a term, and their refusals."""

import dataclasses

import numpy as np
import pytest

from interpret_dp.editor.bins import (
    bin_edges,
    bin_positions,
    code_labels,
    range_text,
    scale_positions,
    select_codes as select,
)
from interpret_dp.editor.operations import edited_term
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.schema import Categorical, Continuous, Integer
from tests.editor.models import Holder, build_model, changed, session, words

# Arguments with which each operation works on the term age.
ARGUMENTS = {
    "make_monotone": {"increasing": True},
    **{kind: {} for kind in ("make_convex", "make_concave", "smooth", "interpolate", "flatten")},
    "align": {"to": "left"},
    "set_scores": {"scores": 0.25},
    "shift": {"by": 0.5},
    "scale": {"factor": 1.5},
    "cap": {"magnitude": 0.2},
    "remove_effect": {},
}


def scores_of(editing, term="age"):
    return editing.view(term).current


SHAPES = {
    "increasing": ("make_monotone", {"increasing": True}, 1, 1, "made increasing"),
    "decreasing": ("make_monotone", {"increasing": False}, 1, -1, "made decreasing"),
    "convex": ("make_convex", {}, 2, 1, "made convex"),
    "concave": ("make_concave", {}, 2, -1, "made concave"),
    "line": ("interpolate", {"method": "fit"}, 2, 0, "replaced by a fitted line"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_curves_get_the_shape_that_is_asked_for(shape):
    kind, arguments, order, sign, text = SHAPES[shape]
    editing = session()
    record = getattr(editing, kind)("age", **arguments)
    assert words(record) == text
    steps = np.diff(scores_of(editing)[1:-1])
    if order == 2:
        steps = np.diff(steps / np.diff(bin_positions(editing.base.features[0])))
    assert (sign * steps >= -1e-9).all()
    assert sign or np.abs(steps).max() < 1e-9


def test_a_line_between_the_ends_is_cut_into_equal_steps():
    editing = session()
    before = scores_of(editing)
    record = editing.interpolate("age", steps=3, between=(20, 78))
    assert words(record) == "interpolated in 3 steps between 20 and 78"
    # Centres at 22.5, 27.5, 35, 47.5, 57.5 and 69: steps end at 38 and 53.5.
    first, last = before[2], before[7]
    middle = (first + last) / 2
    expected = [first, first, first, middle, last, last]
    np.testing.assert_allclose(scores_of(editing)[2:8], expected)
    assert editing.view("age").current_band is not None
    again = type(editing).from_dict(editing.to_dict(), Holder(editing.base))
    assert again.history == editing.history
    for steps, method, message in ((1, "ends", "at least 2"), (9, "ends", "at most 8"),
                                   (3, "fit", "leave steps out")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            editing.interpolate("age", steps=steps, method=method)


def test_scores_are_set_one_by_one_or_all_alike_and_capped_everywhere():
    editing = session()
    editing.set_scores("age", [1.0, 2.0], bins=[3, 5])
    np.testing.assert_array_equal(scores_of(editing)[[3, 5]], [1.0, 2.0])
    editing.set_scores("age", 0.0, bins=0)
    assert scores_of(editing)[0] == 0.0
    assert words(editing.history[1]) == "set to 0 for missing values"
    editing.cap("age", 0.1)
    assert np.abs(scores_of(editing)).max() == 0.1
    editing.remove_effect("age")
    texts = [*map(words, editing.history[2:])]
    assert texts == ["capped at 0.1 in magnitude", "effect removed"]


def test_a_class_is_edited_on_its_own():
    editing = session(3)
    record = editing.shift("age", 1.0, classes="b")
    change = scores_of(editing) - editing.view("age").original
    np.testing.assert_allclose(change[1:-1], np.tile([0.0, 1.0, 0.0], (8, 1)))
    assert words(record) == "shifted by +1, for class 'b'"
    editing.set_scores("age", np.ones((2, 2)), bins=[1, 2], classes=["a", "c"])
    assert (scores_of(editing)[1:3][:, [0, 2]] == 1.0).all()
    slopes = np.outer(np.arange(8.0), [1.0, -1.0, 1.0])
    editing.set_scores("age", slopes + (-1.0) ** np.arange(8)[:, np.newaxis])
    assert words(editing.make_monotone("age")) == "made monotone"
    for column in scores_of(editing)[1:-1].T:
        steps = np.diff(column)
        assert (steps >= 0).all() or (steps <= 0).all()
    for wrong, message in (("d", "classes is 'd'; the classes are 'a'"), ([], "classes is empty")):
        with pytest.raises(ValueError, match=message):
            editing.shift("age", 1.0, classes=wrong)


# -------------------------------------------------------------------------- noise that is kept


def test_linear_edits_carry_the_noise_and_what_bands_are_made_from_along():
    """Against the same edits of curves: their linear part is what covariances are taken through."""
    model = build_model()
    first = model.terms[0]
    spread = 0.25 * first.covariance + 0.01 * np.ones((10, 10))
    noisy = first.scores + np.random.default_rng(1).normal(size=10)
    known = {"noisy_scores": noisy, "posterior_mean": 0.75 * first.scores + 0.25 * noisy}
    errors = np.linspace(0.1, 1.0, 10)
    more = {"posterior_covariance": spread, "sampling_variances": errors}
    noisy_model = changed(model, 0, **known, **more)
    term, editing = noisy_model.terms[0], Holder(noisy_model).edit()
    editing.align("age", to="mean", between=(20, 30))
    editing.interpolate("age", between=(30, 60))
    editing.scale("age", 0.5, between=(60, 90))
    editing.set_scores("age", 0.125, bins=1)
    editing.shift("age", 2.0, bins=[0])
    positions = bin_positions(editing.base.features[0])

    def edited(curve):
        after = curve.copy()
        after[2:4] = np.average(curve[2:4], weights=term.weights[2:4])
        after[4:7] = np.interp(positions[3:6], positions[[3, 5]], curve[[4, 6]])
        after[7:9] /= 2
        after[1] = 0.125
        after[0] += 2.0
        return after

    after = editing.released.terms[0]
    linear = np.array([edited(unit) - edited(np.zeros(10)) for unit in np.eye(10)]).T
    for name in ("covariance", "posterior_covariance"):
        expected = linear @ getattr(term, name) @ linear.T
        np.testing.assert_allclose(getattr(after, name), expected, rtol=1e-5, atol=1e-9)
        np.testing.assert_array_equal(getattr(after, name), getattr(after, name).T)
    # Sampling errors of bins are independent.
    np.testing.assert_allclose(after.sampling_variances, linear**2 @ errors, atol=1e-9)
    np.testing.assert_allclose(after.scores, edited(term.scores))
    for name, before in known.items():
        # Files keep seven digits of the noisy scores.
        np.testing.assert_allclose(getattr(after, name), edited(before), atol=1e-6)
    # What was set by hand is known.
    assert set(after.band(sampling=True).at(1)) == {0.125}
    # The editor draws the band, and judges by the noise.
    np.testing.assert_allclose(editing.view("age").band, term.band(sampling=True))
    assert editing.verdict("age", "flat") == session().verdict("age", "flat")


@pytest.mark.parametrize("kind", ["make_monotone", "make_convex", "cap"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_edit_that_is_not_linear_keeps_a_band(kind, n_classes):
    """Its moments are those of curves that are drawn otherwise and edited alike."""
    model = build_model(n_classes)
    spread = {"posterior_mean": model.terms[0].scores}
    spread["posterior_covariance"] = 0.25 * model.terms[0].covariance
    editing = Holder(changed(model, 0, **spread)).edit()
    before = editing.released.terms[0]
    getattr(editing, kind)("age", **ARGUMENTS[kind])
    after, operation = editing.released.terms[0], editing._steps[0].operation
    assert not editing.released.terms[1].is_edited
    columns = np.reshape(before.scores, (10, -1))
    covariance = before.covariance.reshape(-1, 10, 10)
    rng, deviations = np.random.default_rng(2), np.reshape(after.noise_deviations, (10, -1))
    subject = editing.base.features[0]
    for column in range(columns.shape[1]):
        draws = rng.multivariate_normal(columns[:, column], covariance[column], size=2_000)
        images = []
        for draw in draws:
            scores = columns.copy()
            scores[:, column] = draw
            other = dataclasses.replace(before, scores=scores.reshape(before.scores.shape))
            blind = dataclasses.replace(other, covariance=None, **dict.fromkeys(spread))
            images.append(np.reshape(edited_term(subject, blind, operation).scores, (10, -1)))
        expected = np.array(images)[:, :, column].std(axis=0)
        # 512 and 2,000 draws: 4 deviations of the ratio; a bin that is capped hardly varies.
        np.testing.assert_allclose(deviations[:, column], expected, rtol=0.16, atol=0.01)
    band = after.band()
    assert (band.lower <= after.scores).all()
    assert (after.scores <= band.upper).all()
    again = Holder(AdditiveModel.from_dict(editing.released.to_dict())).edit()
    np.testing.assert_allclose(again.view("age").current_band, after.band(), rtol=1e-4, atol=1e-6)
    editing.undo()
    np.testing.assert_array_equal(editing.released.terms[0].covariance, before.covariance)


def test_variances_are_kept_where_covariances_are_not_needed_for_them():
    model = build_model()
    known = {
        "variances": np.arange(10.0),
        "posterior_variances": np.arange(10.0) / 2,
        "posterior_mean": model.terms[0].scores,
    }
    editing = Holder(changed(model, 0, covariance=None, **known)).edit()
    editing.shift("age", 1.0)
    editing.set_scores("age", 0.0, bins=4)
    variances = editing.released.terms[0].variances
    np.testing.assert_array_equal(variances, [0, 1, 2, 3, 0, 5, 6, 7, 8, 9])
    np.testing.assert_array_equal(editing.released.terms[0].posterior_variances, variances / 2)
    editing.flatten("age", between=(20, 30))
    assert editing.released.terms[0].variances is None
    assert editing.released.terms[0].standard_deviations is None


# ---------------------------------------------------------------------------------- refusals


SENSELESS_EDITS = [
    ("make_monotone", "height", {}, ValueError, "no term 'height'"),
    ("make_monotone", 4, {}, ValueError, "numbers 0 to 3"),
    ("make_monotone", 1.0, {}, TypeError, "name of a term"),
    ("make_monotone", "age", {"increasing": "up"}, ValueError, "'auto'"),
    ("make_monotone", "age", {"recentre": 1}, TypeError, "True or False"),
    ("make_monotone", "age", {"bins": 3}, ValueError, "at least 2 bins"),
    ("make_monotone", "age", {"bins": [0, 3, 4]}, ValueError, "no place in it"),
    ("make_monotone", "age", {"bins": slice(None)}, ValueError, "bins 1 to 8"),
    ("make_monotone", "age", {"direction": "+"}, TypeError, "no argument 'direction'"),
    ("make_monotone", "age", {"classes": "a"}, ValueError, "more than two classes"),
    ("make_convex", "grade", {}, ValueError, "distances"),
    ("make_convex", "age", {"between": (20, 26)}, ValueError, "at least 3 bins"),
    ("smooth", "city", {}, ValueError, "have none"),
    ("smooth", "age", {"length": 0}, ValueError, "share of the feature's range"),
    ("interpolate", "age", {"method": "cubic"}, ValueError, "'ends', 'fit'"),
    ("align", "city", {"to": "left"}, ValueError, r"align\(to='left'\)"),
    ("align", "age", {"to": "right", "bins": [0, 1]}, ValueError, "missing and unseen"),
    ("align", "age", {"to": "top"}, ValueError, "'left', 'right', 'mean'"),
    ("align", "age", {}, TypeError, "needs the argument 'to'"),
    ("set_scores", "age", {"scores": [1, 2, 3], "bins": [1, 2]}, ValueError, "2 selected"),
    ("set_scores", "age", {"scores": np.nan}, ValueError, "finite"),
    ("set_scores", "age", {"scores": "high"}, TypeError, "a number"),
    ("shift", "age", {"by": np.inf}, ValueError, "finite"),
    ("shift", "age", {"by": "1"}, TypeError, "real number"),
    ("cap", "age", {"magnitude": -1}, ValueError, "at least 0"),
    ("reset", "age", {"bins": 1}, TypeError, "whole term"),
    ("paint", "age", {}, ValueError, "kind is 'paint'"),
]


@pytest.mark.parametrize(("kind", "term", "arguments", "error", "message"), SENSELESS_EDITS)
def test_what_makes_no_sense_is_refused_and_changes_nothing(kind, term, arguments, error, message):
    editing = session()
    with pytest.raises(error, match=message):
        editing.preview(kind, term, **arguments)
    if kind != "paint":
        with pytest.raises((error, TypeError)):
            getattr(editing, kind)(term, **arguments)
    assert editing.released is editing.base
    assert editing.version == 0


def test_scores_beyond_what_a_float_holds_are_refused():
    """And scores whose squares are: they are within 1e120, and a fit's within about 1e100."""
    editing = session()
    editing.set_scores("age", 1e120)
    for score in (1e121, 1e308):
        with pytest.raises(ValueError, match=r"at most 1e\+120 in size"):
            editing.set_scores("age", score)
    with pytest.raises(ValueError, match="not finite"):
        editing.scale("age", 1e300)


def test_a_curve_of_too_many_bins_is_not_smoothed_at_once():
    cuts = np.linspace(11, 89, 3000)
    wide = AdditiveFeature("age", AGE.spec, cuts)
    term = AdditiveTerm(0, np.zeros(wide.n_codes), np.ones(wide.n_codes), None)
    editing = Holder(changed(build_model(), 0, feature=wide, term=term)).edit()
    with pytest.raises(ValueError, match="at most 2048 bins"):
        editing.smooth("age")
    editing.set_scores("age", np.sin(cuts[:40]), bins=slice(1, 41))
    assert editing.smooth("age", bins=slice(1, 41)) is not None


# --------------------------------------------------------------------- which bins a selection names

AGE, DOSE, GRADE, CITY = build_model().features


def test_a_selection_names_bins_by_levels_or_all_regular_ones():
    assert select(CITY, levels=[3.0, "Bonn", "Bonn"]) == (1, 3)
    assert select(CITY) == (1, 2, 3)
    assert select(CITY, everything=True) == (0, 1, 2, 3, 4)
    for empty in ([], slice(3, 3), slice(50, 60)):
        with pytest.raises(ValueError, match="nothing to edit"):
            select(AGE, bins=empty)


WRONG_SELECTIONS = [
    (AGE, {"between": (30, 20)}, ValueError, "must not be above"),
    (AGE, {"between": (1, 2)}, ValueError, "holds no bin"),
    (AGE, {"between": 5}, TypeError, "two numbers"),
    (AGE, {"levels": ["low"]}, ValueError, "continuous"),
    (AGE, {"bins": 10}, ValueError, "0 .missing. to 9 .undeclared."),
    (AGE, {"bins": [True]}, TypeError, "integer"),
    (AGE, {"bins": [1.0]}, TypeError, "integer"),
    (AGE, {"bins": "all"}, TypeError, "indices, one index, or a slice"),
    (AGE, {"bins": slice("a", None)}, TypeError, "integers"),
    (AGE, {"bins": 1, "between": (20, 30)}, ValueError, "at most one"),
    (CITY, {"between": (1, 2)}, ValueError, "categorical"),
    (CITY, {"levels": []}, ValueError, "nothing to edit"),
    (CITY, {"levels": ["Rome"]}, ValueError, "'Bonn', 'Lyon', 3"),
    (CITY, {"levels": "Bonn"}, TypeError, r"\['Bonn'\]"),
]


@pytest.mark.parametrize(("feature", "selection", "error", "message"), WRONG_SELECTIONS)
def test_wrong_selections_are_refused_with_what_is_allowed(feature, selection, error, message):
    with pytest.raises(error, match=message):
        select(feature, **selection)


def test_borders_end_at_the_declared_bounds_and_centres_lie_between():
    np.testing.assert_array_equal(bin_edges(AGE)[[0, -1]], [10, 90])
    assert bin_positions(AGE)[0] == 15
    np.testing.assert_array_equal(bin_positions(GRADE), [0, 1, 2, 3])
    assert code_labels(AGE)[:2] == ("missing", "10 to 20")
    assert code_labels(CITY) == ("missing", "Bonn", "Lyon", "3", "undeclared")
    with pytest.raises(ValueError, match="no borders"):
        bin_edges(CITY)


def test_bins_of_integers_are_named_by_their_values():
    hour = AdditiveFeature("hour", Integer(0, 2300), np.array([5.5, 6.5, 1000.5]))
    assert code_labels(hour)[1:-1] == ("0 to 5", "6", "7 to 1,000", "1,001 to 2,300")
    assert bin_edges(hour)[[0, -1]].tolist() == [-0.5, 2300.5]
    assert select(hour, between=(6, 7)) == (2, 3)
    assert range_text(hour, (2,)) == "at 6"
    assert range_text(hour, (2, 3)) == "between 6 and 1,000"
    with pytest.raises(ValueError, match="its values lie between 0 and 2300"):
        select(hour, between=(-9, -1))
    with pytest.raises(ValueError, match="must have an integer between each two"):
        AdditiveFeature("hour", Integer(0, 23), np.array([5.2, 5.5]))


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
