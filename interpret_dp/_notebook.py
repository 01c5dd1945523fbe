"""Small tables for notebooks, whose colours are those of the page that they are in."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["notebook_table"]

# Written inline: a notebook may drop style sheets of cells that it does not trust.
_BOX = "max-width: 100%; overflow-x: auto; margin: 6px 0"
_LEFT = "text-align: left; white-space: normal; vertical-align: top; overflow-wrap: anywhere"
_HEAD = "text-align: left; white-space: nowrap; vertical-align: top"


def notebook_table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, note: str = ""
) -> str:
    """Return a titled table of texts as a piece of HTML.

    Parameters
    ----------
    title : str
        Shown in bold above it.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence of str, each as long as ``head``
    note : str
        One line below the table.

    Returns
    -------
    str
        One ``div`` without scripts or style sheets; every text is escaped.
    """

    def line(tag: str, style: str, texts: Sequence[str]) -> str:
        cells = (f'<{tag} style="{style}">{html.escape(text)}</{tag}>' for text in texts)
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", _LEFT, row) for row in rows)
    first = line("th", _HEAD, head)
    table = f"<table><thead>{first}</thead><tbody>{body}</tbody></table>" if rows else ""
    below = f"<div>{html.escape(note)}</div>" if note else ""
    return f'<div style="{_BOX}"><div><b>{html.escape(title)}</b></div>{table}{below}</div>'
