"""Errors carry what they speak of, also across process borders."""

import pickle
import re

from hypothesis import given
from hypothesis import strategies as st

from interpret_dp import BudgetExceededError


def refusal(largest):
    return BudgetExceededError(
        "trial",
        requested_epsilon=2.0,
        requested_delta=1e-6,
        requested_mu=0.4,
        remaining_mu=0.1,
        largest_epsilon=largest,
    )


@given(st.floats(1e-6, 100))
def test_the_advice_is_never_above_what_fits(largest):
    advised = float(re.search(r"epsilon <= ([\d.e-]+)", str(refusal(largest))).group(1))
    assert 0.999 * largest < advised <= largest


def test_without_anything_left_only_a_raise_is_advised():
    assert "Nothing was spent. Have the owner of the data raise" in str(refusal(0.0))


def test_pickling_keeps_the_figures():
    again = pickle.loads(pickle.dumps(refusal(0.25)))
    assert vars(again) == vars(refusal(0.25))
    assert str(again) == str(refusal(0.25))
