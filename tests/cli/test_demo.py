import re

import pytest

from interpret_dp import PrivacyLedger, load_model
from interpret_dp.cli import console, demo
from tests.ledger.requests import reserve

FAST = ["--rows", 500, "--no-serve"]


@pytest.mark.thorough
def test_demo_writes_page_model_and_ledger(command, folder):
    outcome = command("demo", *FAST, "--task", "regression")
    text = " ".join(outcome.out.split())
    assert "RMSE " in text
    assert "the true curves reach" in text
    assert "on 100 held-out patients" in text
    made = folder / "demo_output"
    assert str(made / "demo.html") in text
    model = load_model(made / "model.json")
    assert model.guarantee_.sentence in text
    page = (made / "demo.html").read_text()
    assert "true curve, known because the data are simulated" in page
    assert page.count("<article") == 10 + 6
    for shown in (text.partition("What you see")[2], page.partition("What you see</h2>")[2]):
        assert "adds to the cost" in shown
        assert "treatment starts at 1.5 mg/dl" in shown
    assert "interpret-dp show demo_output/model.json" in text
    (dataset,) = PrivacyLedger(f"sqlite:///{made / 'privacy.db'}").datasets()
    assert "simulated" in dataset


@pytest.mark.thorough
def test_runs_on_one_ledger_are_charged_together_until_it_refuses(command, folder):
    words = ["demo", *FAST, "--out", "here"]
    command(*words)
    ledger = PrivacyLedger("sqlite:///here/privacy.db")
    (dataset,) = ledger.datasets()
    mu = 0.99 * (ledger.budget(dataset).mu ** 2 - ledger.spent(dataset).mu ** 2) ** 0.5
    reserve(ledger, dataset, mu=mu, epsilon=3, explainer="Other")
    outcome = command(*words, code=1)
    assert "the ledger of an earlier run" in outcome.out
    assert "This is the ledger at work" in outcome.err
    assert re.search(r"fitting .* failed", outcome.out)


def test_a_simulator_whose_port_was_taken_is_started_again(tmp_path, monkeypatch):
    (tmp_path / "nvflare").mkdir()
    (tmp_path / "nvflare" / "cli.py").write_text(
        "import pathlib, sys, time\n"
        "runs = pathlib.Path('runs')\n"
        "runs.write_text(runs.read_text() + 'x' if runs.exists() else 'x')\n"
        "if len(runs.read_text()) < 3:\n"
        "    print('OSError: [Errno 98] Address already in use', flush=True)\n"
        "    time.sleep(600)\n"
        "sys.exit(len(runs.read_text()) != 3)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    demo._run_simulator(tmp_path, ["hospital-1"])
    assert (tmp_path / "runs").read_text() == "xxx"
    with pytest.raises(console.FailedError, match=r"flare\.log"):
        demo._run_simulator(tmp_path, ["hospital-1"])
