"""The page of all releases is what the source says."""

from __future__ import annotations

import ast

from scripts.release_table import PAGE, calls, table


def test_page_lists_the_releases_of_the_source() -> None:
    assert PAGE.read_text(encoding="utf-8") == table(), "run python -m scripts.release_table"


def test_a_further_release_is_found() -> None:
    source = """
class Trainer:
    def leak(self):
        return self._door.gaussian("leak", self._exact, row_norm=1, aligned=True)
"""
    found = list(calls(ast.parse(source)))
    assert [(function.name, call.func.attr) for function, call in found] == [("leak", "gaussian")]
