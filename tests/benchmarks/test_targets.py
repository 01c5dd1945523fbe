"""What issue by issue must hold is computed from the measurements, and can fail."""

import math

import pytest

from benchmarks.paired import corrected_standard_error
from benchmarks.problems import EPSILONS, PUBLISHED, TABLES, metric_of
from benchmarks.records import Results
from benchmarks.summary import compare
from benchmarks.targets import check_targets
from tests.benchmarks.records import add, fits

# Of two splits; the differences of ours and the reference vary by far less than they amount to.
WOBBLE = (0.0, 0.001)


def score(problem, quality):
    """Return scores of two splits of a quality between 0 and 1, better the larger it is."""
    middle = 0.5 + quality / 2 if metric_of(problem) == "AUROC" else 2.0 - quality
    return [middle + wobble for wobble in WOBBLE]


@pytest.fixture
def results(tmp_path):
    """Measurements with which everything holds but the goals: at 0.5 ours is as good as at 4."""
    made = []
    for problem in TABLES:
        for number, epsilon in enumerate(EPSILONS):
            # Equal scores would leave it to rounding which of the two is better.
            made += fits(problem, "ours", epsilon, score(problem, 0.5001 + 0.02 * number))
            made += fits(problem, "reference", epsilon, score(problem, 0.44 + 0.02 * number))
        made += fits(problem, "nonprivate", None, score(problem, 0.8))
        made += fits(problem, "constant", None, score(problem, 0.0))
    for problem in ("adult", "pol"):
        made += fits(problem, "reference", 8.0, score(problem, 0.52))
    for problem, published in PUBLISHED.items():
        for epsilon, figure in published.items():
            made += fits(problem, "ours", epsilon, [figure, figure])
        made += fits(problem, "constant", None, [0.5, 0.5] if figure < 1 else [3.2, 3.2])
    # At once, because each addition writes the file.
    found = Results(tmp_path / "accuracy.json")
    found.add(made)
    return found


def check_of(results, *words):
    found = [
        check
        for check in check_targets(results, compare(results))
        if all(word in check.requirement for word in words)
    ]
    assert len(found) == 1
    return found[0]


def test_ours_at_a_small_epsilon_is_compared_with_the_reference_at_larger_ones(results):
    assert check_of(results, "reference at 2 on 7 of 7").holds is True
    assert check_of(results, "reference at 4 on 6 of 7").holds is True
    assert check_of(results, "reference at 8 on adult and pol").holds is True
    goal = check_of(results, "reference at 8 on 7 of 7")
    assert (goal.kind, goal.holds) == ("goal", False)
    assert goal.measured.startswith("2 of 7; credit_fraud 0.7606 against 0.7705")


def test_a_cell_is_worse_or_better_by_more_than_its_standard_error(results):
    assert check_of(results, "not worse than the reference").measured == "42 of 42"
    assert check_of(results, "better than the reference").measured == "42 of 42"
    # Worse on average, by less than the standard error, which is 0.0387.
    add(results, "adult", "reference", 1.0, [0.8, 0.7])
    add(results, "adult", "ours", 1.0, [0.7, 0.78])
    assert check_of(results, "not worse than the reference").holds is True
    better = check_of(results, "better than the reference")
    assert (better.measured, better.holds) == ("41 of 42; adult at 1", True)
    add(results, "adult", "ours", 1.0, [0.6, 0.5])
    worse = check_of(results, "not worse than the reference")
    assert (worse.measured, worse.holds) == ("41 of 42; adult at 1", False)
    # On fewer than 36 cells ours is better.
    for epsilon in EPSILONS:
        add(results, "pol", "ours", epsilon, score("pol", 0.1))
    assert check_of(results, "better than the reference").holds is False


def test_what_was_not_measured_is_open(tmp_path):
    empty = Results(tmp_path / "empty.json")
    assert {check.holds for check in check_targets(empty, [])} == {None}
    add(empty, "adult", "ours", 0.5, score("adult", 0.4))
    add(empty, "adult", "reference", 2.0, score("adult", 0.5))
    # One problem that is lost settles what all seven must hold, and not what six must.
    assert check_of(empty, "reference at 2 on 7 of 7").holds is False
    assert check_of(empty, "reference at 4 on 6 of 7").holds is None


def test_the_standard_error_knows_that_splits_overlap():
    # Variance 2 of the two differences; 1/2 for their number, 1/4 for the shared rows.
    assert corrected_standard_error([1.0, 3.0], 0.25) == pytest.approx(math.sqrt(0.75 * 2.0))
    assert corrected_standard_error([1.0], 0.25) is None
