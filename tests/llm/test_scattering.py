"""DP-LLM on wavelet features: charges and worth.

The transform has tests of its own; refusals are in tests/contract/explainers/test_charging.py.
"""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from interpret_dp.llm.request import scattering_coding
from interpret_dp.schema import Categorical, Continuous, Schema, open_table
from tests.llm.tables import classifier

SCHEMA = Schema(default=Continuous(0, 16), target=Categorical(range(10)))


def scattered(**parameters):
    common = {"features": "scattering", "schema": SCHEMA, "n_maps": None, "epochs": None}
    return classifier(**(common | parameters))


def digits(n_rows=None):
    found = load_digits()
    return found.images[:n_rows], found.target[:n_rows]


@pytest.mark.slow
def test_wavelets_classify_digits_at_the_cost_of_pixels():
    """Hundreds of rows, so that epsilon is large; the default rule of both. Chance is a tenth."""
    X, y = digits()
    pixels, wavelets = (
        scattered(epsilon=8.0, features=features).fit(X[:1300], y[:1300])
        for features in ("inputs", "scattering")
    )
    assert wavelets.score(X[1300:], y[1300:]) > 0.85
    spent = [[share.name for share in model.guarantee_.releases] for model in (pixels, wavelets)]
    assert spent[0] == spent[1] == ["mean of the inputs", "gradients"]
    assert wavelets.model_.weights.shape == (10, 1, 81 * 4)


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
