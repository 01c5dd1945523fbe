"""Where the seconds of a call go: named functions are timed while it runs.

Unlike a profiler, which slows small functions down several times, this costs two looks at the
clock for each call of the functions that are named.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

__all__ = ["REST", "Stage", "timed_stages"]

#: A function as it is looked up: a module or class, and the name in it.
Stage = Sequence[tuple[Any, str]]

REST = "everything else"


class _Clock:
    """Processor seconds of each stage; a stage within another one counts in the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._is_running = False

    def timing(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            if self._is_running:
                return function(*arguments, **named)
            self._is_running = True
            began = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds[name] += time.process_time() - began
                self._is_running = False

        return timed


@contextmanager
def timed_stages(stages: Mapping[str, Stage]) -> Iterator[dict[str, float]]:
    """Yield the processor seconds of each stage of what runs in the block; filled at its end.

    Parameters
    ----------
    stages : mapping of str to Stage
        Functions of one thread.

    Returns
    -------
    dict of str to float
        In the order of ``stages``, and last ``REST``.
    """
    clock = _Clock()
    clock.seconds = dict.fromkeys(stages, 0.0)
    found: dict[str, float] = {}
    with ExitStack() as patches:
        for name, functions in stages.items():
            for owner, attribute in functions:
                timed = clock.timing(name, getattr(owner, attribute))
                patches.enter_context(mock.patch.object(owner, attribute, timed))
        began = time.process_time()
        yield found
        total = time.process_time() - began
    found |= clock.seconds | {REST: total - sum(clock.seconds.values())}
