"""Errors of our parts appear where the part would be, in words, and leave the page alive."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import dash
from dash import html
from dash.development.base_component import Component

__all__ = ["error_message", "message_on_error"]

_log = logging.getLogger(__name__)


def error_message(error: BaseException) -> Component:
    """Return what a card says about an error; the full record goes to the log.

    Everything that runs here sees public results only, so its messages may be shown.
    """
    _log.warning("A part of interpret's dashboard failed.", exc_info=error)
    return html.Div(
        [
            html.B("This part could not be shown. "),
            f"{type(error).__name__}: {error}",
        ],
        className="idp-error",
        role="alert",
    )


def message_on_error(
    n_outputs: int = 1, message: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a callback of Dash: its errors become a message in one of its outputs.

    Parameters
    ----------
    n_outputs : int
        How many outputs the callback has.
    message : int
        Which of them, from 0, is the ``children`` that takes the message; the others stay.
    """

    def decorate(callback: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(callback)
        def wrapped(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except dash.exceptions.PreventUpdate:
                raise
            except Exception as error:
                shown = error_message(error)
                if n_outputs == 1:
                    return shown
                return tuple(shown if i == message else dash.no_update for i in range(n_outputs))

        return wrapped

    return decorate
