"""Algorithm 4: explanations from the history, by the way that predicts the history best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interpret_dp.lime.ball import minimum_on_ball
from interpret_dp.lime.features import UNITS
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.history import Explained, History
from interpret_dp.lime.moments import ExplanationData, Queries, exact_moments
from interpret_dp.lime.proxies import (
    Proxies,
    explain_from_history,
)
from interpret_dp.lime.weighting import WeightTable, stable_weight, weight_table

N = 4


def table() -> WeightTable:
    return weight_table(stable_weight, 0.5, N * UNITS**2, 2)


def points(n_points: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.integers(-UNITS // 2, UNITS // 2 + 1, (n_points, N)).astype(np.int16)


def curved(own: Any) -> Any:
    """Explanations that change smoothly from point to point, at most 0.6 long."""
    places = np.atleast_2d(own) / UNITS
    return 0.3 * np.stack(
        [np.sin(2 * places[:, 0]), places[:, 1], np.cos(places[:, 2]), places[:, 3] ** 2], axis=1
    )


def history(own: Any, phis: Any, labels: Any, errors: float = 0.01, output: int = 0) -> History:
    return History(
        tuple(
            Explained(
                point,
                output,
                int(label),
                LinearFit(phi, np.full(len(phi), errors)),
                "adaptive",
                "released",
                0.1,
            )
            for point, phi, label in zip(own, phis, labels, strict=True)
        )
    )


def asked(own: Any, anchors: Any = None, output: int = 0) -> Queries:
    fixed = None if anchors is None else tuple(int(one) for one in anchors)
    return Queries(own, (output,) * len(own), fixed)


def coefficients(fits: list[LinearFit]) -> Any:
    return np.array([fit.coefficients for fit in fits])


def test_nothing_released_is_an_error_that_says_what_to_do() -> None:
    own = points(3)
    earlier = history(own, curved(own), [0, 0, 0], output=1)
    with pytest.raises(ValueError, match=r"No explanation of output 0 .* Explain some rows"):
        explain_from_history(asked(own), [0, 0, 0], table(), earlier)
    reused = History(
        tuple(Explained(one.point, 0, 0, one.fit, one.method, "reused", 0.0) for one in earlier)
    )
    with pytest.raises(ValueError, match="output 0"):
        explain_from_history(asked(own), [0, 0, 0], table(), reused)


def test_the_minimum_of_equation_8_is_that_of_the_moments_of_the_proxies() -> None:
    own, point = points(40), points(1, 9)[0]
    labels = np.random.default_rng(1).integers(-UNITS, UNITS, 40)
    proxies = Proxies.of_released(history(own, curved(own), labels).released(0), table())
    fit = proxies.fit_labels(point, None)
    (exact,) = exact_moments(
        ExplanationData(own, labels[:, np.newaxis].astype(np.int16)),
        asked(point[np.newaxis]),
        table(),
    )
    expected, _ = minimum_on_ball(exact.second / table().scale, exact.first / table().scale)
    assert fit.coefficients == pytest.approx(expected, abs=1e-6)
    assert not fit.standard_errors.any()
