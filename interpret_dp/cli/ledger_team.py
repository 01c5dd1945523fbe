"""``interpret-dp ledger``: requests for approval, and what officers decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from interpret_dp._figures import ceil_text, selections_text
from interpret_dp.cli import console
from interpret_dp.cli.ledger import group, one_dataset_option

if TYPE_CHECKING:
    from interpret_dp.ledger import Approval, PrivacyLedger

__all__ = ["group"]


def _reason_option(*, required: bool) -> console.Decorator:
    # click takes a default, even an empty one, for what was given.
    default = None if required else ""
    return click.option(
        "--reason", default=default, required=required, help="why; it stays in the log"
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
@click.option(
    "--delta-x",
    type=console.PROBABILITY_OR_ZERO,
    metavar="DELTA",
    help="the new part of delta for selections (default: as before)",
)
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
    "ledger renew --dataset adult --expires 2030-12-31 \\\n      --reason 'board, 3 May'", group
)
@console.dataset_option("whose budget")
@click.option("--expires", metavar="DATE", help="the new last day, in UTC (default: no end)")
@click.option(
    "--new-people",
    metavar="WORDS",
    default="",
    help="only if nobody who was in the data is in them any more: why that is certain. Then "
    "earlier spending does not count against the budget; reports go on to tell it. A new data "
    "set name is the better choice",
)
@_reason_option(required=True)
@console.existing_ledger
def renew(ledger: PrivacyLedger, dataset: str, **details: Any) -> None:
    """Give a budget a new end.

    This is a logged act of an officer. It gives time, not room: what was spent goes on to count.
    """
    from interpret_dp.ledger.core.names import moment_text

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
        words = f"requests on {dataset!r} need none any more"
    elif above:
        words = f"requests on {dataset!r} above epsilon {above:g} need an officer's"
    else:
        words = f"all requests on {dataset!r} need an officer's"
    console.say_item("Approval", words)


@console.command("ledger appoint anna officer --reason 'board, 3 May'", group)
@click.argument("user")
@click.argument("role", type=click.Choice(("officer", "analyst")))
@_reason_option(required=False)
@console.existing_ledger
def appoint(ledger: PrivacyLedger, user: str, role: str, reason: str) -> None:
    """Make a user an officer or an analyst.

    USER is the name of a user account. From the first officer on only officers decide on budgets;
    from the first analyst on only analysts and officers spend. An SQLite file shows who did what
    and holds back nobody who may write it.
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

    This asks ahead for an approval. A fit that lacks its approval asks by itself.
    """
    approval = ledger.request_approval(dataset, epsilon, delta, **details)
    console.say_item(
        "Asked", f"{_words(approval)}. It waits as request for approval {approval.number}"
    )
    console.say_item("Next", f"an officer: interpret-dp ledger approve {approval.number}")


@console.command("ledger approvals --waiting", group)
@one_dataset_option
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
@click.argument("number", type=console.COUNT)
@click.option(
    "--expires",
    metavar="DATE",
    help="the last day, in UTC, on which it holds (default: 30 days from now)",
)
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
    """Let a request be made.

    NUMBER is that of the request for approval. This is a logged act of an officer. It binds data
    set, user, purpose, class and cost.
    """
    _say_answer(ledger.approve(number, **details))


@console.command("ledger reject 17 --reason 'too much'", group)
@click.argument("number", type=console.COUNT)
@_reason_option(required=True)
@console.existing_ledger
def reject(ledger: PrivacyLedger, number: int, reason: str) -> None:
    """Answer a request with no.

    NUMBER is that of the request for approval. This is a logged act of an officer.
    """
    _say_answer(ledger.reject(number, reason=reason))


@console.command("ledger withdraw 17", group)
@click.argument("number", type=console.COUNT)
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
    from interpret_dp.ledger.core.names import moment_text

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
