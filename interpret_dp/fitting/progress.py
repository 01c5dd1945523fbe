"""Progress bars that cannot fail: an error while rows are summed would cost the whole request."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

_Item = TypeVar("_Item")


class _StandardError:
    """The standard error, as far as it can be written: it may be full, closed or not there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def write(self, text: str) -> None:
        with suppress(Exception):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(Exception):
            sys.stderr.flush()


def progress(items: Iterable[_Item], *, verbose: bool, **options: Any) -> Iterable[_Item]:
    """Return the items, with a bar on the standard error if it is wanted.

    Parameters
    ----------
    items : iterable
        What the bar counts. Numbers of rounds and time only: a training loss would be a release.
    verbose : bool
        Whether there is a bar.
    **options
        As ``tqdm.tqdm`` takes them.
    """
    if not verbose:
        return items
    from tqdm.auto import tqdm

    bar: Iterable[_Item] = tqdm(items, file=_StandardError(), dynamic_ncols=True, **options)
    return bar
