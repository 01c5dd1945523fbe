"""A reader can follow the table and the budget of a fit through a few modules."""

from __future__ import annotations

import pytest

from scripts.trace_fit import trace_fit

MAX_MODULES = 12


@pytest.mark.parametrize("value", ["X", "epsilon"])
def test_value_of_a_fit_enters_few_modules(value: str) -> None:
    modules = trace_fit()[value]

    assert len(modules) <= MAX_MODULES, sorted(modules)
    assert "interpret_dp.ebm.request" in modules
