"""Any table in any container, declared or not: a result that is paid for, or a clear error.

What a table holds never makes a request fail; its form may, with an error of ours that says what
is wrong and what to do, and that leaves the ledger as it was.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st

from interpret_dp import Categorical, Continuous, PrivacyUnit, Schema
from tests.contract.explainers import registry
from tests.edges.tables import KINDS, PLAIN, declared, drawn_tables, specs

# What a user is told about preprocessing, undeclared columns and shapes.
pytestmark = pytest.mark.filterwarnings("ignore")


def _table(drawn):
    """Return the table; what its container cannot hold is no example."""
    try:
        return drawn.table()
    except (Exception, pl.exceptions.PanicException):  # polars panics at some decimals
        assume(False)


def _named(drawn, X):
    has_names = hasattr(X, "columns") or hasattr(X, "column_names")
    return {} if has_names else {"feature_names": drawn.names}


@pytest.mark.hypothesis
@pytest.mark.thorough
def test_any_table_is_fitted_or_refused(name):
    results = []

    @settings(max_examples=15 if name in ("binary", "regression", "background") else 8)
    @given(st.data())
    def check(data):
        kinds = data.draw(st.sampled_from([PLAIN, PLAIN, None]))
        drawn = data.draw(drawn_tables(kinds))
        X = _table(drawn)
        schema = declared(data.draw, drawn, registry.EXPLAINERS[name].target)
        if name in ("binary", "regression", "background", "maps") and data.draw(st.booleans()):
            schema = None
        if name == "metrics":
            assume(schema.default is None)
        labels = KINDS[data.draw(st.sampled_from(PLAIN))](
            np.random.default_rng(drawn.seed + 1), drawn.n_rows
        )
        y = list(labels) if data.draw(st.booleans()) else labels
        results.append(
            registry.attempt(name, X, y, registry.new_ledger(), schema=schema, **_named(drawn, X))
        )

    check()
    # The control: the strategies must not draw refusals alone; few fresh examples may, by chance.
    n_fitted = sum(not isinstance(result, registry.OURS) for result in results)
    assert n_fitted >= len(results) / 4 or not settings().derandomize


@pytest.mark.parametrize("name", ["binary", "regression", "metrics"])
@settings(max_examples=10)
@given(data=st.data())
def test_weights_scores_and_people_of_any_kind(name, data):
    """Columns that belong to rows: fit, or refuse their form."""
    n_rows = data.draw(st.integers(0, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))

    def column():
        return KINDS[data.draw(st.sampled_from([*KINDS]))](rng, n_rows)

    frame = pd.DataFrame({"a": rng.uniform(size=n_rows)})
    schema = Schema({"a": Continuous(0, 1)}, target=registry.EXPLAINERS[name].target)
    roles = ("unit",) if name == "metrics" else registry.OF_ROWS
    of_rows = {role: column() for role in roles if data.draw(st.booleans(), label=role)}
    registry.attempt(
        name, frame, rng.integers(0, 2, n_rows), registry.new_ledger(), schema=schema, **of_rows
    )


# ---------------------------------------------------------------------------------- schemas

NOTHING = st.sampled_from([None, True, "1", "x", b"a", 1j, float("nan"), 10**400, [], {}, object])
ANYTHING = NOTHING | st.integers() | st.floats() | st.text(max_size=4) | st.booleans()


@pytest.mark.thorough
@settings(max_examples=80)
@given(st.data())
def test_declarations_are_taken_or_refused(data):
    kind = data.draw(st.sampled_from(["continuous", "categorical", "unit", "schema"]))

    def declare():
        if kind == "continuous":
            scale = data.draw(st.just("log") | ANYTHING)
            return Continuous(data.draw(ANYTHING), data.draw(ANYTHING), scale=scale)
        if kind == "categorical":
            levels = data.draw(ANYTHING | st.lists(ANYTHING, max_size=4))
            return Categorical(levels, ordered=data.draw(st.booleans() | ANYTHING))
        if kind == "unit":
            return PrivacyUnit(data.draw(ANYTHING), max_rows=data.draw(ANYTHING))
        names = st.text(max_size=3) | st.sampled_from(["\ud800", None, 5])
        features = data.draw(st.dictionaries(names, specs() | ANYTHING, max_size=3) | ANYTHING)
        return Schema(features, target=data.draw(st.none() | specs() | ANYTHING))

    try:
        found = declare()
    except (TypeError, ValueError) as error:
        registry.check_error(error)
        return
    if kind == "schema":
        assert Schema.from_dict(found.to_dict()) == found
