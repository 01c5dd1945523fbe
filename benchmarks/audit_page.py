"""Tables of ``python -m benchmarks.audit`` in docs/audit.md, between two marks: ``make audit``."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from benchmarks.audit.results import AttackLine, ReplayLine, to_markdown
from benchmarks.report import provenance
from interpret_dp._documents import (
    SEAL,
    check_keys,
    kinds_of,
    parse_json,
    unsealed,
    write_file,
)
from interpret_dp._validate import check_real

__all__ = ["BEGIN", "END", "from_json", "put_into_page"]

BEGIN, END = "<!-- audit: begin -->", "<!-- audit: end -->"


def from_json(text: str | bytes) -> list[AttackLine | ReplayLine]:
    """Return the lines of a document that ``python -m benchmarks.audit --out`` wrote as audit.json.

    Raises
    ------
    ValueError
        If it is of another form, or was changed after it was written.
    """
    try:
        document = parse_json(text, "audit.json")
        keys = {"interpret_dp": "text", "attacks": "list of objects", "replays": "list of objects"}
        check_keys("audit.json", document, keys, optional=(SEAL,))
        document = unsealed(document, "audit.json")
        attacks: list[AttackLine | ReplayLine] = []
        for line in document["attacks"]:
            check_keys("An attack", line, kinds_of(AttackLine) | {"finds": "number or null"})
            finds = math.inf if line["finds"] is None else line["finds"]
            attacks.append(AttackLine(**(line | {"finds": finds})))
        replays = []
        for line in document["replays"]:
            check_keys("A replay", line, kinds_of(ReplayLine))
            check_real("worst_ratio", line["worst_ratio"], low=0, high=1e100)
            replays.append(ReplayLine(**(line | {"violations": tuple(line["violations"])})))
    except ValueError as error:
        raise ValueError(
            f"The document is not an audit.json of `python -m benchmarks.audit`: {error}"
        ) from error
    return attacks + replays


def put_into_page(page: str, markdown: str) -> str:
    """Return a page with the text between its two marks replaced.

    Raises
    ------
    ValueError
        If the page does not have both marks, each once and in order.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after or END in before:
        raise ValueError(
            f"The page must have the lines {BEGIN!r} and {END!r}, each once and in this order. Put "
            "them where the tables belong."
        )
    return f"{before}{BEGIN}\n{markdown.strip()}\n{END}{after}"


if __name__ == "__main__":
    result, target = map(Path, sys.argv[1:])
    tables = to_markdown(from_json(result.read_bytes()))
    tables += f"\n{provenance(f'python -m benchmarks.audit --out {result.parent}')}"
    write_file(target, put_into_page(target.read_text(encoding="utf-8"), tables))
