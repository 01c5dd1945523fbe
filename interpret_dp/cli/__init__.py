"""The command line ``interpret-dp``: from a table to a private model, its pictures and its bill.

Importing this, and asking for help, loads nothing heavy: every command imports what it needs.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from interpret_dp._version import __version__
from interpret_dp.cli import demo, edits, fit, ledger, prepare, show
from interpret_dp.cli.console import Group, discard_unwritten_output
from interpret_dp.exceptions import InterpretDPError

if TYPE_CHECKING:
    from interpret_dp.sites import Site

__all__ = ["commands", "main"]

_DESCRIPTION = """\
Differentially private, inherently interpretable models for InterpretML.

\b
  A first tour that needs no data:      interpret-dp demo
  From a table to a private model:      interpret-dp schema draft, plan, fit, show
  What was spent on a data set so far:  interpret-dp ledger show
"""
# What was given cannot be used; any other error of the operating system is a failure.
_UNUSABLE = (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


@click.group(
    cls=Group,
    invoke_without_command=True,
    help=_DESCRIPTION,
    epilog="Help on one command: interpret-dp COMMAND --help",
    context_settings={"max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, message="interpret-dp %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Show the help where no command was given."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    *(demo.demo, prepare.schema, prepare.plan, fit.fit, show.show),
    *(show.card, show.registry, edits.group, edits.predict, ledger.group, prepare.sites),
):
    commands.add_command(_command)


def main(argv: Sequence[str] | None = None, *, site: Site | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; by default those of the process.
    site : Site, default=None
        This site, if ``fit`` trains on its rows together with others.

    Returns
    -------
    int
        0 if all went well. Else one message is on the standard error: 2 if what was given cannot
        be used (a file, a schema, an option's value), 1 if the request was refused or failed (a
        budget, a ledger, a disk, an interruption).
    """
    with warnings.catch_warnings():
        warnings.showwarning = _say_warning
        code, message = _outcome(argv, site)
    if message:
        click.echo(f"interpret-dp: {message}", err=True)
    discard_unwritten_output()
    return code


def _outcome(argv: Sequence[str] | None, site: Site | None) -> tuple[int, str]:
    """Return the exit code and what is to be said of an error."""
    try:
        commands.main(argv, prog_name="interpret-dp", standalone_mode=False, obj=site)
    except click.Abort:
        return 1, (
            "interrupted. If a fit was under way, what it had released is charged: see "
            "`interpret-dp ledger show`."
        )
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "interpret-dp"
        return error.exit_code, f"{error.format_message()} See `{command} --help`."
    except click.ClickException as error:
        return error.exit_code, error.format_message()
    except (InterpretDPError, ModuleNotFoundError, ValueError, OSError) as error:
        return (2 if isinstance(error, _UNUSABLE) else 1), _message(error)
    return 0, ""


def _say_warning(message: Warning | str, *_place: object, **_file: object) -> None:
    """Print a warning like an error: the line of code that gave it is of no use to the user."""
    with suppress(OSError):
        click.echo(f"interpret-dp: warning: {message}", err=True)


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        problem = error.strerror[0].lower() + error.strerror[1:]
        return f"{os.fspath(error.filename)!r} cannot be used: {problem}. Check the path."
    return str(error)
