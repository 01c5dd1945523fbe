"""Page elements and templates, so that one description becomes HTML here and Dash elsewhere."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from interpret_dp._documents import printable
from interpret_dp._validate import ceil_text, floor_text, moment, selections_text
from interpret_dp.released.additive_model import edits_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class Element:
    """One element of a page.

    Attributes
    ----------
    tag : str
        Name of the HTML element, such as ``"div"``.
    children : tuple of Element or str
        Texts are shown literally, whatever they hold.
    style : dict of str to str
        Style by CSS property. Notebooks drop style sheets of cells that they do not trust, so
        everything is written at the element.
    css_class, title, role : str
        The attributes of the same names (``class``); left out if empty.
    """

    tag: str
    children: tuple[Element | str, ...] = ()
    style: dict[str, str] = field(default_factory=dict)
    css_class: str = ""
    title: str = ""
    role: str = ""

    @property
    def text(self) -> str:
        """All texts below the element, one after the other."""
        texts = (c if isinstance(c, str) else c.text for c in self.children if c)
        return " ".join(text.strip() for text in texts)


def element(
    tag: str,
    *children: Element | str | None,
    style: str = "",
    css_class: str = "",
    title: str = "",
    role: str = "",
) -> Element:
    """Return an element; children that are None are left out, ``style`` is CSS.

    Parameters
    ----------
    tag : str
        Name of the HTML element.
    *children : Element, str or None
    style : str
        ``"property: value; property: value"``, written by this package, never by a user.
    css_class, title, role : str
        Attributes; left out if empty.
    """
    pairs = (entry.split(":", 1) for entry in style.split(";") if entry.strip())
    return Element(
        tag,
        tuple(child for child in children if child is not None),
        {name.strip(): value.strip() for name, value in pairs},
        css_class,
        title,
        role,
    )


def to_html(node: Element | str) -> str:
    """Return the element as HTML without scripts or style sheets; every text is escaped."""
    if isinstance(node, str):
        return html.escape(printable(node))
    attributes = {
        "class": node.css_class,
        "title": node.title,
        "role": node.role,
        "style": "; ".join(f"{name}: {value}" for name, value in node.style.items()),
    }
    written = "".join(
        f' {name}="{html.escape(printable(value))}"' for name, value in attributes.items() if value
    )
    return f"<{node.tag}{written}>{''.join(map(to_html, node.children))}</{node.tag}>"


def parsed(page: str) -> Element:
    """Return the element that a template wrote as HTML, without the line ends between elements."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.root


class _Reader(HTMLParser):
    """Makes each element at its end, the outermost last; our templates have no void ones."""

    root: Element

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[list[Element | str]] = [[]]
        self.starts: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.starts.append((tag, dict(attrs)))
        self.stack.append([])

    def handle_endtag(self, tag: str) -> None:
        (name, attributes), children = self.starts.pop(), self.stack.pop()
        options = {part: attributes.get(part) or "" for part in ("style", "title", "role")}
        css_class = attributes.get("class") or ""
        self.root = element(name, *children, css_class=css_class, **options)
        self.stack[-1].append(self.root)

    def handle_data(self, data: str) -> None:
        if data.strip() or "\n" not in data:
            self.stack[-1].append(re.sub(r"\s*\n\s*", " ", data))


# Pages and cards, as HTML or Markdown: templates of jinja2 beside the modules that fill them.
#
# Every text in them is escaped. A page works without a network: plotly is in it, once.


@dataclass(frozen=True)
class TextTable:
    """A table of texts."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def share_text(share: float, *, down: bool = False) -> str:
    """Return a share as per cent: rounded up for what is spent, down for what is left."""
    return f"{(floor_text if down else ceil_text)(100.0 * share, digits=3)} %"


def percent_up(probability: float) -> str:
    """Return the bound of a probability as per cent, rounded up."""
    return f"{ceil_text(100.0 * probability, digits=2)} %"


def render(template: str, **values: Any) -> str:
    """Return a template filled with values; every text among them is escaped, in HTML by itself."""
    return _environment().get_template(template).render(values)


def template_value(template: str, name: str, **values: Any) -> Any:
    """Return what a template, filled with values, sets under a name."""
    return getattr(_environment().get_template(template).make_module(values), name)


def render_page(template: str, **values: Any) -> str:
    """Return a complete HTML document that asks no server for anything.

    Parameters
    ----------
    template : str
        A file that extends ``page.html``. Its style sheet finds our colours as variables, and its
        script the drawn figures as ``plots``.
    **values
        What the template shows.
    """
    from plotly.offline import get_plotlyjs

    from interpret_dp.explanation.plots.parts import COLORS

    return render(template, plotly=get_plotlyjs(), colors=COLORS, figures=_Figures(), **values)


class _Figures:
    """The figures of one page, in the order of their places."""

    def __init__(self) -> None:
        self.documents: list[str] = []

    def add(self, figure: Figure) -> int:
        """Return the number of the figure on the page."""
        # Nothing may end the script that the JSON is part of. plotly escapes this too, but not
        # where it writes with orjson.
        document = figure.to_json().replace("<", "\\u003c").replace(">", "\\u003e")
        self.documents.append(document)
        return len(self.documents) - 1


def _literal_markdown(text: str) -> str:
    """Return a text as one line of Markdown that shows it literally, wherever it stands."""
    line = re.sub(r"([\\`*_\[\]<>|~&#])", r"\\\1", " ".join(str(text).split()))
    # What would begin a list or underline a heading.
    return re.sub(r"^(\d*)([-+=.)])(?=[-+=\s]|$)", r"\1\\\2", line)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from interpret_dp.explanation.plots.parts import text_alternative

    environment = Environment(
        loader=PackageLoader("interpret_dp.explanation", "templates"),
        # In Markdown the filter `literal` does it.
        autoescape=lambda name: not str(name).endswith(".md"),
        undefined=StrictUndefined,
        # Markup, which is of another type, was written by this package.
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (ceil_text, floor_text, selections_text, moment, share_text, percent_up, edits_text)
    environment.filters |= {function.__name__: function for function in functions}
    environment.filters["thousands"] = "{:,}".format
    environment.filters["quoted"] = repr
    environment.filters["literal"] = _literal_markdown
    environment.filters["text_alternative"] = text_alternative
    return environment
