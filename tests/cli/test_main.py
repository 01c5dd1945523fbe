import subprocess
import sys

import click
import pytest

from interpret_dp import Continuous, PrivacyLedger, Schema
from interpret_dp.cli import commands, main

SCRIPT = "import sys; from interpret_dp.cli import main; sys.exit(main())"


def _words_of_commands(group, words=()):
    """Yield the words of each command that is no group."""
    for name, made in group.commands.items():
        if isinstance(made, click.Group):
            yield from _words_of_commands(made, (*words, name))
        else:
            yield [*words, name]


@pytest.mark.parametrize("words", list(_words_of_commands(commands)), ids=" ".join)
def test_every_command_has_help_and_an_example(words, capsys):
    assert main([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"example:\n    interpret-dp {' '.join(words)} " in shown


@pytest.mark.parametrize(("output", "code"), [("| true", 0), (">&-", 0), (">/dev/full", 1)])
def test_a_reader_that_leaves_the_pipe_is_no_error(folder, output, code):
    PrivacyLedger().create_budget("a", 1, 1e-6)
    # `true` never reads, so that the report is written into a closed pipe.
    show = f"{sys.executable} -c '{SCRIPT}' ledger show --ledger sqlite:///privacy.db"
    shell = f"{show} {output}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert done.returncode == code
    assert ("No space left" in done.stderr) if code else (done.stderr == "")


BAD_INPUT = [
    ("fly", "No such command 'fly'. See `interpret-dp --help`"),
    ("fit", "Missing argument 'FILE'. See `interpret-dp fit --help`"),
    ("schema", "Missing command. See `interpret-dp schema --help`"),
    ("show absent.json", "'absent.json' does not exist"),
    ("show .", "'.' is a directory"),
    ("show text.txt", "'text.txt' is not valid JSON"),
    ("schema check text.csv --schema absent.toml", "'absent.toml' does not exist"),
    ("schema check text.csv --schema text.txt", "must end in .toml or .json"),
    ("schema check absent.csv --schema good.toml", "FILE is 'absent.csv', and there is no such"),
    ("schema draft text.csv --target a --out b.toml --max-levels 0", "max_levels is 0"),
    (
        "schema draft text.csv --target b --out b.toml --max-rows 2",
        "--max-rows needs --unit COLUMN",
    ),
    ("ledger show", "no ledger file"),
    ("ledger show --ledger sqlite:///absent.db", "absent.db'. Name another with --ledger"),
    ("ledger show --ledger 'no url'", "url cannot be read"),
    ("ledger verify --file absent.jsonl", "'absent.jsonl' does not exist"),
    ("ledger verify --file text.txt", "must end in .jsonl or .csv"),
    ("ledger create --dataset ' ' --epsilon 1 --delta 1e-6", "dataset is ' '"),
    ("ledger create --dataset a --epsilon 0 --delta 1e-6", "x>0"),
    ("ledger create --dataset a --epsilon nan --delta 1e-6", "finite"),
    ("ledger create --dataset a --epsilon 1 --delta 1", "0<x<1"),
    ("ledger create --dataset a --epsilon 1 --delta 1e-6 --expires soon", "expires is 'soon'"),
    ("ledger export --out a.csv", "no ledger file"),
    ("ledger report", "`interpret-dp ledger show` prints"),
    ("sites key absent/site.key", "FILE is 'absent/site.key', which cannot be written"),
    ("sites job study --participants text.txt", "'text.txt' is not valid JSON"),
    ("sites job study --participants keys.json", "has {'north': 'ab'} for participants"),
    ("demo --port 65536", "1<=x<=65535"),
    ("demo --rows 100", "x>=500"),
    ("demo --seed -1 --no-serve", "x>=0"),
    ("demo --out text.txt --no-serve", "'text.txt' is a file"),
]


@pytest.mark.parametrize(("line", "message"), BAD_INPUT, ids=[line for line, _ in BAD_INPUT])
def test_bad_input_is_one_short_message_and_2(typed, folder, line, message):
    (folder / "text.txt").write_text("hello\n")
    (folder / "text.csv").write_text("b\n1\n2\n")
    (folder / "keys.json").write_text('{"north": "ab"}')
    Schema({"b": Continuous(0, 1)}).save(folder / "good.toml")
    before = sorted(folder.iterdir())
    outcome = typed(line, code=2)
    assert outcome.err.startswith("interpret-dp: ")
    assert message in outcome.err
    assert "Errno" not in outcome.err
    # A problem and its mend, no story.
    assert outcome.err.count("\n") == 1
    assert 40 < len(outcome.err) < 400
    assert sorted(folder.iterdir()) == before
