"""Fits on a cluster of real processes: a worker that is killed, a scheduler that is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from interpret_dp import BackendError, DPExplainableBoostingClassifier, PrivacyLedger
from tests.backends.test_dask import CASES, NAMES, ROWS, cut, released

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.filterwarnings("ignore:random_state:interpret_dp.PrivacyWarning"),
    # Sockets of processes that were killed are closed by the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


TABLE = pd.concat([ROWS] * 4)


def fit(rows, **more):
    """Fit the rows of people, of whom at most three each are used."""
    schema = CASES["people"][1]["schema"]
    settings = {"schema": schema, "max_rounds": 6, "random_state": 1, "n_jobs": 1}
    model = DPExplainableBoostingClassifier(**(settings | more))
    return model.fit(rows[[*NAMES, "person"]], rows["yes"])


@pytest.fixture(scope="module")
def client():
    """Start two workers, each a process with a nanny that starts it again."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.mark.thorough
def test_real_workers_give_the_result_of_one_process(client):
    assert released(fit(cut(TABLE, [900, 1_800]))) == released(fit(TABLE))


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(client, monkeypatch):
    from interpret_dp.backends.dask.rows import DaskRows

    expected = released(fit(TABLE))
    real = DaskRows._ask
    asked = []
    killed = []

    def ask(self, name, *arguments):
        asked.append(name)
        if asked.count("advance") in (4, 8) and name == "advance":
            holders = client.has_what()
            # Which of the two does not matter; one that holds rows.
            address = max(holders, key=lambda worker: len(holders[worker]))
            pid = client.run(os.getpid, workers=[address])[address]
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        return real(self, name, *arguments)

    monkeypatch.setattr(DaskRows, "_ask", ask)
    assert released(fit(cut(TABLE, [700, 1_400, 2_100]))) == expected
    assert len(set(killed)) == 2


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0",
                      silence_logs=50) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.mark.slow
def test_a_lost_scheduler_is_an_error_of_our_own_and_charged(tmp_path, monkeypatch):
    from interpret_dp.backends.dask.rows import DaskRows

    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    address = process.stdout.readline().strip()
    real = DaskRows._ask
    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("d", epsilon=5.0, delta=1e-4)
    asked = []

    def ask(self, name, *arguments):
        asked.append(name)
        if asked.count("advance") == 3:
            os.killpg(process.pid, signal.SIGKILL)
        return real(self, name, *arguments)

    monkeypatch.setattr(DaskRows, "_ask", ask)
    try:
        with (
            distributed.Client(address, timeout=20),
            pytest.raises(BackendError, match=r"scheduler was lost.*charged in full") as caught,
        ):
            fit(cut(TABLE, [1_400]), ledger=ledger, dataset="d", random_state=None)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            pipe.close()
    assert caught.value.__context__ is None
    assert ledger.report("d")["asked_epsilon"].tolist() == [1.0]
    assert ledger.spent("d").mu > 0.0
