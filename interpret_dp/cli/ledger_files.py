"""``interpret-dp ledger``: the officer's report as a page and as JSON, and archives of the log."""

from __future__ import annotations

import argparse
import json

from interpret_dp.cli.console import (
    FailedError,
    add_command,
    add_ledger_option,
    open_existing,
    say,
    say_items,
)

__all__ = ["add_to"]


def add_to(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands."""
    report = add_command(
        parts,
        "report",
        summary="write a privacy officer's report, as a page and as JSON",
        description="Write budgets, spending by class, user and over time, approvals, all entries "
        "and the result of the log's check. The page is one file that needs no network. Reading "
        "costs nothing.",
        example="interpret-dp ledger report --html report.html --json report.json",
    )
    report.add_argument("--html", metavar="FILE", help="write the page")
    report.add_argument("--json", metavar="FILE", help="write a JSON document; - prints it instead")
    report.add_argument("--dataset", metavar="NAME", help="one data set only")
    report.add_argument(
        "--head", metavar="HASH", help="a head that was kept: the log must still hold it"
    )
    add_ledger_option(report)
    report.set_defaults(run=_report, usage_error=report.error)

    export = add_command(
        parts,
        "export",
        summary="write all entries of the log for an archive",
        description="Write the whole log to a file, from which `interpret-dp ledger verify --file` "
        "checks its chain without the ledger.",
        example="interpret-dp ledger export --out privacy-2030.jsonl",
    )
    export.add_argument(
        "--out", metavar="FILE", required=True, help="ends in .jsonl (a document a line) or .csv"
    )
    export.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    add_ledger_option(export)
    export.set_defaults(run=_export)


def _report(arguments: argparse.Namespace) -> None:
    from interpret_dp.cli.outputs import pending_file

    if arguments.html is None and arguments.json is None:
        arguments.usage_error(
            "give --html FILE, --json FILE or both; `interpret-dp ledger show` prints to the "
            "terminal"
        )
    ledger = open_existing(arguments.ledger)
    document = ledger.oversight(arguments.dataset, head=arguments.head)
    written = []
    if arguments.html is not None:
        from interpret_dp.explanation.ledger_page import render_ledger_page

        with pending_file(arguments.html, overwrite=True, option="--html") as pending:
            pending.write_text(render_ledger_page(document), encoding="utf-8")
        written.append(arguments.html)
    if arguments.json is not None:
        text = json.dumps(document, indent=2, allow_nan=False)
        if arguments.json == "-":
            say(text)
        else:
            with pending_file(arguments.json, overwrite=True, option="--json") as pending:
                pending.write_text(f"{text}\n", encoding="utf-8")
            written.append(arguments.json)
    if written:
        say_items([("Written", " and ".join(written))])
    if not document["verification"]["whole"]:
        raise FailedError(
            f"The log failed its check; the report says so. {document['verification']['problem']}"
        )


def _export(arguments: argparse.Namespace) -> None:
    from interpret_dp.cli.outputs import pending_file
    from interpret_dp.ledger import verify_archive

    ledger = open_existing(arguments.ledger)
    with pending_file(arguments.out, overwrite=arguments.overwrite) as pending:
        head = verify_archive(ledger.export(pending))
    say_items(
        [
            ("Written", arguments.out),
            ("Head", f"{head or 'none: the log is empty'}"),
            ("Next", f"interpret-dp ledger verify --file {arguments.out} --head {head or 'HASH'}"),
        ]
    )
