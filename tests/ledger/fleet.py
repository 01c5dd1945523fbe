"""Many processes that charge one budget while some of them are killed, and what must hold then.

``python -m tests.ledger.fleet`` runs one fleet and prints a JSON document; `run_fleet` starts it in
a process of its own, since only a process without threads may be forked safely.
"""

import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from interpret_dp import BudgetExceededError, PrivacyLedger
from tests.ledger.requests import reserve
from tests.processes import output_of

DATASET = "ward"
PHASES = ("reserve", "reserve commit", "between", "commit", "commit commit")
_LOCK_SECONDS = 300.0


@dataclass(frozen=True)
class Fleet:
    """What to run.

    Attributes
    ----------
    url : str
        Of a ledger that is not there yet.
    folder : str
        For journals.
    workers, charges : int
        Processes, and requests of each.
    capacity : int
        How many requests the budget admits.
    kill_share : float
        Share of the requests whose process is killed.
    seed : int
        Of who is killed when.
    """

    url: str
    folder: str
    workers: int
    charges: int
    capacity: int
    kill_share: float = 0.0
    seed: int = 0


def run_fleet(fleet, timeout=1200.0):
    """Run a fleet in a process of its own; return what it measured."""
    Path(fleet.folder).mkdir(parents=True, exist_ok=True)
    words = ("-m", "tests.ledger.fleet", json.dumps(asdict(fleet)))
    return dict(json.loads(output_of(*words, timeout=timeout, OMP_NUM_THREADS="1")))


class _Worker:
    """One process: reserves and commits, and writes down what the ledger told it.

    A line of the journal is written before the process can be killed for what it says next, and
    outlives the process.
    """

    def __init__(self, fleet, name, to_killer, mu):
        self._fleet = fleet
        self._random = random.Random(f"{fleet.seed} {name}")
        self._to_killer = to_killer
        self._mu = mu
        self._phase = ""
        self._act = ""
        path = Path(fleet.folder) / f"{name}.journal"
        self._journal = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._ledger = PrivacyLedger(fleet.url, timeout=_LOCK_SECONDS)
        from sqlalchemy import event

        event.listen(self._ledger._opened()._engine, "commit", self._on_commit)

    def _note(self, *words):
        os.write(self._journal, (" ".join(map(str, words)) + "\n").encode())

    def _on_commit(self, connection):
        self._risk(f"{self._act} commit")

    def _risk(self, phase):
        """Ask to be killed, if this is the phase that was drawn for the request."""
        if phase == self._phase:
            self._phase = ""
            os.write(self._to_killer, f"{os.getpid()} {phase}\n".encode())
            if phase == "between":
                signal.pause()

    def charge(self):
        """Make one request."""
        killed = self._random.random() < self._fleet.kill_share
        self._phase = self._random.choice(PHASES) if killed else ""
        started = time.perf_counter()
        self._act = "reserve"
        self._risk("reserve")
        try:
            reservation = reserve(self._ledger, DATASET, mu=self._mu)
        except BudgetExceededError:
            self._note("refused")
            return
        reserved = time.perf_counter()
        self._note("reserved", reservation.number, reservation.hash)
        self._act = "commit"
        self._risk("between")
        self._risk("commit")
        before = time.perf_counter()
        head = self._ledger.commit(reservation)
        self._note("committed", reservation.number, head)
        self._note("took", reserved - started, time.perf_counter() - before)


def _work(fleet, name, count, to_killer, mu):
    code = 1
    try:
        worker = _Worker(fleet, name, to_killer, mu)
        for _ in range(count):
            worker.charge()
            worker._note("done")
        code = 0
    except BaseException as error:
        os.write(2, f"{name}: {error!r}\n".encode())
    finally:
        os._exit(code)


def _main(fleet):
    ledger = PrivacyLedger(fleet.url)
    budget = ledger.create_budget(DATASET, 4.0, 1e-6)
    mu = budget.mu / fleet.capacity**0.5 * (1 - 1e-10)
    draw = random.Random(fleet.seed)
    from_workers, to_killer = os.pipe()
    running = {}
    kills = Counter()
    started = time.perf_counter()

    def launch(slot, generation):
        """Start, or replace, the process of a slot for what is left of its requests."""
        done = sum(
            path.read_text().splitlines().count("done")
            for path in Path(fleet.folder).glob(f"worker-{slot}-*.journal")
        )
        # A request whose process was killed was made, and is not made again.
        left = fleet.charges - done - generation
        if left > 0:
            name = f"worker-{slot}-{generation}"
            pid = os.fork()
            if pid == 0:
                _work(fleet, name, left, to_killer, mu)
            running[pid] = (slot, name)

    for slot in range(fleet.workers):
        launch(slot, 0)
    while running:
        if select.select([from_workers], [], [], 0.02)[0]:
            for line in os.read(from_workers, 65536).decode().splitlines():
                pid, _, phase = line.partition(" ")
                # Long enough to hit any moment of a transaction.
                time.sleep(draw.choice((0.0, 0.001, 0.003, 0.01)) * draw.random())
                if int(pid) in running:
                    os.kill(int(pid), signal.SIGKILL)
                    kills[phase] += 1
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                slot, name = running.pop(pid)
                if os.WIFSIGNALED(status):
                    launch(slot, int(name.rpartition("-")[2]) + 1)
                else:
                    assert os.waitstatus_to_exitcode(status) == 0, f"{name} failed"
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "kills": dict(kills), **check(fleet)}


def check(fleet):
    """Compare the ledger with the journals of all processes, and say what was measured.

    Raises
    ------
    AssertionError
        If anything was overspent, lost, counted twice or left in a state that is not the design's.
    """
    lines = [
        line.split()
        for path in sorted(Path(fleet.folder).glob("*.journal"))
        for line in path.read_text().splitlines()
    ]
    told = {
        act: {int(line[1]): line[2] for line in lines if line[0] == act}
        for act in ("reserved", "committed")
    }
    ledger = PrivacyLedger(fleet.url, timeout=_LOCK_SECONDS)
    head = ledger.verify()
    assert head == ledger.head
    entries = ledger.entries(DATASET)
    budget = ledger.budget(DATASET)
    assert budget is not None
    reserved = {e["number"]: e["hash"] for e in entries if e["kind"] == "reserve"}
    closings = [e["reservation"] for e in entries if e["kind"] == "commit"]
    committed = {e["reservation"]: e["hash"] for e in entries if e["kind"] == "commit"}

    # Nothing that a process was told is lost, and nothing is there twice.
    assert told["reserved"].items() <= reserved.items()
    assert told["committed"].items() <= committed.items()
    assert len(closings) == len(committed) <= len(reserved)

    # Never overspent, in exact arithmetic, open reservations counted.
    spent = ledger.spent(DATASET)
    squares = sum(Fraction(e["mu"]) ** 2 for e in entries if e["kind"] == "reserve")
    assert squares <= Fraction(budget.mu) ** 2
    assert spent.n_requests == len(reserved) <= fleet.capacity
    assert spent.epsilon is not None
    assert spent.epsilon <= budget.epsilon
    refused = sum(line[0] == "refused" for line in lines)
    # Nor is anything refused that fits: a place is taken by a request or by nobody.
    assert refused == 0 or len(reserved) == fleet.capacity

    # What is open was left by a killed process.
    silent = reserved.keys() - told["reserved"].keys()
    unheard = committed.keys() - told["committed"].keys()
    still_open = reserved.keys() - committed.keys()
    assert spent.open_reservations == len(still_open)
    times = [(float(line[1]), float(line[2])) for line in lines if line[0] == "took"]
    return {
        "requests": len(reserved),
        "committed": len(committed),
        "open": len(still_open),
        "refused": refused,
        "reserved_but_not_told": len(silent),
        "committed_but_not_told": len(unheard),
        "entries": len(entries),
        "reserve_ms": percentiles([1e3 * first for first, _ in times]),
        "commit_ms": percentiles([1e3 * second for _, second in times]),
    }


def percentiles(values):
    """Return the median, the 95th percentile and the largest of some values."""
    shares = {"median": 0.5, "p95": 0.95, "largest": 1.0}
    ordered = sorted(values)
    return {name: ordered[int(share * (len(values) - 1))] for name, share in shares.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_main(Fleet(**json.loads(sys.argv[1])))))
