"""Rating tables: their product is the prediction, and files hold the guarantee."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp.released.rating import rating_table, save_rating_table
from tests.golden.kinds import FILES, rows
from tests.released.models import build_model

pytestmark = pytest.mark.filterwarnings("ignore:This regression released no total")

COLUMNS = ["feature", "level", "relativity", "lower", "upper", "share"]


def golden(kind):
    return dp.load_model(FILES / f"{kind}.json")


def level_of(feature, value):
    """Return the text of the level or interval that holds a value."""
    if value is None or value != value:
        return "missing"
    if feature.cuts is None:
        return str(value) if str(value) in feature.labels else "unseen"
    ends = [-np.inf, *feature.cuts, np.inf]
    low = max(end for end in ends if end <= value)
    high = min(end for end in ends if end > value)
    return f"[{low:.6g}, {high:.6g})"


@pytest.mark.parametrize("kind", ["poisson", "gamma", "classification", "pairs"])
def test_the_product_is_the_prediction(kind):
    model, X = golden(kind), rows(60)
    X.loc[:2, "age"] = [-5.0, 1e300, np.nan]
    table = model.rating_table()
    assert list(table) == COLUMNS
    assert table.loc[0, ["feature", "level", "share"]].tolist() == ["base", "", 1.0]
    factors = table.set_index(["feature", "level"])["relativity"]
    assert factors.index.is_unique
    released = model.to_released()
    products = []
    for row in X.to_dict("records"):
        product = factors["base", ""]
        for term, name in zip(released.terms, released.term_names, strict=True):
            subject = released.subject(term)
            sides = [subject] if term.partner is None else [subject.first, subject.second]
            product *= factors[name, " & ".join(level_of(side, row[side.name]) for side in sides)]
        products.append(product)
    expected = model.predict(X)
    if released.link == "logit":
        shares = model.predict_proba(X)
        expected = shares[:, 1] / shares[:, 0]
    np.testing.assert_allclose(products, expected, rtol=1e-9)


def test_columns_are_centred_shares_and_bands():
    model = golden("poisson")
    table = model.rating_table()
    for name, group in list(table.groupby("feature", sort=False))[1:]:
        curve = model.to_tables()[name]
        assert group["level"].tolist() == curve["bin"].tolist()
        assert group["share"].sum() == pytest.approx(1.0)
        assert np.average(np.log(group["relativity"]), weights=group["share"]) == pytest.approx(
            0.0, abs=1e-9
        )
        np.testing.assert_allclose(np.log(group["lower"]), curve["band_lower"])
        assert (group["lower"] < group["upper"]).all()
    assert table.attrs["privacy_guarantee"] == model.guarantee_.sentence
    assert table.loc[0, ["lower", "upper"]].isna().all()


@pytest.mark.parametrize("kind", ["regression", "classes"])
def test_terms_that_add_are_refused_before_a_file_is_touched(kind, tmp_path):
    model = golden(kind)
    with pytest.raises(ValueError, match=f"link is '{model.link_}'; a rating table needs"):
        model.rating_table()
    (tmp_path / "old.csv").write_text("old")
    with pytest.raises(ValueError, match="link"):
        model.save_rating_table(tmp_path / "old.csv")
    assert (tmp_path / "old.csv").read_text() == "old"
    with pytest.raises(ValueError, match=r"must end in .csv or .xlsx"):
        golden("poisson").save_rating_table(tmp_path / "table.txt")


def test_csv_holds_the_guarantee_and_the_table(tmp_path):
    model, path = build_model(2), tmp_path / "table.CSV"
    save_rating_table(model, path)
    first, second = path.read_text(encoding="utf-8").split("\n")[:2]
    # One cell, although the sentence has commas.
    assert first == f'"{model.guarantee.sentence}"'
    assert second == ",".join(COLUMNS)
    read = pd.read_csv(path, skiprows=1, keep_default_na=False, na_values=[""])
    expected = rating_table(model)
    pd.testing.assert_frame_equal(read.fillna({"level": ""}), expected, check_dtype=False)


def test_excel_holds_both_and_no_formula(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: extra excel")
    model = build_model(2, names=("age", "job\x01"))
    job = dataclasses.replace(model.features[1], spec=dp.Categorical(["=1+1", "#N/A"]))
    known = {feature.name: feature.spec for feature in (model.features[0], job)}
    schema = dp.Schema(known, target=model.schema.target)
    model = dataclasses.replace(model, features=(model.features[0], job), schema=schema)
    path = tmp_path / "table.xlsx"
    path.write_text("an older file")
    save_rating_table(model, path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["rating table", "privacy"]
    assert [cell.value for cell in book["privacy"]["A"]] == [
        "privacy guarantee",
        model.guarantee.sentence,
    ]
    lines = list(book["rating table"].iter_rows())
    expected = rating_table(model)
    assert [cell.value for cell in lines[0]] == COLUMNS
    assert not {cell.data_type for line in lines for cell in line} & {"f", "e"}
    assert [cell.value for cell in lines[-1]][:2] == ["job\\u0001", "unseen"]
    assert [line[1].value for line in lines[-3:-1]] == ["=1+1", "#N/A"]
    values = [[cell.value for cell in line[2:]] for line in lines[1:]]
    np.testing.assert_allclose(np.array(values, float), expected[COLUMNS[2:]].to_numpy(float))
