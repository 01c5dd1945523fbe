"""The shell of a page that works without a network: plotly is in it, once."""

from __future__ import annotations

import html
from importlib.resources import files
from typing import TYPE_CHECKING

from interpret_dp.explanation.plots.parts import COLORS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Plots", "whole_page"]


class Plots:
    """The figures of one page, in their order."""

    def __init__(self) -> None:
        self.documents: list[str] = []

    def place(self, figure: Figure) -> str:
        """Return the HTML of the place where a figure will be drawn."""
        self.documents.append(_script_safe(figure.to_json()))
        name, height = f"plot-{len(self.documents) - 1}", figure.layout.height
        return f'<div class="plot" id="{name}" style="height:{height}px"></div>'


def whole_page(title: str, body: str, plots: Plots, *names: str) -> str:
    """Return a complete HTML document that asks no server for anything.

    Parameters
    ----------
    title : str
        Shown literally.
    body : str
        HTML in which every text is escaped, with the places of the figures.
    plots : Plots
    *names : str
        Style sheets and scripts in the folder ``pages``. A sheet finds our colours as variables,
        and a script the drawn figures as ``plots``.
    """
    from plotly.offline import get_plotlyjs

    folder = files("interpret_dp.explanation") / "pages"
    texts = {name: (folder / name).read_text("utf-8") for name in names}
    colors = "".join(f" --{name}: {color};" for name, color in COLORS.items())
    return _PAGE.format(
        title=html.escape(title),
        style=f":root {{{colors} }}\n" + "".join(t for n, t in texts.items() if n.endswith(".css")),
        plotly=get_plotlyjs(),
        body=body,
        figures=",\n".join(plots.documents),
        script="".join(text for name, text in texts.items() if name.endswith(".js")),
    )


def _script_safe(document: str) -> str:
    """Return JSON in which nothing ends the script that it is part of."""
    # plotly does the same, but not where it writes with orjson.
    return document.replace("<", "\\u003c").replace(">", "\\u003e")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
<script>{plotly}</script>
</head>
<body>
{body}
<script>
const figures = [
{figures}
];
const plots = figures.map((figure, i) => {{
  const node = document.getElementById('plot-' + i);
  Plotly.newPlot(node, figure.data, figure.layout, {{displaylogo: false, responsive: true,
    modeBarButtons: [['toImage', 'resetScale2d']]}});
  return node;
}});
{script}</script>
</body>
</html>
"""
