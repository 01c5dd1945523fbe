"""``interpret-dp schema``, ``plan`` and ``sites``: commands before a fit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from interpret_dp._documents import read_json
from interpret_dp._validate import did_you_mean
from interpret_dp.cli import console

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.schema import Schema


_PUBLIC = (
    "This reads minima, maxima and levels off the rows of {file!r}, and whatever a schema says "
    "counts as public. By running it you declare that the file is public. If it is not, replace "
    "every bound and level in the draft by public knowledge (a code book, a legal limit, the "
    "range of an instrument) before you fit anything."
)
_FEW_NUMBERS = 20  # of so few different whole numbers a column may be one of codes
_PRIVATE = "PRIVATE REPORT, outside the privacy promise. Do not publish or store it."


@click.group(cls=console.Group, no_args_is_help=False)
def schema() -> None:
    """Write a schema, or check a table against one.

    A schema says what is public about a table before any row is seen: types, bounds, levels.
    """


@console.command("schema draft adult.parquet --target income --out schema.toml", schema)
@console.file_argument
@console.target_option
@click.option("--out", type=console.OUTPUT_FILE, required=True)
@click.option(
    "--task",
    type=click.Choice(("auto", "classification", "regression")),
    default="auto",
    show_default=False,
)
@console.exclude_option
@click.option("--max-levels", type=int, default=64)
@click.option("--levels", metavar="COLUMN", multiple=True)
@click.option("--unit", metavar="COLUMN", multiple=True)
@click.option("--max-rows", type=console.COUNT)
@console.csv_options
@console.overwrite_option
def draft(
    file: str,
    out: str,
    exclude: Sequence[str],
    levels: Sequence[str],
    unit: Sequence[str],
    max_rows: int | None,
    overwrite: bool,
    **details: Any,
) -> None:
    """Draft a schema from a table that you declare to be public.

    FILE is that table, .parquet or .csv. The draft looks at its rows.

    Options
    -------
    --out
        where to write it, .toml or .json
    --task
        how to declare the target (default: numbers of more than two values are a regression)
    --max-levels
        most levels that a column may have
    --levels
        a column whose numbers are codes, such as a ward's: list them as levels; may be repeated
    --unit
        the column that identifies a person, where people have several rows; may be repeated
    --max-rows
        most rows of one person that a fit uses (default: 1)
    """
    from interpret_dp.cli.tables import CsvFormat, kept_columns, read_public
    from interpret_dp.exceptions import PrivacyWarning, SchemaError
    from interpret_dp.schema import Categorical, PrivacyUnit, Schema
    from interpret_dp.schema.schema import suffix_of

    suffix_of(out)
    if max_rows is not None and not unit:
        raise console.CommandError("--max-rows needs --unit COLUMN too, whose rows it counts.")
    person = PrivacyUnit(unit, max_rows or 1) if unit else None
    console.say_item("Attention", _PUBLIC.format(file=file))
    with console.pending_file(out, overwrite=overwrite) as pending:
        csv_format = CsvFormat(*map(details.pop, ("sep", "decimal", "encoding")))
        frame, roles = read_public(file, csv_format), (details["target"], *unit)
        frame = frame[kept_columns(file, list(frame.columns), exclude, roles)]
        with warnings.catch_warnings():
            # It says what was just printed.
            warnings.simplefilter("ignore", PrivacyWarning)
            try:
                drafted = Schema.draft(_with_codes(file, frame, levels), unit=person, **details)
            except SchemaError as error:
                hint = (
                    " Here: --exclude COLUMN, --decimal MARK of its fractions, --levels COLUMN of "
                    "codes, or --max-levels N."
                )
                text = f"{error}{hint if 'max_levels' in str(error) else ''}"
                raise console.CommandError(text) from None
        drafted.save(pending)
    n_levels = sum(isinstance(spec, Categorical) for spec in drafted.features.values())
    console.say_item(
        "Drafted", f"{len(drafted.features)} columns, of which {n_levels} have a list of levels"
    )
    console.say_item("Target", f"{details['target']!r}: {drafted.target!r}")
    codes = _possible_codes(frame, drafted)
    if codes:
        named = f"{', '.join(map(repr, codes))}: few whole numbers."
        console.say_item("Codes?", f"{named} If they are codes: --levels {codes[0]}")
    console.say_item("Written", f"{out}. Review it: all of it must be public knowledge.")


def _with_codes(file: str, frame: pd.DataFrame, levels: Sequence[str]) -> pd.DataFrame:
    """Return the table with columns of codes as categories, whose values are drafted as levels."""
    for name in levels:
        if name not in frame.columns:
            raise console.CommandError(
                f"--levels names {name!r}, and {file!r} has no such column, or it is "
                f"excluded; there are {', '.join(map(repr, frame.columns))}."
                f"{did_you_mean(name, frame.columns)} Check the spelling."
            )
    return frame.astype(dict.fromkeys(levels, "category"))


def _possible_codes(frame: pd.DataFrame, drafted: Schema) -> list[str]:
    """Return the columns of few whole numbers, which may be codes; the table is public."""
    from interpret_dp.schema import Continuous

    return [
        name
        for name, spec in drafted.features.items()
        if isinstance(spec, Continuous)
        and frame[name].dtype.kind in "iu"
        and frame[name].nunique() <= _FEW_NUMBERS
    ]


@console.command("schema skeleton people.parquet", schema)
@console.file_argument
@console.exclude_option
def skeleton(file: str, exclude: Sequence[str]) -> None:
    """Print a schema with blanks to fill in, as Python; no row is read.

    FILE is a .parquet file, private or not. The names and types of its columns are public.
    """
    from interpret_dp.cli.tables import column_types, kept_columns
    from interpret_dp.schema import Schema

    types = column_types(file)
    kept = kept_columns(file, list(types), exclude, ())
    console.say(Schema.skeleton({name: types[name] for name in kept}))
    console.say('schema.save("schema.toml")  # for --schema')


@console.command("schema check patients.csv --schema schema.toml --target readmitted", schema)
@console.file_argument
@console.schema_option
@click.option("--target", metavar="COLUMN")
@console.exclude_option
@console.csv_options
def check(
    file: str, schema_file: str, target: str | None, exclude: Sequence[str], **written: str
) -> None:
    """Print the curator's private report: what a schema changes in a table.

    FILE is the private table, .parquet or .csv. It counts, per column, the cells that the schema
    makes missing, clips, or sends to the bin of undeclared levels; of undeclared columns, the
    missing cells. The report is private: exact counts, for the curator's eyes only.

    Options
    -------
    --target
        check the target too
    """
    from interpret_dp.cli.tables import CsvFormat, read_declared
    from interpret_dp.schema import Schema

    declared = Schema.load(schema_file)
    table = read_declared(file, declared, target, exclude, CsvFormat(**written))
    report = declared.check(table.X, table.y)
    console.say(_PRIVATE)
    console.say(str(report))
    if table.undeclared and declared.target is not None and target is None:
        console.say("Without --target COLUMN, the target counts as a feature.")
    if report.is_clean:
        console.say("Nothing is missing, clipped or undeclared.")


@console.command("plan --schema schema.toml --rows 5000 --rate 0.2 --delta 1e-6")
@console.schema_option
@click.option("--rows", "n_rows", type=click.IntRange(min=2), multiple=True, required=True)
@click.option("--epsilon", type=console.POSITIVE, multiple=True, default=(0.1, 0.5, 1.0, 2.0))
@click.option("--delta", type=console.PROBABILITY, required=True)
@click.option("--rate", type=float, multiple=True)
@click.option("--spread", type=console.POSITIVE)
@click.option("--limit", type=console.POSITIVE)
@click.option("--sites", "n_sites", type=click.IntRange(min=1), default=1)
@click.option("--colluding", "n_colluding", type=click.IntRange(min=1), default=1)
@console.optional_ledger("say how many fits this ledger has room for; with --dataset")
@click.option("--dataset", metavar="NAME")
@click.option("--effect", type=console.POSITIVE)
@click.option("--html", type=console.OUTPUT_FILE)
@console.overwrite_option
def plan(effect: float | None, html: str | None, overwrite: bool, **given: Any) -> None:
    """Say what a fit would show at several budgets.

    No private row is read, and nothing is charged: the trainer fits rows that are simulated from
    the schema, with the noise of a private fit. A ledger is read, never written.

    Options
    -------
    --rows
        how many rows the table has, by your public guess; may be repeated
    --epsilon
        privacy loss of one fit; may be repeated
    --delta
        delta of every fit
    --rate
        the target has labels: the share of the second one, or each share in turn, by your guess
    --spread
        the target is a number: its standard deviation, by your guess
    --limit
        say how many fits this epsilon has room for
    --sites
        how many sites fit together; --rows are those of all
    --colluding
        how many of them may tell the coordinator all that they know
    --dataset
        the data set's name in the ledger
    --effect
        say at which epsilon 4 of 5 fits show an effect of EFFECT
    --html
        write both figures as one HTML file
    """
    from interpret_dp.ebm import planning
    from interpret_dp.schema import Schema

    rate, schema = given.pop("rate"), Schema.load(given.pop("schema_file"))
    given["rate"] = rate[0] if len(rate) == 1 else list(rate) or None
    planned = planning.plan(schema, **given)
    console.say_table(planned.text_columns, planned.text_rows())
    for note in planned.notes:
        console.say_item("Note", note)
    if effect is not None:
        for size in given["n_rows"]:
            needed = planned.epsilon_for(effect, size)
            console.say_item("Needed", f"epsilon {needed:.3g} for {effect:g} with {size:,} rows")
    if html is not None:
        console.write_text("--html", html, planned.to_html(), overwrite=overwrite)


@click.group("sites", cls=console.Group, no_args_is_help=False)
def sites() -> None:
    """Prepare a study: several sites fit one model by NVIDIA FLARE, and no rows leave them."""


@console.command("sites key site.key", sites, "key")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def key(file: Path) -> None:
    """Make this site's signing key, and print its public part.

    FILE is the new key, which only you can read. Whoever has it can speak for this site. All other
    sites and the lead need the public part. A key that exists is kept, and its public part printed.
    """
    from interpret_dp.cli.sites import made_key

    console.say(made_key(file).public)


@console.command("sites job study --participants keys.json", sites, "job")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--participants", type=console.INPUT_FILE, required=True)
def job(folder: Path, participants: str) -> None:
    """Write a study as a job folder of NVIDIA FLARE, for its lead to submit.

    FOLDER is new. It gets public keys and names of classes, and no code: what is fitted is in a
    file at each site.

    Options
    -------
    --participants
        a JSON object: the public key of each site by its name
    """
    from interpret_dp.cli.sites import checked_participants

    keys = checked_participants(f"The file {participants!r}", read_json(participants))
    folder = folder.absolute()
    if folder.exists():
        raise console.CommandError(f"FOLDER is {str(folder)!r}, which exists. Give another path.")
    from interpret_dp.cli.flare import CLASSES, write_job

    write_job(folder, keys)
    console.say_item("Written", str(folder))
    console.say_item("Allow", f"class_allow_list in FLARE's resources.json: {', '.join(CLASSES)}")
    console.say_item("Next", f"nvflare job submit -j {folder}")
