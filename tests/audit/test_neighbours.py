"""Replays of whole fits with settings at their ends, and fits that must be reported."""

import collections
import functools
import math
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp.accounting.gaussian import lattice_sigma
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import ReleaseCheck, refit, replay
from interpret_dp.backends import kernels, local
from interpret_dp.backends.base import MAX_RESIDUAL
from interpret_dp.ebm import training
from interpret_dp.ebm.losses import LOSSES
from interpret_dp.ebm.trainer.partitions import LeafRelease
from interpret_dp.mechanisms import active_randomness, gaussian_thresholding
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import encode, encode_column
from tests.audit.fits import (
    base_records,
    check_both_ways,
    classifier,
    frame,
    kinds,
    objects,
    regressor,
    releases_broken,
    watched,
)
from tests.audit.planted_kernels import centre_residuals, without_clip

FITS = {"classification": classifier, "regression": regressor}
TARGETS = {"classification": ["yes", "no"], "regression": [30.0, -10.0]}


# Other settings, and all of them with people, are in test_replay.py.
SETTINGS_AT_ENDS = [
    {"max_rounds": 0},
    {"max_rounds": 1, "learning_rate": 2.0},
    {"max_bins": 300},
    {"exclude": ["age", "site"]},
    {"epsilon": 1e3, "max_rounds": 20},
]


@pytest.mark.parametrize("parameters", SETTINGS_AT_ENDS, ids=repr)
@pytest.mark.parametrize("task", FITS)
def test_settings_at_their_ends(task, parameters):
    records = base_records(task)

    fit = functools.partial(FITS[task], **parameters)
    neighbour = [*records, (0, 1e6, "rare", 3, 5, TARGETS[task][1])]
    check_both_ways(fit, frame(records), frame(neighbour))


def test_a_repeated_column_is_charged_for_each_copy():
    """A row moves every copy of its cell, and each copy is a release of its own."""
    ages = np.random.default_rng(6).uniform(0, 100, (30, 1))
    target = np.where(ages[:, 0] > 50, "yes", "no")

    schema = dp.Schema(default=dp.Continuous(0, 100), target=dp.Categorical(["no", "yes"]))
    fit = refit(dp.DPExplainableBoostingClassifier(schema=schema, max_rounds=2))
    copies = np.repeat(ages, 5, axis=1)
    report, _ = check_both_ways(fit, (copies, target), (copies[1:], target[1:]))
    for name in ("bins", "weights"):
        moved = [release.ratio for release in report.releases if release.name == name]
        assert moved == [1.0] * 5


# ------------------------------------------------------------------ fits that must be reported


def neighbours(task, added):
    records = base_records(task)
    return [frame(records), frame([*records, added])]


EXTREME = (99, 1e6, "rare", 3, 5, 1e9)


def test_control_residuals_without_a_clip(monkeypatch):
    # With little noise the intercept is near the mean, and the added target far from it.
    tables = neighbours("regression", (99, 1e6, "rare", 3, 5, -10))
    assert replay(regressor, *tables).ok
    monkeypatch.setattr(local.LocalRegressionRows, "_kernel", staticmethod(without_clip))
    report = replay(regressor, *tables)
    assert kinds(report) == {"sensitivity"}
    assert releases_broken(report) == {"boosting", "total"}
    assert report.worst_ratio > 1


def _counted_twice(real):
    return lambda rows, edges: 2 * real(rows, edges)


def _bound_kept_from_the_norm(real):
    """Clip at the new bound, and declare the old one."""

    def bound_residuals(rows, norm, plain=False):
        kernel = type(rows)._kernel
        if norm > LATTICE:
            rows._kernel = lambda *given: kernel(*given[:6], norm, *given[7:])

    return bound_residuals


@pytest.mark.parametrize(
    ("method", "fault", "release"),
    [
        ("target_counts", _counted_twice, "target"),
        ("residual_counts", _counted_twice, "target"),
        ("bound_residuals", _bound_kept_from_the_norm, "total"),
    ],
)
def test_control_shapes_and_totals_beyond_their_norm(method, fault, release, monkeypatch):
    """Few rows beside one far target: the bound of the total is wider than that of boosting.

    Names of releases are cut at the first space: these are the cells of the target.
    """
    ages = np.linspace(1, 99, 40)
    X, y = pd.DataFrame({"age": np.append(ages, 50.0)}), np.append(np.full(40, 10.0), 30.0)
    schema = dp.Schema({"age": dp.Continuous(0, 100)}, target=dp.Continuous(-10, 30))
    fit = refit(dp.DPExplainableBoostingRegressor(schema=schema, max_rounds=4, epsilon=1e3))
    tables = (X[:-1], y[:-1]), (X, y)
    assert replay(fit, *tables).ok
    real = getattr(local.LocalRegressionRows, method)
    monkeypatch.setattr(local.LocalRegressionRows, method, fault(real))
    report = replay(fit, *tables)
    assert kinds(report) == {"sensitivity"}
    assert releases_broken(report) == {release}


def _without_bound(kernel):
    return staticmethod(lambda *given: kernel(*given[:6], MAX_RESIDUAL, *given[7:]))


WEIGHTED, GAPS = local.LocalWeightedRows, local.LocalGapRows
UNBOUNDED = [
    ("tweedie_deviance", WEIGHTED, kernels.advance_weighted, {"boosting", "total"}),
    ("quantile:alpha=0.9", GAPS, kernels.advance_gap, {"boosting"}),
]


@pytest.mark.parametrize(("objective", "rows", "kernel", "releases"), UNBOUNDED)
def test_control_objectives_whose_residuals_have_no_bound(
    objective, rows, kernel, releases, monkeypatch
):
    """A far target beside few near ones; a residual that is twice too large is still clipped."""
    ages = np.linspace(1, 99, 41)
    X, y = pd.DataFrame({"age": ages}), np.append(np.full(40, 1.0), 900.0)
    schema = dp.Schema({"age": dp.Continuous(0, 100)}, target=dp.Continuous(0, 900))
    fit = refit(
        dp.DPExplainableBoostingRegressor(
            schema=schema, max_rounds=4, epsilon=1e3, objective=objective
        )
    )
    tables = (X[:-1], y[:-1]), (X, y)
    for order in (tables, tables[::-1]):
        assert replay(fit, *order).ok
    loss = LOSSES[objective.partition(":")[0]]
    real = loss.residual
    monkeypatch.setattr(loss, "residual", lambda self, gap, clip: 2 * real(self, gap, clip))
    assert replay(fit, *tables).ok
    monkeypatch.setattr(rows, "_kernel", _without_bound(kernel))
    report = replay(fit, *tables)
    assert kinds(report) == {"sensitivity"}
    assert releases_broken(report) == releases


def test_control_a_target_beyond_its_bounds_that_is_in_two_cells(monkeypatch):
    ages = np.linspace(1, 99, 41)
    schema = dp.Schema({"age": dp.Continuous(0, 100)}, target=dp.Continuous(-10, 30))
    fit = refit(dp.DPExplainableBoostingRegressor(schema=schema, max_rounds=4, epsilon=1e3))
    X, y = pd.DataFrame({"age": ages}), np.full(41, 10.0)
    for far in (np.inf, -1e9, np.nextafter(30.0, 31.0), np.nan):
        y[-1] = far
        assert replay(fit, (X[:-1], y[:-1]), (X, y)).ok
    y[-1], real = 1e9, training._weights_beyond
    monkeypatch.setattr(training, "_weights_beyond", lambda *given: 2 * real(*given))
    report = replay(fit, (X[:-1], y[:-1]), (X, y))
    assert kinds(report) == {"sensitivity"}
    assert releases_broken(report) == {"target"}


def test_control_an_unclipped_target(monkeypatch):
    """With one row beyond the declared bounds, as the reference trusts that there is none."""
    original = local.LocalRegressionRows.__init__

    def trusting(self, codes, target, *, clip, **others):
        original(self, codes, target, clip=clip, **others)
        self._sums[1] = np.trunc((target - 10) / 20 * LATTICE).astype(np.int64).sum()

    monkeypatch.setattr(local.LocalRegressionRows, "__init__", trusting)
    monkeypatch.setattr(training, "encode_target", lambda y, spec, n_rows: np.asarray(y))
    report = replay(regressor, *neighbours("regression", EXTREME))
    assert kinds(report) == {"sensitivity"}
    assert releases_broken(report) == {"target"}


def test_control_centring_by_an_exact_mean(monkeypatch):
    """The row moves everybody's residual; their total stays, so that curves must move to tell."""
    centre_residuals(monkeypatch)
    report = replay(regressor, *neighbours("regression", (99, 1e6, "rare", 3, 5, 30)))
    assert kinds(report) == {"sensitivity"}


@pytest.mark.parametrize("task", FITS)
def test_leaves_move_in_these_replays(task, monkeypatch):
    releases = watched(monkeypatch, LeafRelease, "of")
    FITS[task](frame(base_records(task)))
    assert np.mean([release.has_leaves for release in releases]) > 0.5


def test_control_levels_matched_as_text(monkeypatch):
    """One missing cell turns 1 into 1.0, and every row into an undeclared level."""

    def by_text(values, spec, n_bins, out=None, edges=None):
        if not hasattr(spec, "levels"):
            return encode_column(values, spec, n_bins, out, edges=edges)
        labels = {str(level): at for at, level in enumerate(spec.levels, start=1)}
        texts = pd.Series(values).astype(str)
        out[:] = [labels.get(t, len(labels) + 1) for t in texts]
        return out

    tables = neighbours("classification", (50, 1e3, "a", None, 5, "yes"))
    assert replay(classifier, *tables).ok
    monkeypatch.setattr(encode, "encode_column", by_text)
    assert "sensitivity" in kinds(replay(classifier, *tables))


@pytest.mark.parametrize("count", ["bins", "weights"])
@pytest.mark.parametrize("task", FITS)
def test_control_a_histogram_without_noise(task, count, monkeypatch):
    original = ReleaseSession.gaussian

    def leaking(self, name, exact, **facts):
        noisy, sigma = original(self, name, exact, **facts)
        return (exact, sigma) if name == count else (noisy, sigma)

    monkeypatch.setattr(ReleaseSession, "gaussian", leaking)
    report = replay(FITS[task], *neighbours(task, (*EXTREME[:-1], TARGETS[task][0])))
    assert "published" in kinds(report)
    assert any("bin_weights_" in violation.where for violation in report.violations)


def test_control_a_sensitivity_that_is_too_small(monkeypatch):
    original = ReleaseSession.gaussian

    def hopeful(self, name, exact, *, row_norm, aligned):
        return original(self, name, exact, row_norm=row_norm * 9 // 10, aligned=aligned)

    monkeypatch.setattr(ReleaseSession, "gaussian", hopeful)
    report = replay(classifier, *neighbours("classification", (50, 1e3, "a", 2, 5, "yes")))
    assert kinds(report) == {"sensitivity"}
    assert report.worst_ratio == pytest.approx(1 / 0.9, rel=1e-5)


def leaving_the_last_bit(table):
    model = regressor(table)
    if len(table[1]) % 2:
        model.term_scores_[0][1] = np.nextafter(model.term_scores_[0][1], np.inf)
    return model


def changing_a_parameter(table):
    model = regressor(table)
    model.feature_types = [f"of {len(table[1])} rows"]
    return model


def refusing(table):
    if table[1].max() > 1e6:
        raise ValueError("a target is out of range")
    return regressor(table)


def warning(table):
    warnings.warn(f"{(table[1] > 1e6).sum()} targets were clipped", stacklevel=1)
    return regressor(table)


def printing(table):
    print("rows:", len(table[1]), file=sys.stderr)
    return regressor(table)


def boosting_longer(table):
    return regressor(table, max_rounds=2 if len(table[1]) > 40 else 1)


def scaling(table):
    return regressor(table, epsilon=1.0 + len(table[1]) / 1000)


def flipping_coins(table):
    model = regressor(table)
    active_randomness().public.random(len(table[1]))
    return model


def releasing_more(table):
    """Release a count beside the session."""
    model = regressor(table, epsilon=1.0)
    exact = np.array([[len(table[1])]]) * LATTICE
    randomness = active_randomness()
    model.extra_ = randomness.perturb("extra", exact, LATTICE, 2.0**22)
    return model


BROKEN_FITS = [
    (refusing, {"outcome", "sequence"}, "the neighbour"),
    (warning, {"outcome"}, "warnings"),
    (printing, {"outcome"}, "printed"),
    (boosting_longer, {"sequence", "published"}, "sigma"),
    (scaling, {"sequence", "published"}, "sigma"),
    (flipping_coins, {"sequence"}, "public coin flips: another number of them was drawn"),
    (releasing_more, {"budget"}, "guarantee"),
    (leaving_the_last_bit, {"published"}, "['attributes']['term_scores_']"),
    (leaving_the_last_bit, {"published"}, "['pickle']"),
    (changing_a_parameter, {"published"}, "['attributes']['feature_types']"),
]


@pytest.mark.parametrize(("fit", "broken", "says"), BROKEN_FITS)
def test_control_fits_that_depend_on_a_row(fit, broken, says):
    tables = neighbours("regression", EXTREME)
    for first, second in (tables, tables[::-1]):
        report = replay(fit, first, second)
        # Two plans of one fit may also have other norms for the same noise.
        assert broken <= kinds(report) <= broken | {"budget"}
        assert says in str(report)


# --------------------------------------------------------------------------------- the report


class Counter:
    """An explainer of another kind: it publishes a noisy count and its square root."""

    def fit(self, table, moved=LATTICE):
        randomness = active_randomness()
        assert randomness is not None
        exact = np.array([[moved * len(table), 0], [0, 0]])
        noisy = randomness.perturb("count", exact, LATTICE, 2.0**21)
        self.count_ = noisy[0]
        self.root_ = math.sqrt(abs(int(noisy[0, 0])))
        return self


def test_any_explainer_can_be_replayed():
    report = replay(lambda table: Counter().fit(table), [1, 2], [1, 2, 3])
    assert report.ok
    assert report.worst_ratio == 1.0
    assert report.releases == (ReleaseCheck("count", 2, LATTICE, 2.0**21, 1.0),)
    assert report.mu == pytest.approx(math.sqrt(2) / 2)
    assert "count: 2 releases" in str(report)
    assert "Nothing broke the promise" in str(report)


class Levels:
    """An explainer that publishes the values of a column that occur often enough."""

    def fit(self, table, **lies):
        randomness = active_randomness()
        assert randomness is not None
        counts = dict(collections.Counter(table))
        given = {"unit_rows": 1, "sensitivity": LATTICE, "mu": 1.0, "delta": 1e-9}
        selection = gaussian_thresholding("levels", counts, randomness=randomness, **(given | lies))
        self.levels_ = selection.keys
        self.counts_ = selection.counts
        return self


@pytest.mark.parametrize("added", ["a", "c", "only once"])
def test_a_selection_may_differ_in_which_values_occur(added):
    table = ["a"] * 40 + ["b"] * 50 + ["c"]
    for first, second in ((table, [*table, added]), ([*table, added], table)):
        report = replay(lambda rows: Levels().fit(rows), first, second)
        assert report.ok, str(report)
        sigma = lattice_sigma(LATTICE, 1.0)
        assert report.releases == (ReleaseCheck("levels", 1, LATTICE, sigma, 1.0),)


def test_control_a_unit_of_more_rows_than_declared():
    table = ["a"] * 40
    report = replay(lambda rows: Levels().fit(rows), table, [*table, "new", "new"])
    assert kinds(report) == {"sensitivity"}
    assert [violation.detail for violation in report.violations] == [
        "it changed by 2 of what was declared",
        "a new value counts more than was declared",
    ]


def test_control_a_value_that_is_released_although_one_row_alone_has_it():
    """A threshold of nearly zero: the delta that pays for it is 0.4."""
    table = ["a"] * 40
    lie = {"delta": 0.4, "mu": 100.0}
    report = replay(lambda rows: Levels().fit(rows, **lie), [*table, "x", "y"], table, seed=2)
    assert "published" in kinds(report)


def test_the_bound_is_exact_and_a_report_says_what_is_wrong():
    """One lattice unit above the sensitivity is reported, even where floats could not tell."""
    exactly = replay(lambda table: Counter().fit(table, LATTICE), [1], [])
    above = replay(lambda table: Counter().fit(table, LATTICE + 1), [1], [])
    huge = replay(lambda table: Counter().fit(table, 2**62), [1], [])
    assert exactly.ok
    assert str(above.violations[0]) == (
        "sensitivity: count (call 0): it changed by 1.00000095 of what was declared"
    )
    assert "The promise is broken in 1 places" in str(above)
    assert huge.worst_ratio == 2.0**42


def test_a_fit_that_releases_nothing_is_not_ok():
    report = replay(lambda table: object.__new__(Counter), [1], [])
    assert not report.ok
    assert "nothing was checked" in str(report)


def test_a_failure_behind_the_session_is_not_mistaken_for_a_pass(monkeypatch):
    def failing(*arguments, **keywords):
        raise ValueError("rows")

    monkeypatch.setattr(training, "boost", failing)
    with pytest.raises(dp.ReleaseError):
        replay(classifier, objects(base_records("classification")), objects([]))
