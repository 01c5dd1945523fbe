"""What is committed of the benchmarks' results says what measured it."""

import re

import pytest

from benchmarks.papers.__main__ import PAGE, PAPERS, sections, written
from tests.processes import ROOT

PROVENANCE = (
    r"`python -m benchmarks\.[^`]+`, 20\d\d-\d\d-\d\d, interpret_dp \d[\w.]* at [0-9a-f]{10}\."
)
FOLDER = ROOT / "benchmarks" / "results"
RESULTS = [*sorted(FOLDER.glob("*.md")), ROOT / "docs" / "performance.md"]
#: Raw numbers whose page has another name.
PAGES = {"scale": "performance", "peers": "papers"}


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
def test_a_page_of_results_ends_with_its_command_its_day_and_its_code(page):
    *_, last = page.read_text(encoding="utf-8").rstrip().split("\n")
    assert re.fullmatch(PROVENANCE, last)


def test_raw_numbers_have_a_page():
    named = {path.stem for path in RESULTS} | {PAGE.stem}
    raw = {path.stem for path in FOLDER.glob("*.*") if path.suffix in (".csv", ".json")}
    assert {PAGES.get(stem, stem) for stem in raw} <= named


def test_the_papers_page_has_every_item_with_its_command_and_code():
    page = PAGE.read_text(encoding="utf-8")
    known = sections(page)
    named = [f"{name} {item.name}" for name, paper in PAPERS.items() for item in paper.items]
    assert list(known) == named
    for name, text in known.items():
        *_, last = text.split("\n")
        assert re.fullmatch(PROVENANCE, last), name
        assert f"benchmarks.papers {name}" in last
    # Generated again from its own sections it is the same: nothing was written by hand.
    assert "\n\n".join(written(known)) + "\n" == page
