"""Selections in events, composition and guarantees: pairs (mu, delta) beside pure Gaussians."""

from __future__ import annotations

import math
from typing import Any

import pytest

from interpret_dp.accounting import (
    GdpPair,
    Guarantee,
    ReleaseShare,
    delta_of_mu,
    detection_power,
    gaussian_part,
    mu_of_budget,
    reduce_event,
)
from interpret_dp.accounting.events import (
    composed_json,
    gaussian_node,
    thresholding_node,
)


def test_the_delta_of_many_is_never_rounded_down() -> None:
    from fractions import Fraction

    pair = reduce_event(composed_json([(thresholding_node(0.1, 0.1 / 3), 3)]))
    assert Fraction(pair.delta) >= 3 * Fraction(0.1 / 3)
    assert pair.delta <= 0.1 * (1 + 1e-15)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, math.nan])
def test_a_delta_out_of_range_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta is"):
        composed_json([(thresholding_node(0.1, delta), 1)])


def test_a_document_with_a_missing_or_foreign_key_is_refused() -> None:
    for node in (
        {"kind": "gaussian_thresholding", "noise_multiplier": 3.0},
        gaussian_node(0.1) | {"delta": 1e-8},
    ):
        with pytest.raises(ValueError, match=r"(lacks|has unknown keys:) 'delta'"):
            composed_json([(node, 1)])


def guarantee(**changes: Any) -> Guarantee:
    delta_x = 1e-7
    mu = mu_of_budget(1.0, gaussian_part(1e-6, delta_x))
    fields: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mu": None,
        "mechanism": "noise",
        "releases": (
            ReleaseShare("levels", 0.6 * mu, 3, delta_x),
            ReleaseShare("rest", 0.8 * mu, 9),
        ),
    }
    return Guarantee(**(fields | changes))


def test_a_bill_with_deltas_must_imply_the_promise() -> None:
    whole = guarantee()
    assert whole.pair is not None
    assert whole.pair.delta == 1e-7
    spent = whole.pair.delta + (1 - whole.pair.delta) * delta_of_mu(whole.pair.mu, 1.0)
    assert spent == pytest.approx(1e-6, rel=1e-8)
    for changes in ({"delta": 0.99e-6}, {"epsilon": 0.999}):
        with pytest.raises(ValueError, match="more than the delta"):
            guarantee(**changes)


def test_a_bill_with_deltas_is_not_purely_gaussian() -> None:
    with pytest.raises(ValueError, match="mu is None where"):
        guarantee(mu=mu_of_budget(1.0, 1e-6))


def test_a_guarantee_without_a_bill_has_no_pair() -> None:
    assert guarantee(releases=()).pair is None
    assert "false alarms" not in guarantee(releases=()).sentence


@pytest.mark.parametrize("mu", [0.0, 0.2, 2.0])
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.5])
def test_detection_by_a_pair_is_the_best_over_all_tests(mu: float, delta: float) -> None:
    """The trade-off of a pair is bounded by its profile: power <= e^eps alpha + delta(eps)."""
    power = detection_power(mu, 0.05, delta)
    assert power >= detection_power(mu, 0.05)
    profile = [
        math.exp(eps) * 0.05 + delta + (1 - delta) * delta_of_mu(mu, eps)
        for eps in [step / 100 for step in range(1500)]
    ]
    assert power <= min(1.0, *profile) * (1 + 1e-9)
    assert power == pytest.approx(min(1.0, *profile), rel=1e-3)


def test_detection_where_every_alarm_fits_into_delta() -> None:
    assert detection_power(0.1, 0.6, 0.5) == 1.0
    assert GdpPair(0.1, 0.5).delta == 0.5
