"""How many charges a second a ledger takes, alone and shared, and what kills leave behind.

``python -m benchmarks.ledger`` measures files and a PostgreSQL server that it starts for itself,
both with writes to the disk before a commit returns, and writes ``benchmarks/results/ledger.md``.
A charge is a reservation and its commit.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import write_page
from interpret_dp.ledger import PrivacyLedger
from tests.ledger.fleet import Fleet, run_fleet
from tests.ledger.postgres_server import PostgresServer, running_server, why_not
from tests.ledger.requests import reserve

_RESULTS = Path(__file__).parent / "results" / "ledger.md"
_STORES = ("file", "server")
_ALONE = 2_000
_WINDOW = 100


class Stores:
    """Makes ledgers that are not there yet."""

    def __init__(self, folder: Path, server: PostgresServer | None) -> None:
        self._folder = folder
        self._server = server

    def url(self, store: str, name: str) -> str:
        """Return the URL of a new ledger."""
        if store == "file":
            return f"sqlite:///{self._folder / name}.db"
        assert self._server is not None
        return self._server.url(self._server.new_database())

    def folder(self, name: str) -> str:
        """Return a folder for journals."""
        return str(self._folder / name)


@contextlib.contextmanager
def stores() -> Iterator[Stores]:
    """Start a server, and make a folder for files on the same disk."""
    reason = why_not()
    if reason is not None:
        sys.exit(reason)
    with (
        tempfile.TemporaryDirectory(prefix="idp-ledger-") as folder,
        running_server(durable=True) as server,
    ):
        yield Stores(Path(folder), server)


def alone(url: str, charges: int) -> list[float]:
    """Return the milliseconds of each charge of one process, with a look at what is left."""
    ledger = PrivacyLedger(url)
    ledger.create_budget("ward", 4.0, 1e-6)
    times = []
    for _ in range(charges):
        started = time.perf_counter()
        ledger.remaining("ward")
        ledger.commit(reserve(ledger, "ward", mu=0.001))
        times.append(1e3 * (time.perf_counter() - started))
    return times


def alone_lines(made: Stores, charges: int) -> list[str]:
    """Return the table of one process: how the length of the log matters."""
    lines = [
        f"| store | first {_WINDOW} charges, ms each | last {_WINDOW} of {charges}, ms each |",
        "|---|---|---|",
    ]
    for store in _STORES:
        times = alone(made.url(store, "alone"), charges)
        ends = (statistics.median(part) for part in (times[:_WINDOW], times[-_WINDOW:]))
        _say(lines, "| {} | {:.1f} | {:.1f} |".format(store, *ends))
    return lines


def fleet_lines(made: Stores, workers: int, charges: int, kill_share: float) -> list[str]:
    """Return the table of many processes that charge one budget."""
    lines = [
        "| store | kills | admitted | refused | left open | seconds | charges/s | reserve, ms: "
        "median / 95 % / largest | commit, ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for store in _STORES:
        for share in (0.0, kill_share):
            name = f"fleet-{share}"
            # With kills there are more requests than the budget admits, so that its limit is met.
            capacity = workers * charges if share == 0 else 5 * workers * charges // 8
            fleet = Fleet(
                made.url(store, name),
                made.folder(f"{name}-{store}"),
                workers,
                charges,
                capacity,
                kill_share=share,
                seed=11,
            )
            found = run_fleet(fleet)
            _say(
                lines,
                f"| {store} | {sum(found['kills'].values())} | {found['requests']} | "
                f"{found['refused']} | {found['open']} | {found['seconds']:.0f} | "
                f"{found['committed'] / found['seconds']:.0f} | "
                f"{_three(found['reserve_ms'])} | {_three(found['commit_ms'])} |",
            )
    return lines


def _say(lines: list[str], line: str) -> None:
    """Add a line to a table, and show at once that something was measured."""
    lines.append(line)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _three(values: dict[str, Any]) -> str:
    return " / ".join(f"{values[name]:.0f}" for name in ("median", "p95", "largest"))


def main() -> None:
    """Run the studies and write the page of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--charges", type=int, default=100)
    parser.add_argument("--alone", type=int, default=_ALONE)
    parser.add_argument("--kill-share", type=float, default=0.1)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    arguments = parser.parse_args()
    with stores() as made:
        lines = [
            "# The ledger: charges a second",
            "",
            f"`python -m benchmarks.ledger`; Python {platform.python_version()}, "
            f"{platform.machine()}. A charge is a reservation and its commit; "
            "both stores write to the disk before a commit returns.",
            "",
            f"## One process, {arguments.alone} charges, each with a look at what is left",
            "",
            *alone_lines(made, arguments.alone),
            "",
            f"## {arguments.workers} processes of {arguments.charges} requests each, one budget",
            "",
            *fleet_lines(made, arguments.workers, arguments.charges, arguments.kill_share),
        ]
    write_page(arguments.out, "\n".join(lines))


if __name__ == "__main__":
    main()
