"""The stores that the ledger's tests run on: files, and databases of a PostgreSQL server."""

import os
import re
from pathlib import Path

import pytest

from interpret_dp.ledger import PrivacyLedger
from tests.ledger.postgres_server import locked, shared_server, why_not

PAGE = Path(__file__).parents[2] / "docs" / "ledger_team.md"
STORES = ["file", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """Return the folder that all workers of the run have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def postgres_server(run_folder):
    """Return the one server of the run."""
    reason = why_not()
    if reason is not None:
        # Where all that is merged is tested, a test that does not run must not pass for one.
        (pytest.fail if "CI" in os.environ else pytest.skip)(reason)
    return shared_server(run_folder)


@pytest.fixture
def postgres_url(postgres_server):
    """Return the URL of an empty database."""
    return postgres_server.url(postgres_server.new_database())


@pytest.fixture
def path(tmp_path):
    """Return where a ledger's file is to be."""
    return tmp_path / "privacy.db"


def url_of(request, path):
    """Return the URL of a file, or of an empty database if the parameter says so."""
    is_file = request.param == "file"
    return f"sqlite:///{path}" if is_file else str(request.getfixturevalue("postgres_url"))


@pytest.fixture(params=STORES)
def store_url(request, path):
    """Return the URL of a ledger that is not there yet, on each kind of store."""
    return url_of(request, path)


@pytest.fixture
def stored_ledger(store_url):
    """Return an empty ledger that outlives the process, on each kind of store."""
    return PrivacyLedger(store_url)


@pytest.fixture
def ledger(any_ledger):
    """Return an empty ledger, on each kind of store."""
    return any_ledger


@pytest.fixture(params=[*STORES, "memory"])
def any_ledger(request, path):
    """Return the same, beside a file's own ``ledger``."""
    if request.param == "memory":
        return PrivacyLedger.in_memory()
    return PrivacyLedger(url_of(request, path))


@pytest.fixture
def login(postgres_server, postgres_url, run_folder):
    """Return URLs of the database by login, after the owner followed the page.

    Roles are those of the whole server: one worker at a time.
    """
    PrivacyLedger(postgres_url).create_budget("ward", 3.0, 1e-6)
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (rules,) = (block for block in blocks if "CREATE POLICY" in block)
    database = postgres_url.rpartition("/")[2]
    with locked(run_folder, "roles"):
        postgres_server.execute(
            "DROP ROLE IF EXISTS ben, anna, analysts, officers",
            "CREATE ROLE analysts",
            "CREATE ROLE officers",
            "CREATE ROLE ben LOGIN PASSWORD 'pw' IN ROLE analysts",
            "CREATE ROLE anna LOGIN PASSWORD 'pw' IN ROLE officers",
            *rules.split(";"),
            database=database,
        )
        yield lambda user: postgres_server.url(database, user=user, password="pw")
        roles = "analysts, officers, ben, anna"
        postgres_server.execute(f"DROP OWNED BY {roles}", f"DROP ROLE {roles}", database=database)
