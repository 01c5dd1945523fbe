"""The guarantee: true as printed, closed against contradictions, safe to show, with selections."""

import copy
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from interpret_dp import accounting
from interpret_dp.accounting.events import composed_json, thresholding_node


def guarantee(**changes):
    fields = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mu": accounting.mu_of_budget(1.0, 1e-6),
        "mechanism": "discrete Gaussian noise on an integer lattice",
        "releases": (
            accounting.ReleaseShare("binning", 0.07, 14),
            accounting.ReleaseShare("boosting", 0.2, 420),
        ),
        "dataset": "adult",
        "ledger_head": "ab" * 32,
    }
    return accounting.Guarantee(**(fields | changes))


def test_the_sentence():
    assert guarantee().sentence == (
        "For any two tables that differ by adding or removing one row, the probability of any "
        "outcome differs by at most a factor e^1 (2.72), plus 1e-06. Someone who wrongly accuses 5 "
        "of 100 rows that are not in the data would spot a row that is in the data with "
        "probability at most 8 %; guessing gives 5 %."
    )
    assert accounting.detection_power(accounting.mu_of_budget(1.0, 1e-6)) <= 0.0796
    assert all(clause in str(guarantee()) for clause in accounting.DEFAULT_ASSUMPTIONS)


def test_the_sentence_of_other_promises():
    pure = guarantee(delta=0.0, mu=None, releases=())
    assert "plus" not in pure.sentence
    assert "guessing" not in pure.sentence
    replaced = guarantee(neighboring="replace_one", unit="one patient's rows").sentence
    assert "any two tables that differ in the content of one patient's rows" in replaced
    assert "would spot a person with the other with probability at most" in replaced
    assert "e^800," in guarantee(epsilon=800.0, mu=None, releases=()).sentence


def test_a_seeded_fit_promises_nothing():
    text = str(guarantee(tests_only=True))
    assert text == (
        "The promise does not hold: the noise was drawn from a fixed seed, which is for tests only."
    )


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1))
def test_printed_figures_are_never_smaller_than_the_true_ones(epsilon, delta):
    mu = accounting.mu_of_budget(epsilon, delta)
    sentence = guarantee(epsilon=epsilon, delta=delta, mu=mu, releases=()).sentence
    match = re.search(r"e\^(\S+) \((\S+)\), plus (\S+)\. .* most (\S+) %; guessing", sentence)
    assert match is not None
    exponent, factor, plus, power = map(float, match.groups())
    assert exponent >= epsilon
    assert factor >= math.exp(epsilon)
    assert plus >= delta
    assert power >= 100 * accounting.detection_power(mu)
    # True as printed: the printed figures alone still follow from mu.
    assert accounting.delta_of_mu(mu, exponent) <= plus


def test_html_is_escaped():
    shown = guarantee(
        dataset="<script>alert(1)</script>", mechanism="a & b", assumptions=("<b>x</b>",)
    )._repr_html_()
    assert "<script>" not in shown
    assert "<b>x</b>" not in shown
    assert "&lt;script&gt;" in shown
    assert "a &amp; b" in shown


CONTRADICTIONS = [
    ({"epsilon": -1}, ValueError, "epsilon is -1"),
    ({"delta": 1.0}, ValueError, "below 1"),
    ({"mu": 0.3}, ValueError, "implies delta"),
    ({"delta": 0.0}, ValueError, "implies delta"),
    ({"releases": (accounting.ReleaseShare("x", 0.2, 1),) * 2}, ValueError, "add up"),
    ({"releases": ("boosting",)}, TypeError, "ReleaseShare"),
    ({"neighboring": "swap"}, ValueError, "neighboring is 'swap'"),
    ({"unit": " "}, ValueError, "unit is ' '"),
    ({"mechanism": None}, ValueError, "mechanism is None"),
    ({"assumptions": "trusted"}, TypeError, "tuple of str"),
    ({"dataset": ""}, ValueError, "dataset is ''"),
    ({"tests_only": 1}, TypeError, "tests_only is 1"),
]


@pytest.mark.parametrize(("changes", "error", "message"), CONTRADICTIONS)
def test_contradictions_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        guarantee(**changes)


BROKEN_DOCUMENTS = [
    (lambda d: [], ValueError, "list was given"),
    (lambda d: d | {"format": "x"}, ValueError, "format is 'x'"),
    (lambda d: d | {"version": 2}, ValueError, "newer interpret_dp"),
    (lambda d: d | {"extra": 1}, ValueError, "unknown keys: 'extra'"),
    (lambda d: {k: d[k] for k in d if k != "unit"}, ValueError, "lacks 'unit'"),
    (lambda d: d | {"releases": {}}, TypeError, "must be a list"),
    (lambda d: d | {"releases": [3]}, ValueError, "A release is of type int"),
    (lambda d: d | {"releases": [{"name": "x"}]}, ValueError, "A release lacks 'mu', 'count'"),
    (lambda d: d | {"epsilon": "1"}, TypeError, "epsilon is '1'"),
    (lambda d: d | {"epsilon": 0.1}, ValueError, "implies delta"),
]


@pytest.mark.parametrize(("change", "error", "message"), BROKEN_DOCUMENTS)
def test_a_broken_document_is_refused(change, error, message):
    document = change(copy.deepcopy(guarantee().to_dict()))
    with pytest.raises(error, match=message):
        accounting.Guarantee.from_dict(document)


def test_a_share_is_checked():
    for share in (("", 0.1, 1, 0.0), ("x", -0.1, 1, 0.0), ("x", 0.1, 0, 0.0), ("x", 0.1, 1, 1.0)):
        with pytest.raises(ValueError, match=r"(name|mu|count|delta) is"):
            accounting.ReleaseShare(*share)


# ------------------------------------------------------------------------------------- selections


def test_the_delta_of_many_is_never_rounded_down():
    pair = accounting.reduce_event(composed_json([(thresholding_node(0.1, 0.1 / 3), 3)]))
    assert Fraction(pair.delta) >= 3 * Fraction(0.1 / 3)
    assert pair.delta <= 0.1 * (1 + 1e-15)


def with_selections(**changes):
    mu = accounting.mu_of_budget(1.0, accounting.gaussian_part(1e-6, 1e-7))
    levels, rest = (
        accounting.ReleaseShare("levels", 0.6 * mu, 3, 1e-7),
        accounting.ReleaseShare("rest", 0.8 * mu, 9),
    )
    return guarantee(**({"mu": None, "releases": (levels, rest)} | changes))


def test_a_bill_with_deltas_must_imply_the_promise():
    whole = with_selections()
    assert whole.pair is not None
    assert whole.pair.delta == 1e-7
    spent = whole.pair.delta + (1 - whole.pair.delta) * accounting.delta_of_mu(whole.pair.mu, 1.0)
    assert spent == pytest.approx(1e-6, rel=1e-8)
    for changes in ({"delta": 0.99e-6}, {"epsilon": 0.999}):
        with pytest.raises(ValueError, match="more than the delta"):
            with_selections(**changes)


def test_a_bill_with_deltas_is_not_purely_gaussian():
    with pytest.raises(ValueError, match="mu is None where"):
        with_selections(mu=accounting.mu_of_budget(1.0, 1e-6))


def test_a_guarantee_without_a_bill_has_no_pair():
    assert with_selections(releases=()).pair is None


@pytest.mark.parametrize("mu", [0.0, 0.2, 2.0])
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.5])
def test_detection_by_a_pair_is_the_best_over_all_tests(mu, delta):
    """The trade-off of a pair is bounded by its profile: power <= e^eps alpha + delta(eps)."""
    power = accounting.detection_power(mu, 0.05, delta)
    assert power >= accounting.detection_power(mu, 0.05)
    profile = [
        math.exp(eps) * 0.05 + delta + (1 - delta) * accounting.delta_of_mu(mu, eps)
        for eps in [step / 100 for step in range(1500)]
    ]
    assert power <= min(1.0, *profile) * (1 + 1e-9)
    assert power == pytest.approx(min(1.0, *profile), rel=1e-3)


def test_detection_where_every_alarm_fits_into_delta():
    assert accounting.detection_power(0.1, 0.6, 0.5) == 1.0
