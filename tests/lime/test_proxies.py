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
    check_predictors,
    explain_from_history,
    joint_distances,
)
from interpret_dp.lime.weighting import WeightTable, stable_weight, weight_table

N = 4
SLOPES = np.array([0.5, -0.3, 0.2, 0.0])


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


def linear_labels(own: Any) -> Any:
    return np.rint(own @ SLOPES / table().unit * UNITS).astype(int)


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


def test_a_single_explanation_is_all_there_is() -> None:
    own = points(1)
    (fit,) = explain_from_history(asked(points(1, 5)), [0], table(), history(own, curved(own), [0]))
    assert np.array_equal(fit.coefficients, curved(own)[0])
    assert np.array_equal(fit.standard_errors, np.full(N, 0.01))


def test_explanations_that_change_smoothly_are_interpolated() -> None:
    """Labels that have nothing to do with them do not mislead."""
    own, new = points(150), points(20, 1)
    noise = np.random.default_rng(2).integers(-UNITS, UNITS, 170)
    earlier = history(own, curved(own), noise[:150])
    fits = explain_from_history(asked(new), noise[150:], table(), earlier)
    miss = np.abs(coefficients(fits) - curved(new))
    assert miss.mean() < 0.01
    nearest = Proxies.of_released(earlier.released(0), table())
    far = np.abs([nearest.fit_nearest(one, None).coefficients for one in new] - curved(new))
    assert miss.mean() < far.mean() / 5


def test_a_linear_model_is_explained_by_its_answers_to_earlier_queries() -> None:
    """The explanations in the history are hardly more than noise."""
    rng = np.random.default_rng(3)
    own, new = points(60), points(10, 1)
    phis = SLOPES / 2 + 0.02 * rng.standard_normal((60, N))
    labels, new_labels = linear_labels(own), linear_labels(new)
    earlier = history(own, phis, labels, errors=0.02)
    fits = explain_from_history(asked(new, new_labels), new_labels, table(), earlier)
    # Half of what labels differ by is what anchored explanations explain.
    assert np.abs(coefficients(fits) - SLOPES / 2).max() < 0.01
    for fit in fits:
        # What released ones differ by from the prediction, their noise above all.
        assert fit.standard_errors == pytest.approx(np.full(N, 0.02), rel=0.6)


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


def test_fewer_proxies_than_coordinates_have_a_minimum_too() -> None:
    own, point = points(2), points(1, 9)[0]
    proxies = Proxies.of_released(history(own, curved(own), [200, -200]).released(0), table())
    for fit in (
        proxies.fit_labels(point, None),
        proxies.fit_labels(own[0], None),
        proxies.fit_interpolated(point, 0.3),
    ):
        assert np.linalg.norm(fit.coefficients) <= 1 + 1e-12
        assert np.all(np.isfinite(fit.coefficients))


def test_the_errors_of_an_interpolation_are_those_of_its_shares() -> None:
    """Noise of the claimed size in the history, 300 times; spreads are known to 4 %."""
    rng = np.random.default_rng(4)
    own, point = points(30), points(1, 7)[0]
    labels = [0] * 30
    spread, claimed = [], []
    for _ in range(300):
        phis = curved(own) + 0.05 * rng.standard_normal((30, N))
        proxies = Proxies.of_released(history(own, phis, labels, 0.05).released(0), table())
        fit = proxies.fit_interpolated(point, None)
        spread.append(fit.coefficients)
        claimed.append(fit.standard_errors)
    ratio = np.sqrt(np.mean(np.square(claimed)) / np.var(spread, axis=0).mean())
    # The choice of the nugget adds a little to the spread.
    assert 0.75 < ratio < 1.15


def test_outputs_have_their_own_history() -> None:
    own = points(10)
    both = History(
        (*history(own, curved(own), [0] * 10), *history(own, -curved(own), [0] * 10, output=1))
    )
    one = explain_from_history(asked(own[:3]), [0] * 3, table(), both)
    other = explain_from_history(asked(own[:3], output=1), [0] * 3, table(), both)
    assert np.sign(coefficients(one)) == pytest.approx(-np.sign(coefficients(other)))


def test_bins_are_points_like_any_other() -> None:
    rng = np.random.default_rng(0)
    own = rng.integers(1, 5, (30, N)).astype(np.uint16)
    labels = UNITS // 4 * (own == 2).sum(axis=1)
    phis = np.where(own == 2, 0.3, -0.1)
    fits = explain_from_history(asked(own[:5]), labels[:5], table(), history(own, phis, labels))
    assert np.all(np.isfinite(coefficients(fits)))
    assert np.linalg.norm(coefficients(fits), axis=1).max() <= 1 + 1e-12


def test_labels_count_as_distance_only_where_explanations_start_at_them() -> None:
    own = points(3)
    labels = np.array([0.0, 0.5, -1.0])
    plain = joint_distances(own, labels, own[0], None, 512.0)
    joint = joint_distances(own, labels, own[0], 0.0, 512.0)
    assert plain == pytest.approx(np.linalg.norm((own - own[0].astype(float)) / 512, axis=1))
    assert joint == pytest.approx(np.hypot(plain, np.abs(labels) / 2))


def test_the_check_ranks_predictors_by_what_they_get_right() -> None:
    own = points(80)
    labels = linear_labels(own)
    exact = history(own, np.tile(SLOPES, (80, 1)), labels)
    found = check_predictors(Proxies.of_released(exact.released(0), table()), is_anchored=False)
    assert found[Proxies.fit_interpolated].loss < 1e-12
    assert found[Proxies.fit_nearest].loss < 1e-12
    turned = check_predictors(
        Proxies.of_released(history(own, curved(own), labels).released(0), table()),
        is_anchored=False,
    )
    assert turned[Proxies.fit_interpolated].loss < turned[Proxies.fit_nearest].loss
    assert turned[Proxies.fit_interpolated].loss < turned[Proxies.fit_labels].loss
