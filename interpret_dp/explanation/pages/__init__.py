"""Pages and cards of HTML: templates of jinja2 beside the modules that fill them.

Every text in them is escaped. A page works without a network: plotly is in it, once.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from plotly.graph_objects import Figure

__all__ = ["render", "render_page"]


def render(template: str, **values: Any) -> str:
    """Return a template filled with values; every text among them is escaped."""
    return _environment().get_template(template).render(values)


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


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("interpret_dp.explanation", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = "{:,}".format
    return environment
