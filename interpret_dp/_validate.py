"""Wording of errors in arguments, and of figures, moments and small tables in text.

Also lists of names of columns for messages, and signs that a schema and a table do not fit.
"""

from __future__ import annotations

import datetime
import html
import math
import numbers
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from difflib import get_close_matches
from typing import Any

_LONGEST = 100

_LONGEST_NAME = 200
_NAMES_SHOWN = 12
_NUMBERS = re.compile(r"\d+")
# So near are "age" and "ages", and "height" and "weight"; "systolic" and "diastolic" are not.
_MISSPELLED = 0.8
_MOST_COMPARED = 40_000


def describe_argument(name: str, value: Any) -> str:
    """Say what an argument is, without the cells of a column that was passed by mistake."""
    # pyarrow's arrays have no shape.
    is_arrow = hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")
    if is_arrow or getattr(value, "shape", ()) != ():
        return f"{name} is of type {type(value).__name__}"
    try:
        shown = repr(value)
    except ValueError:
        # Python writes no integer of more than 4,300 digits.
        shown = "a number of very many digits"
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}..."
    return f"{name} is {shown} ({type(value).__name__})"


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
    bounds = " and ".join(part for part in (left, right) if part)
    allowed = f" {bounds}" if bounds else ""
    tail = f" {mend}" if mend else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(
            f"{describe_argument(name, value)}; it must be a real number{allowed}.{tail}"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value == abs(value) else -math.inf
    too_low = number <= low if low_open else number < low
    too_high = number >= high if high_open else number > high
    if not math.isfinite(number) or too_low or too_high:
        raise ValueError(
            f"{describe_argument(name, value)}; it must be a finite number{allowed}.{tail}"
        )
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
    fault = f"it must be an integer {allowed}.{tail}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{describe_argument(name, value)}; {fault}")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{describe_argument(name, value)}; {fault}")
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool, or raise TypeError; numpy's bool is one."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{describe_argument(name, value)}; it must be True or False.")
    return bool(value)


def check_sequence(name: str, value: Any, allowed: str) -> list[Any]:
    """Return the items of a list, tuple, array or the like; TypeError for text and all else."""
    is_text = isinstance(value, str | bytes | Mapping)
    # An array without dimensions has the method and cannot be iterated.
    if is_text or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise TypeError(f"{describe_argument(name, value)}; it must be a list of {allowed}.")
    return list(value)


def check_choice(name: str, value: Any, allowed: Collection[str], *, mend: str = "") -> str:
    """Return ``value`` if it is one of the allowed strings, or raise ValueError."""
    if not isinstance(value, str) or value not in allowed:
        tail = did_you_mean(value, allowed) + (f" {mend}" if mend else "")
        choices = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{describe_argument(name, value)}; it must be one of {choices}.{tail}")
    return value


def check_name(name: str, value: str, *, longest: int | None = _LONGEST_NAME) -> str:
    """Return a text that means the same to eyes and to the database (Unicode form NFC)."""
    tail = "" if longest is None else f", of at most {longest} characters"
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text{tail}.")
    # The form NFC of a few characters is longer than they are.
    text = unicodedata.normalize("NFC", value)
    too_long = longest is not None and len(text) > longest
    if not value or value != value.strip() or not value.isprintable() or too_long:
        raise ValueError(
            f"{name} is {value!r}; it must be a printable text that is not empty{tail}, without "
            "spaces at its ends."
        )
    return text


def looks_of(name: str) -> str:
    """Return what names have in common that people take for one: "Ward-1", "ward 1", "WARD_1"."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(re.split(r"[\W_]+", folded)).strip() or folded


def near_names(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return the known names that ``name`` may be a misspelling of, the nearest first.

    Parameters
    ----------
    name : str
    known : iterable of str
        Public names.
    cutoff : float, default=0.6
        Smallest similarity, from 0 to 1, as ``difflib.get_close_matches`` takes it. Letter case,
        spaces and punctuation do not count.
    """
    by_look: dict[str, list[str]] = {}
    for other in known:
        by_look.setdefault(looks_of(other), []).append(other)
    close = get_close_matches(looks_of(name), by_look, cutoff=cutoff)
    return [other for look in close for other in by_look[look]]


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """Return " Did you mean 'age'?", or nothing if no known name is near."""
    near = near_names(name, known) if isinstance(name, str) else []
    return f" Did you mean {' or '.join(map(repr, near[:3]))}?" if near else ""


def name_faults(
    declared: Collection[str], names: Sequence[str], unlisted: Sequence[str]
) -> list[str]:
    """Return a sentence on each sign that a schema was not written for a table.

    A schema may declare more columns than a table has. But a name that is misspelled in one of
    the two would be paid for in vain, and so would the schema of another table.

    Parameters
    ----------
    declared : collection of str
        The columns that the schema declares.
    names : sequence of str, shape (n_features,)
        The columns of the table.
    unlisted : sequence of str
        Those that neither the schema nor another argument declares by name.
    """
    present = set(names)
    absent = [name for name in declared if name not in present]
    if absent and len(absent) == len(declared):
        return [
            f"The table has none of the columns that the schema declares: it has "
            f"{shortened(names)}; the schema declares {shortened(absent)}. Rename them, pass "
            "feature_names=[...] for data without names, or pass the schema of this table."
        ]
    # Where both have hundreds of columns, comparing all pairs takes too long.
    compared = unlisted if len(unlisted) * len(absent) <= _MOST_COMPARED else ()
    near = {name: found[0] for name in compared if (found := _misspelled(name, absent))}
    return [
        f"The schema does not list column {name!r}; did you mean {other!r}, which it declares and "
        f"the table lacks? Rename one of the two, or pass schema.drop([{other!r}])."
        for name, other in near.items()
    ]


def _misspelled(name: str, absent: Sequence[str]) -> list[str]:
    """Return the absent columns that ``name`` is likely to mean, the nearest first."""
    # Names that differ in a number, such as "x1" and "x2", are two columns.
    number = _NUMBERS.findall(name)
    alike = [other for other in absent if _NUMBERS.findall(other) == number]
    return near_names(name, alike, cutoff=_MISSPELLED)


def listed(names: Sequence[str]) -> str:
    """Return names of columns as the object of a sentence."""
    return ("column " if len(names) == 1 else "columns ") + ", ".join(map(repr, names))


def shortened(names: Sequence[str]) -> str:
    """Return the first names of columns as the object of a sentence."""
    hidden = len(names) - _NAMES_SHOWN
    shown = listed(names[:_NAMES_SHOWN]) if names else "no columns"
    return f"{shown} and {hidden} more" if hidden > 0 else shown


# Figures, moments and small tables in text; figures are rounded so that they hold as printed.

# Written inline: a notebook may drop style sheets of cells that it does not trust.
_BOX = "max-width: 100%; overflow-x: auto; margin: 6px 0"
_CELL = "text-align: left; vertical-align: top; padding: 2px 6px; white-space: "
_SHORT, _LONG = f"{_CELL}nowrap", f"{_CELL}normal; min-width: 12em; overflow-wrap: break-word"
_SHORTEST_LONG = 17
_NOTHING = 1e-9  # a share that rounding of sums leaves, which no request can use


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


def moment_text(moment: str) -> str:
    """Return an ISO moment for eyes: to the minute, in UTC."""
    utc = datetime.datetime.fromisoformat(moment).astimezone(datetime.UTC)
    return f"{utc:%Y-%m-%d %H:%M} UTC"


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, such as "1 request" or "2,000 requests"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def selections_text(delta_x: float) -> str:
    """Return what follows a budget in words: the part of delta that it keeps for selections."""
    return f", of which {delta_x:.3g} for selections" if delta_x else ""


def percent_texts(shares: Iterable[float]) -> list[str]:
    """Return the shares of a whole as percent to a tenth, which add up as they are printed.

    Their running sum is rounded up. It is printed as 100 only if nothing is left of the whole.
    """
    texts, total, shown = [], 0.0, 0
    for share in shares:
        total += share
        most = 999 if total < 1.0 - _NOTHING else 1000
        end = max(shown, min(most, math.ceil(1000.0 * (total - _NOTHING))))
        texts.append(f"{(end - shown) / 10:g} %" if end > shown or not share else "< 0.1 %")
        shown = end
    return texts


def _rounded(value: float, digits: int, rounding: str) -> str:
    exact = Decimal(repr(float(value)))
    return f"{float(Context(prec=digits, rounding=rounding).plus(exact)):.{digits}g}"


def text_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, n_left: int | None = None
) -> list[str]:
    """Return the lines of a table in columns; those after the first ``n_left`` are to the right."""
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    sides = [str.ljust if n_left is None or at < n_left else str.rjust for at in range(len(head))]
    return [
        "  ".join(
            side(text, width) for side, text, width in zip(sides, line, widths, strict=True)
        ).rstrip()
        for line in (head, *rows)
    ]


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
    title = f"<div><b>{html.escape(title)}</b></div>"
    return f'<div tabindex="0" style="{_BOX}">{title}{table}{below}</div>'
