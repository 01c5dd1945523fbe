"""The officer's report in a browser without a network."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"


@pytest.fixture
def report(tmp_path):
    """Write the page of a ledger with two accounts, renewals, links, approvals and roles."""
    from interpret_dp.explanation.pages.ledger import render_ledger_page
    from interpret_dp.ledger import ApprovalNeededError, PrivacyLedger
    from tests.ledger.requests import reserve_epsilon
    from tests.ledger.team import acting_as

    ledger = PrivacyLedger.in_memory()
    with acting_as("anna"):
        ledger.create_budget("cardiology", 4.0, 1e-6, purpose="board", expires="2099-12-31")
        ledger.create_budget(f"oncology {HOSTILE}", 2.0, 1e-6)
        ledger.appoint("anna", "officer")
        for number in range(12):
            user = ("ben", "carla", HOSTILE)[number % 3]
            with acting_as(user):
                used = ledger.for_purpose(("audit", HOSTILE)[number % 2])
                used.commit(reserve_epsilon(used, 0.1 + 0.05 * (number % 3), 1e-6, "cardiology"))
        ledger.raise_budget("cardiology", 6.0, 1e-6, reason=HOSTILE)
        ledger.require_approval("cardiology", above=0.4, reason="board")
        with acting_as("ben"), pytest.raises(ApprovalNeededError):
            reserve_epsilon(ledger, 1.0, 1e-6, "cardiology")
        ledger.link("copy", to="cardiology", reason="same people")
        ledger.renew_budget("cardiology", reason="yearly", expires="2099-12-31")
        reserve_epsilon(ledger, 0.5, 1e-6, f"oncology {HOSTILE}")
    path = tmp_path / "report.html"
    path.write_text(render_ledger_page(ledger.oversight()), encoding="utf-8")
    return path


def test_the_report_works_without_a_network(open_file, report):
    page = open_file(report)
    page.look_at_all()
    assert len(page.figures()) == 2 * 3
    assert all(figure["data"] for figure in page.figures())
    page.screenshot("ledger_report")

    # Words of users are text and nothing else.
    assert page.page.title() == "Privacy ledger report"
    assert page.page.locator("img").count() == 0
    assert HOSTILE in page.text()

    # Long tables unfold and scroll inside, and a narrow screen needs no sideways scrolling.
    assert not page.page.locator("#entries table").is_visible()
    page.page.locator("#entries summary").click()
    page.settle()
    rows = page.page.locator("#entries tbody tr")
    assert rows.count() > 25
    assert rows.first.is_visible()
    heights = page.page.evaluate(
        "() => [...document.querySelectorAll('#entries .scroll')].map(e => e.clientHeight)"
    )
    assert max(heights) <= 560
    page.narrow(400)
    page.screenshot("ledger_report_narrow")
    page.assert_clean()
