"""Containers: what is opened, how names are matched, and what is refused with a hint."""

import numpy as np
import pytest

from interpret_dp.schema import open_table
from interpret_dp.schema.containers import complete_names

NUMBERS = np.arange(6.0).reshape(3, 2)


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return NUMBERS


@pytest.mark.parametrize("shape", [(3, 4), (0, 2), (2, 12)])
def test_names_are_those_of_the_host(shape):
    from interpret.utils._clean_x import unify_feature_names

    array = np.zeros(shape)
    expected, _ = unify_feature_names(array)
    assert list(open_table(array).names) == expected
    given = [None, "feature_0000", *[None] * (shape[1] - 2)]
    expected, _ = unify_feature_names(array, list(given))
    assert list(open_table(array, given).names) == expected
    assert list(complete_names(given)) == expected


LISTS_OF_ROWS = [
    [[1, "a"], (None, 2.5)],
    ([1, "a"], [None, 2.5]),
    [np.array([1, "a"], dtype=object), [None, 2.5]],
]


@pytest.mark.parametrize("rows", LISTS_OF_ROWS)
def test_lists_of_rows_keep_their_cells(rows):
    table = open_table(rows)
    assert list(table.column(0)) == [1, None]
    assert list(table.column(1)) == ["a", 2.5]
    assert type(table.column(0)[0]) is int


@pytest.mark.parametrize("array", [NUMBERS.view(np.matrix), ArrayLike(), NUMBERS.tolist()])
def test_other_forms_of_an_array_are_read(array):
    assert open_table(array).column(1).tolist() == [1.0, 3.0, 5.0]


def test_representation_hides_the_number_of_rows():
    assert "137" not in repr(open_table(np.zeros((137, 2))))
