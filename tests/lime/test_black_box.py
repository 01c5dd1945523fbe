"""What the black box says: one answer a row."""

import re

import numpy as np
import pytest

from interpret_dp.lime.black_box import PublicModel

X = np.linspace(-1, 1, 40).reshape(20, 2)


@pytest.mark.parametrize("shape", [(19,), (20, 2, 2), (20, 0), ()])
def test_another_number_of_answers_is_refused(shape):
    with pytest.raises(ValueError, match=f"returned an array of shape {re.escape(str(shape))}"):
        PublicModel.of(lambda rows: np.zeros(shape)).outputs(X, 20)


def test_labels_in_place_of_numbers_are_named():
    with pytest.raises(ValueError, match=r"such as labels; numbers are needed\. Pass a model"):
        PublicModel.of(lambda rows: np.array(["no"] * len(rows))).outputs(X, 20)


def test_a_torch_module_is_refused_and_its_tensors_are_taken():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 3)
    with pytest.raises(TypeError, match=r"model is a torch module .*Pass a function of rows"):
        PublicModel.of(layer)

    def scores(rows):
        return layer(torch.as_tensor(rows, dtype=torch.float32))

    assert PublicModel.of(scores).outputs(X, 20).shape == (20, 3)
