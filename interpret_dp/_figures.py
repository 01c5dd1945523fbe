"""Figures and moments in text; figures are rounded so that what is printed holds as printed."""

from __future__ import annotations

import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["ceil_text", "floor_text", "moment"]


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


def _rounded(value: float, digits: int, rounding: str) -> str:
    exact = Decimal(repr(float(value)))
    return f"{float(Context(prec=digits, rounding=rounding).plus(exact)):.{digits}g}"
