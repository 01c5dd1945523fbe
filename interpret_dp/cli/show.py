"""``interpret-dp show``: a model's explanation in interpret's dashboard, or as one HTML file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from interpret_dp.cli.console import add_command, open_existing, port_number, say_items

__all__ = ["add_page_options", "add_to"]


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``show``."""
    parser = add_command(
        commands,
        "show",
        summary="show a model in interpret's dashboard, as HTML, or its promise as text",
        description="Show the shape functions or filters of a model, with what they cost. "
        "With --ledger the log is checked against the head that the model carries. Looking costs "
        "nothing.",
        example="interpret-dp show model.json --html model.html",
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a file that `interpret-dp fit` or a model's save() wrote"
    )
    parser.add_argument(
        "--ledger", metavar="URL", help="show what the data set has cost so far, from this ledger"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write one HTML file that needs no network, and do not serve anything",
    )
    parser.add_argument(
        "--text",
        action="store_true",
        help="print the promise, what it assumes and what is public, and do not serve anything",
    )
    add_page_options(parser)
    parser.set_defaults(run=_run)


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the served page."""
    parser.add_argument(
        "--port", type=port_number, help="port on 127.0.0.1 (default: any that is free)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, open no browser"
    )


def _run(arguments: argparse.Namespace) -> None:
    from interpret_dp.cli.fit import account_items
    from interpret_dp.cli.outputs import pending_file
    from interpret_dp.explanation import PrivacySpend
    from interpret_dp.explanation.export import write_html
    from interpret_dp.llm.files import load_model
    from interpret_dp.released import AdditiveModel

    ledger = None if arguments.ledger is None else open_existing(arguments.ledger)
    model = load_model(arguments.model, ledger)
    released = model.to_released()
    privacy = PrivacySpend.of_model(model.guarantee_, ledger)
    say_items([("Guarantee", model.guarantee_.sentence), *account_items(privacy)])
    head = model.guarantee_.ledger_head
    if ledger is not None and head is not None:
        ledger.verify(head)
        say_items([("Log", f"whole, and it holds the model's head {head}")])
    if arguments.text:
        say_items(_promise_items(model))
    if arguments.html is not None:
        if not isinstance(released, AdditiveModel):
            raise ValueError(
                f"--html {arguments.html}: {arguments.model} holds a DP-LLM, and pages are written "
                "of additive models alone. Leave --html away to see its filters in interpret's "
                "dashboard, or give --text for its promise."
            )
        with pending_file(arguments.html, overwrite=True, option="--html") as pending:
            write_html(pending, released, privacy)
        say_items([("Written", arguments.html)])
    if arguments.html is not None or arguments.text:
        return
    from interpret_dp.cli.serve import serve

    name = model.guarantee_.dataset or "model"
    shown = "shape functions" if isinstance(released, AdditiveModel) else "filters"
    serve(
        model.explain_global(name=f"{name}: {shown}"),
        port=arguments.port,
        open_browser=not arguments.no_browser,
    )


def _promise_items(model: Any) -> list[tuple[str, str]]:
    """Return what the promise assumes, how it was made, and what counts as public."""
    guarantee, schema = model.guarantee_, model.schema_
    columns = [f"{name}: {spec!r}" for name, spec in schema.features.items()]
    columns += [f"target: {schema.target!r}"] if schema.target is not None else []
    return [
        *_labelled("Assumes", guarantee.assumptions),
        ("Made with", guarantee.mechanism),
        *_labelled("Public", columns),
        ("Head", guarantee.ledger_head or "none: no ledger that lasts was charged"),
    ]


def _labelled(label: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    return [(label if place == 0 else "", line) for place, line in enumerate(lines)]
