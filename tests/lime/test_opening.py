"""Rows in every container: the same table for the explanation, the same container for the model."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from interpret_dp import Categorical, Continuous, PrivacyUnit, Schema, SchemaError
from interpret_dp.lime.outputs import open_model_rows

FEATURES = {"x": Continuous(0, 100), "g": Categorical(["a", "b"])}
PEOPLE = Schema(FEATURES, unit=PrivacyUnit("patient", 2))
COLUMNS = {"patient": [7, 7, 8], "x": [0.0, 25.0, 100.0], "g": ["a", "b", "a"]}


def rows_of(opened):
    table = opened.table
    columns = [np.asarray(table.column(at)).tolist() for at in range(len(table.names))]
    return [list(row) for row in zip(*columns, strict=True)]


def opened(X, **arguments):
    return open_model_rows(X, **({"feature_names": None, "schema": None} | arguments))


def test_a_frame_keeps_its_index_its_other_columns_and_their_order():
    X = pd.DataFrame({"spare": [1, 2, 3]} | COLUMNS, index=["r", "s", "t"])
    found = opened(X, feature_names=["g", "x"], schema=PEOPLE)
    several = Schema(FEATURES, unit=PrivacyUnit(["patient", "spare"]))
    query = opened(X, schema=several)
    assert query.table.names == tuple(query.X.columns) == ("x", "g")
    assert found.table.names == ("g", "x")
    assert list(found.X.columns) == ["spare", "x", "g"]
    assert list(found.X.index) == ["r", "s", "t"]
    assert list(X.columns) == ["spare", "patient", "x", "g"]


def test_a_sparse_matrix_is_read_as_its_dense_twin_whatever_is_stored():
    """Entries given twice, zeros that are stored, NaN and infinities; the matrix is not changed."""
    values = np.array([1.0, 2.0, 0.0, np.nan, np.inf, -np.inf])
    places = (np.array([0, 0, 0, 1, 1, 2]), np.array([1, 1, 0, 0, 2, 2]))
    X = sparse.coo_matrix((values, places), shape=(3, 3)).tocsc()
    twice = sparse.csr_matrix(
        (np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2, 2])), shape=(3, 3)
    )
    for one in (X, twice):
        found = opened(one)
        np.testing.assert_array_equal(np.array(rows_of(found)), one.toarray())
        assert found.table.names == ("feature_0000", "feature_0001", "feature_0002")
    assert twice.nnz == 2
    # A format that must be converted for slicing, and identifiers in a column of a matrix.
    ids = sparse.coo_matrix(np.array([[7, 0, 3], [7, 1, 0]]))
    schema = Schema(default=Continuous(0, 9), unit=PrivacyUnit("patient"))
    found = opened(ids, feature_names=["patient", "a", "b"], schema=schema)
    assert rows_of(found) == [[0, 3], [1, 0]]
    np.testing.assert_array_equal(found.X.toarray(), [[0, 3], [1, 0]])


ONE_ROW = sparse.coo_array([1, 2])


NO_ROWS = [
    (np.zeros((2, 3, 4)), {}, SchemaError, "3D"),
    (np.zeros((2, 2)), {"feature_names": ["a"]}, SchemaError, "X has 2 features"),
    (sparse.csr_array([[1, 2]]), {"feature_names": ["a"]}, SchemaError, "X has 2 features"),
    (sparse.csr_array([[1j, 2]]), {}, SchemaError, "complex128"),
    # Earlier releases of scipy make a matrix of them.
    *([(ONE_ROW, {}, SchemaError, "1 dimension.*reshape")] if ONE_ROW.ndim == 1 else []),
]


@pytest.mark.parametrize(("X", "arguments", "error", "message"), NO_ROWS)
def test_what_is_not_rows_is_refused(X, arguments, error, message):
    with pytest.raises(error, match=message):
        opened(X, **arguments)


def test_rows_are_not_shown():
    assert repr(opened(pd.DataFrame(COLUMNS), schema=PEOPLE)) == "OpenedRows()"
