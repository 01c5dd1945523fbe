"""The tables and figures of the three papers, ours beside theirs: ``python -m benchmarks.papers``.

One module a paper. Each lists its items, and where a reader finds what is no item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.report import Section

__all__ = ["Item", "Paper"]


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, or several that share their fits.

    Attributes
    ----------
    name : str
        Its name in commands, such as ``table2``.
    title : str
    measure : callable
        Writes into a section, given the number of repetitions.
    repeats : int or None
        By default: splits, fits or explained rows. None: nothing is repeated.
    is_short : bool, default=True
        Whether ``make papers`` measures it.
    """

    name: str
    title: str
    measure: Callable[[Section, int], None]
    repeats: int | None
    is_short: bool = True


@dataclass(frozen=True)
class Paper:
    """A paper, its items in the order of the page, and what is no item.

    Attributes
    ----------
    title : str
    items : tuple of Item
    elsewhere : mapping of str to str
        Where other figures and tables are, or why they are not repeated.
    """

    title: str
    items: tuple[Item, ...]
    elsewhere: Mapping[str, str]
