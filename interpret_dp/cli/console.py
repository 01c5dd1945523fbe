"""What every command shares: its one kind of error, its wording, its argument types."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from interpret_dp._figures import floor_text
from interpret_dp.cli.user_folder import default_ledger
from interpret_dp.exceptions import InterpretDPError

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = [
    "CommandError",
    "FailedError",
    "Help",
    "add_command",
    "add_ledger_option",
    "count",
    "discard_unwritten_output",
    "left_text",
    "open_existing",
    "port_number",
    "positive_number",
    "probability",
    "probability_or_zero",
    "say",
    "say_items",
    "say_table",
    "step",
]

_LABEL_WIDTH = 11
_STEP_WIDTH = 64
_WIDEST = 100


class CommandError(InterpretDPError):
    """What was given cannot be used; the message is all that the user sees."""

    exit_code = 2


class FailedError(CommandError):
    """The request was sound, and it was refused or failed."""

    exit_code = 1


class Help(argparse.HelpFormatter):
    """Fills each paragraph to the terminal's width, but for those with indented lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            part if "\n  " in f"\n{part}" else super(Help, self)._fill_text(part, width, indent)
            for part in paragraphs
        )


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
        print(
            text.encode(encoding, "backslashreplace").decode(encoding),
            end=end,
            flush=True,
        )
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


def say_items(items: Iterable[tuple[str, str]]) -> None:
    """Print labels and their texts, wrapped to the width of the terminal."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    for label, text in items:
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


def say_table(head: tuple[str, ...], body: list[tuple[str, ...]]) -> None:
    """Print rows of text in aligned columns."""
    widths = [max(map(len, cells)) for cells in zip(head, *body, strict=True)]
    for line in (head, *body):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        say(f"  {'  '.join(cells)}".rstrip())


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


def left_text(epsilon: float, delta: float) -> str:
    """Return what one more release may cost, never above the true value."""
    if epsilon <= 0:
        return f"nothing at delta {delta:g}"
    return f"one more release of at most epsilon {floor_text(epsilon)} at delta {delta:g}"


def positive_number(text: str) -> float:
    """Read a finite number above 0, for argparse."""
    return _number(text, high=float("inf"), allowed="a number above 0")


def probability(text: str) -> float:
    """Read a number between 0 and 1, for argparse."""
    return _number(text, high=1.0, allowed="a number above 0 and below 1, such as 1e-6")


def probability_or_zero(text: str) -> float:
    """Read a number between 0 and 1, or 0, for argparse."""
    return _number(text, high=1.0, allowed="0, or a number below 1 such as 1e-7", zero=True)


def port_number(text: str) -> int:
    """Read the number of a port, for argparse."""
    if text.isdecimal() and 1 <= int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 1 to 65535")


def count(text: str) -> int:
    """Read a whole number above 0, for argparse."""
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is out of range; give a whole number above 0")


def _number(text: str, *, high: float, allowed: str, zero: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if 0.0 < value < high or (zero and value == 0.0):
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is out of range; give {allowed}")


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    *,
    summary: str,
    description: str,
    example: str = "",
) -> argparse.ArgumentParser:
    """Add a command whose help ends with an example."""
    return commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"example:\n  {example}" if example else None,
        formatter_class=Help,
    )


def add_ledger_option(parser: argparse.ArgumentParser, what: str = "which ledger") -> None:
    """Add ``--ledger``."""
    parser.add_argument(
        "--ledger",
        metavar="URL",
        default=default_ledger(),
        help=f"{what} (default: this user's, %(default)s)",
    )


def open_existing(url: str) -> PrivacyLedger:
    """Open a ledger that is there: a new one would know nothing of what was spent.

    Raises
    ------
    CommandError
        If there is no such ledger.
    """
    from pathlib import Path

    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.ledger.core.store import resolve_url

    resolved = resolve_url(url)
    if resolved.drivername == "sqlite" and not Path(resolved.database or "").exists():
        raise CommandError(
            f"There is no ledger file {resolved.database!r}. Name another with --ledger, or start "
            "one with `interpret-dp ledger create`."
        )
    return PrivacyLedger.existing(url)
