from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from interpret_dp import PrivacyLedger
from interpret_dp.cli import commands, main

HEAVY = {
    "dash",
    "dp_accounting",
    "interpret",
    "numba",
    "numpy",
    "pandas",
    "plotly",
    "pyarrow",
    "scipy",
    "sklearn",
    "sqlalchemy",
}

PROBE = """
import contextlib, io, json, sys
from interpret_dp.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main(sys.argv[1:])
    except SystemExit:
        pass
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


SCRIPT = "import sys; from interpret_dp.cli import main; sys.exit(main())"


def _loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], []], ids=str)
def test_help_loads_nothing_heavy(arguments):
    assert _loaded_by(*arguments).isdisjoint(HEAVY)


def test_probe_sees_what_a_command_loads(tmp_path):
    url = f"sqlite:///{tmp_path}/privacy.db"
    loaded = _loaded_by(
        "ledger", "create", "--dataset", "a", "--epsilon", "1", "--delta", "1e-6", "--ledger", url
    )
    assert "sqlalchemy" in loaded


def test_without_arguments_the_help_is_shown(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    for name in ("demo", "schema", "fit", "show", "ledger", "audit"):
        assert f"  {name} " in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "No such command 'fly'"),
        (["fit"], "Missing argument 'FILE'"),
        (["schema"], "Missing command"),
        (["ledger", "create", "--dataset", "a", "--epsilon", "0", "--delta", "1e-6"], "x>0"),
        (["ledger", "create", "--dataset", "a", "--epsilon", "nan", "--delta", "1e-6"], "finite"),
        (["ledger", "create", "--dataset", "a", "--epsilon", "1", "--delta", "1"], "0<x<1"),
        (["ledger", "create", "--dataset", "a", "--epsilon", "x", "--delta", "1e-6"], "'x' is not"),
        (["demo", "--port", "0"], "1<=x<=65535"),
        (["demo", "--port", "65536"], "1<=x<=65535"),
    ],
)
def test_wrong_usage_ends_with_2(arguments, message, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("interpret-dp: ")
    assert message in shown
    assert "--help`" in shown


def _words_of_commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[list[str]]:
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


def test_a_refusal_is_one_message_without_traceback(folder):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "show", "absent.json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("interpret-dp: ")
    assert "absent.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interruption_says_that_it_may_have_been_charged(command, folder, monkeypatch):
    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("interpret_dp.schema.Schema.load", interrupt)
    (folder / "b.toml").write_text("")
    outcome = command("schema", "check", "a.csv", "--schema", "b.toml")
    assert outcome.code == 1
    assert "charged" in outcome.err


@pytest.mark.parametrize(
    ("output", "code"), [("| true", 0), (">&-", 0), (">/dev/full", 1), ("2>&1 | true", 0)]
)
def test_a_reader_that_leaves_the_pipe_is_no_error(folder, output, code):
    PrivacyLedger().create_budget("a", 1, 1e-6)
    # `true` never reads, so that the report is written into a closed pipe.
    show = f"{sys.executable} -c '{SCRIPT}' ledger show --ledger sqlite:///privacy.db"
    shell = f"{show} {output}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert done.returncode == code
    assert ("No space left" in done.stderr) if code else (done.stderr == "")


@pytest.mark.parametrize(
    "words",
    [
        ["show", "absent.json"],
        ["show", "."],
        ["show", "text.txt"],
        ["show", "absent.json", "--ledger", "privacy.txt"],
        ["schema", "check", "text.csv", "--schema", "absent.toml"],
        ["schema", "check", "text.csv", "--schema", "text.txt"],
        ["schema", "check", "absent.csv", "--schema", "good.toml"],
        ["schema", "draft", "absent.csv", "--target", "a", "--out", "b.toml"],
        ["schema", "draft", "text.csv", "--target", "a", "--out", "b.toml", "--max-levels", "0"],
        ["schema", "draft", "text.csv", "--target", "a", "--out", "b.toml", "--unit", "b"],
        ["schema", "draft", "text.csv", "--target", "b", "--out", "b.toml", "--max-rows", "2"],
        ["ledger", "show"],
        ["ledger", "show", "--ledger", "no url"],
        ["ledger", "show", "--ledger", "mysql://host/x"],
        ["ledger", "verify", "--file", "absent.jsonl"],
        ["ledger", "verify", "--file", "text.txt"],
        ["ledger", "create", "--dataset", " ", "--epsilon", "1", "--delta", "1e-6"],
        [
            *("ledger", "create", "--dataset", "a", "--epsilon", "1", "--delta", "1e-6"),
            *("--expires", "soon"),
        ],
        ["ledger", "export", "--out", "log.txt"],
        ["ledger", "report", "--json", "-"],
        ["audit", "--quick", "--only", "no such attack"],
        ["audit", "--quick", "--jobs", "0"],
        ["demo", "--rows", "3"],
    ],
    ids=" ".join,
)
def test_bad_input_is_one_short_message_and_2(command, folder, words):
    (folder / "text.txt").write_text("hello\n")
    (folder / "text.csv").write_text("b\n1\n2\n")
    (folder / "good.toml").write_text(
        'format = "interpret_dp.schema"\nversion = 1\n'
        '[features.b]\ntype = "continuous"\nlower = 0\nupper = 1\n'
    )
    outcome = command(*words)
    assert outcome.code == 2
    assert outcome.err.startswith("interpret-dp: ")
    assert "Errno" not in outcome.err
    # A problem and its mend, no story.
    assert outcome.err.count("\n") == 1
    assert 40 < len(outcome.err) < 400
