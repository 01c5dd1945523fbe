"""Figures and moments in text; figures are rounded so that what is printed holds as printed."""

from __future__ import annotations

import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["ceil_text", "floor_text", "left_for_selections", "moment", "selections_text"]


def ceil_text(value: float, digits: int = 3) -> str:
    """Return ``value`` with so many significant digits, never below the true value: for costs.

    2.718281 becomes ``"2.72"`` and 1.0001 becomes ``"1.01"``, never ``"1"``.
    """
    return _rounded(value, digits, ROUND_CEILING)


def floor_text(value: float, digits: int = 4) -> str:
    """Return ``value`` with so many significant digits, never above it: for what is left."""
    return _rounded(value, digits, ROUND_FLOOR)


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
