"""``interpret-dp audit``: attacks on our own claims, on made-up people, that anyone can repeat."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from interpret_dp.cli.console import CommandError, FailedError, add_command, say

if TYPE_CHECKING:
    from interpret_dp.audit.suite import AuditTask, Progress

__all__ = ["add_to"]

_MOST_JOBS = 2


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``audit``."""
    parser = add_command(
        commands,
        "audit",
        summary="attack our own claims, and show what the attacks prove",
        description="Attack every explainer of this package on made-up people: replays with the "
        "same noise on neighbouring tables, membership attacks, one-run audits. Half of the noise "
        "and interpret's own regressor must be found. Fails if a claim of ours is refuted or a "
        "control is not found. Passing proves nothing: docs/audit.md.",
        example="interpret-dp audit --out audit_output",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a minute instead of ten; finds gross errors only"
    )
    parser.add_argument(
        "--only",
        metavar="TEXT",
        help="only attacks whose name contains this text, such as replay, or classifier",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(_MOST_JOBS, os.cpu_count() or 1),
        metavar="N",
        help=f"processes (default: {_MOST_JOBS} at most)",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="write audit.md, audit.json and audit.png into this folder"
    )
    parser.add_argument(
        "--page",
        metavar="FILE",
        help="put the tables into this page, between its marks, as docs/audit.md has them",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> None:
    from interpret_dp._documents import write_file
    from interpret_dp.audit.suite import run_tasks, tasks_of
    from interpret_dp.audit.tables import draw_figure, put_into_page, to_json, to_markdown
    from interpret_dp.cli.outputs import new_folder
    from interpret_dp.fitting.progress import progress

    if arguments.jobs < 1:
        raise CommandError(f"--jobs is {arguments.jobs}; it must be at least 1.")
    tasks = tasks_of("quick" if arguments.quick else "full")
    if arguments.only is not None:
        tasks = [task for task in tasks if arguments.only in task.title]
    if not tasks:
        raise CommandError(f"--only is {arguments.only!r}, and no attack has that in its name.")
    page = None if arguments.page is None else Path(arguments.page)
    # Before the attacks, which take long: a folder that cannot be made, a page without marks.
    folder = None if arguments.out is None else new_folder(arguments.out)
    text = "" if page is None else page.read_text(encoding="utf-8")
    if page is not None:
        put_into_page(text, "")

    def bar(task: AuditTask) -> Progress:
        return partial(progress, verbose=True, desc=task.title, leave=False, position=1)

    found = run_tasks(tasks, jobs=arguments.jobs, progress=bar)
    lines = list(progress(found, verbose=True, total=len(tasks), desc="attacks", unit="attack"))
    markdown = to_markdown(lines)
    if folder is not None:
        write_file(folder / "audit.md", markdown)
        write_file(folder / "audit.json", to_json(lines))
        draw_figure(lines, folder / "audit.png")
    if page is not None:
        write_file(page, put_into_page(text, markdown))
    say(markdown)
    wrong = [line.subject for line in lines if not line.is_as_expected]
    if wrong:
        raise FailedError(
            f"{len(wrong)} of {len(lines)} attacks did not end as they must: {'; '.join(wrong)}. "
            "A refuted claim of ours is a bug: please report it (CONTRIBUTING.md)."
        )
