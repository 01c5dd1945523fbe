"""Result files: checked before anything is spent, never half written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from interpret_dp._documents import replaced_file
from interpret_dp.cli.console import CommandError

__all__ = ["new_folder", "pending_file"]


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
    if final.is_dir():
        raise CommandError(f"{option} is {path!r}, which is a folder. Give the path of a file.")
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


def new_folder(path: str, *, option: str = "--out") -> Path:
    """Return a folder that exists, made if it was not there.

    Raises
    ------
    CommandError
        If it can neither be found nor made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"{option} is {path!r}, which is no folder and cannot be made one ({error.strerror}). "
            "Give the path of a folder."
        ) from error
    return folder
