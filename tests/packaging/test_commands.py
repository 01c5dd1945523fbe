"""One version, and one list of commands: the Makefile's, which everything else calls."""

import re

import pytest

from interpret_dp import __version__
from tests.processes import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def targets():
    return set(re.findall(r"^([a-z][\w-]*):(?!=)", MAKEFILE, re.MULTILINE))


def test_whoever_cites_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [__version__]
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in metadata
    assert 'path = "interpret_dp/_version.py"' in metadata


def test_the_workflow_calls_targets_of_the_makefile_and_nothing_else():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    called = re.search(r"target: \[(.+)\]", workflow)[1].split(", ")
    assert set(called) <= targets()
    assert re.findall(r"- run: (.+)", workflow) == ["make ${{ matrix.target }}"]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_commands_that_pages_name_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([a-z][\w-]*)", text))
    assert named <= targets()


def test_every_command_for_people_is_in_the_help():
    listed = set(re.findall(r'@echo "make ([\w-]+)', MAKEFILE))
    # What other targets need first.
    assert targets() - listed == {"help", "chromium", "postgres", "newest-versions"}
