"""``interpret-dp ledger``: asking before spending, and the officers' answers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interpret_dp.cli.console import (
    add_command,
    add_ledger_option,
    count,
    open_existing,
    positive_number,
    probability,
    say,
    say_items,
    say_table,
)

if TYPE_CHECKING:
    from interpret_dp.ledger import Approval

__all__ = ["add_to"]


def add_to(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands."""
    _add_request(parts)
    _add_approvals(parts)
    _add_answers(parts)


def _add_request(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "request",
        summary="ask the officers whether something may be spent",
        description="Ask ahead for an approval. A fit that lacks its approval asks by itself.",
        example="interpret-dp ledger request --dataset adult --epsilon 1 --delta 1e-6 \\\n"
        "      --purpose 'quarterly audit'",
    )
    parser.add_argument("--dataset", metavar="NAME", required=True, help="to be charged")
    parser.add_argument("--epsilon", type=positive_number, required=True, help="at most")
    parser.add_argument("--delta", type=probability, required=True, help="at most")
    parser.add_argument(
        "--purpose", metavar="TEXT", default="", help="what for, as the fit will say it"
    )
    parser.add_argument(
        "--explainer", metavar="CLASS", default="", help="which class will spend (default: any)"
    )
    parser.add_argument("--user", metavar="USER", help="who will spend (default: you)")
    add_ledger_option(parser)
    parser.set_defaults(run=_request)


def _add_approvals(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "approvals",
        summary="requests for approval, and what became of them",
        description="Show requests for approval.",
        example="interpret-dp ledger approvals --waiting",
    )
    parser.add_argument("--dataset", metavar="NAME", help="one data set only")
    parser.add_argument("--waiting", action="store_true", help="only those without an answer")
    add_ledger_option(parser)
    parser.set_defaults(run=_approvals)


def _add_answers(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    approve = _add_answer(
        parts,
        "approve",
        "let a request be made",
        "Approve a request, as a logged act of an officer. It binds data set, user, purpose, class "
        "and cost.",
    )
    approve.add_argument(
        "--expires", metavar="DATE", help="the last day, in UTC, on which it holds (default: 30 "
        "days from now)"
    )  # fmt: skip
    approve.add_argument(
        "--uses",
        type=count,
        metavar="N",
        default=1,
        help="how many requests it covers, each of that cost (default: 1)",
    )
    _add_answer(
        parts,
        "reject",
        "answer a request with no",
        "Reject a request for approval, as a logged act of an officer.",
    )
    _add_answer(
        parts,
        "withdraw",
        "take back an approval that was not used",
        "Withdraw an approval that was not used, or a request for one.",
    )


def _add_answer(
    parts: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    must = name == "reject"
    words = " --reason 'too much'" if must else ""
    parser = add_command(
        parts,
        name,
        summary=summary,
        description=description,
        example=f"interpret-dp ledger {name} 17{words}",
    )
    parser.add_argument("number", type=count, metavar="NUMBER", help="of the request for approval")
    parser.add_argument(
        "--reason", metavar="TEXT", default="", required=must, help="why; it stays in the log"
    )
    add_ledger_option(parser)
    parser.set_defaults(run=_answer, answer=name)
    return parser


def _request(arguments: argparse.Namespace) -> None:
    approval = open_existing(arguments.ledger).request_approval(
        arguments.dataset,
        arguments.epsilon,
        arguments.delta,
        purpose=arguments.purpose,
        explainer=arguments.explainer,
        user=arguments.user,
    )
    say_items(
        [
            ("Asked", f"{_words(approval)}. It waits as request for approval {approval.number}"),
            ("Next", f"an officer: interpret-dp ledger approve {approval.number}"),
        ]
    )


def _approvals(arguments: argparse.Namespace) -> None:
    found = open_existing(arguments.ledger).approvals(arguments.dataset)
    if arguments.waiting:
        found = [approval for approval in found if approval.status == "waiting"]
    if not found:
        say("There are no requests for approval" + (" that wait." if arguments.waiting else "."))
        return
    say_table(
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
            for approval in found
        ],
    )


def _answer(arguments: argparse.Namespace) -> None:
    ledger = open_existing(arguments.ledger)
    if arguments.answer == "approve":
        approval = ledger.approve(
            arguments.number,
            reason=arguments.reason,
            expires=arguments.expires,
            uses=arguments.uses,
        )
    elif arguments.answer == "reject":
        approval = ledger.reject(arguments.number, reason=arguments.reason)
    else:
        approval = ledger.withdraw(arguments.number, reason=arguments.reason)
    say_items([(approval.status.capitalize(), f"request {approval.number}: {_words(approval)}")])


def _words(approval: Approval) -> str:
    from interpret_dp.ledger.core.clock import moment_text

    told = (
        f"epsilon {approval.epsilon:.4g} at delta {approval.delta:g} on {approval.dataset!r} by "
        f"{approval.user!r}"
    )
    if approval.purpose:
        told += f", for {approval.purpose!r}"
    if approval.status == "approved" and approval.expires:
        many = "once" if approval.uses == 1 else f"{approval.uses} times"
        told += f", {many}, until {moment_text(approval.expires)}"
    return told
