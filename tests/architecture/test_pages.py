import json
import re
import tomllib

import pytest

from tests.architecture.pages import _LINK, broken_links, dangling_tests
from tests.processes import ROOT

PROOFS = sorted((ROOT / "docs" / "proofs").glob("*.md"))
RESULTS = (ROOT / "benchmarks" / "results").glob("*.md")
GENERATED = ("_build", "generated")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(
            page
            for page in (ROOT / "docs").rglob("*.md")
            if not set(GENERATED) & set(page.relative_to(ROOT).parts)
        ),
        *RESULTS,
    ]
)
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
CHECKED = "## What is checked by tests"


def _of(page):
    return str(page.relative_to(ROOT))


def test_the_pages_are_found():
    names = set(map(_of, PAGES))
    assert {"README.md", "SECURITY.md", "docs/guarantee.md", "docs/known_limits.md"} <= names
    assert len(PROOFS) > 10


@pytest.mark.parametrize("page", PAGES, ids=_of)
def test_every_link_leads_somewhere(page):
    assert list(broken_links(page, ROOT)) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=_of)
def test_every_link_of_a_notebook_leads_somewhere(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    assert list(broken_links(notebook, ROOT, text)) == []


@pytest.mark.parametrize("page", PAGES, ids=_of)
def test_every_test_that_is_named_exists(page):
    assert list(dangling_tests(page, ROOT)) == []


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.name)
def test_every_proof_is_in_the_guarantee_and_says_what_checks_it(page):
    guarantee = ROOT / "docs" / "guarantee.md"
    assert f"proofs/{page.name}" in _LINK.findall(guarantee.read_text(encoding="utf-8"))
    _, heading, checked = page.read_text(encoding="utf-8").partition(CHECKED)
    assert heading, f"{page.name} has no section '{CHECKED}'"
    assert "tests/" in checked.partition("\n## ")[0]


# Controls


def _page(root, text):
    (root / "tests" / "room").mkdir(parents=True)
    (root / "tests" / "room" / "test_it.py").write_text("def test_that_it_holds(): ...\n")
    (root / "docs").mkdir()
    (root / "docs" / "other.md").write_text("# Other\n\n## What `x` is, and why\n\n## Twice\n")
    page = root / "docs" / "page.md"
    page.write_text(text)
    return page


BROKEN_PROMISES = [
    (broken_links, "[a](gone.md)", "links to gone.md, which does not exist"),
    (broken_links, "![a](gone.png)", "links to gone.png, which does not exist"),
    (broken_links, "[a](other.md#gone)", "links to other.md#gone, which has no such heading"),
    (broken_links, "# Here\n\n[a](#there)", "links to #there, which has no such heading"),
    (broken_links, "see docs/gone.md", "names docs/gone.md, which does not exist"),
    (dangling_tests, "By `tests/room/test_no.py`.", "names tests/room/test_no.py, which does"),
    (dangling_tests, "By `test_no.py`.", "names test_no.py, which does not exist"),
    (dangling_tests, "- `test_it.py`: `test_no`.", "names test_no, which no test file named"),
    (
        dangling_tests,
        "- `tests/room/test_it.py`\n- `test_that_it_holds`",
        "names test_that_it_holds, which no test file named beside it has",
    ),
]


@pytest.mark.parametrize(("check", "text", "message"), BROKEN_PROMISES)
def test_a_broken_promise_is_found(check, text, message, tmp_path):
    (found,) = check(_page(tmp_path, text), tmp_path)
    assert found.startswith(f"docs/page.md: {message}")


def test_the_architecture_shows_each_folder_and_the_layers_of_the_contract():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "interpret_dp"
    parts = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    parts |= {path.name for path in package.glob("[a-z]*.py") if path.name != "exceptions.py"}
    assert set(re.findall(r"^\| `([\w.]+/?)` \|", page, re.M)) == parts
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"][1:]
    names = [sorted({re.sub("^_.*", "_", name) for name in re.findall(r"\w+", x)}) for x in layers]
    drawn = page.split("```")[1].replace("helpers that begin with _", "_").split("\n")[1:-1]
    assert [sorted(line.split(", ")) for line in drawn] == names
