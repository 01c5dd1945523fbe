"""``interpret-dp schema``: write a first schema down, and see what it changes in a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interpret_dp._validate import did_you_mean
from interpret_dp.cli.console import CommandError, add_command, count, say, say_items

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.schema import Schema

__all__ = ["add_to"]

_PUBLIC = (
    "This reads minima, maxima and levels off the rows of {file!r}, and whatever a schema says "
    "counts as public. By running it you declare that the file is public. If it is not, replace "
    "every bound and level in the draft by public knowledge (a code book, a legal limit, the "
    "range of an instrument) before you fit anything."
)
_FEW_NUMBERS = 20  # of so few different whole numbers a column may be one of codes
_PRIVATE = "PRIVATE REPORT, outside the privacy promise. Do not publish or store it."


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the group ``schema`` with ``draft`` and ``check``."""
    group = add_command(
        commands,
        "schema",
        summary="write a schema, or check a table against one",
        description="A schema says what is public about a table before any row is seen: types, "
        "bounds, levels.",
    )
    parts = group.add_subparsers(metavar="COMMAND", title="commands", required=True)
    _add_draft(parts)
    _add_check(parts)


def _add_draft(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "draft",
        summary="draft a schema from a table that you declare to be public",
        description="Draft a schema from a table that you declare to be public: it looks at the "
        "rows.",
        example="interpret-dp schema draft adult.parquet --target income --out schema.toml",
    )
    parser.add_argument("file", metavar="FILE", help="a public table, .parquet or .csv")
    parser.add_argument("--target", metavar="COLUMN", required=True, help="what is to be predicted")
    parser.add_argument(
        "--out", metavar="SCHEMA", required=True, help="where to write it, .toml or .json"
    )
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="how to declare the target (default: numbers of more than two values are a "
        "regression)",
    )
    parser.add_argument(
        "--exclude",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column that no model is to use, such as a name or a date; may be repeated",
    )
    parser.add_argument(
        "--max-levels",
        type=int,
        default=64,
        metavar="N",
        help="most levels that a column may have (default: 64)",
    )
    parser.add_argument(
        "--levels",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column whose numbers are codes, such as a ward's: list them as levels; may be "
        "repeated",
    )
    parser.add_argument(
        "--unit",
        metavar="COLUMN",
        help="the column that identifies a person, where people have several rows",
    )
    parser.add_argument(
        "--max-rows",
        type=count,
        metavar="K",
        help="most rows of one person that a fit uses (default: 1)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace SCHEMA if it exists")
    parser.set_defaults(run=_draft, usage_error=parser.error)


def _draft(arguments: argparse.Namespace) -> None:
    import warnings

    from interpret_dp.cli.outputs import pending_file
    from interpret_dp.cli.tables import kept_columns, read_public
    from interpret_dp.exceptions import PrivacyWarning, SchemaError
    from interpret_dp.schema import Categorical, PrivacyUnit, Schema
    from interpret_dp.schema.document import suffix_of

    suffix_of(arguments.out)
    if arguments.max_rows is not None and arguments.unit is None:
        arguments.usage_error("--max-rows was given without --unit COLUMN, whose rows it counts")
    unit = None if arguments.unit is None else PrivacyUnit(arguments.unit, arguments.max_rows or 1)
    say_items([("Attention", _PUBLIC.format(file=arguments.file))])
    with pending_file(arguments.out, overwrite=arguments.overwrite) as pending:
        frame, roles = read_public(arguments.file), (arguments.target, arguments.unit)
        names = kept_columns(arguments.file, list(frame.columns), arguments.exclude, roles)
        frame = frame[names]
        with warnings.catch_warnings():
            # It says what was just printed.
            warnings.simplefilter("ignore", PrivacyWarning)
            try:
                schema = Schema.draft(
                    _with_codes(frame, arguments),
                    arguments.target,
                    arguments.max_levels,
                    task=arguments.task,
                    unit=unit,
                )
            except SchemaError as error:
                hint = " Here: --exclude COLUMN, or --max-levels N."
                raise CommandError(f"{error}{hint if 'max_levels' in str(error) else ''}") from None
        schema.save(pending)
    n_levels = sum(isinstance(spec, Categorical) for spec in schema.features.values())
    say_items(
        [
            (
                "Drafted",
                f"{len(schema.features)} columns, of which {n_levels} have a list of levels",
            ),
            ("Target", f"{arguments.target!r}: {schema.target!r}"),
            *_codes_items(frame, schema),
            ("Written", f"{arguments.out}. Read it, and mend what is not public knowledge."),
        ]
    )


def _with_codes(frame: pd.DataFrame, arguments: argparse.Namespace) -> pd.DataFrame:
    """Return the table with columns of codes as categories, whose values are drafted as levels."""
    for name in arguments.levels:
        if name not in frame.columns:
            raise CommandError(
                f"--levels names {name!r}, and {arguments.file!r} has no such column, or it is "
                f"excluded; there are {', '.join(map(repr, frame.columns))}."
                f"{did_you_mean(name, frame.columns)} Check the spelling."
            )
    return frame.astype(dict.fromkeys(arguments.levels, "category"))


def _codes_items(frame: pd.DataFrame, schema: Schema) -> list[tuple[str, str]]:
    """Name the columns of few whole numbers, which may be codes; the table is public."""
    from interpret_dp.schema import Continuous

    few = [
        name
        for name, spec in schema.features.items()
        if isinstance(spec, Continuous)
        and frame[name].dtype.kind in "iu"
        and frame[name].nunique() <= _FEW_NUMBERS
    ]
    if not few:
        return []
    named = ", ".join(map(repr, few))
    return [("Codes?", f"{named}: few whole numbers. If they are codes: --levels {few[0]}")]


def _add_check(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        parts,
        "check",
        summary="the curator's private report: what a schema changes in a table",
        description="Count, per column, the cells that a schema makes missing, clips, or sends to "
        "the bin of undeclared levels; of undeclared columns, the missing cells. The report is "
        "private: exact counts, for the curator's eyes only.",
        example="interpret-dp schema check patients.csv --schema schema.toml --target readmitted",
    )
    parser.add_argument("file", metavar="FILE", help="the private table, .parquet or .csv")
    parser.add_argument("--schema", metavar="SCHEMA", required=True, help="a .toml or .json schema")
    parser.add_argument("--target", metavar="COLUMN", help="check the target too")
    parser.add_argument(
        "--exclude",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column that is not read; may be repeated",
    )
    parser.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> None:
    from interpret_dp.cli.tables import read_declared
    from interpret_dp.schema import Schema

    schema = Schema.load(arguments.schema)
    table = read_declared(arguments.file, schema, arguments.target, arguments.exclude)
    report = schema.check(table.X, table.y)
    say(_PRIVATE)
    say(str(report))
    if table.undeclared and schema.target is not None and arguments.target is None:
        say("Without --target COLUMN, the target counts as a feature.")
    if report.is_clean:
        say("Nothing is missing, clipped or undeclared.")
