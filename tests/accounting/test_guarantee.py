"""The guarantee: true as printed, closed against contradictions, safe to show."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.accounting import (
    DEFAULT_ASSUMPTIONS,
    Guarantee,
    ReleaseShare,
    delta_of_mu,
    detection_power,
    mu_of_budget,
)


def guarantee(**changes: Any) -> Guarantee:
    fields: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mu": mu_of_budget(1.0, 1e-6),
        "mechanism": "discrete Gaussian noise on an integer lattice",
        "releases": (ReleaseShare("binning", 0.07, 14), ReleaseShare("boosting", 0.2, 420)),
        "dataset": "adult",
        "ledger_head": "ab" * 32,
    }
    return Guarantee(**(fields | changes))


def test_the_sentence() -> None:
    assert guarantee().sentence == (
        "For any two tables that differ by adding or removing one row, the probability of any "
        "outcome differs by at most a factor e^1 (2.72), plus 1e-06; at 5 % false alarms an "
        "attacker detects that a given person (one row) is in the table with probability at most "
        "7.96 %."
    )
    assert detection_power(mu_of_budget(1.0, 1e-6)) <= 0.0796
    text = str(guarantee())
    assert all(clause in text for clause in DEFAULT_ASSUMPTIONS)
    assert "odds" not in text


def test_the_sentence_of_other_promises() -> None:
    pure = guarantee(delta=0.0, mu=None, releases=())
    assert "plus" not in pure.sentence
    assert "false alarms" not in pure.sentence
    replaced = guarantee(neighboring="replace_one", unit="one patient's rows").sentence
    assert "any two tables that differ in the content of one patient's rows" in replaced
    assert "which of two given contents a person has in the table" in replaced
    assert "e^800," in guarantee(epsilon=800.0, mu=None, releases=()).sentence


def test_a_seeded_fit_promises_nothing() -> None:
    text = str(guarantee(tests_only=True))
    assert text == "For tests only: the noise was drawn from a fixed seed, so nothing is promised."


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1))
def test_printed_figures_are_never_smaller_than_the_true_ones(epsilon: float, delta: float) -> None:
    mu = mu_of_budget(epsilon, delta)
    sentence = guarantee(epsilon=epsilon, delta=delta, mu=mu, releases=()).sentence
    match = re.search(r"e\^(\S+) \((\S+)\), plus (\S+); .* most (\S+) %\.$", sentence)
    assert match is not None
    exponent, factor, plus, power = map(float, match.groups())
    assert exponent >= epsilon
    assert factor >= math.exp(epsilon)
    assert plus >= delta
    assert power >= 100 * detection_power(mu)
    # True as printed: the printed figures alone still follow from mu.
    assert delta_of_mu(mu, exponent) <= plus


def test_html_is_escaped() -> None:
    shown = guarantee(
        dataset="<script>alert(1)</script>", mechanism="a & b", assumptions=("<b>x</b>",)
    )._repr_html_()
    assert "<script>" not in shown
    assert "<b>x</b>" not in shown
    assert "&lt;script&gt;" in shown
    assert "a &amp; b" in shown


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"epsilon": -1}, ValueError, "epsilon is -1"),
        ({"delta": 1.0}, ValueError, "below 1"),
        ({"mu": 0.3}, ValueError, "implies delta"),
        ({"delta": 0.0}, ValueError, "implies delta"),
        (
            {"releases": (ReleaseShare("x", 0.2, 1), ReleaseShare("y", 0.2, 1))},
            ValueError,
            "add up",
        ),
        ({"releases": ("boosting",)}, TypeError, "ReleaseShare"),
        ({"neighboring": "swap"}, ValueError, "neighboring is 'swap'"),
        ({"unit": " "}, ValueError, "unit is ' '"),
        ({"mechanism": None}, ValueError, "mechanism is None"),
        ({"assumptions": "trusted"}, TypeError, "tuple of str"),
        ({"dataset": ""}, ValueError, "dataset is ''"),
        ({"tests_only": 1}, TypeError, "tests_only is 1"),
    ],
)
def test_contradictions_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        guarantee(**changes)


def _without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda d: [], ValueError, "list was given"),
        (lambda d: d | {"format": "x"}, ValueError, "format is 'x'"),
        (lambda d: d | {"version": 2}, ValueError, "newer interpret_dp"),
        (lambda d: d | {"extra": 1}, ValueError, "unknown keys: 'extra'"),
        (lambda d: _without(d, "unit"), ValueError, "lacks 'unit'"),
        (lambda d: d | {"releases": {}}, TypeError, "must be a list"),
        (lambda d: d | {"releases": [3]}, ValueError, "A release is of type int"),
        (lambda d: d | {"releases": [{"name": "x"}]}, ValueError, "A release lacks 'mu', 'count'"),
        (lambda d: d | {"epsilon": "1"}, TypeError, "epsilon is '1'"),
        (lambda d: d | {"epsilon": 0.1}, ValueError, "implies delta"),
    ],
)
def test_a_broken_document_is_refused(change: Any, error: type[Exception], message: str) -> None:
    document = change(copy.deepcopy(guarantee().to_dict()))
    with pytest.raises(error, match=message):
        Guarantee.from_dict(document)


def test_a_share_is_checked() -> None:
    for name, mu, count, error in (
        ("", 0.1, 1, ValueError),
        ("x", -0.1, 1, ValueError),
        ("x", 0.1, 0, ValueError),
        ("x", 0.1, 1.5, TypeError),
    ):
        with pytest.raises(error):
            ReleaseShare(name, mu, count)  # type: ignore[arg-type]
