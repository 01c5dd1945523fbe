"""Explainers that protect people: the column of identifiers, the rows of one, and the promise."""

import decimal
import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from interpret_dp import Categorical, Integer, LedgerError, PrivacyUnit, Schema, SchemaError
from interpret_dp.fitting.rows import open_people
from tests.contract.explainers import registry
from tests.contract.explainers.tables import (
    COLUMNS,
    N_ROWS,
    TARGET,
    fitted,
    frame,
    published,
    schema_of,
)
from tests.ledger.requests import unchanged

DECIMAL = pa.scalar(decimal.Decimal(1), pa.decimal128(38, 20))
IDS = [f"person-{row // 2}" for row in range(N_ROWS)]
WITH_IDS = {"person": IDS, **COLUMNS}


def declared(name, max_rows=None):
    return schema_of(name, PrivacyUnit("person", max_rows or registry.EXPLAINERS[name].max_rows))


CONTAINERS = {
    "pandas": pd.DataFrame,
    "arrow": pa.table,
    "polars": pl.DataFrame,
    "array": lambda columns: np.array(list(zip(*columns.values(), strict=True)), dtype=object),
}


@pytest.mark.parametrize("name", registry.names(only=(*registry.ONE_EACH, "lime")))
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_unit_column_is_no_feature(name, container):
    """The same is released as from identifiers beside the table, and nobody is named."""
    make = CONTAINERS[container]
    explainer, given = registry.EXPLAINERS[name], {"schema": declared(name)}
    is_named = container != "array"
    if not is_named and name == "metrics":
        pytest.skip("metrics read columns by their places only where these are the model's")
    named = {} if is_named else {"feature_names": [*WITH_IDS]}
    result = fitted(name, make(WITH_IDS), **given, **named)
    forms = (np.array(IDS), pl.Series(IDS), pd.DataFrame({"any": IDS}))
    for ids in forms if container == "pandas" else forms[:1]:
        beside = fitted(name, make(COLUMNS), unit=ids, **given)
        assert explainer.published(result) == explainer.published(beside)
    if isinstance(explainer, registry.Metrics):
        return
    assert list(result.feature_names_in_) == [*COLUMNS]
    predicted = explainer.predicted(result, make(COLUMNS))
    assert np.isfinite(predicted).all()
    if is_named:
        np.testing.assert_array_equal(explainer.predicted(result, make(WITH_IDS)), predicted)
    assert b"person-" not in pickle.dumps(result)
    released = (getattr(result, "background", None) or result).to_released()
    assert "person-" not in str(released.to_dict())


@pytest.mark.parametrize("name", registry.names())
def test_several_columns_and_rows_without_an_identifier(name):
    """Columns are as tuples beside the table, and a row that is dropped is as one never there."""
    explainer, X = registry.EXPLAINERS[name], frame().assign(ward=np.arange(N_ROWS) // 4, bed=IDS)
    both = schema_of(name, PrivacyUnit(["ward", "bed"], explainer.max_rows))
    beside = X[["bed", "ward"]]
    pairs = list(X[["ward", "bed"]].itertuples(index=False, name=None))
    several = fitted(name, X, schema=both)
    for unit in (pairs, beside):
        assert explainer.published(several) == published(name, frame(), unit=unit, schema=both)
    with pytest.raises(SchemaError, match=r"unit has columns 'a', 'bed', .* as the privacy unit"):
        fitted(name, frame(), unit=X[["a", "bed"]], schema=both)
    assert "same 'bed + ward', or none, in" in " ".join(explainer.promise(several).assumptions)
    ids, known = np.array(IDS, dtype=object), np.arange(N_ROWS) % 6 != 5
    ids[~known] = None
    drop = schema_of(name, PrivacyUnit("person", explainer.max_rows, missing="drop"))
    rest = {"y": np.array(TARGET)[known], "unit": ids[known], "schema": drop}
    without = published(name, frame()[known], **rest)
    assert published(name, frame().assign(person=ids), schema=drop) == without
    assert published(name, frame(), unit=ids, schema=declared(name)) != without


UNCLEAR = {
    "none": (lambda X: X, None, "lacks column 'person'"),
    "two": (lambda X: X.assign(person=IDS), IDS, "unit was given, and X has column"),
    "short": (lambda X: X, IDS[1:], "X and unit must have the same number of rows"),
    "wide": (lambda X: X, np.ones((N_ROWS, 2)), "unit has 2 columns"),
    "column": (lambda X: X, np.array([IDS]).T, "unit must be 1D array"),
    "index": (lambda X: X, pd.Series(IDS, range(N_ROWS)[::-1]), r"differ.*unit\.set_axis\("),
    "dates": (lambda X: X, pd.date_range("2020", periods=N_ROWS), "unit has dtype datetime64"),
    "floats": (lambda X: X.assign(person=1.0), None, "floats, which cannot tell.*'Int64'"),
    "a float array": (lambda X: X, np.ones(N_ROWS), "floats, which cannot tell"),
    "decimals": (lambda X: X, pa.array([DECIMAL] * N_ROWS), "floats, which cannot tell"),
    "intervals": (lambda X: X, pd.interval_range(0, N_ROWS).array, "intervals, which cannot tell"),
    "alone": (lambda X: X.assign(person=IDS)[["person"]], None, "column 'person'"),
}


@pytest.mark.parametrize("name", registry.names(only=registry.ONE_EACH))
@pytest.mark.parametrize("kind", UNCLEAR)
def test_unclear_units_are_refused_before_anything_is_spent(name, kind):
    make, unit, message = UNCLEAR[kind]
    if name == "metrics" and message.startswith("unit was given"):
        pytest.skip("metrics read the model's features by their names, and need no other column")
    ledger = registry.new_ledger((1000.0, 1e-5))
    given = {"schema": declared(name), "ledger": ledger, "dataset": registry.DATASET}
    with unchanged(ledger), pytest.raises(ValueError, match=message):
        fitted(name, make(frame()), unit=unit, seed=None, **given)


@pytest.mark.parametrize("name", registry.names())
def test_rows_are_protected_beside_identifiers_only_if_somebody_says_so(name):
    schema = schema_of(name).replace({"patient_id": Integer(0, N_ROWS)})
    X = frame({"patient_id": [*range(N_ROWS)], **COLUMNS})
    ledger = registry.new_ledger((1000.0, 1e-5))
    message = r"'patient_id' looks like an identifier.*unit=\"rows\""
    with unchanged(ledger), pytest.raises(SchemaError, match=message):
        fitted(name, X, schema=schema, ledger=ledger, dataset=registry.DATASET, seed=None)
    for beside in ({"unit": "rows"}, {}) if name != "metrics" else ({},):
        declared_so = schema.replace(unit=None if beside else "rows")
        result = fitted(name, X, schema=declared_so, **beside)
        assert registry.EXPLAINERS[name].promise(result).unit == "one row"
    with pytest.raises(SchemaError, match="schema names 'person' as the privacy unit"):
        fitted(name, X, schema=schema.replace(unit=PrivacyUnit("person")), unit="rows")


COLUMNS_OF_TABLES = [
    ("patient_id", [1, 2], None, True),
    ("personID", ["a", "b"], None, True),
    ("Member No.", [1, 2], Integer(0, 9), True),
    ("UUID", ["a", "b"], None, True),
    ("userid", np.array(["a", 1], dtype=object), None, True),
    ("patient_id", [0.5, 1.5], None, False),
    ("hospital_id", [1, 2], Categorical([1, 2]), False),
    ("valid", [1, 2], None, False),
    ("paid", [1, 2], None, False),
    ("patient", ["in", "out"], None, False),
    ("number of patients", [1, 2], None, False),
]


@pytest.mark.parametrize(("column", "cells", "spec", "is_refused"), COLUMNS_OF_TABLES)
def test_names_dtypes_and_declarations_decide_what_looks_like_an_identifier(
    column, cells, spec, is_refused
):
    schema = None if spec is None else Schema({column: spec})
    expected = pytest.raises(SchemaError, match=column) if is_refused else nullcontext()
    with expected:
        open_people(pd.DataFrame({column: cells}), None, schema, None)


@pytest.mark.parametrize("name", registry.names())
def test_what_a_ledger_could_not_tell_apart_is_refused(name):
    """Identifiers without a name, and rows beside people; numbers of rows of the same people."""
    ledger = registry.new_ledger()
    account = {"ledger": ledger, "dataset": registry.DATASET, "seed": None, "epsilon": 0.5}
    message = r"does not say what it identifies.*PrivacyUnit\("
    with unchanged(ledger), pytest.raises(ValueError, match=message):
        fitted(name, frame(), unit=IDS, **account)
    for max_rows in range(1, registry.EXPLAINERS[name].max_rows + 1):
        fitted(name, frame(), unit=IDS, schema=declared(name, max_rows), **account)
    assert ledger.spent(registry.DATASET).n_requests == registry.EXPLAINERS[name].max_rows
    message = r"protects .*'person'.*one row.*Nothing was spent"
    with unchanged(ledger), pytest.raises(LedgerError, match=message):
        fitted(name, frame(), **account)


@pytest.mark.parametrize("name", registry.names())
def test_a_unit_of_many_rows_counts_as_declared(name):
    """Persons of five equal rows each are as those of ``max_rows``, and not as those of fewer."""
    max_rows = registry.EXPLAINERS[name].max_rows
    given = {"schema": declared(name)}

    def released(n_rows):
        X = frame().loc[np.repeat(np.arange(N_ROWS), n_rows)]
        return published(
            name, X, np.repeat(TARGET, n_rows), unit=np.repeat(np.arange(N_ROWS), n_rows), **given
        )

    assert released(5) == released(max_rows)
    if max_rows > 1:
        assert released(1) != released(max_rows)
    X = frame().iloc[1:]
    assert published(name, X, TARGET[1:], unit=np.arange(1, N_ROWS), **given) != released(1)


@pytest.mark.parametrize("name", registry.names())
def test_the_promise_names_the_unit(name):
    explainer = registry.EXPLAINERS[name]
    most = {1: "one of them is used", 2: "at most 2"}
    for max_rows in range(1, explainer.max_rows + 1):
        result = fitted(name, frame(), unit=IDS, schema=declared(name, max_rows), seed=None)
        promise = explainer.promise(result)
        whom = f"all rows of one 'person' ({most[max_rows]}"
        assert whom in promise.unit
        assert whom in promise.sentence
        missing = "which is not missing, in every request on this data set; each row without one"
        assert f"carry the same 'person', {missing} counts" in " ".join(promise.assumptions)
    # Without a declared maximum one row of each is used, which no data can make wrong.
    promise = explainer.promise(fitted(name, frame(), unit=IDS, seed=None))
    assert promise.unit == "all rows of one 'unit' (one of them is used)"
    assert promise.dataset == "unnamed (one 'unit')"


@pytest.mark.parametrize("name", registry.names())
def test_more_noise_than_fits_is_refused_before_anything_is_spent(name):
    message = "max_rows=1" if name == "maps" else r"needs more noise|Ask for a larger epsilon"
    ledger = registry.new_ledger((1000.0, 1e-5))
    given = {"schema": declared(name, 10**12), "ledger": ledger, "dataset": registry.DATASET}
    with unchanged(ledger), pytest.raises(ValueError, match=message):
        fitted(name, frame(), unit=IDS, seed=None, **given)
