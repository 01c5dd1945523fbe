"""What help and tab completion show of the public names: all of it, and nothing that is not there.

Checked at run time, from ``interpret_dp.__all__`` on, with the sections of numpydoc.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import interpret_dp

_LONGEST_FIRST_LINE = 100
_ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :.*)?$")


def documented(docstring: str | None, section: str = "Parameters") -> set[str]:
    """Return the names of a section's entries."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    starts = [n for n, line in enumerate(lines) if re.fullmatch(r"-{3,}", line)]
    names: set[str] = set()
    ends = [start - 1 for start in starts[1:]] + [len(lines)] * bool(starts)
    for start, end in zip(starts, ends, strict=True):
        if lines[start - 1] != section:
            continue
        for line in lines[start + 1 : end]:
            if entry := _ENTRY.match(line):
                names |= {name.lstrip("*") for name in entry[1].split(", ")}
    return names


def parameters_of(function: Callable[..., Any]) -> set[str]:
    """Return the names that a caller may give."""
    return {name for name in inspect.signature(function).parameters if name not in ("self", "cls")}


def keywords_of(function: Callable[..., Any]) -> str:
    """Return the name of what collects further keywords; empty if nothing does."""
    kinds = inspect.signature(function).parameters.values()
    return next((p.name for p in kinds if p.kind is p.VAR_KEYWORD), "")


def faults_of(name: str, thing: Any, docstring: str | None) -> Iterator[str]:
    """Yield what is wrong with one docstring."""
    first = inspect.cleandoc(docstring or "").partition("\n")[0]
    if not first:
        yield f"{name} has no docstring"
        return
    if not (first[0].isupper() or first[0] in "`(") or not first.endswith("."):
        yield f"{name}: the first line is no sentence: {first!r}"
    if len(first) > _LONGEST_FIRST_LINE:
        yield f"{name}: the first line has {len(first)} characters"
    if not callable(thing):
        return
    told, taken = documented(docstring), parameters_of(thing)
    if dataclasses.is_dataclass(thing):
        # What is given is what it then has.
        told |= documented(docstring, "Attributes") & taken
    if keywords := keywords_of(thing):
        # They are documented by their own names.
        taken -= {keywords}
        told &= taken
    for missing in sorted(taken - told):
        yield f"{name}: the parameter {missing!r} is not documented"
    for extra in sorted(told - taken):
        yield f"{name}: there is no parameter {extra!r}"


def public_members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield public methods and properties that this package wrote, inherited ones included."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "__func__", getattr(member, "fget", member))
        ours = getattr(function, "__module__", "") or ""
        if not name.startswith("_") and ours.startswith("interpret_dp."):
            yield name, member


def all_faults(name: str, thing: Any) -> Iterator[str]:
    """Yield what is wrong with the docstrings of a public name and of its members."""
    if not isinstance(thing, type):
        yield from faults_of(name, thing, thing.__doc__)
        return
    is_error = issubclass(thing, BaseException)
    yield from faults_of(name, None if is_error else thing, thing.__doc__)
    for member_name, member in public_members(thing):
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        yield from faults_of(f"{name}.{member_name}", function, function.__doc__)


PUBLIC = [name for name in interpret_dp.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_documented(name):
    assert list(all_faults(name, getattr(interpret_dp, name))) == []


def test_every_first_line_says_something_of_its_own():
    docstrings = [getattr(interpret_dp, name).__doc__ for name in PUBLIC]
    firsts = [inspect.cleandoc(docstring).partition("\n")[0] for docstring in docstrings]
    assert len(set(firsts)) == len(firsts)


class _Planted:
    """no sentence.

    Parameters
    ----------
    given : int
    gone : int
    """

    def __init__(self, given: int, forgotten: int) -> None: ...

    def silent(self) -> None: ...

    @property
    def told(self) -> int:
        """What it is."""
        return 1


_Planted.silent.__module__ = "interpret_dp.planted"


def test_the_check_finds_planted_faults():
    assert list(all_faults("Planted", _Planted)) == [
        "Planted: the first line is no sentence: 'no sentence.'",
        "Planted: the parameter 'forgotten' is not documented",
        "Planted: there is no parameter 'gone'",
        "Planted.silent has no docstring",
    ]
