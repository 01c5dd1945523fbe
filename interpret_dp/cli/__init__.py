"""The command line ``interpret-dp``: from a table to a private model, its pictures and its bill.

Importing this, and asking for help, loads nothing heavy: every command imports what it needs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from interpret_dp._version import __version__
from interpret_dp.cli import audit, demo, fit, ledger, schema, show
from interpret_dp.cli.console import CommandError, Help, discard_unwritten_output
from interpret_dp.exceptions import InterpretDPError

__all__ = ["build_parser", "main"]

_DESCRIPTION = """\
Differentially private, inherently interpretable models for InterpretML.

  A first tour that needs no data:      interpret-dp demo
  From a table to a private model:      interpret-dp schema draft, fit, show
  What was spent on a data set so far:  interpret-dp ledger show
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``run``, the function that carries it out."""
    parser = argparse.ArgumentParser(
        prog="interpret-dp",
        description=_DESCRIPTION,
        epilog="Help on one command: interpret-dp COMMAND --help",
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"interpret-dp {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for module in (demo, schema, fit, show, ledger, audit):
        module.add_to(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 if all went well. Else one message is on the standard error: 2 if what was given cannot
        be used (a file, a schema, an option's value; argparse ends the process with 2 too), 1 if
        the request was refused or failed (a budget, a ledger, a disk, an interruption).
    """
    parser = build_parser()
    try:
        arguments = parser.parse_args(argv)
        if hasattr(arguments, "run"):
            arguments.run(arguments)
        else:
            parser.print_help()
    except KeyboardInterrupt:
        print(
            "\ninterpret-dp: interrupted. If a fit was under way, what it had released is charged: "
            "see `interpret-dp ledger show`.",
            file=sys.stderr,
        )
        return 1
    except (InterpretDPError, ValueError, OSError) as error:
        print(f"interpret-dp: {_message(error)}", file=sys.stderr)
        return _exit_code(error)
    finally:
        discard_unwritten_output()
    return 0


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        problem = error.strerror[0].lower() + error.strerror[1:]
        return f"{os.fspath(error.filename)!r} cannot be used: {problem}. Check the path."
    return str(error)


def _exit_code(error: Exception) -> int:
    if isinstance(error, CommandError):
        return error.exit_code
    unusable = (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError)
    return 2 if isinstance(error, unusable) else 1
