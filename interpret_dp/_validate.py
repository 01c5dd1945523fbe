"""One wording for errors in arguments: what was given, what is allowed, how to mend it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

__all__ = ["check_choice", "check_int", "check_real"]


def _given(name: str, value: Any) -> str:
    return f"{name} is {value!r} ({type(value).__name__})"


def check_real(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    mend: str = "",
) -> float:
    """Return ``value`` as a float inside the interval, or raise.

    Raises
    ------
    TypeError
        If ``value`` is not a real number (a bool is not one).
    ValueError
        If it is NaN, infinite, or outside the interval.
    """
    left = f"{'above' if low_open else 'at least'} {low:g}" if low > -math.inf else ""
    right = f"{'below' if high_open else 'at most'} {high:g}" if high < math.inf else ""
    allowed = " and ".join(part for part in (left, right) if part) or "finite"
    tail = f" {mend}" if mend else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{_given(name, value)}; it must be a real number {allowed}.{tail}")
    number = float(value)
    too_low = number <= low if low_open else number < low
    too_high = number >= high if high_open else number > high
    if not math.isfinite(number) or too_low or too_high:
        raise ValueError(f"{_given(name, value)}; it must be a finite number {allowed}.{tail}")
    return number


def check_int(
    name: str, value: Any, *, low: int | None = None, high: int | None = None, mend: str = ""
) -> int:
    """Return ``value`` as an int inside the interval (ends included), or raise.

    Raises
    ------
    TypeError
        If ``value`` is not an integer (a bool is not one).
    ValueError
        If it is outside the interval.
    """
    left = f"at least {low}" if low is not None else ""
    right = f"at most {high}" if high is not None else ""
    allowed = " and ".join(part for part in (left, right) if part)
    tail = f" {mend}" if mend else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{_given(name, value)}; it must be an integer {allowed}.{tail}")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{_given(name, value)}; it must be an integer {allowed}.{tail}")
    return number


def check_choice(name: str, value: Any, allowed: Collection[str], *, mend: str = "") -> str:
    """Return ``value`` if it is one of the allowed strings, or raise ValueError."""
    if not isinstance(value, str) or value not in allowed:
        tail = f" {mend}" if mend else ""
        choices = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{_given(name, value)}; it must be one of {choices}.{tail}")
    return value
