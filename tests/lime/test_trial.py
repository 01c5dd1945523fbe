"""Models that read columns their own way: levels that they refuse, and dtypes that they need."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import interpret_dp as dp
from tests.lime.tables import table

SITES = ["never", "a", "b", "c"]
FEATURES = {"age": dp.Integer(0, 100), "site": dp.Categorical(SITES, ordered=True)}
SCHEMA = dp.Schema(FEATURES | {"old": dp.Categorical([False, True])}, target=dp.Continuous(0, 1))
ONLY_NEVER = dp.Schema(SCHEMA.features | {"site": dp.Categorical(["never"])})
GIVEN = {"schema": SCHEMA, "epsilon": 4.0, "trained_on_same_people": False}
# Categories in another order than declared, and not all of them.
KINDS = {"age": "int16", "site": pd.CategoricalDtype(["c", "a", "b"])}
X = table(600).drop(columns="noise").assign(old=lambda X: X["age"] > 50).astype(KINDS)
STEPS = np.array([0.0, 0.1, 0.3, 0.6])
CHANCE = STEPS[[SITES.index(site) for site in X["site"]]] + 0.003 * X["age"]
# A pipeline that refuses sites which nobody has, and missing ones.
READER = make_column_transformer((OneHotEncoder(), ["site"]), ("passthrough", ["age"]))
STRICT = make_pipeline(READER, LinearRegression()).fit(X, CHANCE)
CHOOSY = make_pipeline(READER, LogisticRegression()).fit(X, CHANCE > 0.5)


@pytest.mark.parametrize("model", [STRICT, CHOOSY], ids=["regressor", "classifier"])
def test_a_level_that_the_model_refuses_is_said_once_and_not_drawn(model):
    refused = r"^Column 'site': the model refuses 'never'"
    with pytest.warns(dp.DeclarationWarning, match=refused) as caught:
        own = dp.DPLimeTabular(model, X, **GIVEN)
    assert {one.filename for one in caught} == {__file__}
    rows = X[:2].assign(site=["a", "c"], age=40)
    effects = [own.explain_local(rows).data(row)["scores"][1] for row in range(2)]
    curve = own.explain_global(rows=rows)
    assert len(curve.figure(1).data[0].x) == len(own.explain_global().data(1)["names"]) == 3
    if model is STRICT:
        np.testing.assert_allclose(np.diff(curve.data(1)["scores"]), [0.2, 0.3], atol=1e-6)
        assert np.diff(effects) == pytest.approx(0.5, abs=0.01)
    released = dp.PrivateBackground.from_released(own.background.to_released())
    with pytest.warns(dp.DeclarationWarning, match=refused):
        assert released.explain_global(model).data(1)["names"] == SITES[1:]
    # It knows the declarations, and not the types of the data.
    assert np.ptp(released.explain_global(coded).data(1)["scores"]) == pytest.approx(0.6)


@pytest.mark.filterwarnings("ignore::interpret_dp.DeclarationWarning")
def test_what_is_refused_is_said_before_it_is_paid_for():
    with pytest.warns(dp.DeclarationWarning, match="'age': the model refuses 100. "):
        own = dp.DPLimeTabular(lambda rows: np.where(rows["age"] > 99, np.nan, 0.5), X, **GIVEN)
    with pytest.raises(ValueError, match=r"values of the background\. ValueError: .* not finite"):
        own.explain_global()
    with pytest.raises(ValueError, match=r"failed on a row that .*: Found unknown .* was spent"):
        dp.DPLimeTabular(STRICT, X, **GIVEN | {"schema": ONLY_NEVER})
    # Where it was paid for before the model came.
    only = dp.PrivateBackground(ONLY_NEVER, epsilon=2.0).fit(X)
    with pytest.raises(ValueError, match="refuses all declared levels of column 'site'"):
        only.explain_local(STRICT, X[:1])
    missing = dp.PrivateBackground(SCHEMA, epsilon=2.0).fit(X.where(X["old"]))
    assert missing.explain_global(STRICT).data(1)["names"] == SITES[1:]


def coded(rows):
    """Return chances by the codes of the declared levels."""
    codes = rows["site"].to_physical() if isinstance(rows, pl.DataFrame) else rows["site"].cat.codes
    return np.column_stack([1 - STEPS[codes.to_numpy()], STEPS[codes.to_numpy()]])


POLARS = pl.from_pandas(X.astype({"site": str})).cast({"site": pl.Enum(["c", "a", "b"])})
ORDERED = X.astype({"site": pd.CategoricalDtype(["c", "b", "a"], ordered=True)})


@pytest.mark.parametrize("rows", [X, ORDERED, POLARS], ids=["pandas", "ordered", "polars"])
def test_drawn_rows_have_the_types_of_the_data(rows):
    levels = ["c", "b", "a", "never"] if rows is ORDERED else SITES
    sites = pl.Enum(SITES) if rows is POLARS else pd.CategoricalDtype(levels, rows is ORDERED)
    types = dict(rows.schema if rows is POLARS else rows.dtypes) | {"site": sites}

    def model(drawn):
        assert dict(drawn.schema if rows is POLARS else drawn.dtypes) == types
        return coded(drawn)[:, 1]

    own = dp.PrivateBackground(SCHEMA, epsilon=2.0).fit(rows).explain_global(model)
    expected = np.diff(STEPS[[levels.index(site) for site in SITES]])
    np.testing.assert_allclose(np.diff(own.data(1)["scores"]), expected, atol=1e-6)


def test_an_array_of_integers_may_have_a_column_with_levels_of_text():
    cells = np.ones((200, 2), dtype=np.int8)
    schema = dp.Schema({"code": dp.Categorical(["a", 1]), "dose": dp.Continuous(0, 1)})
    explainer = dp.DPLimeTabular(
        lambda X: np.asarray(X)[:, 1].astype(float),
        cells,
        schema=schema,
        feature_names=["code", "dose"],
        trained_on_same_people=False,
    )
    assert explainer.explain_local(cells[:2]).data(0)["names"] == ["code", "dose"]


def test_bounds_may_reach_beyond_the_integers_of_a_column():
    cells = pl.DataFrame({"dose": np.ones(200, dtype=np.int8)})
    for rows in (cells, cells.to_arrow(), cells.to_pandas()):
        schema = dp.Schema({"dose": dp.Continuous(0, 1e308)})
        dp.PrivateBackground(schema, epsilon=1.0, delta=1e-6).fit(rows)
