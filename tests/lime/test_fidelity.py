"""What follows from released sums: figures, their standard errors, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.lime.fidelity import FidelitySums, fidelity_of


@pytest.mark.statistical
def test_the_claimed_standard_errors_are_those_of_repeated_releases() -> None:
    """400 draws of the noise: a standard deviation is known to 3.5 %; level 1e-6 (5 s.e.).

    A standard error that is wrong by a third is found with a probability above 0.999.
    """
    rng = np.random.default_rng(0)
    exact, noise = np.array([2300.0, 6000.0, 1500.0, 300.0]), np.array([60.0, 120.0, 60.0, 30.0])
    draws = [
        fidelity_of(
            [FidelitySums(exact + noise * rng.normal(size=4), noise, 30_000, 0.3)], [0], 2.0, ["it"]
        )
        for _ in range(400)
    ]
    figures = pd.concat([one.table for one in draws])
    claimed = pd.concat([one.standard_errors for one in draws]).mean()
    truth = {"rmse": 0.2, "mean_absolute_error": 0.1, "r2": 0.85}
    for name, value in truth.items():
        assert claimed[name] == pytest.approx(figures[name].std(), rel=0.18), name
        assert abs(figures[name].mean() - value) < 5 * claimed[name] / 20 + 0.002, name


@given(st.lists(st.floats(-1e5, 1e5), min_size=4, max_size=4), st.floats(0, 1e5))
def test_figures_of_any_sums_are_possible_ones(sums: list[float], n_rows: float) -> None:
    noise = np.array([200.0, 400.0, 200.0, 100.0])
    released = FidelitySums(np.array(sums), noise, n_rows, 0.5)
    found = fidelity_of([released], [0], 1.0, ["output"])
    rmse, mean, share = found.table.iloc[0]
    assert 0 <= mean <= rmse + 1e-12 <= 1 + 2e-12
    assert np.isnan(share) or share <= 1
    assert np.isnan(found.standard_errors["r2"].iloc[0]) == np.isnan(share)
    assert (found.standard_errors.iloc[0][["rmse", "mean_absolute_error"]] > 0).all()
    assert found.sentence(0) in str(found)
    assert found._repr_html_()
