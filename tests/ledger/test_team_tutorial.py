"""The page about a team ledger is followed on a real server, and its script on both stores."""

import re

import pytest

from interpret_dp.ledger import PrivacyLedger, RoleError
from tests.processes import ROOT, output_of

PAGE = ROOT / "docs" / "ledger_team.md"
SCRIPT = ROOT / "examples" / "team_ledger.py"


@pytest.mark.thorough
@pytest.mark.postgres
def test_the_page_does_what_it_says(login, capsys):
    PrivacyLedger(login("anna")).create_budget("patients", epsilon=2.5, delta=1e-6)
    text = PAGE.read_text(encoding="utf-8")
    source = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    for user in ("anna", "ben"):
        address = f"postgresql://{user}@db.example.org/privacy"
        assert address in source
        source = source.replace(address, login(user))
    names = {}
    exec(compile(source, str(PAGE), "exec"), names)

    said = capsys.readouterr().out
    assert "It waits as request for approval" in said
    assert "'patients-copy' does not cover this request: it needs epsilon 1.5" in said
    ledger = names["ben"]
    report = ledger.report()
    assert report["purpose"].tolist() == ["risk model", "annual report"]
    assert report["user"].tolist() == ["ben", "ben"]
    with pytest.raises(RoleError, match="'ben' may not"):
        ledger.raise_budget("patients", epsilon=9, delta=1e-6, reason="more")


@pytest.mark.slow
@pytest.mark.postgres
def test_the_script_runs_under_two_logins(login, tmp_path):
    logins = ("--officer", login("anna"), "--analyst", login("ben"))
    said = output_of(SCRIPT, *logins, cwd=tmp_path)
    assert "annual report: epsilon 2 spent" in said
    assert said.count("ben") == 2
    assert not list(tmp_path.iterdir())
