"""What is committed of the benchmarks' results says what measured it."""

import re

import pytest

from benchmarks.audit_page import END
from benchmarks.papers.__main__ import PAGE, PAPERS, sections, written
from tests.processes import ROOT

PROVENANCE = r"`python -m benchmarks\..+`, 20[\d-]{8}, interpret_dp \d[\w.]* at [0-9a-f]{10}\."
FOLDER = ROOT / "benchmarks" / "results"
PAGES = [*sorted(FOLDER.glob("*.md")), ROOT / "docs" / "performance.md"]
SECTIONS = sections(PAGE.read_text(encoding="utf-8"))
TEXTS = {page.stem: page.read_text(encoding="utf-8") for page in PAGES} | SECTIONS
TEXTS["audit"] = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8").partition(END)[0]
#: Raw numbers whose page has another name.
RENAMED = {"scale": "performance", "peers": "nori table2"}


@pytest.mark.parametrize("name", TEXTS)
def test_results_end_with_their_command_their_day_and_their_code(name):
    *_, last = TEXTS[name].rstrip().split("\n")
    assert re.fullmatch(PROVENANCE, last)
    assert name not in SECTIONS or f"benchmarks.papers {name}" in last


def test_raw_numbers_have_a_page():
    raw = {path.stem for path in FOLDER.glob("*.*") if path.suffix in (".csv", ".json")}
    assert {RENAMED.get(stem, stem) for stem in raw} <= TEXTS.keys()


def test_the_papers_page_has_every_item_and_nothing_written_by_hand():
    items = [f"{name} {item.name}" for name, paper in PAPERS.items() for item in paper.items]
    assert list(SECTIONS) == items
    assert "\n\n".join(written(SECTIONS)) + "\n" == PAGE.read_text(encoding="utf-8")
