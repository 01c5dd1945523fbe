"""``interpret-dp show``, ``card`` and ``registry``: what was released, and what it promises."""

from __future__ import annotations

import atexit
import math
import os
import signal
import socket
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from interpret_dp.cli import console
from interpret_dp.cli.edits import open_current, open_released

if TYPE_CHECKING:
    from interpret_dp.accounting import Guarantee
    from interpret_dp.cli.tables import CsvFormat, DeclaredTable
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.schema import Schema


# Serves explanations in interpret's own dashboard until the user stops it.

_HOST = "127.0.0.1"
_START_SECONDS = 10.0


def serve(explanations: Any, *, port: int | None, no_browser: bool) -> None:
    """Serve on this machine alone until Ctrl-C.

    Parameters
    ----------
    explanations : explanation or list of explanations
        Public. A list is shown in the full dashboard, with a tab for each kind.
    port : int or None
        None: any free one.
    no_browser : bool
        Open no page. Else one is opened where there is a screen.

    Raises
    ------
    CommandError
        If the port is taken or the server does not start.
    """
    import interpret
    from interpret.provider import DashProvider

    from interpret_dp.editor.autosave import autosaves
    from interpret_dp.ui.dash.install import GuardedServer

    port = _claim_port(port)
    provider = DashProvider.from_address((_HOST, port))
    GuardedServer.use_in(provider.app_runner)
    interpret.set_visualize_provider(provider)
    provider.idempotent_start()
    # The process crashes on its way out if the server's thread is still running.
    atexit.register(interpret.shutdown_show_server)
    url = interpret.show_link(explanations)
    _wait_for_server(port)
    # Before the address is printed: whoever reads it may stop the server at once.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        console.say_item("Dashboard", url)
        console.say_item("", "Only this machine can reach it. Stop it with Ctrl-C.")
        if not no_browser and _has_screen():
            import webbrowser

            webbrowser.open(url)
        threading.Event().wait()
    except KeyboardInterrupt:
        console.say("\nStopped.")
        for autosave in autosaves():
            console.say_item(
                "Edits",
                f"kept in {autosave.path}; the next show of this model offers them, and "
                "`interpret-dp card`, `registry` and `predict` know those that were committed",
            )
    finally:
        signal.signal(signal.SIGTERM, previous)


def _claim_port(port: int | None) -> int:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_HOST, port or 0))
        except OSError as error:
            raise console.CommandError(
                f"--port is {port}, which cannot be used ({error.strerror}). Give another, or "
                "leave it out to take any free one."
            ) from error
        return int(listener.getsockname()[1])


def _wait_for_server(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection((_HOST, port), timeout=1.0).close()
        except OSError as error:
            if time.monotonic() > deadline:
                raise console.FailedError(
                    f"No server started on port {port} in {_START_SECONDS:g} s. Try another --port."
                ) from error
            time.sleep(0.05)
        else:
            return


def _has_screen() -> bool:
    """Whether a browser can be opened without taking over a terminal."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


_statements_option = click.option(
    "--statements",
    type=console.INPUT_FILE,
    help="a .toml file with what only people know: name, data_curators, intended_use, ...",
)

_even_if_void_option = click.option(
    "--even-if-void",
    is_flag=True,
    help="write it although the promise does not hold; it then says so and why",
)


@console.command("show model.json --html model.html")
@click.argument("model_file", metavar="MODEL", type=console.INPUT_FILE)
@console.optional_ledger("show what the data set has cost so far, from this ledger")
@click.option("--html", type=console.OUTPUT_FILE)
@click.option("--text", is_flag=True)
@click.option("--public-rows", metavar="FILE", type=console.INPUT_FILE)
@click.option("--target", metavar="COLUMN")
@console.csv_options
@click.option("--no-autosave", is_flag=True)
@console.overwrite_option
@console.page_options
def show(
    model_file: str,
    ledger: PrivacyLedger | None,
    html: str | None,
    text: bool,
    public_rows: str | None,
    target: str | None,
    no_autosave: bool,
    overwrite: bool,
    **page: Any,
) -> None:
    """Show what was released in interpret's dashboard, as HTML, or its promise as text.

    MODEL is a file that `interpret-dp fit` or save() wrote: a model, or a background. This shows
    its shape functions, filters or columns, and their cost. With --ledger the log is checked
    against the head that MODEL carries. Looking costs nothing. Edits are kept as they are made,
    beside MODEL, and offered by the next show; --html and --text speak of the model with those
    that were committed. Public rows stay in this process: no edit, model or page holds one.

    Options
    -------
    --html
        write one HTML file that needs no network, and do not serve anything
    --text
        print the promise, what it assumes and what is public, and do not serve anything
    --public-rows
        a table of rows that you declare public; the editor shows metrics on them
    --target
        the target's column in the file of public rows
    --no-autosave
        keep no file of edits, and offer none
    """
    from interpret_dp.cli.fit import say_account
    from interpret_dp.released import AdditiveModel

    is_served = html is None and not text
    model = (open_released if is_served else open_current)(model_file, ledger)
    released = model.to_released()
    console.say_item("Guarantee", model.guarantee_.sentence)
    say_account(model.privacy_spend_)
    head = model.guarantee_.ledger_head
    if ledger is not None and head is not None:
        ledger.verify(head)
        _check_charge(ledger, head, model.guarantee_)
        console.say_item("Log", f"intact, and holds the model's head {head}")
    for place, edit in enumerate(getattr(released, "edits", ())):
        console.say_item("" if place else "Edited", str(edit))
    if public_rows is not None and not isinstance(released, AdditiveModel):
        raise console.CommandError(
            f"{model_file} holds no additive model, and only these have metrics on public rows. "
            "Omit --public-rows and --target."
        )
    if html is not None:
        console.write_text("--html", html, model.to_html(), overwrite=overwrite)
    if text:
        _say_promise(model)
    if not is_served:
        console.refuse_silence(model.guarantee_)
        return
    from interpret_dp.cli.tables import CsvFormat

    csv_format = CsvFormat(*map(page.pop, ("sep", "decimal", "encoding")))
    if public_rows is None and csv_format != CsvFormat():
        raise console.CommandError(
            "--sep, --decimal and --encoding say how the file of --public-rows is written, and "
            "there is none. Give --public-rows, or omit them."
        )
    if (public_rows is None) != (target is None):
        raise console.CommandError(
            f"--public-rows is {public_rows} and --target is {target}; give both, or neither."
        )
    name = Path(model_file).stem
    if hasattr(model, "predict"):
        shown = "shape functions" if isinstance(released, AdditiveModel) else "filters"
        explanation = model.explain_global(name=f"{name}: {shown}")
    else:
        explanation = model.explain_data(name=f"{name}: columns")
    if isinstance(released, AdditiveModel):
        if no_autosave:
            explanation.edit_session.autosave.stop()
        if public_rows is not None:
            table = _read_public_rows(public_rows, released.schema, target, csv_format)
            explanation.edit_session.use_public_rows(table.X, table.y, public=True)
            console.say_item("Metrics", f"on {len(table.X):,} public rows")
    serve(explanation, **page)
    console.refuse_silence(model.guarantee_)


def _read_public_rows(
    path: str, schema: Schema, target: str | None, csv_format: CsvFormat
) -> DeclaredTable:
    """Read rows of which nobody is protected: they need no identifier."""
    from interpret_dp.cli.tables import column_names, read_declared

    names = () if schema.people is None else schema.people.columns
    given = [name for name in names if name in column_names(path, csv_format)]
    return read_declared(path, schema.replace(unit=None), target, given, csv_format)


@console.command("registry model.json --statements about.toml --output record.yaml")
@click.argument("model_file", metavar="MODEL", type=console.INPUT_FILE)
@_statements_option
@click.option("--output", type=console.OUTPUT_FILE)
@_even_if_void_option
@console.overwrite_option
def registry(
    model_file: str,
    statements: str | None,
    output: str | None,
    even_if_void: bool,
    overwrite: bool,
) -> None:
    """Write a record for OpenDP's registry of deployments.

    MODEL is a file that `interpret-dp fit` or save() wrote. Its guarantee fills most of the record,
    and edits that were committed are in it as post-processing. Without --statements the command
    names what is missing. Nothing is charged, and no row is read.

    Options
    -------
    --output
        write the record, and do not print it
    """
    with _reading(statements) as given:
        text = open_current(model_file).to_registry_yaml(even_if_void=even_if_void, **given)
    if output is None:
        console.say(text, end="")
    else:
        console.write_text("--output", output, text, overwrite=overwrite)


@console.command("card model.json --statements about.toml --output card.html")
@click.argument("model_file", metavar="MODEL", type=console.INPUT_FILE)
@click.option("--output", type=console.OUTPUT_FILE, required=True)
@_statements_option
@click.option("--measured", metavar="NAME VALUE", type=(str, float), multiple=True)
@_even_if_void_option
@console.overwrite_option
def card(
    model_file: str,
    output: str,
    statements: str | None,
    measured: tuple[tuple[str, float], ...],
    even_if_void: bool,
    overwrite: bool,
) -> None:
    """Write one page about a model or background, for those who read or use it.

    MODEL is a file that `interpret-dp fit` or save() wrote; edits that were committed are in the
    card. The statements are those of `interpret-dp registry`; none is required. Nothing is charged,
    and no row is read.

    Options
    -------
    --output
        a file that ends in .html or .md
    --measured
        a figure of accuracy that was measured on public rows, such as AUROC 0.84; may be repeated
    """
    model = open_current(model_file)
    with _reading(statements) as given:
        page = model.card(dict(measured) or None, even_if_void=even_if_void, **given)
        text = page.text_for(output)
    console.write_text("--output", output, text, overwrite=overwrite)


@contextmanager
def _reading(statements: str | None) -> Iterator[dict[str, Any]]:
    """Return what a file states; a statement of another form becomes an error of the command."""
    given: dict[str, Any] = {}
    if statements is not None:
        try:
            given = tomllib.loads(Path(statements).read_text(encoding="utf-8"))
        except ValueError as error:
            raise console.CommandError(f"{statements} is no TOML file: {error}") from None
    try:
        yield given
    except TypeError as error:
        raise console.CommandError(f"{statements}: {error}") from None


def _check_charge(ledger: PrivacyLedger, head: str, guarantee: Guarantee) -> None:
    """Refuse a model whose head is the entry of another request."""
    entries = {entry["number"]: entry for entry in ledger.entries()}
    charge = next(entry for entry in entries.values() if entry["hash"] == head)
    reserved = entries.get(charge["reservation"], charge)
    relation, _, unit = reserved["context"].get("protected", "").partition(": ")
    pair = guarantee.pair
    is_same = (
        (charge["dataset"], relation) == (guarantee.dataset, guarantee.neighboring)
        and (guarantee.unit == unit or guarantee.unit.startswith(f"all rows of {unit} "))
        and (pair is None or math.isclose(charge["mu"], pair.mu, rel_tol=1e-6))
    )
    if not is_same:
        raise console.CommandError(
            f"The entry of the model's head {head} is a {charge['kind']} of mu {charge['mu']:.6g} "
            f"for {unit or 'no unit'} of {charge['dataset']!r}; the model says {pair} for "
            f"{guarantee.unit} of {guarantee.dataset!r}. The file was changed, or has another head."
        )


def _say_promise(model: Any) -> None:
    """Print what the promise assumes, how it was made, and what counts as public."""
    guarantee, schema = model.guarantee_, model.schema_
    columns = [f"{name}: {spec!r}" for name, spec in schema.features.items()]
    columns += [f"target: {schema.target!r}"] if schema.target is not None else []
    for place, line in enumerate(guarantee.shown_assumptions):
        console.say_item("" if place else "Assumes", line)
    console.say_item("Made with", guarantee.mechanism)
    for place, line in enumerate(columns):
        console.say_item("" if place else "Public", line)
    console.say_item("Head", guarantee.ledger_head or "none: no persistent ledger was charged")
    console.say_item("Digest", f"{model.to_released().digest}, of the content, not of the file")
