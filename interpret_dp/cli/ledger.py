"""``interpret-dp ledger``: what was spent on which data set, budgets, and the log's integrity."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpret_dp.accounting.neighbourhood import RELATIONS
from interpret_dp.cli.console import (
    CommandError,
    add_command,
    left_text,
    positive_number,
    probability,
    say,
    say_items,
)
from interpret_dp.cli.fit import DEFAULT_LEDGER

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["add_to", "open_existing"]

_TO_THE_SECOND = len("2000-01-31T12:00:00")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the group ``ledger`` with ``report``, ``create`` and ``verify``."""
    group = add_command(
        commands,
        "ledger",
        summary="budgets, spending, and the integrity of the log",
        description="The ledger records every private release and refuses what a budget does not "
        "cover.",
    )
    parts = group.add_subparsers(metavar="COMMAND", title="commands", required=True)

    report = add_command(
        parts,
        "report",
        summary="what was spent, by whom, and what is left",
        description="Show budgets, spending and every request. Reading costs nothing.",
        example="interpret-dp ledger report --dataset adult",
    )
    report.add_argument("--dataset", metavar="NAME", help="one data set only")
    report.add_argument("--json", action="store_true", help="print a JSON document instead")
    report.set_defaults(run=_report)

    create = add_command(
        parts,
        "create",
        summary="declare what may ever be spent on a data set",
        description="Declare a budget. Everything that is ever released about the data set is "
        "together (epsilon, delta)-differentially private.",
        example="interpret-dp ledger create --dataset adult --epsilon 4 --delta 1e-6",
    )
    create.add_argument("--dataset", metavar="NAME", required=True, help="a name of your choice")
    create.add_argument("--epsilon", type=positive_number, required=True, help="of the whole")
    create.add_argument("--delta", type=probability, required=True, help="of the whole")
    create.add_argument(
        "--delta-x",
        type=probability,
        metavar="DELTA",
        help="the part of delta for fits that select undeclared levels or labels (default: none)",
    )
    create.add_argument(
        "--unit",
        metavar="COLUMN",
        help="the identifier of people; fits that protect anything else are refused (default: the "
        "first fit decides)",
    )
    create.add_argument(
        "--neighboring", choices=RELATIONS, help="the neighbouring relation, likewise"
    )
    create.set_defaults(run=_create)

    verify = add_command(
        parts,
        "verify",
        summary="check the log's hash chain",
        description="Check that no entry of the log was changed, removed or moved, and with --head "
        "that none was cut off.",
        example="interpret-dp ledger verify --head HASH",
    )
    verify.add_argument(
        "--head", metavar="HASH", help="a head that a guarantee or a report carries"
    )
    verify.set_defaults(run=_verify)

    for parser in (report, create, verify):
        parser.add_argument(
            "--ledger",
            metavar="URL",
            default=DEFAULT_LEDGER,
            help=f"which ledger (default: {DEFAULT_LEDGER}, in the working folder)",
        )


def open_existing(url: str) -> PrivacyLedger:
    """Open a ledger that is there: a new one would know nothing of what was spent.

    Raises
    ------
    CommandError
        If there is no such ledger.
    """
    from pathlib import Path

    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.ledger.store import resolve_url

    resolved = resolve_url(url)
    if resolved.drivername == "sqlite" and not Path(resolved.database or "").exists():
        raise CommandError(
            f"There is no ledger file {resolved.database!r}. Name another with --ledger, or start "
            "one with `interpret-dp ledger create`."
        )
    return PrivacyLedger(url)


def _create(arguments: argparse.Namespace) -> None:
    from interpret_dp.ledger import PrivacyLedger

    ledger = PrivacyLedger(arguments.ledger)
    budget = ledger.create_budget(
        arguments.dataset,
        arguments.epsilon,
        arguments.delta,
        delta_x=arguments.delta_x or 0.0,
        unit=arguments.unit,
        neighboring=arguments.neighboring,
    )
    say_items(
        [
            (
                "Budget",
                f"epsilon {budget.epsilon:g} at delta {budget.delta:g} declared for "
                f"{budget.dataset!r}"
                + (f", of which {budget.delta_x:g} for selections" if budget.delta_x else ""),
            ),
            *([("Protects", budget.protected)] if budget.protected else []),
            ("Ledger", ledger.display_url),
        ]
    )


def _verify(arguments: argparse.Namespace) -> None:
    ledger = open_existing(arguments.ledger)
    head = ledger.verify(arguments.head)
    checked = (
        "whole, and it holds the head that was given"
        if arguments.head
        else "whole as it stands. Entries cut off its end show only with --head"
    )
    say_items([("Log", checked), ("Head", head or "none: the log is empty")])


def _report(arguments: argparse.Namespace) -> None:
    document = open_existing(arguments.ledger).to_dict(arguments.dataset)
    if arguments.json:
        say(json.dumps(document, indent=2, allow_nan=False))
        return
    say_items([("Ledger", document["ledger"]), ("Head", document["head"] or "none")])
    for account in document["datasets"]:
        _say_account(account)
    if not document["datasets"]:
        say("No data set has a budget yet: interpret-dp ledger create")


def _say_account(account: Mapping[str, Any]) -> None:
    from interpret_dp._figures import ceil_text

    budget, spent = account["budget"], account["spent"]
    items = [("Data set", repr(account["dataset"]))]
    if account["protected"] is not None:
        items.append(("Protects", account["protected"]))
    if budget is None:
        items += [("Budget", account["limit"]), ("Spent", f"mu {ceil_text(spent['mu'])}")]
    else:
        at_delta = f"at delta {budget['delta']:g}"
        total = ceil_text(spent["epsilon"]) if spent["n_requests"] else "0"
        items += [
            ("Budget", f"epsilon {budget['epsilon']:g} {at_delta}"),
            ("Spent", f"epsilon {total} {at_delta} (mu {ceil_text(spent['mu'])})"),
            ("Left", left_text(account["remaining_epsilon"], budget["delta"])),
        ]
    if spent["open_reservations"]:
        items.append(
            (
                "Open",
                f"{spent['open_reservations']} of the requests run now or were left by a crash; "
                "all count as spent",
            )
        )
    say()
    say_items(items)
    if account["requests"]:
        say_table(
            ("time (UTC)", "who", "epsilon", "delta", "mu", "state"),
            [
                (
                    request["time"][:_TO_THE_SECOND],
                    request["explainer"],
                    f"{request['epsilon']:g}",
                    f"{request['epsilon_delta']:g}",
                    ceil_text(request["mu"]),
                    request["state"],
                )
                for request in account["requests"]
            ],
        )


def say_table(head: tuple[str, ...], body: list[tuple[str, ...]]) -> None:
    """Print rows of text in aligned columns."""
    widths = [max(map(len, cells)) for cells in zip(head, *body, strict=True)]
    for line in (head, *body):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        say(f"  {'  '.join(cells)}".rstrip())
