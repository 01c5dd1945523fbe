"""``python -m benchmarks.audit``: attacks on our own claims, on made-up people."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interpret_dp.cli.console import COUNT, CommandError, FailedError, say

if TYPE_CHECKING:
    from benchmarks.audit.suite import AuditTask, Progress

_MOST_JOBS = 2
_LONG = 100  # seconds


@click.command()
@click.option("--quick", is_flag=True, help="a minute instead of ten; finds gross errors only")
@click.option(
    "--only", help="only attacks whose name contains this text, such as replay, or classifier"
)
@click.option(
    "--jobs",
    type=COUNT,
    default=min(_MOST_JOBS, os.cpu_count() or 1),
    help=f"processes (default: {_MOST_JOBS} at most)",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="write audit.json and audit.png into this folder",
)
def audit(quick: bool, only: str | None, jobs: int, out: Path | None) -> None:
    """Attack our own claims, and show what the attacks prove.

    Every explainer of this package is attacked on made-up people: replays with the same noise on
    neighbouring tables, membership attacks, one-run audits. Controls (less noise, interpret's
    regressor) must be found. Fails if a claim of ours is refuted or a control is missed. Passing
    proves nothing: docs/audit.md.
    """
    from benchmarks.audit.results import draw_figure, to_json, to_markdown
    from benchmarks.audit.suite import run_tasks, seconds_of, tasks_of
    from interpret_dp._documents import write_file
    from interpret_dp.fitting.account import progress

    tasks = tasks_of("quick" if quick else "full")
    if only is not None:
        tasks = [task for task in tasks if only in task.title]
    if not tasks:
        raise CommandError(f"--only is {only!r}, and no attack has that in its name.")
    if out is not None:
        # A folder that cannot be made is refused before the attacks, which take long.
        out.mkdir(parents=True, exist_ok=True)

    seconds = seconds_of(tasks, jobs)
    long = f"{seconds:.0f} seconds" if seconds < _LONG else f"{seconds / 60:.0f} minutes"
    click.echo(f"Attacks: {len(tasks)}. Free cores: {jobs}. Time: about {long}.", err=True)

    def bar(task: AuditTask) -> Progress:
        return partial(progress, verbose=True, desc=task.title, leave=False, position=1)

    results = run_tasks(tasks, jobs=jobs, progress=bar)
    lines = list(progress(results, verbose=True, total=len(tasks), desc="attacks", unit="attack"))
    if out is not None:
        write_file(out / "audit.json", to_json(lines))
        draw_figure(lines, out / "audit.png")
    say(to_markdown(lines))
    wrong = [line.subject for line in lines if not line.is_as_expected]
    if wrong:
        raise FailedError(
            f"{len(wrong)} of {len(lines)} attacks did not end as expected: {'; '.join(wrong)}. "
            "A refuted claim of ours is a bug: please report it (CONTRIBUTING.md)."
        )


if __name__ == "__main__":
    audit()
