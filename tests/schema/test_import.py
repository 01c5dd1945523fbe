"""Declaring a schema imports nothing heavy."""

from __future__ import annotations

import pytest

import interpret_dp.schema


@pytest.mark.parametrize("name", interpret_dp.schema.__all__)
def test_public_names_are_there(name: str) -> None:
    assert name in dir(interpret_dp.schema)
    assert getattr(interpret_dp.schema, name) is not None
