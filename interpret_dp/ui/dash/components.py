"""Components that the cards, the privacy tab and the editor share, and the names of renderings."""

from __future__ import annotations

import functools
import itertools
import logging
import re
import secrets  # noqa: TID251
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import dash
from dash import dcc, html
from dash.development.base_component import Component

from interpret_dp.explanation.markup import Element
from interpret_dp.explanation.panel import privacy_panel
from interpret_dp.explanation.spend import PrivacySpend

__all__ = ["error_message", "explanation_of", "figure_component", "message_on_error", "new_uid"]
__all__ += ["panel_children", "panel_id", "to_component"]

_log = logging.getLogger(__name__)


# ------------------------------------------------------------------------- panels and figures


def panel_id(uid: Any, key: Any) -> dict[str, Any]:
    """Return the id of the panel of one card; ``dash.MATCH`` may stand for either part."""
    return {"type": "idp-panel", "uid": uid, "key": key}


def panel_children(spend: PrivacySpend) -> Component:
    """Return the panel with the ledger's figures as of now."""
    return to_component(privacy_panel(spend.as_of_now().to_dict()))


def to_component(node: Element) -> Component:
    """Return an element of a page as a component, with its children."""
    attributes = {"className": node.css_class, "title": node.title, "role": node.role}
    component: Component = getattr(html, node.tag.capitalize())(
        [child if isinstance(child, str) else to_component(child) for child in node.children],
        style={_camel(name): value for name, value in node.style.items()},
        **{name: value for name, value in attributes.items() if value},
    )
    return component


def _camel(name: str) -> str:
    return re.sub(r"-(\w)", lambda match: match.group(1).upper(), name)


def figure_component(figure: Any, uid: Any = None, removed: Sequence[str] = ()) -> Component:
    """Return a figure as a component that is as wide as its card.

    Parameters
    ----------
    figure : Figure
    uid : dict or None
        The component's id.
    removed : sequence of str
        Names of plotly's buttons that are not shown.
    """
    config: Any = {"displayModeBar": "hover", "displaylogo": False, "responsive": True}
    config |= {"modeBarButtonsToRemove": list(removed)}
    identity = {} if uid is None else {"id": uid}
    return dcc.Graph(
        figure=figure, config=config, style={"height": f"{figure.layout.height}px"}, **identity
    )


# ------------------------------------------------------------------------------------- errors


def error_message(error: BaseException) -> Component:
    """Return the text that a card shows for an error; the full record goes to the log.

    Everything that runs here sees public results only, so its messages may be shown.
    """
    _log.warning("A part of interpret's dashboard failed.", exc_info=error)
    return html.Div(
        [html.B("This part could not be shown. "), f"{type(error).__name__}: {error}"],
        className="idp-error",
        role="alert",
    )


def message_on_error(n_outputs: int = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a callback of Dash: its errors become a message in its first output.

    Parameters
    ----------
    n_outputs : int
        Number of the callback's outputs. The first is a ``children``; the others stay.
    """

    def decorate(callback: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(callback)
        def guarded(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except dash.exceptions.PreventUpdate:
                raise
            except Exception as error:
                outputs = (error_message(error), *[dash.no_update] * (n_outputs - 1))
                return outputs if n_outputs > 1 else outputs[0]

        return guarded

    return decorate


# ----------------------------------------------------------------------- names of renderings

_lock = threading.Lock()
_explanations: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_numbers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_serial_numbers = itertools.count(1)
# Nobody who has not read a page of this process can name an explanation of it.
_token = secrets.token_urlsafe()


def new_uid(explanation: Any) -> str:
    """Return a name for one rendering of an explanation; no two renderings share it.

    It begins with the token of this process, so that a request that names it was read off a page.
    The explanation is held weakly: interpret's app keeps it as long as it shows it.
    """
    with _lock:
        number = _numbers.get(explanation)
        if number is None:
            number = str(next(_serial_numbers))
            _numbers[explanation] = number
            _explanations[number] = explanation
        return f"{_token}-{number}-{next(_serial_numbers)}"


def explanation_of(uid: str) -> Any:
    """Return the explanation of a rendering, or None if it is gone or of another process."""
    token, _, number = uid.rpartition("-")[0].rpartition("-")
    if not secrets.compare_digest(token.encode(), _token.encode()):
        return None
    with _lock:
        return _explanations.get(number)
