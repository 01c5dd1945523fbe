"""Comparing a rule with another value of it."""

from __future__ import annotations

import argparse

import pytest

from benchmarks import rules
from interpret_dp.ebm import config


@pytest.mark.parametrize(
    ("text", "change"),
    [("ebm.config._ROUNDS=80", ("ebm.config._ROUNDS", 80)), ("a.b.C=None", ("a.b.C", None))],
)
def test_a_change_is_read(text, change):
    assert rules.parsed(text) == change


@pytest.mark.parametrize("text", ["ebm.config._ROUNDS", "_ROUNDS=80", "ebm.config._ROUNDS=many"])
def test_a_change_that_is_none_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a"):
        rules.parsed(text)


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
