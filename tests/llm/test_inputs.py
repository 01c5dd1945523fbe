"""Table to inputs, by public constants alone."""

import numpy as np
import pytest

from interpret_dp import Categorical, Continuous, Schema, SchemaError
from interpret_dp.llm.request import input_coding, scattering_coding
from interpret_dp.schema import open_table

SCHEMA = Schema(
    {
        "age": Continuous(0, 100),
        "income": Continuous(0, 1e6, scale="log"),
        "job": Categorical(["clerk", "nurse"]),
    }
)


def test_declared_constants_replace_those_of_the_bounds():
    coding = input_coding(SCHEMA, {"age": (40, 20)})
    table = open_table([[60, 1.0, "nurse"]], list(SCHEMA.features))
    assert coding.encode(table)[0, 0] == 1.0
    assert coding.widths == (1, 1, 2)
    assert coding.encode(table)[0, 2:].tolist() == [0.0, 1.0]


def test_missing_and_undeclared_cells_are_zero_and_others_are_clipped():
    coding = input_coding(SCHEMA, None)
    rows = [[None, np.nan, None], [1e400, -5, "pilot"], [100, 0, "clerk"]]
    inputs = coding.encode(open_table(rows, list(SCHEMA.features)))
    assert inputs[0].tolist() == [0.0] * 4
    assert inputs[1, :2].tolist() == inputs[2, :2].tolist()
    assert inputs[1, 2:].tolist() == [0.0, 0.0]
    assert inputs[2, 2:].tolist() == [1.0, 0.0]


def test_a_row_decides_its_own_inputs_alone():
    rows = [[30, 100.0, "clerk"], [50, 2_000.0, "nurse"], ["x", "y", 3]]
    coding = input_coding(SCHEMA, None)
    together = coding.encode(open_table(rows, list(SCHEMA.features)))
    for row, inputs in zip(rows, together, strict=True):
        alone = coding.encode(open_table([row], list(SCHEMA.features)))
        assert alone[0].tolist() == inputs.tolist()


def test_extreme_constants_stay_within_the_floats():
    coding = input_coding(Schema({"a": Continuous(-1e300, 1e300)}), (0.0, 1e-300))
    inputs = coding.encode(open_table([[1e300], [-1e300]], ["a"]))
    assert inputs[:, 0].tolist() == [2.0**20, -(2.0**20)]


@pytest.mark.parametrize("standards", [{"job": (0, 1)}, {"income": (0, 1)}, {"height": (0, 1)}])
def test_constants_of_other_columns_are_refused(standards):
    with pytest.raises(SchemaError, match="continuous columns of linear scale"):
        input_coding(SCHEMA, standards)


def test_constants_of_another_form_are_refused():
    with pytest.raises(ValueError, match="deviation of standardize is 0"):
        input_coding(SCHEMA, (0.0, 0.0))
    with pytest.raises(TypeError, match="must be"):
        input_coding(SCHEMA, {"age": 3})


def test_pixels_are_read_as_the_schema_declares_and_missing_ones_are_background():
    schema = Schema({f"p{n}": Continuous(0, 16) for n in range(64)})
    coding = scattering_coding(schema, (8, 8), 16.0)
    image = np.full(64, 16.0)
    image[20] = 4.0
    rows = np.array([image, image, np.where(image == 16.0, np.nan, image), image + 100])
    rows[1, 0], rows[3, 20] = 1e300, 4.0
    inputs = coding.encode(open_table(rows, list(schema.features)))
    assert inputs[0].any()
    for other in inputs[1:]:
        assert other.tobytes() == inputs[0].tobytes()
    assert not coding.encode(open_table(np.full((1, 64), 16.0), list(schema.features))).any()
    # Whether there is any row must not decide whether a fit is refused.
    assert coding.encode(open_table(np.empty((0, 64)), list(schema.features))).shape == (0, 324)
