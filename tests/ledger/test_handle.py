"""One ledger stays one ledger through copies, pickles, threads, forks and changed folders."""

import copy
import os
import pickle

import pytest

from interpret_dp import LedgerError, PrivacyLedger
from tests.ledger.requests import budgeted, reserve
from tests.processes import output_of


@pytest.fixture
def ledger(tmp_path):
    return budgeted("adult", 1.0, 1e-6, url=f"sqlite:///{tmp_path}/ledger #1 %41.db")


def test_what_spending_is_for_is_said_once_and_copies_keep_it(ledger):
    memory = budgeted("adult", 1.0, 1e-6)
    for one in (ledger, memory):
        audit = one.for_purpose("quarterly audit")
        assert copy.copy(audit) is copy.deepcopy({"ledger": audit})["ledger"] is audit
        again = pickle.loads(pickle.dumps(audit))
        assert (again, again.purpose) == (one, "quarterly audit")
        reserve(again)
        assert one.entries()[-1]["purpose"] == "quarterly audit"
    for purpose in ("", " a", "a\nb"):
        with pytest.raises(ValueError, match="purpose is"):
            memory.for_purpose(purpose)
    with pytest.raises(TypeError, match="purpose is None"):
        memory.for_purpose(None)


def test_repr_shows_no_password(ledger):
    assert repr(ledger) == f"PrivacyLedger({ledger.url!r})"
    assert repr(PrivacyLedger.in_memory()) == "PrivacyLedger.in_memory()"
    there = PrivacyLedger.existing("postgresql://me:secret@host/db")
    assert there == PrivacyLedger.existing("postgresql+psycopg://me@host/db")
    for shown in (repr(there), there.url, there.display_url, repr(pickle.dumps(there))):
        assert "me@host/db" in shown
        assert "secret" not in shown


def test_no_new_file_takes_the_place_of_one_that_is_gone(ledger, tmp_path):
    loaded = pickle.loads(pickle.dumps(ledger))
    assert loaded.spent("adult") == ledger.spent("adult")
    later = pickle.loads(pickle.dumps(ledger))
    (file,) = tmp_path.iterdir()
    file.unlink()
    for known in (ledger, loaded, later):
        for act in (known.verify, lambda known=known: known.create_budget("ward", 1.0, 1e-6)):
            with pytest.raises(LedgerError, match=f"{file.name}' is gone. Put it back"):
                act()
    assert "cannot be read now" in later._repr_html_()
    assert not file.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_an_in_memory_ledger_refuses_a_fork():
    code = (
        "import os\n"
        "from interpret_dp.exceptions import LedgerError\n"
        "from interpret_dp.ledger import default_ledger\n"
        "from tests.ledger.requests import reserve\n"
        "ledger = default_ledger()\n"
        "reserve(ledger)\n"
        "if os.fork():\n"
        "    os.wait(); print('parent', ledger.datasets(), flush=True)\n"
        "else:\n"
        "    try: ledger.datasets()\n"
        "    except LedgerError as error: print('child', error, flush=True)\n"
        "    print('its own', default_ledger().datasets(), flush=True)\n"
        "    os._exit(0)\n"
    )
    output = output_of("-W", "ignore", "-c", code)
    assert "child This in-memory ledger belongs to another process" in output
    assert "its own []" in output
    assert "parent ['adult']" in output
