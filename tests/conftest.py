"""What tests share: Hypothesis' profile, the browser, the cohort, the benchmark tables."""

import gc
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser.shared import _browser_context, browser, browser_page

__all__ = ["_browser_context", "browser", "browser_page"]

# Set by `make fuzz`: other examples and other noise, repeatable by the same seed.
SEED_VARIABLE = "INTERPRET_DP_TEST_SEED"

# Machines are shared, so a slow example is no failure of the code. Every run has the same examples,
# unless `make fuzz` gives a seed.
settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    max_examples=100 if SEED_VARIABLE in os.environ else 50,
    derandomize=SEED_VARIABLE not in os.environ,
    database=None,
)
# For the inner loop: `make test-fast`.
settings.register_profile("fast", settings.get_profile("default"), max_examples=15)
settings.load_profile("default")

# Tests write no autosave files; those of such files choose folders of their own.
os.environ["INTERPRET_DP_AUTOSAVE"] = "off"

# Of whole fits, replays or further processes in nearly every test: three quarters of the minutes.
_LENGTHY = (
    *("audit", "cli", "contract"),
    *("backends/test_dask.py", "backends/test_local.py"),
    "benchmarks/test_rules.py",
    "docs/test_migration.py",
    "ebm/noise/test_denoising.py",
    *("ebm/test_estimators.py", "ebm/test_memory.py"),
    "ebm/test_wide_terms.py",
    "evaluation/test_private_metrics.py",
    *("fitting/test_declaring.py", "fitting/test_weights_and_scores.py"),
    "ledger/test_team_sequences.py",
    *("llm/test_adversary.py", "llm/test_gradients.py"),
    *("ui/dash/app/test_cards.py", "ui/dash/editor/test_callbacks.py"),
    "ui/notebook/test_editor.py",
)
_TESTS = Path(__file__).parent


# First: `-m` chooses by what is marked then.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what the inner loop leaves out, but for what was asked for by its path."""
    asked = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    folders = [_TESTS / name for name in _LENGTHY]
    if gone := [str(folder) for folder in folders if not folder.exists()]:
        raise pytest.UsageError(f"_LENGTHY of tests/conftest.py names {gone}, which are not there.")
    lengthy = [f for f in folders if not any(path.is_relative_to(f) for path in asked)]
    files = {item.path for item in items}
    marked = {path for path in files if any(path.is_relative_to(f) for f in lengthy)}
    for item in items:
        if item.path in marked:
            item.add_marker("lengthy")
    if hasattr(config, "workerinput"):
        from tests.scheduling import longest_first

        items[:] = longest_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out tests by the groups of tests/scheduling.py, wherever files are asked for."""
    from tests.scheduling import scheduler

    return scheduler(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Draw the same noise in every run, but for tests of the samplers."""
    from tests.repeatable import drawn_alike, named_after

    is_alike = not item.path.is_relative_to(_TESTS / "mechanisms")
    with drawn_alike() if is_alike else nullcontext(), named_after(item.nodeid):
        return (yield)


class _DrawsOfFixtures:
    """A plugin of its own: hooks of a conftest do not see fixtures of the session."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """Give a fixture draws of its own, whichever test needs it first."""
        from tests.repeatable import named_after

        of_parameter = getattr(request, "param_index", 0)
        with named_after(f"{request.node.nodeid} {fixturedef.argname} {of_parameter}"):
            return (yield)


def pytest_configure(config):
    """Register the plugin above."""
    config.pluginmanager.register(_DrawsOfFixtures())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Give a test draws of its own, however many fixtures it is the first to need."""
    from tests.repeatable import named_after

    with named_after(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Spare the collector of garbage what is imported: a million objects that stay.

    Later it runs more seldom, which saves a twelfth of the processor's time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 10, 10)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Remove the PostgreSQL server that the workers of this run shared."""
    if not hasattr(session.config, "workerinput"):
        from tests.ledger.postgres_server import remove_shared_server

        remove_shared_server(session.config._tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def cohort():
    """Return the simulated classification cohort with 4,000 rows; treat it as read-only."""
    from interpret_dp.datasets import make_cohort

    return make_cohort(4_000, seed=11)


@pytest.fixture(scope="session")
def cost_cohort():
    """Return the simulated regression cohort with 4,000 rows; treat it as read-only."""
    from interpret_dp.datasets import make_cohort

    return make_cohort(4_000, seed=11, task="regression")


@pytest.fixture
def benchmark_table():
    """Return a loader of benchmark tables that skips where their files are not at hand."""
    from benchmarks.tables import DATA_VARIABLE, load_benchmark

    def load(name):
        folder = os.environ.get(DATA_VARIABLE, "")
        if not folder or not (Path(folder) / f"{name}.parquet").is_file():
            pytest.skip(f"{name}.parquet is not in the folder that {DATA_VARIABLE} names")
        return load_benchmark(name)

    return load
