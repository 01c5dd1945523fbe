"""``interpret-dp ledger``: what officers decide: raises, renewals, links, rules and roles."""

from __future__ import annotations

import argparse

from interpret_dp.cli.console import (
    add_command,
    add_ledger_option,
    open_existing,
    positive_number,
    probability,
    probability_or_zero,
    say_items,
)

__all__ = ["add_to"]

_ROLES = ("officer", "analyst")


def add_to(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands."""
    _add_raise(parts)
    _add_renew(parts)
    _add_link(parts)
    _add_require_approval(parts)
    _add_roles(parts)


def _add_raise(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "raise",
        summary="replace a budget by a larger one",
        description="Raise a budget, as a logged act of an officer. What was spent stays spent.",
        example="interpret-dp ledger raise --dataset adult --epsilon 6 --delta 1e-6 \\\n"
        "      --reason 'board, 3 May'",
    )
    parser.add_argument("--dataset", metavar="NAME", required=True, help="whose budget")
    parser.add_argument("--epsilon", type=positive_number, required=True, help="the new total")
    parser.add_argument("--delta", type=probability, required=True, help="the new total")
    parser.add_argument(
        "--delta-x",
        type=probability_or_zero,
        metavar="DELTA",
        help="the new part of delta for selections (default: as before)",
    )
    _add_reason(parser)
    parser.set_defaults(run=_raise)


def _add_renew(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "renew",
        summary="give a budget a new end",
        description="Renew a budget, as a logged act of an officer. It gives time, not room: what "
        "was spent goes on to count.",
        example="interpret-dp ledger renew --dataset adult --expires 2030-12-31 \\\n"
        "      --reason 'board, 3 May'",
    )
    parser.add_argument("--dataset", metavar="NAME", required=True, help="whose budget")
    parser.add_argument(
        "--expires", metavar="DATE", help="the new last day, in UTC (default: no end)"
    )
    parser.add_argument(
        "--new-people",
        metavar="WORDS",
        default="",
        help="only if nobody who was in the data is in them any more: why that is certain. Then "
        "earlier spending does not count against the budget; reports go on to tell it. A new data "
        "set name is the better choice",
    )
    _add_reason(parser)
    parser.set_defaults(run=_renew)


def _add_link(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "link",
        summary="let two names for the same people share one budget",
        description="Link two data sets, as a logged act of an officer. Spending on either counts "
        "for both from then on, and so does what was spent before. It cannot be undone.",
        example="interpret-dp ledger link --dataset adult-copy --to adult --reason 'same people'",
    )
    parser.add_argument(
        "--dataset", metavar="NAME", required=True, help="the name that joins; it may be new"
    )
    parser.add_argument(
        "--to", metavar="NAME", required=True, help="the name whose budget holds for both"
    )
    parser.add_argument(
        "--accept-overspent",
        action="store_true",
        help="link them even if they have spent more than that budget together",
    )
    _add_reason(parser)
    parser.set_defaults(run=_link)


def _add_require_approval(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "require-approval",
        summary="let an officer decide on each request before it is made",
        description="Require approvals, as a logged act of an officer.",
        example="interpret-dp ledger require-approval --dataset adult --above 0.5 \\\n"
        "      --reason 'board, 3 May'",
    )
    parser.add_argument("--dataset", metavar="NAME", required=True, help="whose requests")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--above",
        type=positive_number,
        metavar="EPSILON",
        default=0.0,
        help="only requests of more than this, at the budget's delta (default: all)",
    )
    which.add_argument("--never", action="store_true", help="end the rule")
    _add_reason(parser)
    parser.set_defaults(run=_require_approval)


def _add_roles(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    appoint = add_command(
        parts,
        "appoint",
        summary="make a user an officer or an analyst",
        description="Give a user account a role. From the first officer on only officers decide "
        "on budgets; from the first analyst on only analysts and officers spend. An SQLite file "
        "shows who did what and holds back nobody who may write it.",
        example="interpret-dp ledger appoint anna officer --reason 'board, 3 May'",
    )
    appoint.add_argument("user", metavar="USER", help="the name of a user account")
    appoint.add_argument("role", choices=_ROLES)
    dismiss = add_command(
        parts,
        "dismiss",
        summary="take a user's role away",
        description="Take a user's role away.",
        example="interpret-dp ledger dismiss anna --reason 'left'",
    )
    dismiss.add_argument("user", metavar="USER", help="the name of a user account")
    for parser in (appoint, dismiss):
        _add_reason(parser, required=False)
    appoint.set_defaults(run=_appoint)
    dismiss.set_defaults(run=_dismiss)


def _add_reason(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    parser.add_argument(
        "--reason", metavar="TEXT", required=required, default="", help="why; it stays in the log"
    )
    add_ledger_option(parser)


def _raise(arguments: argparse.Namespace) -> None:
    from interpret_dp._figures import selections_text

    ledger = open_existing(arguments.ledger)
    budget = ledger.raise_budget(
        arguments.dataset,
        arguments.epsilon,
        arguments.delta,
        delta_x=arguments.delta_x,
        reason=arguments.reason,
    )
    words = f"epsilon {budget.epsilon:g} at delta {budget.delta:g} for {budget.dataset!r} now"
    say_items([("Budget", f"{words}{selections_text(budget.delta_x)}")])


def _renew(arguments: argparse.Namespace) -> None:
    from interpret_dp._figures import ceil_text
    from interpret_dp.ledger.core.clock import moment_text

    ledger = open_existing(arguments.ledger)
    budget = ledger.renew_budget(
        arguments.dataset,
        reason=arguments.reason,
        expires=arguments.expires,
        new_people=arguments.new_people,
    )
    spent = ledger.spent(arguments.dataset)
    end = moment_text(budget.expires) if budget.expires else "no end"
    say_items(
        [
            ("Renewed", f"the budget of {budget.dataset!r}; its end: {end}"),
            ("Spent", f"mu {ceil_text(spent.mu)} counts against it, of mu "
             f"{ceil_text(spent.ever.mu)} that was ever spent"),
        ]
    )  # fmt: skip


def _link(arguments: argparse.Namespace) -> None:
    from interpret_dp._figures import ceil_text

    ledger = open_existing(arguments.ledger)
    budget = ledger.link(
        arguments.dataset,
        to=arguments.to,
        reason=arguments.reason,
        accept_overspent=arguments.accept_overspent,
    )
    spent = ledger.spent(arguments.to)
    say_items(
        [
            ("Linked", f"{arguments.dataset!r} shares the budget of {budget.dataset!r}"),
            ("Spent", f"mu {ceil_text(spent.mu)} of at most {budget.mu:.4g} on both together"),
        ]
    )


def _require_approval(arguments: argparse.Namespace) -> None:
    above = None if arguments.never else arguments.above
    open_existing(arguments.ledger).require_approval(
        arguments.dataset, above=above, reason=arguments.reason
    )
    if above is None:
        told = f"requests on {arguments.dataset!r} need none any more"
    elif above:
        told = f"requests on {arguments.dataset!r} above epsilon {above:g} need an officer's"
    else:
        told = f"all requests on {arguments.dataset!r} need an officer's"
    say_items([("Approval", told)])


def _appoint(arguments: argparse.Namespace) -> None:
    ledger = open_existing(arguments.ledger)
    ledger.appoint(arguments.user, arguments.role, reason=arguments.reason)
    say_items([("Appointed", f"{arguments.user!r} is {arguments.role} now")])


def _dismiss(arguments: argparse.Namespace) -> None:
    open_existing(arguments.ledger).dismiss(arguments.user, reason=arguments.reason)
    say_items([("Dismissed", f"{arguments.user!r} has no role any more")])
