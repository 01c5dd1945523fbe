"""Reads what the pages of the documentation show as code and as tables."""

import re

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")


def python_blocks(page):
    """Yield line and source of each block of Python of a page."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        yield text.count("\n", 0, match.start()) + 2, match.group(1)


def table_below(page, heading):
    """Return the cells of the first table below a heading, without its head.

    Raises
    ------
    ValueError
        If there is no such heading, or no table below it.
    """
    text = "\n" + page.read_text(encoding="utf-8")
    _, found, below = text.partition(f"\n{heading}\n")
    rows = []
    for line in below.splitlines() if found else ():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in _CELL.split(line)[1:-1]])
        elif rows:
            break
    if len(rows) < 3:
        raise ValueError(f"{page.name} has no table below {heading!r}")
    return rows[2:]
