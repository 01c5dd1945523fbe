from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from interpret_dp import load_model

SCRIPT = "import sys; from interpret_dp.cli import main; sys.exit(main())"


@pytest.fixture
def model(fit, patients, folder):
    """Return the path of a fitted model; its ledger is the default one."""
    outcome = fit(patients, budget=4)
    assert outcome.code == 0, outcome.err
    return folder / "model.json"


def test_html_is_written_with_the_guarantee_and_the_account(command, model, folder):
    outcome = command("show", model, "--ledger", "sqlite:///privacy.db", "--html", "page.html")
    assert outcome.code == 0, outcome.err
    assert "one more release of at most epsilon 3.8" in outcome.out
    page = (folder / "page.html").read_text()
    assert "<h1>Model of ward</h1>" in page
    assert "For any two tables that differ by adding or removing one row" in page
    assert "Left for one more release" in page


def test_without_a_ledger_no_account_is_shown(command, model, folder):
    outcome = command("show", model, "--html", "page.html")
    assert outcome.code == 0, outcome.err
    assert "Left" not in outcome.out
    assert "Left for one more release" not in (folder / "page.html").read_text()
    assert "no ledger at hand" in (folder / "page.html").read_text()


def test_the_promise_is_printed_and_checked_against_the_log(command, model, folder):
    outcome = command("show", model, "--text", "--ledger", "sqlite:///privacy.db")
    assert outcome.code == 0, outcome.err
    guarantee = load_model(model).guarantee_
    text = " ".join(outcome.out.split())
    for shown in (guarantee.sentence, *guarantee.assumptions, guarantee.mechanism):
        assert shown in text
    assert "age: Continuous(18, 95)" in text
    assert "target: Categorical(['no', 'yes'])" in text
    assert f"whole, and it holds the model's head {guarantee.ledger_head}" in text
    assert "Dashboard" not in text


def test_a_log_that_does_not_hold_the_models_head_is_refused(command, model, folder):
    words = ["ledger", "create", "--dataset", "ward", "--epsilon", "4", "--delta", "1e-6"]
    assert command(*words, "--ledger", "sqlite:///other.db").code == 0
    outcome = command("show", model, "--text", "--ledger", "sqlite:///other.db")
    assert outcome.code == 1
    assert "head" in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ledger", "sqlite:///absent.db"], "no ledger file"),
        (["--html", "nowhere/page.html"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(command, model, folder, options, message):
    outcome = command("show", model, *options, "--no-browser")
    assert outcome.code == 2
    assert message in outcome.err
    assert not (folder / "absent.db").exists()


def test_a_file_that_is_no_model_is_refused(command, folder):
    (folder / "other.json").write_text('{"a": 1}')
    outcome = command("show", "other.json", "--html", "page.html")
    assert outcome.code == 2
    assert "not a model file" in outcome.err
    assert not (folder / "page.html").exists()


def test_a_port_in_use_is_refused(command, model):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        outcome = command("show", model, "--port", port, "--no-browser")
    assert outcome.code == 2
    assert f"--port is {port}" in outcome.err


@pytest.mark.thorough
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)], ids=str
)
def test_the_dashboard_is_served_until_it_is_stopped(model, number):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "show", str(model), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=os.getcwd(),
    )
    try:
        seen = ""
        while not (address := re.search(r"http://127\.0\.0\.1:\d+/\d+/", seen)):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            seen += line
        with urllib.request.urlopen(address.group()) as answer:
            assert b"dash" in answer.read()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert "Stopped." in out
    assert err == ""
    assert process.returncode == 0
