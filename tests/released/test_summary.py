"""A summary has one line a column, and a fit warns once of what released numbers show."""

import html
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp.schema.declarations import NO_LEVEL
from tests.ebm.tasks import machine

WARDS = [f"ward {number}" for number in range(100)]


def table(n_rows):
    """Return healthy columns, of which nearly all wards are rare, and labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.uniform(0, 100, n_rows),
            "cost": rng.exponential(2_000.0, n_rows),
            "lab": np.where(rng.random(n_rows) < 0.8, np.nan, rng.normal(size=n_rows)),
            "sex": rng.choice(["f", "m"], n_rows, p=[0.9, 0.1]),
            "ward": rng.choice(WARDS, n_rows, p=[0.5, 0.3, 0.15, *[0.05 / 97] * 97]),
        }
    )
    score = (X["age"] - 50.0) / 15.0 + 2.0 * (X["ward"] == "ward 1")
    y = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))
    return X, np.where(y, "yes", "no")


SPECS = {
    "age": dp.Continuous(0, 100),
    "cost": dp.Continuous(0, 100_000),
    "lab": dp.Continuous(-5, 5),
    "sex": dp.Categorical(["f", "m"]),
    "ward": dp.Categorical(WARDS),
}
LABELS = dp.Categorical(["no", "yes"])


def fitted(X, y, specs=None, target=LABELS, unit=None, fit=None, **parameters):
    """Return a fitted model and the warnings that it gave."""
    schema = dp.Schema(SPECS | (specs or {}), target=target, unit=unit)
    settings = {"epsilon": 2.0, "delta": 1e-6, "max_rounds": 1}
    model = machine(schema, **(settings | parameters))
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.fit(X, y, **(fit or {}))
    assert all(one.filename == __file__ for one in caught)
    return model, [
        one for one in caught if one.category in (dp.DeclarationWarning, dp.PrivacyWarning)
    ]


def _codes(X):
    codes = X["sex"].map({"f": "1", "m": "2"}).astype(object)
    return X.assign(sex=codes, ward=X["ward"].str.upper().astype(object))


def _same(X, y):
    return X, y


CASES = {
    "codes": (
        lambda X, y: (_codes(X), y),
        {},
        r"'sex' \(Categorical\(\['f', 'm'\]\)\): (9\d|100) % of the cells have none of the "
        r"declared levels\. .*another spelling\? .*\n'ward' ",
    ),
    "half of the codes": (
        lambda X, y: (X.assign(sex=np.where(X["age"] < 50, "f ", X["sex"])), y),
        {},
        r"'sex' \(.*\): (49|50|51) % of the cells have none of the declared levels",
    ),
    "low bound": (
        _same,
        {"specs": {"age": dp.Continuous(0, 80)}},
        r"'age' \(Continuous\(0, 80\)\): (19|20|21) % of the cells are above the bounds\. They",
    ),
    "both bounds": (
        _same,
        {"specs": {"age": dp.Integer(20, 60)}},
        r"'age' .*: (19|20|21) % of the cells are below .*; (39|40|41) % of the cells are above"
        r" the bounds\. They count as the nearest bound\. ",
    ),
    "target": (
        lambda X, y: (X, X["age"] + 0.0),
        {"target": dp.Continuous(0, 60)},
        r"The target \(Continuous\(0, 60\)\): (39|40|41) % of the cells are above the bounds\. "
        r".* Predictions are wrong on average",
    ),
    "text": (
        lambda X, y: (X.assign(age=X["age"].map("{:.0f} years".format).astype(object)), y),
        {},
        r"'age' \(Continuous\(0, 100\)\): nearly all cells are missing\. Do the cells hold text",
    ),
    "wide": (_same, {"specs": {"cost": dp.Continuous(0, 1e13)}}, "'cost' .*: all rows are in one"),
    "no level": (_same, {"specs": {"sex": dp.Categorical([NO_LEVEL])}}, "'sex' .*: no level was"),
    "no label": (
        lambda X, y: (X, [f"{label} {row}" for row, label in enumerate(y)]),
        {"target": None},
        "No class label was frequent enough to be released, so all rows get the same",
    ),
    "other labels": (
        lambda X, y: (X, np.char.upper(y)),
        {},
        r"target that fits Categorical\(\['no', 'yes'\]\) is \d+, which is no more than noise",
    ),
    "text as target": (
        lambda X, y: (X, y.astype(object)),
        {"target": dp.Continuous(0, 1)},
        r"target that fits Continuous\(0, 1\) is \d+, which is no more than noise",
    ),
    "delta": (_same, {"delta": 1e-3}, r"delta is 0\.001, above one over .* rows, \d,\d{3}\. "),
}


@pytest.mark.parametrize(("changed", "given", "pattern"), CASES.values(), ids=CASES)
def test_one_warning_names_what_does_not_match(changed, given, pattern, tmp_path):
    model, (warning,) = fitted(*changed(*table(5_000)), **given)
    assert re.search(pattern, str(warning.message))
    is_private = warning.category is dp.PrivacyWarning
    summary = model.summary()
    found = summary.privacy_findings if is_private else summary.findings
    assert len((*summary.findings, *summary.privacy_findings)) == len(found) > 0
    for text in found:
        assert text in str(warning.message)
        assert text in str(summary)
        assert html.escape(text) in summary._repr_html_()
    # A file is enough, and an edited model has one, too.
    model.save(tmp_path / "model.json")
    for other in (dp.load_model(tmp_path / "model.json"), model.edit().model):
        assert str(other.summary()) == str(summary)


def test_a_summary_has_one_line_a_column():
    X, y = table(5_000)
    summary = fitted(X, y, exclude=["cost"])[0].summary()
    title, head, *lines = str(summary).splitlines()
    assert re.match(r"Classification of about (4,9|5,0)\d\d rows, epsilon 2 at delta 1e-06", title)
    assert head.split()[:2] == ["column", "declared"]
    assert [line.split()[0] for line in lines] == list(SPECS)
    assert summary._repr_html_().count("<tr>") == 1 + len(SPECS)
    frame = summary.to_frame()
    assert frame["note"].tolist()[:4] == ["", "no term", "", ""]
    assert re.fullmatch("too few rows in 9[5-7] of 100 levels", frame["note"]["ward"])
    assert frame["missing"]["lab"] == pytest.approx(0.8, abs=0.05)
    assert frame["undeclared"]["sex"] < 0.02
    assert re.search(r"lab +.* [78]\d % +- ", str(summary))
    assert re.search(r"sex +.* < [\d.]+ % +< [\d.]+ % ", str(summary))


@pytest.mark.parametrize(
    ("n_rows", "epsilon"), [(500, 0.1), (500, 1.0), (2_000, 0.1), (2_000, 0.5), (5_000, 1.0)]
)
@pytest.mark.parametrize("target", [LABELS, dp.Continuous(-20, 120)], ids=["classes", "numbers"])
def test_healthy_tables_warn_of_nothing(n_rows, epsilon, target):
    X, y = table(n_rows)
    y = X["age"] if isinstance(target, dp.Continuous) else y
    for _ in range(3):
        assert fitted(X, y, target=target, epsilon=epsilon)[1] == []


def test_a_bound_in_single_precision_is_not_beyond_it():
    X, _ = table(5_000)
    rate, bounds = (X["age"] / 1000).clip(0.03, 0.07).astype("float32"), dp.Continuous(0.03, 0.07)
    assert float(rate.min()) < 0.03 < 0.07 < float(rate.max())
    X = X.assign(age=rate)
    assert fitted(X, rate, {"age": bounds}, target=bounds)[1] == []
    background = dp.PrivateBackground(dp.Schema(SPECS | {"age": bounds}), epsilon=2.0).fit(X)
    line = next(c for c in background.summary().columns if c.name == "age")
    assert max(line.below, line.above) < 0.05


def test_delta_is_set_against_people_and_weights():
    X, y = table(1_000)
    given = {"unit": dp.PrivacyUnit("who", max_rows=4), "privacy_weight_max": 2.0, "epsilon": 8.0}
    rows = {"X": X.assign(who=np.arange(1_000) // 4), "y": y}
    weights = np.full(1_000, 2.0)
    # 2,000 is the sum of the weights, and one person adds up to 8 to it.
    for delta, n_warnings in ((1 / 300, 0), (1 / 200, 1)):
        model, caught = fitted(**rows, delta=delta, fit={"sample_weight": weights}, **given)
        assert len(caught) == n_warnings
        assert "rows (up to 4 random rows of each 'who')" in model.summary().title
    assert re.search(r"[12],\d{3} / 8 \(rows of one unit", str(caught[0].message))


def test_levels_with_too_few_rows_are_the_least_certain():
    X, y = table(5_000)
    model, _ = fitted(X, y, max_rounds=None)
    ward = model.released_.terms[model.term_names_.index("ward")]
    rare, common = ward.too_few_rows, ~ward.too_few_rows
    assert rare[4:101].sum() >= 95
    assert common[1:4].all()
    widths = np.subtract(*ward.band()[::-1])
    assert widths[rare].min() >= widths[common].max()
    assert (ward.scores[rare] == 0).all()
    rows = pd.concat([X.head(1)] * 2).assign(ward=["ward 0", np.array(WARDS)[rare[1:-1]][0]])
    (_, sure), (_, unsure) = model.predict_with_uncertainty(rows)
    assert unsure > sure + 0.01
    assert ward.standard_deviations[rare].min() >= ward.standard_deviations[common].max()


@pytest.mark.parametrize(("epsilon", "words"), [(100.0, "of their mean"), (0.05, "Do not rely")])
def test_a_regression_says_how_right_its_total_is(epsilon, words, tmp_path):
    X, _ = table(2_000)
    y = X["age"] + np.random.default_rng(1).normal(scale=10.0, size=len(X))
    model, warned = fitted(X, y, target=dp.Continuous(0, 100), epsilon=epsilon)
    last = str(model.summary()).splitlines()[-1]
    assert last.startswith("- Predictions are right on average to within")
    assert words in last
    assert not warned
    model.save(tmp_path / "model.json")
    again = dp.load_model(tmp_path / "model.json")
    assert again.total_error_ == model.total_error_ > 0
    assert str(again.summary()) == str(model.summary())
    # An edit moves the mean; where all is noise there is no effect to remove.
    edited = model.edit()
    edited.remove_effect("age")
    assert ("on average" in str(edited.model.summary())) == (epsilon < 1)
