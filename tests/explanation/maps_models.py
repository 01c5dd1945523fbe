"""Made-up released locally linear models for tests: of tables and of small images."""

import numpy as np

from interpret_dp import Categorical, Continuous, PrivacySpend, Schema
from interpret_dp.explanation.objects import maps_explanation, rows_explanation
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.scattering import Scattering
from tests.explanation.influences import guarantee

SIDE = 7
TABLE_SCHEMA = Schema(
    {
        "age": Continuous(0, 100),
        "job": Categorical(["clerk", "nurse", "pilot"]),
        "income": Continuous(0, 1e6, scale="log"),
        "stage": Categorical(["early", "late"], ordered=True),
    },
    target=Categorical(["high", "low", "middle"]),
)
TABLE_CELLS = ((41, "nurse", 52_000.0, "late"), (None, "pilot", 0.0, "early"), (67, None, 9e5, "x"))
# As the coding of the rows above would have them; missing cells are 0.
TABLE_INPUTS = np.array(
    [[-0.31, 0, 1, 0, 1.13, 0, 1], [0, 0, 0, 1, -1.73, 1, 0], [0.59, 0, 0, 0, 1.70, 0, 0]]
)


def promise():
    """Return the promise of a model of epsilon 2 for the data set "pictures"."""
    mechanism = "Gaussian noise on clipped gradients"
    return guarantee(epsilon=2.0, delta=1e-5, mu=None, mechanism=mechanism, dataset="pictures")


def table_model(n_maps=4, seed=0, **changes):
    """Return a model of three classes over numbers and levels."""
    rng = np.random.default_rng(seed)
    fields = {
        "schema": TABLE_SCHEMA,
        "centres": [50.0, 0.0, 6.9, 0.0],
        "spreads": [28.9, 1.0, 4.0, 1.0],
        "weights": rng.normal(size=(3, n_maps, 7)),
        "biases": rng.normal(size=(3, n_maps)),
        "inverse_temperature": 1.0,
        "classes": ("high", "low", "middle"),
        "guarantee": promise(),
        "settings": {"n_maps": n_maps},
    }
    return LocallyLinearModel(**(fields | changes))


def image_model(n_classes=3, n_maps=6, channels=0, seed=0, **changes):
    """Return a model of images of 7 x 7 pixels, whose filters are blobs."""
    rng = np.random.default_rng(seed)
    shape = (SIDE, SIDE, channels) if channels else (SIDE, SIDE)
    n_pixels = int(np.prod(shape))
    names = [f"pixel {number}" for number in range(n_pixels)]
    rows, columns = np.mgrid[:SIDE, :SIDE]
    centres = rng.uniform(0, SIDE, size=(n_classes, n_maps, 2, 1, 1))
    blobs = np.exp(-((rows - centres[:, :, 0]) ** 2 + (columns - centres[:, :, 1]) ** 2) / 4) - 0.2
    weights = np.repeat(blobs[..., None], max(1, channels), axis=-1)
    labels = list(range(n_classes))
    fields = {
        "schema": Schema(dict.fromkeys(names, Continuous(0, 1)), target=Categorical(labels)),
        "centres": [0.13] * n_pixels,
        "spreads": [0.31] * n_pixels,
        "weights": weights.reshape(n_classes, n_maps, n_pixels),
        "biases": rng.normal(size=(n_classes, n_maps)),
        "inverse_temperature": 0.3,
        "classes": tuple(labels),
        "guarantee": promise(),
        "image_shape": shape,
    }
    return LocallyLinearModel(**(fields | changes))


def stroke_pictures():
    """Return pictures of 8 x 12 pixels: a bar across, one upright, and a faint cross of both."""
    across, upright = np.zeros((2, 8, 12))
    across[3:5, 1:11], upright[1:7, 5:7] = 1.0, 1.0
    return np.array([across, upright, 0.2 * (across + upright)])


def stroke_model(**changes):
    """Return a model of wavelet features: its first class is of bars across, its second upright."""
    pictures = stroke_pictures()
    features = Scattering(pictures.shape[1:]).features(pictures[:2]).astype(np.float64)
    weights = np.array([features[0], features[1], features.mean(axis=0)]) / 100
    return image_model(
        n_maps=1,
        schema=Schema(
            {f"pixel {number}": Continuous(0, 1) for number in range(96)},
            target=Categorical([0, 1, 2]),
        ),
        centres=[0.0] * 96,
        spreads=[1.0] * 96,
        weights=weights[:, None] - weights.mean(axis=0),
        biases=[[0.0], [0.0], [-1.0]],
        image_shape=(8, 12),
        features="scattering",
        means=features.mean(axis=0),
        **changes,
    )


def rows_of(model, inputs, cells, **changes):
    """Return the local explanation of some rows of a model."""
    fields = {"privacy": PrivacySpend(guarantee=model.guarantee), "name": "some rows"}
    return rows_explanation(model, inputs, cells, **(fields | changes))


def stroke_rows(n_rows=3, **changes):
    """Return the local explanation of the three pictures."""
    model, pixels = stroke_model(), stroke_pictures()[:n_rows].reshape(n_rows, -1)
    assert model.scattering is not None
    inputs = model.scattering.features(pixels)
    return rows_of(
        model, inputs, pixels.tolist(), **({"actual": [0, 1, 2], "name": "bars"} | changes)
    )


def image_inputs(model, n_rows=2, seed=1):
    """Return standardised images of random grey levels."""
    return (np.random.default_rng(seed).uniform(size=(n_rows, model.n_inputs)) - 0.13) / 0.31


def table_rows(model=None, **changes):
    """Return the local explanation of the three rows above."""
    fields = {"actual": [0, 2, None], "name": "three people"}
    return rows_of(model or table_model(), TABLE_INPUTS, TABLE_CELLS, **(fields | changes))


def image_rows(model=None, n_rows=2, **changes):
    """Return the local explanation of some images."""
    model = model or image_model()
    inputs = image_inputs(model, n_rows)
    return rows_of(model, inputs, inputs.tolist(), **({"name": "some pictures"} | changes))


def all_maps(model, **changes):
    """Return the global explanation of a model."""
    fields = {"privacy": PrivacySpend(guarantee=model.guarantee), "name": "all classes"}
    return maps_explanation(model, **(fields | changes))
