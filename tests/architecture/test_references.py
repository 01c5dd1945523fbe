"""What tests, benchmarks, scripts and examples import of the package is there.

A module that moves breaks imports inside functions too, and those of slow tests and benchmarks show
it only when somebody runs them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import interpret_dp
from tests.architecture.source_tree import Module, SourceTree

PACKAGE = Path(interpret_dp.__path__[0])
USERS = ("tests", "benchmarks", "scripts", "examples", "docs")


def names_of(module: Module) -> set[str]:
    """Return what a module defines or imports; every text in it, if it makes names at first use."""
    nodes = list(ast.walk(module.tree))
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {node.name for node in nodes if isinstance(node, named)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    if "__getattr__" in names:
        constants = (node.value for node in nodes if isinstance(node, ast.Constant))
        names |= {value for value in constants if isinstance(value, str)}
    return names


def missing(tree: SourceTree, path: Path) -> Iterator[str]:
    """Yield imports of the package that lead nowhere, as "file:line: target"."""
    source = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for entry in Module(path.stem, path, is_package=False, tree=source).imports:
        home, _, name = entry.target.rpartition(".")
        if entry.target.split(".")[0] != tree.name or entry.target in tree.modules:
            continue
        if home not in tree.modules or name not in names_of(tree.modules[home]) | {"*"}:
            yield f"{path.name}:{entry.line}: {entry.target}"


@pytest.fixture(scope="module")
def package() -> SourceTree:
    return SourceTree(PACKAGE)


@pytest.mark.thorough
@pytest.mark.parametrize("folder", USERS)
def test_what_is_imported_is_there(folder: str, package: SourceTree) -> None:
    files = sorted((PACKAGE.parent / folder).rglob("*.py"))
    if not files and folder != "tests":
        pytest.skip(f"{folder} is not in this distribution")
    assert [line for path in files for line in missing(package, path)] == []


def test_what_moved_is_found(package: SourceTree, tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text(
        "from interpret_dp import Schema, Skema\n"
        "from interpret_dp.fitting import declaring\n"
        "from interpret_dp.ebm.config import TrainerConfig\n"
        "def late():\n    from interpret_dp.ebm import declaring\n"
        "def later():\n    import interpret_dp.ebm.propagation\n",
        encoding="utf-8",
    )
    assert list(missing(package, user)) == [
        "user.py:1: interpret_dp.Skema",
        "user.py:5: interpret_dp.ebm.declaring",
        "user.py:7: interpret_dp.ebm.propagation",
    ]
