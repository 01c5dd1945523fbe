"""Printed figures hold as printed."""

import math

import pytest
from hypothesis import given, strategies as st

from interpret_dp._validate import ceil_text, floor_text, notebook_table


@given(st.floats(1e-30, 1e6), st.integers(1, 8))
def test_a_cost_is_never_printed_below_the_true_one_nor_what_is_left_above(value, digits):
    unit = 10.0 ** (1 - digits) * (1 + 1e-12)
    assert value <= float(ceil_text(value, digits)) <= value * (1 + unit) * (1 + 1e-12)
    assert value * (1 - unit) * (1 - 1e-12) <= float(floor_text(value, digits)) <= value


@pytest.mark.parametrize(
    ("value", "text"), [(math.e, "2.72"), (1.0001, "1.01"), (1.0, "1"), (1e-6, "1e-06"), (0.0, "0")]
)
def test_printed_examples(value, text):
    assert ceil_text(value) == text


def test_a_cell_of_a_table_breaks_between_words_and_a_figure_nowhere():
    page = notebook_table(
        "columns", ["share", "note"], [["< 3.3 %", "20 % of the cells are below"]]
    )
    assert 'nowrap">&lt; 3.3 %</td>' in page
    assert 'normal; min-width: 12em; overflow-wrap: break-word">20 % of' in page
