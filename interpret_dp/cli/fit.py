"""``interpret-dp fit``: train a private model on a table and charge its ledger."""

from __future__ import annotations

import argparse
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from interpret_dp.accounting.neighbourhood import RELATIONS
from interpret_dp.cli.console import (
    FailedError,
    add_command,
    add_ledger_option,
    count,
    left_text,
    positive_number,
    probability,
    say_items,
)
from interpret_dp.cli.user_folder import open_to_spend, other_ledgers
from interpret_dp.exceptions import LedgerError, UndeclaredWarning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interpret_dp.explanation import PrivacySpend
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.schema import Schema

__all__ = ["OBJECTIVES", "account_items", "add_to"]

OBJECTIVES = ("rmse", "poisson_deviance", "gamma_deviance")
"""What a regression may minimise; written here too, as help must not load the estimators."""

_DIRECTIONS = {"increasing": 1, "decreasing": -1}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``fit``."""
    parser = add_command(
        commands,
        "fit",
        summary="train a private model on a table",
        description="Train a differentially private explainable boosting machine and charge it to "
        "a ledger. The schema's target decides between classification and regression. Shown and "
        "written is only what the guarantee covers: no count of rows, no training score.",
        example="interpret-dp fit adult.parquet --target income --schema schema.toml \\\n"
        "      --epsilon 1 --delta 1e-6 --dataset adult --budget 4 --out model.json",
    )
    parser.add_argument("file", metavar="FILE", help="the private table, .parquet or .csv")
    parser.add_argument("--target", metavar="COLUMN", required=True, help="what is to be predicted")
    parser.add_argument("--schema", metavar="SCHEMA", required=True, help="a .toml or .json schema")
    parser.add_argument(
        "--epsilon", type=positive_number, required=True, help="privacy loss of this model"
    )
    parser.add_argument(
        "--delta", type=probability, required=True, help="its failure probability, such as 1e-6"
    )
    parser.add_argument(
        "--neighboring",
        choices=RELATIONS,
        default=RELATIONS[0],
        help="whether tables differ by the presence of a row (or person) or by its content "
        f"(default: {RELATIONS[0]}); people are declared in the schema, as [unit]",
    )
    add_ledger_option(parser, "where spending is recorded")
    parser.add_argument(
        "--dataset",
        metavar="NAME",
        required=True,
        help="the data set's name in the ledger; the same people, the same name",
    )
    parser.add_argument(
        "--purpose", metavar="TEXT", default="", help="what this fit is for, for the ledger's log"
    )
    parser.add_argument(
        "--budget",
        type=positive_number,
        metavar="EPSILON",
        help="declare what may ever be spent on the data set, if nobody has done so yet",
    )
    parser.add_argument(
        "--budget-delta",
        type=probability,
        metavar="DELTA",
        help="delta of the budget (default: that of the fit)",
    )
    parser.add_argument(
        "--exclude",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column that is not read, such as an identifier or free text; may be repeated",
    )
    _add_shape_options(parser)
    parser.add_argument("--out", metavar="MODEL", required=True, help="where to write it, as JSON")
    parser.add_argument("--overwrite", action="store_true", help="replace MODEL if it exists")
    parser.add_argument("--verbose", action="store_true", help="show rounds and time")
    parser.set_defaults(run=_run, usage_error=parser.error)


def _add_shape_options(parser: argparse.ArgumentParser) -> None:
    """Add what the estimators take beside the budget; none of these costs privacy by itself."""
    shape = parser.add_argument_group("what the model may look like")
    shape.add_argument(
        "--objective",
        choices=OBJECTIVES,
        help="what a regression minimises: poisson_deviance for counts, gamma_deviance for "
        f"positive amounts (default: {OBJECTIVES[0]})",
    )
    shape.add_argument(
        "--monotone",
        metavar="COLUMN=DIRECTION",
        type=_direction,
        action="append",
        default=[],
        help="a curve that may only rise or fall: increasing or decreasing; may be repeated",
    )
    shape.add_argument(
        "--pair",
        metavar="COLUMN",
        nargs=2,
        action="append",
        default=[],
        help="two columns that get a heat map of their own; may be repeated. Each pair takes a "
        "term's share of the budget",
    )
    shape.add_argument(
        "--interactions",
        metavar="N",
        type=count,
        help="how many pairs to choose privately instead, for 5 %% of the boosting's budget "
        "(default: none)",
    )


def _direction(text: str) -> tuple[str, int]:
    """Read a column's name and the way its curve may go, for argparse."""
    column, _, direction = text.rpartition("=")
    if not column or direction not in _DIRECTIONS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no direction of a column; write COLUMN=increasing or COLUMN=decreasing"
        )
    return column, _DIRECTIONS[direction]


def _check_shape(arguments: argparse.Namespace, schema: Schema) -> None:
    """Refuse what cannot be combined."""
    from interpret_dp.schema import Categorical

    if arguments.pair and arguments.interactions is not None:
        arguments.usage_error("--pair names pairs and --interactions has them chosen; give one")
    if arguments.objective is not None and isinstance(schema.target, Categorical):
        arguments.usage_error(
            f"--objective {arguments.objective} is for a regression, and the schema's target has "
            "levels; leave it out, or declare the target as continuous"
        )
    ways: dict[str, int] = {}
    for column, way in arguments.monotone:
        if ways.setdefault(column, way) != way:
            arguments.usage_error(f"--monotone gives {column!r} two directions; give one")


def _check_columns(arguments: argparse.Namespace, features: Sequence[str]) -> None:
    """Refuse shapes of columns that are not there."""
    from interpret_dp._validate import did_you_mean

    named = [("--monotone", column) for column, _ in arguments.monotone]
    named += [("--pair", column) for pair in arguments.pair for column in pair]
    for option, column in named:
        if column not in features:
            arguments.usage_error(
                f"{option} names {column!r}; it must be one of the columns that are read: "
                f"{', '.join(map(repr, features))}.{did_you_mean(column, features)}"
            )


def _run(arguments: argparse.Namespace) -> None:
    from interpret_dp.cli.outputs import pending_file
    from interpret_dp.cli.tables import read_declared
    from interpret_dp.ebm.request import open_request
    from interpret_dp.schema import Schema

    if arguments.budget_delta is not None and arguments.budget is None:
        arguments.usage_error("--budget-delta was given without --budget; give both, or neither")
    schema = Schema.load(arguments.schema)
    _check_shape(arguments, schema)
    # Claimed before anything is spent: a model that cannot be kept must not cost anything.
    with pending_file(arguments.out, overwrite=arguments.overwrite) as pending:
        ledger = _open_ledger(arguments)
        table = read_declared(arguments.file, schema, arguments.target, arguments.exclude)
        _check_columns(arguments, table.features)
        with warnings.catch_warnings():
            # It says what a note says.
            warnings.simplefilter("ignore", UndeclaredWarning)
            # What the fit would refuse is refused before a budget is declared for it.
            open_request(_estimator(arguments, schema), table.X, table.y)
            # A schema does not say which column its target is: here a wrong one shows.
            say_items([("Target", f"{arguments.target!r}: {schema.target!r}")])
            say_items([("Note", note) for note in table.notes])
            _declare_budget(arguments, ledger)
            _warn_of_others(arguments.file, ledger)
            model = _estimator(arguments, schema, ledger).fit(table.X, table.y)
        _save(model, pending)
    # The model is paid for and written: neither a full disk nor a locked ledger is a failure now.
    with suppress(FailedError, LedgerError):
        say_items(
            [
                ("Written", f"the model, as {arguments.out}"),
                ("Guarantee", model.guarantee_.sentence),
                (
                    "Ledger",
                    f"{ledger.display_url}. Keep its head, which shows later that nothing was cut "
                    f"off: {model.guarantee_.ledger_head}",
                ),
            ]
        )
        say_items(account_items(model.privacy_spend_))
        say_items([("Next", f"interpret-dp show {arguments.out} --ledger {arguments.ledger}")])


def account_items(privacy: PrivacySpend) -> list[tuple[str, str]]:
    """Return what a model cost, what its data set cost so far, and what is left."""
    from interpret_dp._figures import ceil_text, left_for_selections

    guarantee = privacy.guarantee
    at_delta = f"at delta {ceil_text(privacy.delta)}"
    spent = f"epsilon {ceil_text(privacy.epsilon)} {at_delta} by this model"
    if privacy.total_epsilon is not None:
        spent += (
            f"; epsilon {ceil_text(privacy.total_epsilon)} by all so far on data set "
            f"{guarantee.dataset!r}"
        )
    items = [("Spent", spent)]
    if privacy.remaining_epsilon is not None:
        left = left_text(privacy.remaining_epsilon, privacy.delta)
        if privacy.budget is not None:
            known = privacy.budget
            left += left_for_selections(known.remaining_epsilon, known.delta_x, known.spent_delta)
        items.append(("Left", left))
    return items


def _open_ledger(arguments: argparse.Namespace) -> PrivacyLedger:
    """Open the ledger; refuse a data set without a budget before the table is read."""
    ledger = open_to_spend(arguments.ledger)
    if arguments.purpose:
        ledger = ledger.for_purpose(arguments.purpose)
    if arguments.budget is None:
        ledger.remaining(arguments.dataset)
    return ledger


def _declare_budget(arguments: argparse.Namespace, ledger: PrivacyLedger) -> None:
    """Declare the budget, if it is asked for and nobody has."""
    if arguments.budget is None:
        return
    name, epsilon = arguments.dataset, arguments.budget
    delta = arguments.delta if arguments.budget_delta is None else arguments.budget_delta
    known = ledger.budget(name)
    if known is None:
        ledger.create_budget(name, epsilon, delta, purpose="declared by interpret-dp fit --budget")
        say_items([("Budget", f"epsilon {epsilon:g} at delta {delta:g} declared for {name!r}")])
    elif (known.epsilon, known.delta) == (epsilon, delta):
        say_items([("Budget", f"epsilon {epsilon:g} at delta {delta:g} was declared before")])
    else:
        raise FailedError(
            f"--budget asks for epsilon {epsilon:g} at delta {delta:g}, and data set {name!r} has "
            f"a budget of epsilon {known.epsilon:g} at delta {known.delta:g} already. Nothing was "
            "spent. Leave out --budget to use the one that is there; its owner changes it with "
            "`interpret-dp ledger raise`."
        )


def _warn_of_others(file: str, ledger: PrivacyLedger) -> None:
    others = other_ledgers(file, ledger.display_url)
    if others:
        text = (
            f"{', '.join(others)} was charged for this file too. Two budgets for the same people "
            "add up: what is released about them is the sum of both. Charge one ledger alone."
        )
        say_items([("Warning", text)])


def _estimator(
    arguments: argparse.Namespace, schema: Schema, ledger: PrivacyLedger | None = None
) -> Any:
    from interpret_dp.ebm import estimators
    from interpret_dp.schema import Categorical

    kind: Any = estimators.DPExplainableBoostingClassifier
    extra: dict[str, Any] = {}
    if not isinstance(schema.target, Categorical):
        kind = estimators.DPExplainableBoostingRegressor
        extra["objective"] = arguments.objective or OBJECTIVES[0]
    return kind(
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        schema=schema,
        ledger=ledger,
        dataset=arguments.dataset,
        neighboring=arguments.neighboring,
        verbose=arguments.verbose,
        monotone_constraints=dict(arguments.monotone) or None,
        interactions=[tuple(pair) for pair in arguments.pair] or arguments.interactions or 0,
        **extra,
    )


def _save(model: Any, pending: Path) -> None:
    """Write the model; a full disk must not lose what was paid for."""
    import tempfile

    try:
        model.save(pending)
    except OSError as error:
        with tempfile.NamedTemporaryFile(suffix=".json", delete=False) as rescue:
            pass
        model.save(rescue.name)
        raise FailedError(
            f"The model was fitted and charged, but --out could not be written ({error.strerror}). "
            f"It is in {rescue.name!r}: move it from there, and do not fit again."
        ) from error
