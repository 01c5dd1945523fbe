"""Processes that are killed at every boundary go on where they were, and nothing is paid twice."""

import json
import signal
import subprocess
import sys
import time

import pytest

import interpret_dp as dp
from interpret_dp.exceptions import LedgerError, SitesError
from interpret_dp.sites import Coordinator, SigningKey, Site
from interpret_dp.sites.journal import Journal
from tests.ledger.requests import gaussian_events_json, reserve
from tests.sites.killed import NAMES, keys_of


def around(*acts):
    return [f"{moment} {act}" for act in acts for moment in ("before", "after")]


# In the order in which they come: a moment that is past kills nobody.
OF_SITE = [
    *around("token", "reserve", "sent 0", "answer 0", "sent 3", "answer 3"),
    *around("commit", "sent last", "answer last"),
]
OF_COORDINATOR = around("answer 0", "answer 3")


def write_keys(folder):
    keys = {name: SigningKey.generate().secret.hex() for name in NAMES}
    (folder / "keys.json").write_text(json.dumps(keys))


def run_all(folder, moments, seconds=240):
    """Run all processes until both sites are done; each is made anew after it was killed."""
    left = {name: list(moments.get(name, ())) for name in ("coordinator", *NAMES)}
    running, killed, end = {}, [], time.monotonic() + seconds

    def start(name):
        moment = left[name].pop(0) if left[name] else ""
        command = [sys.executable, "-m", "tests.sites.killed", str(folder), name, moment]
        running[name] = moment, subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    for name in left:
        start(name)
    try:
        while any(name in running for name in NAMES):
            for name, (moment, process) in list(running.items()):
                if process.poll() == -signal.SIGKILL:
                    killed.append((name, moment))
                    process.stderr.close()
                    start(name)
                elif process.poll() is not None:
                    assert process.returncode == 0, process.stderr.read()
                    process.stderr.close()
                    del running[name]
            assert time.monotonic() < end, (killed, list(running))
            time.sleep(0.02)
    finally:
        for _, process in running.values():
            process.kill()
            process.communicate()
    return killed


@pytest.mark.slow
def test_a_fit_survives_a_kill_at_every_boundary(tmp_path):
    write_keys(tmp_path)
    ledgers = [dp.PrivacyLedger(f"sqlite:///{tmp_path}/{name}.db") for name in NAMES]
    for ledger in ledgers:
        # Enough for one fit.
        ledger.create_budget("ward", epsilon=1.0, delta=1e-6)
    moments = {"north": OF_SITE, "coordinator": OF_COORDINATOR}
    killed = run_all(tmp_path, moments)
    assert sorted(killed) == sorted((name, m) for name in moments for m in moments[name])
    models = [dp.load_model(tmp_path / f"{name}.json") for name in NAMES]
    one, other = (json.dumps(model.released_.to_dict()["terms"]) for model in models)
    assert one == other
    spent = []
    for ledger in ledgers:
        assert [entry["kind"] for entry in ledger.entries()].count("reserve") == 1
        assert [entry["kind"] for entry in ledger.entries()].count("commit") == 1
        spent.append(ledger.spent("ward").mu)
    assert spent[0] == spent[1] > 0
    sent = {}
    for line in (tmp_path / "messages.txt").read_text().splitlines():
        site, number, _, payload = json.loads(line)
        sent.setdefault((site, number), set()).add(payload)
    # One message a round, however often it came: no mask hides two.
    assert len(sent) > 10
    assert all(len(payloads) == 1 for payloads in sent.values())


def a_site(folder, name="north"):
    keys = keys_of(folder)
    public = {name: key.public for name, key in keys.items()}
    transport = Coordinator(public, timeout=0.01)
    return Site(name, keys[name], public, transport, journal=folder / "own")


def secret_in(folder, secret):
    """Return the files that have a secret, those by which SQLite undoes a change too."""
    return [path.name for path in folder.glob("own*") if secret in path.read_bytes()]


OTHERS = {
    "dataset": "ward",
    "mu": 0.2,
    "protected": "patients",
    "event": gaussian_events_json([(0.05, 4)]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_was_reserved_before_a_crash_pays_for_the_same_request_alone(name):
    ledger = dp.PrivacyLedger.in_memory()
    first = reserve(ledger, token="a" * 32)
    assert reserve(ledger, token="a" * 32).hash == first.hash
    with pytest.raises(LedgerError, match="before a crash, with another data set, epsilon"):
        reserve(ledger, token="a" * 32, **{name: OTHERS[name]})
    assert ledger.spent("adult").mu == first.mu


def test_a_journal_serves_one_fit_and_one_process(tmp_path):
    write_keys(tmp_path)
    (tmp_path / "own").touch(0o644)
    site = a_site(tmp_path)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("own*")} == {0o600}
    with pytest.raises(SitesError, match=r"no other process uses"):
        a_site(tmp_path)
    # The second attempt, here, does not give up the lock.
    opening = f"from interpret_dp.sites.journal import Journal; Journal({str(tmp_path / 'own')!r})"
    other = subprocess.run([sys.executable, "-c", opening], capture_output=True, text=True)
    assert "no other process uses" in other.stderr
    with pytest.raises(SitesError, match="No message of round 0 came from 'south'"):
        site.open({"plan": "one"})
    site._journal.close()
    with pytest.raises(SitesError, match="is of another site"):
        a_site(tmp_path, "south")
    other = a_site(tmp_path)
    assert other.token == site.token
    secret = other._journal.get("secret")
    with pytest.raises(SitesError, match="The journal is of another fit, which differs in 'facts'"):
        other.open({"plan": "another"})
    assert secret_in(tmp_path, secret)
    other.stop()
    assert not secret_in(tmp_path, secret)
    other._journal.close()
    with pytest.raises(SitesError, match=r"was stopped\. A new attempt is a new fit"):
        a_site(tmp_path)
    (tmp_path / "text").write_text("no journal at all, but a text that is long enough" * 100)
    for path in (tmp_path / "text", tmp_path):
        with pytest.raises(SitesError, match="cannot be used"):
            Journal(path)
