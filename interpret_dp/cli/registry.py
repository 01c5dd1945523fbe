"""``interpret-dp registry``: a record for OpenDP's registry of deployments, from a saved model."""

from __future__ import annotations

import tomllib
from pathlib import Path

import click

from interpret_dp.cli import console

__all__ = ["registry"]


@console.command("registry model.json --statements about.toml --output record.yaml")
@click.argument("model_file", metavar="MODEL", type=console.INPUT_FILE)
@click.option(
    "--statements",
    type=console.INPUT_FILE,
    help="a .toml file with what only people know: name, data_curators, intended_use, ...",
)
@click.option("--output", type=console.OUTPUT_FILE, help="write the record, and do not print it")
@console.overwrite_option
def registry(model_file: str, statements: str | None, output: str | None, overwrite: bool) -> None:
    """Write a record for OpenDP's registry of deployments.

    MODEL is a file that `interpret-dp fit` or a model's save() wrote. Its guarantee fills most of
    the record. Without --statements the command names what is missing. Nothing is charged, and no
    row is read.
    """
    from interpret_dp.llm.files import load_model

    given = {}
    if statements is not None:
        try:
            given = tomllib.loads(Path(statements).read_text(encoding="utf-8"))
        except ValueError as error:
            raise console.CommandError(f"{statements} is no TOML file: {error}") from None
    try:
        text = load_model(model_file).guarantee_.to_registry_yaml(**given)
    except TypeError as error:
        raise console.CommandError(f"{statements}: {error}") from None
    if output is None:
        console.say(text, end="")
        return
    with console.pending_file(output, overwrite=overwrite, option="--output") as pending:
        Path(pending).write_text(text, encoding="utf-8")
    console.say_item("Written", output)
