"""The pages of all releases and of the algorithm say what the source says."""

import ast
import re

from scripts.release_table import PAGE, ROOT, calls, table


def test_page_lists_the_releases_of_the_source():
    assert PAGE.read_text(encoding="utf-8") == table(), "run python -m scripts.release_table"


def test_a_further_release_is_found():
    source = """
class Trainer:
    def leak(self):
        return self._session.gaussian("leak", self._exact, row_norm=1, aligned=True)
"""
    found = list(calls(ast.parse(source)))
    assert [(function.name, call.func.attr) for function, call in found] == [("leak", "gaussian")]


def test_functions_on_the_page_of_the_algorithm_exist():
    page = (ROOT / "docs" / "algorithm.md").read_text(encoding="utf-8")
    names = {name.rpartition(".")[2] for name in re.findall(r"`([A-Za-z_.]+)`", page)}
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "interpret_dp").rglob("*.py"))
    defined = {name for text in sources for name in re.findall(r"\b(?:def|class) (\w+)", text)}
    assert len(names) > 20
    assert names - defined <= {"fit", "ebm"}
