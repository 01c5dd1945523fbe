from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.golden.fits import NUMBERS, cases

STORED = json.loads(NUMBERS.read_text(encoding="utf-8"))


def _flat(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for key in value for number in _flat(value[key])]
    if isinstance(value, list):
        return [number for item in value for number in _flat(item)]
    return [value]


@pytest.mark.parametrize("name", STORED)
def test_a_fit_with_frozen_noise_releases_the_stored_numbers(name: str) -> None:
    if name.startswith("maps"):
        pytest.importorskip("torch")
    found = cases()[name]()
    assert found.keys() == STORED[name].keys()
    for part, expected in STORED[name].items():
        given, stored = np.array(_flat(found[part])), np.array(_flat(expected))
        if part == "deviations":
            # Bins with too few rows had no deviation when these were stored.
            given, stored = given[stored > 1e-9], stored[stored > 1e-9]
        # Scores are near 1; with next to no noise, processors differ by 1e-8.
        np.testing.assert_allclose(given, stored, rtol=1e-6, atol=1e-7, err_msg=part)
