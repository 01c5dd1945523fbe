"""``interpret-dp ledger``: budgets, spending, reports and the log, decisions and approvals."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from interpret_dp._validate import ceil_text, left_for_selections, selections_text
from interpret_dp.accounting.lattice import RELATIONS
from interpret_dp.cli import console

if TYPE_CHECKING:
    from interpret_dp.ledger import Approval, PrivacyLedger


@click.group("ledger", cls=console.Group, no_args_is_help=False)
def group() -> None:
    """Budgets, spending, approvals, and the integrity of the log.

    The ledger records every private release and refuses what a budget does not cover.
    """


_one_dataset_option = click.option("--dataset", metavar="NAME", help="one data set only")
_number_argument = click.argument("number", type=console.COUNT)


def _delta_x_option(text: str) -> console.Decorator:
    return click.option("--delta-x", type=console.PROBABILITY_OR_ZERO, metavar="DELTA", help=text)


def _expires_option(text: str) -> console.Decorator:
    return click.option("--expires", metavar="DATE", help=text)


def _reason_option(*, required: bool) -> console.Decorator:
    # click takes a default, even an empty one, for what was given.
    default = None if required else ""
    return click.option(
        "--reason", default=default, required=required, help="why; it stays in the log"
    )


@console.command("ledger show --dataset adult", group)
@_one_dataset_option
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
            else f"others who may spend: {', '.join(roles.analysts) or 'nobody'}"
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
@_delta_x_option(
    "the part of delta for fits that select undeclared levels or labels (default: a tenth of it)"
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
@_expires_option(
    "the last day (UTC) on which it may be spent, until it is renewed (default: no end)"
)
@console.purpose_option
@console.ledger_option()
def create(ledger: str, dataset: str, epsilon: float, delta: float, **details: Any) -> None:
    """Declare what may ever be spent on a data set.

    Everything that is ever released about the data set is together (epsilon, delta)-differentially
    private.
    """
    from interpret_dp.ledger.chain import moment_text

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
        "intact, and it holds the given head"
        if head
        else "intact as it stands. Only --head shows entries cut off its end"
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
@_one_dataset_option
@click.option("--head", metavar="HASH", help="a head that was kept: the log must still hold it")
@console.ledger_option()
@console.overwrite_option
def report(
    ledger: str,
    html: str | None,
    json_file: str | None,
    dataset: str | None,
    head: str | None,
    overwrite: bool,
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
    text = json.dumps(document, indent=2, allow_nan=False)
    files = {"--html": html, "--json": None if json_file == "-" else json_file}
    written = [path for path in files.values() if path is not None]
    # Both are claimed before either is written.
    with contextlib.ExitStack() as claimed:
        pending = {
            option: claimed.enter_context(
                console.pending_file(path, overwrite=overwrite, option=option)
            )
            for option, path in files.items()
            if path is not None
        }
        if "--html" in pending:
            from interpret_dp.explanation.pages import render_ledger_page

            pending["--html"].write_text(render_ledger_page(document), encoding="utf-8")
        if "--json" in pending:
            pending["--json"].write_text(f"{text}\n", encoding="utf-8")
    if json_file == "-":
        console.say(text)
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
    from interpret_dp.ledger.chain import moment_text

    budget, spent = account["budget"], account["spent"]
    console.say_item("Data set", " = ".join(map(repr, account["names"])))
    console.say_item("Promise", account["guarantee_sentence"] or account["guarantee_state"])
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
                "Ever", f"{ever}, including spending before the renewal for new people"
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
        console.say_item(
            "Approval", f"an officer must approve {which}: interpret-dp ledger approvals"
        )
    if spent["open_reservations"]:
        console.say_item(
            "Open",
            f"{spent['open_reservations']} of the requests run now or were left by a crash; all "
            "count as spent",
        )


def _say_requests(requests: list[dict[str, Any]]) -> None:
    console.say_table(
        ("date (UTC)", "class", "user", "epsilon", "delta", "mu", "state", "promise", "purpose"),
        [
            (
                request["time"],
                request["explainer"],
                request["user"] or "unknown",
                f"{request['epsilon']:g}",
                f"{request['epsilon_delta']:g}",
                ceil_text(request["mu"]),
                request["state"],
                request["guarantee_state"],
                # Words of users must not steer a terminal.
                request["purpose"]
                if request["purpose"].isprintable()
                else repr(request["purpose"]),
            )
            for request in requests
        ],
    )


# ----------------------------------------------------------------------------- officers' decisions


@console.command(
    "ledger raise --dataset adult --epsilon 6 --delta 1e-6 \\\n      --reason 'board, 3 May'",
    group,
    "raise",
)
@console.dataset_option("whose budget")
@click.option("--epsilon", type=console.POSITIVE, required=True, help="the new total")
@click.option("--delta", type=console.PROBABILITY, required=True, help="the new total")
@_delta_x_option("the new part of delta for selections (default: as before)")
@_reason_option(required=True)
@console.existing_ledger
def raise_budget(
    ledger: PrivacyLedger, dataset: str, epsilon: float, delta: float, **details: Any
) -> None:
    """Replace a budget by a larger one.

    This is a logged act of an officer. What was spent stays spent.
    """
    budget = ledger.raise_budget(dataset, epsilon, delta, **details)
    words = f"epsilon {budget.epsilon:g} at delta {budget.delta:g} for {budget.dataset!r} now"
    console.say_item("Budget", f"{words}{selections_text(budget.delta_x)}")


@console.command(
    "ledger unit --dataset adult --unit patient_id --at-most 12 \\\n"
    "      --reason 'one visit a month, one year'",
    group,
)
@console.dataset_option("whose account")
@click.option("--unit", metavar="COLUMN", required=True, help="the identifier of people")
@click.option(
    "--at-most",
    type=console.COUNT,
    help="the most rows that one of them had in any earlier fit, by public facts; earlier charges "
    "are multiplied by it (default: unknown, so that earlier promises do not hold)",
)
@click.option("--accept-overspent", is_flag=True, help="even if more than the budget is spent then")
@_reason_option(required=True)
@console.existing_ledger
def unit(ledger: PrivacyLedger, dataset: str, **details: Any) -> None:
    """Let an account protect people after fits that protected rows by mistake.

    This is a logged act of an officer. It cannot be undone.
    """
    ledger.change_unit(dataset, **details)
    _say_account(ledger.to_dict(dataset)["datasets"][0])


@console.command(
    "ledger renew --dataset adult --expires 2030-12-31 \\\n      --reason 'board, 3 May'", group
)
@console.dataset_option("whose budget")
@_expires_option("the new last day, in UTC (default: no end)")
@click.option(
    "--new-people",
    metavar="WORDS",
    default="",
    help="only if nobody who was in the data is in them any more: why that is certain. Then "
    "earlier spending does not count against the budget; reports still show it. A new data set "
    "name is the better choice",
)
@_reason_option(required=True)
@console.existing_ledger
def renew(ledger: PrivacyLedger, dataset: str, **details: Any) -> None:
    """Give a budget a new end.

    This is a logged act of an officer. It moves the end, not the limit: past spending counts.
    """
    from interpret_dp.ledger.chain import moment_text

    budget = ledger.renew_budget(dataset, **details)
    spent = ledger.spent(dataset)
    end = moment_text(budget.expires) if budget.expires else "no end"
    counted = f"mu {ceil_text(spent.mu)} counts against it"
    console.say_item("Renewed", f"the budget of {budget.dataset!r}; its end: {end}")
    console.say_item("Spent", f"{counted}, of mu {ceil_text(spent.ever.mu)} that was ever spent")


@console.command("ledger link --dataset adult-copy --to adult --reason 'same people'", group)
@console.dataset_option("the name that joins; it may be new")
@click.option("--to", metavar="NAME", required=True, help="the name whose budget holds for both")
@click.option(
    "--accept-overspent",
    is_flag=True,
    help="link them even if they have spent more than that budget together",
)
@_reason_option(required=True)
@console.existing_ledger
def link(ledger: PrivacyLedger, dataset: str, to: str, **details: Any) -> None:
    """Let two names for the same people share one budget.

    This is a logged act of an officer. Spending on either counts for both from then on, and so does
    what was spent before. It cannot be undone.
    """
    budget = ledger.link(dataset, to=to, **details)
    spent = ceil_text(ledger.spent(to).mu)
    console.say_item("Linked", f"{dataset!r} shares the budget of {budget.dataset!r}")
    console.say_item("Spent", f"mu {spent} of at most {budget.mu:.4g} on both together")


@console.command(
    "ledger require-approval --dataset adult --above 0.5 \\\n      --reason 'board, 3 May'", group
)
@console.dataset_option("whose requests")
@click.option(
    "--above",
    type=console.POSITIVE,
    metavar="EPSILON",
    help="only requests of more than this, at the budget's delta (default: all)",
)
@click.option("--never", is_flag=True, help="end the rule")
@_reason_option(required=True)
@console.existing_ledger
def require_approval(
    ledger: PrivacyLedger, dataset: str, above: float | None, never: bool, reason: str
) -> None:
    """Let an officer decide on requests before they are made.

    This is a logged act of an officer.
    """
    if never and above is not None:
        raise console.CommandError("--never ends the rule, and --above sets one. Give one of them.")
    ledger.require_approval(dataset, above=None if never else above or 0.0, reason=reason)
    if never:
        words = f"requests on {dataset!r} need no approval"
    elif above:
        words = f"an officer must approve requests on {dataset!r} above epsilon {above:g}"
    else:
        words = f"an officer must approve all requests on {dataset!r}"
    console.say_item("Approval", words)


@console.command("ledger appoint anna officer --reason 'board, 3 May'", group)
@click.argument("user")
@click.argument("role", type=click.Choice(("officer", "analyst")))
@_reason_option(required=False)
@console.existing_ledger
def appoint(ledger: PrivacyLedger, user: str, role: str, reason: str) -> None:
    """Make a user an officer or an analyst.

    USER is the name of a user account. Once there is an officer, only officers decide on budgets;
    once there is an analyst, only analysts and officers spend. An SQLite file shows who did what
    but stops nobody who may write it.
    """
    ledger.appoint(user, role, reason=reason)
    console.say_item("Appointed", f"{user!r} is {role} now")


@console.command("ledger dismiss anna --reason 'left'", group)
@click.argument("user")
@_reason_option(required=False)
@console.existing_ledger
def dismiss(ledger: PrivacyLedger, user: str, reason: str) -> None:
    """Take a user's role away.

    USER is the name of a user account.
    """
    ledger.dismiss(user, reason=reason)
    console.say_item("Dismissed", f"{user!r} has no role any more")


# --------------------------------------------------------------------------------------- approvals


@console.command(
    "ledger request --dataset adult --epsilon 1 --delta 1e-6 \\\n      --purpose 'quarterly audit'",
    group,
)
@console.dataset_option("to be charged")
@click.option("--epsilon", type=console.POSITIVE, required=True, help="at most")
@click.option("--delta", type=console.PROBABILITY, required=True, help="at most")
@click.option("--purpose", default="", help="what for, as the fit will say it")
@click.option(
    "--explainer", metavar="CLASS", default="", help="which class will spend (default: any)"
)
@click.option("--user", help="who will spend (default: you)")
@console.existing_ledger
def request(
    ledger: PrivacyLedger, dataset: str, epsilon: float, delta: float, **details: Any
) -> None:
    """Ask the officers whether something may be spent.

    Asks in advance for an approval. A fit without approval asks by itself.
    """
    approval = ledger.request_approval(dataset, epsilon, delta, **details)
    console.say_item(
        "Asked", f"{_words(approval)}. It waits as request for approval {approval.number}"
    )
    console.say_item("Next", f"an officer: interpret-dp ledger approve {approval.number}")


@console.command("ledger approvals --waiting", group)
@_one_dataset_option
@click.option("--waiting", is_flag=True, help="only those without an answer")
@console.existing_ledger
def approvals(ledger: PrivacyLedger, dataset: str | None, waiting: bool) -> None:
    """Show requests for approval, and what became of them."""
    listed = [
        approval
        for approval in ledger.approvals(dataset)
        if approval.status == "waiting" or not waiting
    ]
    if not listed:
        console.say("There are no requests for approval" + (" that wait." if waiting else "."))
        return
    console.say_table(
        ("number", "date (UTC)", "data set", "user", "epsilon", "delta", "status", "by", "purpose"),
        [
            (
                str(approval.number),
                approval.time,
                approval.dataset,
                approval.user,
                f"{approval.epsilon:.4g}",
                f"{approval.delta:g}",
                approval.status,
                approval.decided_by,
                approval.purpose,
            )
            for approval in listed
        ],
    )


@console.command("ledger approve 17", group)
@_number_argument
@_expires_option("the last day, in UTC, on which it holds (default: 30 days from now)")
@click.option(
    "--uses",
    type=console.COUNT,
    metavar="N",
    default=1,
    show_default=True,
    help="how many requests it covers, each of that cost",
)
@_reason_option(required=False)
@console.existing_ledger
def approve(ledger: PrivacyLedger, number: int, **details: Any) -> None:
    """Approve a request.

    NUMBER is that of the request for approval. This is a logged act of an officer, bound to data
    set, user, purpose, class and cost.
    """
    _say_answer(ledger.approve(number, **details))


@console.command("ledger reject 17 --reason 'too much'", group)
@_number_argument
@_reason_option(required=True)
@console.existing_ledger
def reject(ledger: PrivacyLedger, number: int, reason: str) -> None:
    """Reject a request.

    NUMBER is that of the request for approval. This is a logged act of an officer.
    """
    _say_answer(ledger.reject(number, reason=reason))


@console.command("ledger withdraw 17", group)
@_number_argument
@_reason_option(required=False)
@console.existing_ledger
def withdraw(ledger: PrivacyLedger, number: int, reason: str) -> None:
    """Take back an approval that was not used, or a request.

    NUMBER is that of the request for approval.
    """
    _say_answer(ledger.withdraw(number, reason=reason))


def _say_answer(approval: Approval) -> None:
    console.say_item(approval.status.capitalize(), f"request {approval.number}: {_words(approval)}")


def _words(approval: Approval) -> str:
    from interpret_dp.ledger.chain import moment_text

    words = (
        f"epsilon {approval.epsilon:.4g} at delta {approval.delta:g} on {approval.dataset!r} by "
        f"{approval.user!r}"
    )
    if approval.purpose:
        words += f", for {approval.purpose!r}"
    if approval.status == "approved" and approval.expires:
        many = "once" if approval.uses == 1 else f"{approval.uses} times"
        words += f", {many}, until {moment_text(approval.expires)}"
    return words
