"""PrivateBackground: what is counted, what it costs, and where its cells are."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

import interpret_dp as dp
from interpret_dp.audit import LessNoise, refit, replay
from interpret_dp.lime import background
from interpret_dp.lime.black_box import example_row, with_replaced_cells
from interpret_dp.mechanisms import use_randomness

SCHEMA = dp.Schema(
    {
        "age": dp.Integer(0, 99),
        "gain": dp.Continuous(0, 1000),
        "change": dp.Continuous(-10, 10),
        "site": dp.Categorical(["a", "b"]),
    }
)


def patients(n_rows=5000):
    rng = np.random.default_rng(4)
    gain = np.where(rng.random(n_rows) < 0.8, 0.0, rng.uniform(1, 1000, n_rows))
    change = np.where(rng.random(n_rows) < 0.5, 0.0, rng.uniform(-10, 10, n_rows))
    age = np.where(rng.random(n_rows) < 0.3, 40, rng.integers(0, 100, n_rows))
    site = rng.choice(["a", "b", "undeclared"], n_rows, p=[0.6, 0.35, 0.05])
    table = pd.DataFrame({"age": age, "gain": gain, "change": change, "site": site})
    table.loc[:249, "gain"] = np.nan
    return table


def counted(X, schema=SCHEMA, **given):
    # Noise that rounds to zero, so that what is released is what was counted.
    with use_randomness(LessNoise(1e-12)):
        return dp.PrivateBackground(schema, epsilon=1.0, **given).fit(X).background_


def cells_of(X, column):
    """Return the cell of a released column that each row is in."""
    values, cuts = X[column.feature.name], column.feature.cuts
    if cuts is None:
        return values.map({"a": 1, "b": 2}).fillna(3).to_numpy(dtype=int)
    return np.where(values.isna(), 0, np.searchsorted(cuts, values, side="right") + 1)


def test_without_noise_counts_are_those_of_the_rows():
    X = patients()
    own = counted(X)
    assert own.n_rows == pytest.approx(len(X))
    for column in own.columns:
        expected = np.bincount(cells_of(X, column), minlength=len(column.counts))
        np.testing.assert_allclose(column.counts, expected, atol=1e-9)


def test_a_value_of_many_rows_has_a_cell_of_its_own():
    rows = counted(patients()).sample(20_000, 0)
    assert (rows["gain"] == 0).mean() == pytest.approx(0.8, abs=0.03)
    assert (rows["change"] == 0).mean() == pytest.approx(0.5, abs=0.03)
    assert (rows["age"] == 40).mean() == pytest.approx(0.3, abs=0.03)


def test_rows_depend_on_each_other_as_private_rows_do():
    rng = np.random.default_rng(5)
    normal = rng.standard_normal((20_000, 2)) @ np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]]).T
    site = np.where(normal[:, 1] > 0.8, "b", "a").astype(object)
    table = {"age": np.clip(50 + 15 * normal[:, 0], 0, 99).round(), "site": site}
    X = pd.DataFrame({**table, "change": np.clip(2 * normal[:, 1], -10, 10)})
    X.loc[:1999, "change"], X.loc[2000:2999, "site"] = np.nan, "undeclared"
    own = counted(X)
    signs = [np.append(one.signs, 0)[cells_of(X, one)].astype(int) for one in own.columns]
    assert set(signs[1]) == {-1, 0, 1}
    products = [(signs[j] * signs[k]).sum() for j, k in ((0, 1), (0, 2), (1, 2))]
    assert own.dependence.products.tolist() == products
    drawn = own.sample(20_000, 0)
    assert drawn["age"].corr(drawn["change"], "spearman") == pytest.approx(0.79, abs=0.03)
    for name in ("age", "change"):
        means = [part.groupby("site")[name].mean() for part in (X, drawn)]
        gaps = [float(mean["b"] - mean["a"]) for mean in means]
        assert gaps[1] == pytest.approx(gaps[0], rel=0.1)
    alone = counted(X, dependence=False)
    drawn = alone.sample(20_000, 0)
    assert abs(drawn["age"].corr(drawn["change"], "spearman")) < 0.03
    assert [part.name for part in alone.guarantee.releases] == ["cells", "counts"]
    assert alone.guarantee.mu == pytest.approx(own.guarantee.mu)


def test_few_rows_have_few_cells():
    """Cells without more rows than noise would be noise alone."""
    sizes = []
    for epsilon in (0.01, 0.1, 1.0):
        own = dp.PrivateBackground(SCHEMA, epsilon=epsilon).fit(patients()).background_
        sizes.append(own.columns[0].feature.n_codes)
    assert sizes[0] < sizes[1] < sizes[2] <= 2 * background._MOST_COLUMN_CELLS


def test_what_is_not_declared_is_released():
    X, known = patients(), SCHEMA.select(["age", "gain"])
    with pytest.warns(dp.UndeclaredWarning, match="Not declared: 2 columns"):
        own = dp.PrivateBackground(known, epsilon=5.0).fit(X)
    assert own.schema_.features["site"] == dp.Categorical(["a", "b", "undeclared"])
    change = own.schema_.features["change"]
    assert isinstance(change, dp.Continuous)
    assert -16 <= change.lower <= -8
    assert own.guarantee_.releases[0].name in ("levels", "bounds")


def test_a_schema_of_more_columns_serves_and_its_target_is_left_out():
    wide = dp.Schema(
        {**SCHEMA.features, "other": dp.Continuous(0, 1)}, target=dp.Categorical([0, 1])
    )
    own = counted(patients(100), wide)
    assert list(own.schema.features) == list(SCHEMA.features)
    assert own.schema.target is None
    with pytest.raises(dp.SchemaError, match="none of the columns that the schema declares"):
        counted(pd.DataFrame({"x": [1.0]}), SCHEMA)


def test_what_released_counts_say_against_the_declaration_is_said_after_the_fit():
    wrong = {"site": dp.Categorical(["A", "B"]), "age": dp.Integer(0, 10)}
    X, wrong = patients(), dp.Schema({**SCHEMA.features, **wrong})
    with pytest.warns(dp.DeclarationWarning) as caught:
        own = dp.PrivateBackground(wrong).fit(X)
    assert re.search(r"'age' .* % of the cells are above .*\n'site' ", str(caught[0].message))
    assert own.summary().columns[3].note.endswith(" have none of the declared levels")
    assert own.summary().columns[1].missing == pytest.approx(0.05, abs=0.1)
    assert "background.summary()" not in str(own.summary())


def test_the_figures_show_what_was_released():
    explanation = dp.PrivateBackground.from_released(counted(patients())).explain_data()
    assert explanation.visualize().layout.title.text == "How much noise is in each column"
    bars, released = explanation.visualize(1).data
    assert list(bars.customdata[:2]) == ["missing", "0"]
    assert bars.customdata[2].startswith("above 0 to ")
    assert bars.y[1] == pytest.approx(100 * 0.76, abs=3)
    assert len(released.error_y.array) == len(bars.y)
    released = dp.PrivateBackground(SCHEMA).fit(patients())
    assert "Explanations take the model as given" in released.guarantee_.sentence
    paid = released.explain_data().privacy
    assert "explanation: 0 · of the background: epsilon 0.1" in paid.line
    local = released.explain_local(lambda X: X["age"] / 100, patients(9))
    assert local.visualize(0).layout.annotations[0].text.startswith("From the background: free")
    assert "Background" in repr(pickle.loads(pickle.dumps(explanation)))


@pytest.mark.parametrize("name", ["_counted", "_products"])
def test_a_sum_that_a_row_moves_by_more_than_declared_is_found(name, monkeypatch):
    """The control of the replay in the audit's run of all explainers."""
    fit = refit(dp.PrivateBackground(SCHEMA, epsilon=1.0))
    # The last row has a value in every column, so that it adds to all sums.
    X = patients(300).query("site != 'undeclared'")
    assert replay(fit, (X,), (X[:-1],)).ok
    honest = getattr(background, name)

    def twice(*arguments):
        sums = honest(*arguments)
        return 2 * sums if isinstance(sums, np.ndarray) else [2 * own for own in sums]

    monkeypatch.setattr(background, name, twice)
    assert not replay(fit, (X,), (X[:-1],)).ok


def test_dask_gives_the_same_counts():
    dd = pytest.importorskip("dask.dataframe")
    X = patients(600)
    whole, parts = counted(X), counted(dd.from_pandas(X, npartitions=3))
    assert whole.dependence.to_dict() == parts.dependence.to_dict()
    for one, other in zip(whole.columns, parts.columns, strict=True):
        assert one.counts.tolist() == other.counts.tolist()
        assert one.feature.cuts is None or one.feature.cuts.tolist() == other.feature.cuts.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "UInt8", "int64", "Int64"])
@pytest.mark.parametrize("drawn", [7.0, 2.5, 300.0, 948_308_397.0, -1.0])
def test_a_replaced_cell_is_what_was_drawn(dtype, drawn):
    """A narrow integer would wrap it, and cut its fraction: another row would be explained."""
    X = pd.DataFrame({"a": pd.array([3], dtype=dtype)})
    stay = np.array([[True], [False]])
    found = with_replaced_cells(X, 0, [0], stay, [np.array([drawn, drawn])])["a"]
    assert found.tolist() == [3, drawn]
    holds = drawn == 7.0 or (drawn != 2.5 and "64" in dtype)
    assert (found.dtype == dtype) == holds
    flag = with_replaced_cells(X.astype(bool), 0, [0], stay[1:], [np.array([np.nan])])["a"]
    assert flag.isna().all()


MIXED = pd.DataFrame({"age": [3, 3], "site": ["a", "b"], "other": 1.5})
KINDS = {"age": dp.Continuous(0, 9), "site": dp.Categorical(["a", "b"])}
COUNTS = {f"word {at}": dp.Continuous(0, 9) for at in range(4)}
FORMS = [
    (MIXED.astype({"age": "Int64", "site": "category"})[:0], KINDS),
    (MIXED.astype({"site": object, "other": "float32"})[:0], KINDS),
    (pl.DataFrame(MIXED)[:0], KINDS),
    (pa.table(MIXED.to_dict("list")).slice(0, 0), KINDS),
    (np.empty((0, 2), dtype=object), KINDS),
    (csr_matrix((0, 4), dtype=np.float32), COUNTS),
]


@pytest.mark.parametrize(
    ("X", "specs"), FORMS, ids=["nullable", "pandas", "polars", "arrow", "array", "sparse"]
)
def test_the_example_has_the_form_of_the_rows(X, specs):
    """It is made without them: there may be none."""
    found = example_row(X, specs)
    assert type(found) is type(X)
    assert found.shape == (1, *X.shape[1:])
    for kind in ("dtype", "dtypes", "schema"):
        assert str(getattr(found, kind, None)) == str(getattr(X, kind, None))
    if specs is KINDS and hasattr(X, "columns"):
        assert [str(found[name][0]) for name in ("age", "site")] == ["4", "a"]


@pytest.mark.parametrize(("upper", "held"), [(100, "int8"), (1_000, "int64"), (1e308, "float64")])
def test_the_example_of_integers_is_held_whatever_the_bounds(upper, held):
    found = example_row(np.empty((0, 1), dtype=np.int8), {"x": dp.Continuous(0, upper)})
    assert (found.dtype, found[0, 0]) == (held, upper / 2)


LISTING_TYPES = [
    pd.DataFrame({"age": [4.5], "site": pd.Categorical(["ward 7"])}),
    pl.DataFrame({"age": [4.5], "site": pl.Series(["ward 7"], dtype=pl.Enum(["ward 7"]))}),
    np.array([["4", "r"]]),
]


@pytest.mark.parametrize("X", LISTING_TYPES, ids=["pandas", "polars", "texts"])
def test_the_example_does_not_depend_on_what_a_type_lists(X):
    """Categories, and the length of texts, may come from private rows."""
    found = example_row(X, KINDS)
    kinds = getattr(found, "dtypes", None), getattr(found, "schema", None)
    assert "ward 7" not in f"{found} {kinds} {getattr(found, 'site', None)}"
    cells = found[0] if isinstance(found, np.ndarray) else [found["age"][0], found["site"][0]]
    assert [str(cell) for cell in cells] == ["4.5", "a"]
