"""A site or the coordinator as a process that kills itself at a given moment.

``python -m tests.sites.killed FOLDER NAME MOMENT`` runs one; they talk through a socket in the
folder. A moment is ``before`` or ``after``, and an entry of the journal or an act of the ledger.
"""

import json
import os
import signal
import sys
import threading
from multiprocessing.connection import Client, Listener
from pathlib import Path

import interpret_dp as dp
from interpret_dp.datasets import make_cohort
from interpret_dp.sites import Coordinator, SigningKey, Site
from interpret_dp.sites.journal import Journal
from interpret_dp.sites.masks import packed, unpacked

NAMES = ("north", "south")


def keys_of(folder):
    """Return the sites' keys, which the test wrote."""
    stored = json.loads((folder / "keys.json").read_text())
    return {name: SigningKey(bytes.fromhex(secret)) for name, secret in stored.items()}


def dies(moment, name, act):
    """Run an act, and die just before it or after it if that is the moment."""
    if moment == f"before {name}":
        os.kill(os.getpid(), signal.SIGKILL)
    result = act()
    if moment == f"after {name}":
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def plant(moment):
    """Let the process die at a moment of a fit; entries that are known already are none."""
    once, reserve, commit = Journal.once, dp.PrivacyLedger.reserve, dp.PrivacyLedger.commit
    close, is_last = Site.close, threading.Event()

    def written(self, name, make):
        if self.get(name) is not None:
            return once(self, name, make)
        kind, _, number = name.partition(" ")
        place = f"{kind} last" if is_last.is_set() and number else name
        return dies(moment, place, lambda: once(self, name, make))

    def closed(self, *given):
        is_last.set()
        return close(self, *given)

    Journal.once, Site.close = written, closed
    dp.PrivacyLedger.reserve = lambda *a, **k: dies(moment, "reserve", lambda: reserve(*a, **k))
    dp.PrivacyLedger.commit = lambda *a, **k: dies(moment, "commit", lambda: commit(*a, **k))


class Socket:
    """A transport that connects for each message."""

    def __init__(self, address):
        self.address = address

    def exchange(self, header, payload):
        try:
            with Client(self.address) as line:
                line.send_bytes(packed(header, payload))
                return line.recv_bytes()
        except EOFError as error:
            raise ConnectionError from error


def coordinate(folder, participants):
    """Serve until the process is killed; note what came."""
    coordinator = Coordinator(participants, journal=folder / "coordinator.journal")
    (folder / "socket").unlink(missing_ok=True)

    def answer(line):
        with line:
            header, payload = unpacked(line.recv_bytes())
            note = [header["site"], header["round"], header["kind"], payload.hex()]
            with (folder / "messages.txt").open("a") as file:
                file.write(json.dumps(note) + "\n")
            line.send_bytes(coordinator.exchange(header, payload))

    with Listener(str(folder / "socket")) as door:
        while True:
            threading.Thread(target=answer, args=(door.accept(),), daemon=True).start()


def fit(folder, name, participants):
    """Fit this site's half of the cohort, and keep the model."""
    cohort = make_cohort(400)
    own = slice(NAMES.index(name), None, len(NAMES))
    journal = folder / f"{name}.journal"
    address = str(folder / "socket")
    site = Site(name, keys_of(folder)[name], participants, Socket(address), journal=journal)
    ledger = dp.PrivacyLedger(f"sqlite:///{folder}/{name}.db")
    account = {"schema": cohort.schema, "ledger": ledger, "dataset": "ward"}
    model = dp.DPExplainableBoostingClassifier(max_rounds=4, epsilon=1.0, delta=1e-6, **account)
    model.fit(cohort.X[own], cohort.y[own], site=site).save(folder / f"{name}.json")


if __name__ == "__main__":
    place, own_name = Path(sys.argv[1]), sys.argv[2]
    plant(sys.argv[3])
    public = {site: key.public for site, key in keys_of(place).items()}
    if own_name == "coordinator":
        coordinate(place, public)
    else:
        fit(place, own_name, public)
