"""Pages are short: 1,200 words, README 900, a version's changes 1,000; figures of epsilon.md."""

import math
import re

import pytest

from interpret_dp.accounting import detection_power, epsilon_of_mu, mu_of_budget
from tests.docs.pages import table_below
from tests.processes import ROOT

DOCS = ROOT / "docs"
# papers.md is generated from what was measured.
PAGES = sorted(set(DOCS.glob("*.md")) - {DOCS / "papers.md"})
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
    assert [p for p in ("Context", "Decision", "Consequence") if f"**{p}.**" not in text] == []
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
    assert sum(map(words, [*PAGES, *RECORDS])) <= 24_000
    assert len(RECORDS) > 10


# ---------------------------------------------------------------------------------- docs/epsilon.md


EPSILON = DOCS / "epsilon.md"
DELTA = 1e-6


def rounded_up(value, digits):
    # What lies above by less than the slack of the accounting is the number itself.
    scale = 10**digits
    return f"{math.ceil(value * scale - 1e-6) / scale:.{digits}f}"


def test_detections():
    rows = table_below(EPSILON, "# What epsilon means")
    assert [float(row[0]) for row in rows] == [0.1, 0.25, 0.5, 1, 2, 4, 8]
    for epsilon, *figures in rows:
        mu = mu_of_budget(float(epsilon), DELTA)
        powers = [100 * detection_power(mu, level) for level in (0.05, 0.01)]
        assert figures == [rounded_up(mu, 3), *(f"{rounded_up(p, 1)} %" for p in powers)]


def test_fits_together():
    rows = table_below(EPSILON, "## Why there is a mu")
    mu = mu_of_budget(1.0, DELTA)
    assert len(rows) == 5
    for fits, together in rows:
        assert together == rounded_up(epsilon_of_mu(mu * math.sqrt(int(fits)), DELTA), 2)
