"""Comparing a rule with another value of it."""

from benchmarks import rules


def test_rules_are_compared_on_the_same_rows_with_the_same_noise():
    same, worse = (
        rules.gains("small_regression", 4.0, [0], {name: value})
        for name, value in (("rounds", 40), ("step_range", (0.001, 0.001)))
    )
    assert same[0][0] == same[0][1] == worse[0][0]
    # Tiny steps teach little.
    assert worse[0][1] > 1.05 * worse[0][0]
