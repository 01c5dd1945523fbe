"""Metrics by group: right, with the stated noise, and a row counts in one group alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import interpret_dp as dp
from interpret_dp.audit import metric_statistics, replay
from interpret_dp.evaluation import Calibration, GroupSums, cells_of
from interpret_dp.fitting.rows import open_rows
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.ebm.tasks import machine

FEATURES = {
    "x": dp.Continuous(0, 1),
    "g": dp.Categorical(["most", "some", "few"]),
    "most": dp.Categorical(list(range(32))),
    "many": dp.Categorical(list(range(33))),
}
TARGETS = {
    "flag": dp.Categorical(["no", "yes"]),
    "claims": dp.Continuous(0, 5),
    "costs": dp.Continuous(0, 20_000),
    "sides": dp.Continuous(-1, 2),
    "labels": dp.Categorical(["a", "b", "c"]),
}
# Far from what a model predicts, and far from that.
FAR = {"flag": "yes", "claims": 5.0, "costs": 20_000.0, "sides": 2.0, "labels": "b"}
OTHER = {"flag": "no", "claims": 0.0, "costs": 0.0, "sides": -1.0, "labels": "c"}
EXCLUDED = {"exclude": ["g", "most", "many"]}
NO_LEVEL = "(missing or undeclared)"


def table(kind, n_rows, seed=5):
    """Return rows of which a tenth, of group "some", have twice the rate; 30 are of group "few"."""
    rng = np.random.default_rng(seed)
    groups = np.where(rng.uniform(size=n_rows) < 0.1, "some", "most").astype(object)
    groups[:30] = "few"
    X = pd.DataFrame({"x": rng.uniform(size=n_rows), "g": groups, "most": 1, "many": 1})
    rate = 0.05 * (1 + X["x"]) * np.where(X["g"] == "some", 2, 1)
    if kind == "flag":
        return X, np.where(rng.uniform(size=n_rows) < rate, "yes", "no")
    if kind == "labels":
        return X, np.select([rng.uniform(size=n_rows) < 5 * rate, X["x"] > 0.5], ["a", "b"], "c")
    if kind == "sides":
        return X, np.where(rng.uniform(size=n_rows) < 0.4 + rate, 2.0, -1.0)
    if kind == "claims":
        return X, np.minimum(rng.poisson(rate), 5).astype(float)
    return X, np.minimum(20_000 * rate * rng.exponential(size=n_rows), 20_000)


def fitted(kind, n_rows=50_000, unit=None):
    X, y = table(kind, n_rows, seed=1)
    schema = dp.Schema(FEATURES, target=TARGETS[kind], unit=unit)
    objective = {"objective": "poisson_deviance"} if kind == "claims" else {}
    settings = {"epsilon": 4.0, "delta": 1e-6, "n_jobs": 1, **EXCLUDED, **objective}
    people = None if unit is None else np.arange(n_rows)
    with use_randomness(SeededRandomness(1)):
        return machine(schema, **settings).fit(X, y, unit=people)


@pytest.fixture(scope="module")
def models():
    return {kind: fitted(kind) for kind in TARGETS}


def released(model, X, y, seed=0, **given):
    settings = {"epsilon": 1.0, "delta": 1e-6, "by": "g"} | given
    with use_randomness(SeededRandomness(seed)):
        return dp.private_metrics({"it": model}, X, y, **settings)


def exact(kind, model, X, y):
    """Return figures of each group of rows, as scikit-learn's definitions have them."""
    predicted = model.predict(X)
    lines = pd.DataFrame({"group": X["g"].where(X["g"].isin(FEATURES["g"].levels), NO_LEVEL)})
    if kind in ("flag", "labels"):
        lines["accuracy"] = (predicted == y).astype(float)
    else:
        error = np.abs(predicted - y)
        lines["mean_absolute_error"] = np.minimum(error, np.ptp(TARGETS[kind].extent) / 4)
    if kind != "labels":
        is_flag = kind == "flag"
        lines["predicted"] = model.predict_proba(X)[:, 1] if is_flag else predicted
        lines["observed"] = (y == "yes").astype(float) if is_flag else y
    found = lines.groupby("group").mean().assign(n_rows=lines.groupby("group").size())
    if kind != "labels":
        found["difference"] = found["predicted"] - found["observed"]
        found["predicted_over_observed"] = found["predicted"] / found["observed"]
    return found.reindex([*FEATURES["g"].levels, NO_LEVEL])


@pytest.mark.parametrize("kind", TARGETS)
def test_with_little_noise_the_figures_are_those_of_each_group(kind, models):
    X, y = table(kind, 20_000)
    X["g"] = X["g"].where(X.index % 50 != 49, "elsewhere").where(X.index % 50 != 48)
    found = released(models[kind], X, y, epsilon=1000).by_group.set_index("group")
    expected = exact(kind, models[kind], X, y)
    assert list(found.index) == list(expected.index)
    assert {name for name in found if "standard" not in name} == {"model", *expected}
    large = ["most", "some", NO_LEVEL]
    for name in expected:
        # What is left is the width of the cells, and a few rows.
        tolerance = {"n_rows": 3, "difference": 0.01 * expected.get("observed", 0)}.get(name)
        tolerance = 0.04 * expected[name] if tolerance is None else tolerance
        off = (found[name] - expected[name]).abs() / tolerance
        assert (off[large] < 1).all(), name


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["flag", "claims", "costs"])
def test_a_group_for_which_a_model_is_wrong_is_seen(kind, models):
    """One release of 50,000 rows at epsilon 1; level 1e-4 (4 s.e.).

    Power: the stated error is below 0.06, so that 0.5 is more than 8 s.e. from 1.
    """
    X, y = table(kind, 50_000)
    found = released(models[kind], X, y)
    line = found.by_group.set_index("group").loc["some"]
    ratio, error = line[["predicted_over_observed", "predicted_over_observed_standard_error"]]
    truth = exact(kind, models[kind], X, y)["predicted_over_observed"]
    assert truth["some"] == pytest.approx(0.54, abs=0.02)
    assert abs(ratio - truth["some"]) < 4 * error
    assert error < 0.06
    assert 1 - ratio > 4 * error
    assert line["difference"] < -4 * line["difference_standard_error"]
    # The total of all rows tells nothing of it, and has an eighth more noise than without groups.
    assert found.table.loc["it", "predicted_over_observed"] == pytest.approx(1, abs=0.08)
    alone = released(models[kind], X, y, by=None)
    more = found.standard_errors / alone.standard_errors
    assert more.to_numpy() == pytest.approx(np.sqrt(1 / 0.8), rel=0.08)
    assert len(alone.by_group) == 0


@pytest.mark.statistical
def test_the_claimed_standard_errors_are_those_of_repeated_releases(models):
    """200 releases: the standard deviation of a figure is known to 5 %; level 0.003 each (3 s.e.).

    Of groups of 30 rows and of none as well, whose counts are below their noise.
    """
    X, y = table("flag", 8000)
    found = [released(models["flag"], X, y, seed) for seed in range(200)]
    lines = np.array([one.by_group.iloc[:, 2:] for one in found], dtype=float)
    assert np.isfinite(lines).all()
    names = list(found[0].by_group.columns[2:])
    half = len(names) // 2
    assert names[half:] == [f"{name}_standard_error" for name in names[:half]]
    spread, claimed = lines[:, :, :half].std(axis=0), lines[:, :, half:].mean(axis=0)
    assert np.abs(spread / claimed - 1).max() < 0.15
    # Small groups are not hidden, and nothing is said of them that is not so.
    figures = dict(zip(names, lines.transpose(2, 0, 1), strict=True))
    few = (figures["difference"] / figures["difference_standard_error"])[:, 2]
    assert few.mean() == pytest.approx(0, abs=0.5)
    assert few.std() == pytest.approx(1, abs=0.2)
    is_higher = figures["predicted_over_observed"] > 1
    assert (is_higher == (figures["difference"] > 0)).mean() > 0.99
    # Of no rows a figure is on average that of all.
    figure = names[half - 1]
    off = figures[figure][:, 3].mean() - np.mean([one.table[figure] for one in found])
    assert abs(off) < 3 * claimed[3, half - 1] / np.sqrt(200)


# What a row adds


NUMBERS = [0.0, 1.0, 0.5, -1e300, 1e300, float("inf"), float("nan"), None, "0.3"]
CELLS = st.tuples(
    st.sampled_from(NUMBERS),
    st.sampled_from(["most", "some", "few", "elsewhere", None, 7]),
    st.sampled_from([*NUMBERS, 5.0, "yes", "no", "a"]),
)


def sums(model, cells):
    """Return the exact sums of rows, the bound on what one adds, and which have a target."""
    X = pd.DataFrame([cell[:2] for cell in cells], columns=["x", "g"], dtype=object)
    X["most"], X["many"], y = 1, 1, np.array([cell[2] for cell in cells], dtype=object)
    given = {"feature_names": list(FEATURES), "schema": model.schema_, "unit": None}
    rows, _ = open_rows(X, y, sample_weight=None, **given)
    kind = cells_of(model)
    has_total = len(model.released_.classes or (0, 1)) == 2
    groups = GroupSums(kind, Calibration(model) if has_total else None, FEATURES["g"])
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        codes = kind.codes(rows)
        return groups.sums(rows, "g", codes), groups.row_norm, codes >= 0


def change(model, cells, place):
    """Return what a row among others adds to each group, as Python's integers."""
    every, row_norm, _ = sums(model, cells)
    others, _, _ = sums(model, cells[:place] + cells[place + 1 :])
    return (every - others).astype(object), row_norm


@pytest.mark.parametrize("kind", TARGETS)
@given(cells=st.lists(CELLS, min_size=2, max_size=12), place=st.integers(0, 11))
def test_a_row_adds_to_one_group_and_at_most_the_norm(kind, cells, place, models):
    moved, row_norm = change(models[kind], cells, place % len(cells))
    assert (moved**2).sum() <= row_norm**2
    alone, _, has_target = sums(models[kind], [cells[place % len(cells)]])
    assert np.array_equal(moved, alone)
    assert np.count_nonzero(moved.any(axis=1)) == has_target[0]


@pytest.mark.parametrize("kind", TARGETS)
def test_control_a_row_in_two_groups_has_more_than_the_norm(kind, models, monkeypatch):
    original = GroupSums.sums
    monkeypatch.setattr(GroupSums, "sums", twice(original))
    moved, row_norm = change(models[kind], [(0.0, "few", FAR[kind])] * 2, 1)
    assert np.count_nonzero(moved.any(axis=1)) == 2
    assert (moved**2).sum() > row_norm**2


def twice(original):
    def both(self, *arguments):
        found = original(self, *arguments)
        return found + np.roll(found, 1, axis=0)

    return both


# Replaced rows may be at opposite ends of one group, and the noise is for that: it would do for a
# row in two groups as well.
REPLAYS = [("add_or_remove_one", False), ("replace_one", False), ("add_or_remove_one", True)]


@pytest.mark.parametrize(("relation", "is_faulty"), REPLAYS)
@pytest.mark.parametrize("kind", TARGETS)
def test_neighbours_differ_by_what_was_charged(kind, relation, is_faulty, monkeypatch):
    """The last row is at its extremes; the control has each row in two groups."""
    if is_faulty:
        monkeypatch.setattr(GroupSums, "sums", twice(GroupSums.sums))
    model = fitted(kind, 300, dp.PrivacyUnit("person", 1))
    X, y = table(kind, 300)
    X, y = X.assign(person=np.arange(300), x=0.0), np.asarray(y, dtype=object)
    y[-1] = FAR[kind]

    def run(rows):
        account = {"ledger": dp.PrivacyLedger.in_memory(), "dataset": "d"}
        asked = {"epsilon": 1, "delta": 1e-6, "by": "g", "neighboring": relation}
        return dp.private_metrics({"it": model}, *rows, **asked, **account)

    other = (X[:-1], y[:-1])
    if relation == "replace_one":
        other = X, np.append(y[:-1], OTHER[kind])
    report = replay(run, (X, y), other)
    kinds = {violation.kind for violation in report.violations}
    assert kinds == ({"sensitivity"} if is_faulty else set())


# What is asked for, shown and refused


def test_groups_of_two_models_are_charged_once_and_shown():
    model, ledger = fitted("flag", 300), dp.PrivacyLedger.in_memory()
    X, y = table("flag", 40)
    account = {"ledger": ledger, "dataset": "held out"}
    found = dp.private_metrics(
        {"one": model, "two": model}, X, y, epsilon=2, delta=1e-6, by="g", **account
    )
    assert ledger.spent("held out").epsilon_at(1e-6) == pytest.approx(2, rel=1e-6)
    assert list(found.by_group["model"]) == ["one"] * 4 + ["two"] * 4
    assert np.isfinite(found.by_group.iloc[:, 2:].to_numpy(float)).all()
    html = found._repr_html_()
    assert html.count("<th>few</th>") == 2
    assert NO_LEVEL in html
    assert "standard_error</th>\n    </tr>" in html  # of the tenths alone
    assert "n_rows_standard_error" not in html
    assert "accuracy of two, few" in metric_statistics(found)


def test_32_levels_are_groups(models):
    found = released(models["flag"], *table("flag", 4000), epsilon=100, by="most").by_group
    assert list(found["group"]) == [*range(32), NO_LEVEL]
    assert found["n_rows"].to_numpy(float) == pytest.approx(4000 * (np.arange(33) == 1), abs=10)


REFUSED = [
    (
        "h",
        r"^by is 'h' \(str\); it must be .*have columns 'g', 'most', 'many'\. Declare Categorical",
    ),
    ("x", r"^by is 'x' \(str\), declared as Continuous\(0, 1\); .* at most 32 levels"),
    ("many", r"^by is 'many' \(str\), declared as Categorical\(\[0, .* 21 more\]\); "),
    ("manyy", r"Did you mean 'many'\? .*exclude=\[\.\.\.\]"),
    (["g"], r"^by is \['g'\] \(list\); "),
    (np.array(["most"] * 40), r"^by is of type ndarray; "),
]


@pytest.mark.parametrize(("by", "message"), REFUSED)
def test_what_has_no_groups_is_refused_before_the_charge(by, message, models):
    ledger = dp.PrivacyLedger.in_memory()
    with pytest.raises(ValueError, match=message):
        released(models["flag"], *table("flag", 40), by=by, ledger=ledger, dataset="held out")
    assert ledger.entries() == []
