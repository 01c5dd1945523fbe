"""``interpret-dp ledger``: what was spent on which data set, budgets, reports and the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from interpret_dp._figures import ceil_text, left_for_selections, selections_text
from interpret_dp.accounting.neighbourhood import RELATIONS
from interpret_dp.cli import console

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["group", "one_dataset_option"]


@click.group("ledger", cls=console.Group, no_args_is_help=False)
def group() -> None:
    """Budgets, spending, approvals, and the integrity of the log.

    The ledger records every private release and refuses what a budget does not cover.
    """


one_dataset_option = click.option("--dataset", metavar="NAME", help="one data set only")


@console.command("ledger show --dataset adult", group)
@one_dataset_option
@console.existing_ledger
def show(ledger: PrivacyLedger, dataset: str | None) -> None:
    """Show what was spent, by whom, and what is left.

    Shown are budgets, spending and every request. Reading costs nothing.
    """
    document = ledger.to_dict(dataset)
    roles = ledger.roles()
    console.say_item("Ledger", document["ledger"])
    console.say_item("Head", document["head"] or "none")
    if roles.officers:
        spenders = (
            "everybody may spend"
            if roles.anybody_spends
            else f"beside them may spend: {', '.join(roles.analysts) or 'nobody'}"
        )
        console.say_item("Officers", f"{', '.join(roles.officers)}; {spenders}")
    for account in document["datasets"]:
        console.say()
        _say_account(account)
        if account["requests"]:
            _say_requests(account["requests"])
    if not document["datasets"]:
        console.say("No data set has a budget yet: interpret-dp ledger create")


@console.command("ledger create --dataset adult --epsilon 4 --delta 1e-6", group)
@console.dataset_option("a name of your choice")
@click.option("--epsilon", type=console.POSITIVE, required=True, help="of the whole")
@click.option("--delta", type=console.PROBABILITY, required=True, help="of the whole")
@click.option(
    "--delta-x",
    type=console.PROBABILITY_OR_ZERO,
    metavar="DELTA",
    help="the part of delta for fits that select undeclared levels or labels (default: a tenth of "
    "it)",
)
@click.option(
    "--unit",
    metavar="COLUMN",
    help="the identifier of people; fits that protect anything else are refused (default: the "
    "first fit decides)",
)
@click.option(
    "--neighboring", type=click.Choice(RELATIONS), help="the neighbouring relation, likewise"
)
@click.option(
    "--expires",
    metavar="DATE",
    help="the last day (UTC) on which it may be spent, until it is renewed (default: no end)",
)
@console.purpose_option
@console.ledger_option()
def create(ledger: str, dataset: str, epsilon: float, delta: float, **details: Any) -> None:
    """Declare what may ever be spent on a data set.

    Everything that is ever released about the data set is together (epsilon, delta)-differentially
    private.
    """
    from interpret_dp.ledger.core.names import moment_text

    opened = console.open_to_spend(ledger)
    verb = "declared" if opened.budget(dataset) is None else "was declared before"
    budget = opened.create_budget(dataset, epsilon, delta, **details)
    console.say_item(
        "Budget",
        f"epsilon {budget.epsilon:g} at delta {budget.delta:g} {verb} for {budget.dataset!r}"
        f"{selections_text(budget.delta_x)}",
    )
    if budget.protected:
        console.say_item("Protects", budget.protected)
    if budget.expires:
        console.say_item("Expires", moment_text(budget.expires))
    console.say_item("Ledger", opened.display_url)


@console.command("ledger verify --head HASH", group)
@click.option("--head", metavar="HASH", help="a head that a guarantee or a report carries")
@click.option(
    "--file",
    type=console.INPUT_FILE,
    help="check an archive that `interpret-dp ledger export` wrote, instead of a ledger",
)
@console.ledger_option()
def verify(ledger: str, head: str | None, file: str | None) -> None:
    """Check the log's hash chain.

    It shows that no entry of the log was changed, removed or moved, and with --head that none was
    cut off.
    """
    if file is None:
        entry_head = console.open_existing(ledger).verify(head)
    else:
        from interpret_dp.ledger import verify_archive

        entry_head = verify_archive(file, head)
    checked = (
        "whole, and it holds the head that was given"
        if head
        else "whole as it stands. Entries cut off its end show only with --head"
    )
    console.say_item("Log", checked)
    console.say_item("Head", entry_head or "none: the log is empty")


@console.command("ledger report --html report.html --json report.json", group)
@click.option("--html", type=console.OUTPUT_FILE, help="write the page")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="write a JSON document; - prints it instead",
)
@one_dataset_option
@click.option("--head", metavar="HASH", help="a head that was kept: the log must still hold it")
@console.ledger_option()
def report(
    ledger: str, html: str | None, json_file: str | None, dataset: str | None, head: str | None
) -> None:
    """Write a privacy officer's report, as a page and as JSON.

    It has budgets, spending by class, user and over time, approvals, all entries and the result of
    the log's check. The page is one file that needs no network. Reading costs nothing.
    """
    if html is None and json_file is None:
        raise console.CommandError(
            "Give --html FILE, --json FILE or both. `interpret-dp ledger show` prints to the "
            "terminal."
        )
    document = console.open_existing(ledger).oversight(dataset, head=head)
    written = []
    if html is not None:
        from interpret_dp.explanation.pages.ledger import render_ledger_page

        with console.pending_file(html, overwrite=True, option="--html") as pending:
            pending.write_text(render_ledger_page(document), encoding="utf-8")
        written.append(html)
    if json_file is not None:
        text = json.dumps(document, indent=2, allow_nan=False)
        if json_file == "-":
            console.say(text)
        else:
            with console.pending_file(json_file, overwrite=True, option="--json") as pending:
                pending.write_text(f"{text}\n", encoding="utf-8")
            written.append(json_file)
    if written:
        console.say_item("Written", " and ".join(written))
    if not document["verification"]["whole"]:
        raise console.FailedError(
            f"The log failed its check; the report says so. {document['verification']['problem']}"
        )


@console.command("ledger export --out privacy-2030.jsonl", group)
@click.option(
    "--out",
    type=console.OUTPUT_FILE,
    required=True,
    help="ends in .jsonl (a document a line) or .csv",
)
@console.overwrite_option
@console.existing_ledger
def export(ledger: PrivacyLedger, out: str, overwrite: bool) -> None:
    """Write all entries of the log for an archive.

    `interpret-dp ledger verify --file` checks the chain of the file without the ledger.
    """
    from interpret_dp.ledger import verify_archive

    with console.pending_file(out, overwrite=overwrite) as pending:
        head = verify_archive(ledger.export(pending))
    console.say_item("Written", out)
    console.say_item("Head", head or "none: the log is empty")
    console.say_item("Next", f"interpret-dp ledger verify --file {out} --head {head or 'HASH'}")


def _say_account(account: Mapping[str, Any]) -> None:
    from interpret_dp.ledger.core.names import moment_text

    budget, spent = account["budget"], account["spent"]
    console.say_item("Data set", " = ".join(map(repr, account["names"])))
    if account["protected"] is not None:
        console.say_item("Protects", account["protected"])
    if budget is None:
        console.say_item("Budget", account["limit"])
        console.say_item("Spent", f"mu {ceil_text(spent['mu'])}")
    else:
        at_delta = f"at delta {budget['delta']:g}"
        limit = f"epsilon {budget['epsilon']:g} {at_delta}"
        total = ceil_text(spent["epsilon"]) if spent["n_requests"] else "0"
        console.say_item("Budget", limit + selections_text(budget["delta_x"]))
        console.say_item("Spent", f"epsilon {total} {at_delta} (mu {ceil_text(spent['mu'])})")
        if spent["ever"]["mu"] > spent["mu"]:
            ever = f"mu {ceil_text(spent['ever']['mu'])}"
            console.say_item(
                "Ever", f"{ever}, with what was spent on the people before the renewal for new ones"
            )
        left = account["remaining_epsilon"]
        console.say_item(
            "Left",
            "nothing: the budget has expired. An officer renews it: interpret-dp ledger renew"
            if budget["expired"]
            else console.left_text(left, budget["delta"])
            + left_for_selections(left, budget["delta_x"], spent["delta"]),
        )
        if budget["expires"]:
            console.say_item("Expires", moment_text(budget["expires"]))
    if account["approval_above"] is not None:
        above = account["approval_above"]
        which = f"requests above epsilon {above:g}" if above else "all requests"
        console.say_item("Approval", f"{which} need an officer's: interpret-dp ledger approvals")
    if spent["open_reservations"]:
        console.say_item(
            "Open",
            f"{spent['open_reservations']} of the requests run now or were left by a crash; all "
            "count as spent",
        )


def _say_requests(requests: list[dict[str, Any]]) -> None:
    console.say_table(
        ("date (UTC)", "class", "user", "epsilon", "delta", "mu", "state", "purpose"),
        [
            (
                request["time"],
                request["explainer"],
                request["user"] or "unknown",
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
