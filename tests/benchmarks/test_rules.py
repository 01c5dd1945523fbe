"""Comparing a rule with another value of it."""

import pytest

from benchmarks import rules
from interpret_dp.ebm import config
from interpret_dp.ebm.tuning import TUNING


def test_a_constant_is_changed_for_a_while():
    before, largest = TUNING.rounds, config._LARGEST_LOGIT
    with rules.changed({"rounds": before + 1, "ebm.config._LARGEST_LOGIT": largest + 1}):
        assert before + 1 == TUNING.rounds
        assert largest + 1 == config._LARGEST_LOGIT
    assert (before, largest) == (TUNING.rounds, config._LARGEST_LOGIT)
    for name in ("round", "ebm.config._LARGEST"):
        with pytest.raises(AttributeError, match=name[-5:]), rules.changed({name: 1}):
            pass


def test_rules_are_compared_on_the_same_rows_with_the_same_noise():
    same, worse = (
        rules.gains("small_regression", 4.0, [0], {name: value})
        for name, value in (("rounds", 40), ("step_range", (0.001, 0.001)))
    )
    assert same[0][0] == same[0][1] == worse[0][0]
    # Tiny steps teach little.
    assert worse[0][1] > 1.05 * worse[0][0]
