"""What a fit holds beyond the caller's table: a byte a row and feature, and 16 bytes a row."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from interpret_dp import Categorical, Continuous, PrivacyWarning, Schema
from interpret_dp.ebm import training
from interpret_dp.schema.encode import encode_features
from tests.ebm.tasks import machine
from tests.memory import peak_of

pytestmark = pytest.mark.filterwarnings(f"ignore::{PrivacyWarning.__module__}.PrivacyWarning")

FEATURES = {
    "number": Continuous(0, 1),
    "whole": Continuous(0, 9),
    "flag": Categorical([False, True]),
    "word": Categorical(["x", "y"]),
    "short": Continuous(0, 1),
    "level": Categorical([0, 1, 2, 3]),
}
CLASSES = Schema(FEATURES, target=Categorical([0, 1]))
AMOUNTS = Schema(FEATURES, target=Continuous(0, 1))
P = 0.48, 0.48, 0.04
# The first fit imports and compiles; its peak is not compared.
SIZES = (1_000, 100_000, 300_000)
# Bytes a row: room for 100 kB of garbage that the collector has not freed yet.
MARGIN = 0.5


def frame(n_rows):
    rng = np.random.default_rng(0)
    number = rng.random(n_rows)
    number[::5] = np.nan
    return pd.DataFrame(
        {
            "number": number,
            "whole": rng.integers(0, 9, n_rows),
            "flag": rng.random(n_rows) < 0.5,
            "word": pd.Series(rng.choice([*"xyz"], n_rows, p=P).astype(object), dtype=object),
            "short": rng.random(n_rows).astype(np.float32),
            "level": rng.integers(0, 4, n_rows),
        }
    )


def table(n_rows):
    """Return the frame in Arrow, in two chunks, with nulls."""
    whole = pa.Table.from_pandas(frame(n_rows), preserve_index=False)
    return pa.concat_tables([whole.slice(0, n_rows // 3), whole.slice(n_rows // 3)])


def coded(n_rows):
    return frame(n_rows).astype({"word": "category"})


def array(n_rows):
    """Return numbers alone, a row beside the other, so that no column is contiguous."""
    return frame(n_rows).drop(columns=["word", "flag"]).to_numpy(dtype=np.float64)


def bytes_per_row(rows, schema=CLASSES, **settings):
    """Return how much the peak of a fit grows with a row; what does not grow cancels out."""
    peaks = []
    for n_rows in SIZES:
        table = rows(n_rows), np.arange(n_rows) % 2
        model = machine(schema, max_rounds=1, random_state=0, **settings)
        peaks.append(peak_of(lambda model=model, table=table: model.fit(*table))[1])
    return float((peaks[2] - peaks[1]) / (SIZES[2] - SIZES[1]))


@pytest.mark.parametrize(
    ("schema", "rows"), [(CLASSES, frame), (CLASSES, coded), (CLASSES, table), (AMOUNTS, frame)]
)
def test_a_byte_a_row_and_feature_and_sixteen_a_row(schema, rows):
    assert bytes_per_row(rows, schema) <= len(FEATURES) + 16 + MARGIN


def test_columns_of_an_array_of_rows_are_not_copied():
    features = {f"feature_{i:04}": Continuous(0, 9) for i in range(4)}
    schema = Schema(features, target=Categorical([0, 1]))
    assert bytes_per_row(array, schema) <= len(features) + 16 + MARGIN


def test_two_bytes_above_256_bins():
    assert bytes_per_row(frame, max_bins=400) <= 2 * len(FEATURES) + 16 + MARGIN


@pytest.mark.thorough
def test_control_a_copy_of_the_columns_is_seen(monkeypatch):
    kept = []

    def with_copies(table, columns, *others, **settings):
        kept[:] = [np.asarray(table.column(0), dtype=np.float64).copy() for _ in columns[:2]]
        return encode_features(table, columns, *others, **settings)

    monkeypatch.setattr(training, "encode_features", with_copies)
    assert bytes_per_row(frame) > len(FEATURES) + 16 + MARGIN
