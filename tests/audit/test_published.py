"""The comparison that the replays rest on sees every bit, and the extractor leaves nothing out."""

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpret_dp.audit import differences, published_parts
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.audit.fits import base_records, classifier, frame, regressor


@dataclasses.dataclass(frozen=True)
class Pair:
    left: Any
    right: Any


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


SOMETHING_DIFFERS = [
    (1.5, math.nextafter(1.5, 2), ""),
    (0.0, -0.0, ""),
    (1, 1.0, ""),
    (True, 1, ""),
    ([1, 2], (1, 2), ""),
    ([1, 2], [1], ""),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
    ({"a": [1]}, {"a": [2]}, "['a'][0]"),
    (np.zeros(2), np.zeros((2, 1)), ""),
    (np.zeros(2), np.zeros(2, dtype=np.float32), ""),
    (np.array([0.0]), np.array([-0.0]), ""),
    (np.array([1, None]), np.array([2, None]), "[0]"),
    (np.datetime64("2020-01-01"), np.datetime64("2020-01-02"), ""),
    (Pair(1, [Pair(1, 2)]), Pair(1, [Pair(1, 3)]), ".right[0].right"),
    (Slotted(1), Slotted(2), ".value"),
    ({1}, {2}, ""),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), ".labels[0]"),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]}), ".cells"),
    (pd.Series([1], index=[0]), pd.Series([1], index=[1]), ".index[0]"),
    (slice(1, 2), slice(1, 3), ".pickle"),
    (len, max, ""),
]


@pytest.mark.parametrize(("first", "second", "path"), SOMETHING_DIFFERS)
def test_different_structures(first, second, path):
    assert differences(first, first) == []
    assert differences({"x": [first]}, {"x": [second]}) == [f"['x'][0]{path}"]


@pytest.mark.parametrize("fit", [classifier, regressor])
def test_every_attribute_and_every_file_is_there(fit):
    task = "classification" if fit is classifier else "regression"
    with use_randomness(SeededRandomness(1)):
        model = fit(frame(base_records(task)))
    parts = published_parts(model)
    assert set(parts) == {"attributes", "pickle", "repr", "to_json", "save", "explain_global"}
    assert set(parts["attributes"]) == set(vars(model))
    head = model.guarantee_.ledger_head
    assert head is not None
    assert head not in parts["save"]
    assert head.encode() not in parts["pickle"]
    assert '"scores"' in parts["save"]
    assert len(parts["explain_global"]) == 3 + len(model.term_names_)
