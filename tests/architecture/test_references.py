"""What tests, benchmarks, scripts and examples import of the package is there.

A module that moves breaks imports inside functions too, and those of slow tests and benchmarks show
it only when somebody runs them.
"""

import ast
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

import interpret_dp
from tests.architecture.source_tree import Module
from tests.architecture.test_pages import PAGES

PACKAGE = Path(interpret_dp.__path__[0])
USERS = ("tests", "benchmarks", "scripts", "examples", "docs")
# Neither the format of a file, in quotes, nor a table of the ledger's schema in a database.
NAME = re.compile(r"\binterpret_dp(?:\.(?!interpret_dp)\w+)+(?![\w\"])")
# Results that an older commit repeats name what was there then.
OLDER = "In a checkout of commit"
# The first needs NVIDIA FLARE, which is in an environment of its own; the second is a file.
ELSEWHERE = ("interpret_dp.cli.flare", "interpret_dp.NAME.json")
SOURCES = [
    *sorted(PACKAGE.rglob("*.py")),
    *(
        page
        for page in PAGES
        if page.name != "CHANGELOG.md" and OLDER not in page.read_text(encoding="utf-8")
    ),
]


def missing(path):
    """Yield imports of the package that lead nowhere, as "file:line: target"."""
    source = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for entry in Module(path.stem, path, is_package=False, tree=source).imports:
        if entry.target.split(".")[0] != PACKAGE.name:
            continue
        try:
            resolve_name(entry.target.removesuffix(".*"))
        except (AttributeError, ImportError):
            yield f"{path.name}:{entry.line}: {entry.target}"


@pytest.mark.thorough
@pytest.mark.parametrize("folder", USERS)
def test_what_is_imported_is_there(folder):
    files = sorted((PACKAGE.parent / folder).rglob("*.py"))
    if not files and folder != "tests":
        pytest.skip(f"{folder} is not in this distribution")
    # Modules of DP-LLM are imported too.
    pytest.importorskip("opacus")
    assert [line for path in files for line in missing(path)] == []


@pytest.mark.thorough
def test_names_in_messages_and_pages_lead_somewhere():
    pytest.importorskip("opacus")
    lost = []
    for path in SOURCES:
        for name in set(NAME.findall(path.read_text(encoding="utf-8"))):
            if name.startswith(ELSEWHERE):
                continue
            try:
                resolve_name(name.removesuffix(".py"))
            except (AttributeError, ImportError):
                lost.append(f"{path.name}: {name}")
    assert lost == []


def test_what_moved_is_found(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        "from interpret_dp import Schema, Skema\n"
        "from interpret_dp.fitting import declaring\n"
        "from interpret_dp.ebm.config import TrainerConfig\n"
        "def late():\n    from interpret_dp.ebm import declaring\n"
        "def later():\n    import interpret_dp.ebm.propagation\n",
        encoding="utf-8",
    )
    assert list(missing(user)) == [
        "user.py:1: interpret_dp.Skema",
        "user.py:5: interpret_dp.ebm.declaring",
        "user.py:7: interpret_dp.ebm.propagation",
    ]
