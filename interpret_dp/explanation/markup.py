"""Pages, cards and panels of HTML or Markdown, from templates."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from interpret_dp._documents import printable
from interpret_dp._validate import ceil_text, moment_text, selections_text
from interpret_dp.released.additive_model import edits_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from plotly.graph_objects import Figure


# Pages and cards, as HTML or Markdown: templates of jinja2, those of the screens in `ui` included.
#
# Every text in them is escaped. A page works without a network: plotly is in it, once,
# compressed, and without the traces that no figure of a page has.


# The file `plotly.min.js` is npm's plotly.js-cartesian-dist-min 4.1.1, as published. Its SHA-256 is
# 79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a.
_TRACES = {"scatter", "bar", "heatmap", "contour"}


@dataclass(frozen=True)
class TextTable:
    """A table of texts, with a title or none."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""


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
    from interpret_dp.explanation.plots.parts import COLORS

    return render(template, colors=COLORS, figures=[], **values)


def _packed_plotly(figures: Sequence[Figure]) -> str:
    """Return the script that draws the figures: a small one, if it knows all their traces."""
    return _plotly({trace.type for figure in figures for trace in figure.data} <= _TRACES)


@cache
def _plotly(is_small: bool) -> str:
    from plotly.offline import get_plotlyjs

    file = files("interpret_dp.explanation") / "templates/plotly.min.js"
    return _packed(file.read_bytes() if is_small else get_plotlyjs().encode())


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode("ascii")


def _packed_figures(figures: Sequence[Figure]) -> str:
    return _packed(f"[{','.join(figure.to_json() for figure in figures)}]".encode())


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
    own = (ceil_text, selections_text, moment_text, percent_up, edits_text)
    environment.filters |= {function.__name__: function for function in own}
    environment.filters["thousands"] = "{:,}".format
    environment.filters["quoted"] = repr
    environment.filters |= {"packed": _packed_figures, "packed_plotly": _packed_plotly}
    environment.filters["literal"] = _literal_markdown
    environment.filters["text_alternative"] = text_alternative
    return environment
