"""Pages are short enough to be read, and the figures of docs/epsilon.md are right."""

import math
from pathlib import Path

import pytest

from interpret_dp.accounting import detection_power, epsilon_of_mu, mu_of_budget
from tests.docs.pages import table_below

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")])
RECORDS = sorted(DOCS.glob("decisions/*.md"))
# Its tables compare every engine with every table; its log is in benchmarks/NOTES.md.
LONGER = {"accuracy.md": 1_500}


def words(page):
    return len(page.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_short(page):
    assert words(page) <= LONGER.get(page.name, 1_200)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_has_its_parts_and_is_short(record):
    text = record.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(record.name[:4])}. ")
    assert [
        part for part in ("Context", "Decision", "Consequence") if f"**{part}.**" not in text
    ] == []
    assert words(record) <= 150


def test_all_pages_together_are_short():
    assert sum(map(words, [*PAGES, *RECORDS])) <= 26_000
    assert len(RECORDS) > 10


# ---------------------------------------------------------------------------------- docs/epsilon.md


EPSILON = Path(__file__).parents[2] / "docs" / "epsilon.md"
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


@pytest.mark.parametrize(("value", "printed"), [(0.2301, "0.24"), (0.23, "0.23")])
def test_rounding_is_upwards(value, printed):
    assert rounded_up(value, 2) == printed
