"""``interpret-dp fit``: train a private model on a table and charge its ledger."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from interpret_dp.accounting.lattice import RELATIONS
from interpret_dp.cli import console
from interpret_dp.exceptions import LedgerError, UndeclaredWarning

if TYPE_CHECKING:
    from pathlib import Path

    from interpret_dp.explanation import PrivacySpend
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.schema import Schema
    from interpret_dp.sites import Site

# Options that the estimator takes as they are.
_SETTINGS = ("epsilon", "delta", "neighboring", "population", "verbose")
_DIRECTIONS = {"increasing": 1, "decreasing": -1}


def _directions(
    _context: click.Context, _option: click.Parameter, texts: Sequence[str]
) -> dict[str, int]:
    """Read each COLUMN=DIRECTION of ``--monotone``."""
    directions: dict[str, int] = {}
    for text in texts:
        column, _, direction = text.rpartition("=")
        if not column or direction not in _DIRECTIONS:
            raise click.BadParameter(
                f"{text!r} is no direction. Write COLUMN=increasing or COLUMN=decreasing."
            )
        if directions.setdefault(column, _DIRECTIONS[direction]) != _DIRECTIONS[direction]:
            raise click.BadParameter(f"{column!r} has two directions. Give one.")
    return directions


def _objective(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Check ``--objective`` against the registered losses; help must not load them."""
    if name is None:
        return None
    from interpret_dp.ebm.objectives import checked_objective

    try:
        return checked_objective(name)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@console.command(
    "fit adult.parquet --target income --schema schema.toml \\\n"
    "      --epsilon 1 --delta 1e-6 --dataset adult --budget 4 --out model.json"
)
@console.file_argument
@console.target_option
@console.schema_option
@click.option("--epsilon", type=console.POSITIVE, required=True)
@click.option("--delta", type=console.PROBABILITY, required=True)
@click.option("--neighboring", type=click.Choice(RELATIONS), default=RELATIONS[0])
@click.option("--population", type=click.Choice(["rows", "people"]), default="rows")
@console.ledger_option("where spending is recorded")
@console.dataset_option("the data set's name in the ledger; the same people, the same name")
@console.purpose_option
@click.option("--budget", type=console.POSITIVE)
@click.option("--budget-delta", type=console.PROBABILITY)
@console.exclude_option
@console.csv_options
@click.option("--objective", metavar="LOSS", callback=_objective)
@click.option("--monotone", metavar="COLUMN=DIRECTION", multiple=True, callback=_directions)
@click.option("--pair", "pairs", metavar="COLUMN COLUMN", nargs=2, multiple=True)
@click.option("--interactions", type=console.COUNT)
@click.option("--out", type=console.OUTPUT_FILE, required=True)
@console.overwrite_option
@click.option("--verbose", is_flag=True)
@click.pass_obj
def fit(site: Site | None, /, **given: Any) -> None:
    """Train a private model on a table.

    FILE is the private table, .parquet or .csv. The model is a differentially private explainable
    boosting machine, and a ledger is charged for it. The schema's target decides between
    classification and regression. Only what the guarantee covers is shown and written: no exact
    row count, no training score. The exit status is 3 if the promise of the model does not hold.

    Options
    -------
    --epsilon
        privacy loss of this model
    --delta
        its failure probability, such as 1e-6
    --neighboring
        whether tables differ by the presence of a row (or person) or by its content; people are
        declared in the schema, as [unit]
    --population
        whether the kept rows of a person weigh 1 each, or together
    --budget
        declare what may ever be spent on the data set, if nobody has done so yet
    --budget-delta
        delta of the budget (default: that of the fit)
    --objective
        what a regression minimises: poisson_deviance for counts, gamma_deviance for positive
        amounts, tweedie_deviance for amounts of which many are zero, quantile:alpha=0.9 for a
        quantile, survival_cox for times of events, negative where censored (default: rmse)
    --monotone
        a curve that may only rise or fall: increasing or decreasing; may be repeated
    --pair
        two columns that get a heat map of their own; may be repeated. Each pair takes a term's
        share of the budget
    --interactions
        how many pairs to choose privately instead, for 5 % of the boosting's budget (default: none)
    --out
        where to write the model, as JSON
    --verbose
        show rounds and time
    """
    from interpret_dp.cli.tables import CsvFormat, read_declared
    from interpret_dp.ebm.request import FitSettings, open_request
    from interpret_dp.released.summary import has_hardly_any_row
    from interpret_dp.schema import Schema

    options = SimpleNamespace(**given)
    if options.budget_delta is not None and options.budget is None:
        raise console.CommandError("--budget-delta needs --budget too. Give both, or neither.")
    if options.pairs and options.interactions is not None:
        raise console.CommandError("--pair names pairs, --interactions chooses them. Give one.")
    schema = Schema.load(options.schema_file)
    # Claimed before anything is spent: a model that cannot be kept must not cost anything.
    with console.pending_file(options.out, overwrite=options.overwrite) as pending:
        ledger = _open_ledger(options)
        csv_format = CsvFormat(options.sep, options.decimal, options.encoding)
        table = read_declared(options.file, schema, options.target, options.exclude, csv_format)
        with warnings.catch_warnings():
            # It says what a note says.
            warnings.simplefilter("ignore", UndeclaredWarning)
            # What the fit would refuse is refused before a budget is declared for it.
            open_request(FitSettings.of(_estimator(options, schema)), table.X, table.y, site=site)
            # A schema does not say which column its target is: here a wrong one shows.
            console.say_item("Target", f"{options.target!r}: {schema.target!r}")
            for note in table.notes:
                console.say_item("Note", note)
            _declare_budget(options, ledger)
            _warn_of_others(options.file, ledger)
            if site is not None:
                names = ", ".join(map(repr, site.participants))
                console.say_item("Site", f"{site.name!r}; it waits for all of {names}")
            model = _estimator(options, schema, ledger).fit(table.X, table.y, site=site)
        _save(model, pending)
    # The model is paid for and written: neither a full disk nor a locked ledger is a failure now.
    with suppress(console.FailedError, LedgerError):
        console.say_item("Written", f"the model, as {options.out}")
        console.say_item("Guarantee", model.guarantee_.sentence)
        console.say_item(
            "Ledger",
            f"{ledger.display_url}. Keep its head, which shows later that nothing was cut off: "
            f"{model.guarantee_.ledger_head}",
        )
        say_account(model.privacy_spend_)
        summary = model.summary()
        console.say_item("Model", summary.title)
        misread = any("the bounds" in text or "missing" in text for text in summary.findings)
        if misread and options.file.lower().endswith(".csv"):
            mark = "," if options.decimal == "." else "."
            console.say_item(
                "Check",
                f"--decimal: 1{mark}234 is 1234 and 1{mark}5 is a missing cell, unless --decimal "
                f"{mark} says that both have fractions",
            )
        console.say_item("Next", f"interpret-dp show {options.out} --ledger {options.ledger}")
    console.refuse_silence(model.guarantee_)
    if has_hardly_any_row(model.released_):
        raise console.FailedError(
            "The released number of usable rows is no more than noise: nothing was learned. "
            "Check the target's labels or bounds, the column of people, --sep and --decimal."
        )


def say_account(privacy: PrivacySpend) -> None:
    """Print what a model cost, and what is used of the budget of its data set."""
    console.say_item("Cost", f"{privacy.guarantee.promised}, of this model")
    for label, text in privacy.budget_rows.items():
        console.say_item(label, text)


def _open_ledger(options: SimpleNamespace) -> PrivacyLedger:
    """Open the ledger; refuse a data set without a budget before the table is read."""
    ledger = console.open_to_spend(options.ledger)
    if options.purpose:
        ledger = ledger.for_purpose(options.purpose)
    if options.budget is None:
        ledger.remaining(options.dataset)
    return ledger


def _declare_budget(options: SimpleNamespace, ledger: PrivacyLedger) -> None:
    """Declare the budget, if it is wanted and nobody has."""
    if options.budget is None:
        return
    name, epsilon = options.dataset, options.budget
    delta = options.delta if options.budget_delta is None else options.budget_delta
    known = ledger.budget(name)
    if known is None:
        ledger.create_budget(name, epsilon, delta, purpose="declared by interpret-dp fit --budget")
        console.say_item("Budget", f"epsilon {epsilon:g} at delta {delta:g} declared for {name!r}")
    elif (known.epsilon, known.delta) == (epsilon, delta):
        console.say_item("Budget", f"epsilon {epsilon:g} at delta {delta:g} was declared before")
    else:
        raise console.FailedError(
            f"--budget asks for epsilon {epsilon:g} at delta {delta:g}, and data set {name!r} has "
            f"a budget of epsilon {known.epsilon:g} at delta {known.delta:g} already. Nothing was "
            "spent. Leave out --budget to use that one, or see `interpret-dp ledger raise`."
        )


def _warn_of_others(file: str, ledger: PrivacyLedger) -> None:
    try:
        others = console.other_ledgers(file, ledger.display_url)
    except OSError:
        note = "Your data folder cannot be used, so a later fit cannot warn of a second ledger."
        console.say_item("Note", note)
        return
    if others:
        console.say_item(
            "Warning",
            f"{', '.join(others)} was charged for this file too. Two budgets for the same people "
            "add up: their privacy loss is that of both together. Charge one ledger only.",
        )


def _estimator(
    options: SimpleNamespace, schema: Schema, ledger: PrivacyLedger | None = None
) -> Any:
    from interpret_dp.ebm import estimators
    from interpret_dp.schema import Categorical

    settings = {
        **{name: getattr(options, name) for name in _SETTINGS},
        "schema": schema,
        "ledger": ledger,
        "dataset": None if ledger is None else options.dataset,
        "monotone_constraints": options.monotone or None,
        "interactions": list(options.pairs) or options.interactions or 0,
    }
    if not isinstance(schema.target, Categorical):
        objective = options.objective or "rmse"
        return estimators.DPExplainableBoostingRegressor(objective=objective, **settings)
    if options.objective is not None:
        raise console.CommandError(
            f"--objective {options.objective} is for a regression, and the schema's target has "
            "levels. Leave it out, or declare the target as continuous."
        )
    return estimators.DPExplainableBoostingClassifier(**settings)


def _save(model: Any, pending: Path) -> None:
    """Write the model; a full disk must not lose what was paid for."""
    try:
        model.save(pending)
    except OSError as error:
        with tempfile.NamedTemporaryFile(suffix=".json", delete=False) as rescue:
            pass
        model.save(rescue.name)
        raise console.FailedError(
            f"The model was fitted and charged, but --out could not be written ({error.strerror}). "
            f"It is in {rescue.name!r}: move it from there, and do not fit again."
        ) from error
