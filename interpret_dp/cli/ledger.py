"""``interpret-dp ledger``: what was spent on which data set, budgets, and the log's integrity."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpret_dp.accounting.neighbourhood import RELATIONS
from interpret_dp.cli import ledger_acts, ledger_approvals, ledger_files
from interpret_dp.cli.console import (
    add_command,
    add_ledger_option,
    left_text,
    open_existing,
    positive_number,
    probability,
    probability_or_zero,
    say,
    say_items,
    say_table,
)
from interpret_dp.cli.user_folder import open_to_spend

if TYPE_CHECKING:
    from interpret_dp.ledger import Roles

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the group ``ledger`` with its commands."""
    group = add_command(
        commands,
        "ledger",
        summary="budgets, spending, approvals, and the integrity of the log",
        description="The ledger records every private release and refuses what a budget does not "
        "cover.",
    )
    parts = group.add_subparsers(metavar="COMMAND", title="commands", required=True)
    _add_show(parts)
    _add_create(parts)
    _add_verify(parts)
    for module in (ledger_acts, ledger_approvals, ledger_files):
        module.add_to(parts)


def _add_show(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = add_command(
        parts,
        "show",
        summary="what was spent, by whom, and what is left",
        description="Show budgets, spending and every request. Reading costs nothing.",
        example="interpret-dp ledger show --dataset adult",
    )
    show.add_argument("--dataset", metavar="NAME", help="one data set only")
    add_ledger_option(show)
    show.set_defaults(run=_show)


def _add_create(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
        type=probability_or_zero,
        metavar="DELTA",
        help="the part of delta for fits that select undeclared levels or labels (default: a "
        "tenth of it)",
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
    create.add_argument(
        "--expires",
        metavar="DATE",
        help="the last day (UTC) on which it may be spent, until it is renewed (default: no end)",
    )
    create.add_argument("--purpose", metavar="TEXT", default="", help="what it is for")
    add_ledger_option(create)
    create.set_defaults(run=_create)


def _add_verify(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    verify.add_argument(
        "--file",
        metavar="FILE",
        help="check an archive that `interpret-dp ledger export` wrote, instead of a ledger",
    )
    add_ledger_option(verify)
    verify.set_defaults(run=_verify)


def _create(arguments: argparse.Namespace) -> None:
    from interpret_dp._figures import selections_text
    from interpret_dp.ledger.core.clock import moment_text

    ledger = open_to_spend(arguments.ledger)
    verb = "declared" if ledger.budget(arguments.dataset) is None else "was declared before"
    budget = ledger.create_budget(
        arguments.dataset,
        arguments.epsilon,
        arguments.delta,
        delta_x=arguments.delta_x,
        purpose=arguments.purpose,
        unit=arguments.unit,
        neighboring=arguments.neighboring,
        expires=arguments.expires,
    )
    say_items(
        [
            (
                "Budget",
                f"epsilon {budget.epsilon:g} at delta {budget.delta:g} {verb} for "
                f"{budget.dataset!r}" + selections_text(budget.delta_x),
            ),
            *([("Protects", budget.protected)] if budget.protected else []),
            *([("Expires", moment_text(budget.expires))] if budget.expires else []),
            ("Ledger", ledger.display_url),
        ]
    )


def _verify(arguments: argparse.Namespace) -> None:
    if arguments.file is None:
        head = open_existing(arguments.ledger).verify(arguments.head)
    else:
        from interpret_dp.ledger import verify_archive

        head = verify_archive(arguments.file, arguments.head)
    checked = (
        "whole, and it holds the head that was given"
        if arguments.head
        else "whole as it stands. Entries cut off its end show only with --head"
    )
    say_items([("Log", checked), ("Head", head or "none: the log is empty")])


def _show(arguments: argparse.Namespace) -> None:
    ledger = open_existing(arguments.ledger)
    document = ledger.to_dict(arguments.dataset)
    roles = _roles_items(ledger.roles())
    say_items([("Ledger", document["ledger"]), ("Head", document["head"] or "none"), *roles])
    for account in document["datasets"]:
        _say_account(account)
    if not document["datasets"]:
        say("No data set has a budget yet: interpret-dp ledger create")


def _roles_items(roles: Roles) -> list[tuple[str, str]]:
    if not roles.officers:
        return []
    spenders = (
        "everybody may spend"
        if roles.anybody_spends
        else f"beside them may spend: {', '.join(roles.analysts) or 'nobody'}"
    )
    return [("Officers", f"{', '.join(roles.officers)}; {spenders}")]


def _say_account(account: Mapping[str, Any]) -> None:
    say()
    say_items(_account_items(account))
    if account["requests"]:
        _say_requests(account)


def _account_items(account: Mapping[str, Any]) -> list[tuple[str, str]]:
    from interpret_dp._figures import ceil_text, left_for_selections, selections_text
    from interpret_dp.ledger.core.clock import moment_text

    budget, spent = account["budget"], account["spent"]
    items = [("Data set", " = ".join(map(repr, account["names"])))]
    if account["protected"] is not None:
        items.append(("Protects", account["protected"]))
    if budget is None:
        items += [("Budget", account["limit"]), ("Spent", f"mu {ceil_text(spent['mu'])}")]
    else:
        at_delta = f"at delta {budget['delta']:g}"
        total = ceil_text(spent["epsilon"]) if spent["n_requests"] else "0"
        items += [
            (
                "Budget",
                f"epsilon {budget['epsilon']:g} {at_delta}{selections_text(budget['delta_x'])}",
            ),
            ("Spent", f"epsilon {total} {at_delta} (mu {ceil_text(spent['mu'])})"),
        ]
        if spent["ever"]["mu"] > spent["mu"]:
            items.append(
                ("Ever", f"mu {ceil_text(spent['ever']['mu'])}, with what was spent on the people "
                 "before the renewal for new ones")
            )  # fmt: skip
        left = left_text(account["remaining_epsilon"], budget["delta"])
        left += left_for_selections(account["remaining_epsilon"], budget["delta_x"], spent["delta"])
        if budget["expired"]:
            left = (
                "nothing: the budget has expired. An officer renews it: interpret-dp ledger renew"
            )
        items.append(("Left", left))
        if budget["expires"]:
            items.append(("Expires", moment_text(budget["expires"])))
    if account["approval_above"] is not None:
        above = account["approval_above"]
        which = f"requests above epsilon {above:g}" if above else "all requests"
        items.append(("Approval", f"{which} need an officer's: interpret-dp ledger approvals"))
    if spent["open_reservations"]:
        items.append(
            (
                "Open",
                f"{spent['open_reservations']} of the requests run now or were left by a crash; "
                "all count as spent",
            )
        )
    return items


def _say_requests(account: Mapping[str, Any]) -> None:
    from interpret_dp._figures import ceil_text

    requests = account["requests"]
    say_table(
        ("date (UTC)", "class", "user", "epsilon", "delta", "mu", "state", "purpose"),
        [
            (
                request["time"],
                request["explainer"],
                request["user"] or "not told",
                f"{request['epsilon']:g}",
                f"{request['epsilon_delta']:g}",
                ceil_text(request["mu"]),
                request["state"],
                # Words of users must not steer a terminal.
                request["purpose"]
                if request["purpose"].isprintable()
                else repr(request["purpose"]),
            )
            for request in requests
        ],
    )
