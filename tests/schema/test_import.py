"""Declaring a schema imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import interpret_dp.schema

SCRIPT = """
import sys
import interpret_dp.schema as schema
{use}
print([name for name in ("numpy", "pandas", "sklearn", "scipy", "tomli_w") if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("use", "loaded"),
    [
        ("schema.Schema({'a': schema.Continuous(0, 1)}).to_json()", "[]"),
        (
            "schema.encode_table(schema.open_table([[1]]), [schema.Continuous(0, 1)], 2)",
            "['numpy']",
        ),
    ],
)
def test_heavy_modules_wait_until_they_are_needed(
    use: str, loaded: str, pytestconfig: pytest.Config
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(use=use)],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == loaded


@pytest.mark.parametrize("name", interpret_dp.schema.__all__)
def test_public_names_are_there(name: str) -> None:
    assert name in dir(interpret_dp.schema)
    assert getattr(interpret_dp.schema, name) is not None
