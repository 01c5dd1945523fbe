"""Features that all maps share: their centre's cost and worth, and that it changes no model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp import Categorical, Continuous, PrivacyLedger, Schema
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import replay
from interpret_dp.llm import features
from interpret_dp.llm.config import default_settings
from interpret_dp.llm.features import released_frame
from interpret_dp.llm.integers import exact_rows
from tests.llm.tables import classifier

SCHEMA = Schema(default=Continuous(0, 255), target=Categorical([0, 1]))


class Door:
    """Gives sums with seeded noise at some mu, and keeps what it was told."""

    def __init__(self, mu: float) -> None:
        self._mu = mu
        self.row_norm = 0

    def gaussian(
        self, name: str, exact: np.ndarray, *, row_norm: int, aligned: bool
    ) -> tuple[np.ndarray, float]:
        self.row_norm = row_norm
        sigma = row_norm / self._mu
        noise = np.random.default_rng(0).normal(size=exact.shape) * sigma
        return exact + np.rint(noise).astype(np.int64), sigma


def pictures(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return images of a bright spot at the left or at the right, on a common background."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    images = 100 + rng.normal(0, 8, size=(n_rows, 6, 6))
    for label, columns in ((0, slice(0, 2)), (1, slice(4, 6))):
        images[y == label, 2:4, columns] += 15
    return images, y


@given(scale=st.sampled_from([0.0, 1e-6, 0.3, 1.0, 1.7, 1e6, 1e30]), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_row_of_any_size_adds_at_most_what_is_accounted(scale: float, seed: int) -> None:
    rows = torch.tensor(
        scale * np.random.default_rng(seed).normal(size=(1, 7)), dtype=torch.float32
    )
    added = features._lattice_sums(rows, bound=1.0).astype(np.float64)
    door: Any = Door(1.0)
    released_frame(rows, None, 7, door)
    assert np.linalg.norm(added) <= door.row_norm
    assert door.row_norm <= 3**0.5 * LATTICE + 1
    assert added[-1] == LATTICE


# In the estimator


@pytest.mark.thorough
def test_images_pay_for_their_centre_and_learn_more_by_it() -> None:
    X, y = pictures(3_000)
    fresh = pictures(1_000, seed=1)
    ledger = PrivacyLedger.in_memory()
    given = {"schema": SCHEMA, "epsilon": 1.0, "epochs": 10}
    centred = classifier(**given, ledger=ledger, dataset="d").fit(X, y)
    names = [share.name for share in centred.guarantee_.releases]
    assert names == ["mean of the inputs", "gradients"]
    pair = centred.guarantee_.pair
    assert pair is not None
    assert pair.epsilon_at(1e-5) <= 1.0
    assert ledger.spent("d").mu == pytest.approx(pair.mu, rel=1e-9)
    plain = classifier(**given, centring=0).fit(X, y)
    assert [share.name for share in plain.guarantee_.releases] == ["gradients"]
    assert centred.score(*fresh) > plain.score(*fresh) + 0.02
    assert centred.settings_ == default_settings_of(centred)


def default_settings_of(model: Any) -> Any:
    import dataclasses

    return dataclasses.replace(default_settings(36, (6, 6)), n_maps=3, epochs=10.0)


@pytest.mark.parametrize("parameters", [{}, {"projection_dim": 0}])
def test_neighbours_of_images_differ_only_where_they_are_charged(
    parameters: dict[str, Any],
) -> None:
    """Frozen noise: the centre, and every step after it, moves by at most its sensitivity."""
    X, y = pictures(200)
    more = np.concatenate([X, np.full((1, 6, 6), 255.0)]), np.append(y, 1)

    def fit(table: tuple[Any, Any]) -> Any:
        return classifier(schema=SCHEMA, sampling_rate=0.5, **parameters).fit(*table)

    def published(model: Any) -> dict[str, Any]:
        return {"weights": model.model_.weights, "biases": model.model_.biases}

    for table, neighbour in (((X, y), more), (more, (X, y))):
        report = replay(fit, table, neighbour, published=published)
        assert not report.violations
        assert len(report.releases) == 5
        assert report.worst_ratio > 0.01


def test_random_projections_are_not_centred() -> None:
    X, y = pictures(100)
    model = classifier(schema=SCHEMA, projection="gaussian", projection_dim=5).fit(X, y)
    assert model.settings_.centring == 0
    assert [share.name for share in model.guarantee_.releases] == ["gradients"]
    with pytest.raises(ValueError, match=r"each map has a random projection"):
        classifier(schema=SCHEMA, projection="gaussian", centring=0.01).fit(X, y)
    with pytest.raises(ValueError, match="projection is 'cosine', and rows are no images"):
        classifier(projection="cosine").fit(np.zeros((10, 4)), np.repeat("low", 10))


@pytest.mark.parametrize("n_rows", [2, 100, 129, 1023])
def test_a_projected_row_is_the_same_bits_in_any_company(n_rows: int) -> None:
    draws = np.random.default_rng(n_rows)
    rows = torch.from_numpy(draws.standard_normal((n_rows, 784)).astype(np.float32))
    matrix = torch.from_numpy(draws.standard_normal((784, 100)))
    whole = exact_rows(rows, matrix)
    assert whole.numpy() == pytest.approx((rows.to(torch.float64) @ matrix).numpy(), abs=1e-3)
    for left_out in {0, n_rows // 2, n_rows - 1}:
        others = [row for row in range(n_rows) if row != left_out]
        assert torch.equal(exact_rows(rows[others], matrix), whole[others])
    # Sums of integers, as Python's own
    one, wide = rows[0].to(torch.float64), matrix[:, 0]
    step, unit = float(one.abs().max()) / 2**21, float(matrix.abs().max()) / 2**21
    exact = sum(
        int(number) * int(other)
        for number, other in zip((one / step).round(), (wide / unit).round(), strict=True)
    )
    assert float(whole[0, 0]) == exact * (step * unit)
