"""Components that cards, tab and editor share, and interpret's dashboard from outside."""

from __future__ import annotations

import functools
import itertools
import logging
import re
import secrets  # noqa: TID251
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import dash
from dash import dcc, html
from dash.development.base_component import Component
from dash.exceptions import MissingCallbackContextException

from interpret_dp._optional import show_providers
from interpret_dp.editor import EditSession
from interpret_dp.editor.session import opened_session
from interpret_dp.explanation.markup import render
from interpret_dp.explanation.objects import PrivateEBMExplanation
from interpret_dp.explanation.panel import panel_html
from interpret_dp.explanation.plots.bars import ratio_text
from interpret_dp.explanation.plots.parts import text_alternative
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveModel

# interpret's dashboard from outside: which apps are its own, what they show, what is running.

# Where interpret's callbacks put what `visualize` returns.
_CONTAINERS = re.compile(r"viz-container|\w+-(overall-plot|plots)-container-\d+")


def filled_container() -> str | None:
    """Return the id that a callback of interpret fills with an explanation; None outside of one."""
    try:
        outputs = dash.ctx.outputs_list
    except MissingCallbackContextException:
        return None
    # One output is given as such, several as a list or mapping; interpret's have one.
    identity = outputs.get("id") if isinstance(outputs, dict) else None
    return identity if isinstance(identity, str) and _CONTAINERS.fullmatch(identity) else None


def explanations_of(app: Any) -> list[Any]:
    """Return the explanations that one of interpret's apps shows, in its order."""
    if app.ctx is not None:
        return [explanation for explanation, _ in app.ctx]
    return [] if app.ctx_item is None else [app.ctx_item[0]]


def shows_ours(app: Any) -> bool:
    """Whether one of interpret's apps shows an explanation of ours."""
    return any(hasattr(explanation, "privacy") for explanation in explanations_of(app))


def runners() -> list[Any]:
    """Return the runners of the server behind ``interpret.show``; empty where there is none."""
    candidates = [getattr(provider, "app_runner", None) for provider in show_providers()]
    return [runner for runner in candidates if runner is not None]


_log = logging.getLogger(__name__)

CLOCK = "idp-clock"
"""Id of the page's only clock."""


# ------------------------------------------------------------------------- the current model


def open_session(explanation: Any) -> EditSession | None:
    """Return the session that edits the model of an explanation; None before anybody opened it."""
    is_additive = isinstance(explanation, PrivateEBMExplanation)
    return opened_session(explanation.model) if is_additive else None


def version_of(explanation: Any) -> int:
    """Return a number that grows with every edit of an explanation's model, from 0."""
    session = open_session(explanation)
    return 0 if session is None else session.version


def of_now(explanation: Any) -> Any:
    """Return the explanation of rows by a model with all edits made so far; another as it is."""
    session = open_session(explanation)
    if session is None or not session.history or is_editable(explanation):
        return explanation
    return session.model.explain_local(*explanation.explained)


class CurrentTables(list[Any]):
    """Explanations of interpret's full app with their tables, by the current model.

    Bars replace the table of terms.
    """

    def __getitem__(self, place: Any) -> Any:
        """Return an explanation and its table, which has interpret's numbers of the rows."""
        explanation, table = super().__getitem__(place)
        if is_editable(explanation):
            return explanation, None
        now = of_now(explanation)
        return explanation, table if now is explanation else now.selector.assign(id=table["id"])


def outdated(part: Any) -> Any:
    """Return the explanation that a part of a page shows with another version of its model.

    None if it is up to date, or the explanation is gone.
    """
    explanation = explanation_of(part["id"]["uid"])
    return explanation if version_of(explanation) != part.get("value", 0) else None


# ------------------------------------------------------------------ cards, panels and figures


def titled_card(title: str, parts: Sequence[Component | None], **properties: Any) -> Component:
    """Return a card that looks like interpret's own."""
    return html.Div(
        [
            html.Div(html.Div(title, className="card-title"), className="card-header"),
            html.Div([part for part in parts if part is not None], className="card-body"),
        ],
        className="card",
        **properties,
    )


def panel_id(uid: Any, key: Any) -> dict[str, Any]:
    """Return the id of what follows the current model; ``dash.ALL`` may stand for either part."""
    return {"type": "idp-panel", "uid": uid, "key": key}


def panel_children(explanation: Any, key: str) -> list[Component]:
    """Return what follows the current model: the privacy of its terms, or the figure of a part.

    ``key`` is the part that is shown, empty for the overview.
    """
    if is_editable(explanation):
        session = explanation.edit_session
        has_edits = bool(session.history)
        spend = session.model.privacy_spend_ if has_edits else explanation.privacy
        return [or_error(privacy_line, spend)]
    return [or_error(_figure, explanation, int(key) if key else None)]


def bars_html(model: AdditiveModel) -> str:
    """Return the terms of a model as bars in HTML, the most important first."""
    terms = sorted(
        (
            (place, name, term.size, term.noise_size, ratio_text(term), term.may_be_noise)
            for place, (name, term) in enumerate(zip(model.term_names, model.terms, strict=True))
        ),
        key=lambda one: -one[2],
    )
    longest = max(max(size, noise or 0.0) for _, _, size, noise, *_ in terms) or 1.0
    return render("terms.html", terms=terms, longest=longest)


def _figure(explanation: Any, key: int | None) -> Component:
    return html.Div(figure_component(of_now(explanation).figure(key, line="")))


def privacy_line(spend: PrivacySpend) -> Component:
    """Return the cost in one line, with all there is to say folded below it."""
    now = spend.as_of_now()
    return html.Details(
        [html.Summary(now.line), from_html(panel_html(now.to_dict()))], className="idp-privacy"
    )


def is_editable(explanation: Any) -> bool:
    """Whether an explanation shows curves that can be edited."""
    return (
        isinstance(explanation, PrivateEBMExplanation) and explanation.explanation_type == "global"
    )


def from_html(
    page: str,
    parts: Mapping[str, Any] | None = None,
    ids: Callable[[str], Any] | None = None,
) -> Component:
    """Return what a template wrote as HTML as a component.

    Parameters
    ----------
    page : str
    parts : mapping, default=None
        Components, or lists of them, that take the places of ``<slot>`` by their names.
    ids : callable, default=None
        Makes the id of a component of the attribute.
    """
    reader = _Reader(parts or {}, ids)
    reader.feed(page)
    reader.close()
    return reader.root


_PROPERTIES = {"class": "className", "tabindex": "tabIndex"}


class _Reader(HTMLParser):
    """Makes each component at its end, the outermost last; our templates have no void elements."""

    root: Component

    def __init__(self, parts: Mapping[str, Any], ids: Callable[[str], Any] | None) -> None:
        super().__init__()
        self.parts, self.ids = parts, ids
        self.stack: list[list[Any]] = [[]]
        self.starts: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        properties: dict[str, Any] = {}
        for name, text in attrs:
            if name == "style":
                pairs = re.findall(r"([\w-]+):\s*([^;]*[^;\s])", text or "")
                properties[name] = {re.sub(r"-(\w)", _capital, key): value for key, value in pairs}
            elif name == "id" and self.ids is not None:
                properties[name] = self.ids(text or "")
            else:
                # An attribute without a value, such as "open", is switched on.
                properties[_PROPERTIES.get(name, name)] = True if text is None else text
        self.starts.append(properties)
        self.stack.append([])

    def handle_endtag(self, tag: str) -> None:
        properties, children = self.starts.pop(), self.stack.pop()
        if tag == "slot":
            part = self.parts[properties["name"]]
            self.stack[-1] += part if isinstance(part, list) else [part]
            return
        self.root = getattr(html, tag.capitalize())(children, **properties)
        self.stack[-1].append(self.root)

    def handle_data(self, data: str) -> None:
        # Line ends between elements are those of the template.
        if data.strip() or "\n" not in data:
            self.stack[-1].append(re.sub(r"\s*\n\s*", " ", data))


def _capital(match: re.Match[str]) -> str:
    return match.group(1).upper()


def figure_component(
    figure: Any, uid: Any = None, removed: Sequence[str] = (), **attributes: Any
) -> Component:
    """Return a figure as a component that is as wide as its card, with a text alternative.

    Parameters
    ----------
    figure : Figure
    uid : dict or None
        The component's id.
    removed : sequence of str
        Names of plotly's buttons that are not shown.
    **attributes
        Of the element around it.
    """
    config: Any = {"displayModeBar": "hover", "displaylogo": False, "responsive": True}
    config |= {"modeBarButtonsToRemove": list(removed)}
    identity = {} if uid is None else {"id": uid}
    graph = dcc.Graph(
        figure=figure, config=config, style={"height": f"{figure.layout.height}px"}, **identity
    )
    name: Any = {"aria-label": text_alternative(figure)}
    return html.Div(graph, role="figure", **name, **attributes)


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


def or_error(make: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function makes, or the text for its error."""
    try:
        return make(*arguments)
    except Exception as error:
        return error_message(error)


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
