"""``interpret-dp edits`` and ``predict``: what was released, as it is with committed edits.

The dashboard keeps edits beside the model's file (:mod:`interpret_dp.editor.autosave`). Those that
were committed belong to the model: every command but the dashboard itself speaks of the model with
them, and says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from interpret_dp._documents import read_json
from interpret_dp._validate import moment_text
from interpret_dp.cli import console

if TYPE_CHECKING:
    from interpret_dp.editor import EarlierEdits, EditSession
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.released import EditRecord


def open_released(file: str, ledger: PrivacyLedger | None = None) -> Any:
    """Return what a file holds, as it was released: a model of any kind, or a background."""
    from interpret_dp.lime.background import PrivateBackground
    from interpret_dp.llm.estimator import load_model
    from interpret_dp.released.background import BACKGROUND_FORMAT

    document = read_json(file)
    if isinstance(document, dict) and document.get("format") == BACKGROUND_FORMAT:
        return PrivateBackground.load(file, ledger)
    return load_model(file, ledger)


def open_current(file: str, ledger: PrivacyLedger | None = None) -> Any:
    """Return what a file holds, with the edits that were committed beside it; say which.

    Raises
    ------
    CommandError
        If a file of edits beside it is damaged or of another model, or two hold committed edits.
    """
    model, edited = open_released(file, ledger), []
    for entry, session in _kept_beside(model, file):
        n_pending, done = session.cancel(), session.history
        if done:
            _note(
                f"{file} is read with the edits committed in {entry.path.name}: {len(done)}, the "
                f"last by {done[-1].who!r} at {moment_text(done[-1].when)}. The guarantee stays."
            )
            edited.append(session.model)
        if n_pending:
            _note(f"edits in {entry.path.name} that are not committed, and left out: {n_pending}.")
    if len(edited) > 1:
        raise console.CommandError(
            f"Several files beside {file!r} hold committed edits, and one of them alone can be "
            f"meant. `interpret-dp edits list {file}` shows them, `interpret-dp edits drop {file} "
            "--file FILE` deletes one."
        )
    return edited[0] if edited else model


def _kept_beside(model: Any, file: str) -> list[tuple[EarlierEdits, EditSession]]:
    """Return each file of edits beside a model's file, the latest first, and what it holds."""
    if not hasattr(model, "edit"):
        return []
    from interpret_dp.editor import Autosave, EditSession

    folder = Path(os.path.abspath(file)).parent
    entries = Autosave(model.edit(autosave=False)).earlier
    beside = [entry for entry in entries if entry.path.parent == folder]
    for entry in entries:
        if entry not in beside:
            _note(f"edits in {entry.path}, not beside {file}: left out. Copy the file there.")
        elif entry.problem:
            raise console.CommandError(f"{entry.problem} If it is not needed, move it away.")
    return [(entry, EditSession.load(entry.path, model)) for entry in beside]


def _note(text: str) -> None:
    click.echo(f"interpret-dp: note: {text}", err=True)


@click.group("edits", cls=console.Group, no_args_is_help=False)
def group() -> None:
    """List, apply or drop the edits of a model that were kept beside its file.

    The dashboard of `interpret-dp show` keeps them. Once committed, they belong to the model:
    `card`, `registry`, `predict`, `show --html` and `show --text` speak of the edited model.
    """


_model_argument = click.argument("model_file", metavar="MODEL", type=console.INPUT_FILE)


@console.command("edits list model.json", group, "list")
@_model_argument
def list_(model_file: str) -> None:
    """List every edit of a model: what, by whom, when, why, and whether it was committed.

    MODEL is a file that `interpret-dp fit` or a model's save() wrote.
    """
    model = open_released(model_file)
    own, files = getattr(model.to_released(), "edits", ()), _kept_beside(model, model_file)
    if own:
        _say_edits(model_file, own, "in the model")
    for entry, session in files:
        _say_edits(entry.path.name, session.history, "committed")
    if not own and not files:
        console.say(f"No edits of {model_file}.")


def _say_edits(file: str, records: Sequence[EditRecord], state: str) -> None:
    console.say(f"{file}:")
    rows = [
        (str(n), e.term, e.what, e.who, moment_text(e.when), e.why, state if e.why else "pending")
        for n, e in enumerate(records, 1)
    ]
    console.say_table(("no.", "term", "what", "who", "when", "why", "state"), rows)


@console.command("edits apply model.json --output edited.json", group)
@_model_argument
@click.option("--output", type=console.OUTPUT_FILE, required=True)
@console.overwrite_option
def apply(model_file: str, output: str, overwrite: bool) -> None:
    """Write a model with its committed edits as a file of its own.

    MODEL, and the edits beside it, stay as they are. Nothing is charged, and no row is read.

    Options
    -------
    --output
        where to write the edited model
    """
    if os.path.exists(output) and os.path.samefile(output, model_file):
        raise console.CommandError("--output is MODEL itself, which stays. Give another path.")
    model = open_current(model_file)
    if model.to_released().digest == open_released(model_file).to_released().digest:
        raise console.CommandError(
            f"No edits of {model_file!r} are committed, so there is nothing to apply. Commit them "
            f"in the dashboard of `interpret-dp show {model_file}`."
        )
    with console.pending_file(output, overwrite=overwrite, option="--output") as pending:
        model.save(pending)
    console.say_item("Written", f"{output}, digest {model.to_released().digest}")


@console.command("edits drop model.json --yes", group)
@_model_argument
@click.option("--file", "name", metavar="FILE")
@click.option("--yes", is_flag=True)
def drop(model_file: str, name: str | None, yes: bool) -> None:
    """Delete the edits that were kept beside a model, committed or not, after listing them.

    MODEL itself stays as it is, with the edits that are in it.

    Options
    -------
    --file
        only this file of edits, where there are several
    --yes
        do not ask; needed where no one can be asked
    """
    chosen = [
        (entry, session)
        for entry, session in _kept_beside(open_released(model_file), model_file)
        if name in (None, entry.path.name)
    ]
    if not chosen:
        console.say(f"No edits are kept beside {model_file}{f' in {name}' if name else ''}.")
        return
    for entry, session in chosen:
        _say_edits(entry.path.name, session.history, "committed")
    if not yes and not sys.stdin.isatty():
        raise console.CommandError("Nothing was deleted: add --yes to delete these edits.")
    if not yes:
        click.confirm("Delete these edits?", abort=True)
    for entry, session in chosen:
        session.autosave.discard(entry)
        console.say_item("Deleted", entry.path.name)


@console.command("predict model.json patients.csv --output predictions.csv")
@_model_argument
@console.file_argument
@click.option("--output", type=console.OUTPUT_FILE, required=True)
@console.csv_options
@console.overwrite_option
def predict(model_file: str, file: str, output: str, overwrite: bool, **written: str) -> None:
    """Predict the rows of a table, with the edits that were committed.

    MODEL is a file that `interpret-dp fit` or a model's save() wrote, FILE a table, .parquet or
    .csv, with the columns of the model; others are not read. Nothing is charged, and nothing
    protects these rows: whoever sees the predictions learns about them.

    Options
    -------
    --output
        where to write the predictions, as CSV
    """
    import pandas as pd

    from interpret_dp.cli.tables import CsvFormat, column_names, read_declared

    model = open_current(model_file)
    if not hasattr(model, "predict") or getattr(model.to_released(), "needs_init_score", False):
        raise console.CommandError(
            f"{model_file!r} holds a background, or a model that is added to scores of the rows; "
            "neither predicts a table by itself. Give another model, or predict in Python."
        )
    schema, csv_format = model.schema_.replace(unit=None), CsvFormat(**written)
    others = [name for name in column_names(file, csv_format) if name not in schema.features]
    rows = read_declared(file, schema, None, others, csv_format).X
    table = pd.DataFrame({"prediction": model.predict(rows)})
    if hasattr(model, "predict_proba"):
        names = [f"probability of {label}" for label in model.classes_]
        table[names] = model.predict_proba(rows)
    console.write_text("--output", output, table.to_csv(index=False), overwrite=overwrite)
