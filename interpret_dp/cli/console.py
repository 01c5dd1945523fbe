"""Shared parts of all commands: errors, options, printed text, result files, a user's ledger."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from interpret_dp._documents import read_json, replaced_file, write_file
from interpret_dp._validate import text_table
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD

if TYPE_CHECKING:
    from interpret_dp.accounting import Guarantee
    from interpret_dp.ledger import PrivacyLedger

_LABEL_WIDTH = 11
_STEP_WIDTH = 64
_WIDEST = 100

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class CommandError(click.ClickException):
    """The input cannot be used; the message is all that the user sees."""

    exit_code = 2


class FailedError(CommandError):
    """The request was sound, and it was refused or failed."""

    exit_code = 1


# ----------------------------------------------------------------------------- commands and options


class VoidError(CommandError):
    """The command did what was asked, of a model whose promise does not hold."""

    exit_code = 3


class Number(click.FloatRange):
    """A finite number within a range. click takes NaN for a number of every range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


POSITIVE = Number(min=0, min_open=True)
NOT_NEGATIVE = Number(min=0)
PROBABILITY = Number(min=0, max=1, min_open=True, max_open=True)
PROBABILITY_OR_ZERO = Number(min=0, max=1, max_open=True)
COUNT = click.IntRange(min=1)
INPUT_FILE = click.Path(exists=True, dir_okay=False)
OUTPUT_FILE = click.Path(dir_okay=False)


class Group(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)


class _UsersLedger(click.Option):
    """The option ``--ledger``, whose default depends on who calls."""

    def get_default(self, ctx: click.Context, call: bool = True) -> str:
        """Return the URL of this user's ledger."""
        return default_ledger()


file_argument = click.argument("file", type=click.Path(dir_okay=False))
target_option = click.option(
    "--target", metavar="COLUMN", required=True, help="what is to be predicted"
)
schema_option = click.option(
    "--schema", "schema_file", type=INPUT_FILE, required=True, help="a .toml or .json schema"
)
exclude_option = click.option(
    "--exclude",
    metavar="COLUMN",
    multiple=True,
    help="a column that is left out, such as an identifier, a date or free text; may be repeated",
)
sep_option = click.option(
    "--sep",
    default=",",
    callback=lambda _ctx, _param, sep: _separator(sep),
    help="what separates the columns of a CSV file: one character, or tabs",
)
decimal_option = click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    default=".",
    help="what stands before the fraction of a number in a CSV file; the other one may stand "
    "between thousands",
)
encoding_option = click.option(
    "--encoding",
    type=click.Choice(["utf-8", "latin-1", "cp1252"]),
    default="utf-8",
    help="how letters are written in a CSV file",
)
purpose_option = click.option(
    "--purpose", default="", show_default=False, help="purpose, for the ledger's log"
)
overwrite_option = click.option("--overwrite", is_flag=True, help="replace the file if it exists")


def _separator(sep: str) -> str:
    """Return the character that separates columns."""
    character = "\t" if sep in ("tabs", "\\t") else sep
    if len(character) != 1 or character in '"\r\n':
        raise click.BadParameter(f"{sep!r} is no separator; give one character, or tabs.")
    return character


def csv_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of how a CSV file is written: the fields of ``CsvFormat``."""
    return sep_option(decimal_option(encoding_option(function)))


def dataset_option(text: str) -> Decorator:
    """Return the option ``--dataset``."""
    return click.option("--dataset", metavar="NAME", required=True, help=text)


def page_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a served page."""
    port, browser = "port on 127.0.0.1 (default: any that is free)", "print the address alone"
    function = click.option("--no-browser", is_flag=True, help=browser)(function)
    return click.option("--port", type=click.IntRange(1, 65535), help=port)(function)


def command(
    example: str, group: click.Group | None = None, name: str | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return what makes a command of a function, with an example at the end of its help.

    The section "Options" of the function's docstring says what its options are.
    """
    make = click.command if group is None else group.command

    def decorate(function: Callable[..., Any]) -> click.Command:
        about = (inspect.getdoc(function) or "").partition("\n\nOptions\n")[0]
        texts = texts_in(function, "Options")
        made = make(name, help=about, epilog=f"\b\nexample:\n  interpret-dp {example}")(function)
        for option in made.params:
            if isinstance(option, click.Option) and option.help is None:
                option.help = texts.get(option.opts[0])
        return made

    return decorate


def texts_in(documented: Callable[..., Any], section: str) -> dict[str, str]:
    """Return what a section of a docstring says of each name."""
    heading = f"{section}\n{'-' * len(section)}\n"
    entries = (inspect.getdoc(documented) or "").partition(heading)[2].partition("\n\n")[0]
    texts: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", entries):
        names, _, text = entry.partition("\n")
        texts |= dict.fromkeys(names.partition(" : ")[0].split(", "), " ".join(text.split()))
    return texts


def ledger_option(
    text: str = "which ledger", callback: Callable[..., Any] | None = None
) -> Decorator:
    """Return the option ``--ledger``."""
    return click.option(
        "--ledger",
        cls=_UsersLedger,
        metavar="URL",
        callback=callback,
        help=f"{text}; by default this user's",
    )


def existing_ledger(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option ``--ledger`` and pass the ledger that it names, which must be there."""
    return ledger_option(callback=lambda _ctx, _param, url: open_existing(url))(function)


def optional_ledger(text: str) -> Decorator:
    """Return the option ``--ledger`` of a command that needs none: an open ledger, or None."""
    return click.option(
        "--ledger",
        metavar="URL",
        callback=lambda _ctx, _param, url: None if url is None else open_existing(url),
        help=text,
    )


def refuse_silence(guarantee: Guarantee) -> None:
    """End a command on a model whose promise does not hold by an exit status that says so."""
    if guarantee.state == DOES_NOT_HOLD:
        raise VoidError("The promise of this model does not hold; do not publish it as private.")


# ------------------------------------------------------------------------------------ printed text


def say(text: str = "", *, end: str = "\n") -> None:
    """Print at once, also into a pipe.

    A letter that the terminal lacks is written as its code, and a reader that has left is no
    error: neither undoes what the command does.

    Raises
    ------
    FailedError
        If the output cannot be written, as on a full disk.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        click.echo(text.encode(encoding, "backslashreplace").decode(encoding) + end, nl=False)
    except BrokenPipeError:
        pass
    except OSError as error:
        raise FailedError(
            f"The standard output cannot be written ({error.strerror}). What was done before that "
            "stands; see `interpret-dp ledger show`."
        ) from error


def discard_unwritten_output() -> None:
    """Discard output that could not be written; Python would fail on it when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say_item(label: str, text: str) -> None:
    """Print a label and its text, wrapped to the width of the terminal."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    say(
        textwrap.fill(
            text,
            width=max(width, 40),
            initial_indent=label.ljust(_LABEL_WIDTH) + " ",
            subsequent_indent=" " * (_LABEL_WIDTH + 1),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def say_table(head: tuple[str, ...], body: Sequence[tuple[str, ...]]) -> None:
    """Print rows of text in aligned columns; words of users do not steer the terminal."""
    body = [tuple(cell if cell.isprintable() else repr(cell) for cell in row) for row in body]
    for line in text_table(head, body):
        say(f"  {line}".rstrip())


@contextmanager
def step(label: str) -> Iterator[None]:
    """Print a step of the work, and how long it took."""
    say(f"  {label} ".ljust(_STEP_WIDTH, "."), end=" ")
    start = time.perf_counter()
    try:
        yield
    except BaseException:
        say("failed")
        raise
    say(f"{time.perf_counter() - start:.1f} s")


# --------------------------------------------------------------------------------- files and ledger


@contextmanager
def pending_file(path: str, *, overwrite: bool, option: str = "--out") -> Iterator[Path]:
    """Claim a result file now; put the finished one in its place on success.

    Parameters
    ----------
    path : str
        Where the result will be.
    overwrite : bool
        Whether a file that is there may be replaced.
    option : str
        The option that named the path, for messages.

    Yields
    ------
    Path
        An empty file beside ``path``, to hold the result. If the block fails it is removed again.

    Raises
    ------
    CommandError
        If the file is there already, or cannot be written. Nothing was done then.
    OSError
        If the finished file cannot be put in its place; it is kept, and named.
    """
    final = Path(path)
    if final.exists() and not overwrite:
        raise CommandError(
            f"{option} is {path!r}, which exists already. Give another path, or add --overwrite."
        )
    with ExitStack() as stack:
        try:
            pending = stack.enter_context(replaced_file(final))
        except OSError as error:
            raise CommandError(
                f"{option} is {path!r}, which cannot be written ({error.strerror}). Give a path in "
                "a folder that exists and that you may write to."
            ) from error
        yield pending


def write_text(option: str, path: str, text: str, *, overwrite: bool) -> None:
    """Write a result file and say so; errors are those of :func:`pending_file`."""
    with pending_file(path, overwrite=overwrite, option=option) as pending:
        pending.write_text(text, encoding="utf-8")
    say_item("Written", path)


def open_existing(url: str) -> PrivacyLedger:
    """Open a ledger that is there: a new one would know nothing of what was spent.

    Raises
    ------
    CommandError
        If there is no such ledger.
    """
    from interpret_dp.ledger import PrivacyLedger

    missing = _missing_file(url)
    if missing is not None:
        raise CommandError(
            f"There is no ledger file {missing!r}. Name another with --ledger, or start one with "
            "`interpret-dp ledger create`."
        )
    return PrivacyLedger.existing(url)


def _folder() -> Path:
    from platformdirs import user_data_path

    try:
        return user_data_path("interpret_dp", appauthor=False)
    except RuntimeError:
        # A user without a home.
        return Path.cwd()


def default_ledger() -> str:
    """Return the URL of this user's ledger, the same in every working folder."""
    path = str(_folder() / "privacy.db")
    if path.isascii() and not set(path) & set("%?#"):
        return f"sqlite:///{path}"
    from interpret_dp.ledger.store import resolve_url

    return resolve_url("sqlite:///privacy.db").set(database=path).render_as_string()


def open_to_spend(url: str) -> PrivacyLedger:
    """Open a ledger that a budget may create; create the folder of the default ledger."""
    from interpret_dp.ledger import PrivacyLedger

    if url == default_ledger():
        try:
            _folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(
                f"The folder {str(_folder())!r} of your ledger cannot be made ({error.strerror}). "
                "Name another file: --ledger sqlite:///privacy.db; in Python, "
                'ledger=PrivacyLedger("sqlite:///privacy.db").'
            ) from None
    return PrivacyLedger(url)


def other_ledgers(file: str, url: str) -> list[str]:
    """Note that a ledger is charged for a file; return the others of this user that are.

    The file counts by its path alone: a hash of its content would tell whether a guessed table is
    the true one. Of two fits that start at the same moment, one may go unnoted.

    Parameters
    ----------
    file : str
        The table's path.
    url : str
        The ledger's, without a password.
    """
    notes = _folder() / "charged_files.json"
    known = read_json(notes) if notes.exists() else {}
    path = os.path.realpath(file)
    ledgers = known.get(path, []) if isinstance(known, dict) else None
    if not isinstance(ledgers, list):
        raise ValueError(f"{str(notes)!r} is no list of ledgers by file. Delete it.")
    if url not in ledgers:
        known[path] = [*ledgers, url]
        notes.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(notes, json.dumps(known, indent=1))
    return [other for other in ledgers if other != url and _missing_file(other) is None]


def _missing_file(url: str) -> str | None:
    """Return the file that an SQLite ledger should be in, if it is not there."""
    from interpret_dp.ledger.store import resolve_url

    parsed = resolve_url(url)
    path = parsed.database or ""
    return path if parsed.drivername == "sqlite" and not os.path.exists(path) else None
