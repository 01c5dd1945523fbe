"""What every test shares: Hypothesis' profile, the simulated cohort, the benchmark tables."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Machines of continuous integration are shared, so a slow example is no failure of the code.
# The same examples at every run on a build machine, where a new one would stop an unrelated change.
settings.register_profile("default", deadline=None, print_blob=True, derandomize="CI" in os.environ)
# For the inner loop: `make test-fast`.
settings.register_profile("fast", settings.get_profile("default"), max_examples=15)
settings.load_profile("default")


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what was imported: a million objects that stay."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def cohort() -> Any:
    """Return the simulated classification cohort with 4,000 rows; treat it as read-only."""
    from interpret_dp.datasets import make_cohort

    return make_cohort(4_000, seed=11)


@pytest.fixture(scope="session")
def cost_cohort() -> Any:
    """Return the simulated regression cohort with 4,000 rows; treat it as read-only."""
    from interpret_dp.datasets import make_cohort

    return make_cohort(4_000, seed=11, task="regression")


@pytest.fixture
def benchmark_table() -> Callable[[str], tuple[Any, Any]]:
    """Return a loader of benchmark tables that skips where their files are not at hand."""
    from interpret_dp.datasets import DATA_VARIABLE, load_benchmark

    def load(name: str) -> tuple[Any, Any]:
        folder = os.environ.get(DATA_VARIABLE, "")
        if not folder or not (Path(folder) / f"{name}.parquet").is_file():
            pytest.skip(f"{name}.parquet is not in the folder that {DATA_VARIABLE} names")
        return load_benchmark(name)

    return load
