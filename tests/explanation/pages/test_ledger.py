"""The officer's page says what the document says, and takes nobody's words for markup."""

import html

import pytest

from interpret_dp.explanation import pages as ledger_page
from interpret_dp.explanation.budget import grouped_shares
from interpret_dp.explanation.pages import render_ledger_page
from interpret_dp.explanation.plots import parts
from interpret_dp.explanation.plots.spending import timeline_figure
from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import budgeted, reserve, reserve_epsilon
from tests.ledger.team import acting_as, days_later

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def ledger():
    ledger = budgeted(f"ward {HOSTILE}", 3.0, 1e-6, purpose=HOSTILE, expires="2099-12-31")
    with acting_as(f"anna {HOSTILE}"):
        ledger.commit(reserve_epsilon(ledger.for_purpose(HOSTILE), 1.0, 1e-6, f"ward {HOSTILE}"))
        reserve(ledger, f"ward {HOSTILE}", explainer=f"Other {HOSTILE}", mu=0.2)
    return ledger


def body(page):
    """Return what comes after plotly's own code."""
    return page[page.index("<body>") :]


def used_then(account, place):
    """Return the part of the budget that was used up to a request."""
    return account["totals"][place]["mu"] ** 2 / account["budget"]["mu"] ** 2


def test_nothing_that_people_wrote_is_markup(ledger):
    ledger.require_approval(f"ward {HOSTILE}", above=1.0, reason=HOSTILE)
    ledger.request_approval(f"ward {HOSTILE}", 2.0, 1e-6, purpose=HOSTILE, explainer=HOSTILE)
    ledger.reject(ledger.approvals()[0].number, reason=HOSTILE)
    ledger.link(HOSTILE, to=f"ward {HOSTILE}", reason=HOSTILE)
    ledger.appoint(f"anna {HOSTILE}", "officer", reason=HOSTILE)
    page = body(render_ledger_page(ledger.oversight()))
    assert HOSTILE not in page
    assert page.count("<script") == 3
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_page_shows_the_documents_figures(ledger):
    document = ledger.oversight()
    page = body(render_ledger_page(document))
    assert "epsilon 3 at delta 1e-06" in page
    assert "2100-01-01 00:00 UTC" in page
    assert document["head"] in page
    assert "The log is intact" in page
    assert "1 of them run or crashed" in page
    assert page.count('class="plot"') == 1
    for wanted in ("http:", "https:", "src=", "@import", "url("):
        assert wanted not in page


def test_of_a_long_log_the_latest_rows_are_shown(ledger, monkeypatch):
    monkeypatch.setattr(ledger_page, "_MOST_ROWS", 2)
    monkeypatch.setattr(parts, "_MOST_POINTS", 2)
    for _ in range(3):
        ledger.commit(reserve(ledger, f"ward {HOSTILE}", mu=0.2))
    document = ledger.oversight()
    page = body(render_ledger_page(document))
    (account,), entries = document["datasets"], document["entries"]
    assert "latest 2; 3 earlier ones are left out" in page  # requests
    assert f"latest 2; {len(entries) - 2} earlier ones are left out" in page
    assert [entry for entry in entries if f">{entry['hash'][:12]}<" in page] == entries[-2:]
    assert "Showing 3 of 5 requests" in page
    drawn = [100 * used_then(account, place) for place in (0, 3, 4)]
    assert list(timeline_figure(account).data[0].y) == pytest.approx([0.0, *drawn, drawn[-1]])


PROTECTED = [
    ({}, "decided by the first request"),
    ({"unit": "id"}, "all rows of one 'id': presence"),
    ({"neighboring": "replace_one"}, "one row: content, not"),
]


@pytest.mark.parametrize(("protected", "tile"), PROTECTED)
def test_nobody_is_said_to_be_protected_whom_the_budget_leaves_out(protected, tile):
    ledger = budgeted("ward", 3.0, 1e-6, **({"unit": None} | protected))
    page = html.unescape(body(render_ledger_page(ledger.oversight())))
    assert tile in page
    assert ("several rows is protected less" in page) == ("unit" not in protected)


def test_what_was_used_of_the_delta_for_selections_is_said_beside_the_rest():
    ledger = budgeted("ward", 8.0, 1e-6)
    ledger.commit(reserve(ledger, "ward", mu=0.1, delta=1e-7))
    page = body(render_ledger_page(ledger.oversight()))
    assert "0.5 %, and 100 % of the delta for selections, by 1 request" in page
    assert "like the latest request: no" in page


def test_a_failed_check_comes_first(ledger):
    document = ledger.oversight(head="0" * 64)
    page = body(render_ledger_page(document))
    assert "The log failed its check" in page
    assert 'class="failed"' in page
    assert "The log is intact" not in page
    assert page.index("failed its check") < page.index("<table")


def test_without_a_limit_percent_are_of_what_was_spent():
    ledger = PrivacyLedger.in_memory()
    empty = body(render_ledger_page(ledger.oversight()))
    assert "none: the log is empty" in empty
    assert 'class="plot"' not in empty
    ledger.commit(reserve(ledger, "adult", mu=0.3))
    document = ledger.oversight()
    (account,) = document["datasets"]
    figure = timeline_figure(account)
    assert figure.layout.yaxis.title.text == "% of what was spent"
    assert list(figure.data[0].y) == [0.0, 100.0, 100.0]
    assert grouped_shares(account, "explainer") == [("test", 1.0, "100 %")]
    assert "no limit declared" in body(render_ledger_page(document))


def test_the_timeline_follows_requests_and_limits(ledger):
    name = f"ward {HOSTILE}"
    ledger.raise_budget(name, 5.0, 1e-6, reason="more")
    ledger.renew_budget(name, reason="next year")
    document = ledger.oversight()
    (account,) = document["datasets"]
    figure = timeline_figure(account)
    steps = figure.data[0]
    assert list(steps.y[1:3]) == pytest.approx([100 * used_then(account, at) for at in (0, 1)])
    assert list(steps.x[1:3]) == [request["number"] for request in account["requests"]]
    # Entries are named by their dates alone.
    assert set(figure.layout.xaxis.ticktext) == {account["requests"][0]["time"]}
    limit = figure.data[-1]
    first = 100 * (document["entries"][0]["mu"] / account["budget"]["mu"]) ** 2
    assert list(limit.y) == pytest.approx([first, 100.0, 100.0, 100.0])
    assert [shape.x0 for shape in figure.layout.shapes] == [account["periods"][0]["number"]]
    assert {trace.mode for trace in figure.data[1:-1]} == {"markers"}
    share = 100 * (account["spent"]["mu"] / account["budget"]["mu"]) ** 2
    for by in ("explainer", "user"):
        groups = grouped_shares(account, by)
        assert sum(each for _, each, _ in groups) == pytest.approx(share / 100)
    assert sum(len(trace.x) for trace in figure.data[1:-1]) == 2


def test_renewals_for_new_people_and_the_end_are_told(ledger):
    name = f"ward {HOSTILE}"
    ledger.create_budget("clinic", 1.0, 1e-6)
    ledger.commit(reserve(ledger, "clinic", mu=0.1))
    renewal = {"new_people": "all were deleted", "expires": "2099-12-31"}
    ledger.renew_budget("clinic", reason="2027", **renewal)
    page = body(render_ledger_page(ledger.oversight("clinic")))
    assert "An officer said at a renewal that the people in the data are new" in page
    assert "vouched that all people are new: all were deleted" in page
    assert "with what was spent before a renewal for new people" in page
    assert name not in page
    with days_later(40_000):
        assert "no: the budget has expired" in body(render_ledger_page(ledger.oversight("clinic")))
