"""Awkward values and shapes, one by one: what each explainer makes of them.

Wide tables and many levels are among them: 300 columns, 300 levels.
"""

import inspect
import math
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import interpret_dp as dp
from interpret_dp.explanation.plots.axes import FeatureAxis
from tests.contract.explainers.registry import EXPLAINERS, OURS, attempt, names, new_ledger
from tests.edges.tables import UNDECLARED

# What a user is told about preprocessing, undeclared columns and shapes.
pytestmark = pytest.mark.filterwarnings("ignore")

SMALLEST = 5e-324
VALUES = {
    "NaN": [math.nan],
    "infinities": [math.inf, -math.inf],
    "-0.0": [-0.0, 0.0],
    "subnormal": [SMALLEST, -SMALLEST, sys.float_info.min, 1e-42],
    "largest": [sys.float_info.max, -sys.float_info.max],
    "huge integers": [10**400, -(10**400), 2**64, 2**63 - 1],
    "mixed types": [1, "1", 1.0, True, None, b"1", 1j, (), UNDECLARED],
    "constant": [0.5],
    "missing": [None],
    "texts": ["", " ", "\x00", "\ud800", "nan", "a" * 10_000],
}
SCHEMA = {"a": dp.Continuous(0, 1), "b": dp.Categorical([0, 1, "x"])}


def _frame(cells, n_rows):
    b = pd.Series([0, 1] * n_rows, dtype=object)[:n_rows]
    return pd.DataFrame({"a": _repeated(cells, n_rows), "b": b})


def _repeated(cells, n_rows):
    return pd.Series((cells * n_rows)[:n_rows], dtype=object)


@pytest.mark.thorough
@pytest.mark.parametrize("is_declared", [True, False])
def test_no_value_of_a_cell_is_an_error(name, is_declared):
    """Each kind in a column of numbers and in one of levels, and in a target of its own."""
    if not is_declared and name == "metrics":
        pytest.skip("they need a schema")
    target = EXPLAINERS[name].target
    X = pd.DataFrame(
        {f"{role} {kind}": _repeated(VALUES[kind], 6) for kind in VALUES for role in SCHEMA}
    )
    kinds = {column: SCHEMA[column[0]] for column in X}
    # Nor if the caller makes NumPy raise what it lets pass by default. (What follows the release of
    # a background underflows; that is public.)
    with np.errstate(all="raise", under="ignore" if name == "background" else "raise"):
        result = attempt(
            *(name, X, [0, 1] * 3, new_ledger()),
            schema=dp.Schema(kinds, target=target) if is_declared else None,
        )
    assert not isinstance(result, OURS), result
    schema = dp.Schema(SCHEMA, target=target) if is_declared else None
    # A background has no target.
    for cells in VALUES.values() if name != "background" else ():
        y = list(_repeated(cells, 6))
        result = attempt(name, _frame([0.5], 6), y, new_ledger(), schema=schema)
        assert not isinstance(result, OURS), result


@pytest.mark.parametrize("n_rows", [0, 1])
def test_zero_rows_and_one_row(name, n_rows):
    """Fits publish noise."""
    schema = dp.Schema(SCHEMA, target=EXPLAINERS[name].target)
    for declared in (schema, None):
        result = attempt(name, _frame([0.5], n_rows), [0] * n_rows, new_ledger(), schema=declared)
        assert not isinstance(result, OURS), result
        if name == "metrics":
            break


AXIS_BOUNDS = [
    *((0, 1), (SMALLEST, 3 * SMALLEST), (0, 1e-320), (-1e-300, 0), (5, 5), (0, 1.7e308)),
    *((-8e307, 8e307), (1e300, math.nextafter(1e300, 2e300)), (-1e-310, 1e308)),
]


@pytest.mark.parametrize("bounds", AXIS_BOUNDS)
@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_axes_of_any_bounds_have_ticks(bounds, scale):
    spec = dp.Continuous(*bounds, scale=scale)
    ticks = FeatureAxis(spec).ticks()
    assert 1 <= len(ticks) <= 12
    assert np.isfinite(ticks).all()
    assert (np.diff(ticks) >= 0).all()
    assert ticks[0] >= spec.lower
    assert ticks[-1] <= spec.upper
    again = FeatureAxis(spec).values(FeatureAxis(spec).at(ticks))
    assert np.allclose(again, ticks, atol=1e-12 * np.abs(ticks).max())


@pytest.mark.parametrize("y", [[math.nan, 1.0], [math.inf, 1.0], ["x", 1.0], [None, 1.0]])
def test_targets_of_explained_rows_must_be_numbers(y):
    model = dp.DPExplainableBoostingRegressor(
        schema=dp.Schema({"a": dp.Continuous(0, 1)}, target=dp.Continuous(0, 1)),
        max_rounds=1,
        n_jobs=1,
    )
    model.ledger, model.dataset = dp.PrivacyLedger.in_memory(), "d"
    X = pd.DataFrame({"a": [0.1, 0.2]})
    with pytest.raises(dp.SchemaError, match=r"no finite number in row 0.*Leave y out"):
        model.fit(X, [0.0, 1.0]).explain_local(X, y)


# ------------------------------------------------------------------------------- many columns

WIDE, LEVELS = 300, 300


ACROSS = dp.Schema(default=dp.Continuous(0, 1), target=dp.Categorical([0, 1]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", names(only=("binary", "lime", "maps")))
def test_wide_tables_are_fitted_explained_and_copied(name):
    cells = np.random.default_rng(0).uniform(size=(40, WIDE))
    X = pd.DataFrame(cells, columns=[f"c{at}" for at in range(WIDE)])
    y = (X["c0"] > 0.5).astype(int)
    result = attempt(name, X, y, new_ledger(), schema=ACROSS)
    assert not isinstance(result, OURS), result


@pytest.mark.thorough
def test_a_category_of_300_levels_and_a_target_of_100(name):
    """Private metrics are of the model's own two labels, and numbers have none."""
    levels = [f"level {at}" for at in range(LEVELS)]
    kinds = {"a": dp.Continuous(0, 1), "b": dp.Categorical([0, 1, *levels])}
    X = _frame([0.5, 0.25], 100).assign(b=[*levels[:50], *levels[-50:]])
    has_labels = name in ("binary", "maps")
    target = dp.Categorical([*range(100)]) if has_labels else EXPLAINERS[name].target
    schema = dp.Schema(kinds, target=target)
    result = attempt(name, X, [*range(100)], new_ledger(), schema=schema)
    assert not isinstance(result, OURS), result


# -------------------------------------------------------------------- any value for any parameter


ODD = st.sampled_from(
    [
        *(None, True, False, 0, -1, 1, 2, 0.5, 1e-320, 1e308, 10**400, -(10**400)),
        *(float("nan"), float("inf"), -float("inf"), -0.0, 1j, "", "1", "auto", "all", b"x"),
        *(np.float32(0.5), np.int8(3), np.float64("nan"), np.bool_(True), np.array(1.0)),
        *(np.array([1, 2]), [], [1, "a"], (), {}, {"a": 1}, object, set(), "\x00", "\ud800"),
        pd.NA,
    ]
)
# What a request is about, and counts whose large values are only slow: 10**6 rounds are allowed.
_FIXED = {"self", "X", "y", "models", "model", "data", "ledger", "dataset", "schema"}
_SLOW = {"max_rounds", "steps", "epochs", "n_maps", "sampling_rate", "batch_size", "n_jobs"}


def _is_slow(parameter, value):
    if parameter not in _SLOW:
        return False
    try:
        return not isinstance(value, bool) and float(value) > 3
    except (TypeError, ValueError, OverflowError):
        return False


@pytest.mark.hypothesis
@pytest.mark.thorough
def test_any_value_of_a_parameter_is_taken_or_refused(name):
    parameters = [p for p in inspect.signature(EXPLAINERS[name].kind).parameters if p not in _FIXED]

    @settings(max_examples=15 if name == "maps" else 30)
    @given(st.sampled_from(parameters), ODD)
    def check(parameter, value):
        given = {"schema": dp.Schema(SCHEMA, target=EXPLAINERS[name].target), parameter: value}
        if not _is_slow(parameter, value):
            X = _frame([at / 7 for at in range(8)], 8).astype({"a": float})
            attempt(name, X, [0, 1] * 4, new_ledger(), **given)

    check()
