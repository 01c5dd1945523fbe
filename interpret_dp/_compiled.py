"""Loops that numba compiles.

Import it where it is needed: numba takes long to import.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, TypeVar

import numba

_Loop = TypeVar("_Loop", bound=Callable[..., Any])


def compiled(
    *signatures: Any, error_model: Literal["python", "numpy"] = "python"
) -> Callable[[_Loop], _Loop]:
    """Return a decorator that compiles a loop, and keeps the code in numba's cache if it can.

    A disk that is full or read-only costs seconds of compiling. As an error it would cost a request
    that is charged already.

    Parameters
    ----------
    *signatures : numba signatures
        Compiled at once; by default each signature at its first call.
    error_model : {"python", "numpy"}
        What a division by zero does.
    """

    def compile_loop(function: _Loop) -> _Loop:
        # No fastmath: what a row adds must not depend on how the compiler groups rows.
        loop: Any = numba.njit(nogil=True, boundscheck=False, error_model=error_model)(function)
        if not hasattr(loop, "enable_caching"):
            # NUMBA_DISABLE_JIT is set.
            return function
        with suppress(RuntimeError, OSError):
            loop.enable_caching()
            store = loop._cache.save_overload

            def store_if_possible(*compiled_code: Any) -> None:
                with suppress(OSError):
                    store(*compiled_code)

            loop._cache.save_overload = store_if_possible
        for signature in signatures:
            loop.compile(signature)
        if signatures:
            loop.disable_compile()
        return loop  # type: ignore[no-any-return]

    return compile_loop
