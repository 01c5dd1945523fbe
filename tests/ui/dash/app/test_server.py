"""interpret's server ends with the process, and no other machine or site can use it."""

import socket
from pathlib import Path
from types import SimpleNamespace

import interpret
import numpy as np
import pytest
import requests
from interpret.data import ClassHistogram

from interpret_dp.cli.show import serve
from tests.processes import python
from tests.ui.dash.client import AppClient

SCRIPT = """
import atexit, sys
import requests

def report():
    runner = interpret.get_visualize_provider()
    runner = getattr(runner, "provider", runner).app_runner
    alive = runner._thread is not None and runner._thread.is_alive()
    print("alive" if alive else "stopped", runner.ip)

# What is registered first runs last, when our own handler is done.
atexit.register(report)
import interpret
from interpret_dp import load_model
explanation = load_model(sys.argv[1]).explain_global()
{serve}
"""
SERVED = """
from requests.adapters import HTTPAdapter, Retry
patient = requests.Session()
patient.mount("http://", HTTPAdapter(max_retries=Retry(connect=10, backoff_factor=0.05)))
url = interpret.show_link(explanation)
assert patient.get(url + "_dash-layout", timeout=5).status_code == 200
"""
SHOWN = "interpret.show(explanation)"


@pytest.fixture(scope="module")
def model_file(shown, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    shown.model.save(path)
    return path


@pytest.mark.thorough
def test_a_script_that_served_a_page_ends_cleanly(model_file):
    script = SCRIPT.format(serve=SERVED + SHOWN)
    done = python("-W", "ignore", "-c", script, model_file, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "stopped 127.0.0.1"


# interpret leaves the socket open with which it found that its usual port is taken.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nobody_else_can_reach_the_server(shown):
    from interpret.visual.dashboard import AppRunner

    runner = AppRunner()
    runner.register(shown.total)
    runner.start()
    try:
        assert _listening_addresses(runner.port) == {"127.0.0.1"}
    finally:
        assert runner.stop()


def _listening_addresses(port):
    """Return the addresses at which this machine listens on a port, as the kernel lists them."""
    import time

    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("the kernel's list of sockets, /proc/net/tcp, is on Linux only")
    for _ in range(200):
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
        found = {row[1].split(":")[0] for row in rows
                 if int(row[1].split(":")[1], 16) == port and row[3] == "0A"}  # fmt: skip
        if found:
            return {socket.inet_ntoa(bytes.fromhex(address)[::-1]) for address in found}
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on port {port}")


ORIGINS = [
    ("localhost:7001", None, 200),
    ("127.0.0.1:7001", "http://127.0.0.1:7001", 200),
    ("[::1]:7001", "http://[::1]:7001", 200),
    ("Ward-PC:7001", "http://ward-pc:7001", 200),
    ("hub.example.org", "https://hub.example.org", 200),
    ("localhost:7001", "https://hub.example.org", 200),
    ("evil.example:7001", None, 403),
    ("localhost.evil.example", "http://localhost.evil.example", 403),
    ("[::1", None, 403),
    ("", None, 403),
    ("localhost:7001", "http://evil.example", 403),
    ("localhost:7001", "http://localhost:8888", 403),
    ("localhost:7001", "null", 403),
]


@pytest.mark.parametrize(("host", "origin", "status"), ORIGINS)
def test_pages_of_other_sites_are_refused(shown, monkeypatch, host, origin, status):
    provider = SimpleNamespace(render=None, app_runner=SimpleNamespace(ip="ward-pc"))
    monkeypatch.setattr("interpret.visual._interactive.visualize_provider", provider)
    monkeypatch.setenv("INTERPRET_DP_ALLOWED_HOSTS", " Hub.example.org, ,other.example")
    headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
    others = ClassHistogram().explain_data(np.zeros((2, 1)), np.array([0, 1]))
    for explanation, expected in ((shown.total, status), (others, 200)):
        client = AppClient(explanation).app.server.test_client()
        assert client.get("/", headers=headers).status_code == expected
        # A callback without content is an error of interpret's where it is let through.
        text = client.post("/_dash-update-component", json={}, headers=headers).text
        assert ("INTERPRET_DP_ALLOWED_HOSTS" in text) is (expected == 403)


def test_the_commands_server_refuses_other_sites_and_goes_on(shown, monkeypatch):
    def visit(label, url):
        if label == "Edits":  # of other sessions of this process
            return
        root = url.rsplit("/", 2)[0]
        for page in (url, f"{root}/", f"{root}/shutdown"):
            for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                assert requests.post(page, headers=headers, timeout=60).status_code == 403
        # As an image of another site's page asks.
        assert requests.get(f"{root}/shutdown", timeout=60).status_code == 405
        assert requests.get(url, timeout=60).status_code == 200
        raise KeyboardInterrupt

    monkeypatch.setattr("interpret.visual._interactive.visualize_provider", None)
    monkeypatch.setattr("interpret_dp.cli.console.say_item", visit)
    serve(shown.total, port=None, no_browser=True)
    assert interpret.shutdown_show_server()
