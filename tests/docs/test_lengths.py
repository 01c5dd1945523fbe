"""Pages are short enough to be read: 1,200 words, README's prose 900, a version's changes 1,000."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")])
RECORDS = sorted(DOCS.glob("decisions/*.md"))


def words(page):
    return len(page.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_short(page):
    assert words(page) <= 1_200


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_has_its_parts_and_is_short(record):
    text = record.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(record.name[:4])}. ")
    assert [
        part for part in ("Context", "Decision", "Consequence") if f"**{part}.**" not in text
    ] == []
    assert words(record) <= 150


def test_the_first_page_is_short():
    prose = re.sub(r"^```.*?^```$", "", (ROOT / "README.md").read_text(), flags=re.M | re.S)
    assert 400 < len(prose.split()) <= 900


def test_changes_of_a_version_are_short():
    _, *versions = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## [")
    assert versions
    assert [text[:40] for text in versions if len(text.split()) > 1_000] == []
    assert all(re.search(r"^### (?=(\w+))", text, re.M)[1] == "Privacy" for text in versions)


def test_all_pages_together_are_short():
    assert sum(map(words, [*PAGES, *RECORDS])) <= 26_000
    assert len(RECORDS) > 10
