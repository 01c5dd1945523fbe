"""Pages name commands and options of `interpret-dp` that exist."""

import re
import shlex

import click
import pytest

from interpret_dp.cli import commands
from tests.docs.test_blocks import PAGES, ROOT

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`(interpret-dp [^`]*)`")


def lines_of(text):
    """Yield each call of the command, in blocks of shell and in sentences."""
    for block in _BLOCK.findall(text):
        yield from re.findall(r"^interpret-dp .*", block.replace("\\\n", " "), re.MULTILINE)
    yield from (code.replace("\n", " ") for code in _CODE.findall(text))


def unknown(line):
    """Return the first word that is neither a command nor an option; None if all are known."""
    words = shlex.split(line, comments=True)[1:]
    command, context = commands, click.Context(commands)
    while isinstance(command, click.Group) and words and words[0][0] != "-":
        command = command.get_command(context, words[0])
        if command is None:
            return words[0]
        words = words[1:]
    options = {"--help", *(option for one in command.params for option in one.opts)}
    given = (word.partition("=")[0] for word in words if word.startswith("--"))
    return next((word for word in given if word not in options), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_of_pages_exist(page):
    text = page.read_text(encoding="utf-8")
    assert [line for line in lines_of(text) if unknown(line)] == []


def test_calls_are_found_and_faults_seen():
    text = "`interpret-dp shwo` and\n```sh\ninterpret-dp ledger show \\\n  --leger URL  # so\n```\n"
    assert [unknown(line) for line in lines_of(text)] == ["--leger", "shwo"]
    assert len(list(lines_of((ROOT / "README.md").read_text(encoding="utf-8")))) > 5
