"""How far the sums of two neighbouring tables can lie apart, against tables that reach it."""

import itertools
import math

import pytest
from hypothesis import example, given, strategies as st

from interpret_dp.accounting.lattice import Neighbourhood

UNIT = 1000

RELATIONS = ["add_or_remove_one", "replace_one"]


def of(relation, max_rows=1):
    return Neighbourhood(relation=relation, unit="person", max_rows=max_rows)


def norm(vector):
    return math.sqrt(sum(value**2 for value in vector))


def farthest(relation, contributions, max_rows):
    """Try every content of the unit in which two tables differ."""
    width = len(contributions[0])
    contents = [
        tuple(map(sum, zip((0,) * width, *rows, strict=True)))
        for count in range(max_rows + 1)
        for rows in itertools.combinations_with_replacement(contributions, count)
    ]
    others = contents if relation == "replace_one" else [(0,) * width]
    return max(
        norm([a - b for a, b in zip(one, other, strict=True)])
        for one in contents
        for other in others
    )


COUNTS = [(UNIT, 0, 0), (0, UNIT, 0), (0, 0, UNIT)]
# (weight, weight * centred target): what a row of a regression adds to its target sums.
CONE = [(UNIT, UNIT), (UNIT, -UNIT), (UNIT, 0), (UNIT // 2, UNIT // 2)]
RESIDUALS = [(UNIT, 0), (-UNIT, 0), (0, UNIT), (600, -800)]


TABLES = [(COUNTS, UNIT, True), (CONE, math.isqrt(2 * UNIT**2) + 1, True), (RESIDUALS, UNIT, False)]


@pytest.mark.parametrize("max_rows", [1, 2, 3])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("contributions", "row_norm", "aligned"),
    TABLES,
    ids=["counts", "count and target", "residuals"],
)
def test_the_bound_holds_and_some_pair_of_tables_reaches_it(
    contributions, row_norm, aligned, relation, max_rows
):
    bound = of(relation, max_rows).sensitivity(row_norm, aligned=aligned)
    reached = farthest(relation, contributions, max_rows)
    assert reached <= bound
    assert bound <= reached * (1 + 1e-3) + max_rows * 2


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=3),
    st.sampled_from(RELATIONS),
    st.integers(1, 2),
)
@example([(0, 0)], "replace_one", 1)
def test_vectors_without_negative_entries_are_aligned(contributions, relation, max_rows):
    row_norm = math.ceil(max(map(norm, contributions)))
    bound = of(relation, max_rows).sensitivity(row_norm, aligned=True)
    assert farthest(relation, contributions, max_rows) <= bound


def test_control_opposite_residuals_break_the_smaller_bound():
    bound = of("replace_one").sensitivity(UNIT, aligned=True)
    assert farthest("replace_one", RESIDUALS, 1) > bound


@given(st.integers(1, 2**40), st.integers(1, 10**4))
def test_the_square_root_is_rounded_up(row_norm, max_rows):
    bound = of("replace_one", max_rows).sensitivity(row_norm, aligned=True)
    square = 2 * (max_rows * row_norm) ** 2
    assert (bound - 1) ** 2 < square <= bound**2


OUT_OF_RANGE = [
    ({"relation": "swap"}, "neighboring is 'swap'.*'add_or_remove_one', 'replace_one'"),
    ({"unit": "p", "max_rows": 0}, "max_rows is 0 .*at least 1"),
    ({"max_rows": 2}, "max_rows is 2 where every row is a unit; it must be 1. Name"),
]


@pytest.mark.parametrize(("fields", "message"), OUT_OF_RANGE)
def test_a_field_out_of_range_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Neighbourhood(**fields)
