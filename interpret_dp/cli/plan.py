"""``interpret-dp plan``: what a budget buys, before a private row is read."""

from __future__ import annotations

from typing import Any

import click

from interpret_dp.cli import console


@console.command("plan --schema schema.toml --rows 5000 --rate 0.2 --delta 1e-6")
@console.schema_option
@click.option(
    "--rows",
    "n_rows",
    type=click.IntRange(min=2),
    multiple=True,
    required=True,
    help="how many rows the table has, by your public guess; may be repeated",
)
@click.option(
    "--epsilon",
    type=console.POSITIVE,
    multiple=True,
    default=(0.1, 0.5, 1.0, 2.0),
    show_default=True,
    help="privacy loss of one fit; may be repeated",
)
@click.option("--delta", type=console.PROBABILITY, required=True, help="delta of every fit")
@click.option(
    "--rate",
    type=float,
    multiple=True,
    help="the target has labels: the share of the second one, or each share in turn, by your guess",
)
@click.option(
    "--spread",
    type=console.POSITIVE,
    help="the target is a number: its standard deviation, by your guess",
)
@click.option("--limit", type=console.POSITIVE, help="say how many fits this epsilon has room for")
@click.option(
    "--ledger",
    metavar="URL",
    callback=lambda _context, _option, url: None if url is None else console.open_existing(url),
    help="say how many fits this ledger has room for; with --dataset",
)
@click.option("--dataset", metavar="NAME", help="the data set's name in the ledger")
@click.option(
    "--width",
    type=console.POSITIVE,
    help="say which epsilon gives a band of +-WIDTH over an eighth of the rows",
)
@click.option("--html", type=console.OUTPUT_FILE, help="write both figures as one HTML file")
@console.overwrite_option
def plan(width: float | None, html: str | None, overwrite: bool, **given: Any) -> None:
    """Say what a fit would show at several budgets.

    No private row is read, and nothing is charged: the trainer fits rows that are simulated from
    the schema, with the noise of a private fit. A ledger is read, never written.
    """
    from interpret_dp.ebm import planning
    from interpret_dp.schema import Schema

    rate, schema = given.pop("rate"), Schema.load(given.pop("schema_file"))
    given["rate"] = rate[0] if len(rate) == 1 else list(rate) or None
    planned = planning.plan(schema, **given)
    console.say_table(planned.text_columns, planned.text_rows())
    for note in planned.notes:
        console.say_item("Note", note)
    if width is not None:
        for size in given["n_rows"]:
            needed = planned.epsilon_for(width, size)
            console.say_item("Needed", f"epsilon {needed:.3g} for ±{width:g} with {size:,} rows")
    if html is not None:
        with console.pending_file(html, overwrite=overwrite, option="--html") as pending:
            pending.write_text(planned.to_html(), encoding="utf-8")
        console.say_item("Written", html)
