"""Figures, moments and small tables in text; figures are rounded so that they hold as printed."""

from __future__ import annotations

import datetime
import html
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

# Written inline: a notebook may drop style sheets of cells that it does not trust.
_BOX = "max-width: 100%; overflow-x: auto; margin: 6px 0"
_CELL = "text-align: left; vertical-align: top; padding: 2px 6px; white-space: "
_SHORT, _LONG = f"{_CELL}nowrap", f"{_CELL}normal; min-width: 12em; overflow-wrap: break-word"
_SHORTEST_LONG = 17


def ceil_text(value: float, digits: int = 3) -> str:
    """Return ``value`` with so many significant digits, never below the true value: for costs.

    2.718281 becomes ``"2.72"`` and 1.0001 becomes ``"1.01"``, never ``"1"``.
    """
    return _rounded(value, digits, ROUND_CEILING)


def floor_text(value: float, digits: int = 4) -> str:
    """Return ``value`` with so many significant digits, never above it: for what is left."""
    return _rounded(value, digits, ROUND_FLOOR)


def enumerated(texts: Sequence[str]) -> str:
    """Return texts as a list in words: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(texts[:-1]), *texts[-1:]] if len(texts) > 1 else texts)


def moment(time: str) -> str:
    """Return a moment of the ledger's log to the second, without its zone, which is UTC."""
    utc = datetime.datetime.fromisoformat(time).astimezone(datetime.UTC)
    return f"{utc:%Y-%m-%d %H:%M:%S}"


def selections_text(delta_x: float) -> str:
    """Return what follows a budget in words: the part of delta that it keeps for selections."""
    return f", of which {delta_x:.3g} for selections" if delta_x else ""


def left_for_selections(epsilon: float, delta_x: float, spent_delta: float) -> str:
    """Return what follows the epsilon that is left of a budget: what is left for selections."""
    if not (epsilon and delta_x):
        return ""
    left = delta_x - spent_delta
    # Rounding errors of sums are nothing that a request could use.
    rest = f"delta {floor_text(left)}" if left > 1e-9 * delta_x else "nothing"
    return f"; {rest} left for selections"


def _rounded(value: float, digits: int, rounding: str) -> str:
    exact = Decimal(repr(float(value)))
    return f"{float(Context(prec=digits, rounding=rounding).plus(exact)):.{digits}g}"


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
        Lines below the table.

    Returns
    -------
    str
        One ``div`` without scripts or style sheets; every text is escaped.
    """

    def line(tag: str, texts: Sequence[str]) -> str:
        styles = (_SHORT if tag == "th" or len(text) < _SHORTEST_LONG else _LONG for text in texts)
        cells = (
            f'<{tag} style="{style}">{html.escape(text)}</{tag}>'
            for style, text in zip(styles, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    first = line("th", head)
    table = f"<table><thead>{first}</thead><tbody>{body}</tbody></table>" if rows else ""
    below = "".join(f"<div>{html.escape(text)}</div>" for text in note.splitlines())
    return f'<div style="{_BOX}"><div><b>{html.escape(title)}</b></div>{table}{below}</div>'
