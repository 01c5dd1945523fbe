"""Comparing a rule with another value of it."""

from __future__ import annotations

import pytest

from benchmarks import rules
from interpret_dp.ebm import config


def test_a_constant_is_changed_for_a_while():
    before = config._ROUNDS
    with rules.changed({"ebm.config._ROUNDS": before + 1}):
        assert before + 1 == config._ROUNDS
    assert before == config._ROUNDS
    with pytest.raises(AttributeError, match="_ROUND"), rules.changed({"ebm.config._ROUND": 1}):
        pass


def test_rules_are_compared_on_the_same_rows_with_the_same_noise():
    same, worse = (
        rules.gains("small_regression", 4.0, [0], {name: value})
        for name, value in (("ebm.config._ROUNDS", 40), ("ebm.config._MOST_SPREADS", 0.1))
    )
    assert same[0][0] == same[0][1] == worse[0][0]
    # Residuals clipped at a tenth of a standard deviation teach little.
    assert worse[0][1] > 1.05 * worse[0][0]
