"""DP-LLM on wavelet features: charges, refusals and worth; the transform has tests of its own."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from interpret_dp import Categorical, Continuous, PrivacyLedger, Schema, SchemaError
from interpret_dp.llm.inputs import scattering_coding
from interpret_dp.schema import open_table
from tests.llm.tables import classifier, three_classes

SCHEMA = Schema(default=Continuous(0, 16), target=Categorical(range(10)))


def scattered(**parameters):
    common = {"features": "scattering", "schema": SCHEMA, "n_maps": None, "epochs": None}
    return classifier(**(common | parameters))


def digits(n_rows=None):
    found = load_digits()
    return found.images[:n_rows], found.target[:n_rows]


@pytest.mark.thorough
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


NOT_SCATTERED = [
    ({"features": "wavelets"}, (8, 8), "features is 'wavelets'"),
    ({}, (7, 8), "at least 8 x 8"),
    ({"image_shape": None}, (64,), "rows are no images"),
    ({"standardize": (3.0, 4.0)}, (8, 8), r"standardize is \(3.0, 4.0\)"),
    ({"projection_dim": 10}, (8, 8), "projection_dim is 10"),
    ({"background": "black"}, (8, 8), "background"),
    ({"schema": Schema(default=Continuous(0, 16, scale="log"))}, (8, 8), "linear scale"),
    ({"background": 17.0}, (8, 8), r"background is 17.0"),
]


@pytest.mark.parametrize(("parameters", "shape", "message"), NOT_SCATTERED)
def test_what_cannot_be_scattered_is_refused_before_anything_is_charged(parameters, shape, message):
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("d", epsilon=10.0, delta=1e-4, delta_x=1e-5)
    model = scattered(**({"ledger": ledger, "dataset": "d", "classes": range(2)} | parameters))
    if "schema" not in parameters:
        model.set_params(schema=Schema(default=Continuous(0, 16)))
    X = np.zeros((20, *shape))
    before = ledger.entries()
    with pytest.raises((TypeError, ValueError, SchemaError), match=message):
        model.fit(X, np.arange(20) % 2)
    assert ledger.entries() == before


def test_tables_have_neither_wavelets_nor_a_background():
    for parameters in ({"features": "scattering"}, {"background": 0.0}):
        with pytest.raises(ValueError, match=r"is (0.0|'scattering'), and rows are no images"):
            classifier(**parameters).fit(*three_classes(50))
