"""What a notebook shows under scikit-learn's diagram of a fitted estimator: its guarantee."""

from __future__ import annotations

import html

from interpret_dp.accounting.guarantee import Guarantee

__all__ = ["guarantee_card"]

# Notebooks are light or dark, so that only the edge has a colour of its own; everything is
# written inline, because a notebook may drop style sheets of cells that it does not trust.
_BOX = (
    "border-left: 4px solid {edge}; padding: 4px 12px; margin: 10px 0 4px; max-width: 60em; "
    "font-family: sans-serif; font-size: 13px; line-height: 1.45; overflow-wrap: anywhere"
)
_HELD, _VOID = "#1f6f9c", "#c8501e"


def guarantee_card(guarantee: Guarantee) -> str:
    """Return the promise as a piece of HTML, its full record folded away.

    Parameters
    ----------
    guarantee : Guarantee

    Returns
    -------
    str
        One ``div`` without scripts or style sheets; every text in it is escaped.
    """
    edge = _VOID if guarantee.tests_only else _HELD
    return (
        f'<div class="interpret-dp-guarantee" style="{_BOX.format(edge=edge)}">'
        f"<div><b>Privacy guarantee</b></div><div>{html.escape(guarantee.sentence)}</div>"
        "<details><summary>The full record, with what it assumes</summary>"
        f"{guarantee._repr_html_()}</details></div>"
    )
