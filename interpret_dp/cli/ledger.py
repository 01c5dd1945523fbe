"""``interpret-dp ledger``: budgets, spending, reports and the log, decisions and approvals.

Options, arguments and their help come from signatures and docstrings of the ledger's methods.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import click

from interpret_dp._validate import moment_text, selections_text
from interpret_dp.accounting.lattice import RELATIONS
from interpret_dp.cli import console
from interpret_dp.ledger import Approval, PrivacyLedger, verify_archive
from interpret_dp.ledger.roles import ROLES

_ARGUMENTS = ("number", "user", "role")
"""Parameters that a command takes without an option's name, unless they have a default."""

_TYPES: dict[str, click.ParamType[Any]] = {
    "epsilon": console.POSITIVE,
    "delta": console.PROBABILITY,
    "delta_x": console.PROBABILITY_OR_ZERO,
    "above": console.NOT_NEGATIVE,
    **dict.fromkeys(("number", "uses", "at_most"), console.COUNT),
    "neighboring": click.Choice(RELATIONS),
    "role": click.Choice(ROLES),
}
_METAVARS = {"dataset": "NAME", "to": "NAME", "unit": "COLUMN", "expires": "DATE", "head": "HASH"}


@click.group("ledger", cls=console.Group, no_args_is_help=False)
def group() -> None:
    """Budgets, spending, approvals, and the integrity of the log.

    The ledger records every private release and refuses what a budget does not cover.
    """


def _parameters_of(method: Callable[..., Any]) -> console.Decorator:
    """Return what adds an option or an argument for each parameter of a ledger's method."""
    texts = console.texts_in(method, "Parameters")
    _self, *parameters = inspect.signature(method).parameters.values()

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        # click lists first what was added last.
        for parameter in reversed(parameters):
            name, kind = parameter.name, _TYPES.get(parameter.name)
            required = parameter.default is parameter.empty
            if required and name in _ARGUMENTS:
                function = click.argument(name, type=kind)(function)
                continue
            # click takes a default, even an empty one, for what was given.
            default = None if required else parameter.default
            function = click.option(
                f"--{name.replace('_', '-')}",
                type=kind,
                default=default,
                show_default=bool(default),
                required=required,
                is_flag=default is False,
                metavar=_METAVARS.get(name),
                # Without the docstring's markup.
                help=re.sub(r":\w+:`|`", "", texts.get(name, "")),
            )(function)
        return function

    return add


def _command(
    example: str,
    method: Callable[..., Any],
    name: str | None = None,
    ledger: console.Decorator = console.existing_ledger,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return what makes a command of a function that takes a ledger and a method's arguments."""
    make, add = console.command(f"ledger {example}", group, name), _parameters_of(method)
    return lambda function: make(add(ledger(function)))


@_command("show --dataset adult", PrivacyLedger.to_dict)
def show(ledger: PrivacyLedger, dataset: str | None) -> None:
    """Show what was spent, by whom, and what is left.

    Shown are budgets, spending and every request. Reading costs nothing.
    """
    document = ledger.to_dict(dataset)
    roles = ledger.roles()
    console.say_item("Ledger", document["ledger"])
    console.say_item("Head", document["head"] or "none")
    if roles.officers:
        others = f"others who may spend: {', '.join(roles.analysts) or 'nobody'}"
        spenders = "everybody may spend" if roles.anybody_spends else others
        console.say_item("Officers", f"{', '.join(roles.officers)}; {spenders}")
    for account in document["datasets"]:
        console.say()
        _say_account(account)
        if account["requests"]:
            _say_requests(account)
    if not document["datasets"]:
        console.say("No data set has a budget yet: interpret-dp ledger create")


@_command(
    "create --dataset adult --epsilon 4 --delta 1e-6",
    PrivacyLedger.create_budget,
    ledger=console.ledger_option(callback=lambda _ctx, _param, url: console.open_to_spend(url)),
)
def create(ledger: PrivacyLedger, dataset: str, **details: Any) -> None:
    """Declare what may ever be spent on a data set.

    Everything that is ever released about the data set is together (epsilon, delta)-differentially
    private.
    """
    verb = "declared" if ledger.budget(dataset) is None else "was declared before"
    budget = ledger.create_budget(dataset, **details)
    console.say_item(
        "Budget",
        f"epsilon {budget.epsilon:g} at delta {budget.delta:g} {verb} for {budget.dataset!r}"
        f"{selections_text(budget.delta_x)}",
    )
    if budget.protected:
        console.say_item("Protects", budget.protected)
    if budget.expires:
        console.say_item("Expires", moment_text(budget.expires))
    console.say_item("Ledger", ledger.display_url)


@console.command("ledger verify --head HASH", group)
@_parameters_of(PrivacyLedger.verify)
@click.option("--file", type=console.INPUT_FILE)
@console.ledger_option()
def verify(ledger: str, head: str | None, file: str | None) -> None:
    """Check the log's hash chain.

    It shows that no entry of the log was changed, removed or moved, and with --head that none was
    cut off.

    Options
    -------
    --file
        check an archive that `interpret-dp ledger export` wrote, instead of a ledger
    """
    if file is None:
        entry_head = console.open_existing(ledger).verify(head)
    else:
        entry_head = verify_archive(file, head)
    checked = "intact as it stands. Only --head shows entries cut off its end"
    if head:
        checked = "intact, and it holds the given head"
    console.say_item("Log", checked)
    console.say_item("Head", entry_head or "none: the log is empty")


@console.command("ledger report --html report.html --json report.json", group)
@click.option("--html", type=console.OUTPUT_FILE)
@click.option("--json", "json_file", type=click.Path(dir_okay=False, allow_dash=True))
@_parameters_of(PrivacyLedger.oversight)
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

    Options
    -------
    --html
        write the page
    --json
        write a JSON document; - prints it instead
    """
    if html is None and json_file is None:
        raise console.CommandError(
            "Give --html FILE, --json FILE or both. `interpret-dp ledger show` prints a summary."
        )
    document = console.open_existing(ledger).oversight(dataset, head=head)
    contents = {}
    if html is not None:
        from interpret_dp.explanation.pages import render_ledger_page

        contents["--html"] = html, render_ledger_page(document)
    text = json.dumps(document, indent=2, allow_nan=False)
    if json_file is not None and json_file != "-":
        contents["--json"] = json_file, f"{text}\n"
    # Both are claimed before either is written.
    with contextlib.ExitStack() as claimed:
        pending = [
            claimed.enter_context(console.pending_file(path, overwrite=overwrite, option=option))
            for option, (path, _) in contents.items()
        ]
        for file, (_, content) in zip(pending, contents.values(), strict=True):
            file.write_text(content, encoding="utf-8")
    if json_file == "-":
        console.say(text)
    if contents:
        console.say_item("Written", " and ".join(path for path, _ in contents.values()))
    if not document["verification"]["whole"]:
        raise console.FailedError(
            f"The log failed its check; the report says so. {document['verification']['problem']}"
        )


@console.command("ledger export --out privacy-2030.jsonl", group)
@click.option("--out", type=console.OUTPUT_FILE, required=True)
@console.overwrite_option
@console.existing_ledger
def export(ledger: PrivacyLedger, out: str, overwrite: bool) -> None:
    """Write all entries of the log for an archive.

    `interpret-dp ledger verify --file` checks the chain of the file without the ledger.

    Options
    -------
    --out
        ends in .jsonl (a document a line) or .csv
    """
    with console.pending_file(out, overwrite=overwrite) as pending:
        head = verify_archive(ledger.export(pending))
    console.say_item("Written", out)
    console.say_item("Head", head or "none: the log is empty")
    console.say_item("Next", f"interpret-dp ledger verify --file {out} --head {head or 'HASH'}")


def _say_account(account: Mapping[str, Any]) -> None:
    from interpret_dp.explanation.budget import account_rows

    budget, above = account["budget"], account["approval_above"]
    lines = {
        "Data set": " = ".join(map(repr, account["names"])),
        "Promise": account["guarantee_sentence"] or account["guarantee_state"],
        "Protects": account["protected"],
        **account_rows(account),
    }
    if budget is not None and budget["expires"]:
        lines["Expires"] = moment_text(budget["expires"])
    if above is not None:
        which = f"requests above epsilon {above:g}" if above else "all requests"
        lines["Approval"] = f"an officer must approve {which}: interpret-dp ledger approvals"
    for label, text in lines.items():
        if text:
            console.say_item(label, text)


def _say_spending(ledger: PrivacyLedger, dataset: str) -> None:
    from interpret_dp.explanation.budget import account_rows

    rows = account_rows(ledger.to_dict(dataset)["datasets"][0])
    for label in ("Used", "Ever"):
        if label in rows:
            console.say_item(label, rows[label])


def _say_requests(account: Mapping[str, Any]) -> None:
    from interpret_dp.explanation.budget import request_texts

    rows = []
    for request in request_texts(account):
        who = request["time"], request["explainer"], request["user"] or "unknown"
        cost = f"{request['epsilon']:g}", f"{request['epsilon_delta']:g}"
        states = request["state"], request["guarantee_state"]
        rows.append((*who, *cost, request["uses"], *states, request["purpose"]))
    console.say_table(
        ("date (UTC)", "class", "user", "epsilon", "delta", "uses", "state", "promise", "purpose"),
        rows,
    )


@_command(
    "raise --dataset adult --epsilon 6 --delta 1e-6 \\\n      --reason 'board, 3 May'",
    PrivacyLedger.raise_budget,
    "raise",
)
def raise_budget(ledger: PrivacyLedger, **details: Any) -> None:
    """Replace a budget by a larger one.

    This is a logged act of an officer. What was spent stays spent.
    """
    budget = ledger.raise_budget(**details)
    words = f"epsilon {budget.epsilon:g} at delta {budget.delta:g} for {budget.dataset!r} now"
    console.say_item("Budget", f"{words}{selections_text(budget.delta_x)}")


@_command(
    "unit --dataset adult --unit patient_id --at-most 12 \\\n"
    "      --reason 'one visit a month, one year'",
    PrivacyLedger.change_unit,
)
def unit(ledger: PrivacyLedger, dataset: str, **details: Any) -> None:
    """Let an account protect people after fits that protected rows by mistake.

    This is a logged act of an officer. It cannot be undone.
    """
    ledger.change_unit(dataset, **details)
    _say_account(ledger.to_dict(dataset)["datasets"][0])


@_command(
    "renew --dataset adult --expires 2030-12-31 \\\n      --reason 'board, 3 May'",
    PrivacyLedger.renew_budget,
)
def renew(ledger: PrivacyLedger, dataset: str, **details: Any) -> None:
    """Give a budget a new end.

    This is a logged act of an officer. It moves the end, not the limit: past spending counts.
    """
    budget = ledger.renew_budget(dataset, **details)
    end = moment_text(budget.expires) if budget.expires else "no end"
    console.say_item("Renewed", f"the budget of {budget.dataset!r}; its end: {end}")
    _say_spending(ledger, dataset)


@_command("link --dataset adult-copy --to adult --reason 'same people'", PrivacyLedger.link)
def link(ledger: PrivacyLedger, dataset: str, to: str, **details: Any) -> None:
    """Let two names for the same people share one budget.

    This is a logged act of an officer. Spending on either counts for both from then on, and so does
    what was spent before. It cannot be undone.
    """
    budget = ledger.link(dataset, to=to, **details)
    console.say_item("Linked", f"{dataset!r} shares the budget of {budget.dataset!r}")
    _say_spending(ledger, to)


@_command(
    "require-approval --dataset adult --above 0.5 \\\n      --reason 'board, 3 May'",
    PrivacyLedger.require_approval,
)
@click.option("--never", is_flag=True)
def require_approval(
    ledger: PrivacyLedger, dataset: str, above: float, never: bool, reason: str
) -> None:
    """Let an officer decide on requests before they are made.

    This is a logged act of an officer.

    Options
    -------
    --never
        end the rule
    """
    if never and above:
        raise console.CommandError("--never ends the rule, and --above sets one. Give one of them.")
    ledger.require_approval(dataset, above=None if never else above, reason=reason)
    if never:
        words = f"requests on {dataset!r} need no approval"
    else:
        which = f"requests on {dataset!r} above epsilon {above:g}"
        words = f"an officer must approve {which if above else f'all requests on {dataset!r}'}"
    console.say_item("Approval", words)


@_command("appoint anna officer --reason 'board, 3 May'", PrivacyLedger.appoint)
def appoint(ledger: PrivacyLedger, user: str, role: str, reason: str) -> None:
    """Make a user an officer or an analyst.

    USER is the name of a user account. Once there is an officer, only officers decide on budgets;
    once there is an analyst, only analysts and officers spend. An SQLite file shows who did what
    but stops nobody who may write it.
    """
    ledger.appoint(user, role, reason=reason)
    console.say_item("Appointed", f"{user!r} is {role} now")


@_command("dismiss anna --reason 'left'", PrivacyLedger.dismiss)
def dismiss(ledger: PrivacyLedger, user: str, reason: str) -> None:
    """Take a user's role away.

    USER is the name of a user account.
    """
    ledger.dismiss(user, reason=reason)
    console.say_item("Dismissed", f"{user!r} has no role any more")


@_command(
    "request --dataset adult --epsilon 1 --delta 1e-6 \\\n      --purpose 'quarterly audit'",
    PrivacyLedger.request_approval,
)
def request(ledger: PrivacyLedger, **details: Any) -> None:
    """Ask the officers whether something may be spent.

    Asks in advance for an approval. A fit without approval asks by itself.
    """
    approval = ledger.request_approval(**details)
    console.say_item(
        "Asked", f"{_words(approval)}. It waits as request for approval {approval.number}"
    )
    console.say_item("Next", f"an officer: interpret-dp ledger approve {approval.number}")


@_command("approvals --waiting", PrivacyLedger.approvals)
@click.option("--waiting", is_flag=True)
def approvals(ledger: PrivacyLedger, dataset: str | None, waiting: bool) -> None:
    """Show requests for approval, and what became of them.

    Options
    -------
    --waiting
        only those without an answer
    """
    listed = ledger.approvals(dataset)
    if waiting:
        listed = [approval for approval in listed if approval.status == "waiting"]
    if not listed:
        console.say("There are no requests for approval" + (" that wait." if waiting else "."))
        return
    rows = []
    for each in listed:
        cost = f"{each.epsilon:.4g}", f"{each.delta:g}"
        answer = each.status, each.decided_by, each.purpose
        rows.append((str(each.number), each.time, each.dataset, each.user, *cost, *answer))
    console.say_table(
        ("number", "date (UTC)", "data set", "user", "epsilon", "delta", "status", "by", "purpose"),
        rows,
    )


@_command("approve 17", PrivacyLedger.approve)
def approve(ledger: PrivacyLedger, number: int, **details: Any) -> None:
    """Approve a request.

    NUMBER is that of the request for approval. This is a logged act of an officer, bound to data
    set, user, purpose, class and cost.
    """
    _say_answer(ledger.approve(number, **details))


@_command("reject 17 --reason 'too much'", PrivacyLedger.reject)
def reject(ledger: PrivacyLedger, number: int, reason: str) -> None:
    """Reject a request.

    NUMBER is that of the request for approval. This is a logged act of an officer.
    """
    _say_answer(ledger.reject(number, reason=reason))


@_command("withdraw 17", PrivacyLedger.withdraw)
def withdraw(ledger: PrivacyLedger, number: int, reason: str) -> None:
    """Take back an approval that was not used, or a request.

    NUMBER is that of the request for approval.
    """
    _say_answer(ledger.withdraw(number, reason=reason))


def _say_answer(approval: Approval) -> None:
    console.say_item(approval.status.capitalize(), f"request {approval.number}: {_words(approval)}")


def _words(approval: Approval) -> str:
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
