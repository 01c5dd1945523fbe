import json
import subprocess
import sys
from pathlib import Path

import pytest

import interpret_dp
from scripts.trace_fit import trace_fit
from tests.architecture import rules
from tests.architecture.source_tree import SourceTree

PACKAGE = Path(interpret_dp.__path__[0])
PROOFS = PACKAGE.parent / "docs" / "proofs"

RULES = [
    rules.only_mechanisms_call_methods_that_draw,
    rules.public_rooms_never_touch_rows,
    rules.modules_and_functions_are_short,
]


@pytest.fixture(scope="module")
def package():
    return SourceTree(PACKAGE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_package_keeps_the_rule(rule, package):
    assert list(rule(package)) == []


def test_every_mechanism_has_a_proof_page(package):
    assert list(rules.mechanisms_have_proof_pages(package, PROOFS)) == []


# Controls: each rule sees a planted breach, and the same code where it is allowed is no breach.


def _planted(folder, files):
    root = folder / "interpret_dp"
    for name, text in {"__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        init = path.parent / "__init__.py"
        if not init.exists():
            init.write_text("")
    return SourceTree(root)


LAZY_SCHEMA = {
    "schema/__init__.py": (
        "from typing import TYPE_CHECKING\n"
        "from interpret_dp.schema.schema import Schema\n"
        "if TYPE_CHECKING:\n    from interpret_dp.schema.encode import encode_table\n"
    ),
    "schema/schema.py": "class Schema:\n    def check(self):\n        from . import encode\n",
    "schema/encode.py": "def encode_table(): ...\n",
}

BREACHES = {
    "interpret's own generator": (
        rules.only_mechanisms_call_methods_that_draw,
        {"ebm/a.py": "def f(native, rng):\n    return native.generate_gaussian_random(rng)\n"},
        "interpret_dp.ebm.a:2: calls .generate_gaussian_random",
    ),
    "editor names a row module": (
        rules.public_rooms_never_touch_rows,
        {
            **LAZY_SCHEMA,
            "editor/a.py": "def f():\n    from interpret_dp.schema import encode_table\n",
        },
        "interpret_dp.editor.a:2: imports interpret_dp.schema.encode, which touches rows",
    ),
    "released loads a row module": (
        rules.public_rooms_never_touch_rows,
        {
            "released/a.py": "from interpret_dp.accounting import b\n",
            "accounting/b.py": "from interpret_dp.backends import c\n",
            "backends/c.py": "",
        },
        "interpret_dp.released.a:1: loads interpret_dp.backends.c, which touches rows",
    ),
    "long module": (
        rules.modules_and_functions_are_short,
        {"cli.py": "x = 1\n" * 501},
        "interpret_dp.cli:1: 501 lines of code; at most 500",
    ),
    "long function": (
        rules.modules_and_functions_are_short,
        {"cli.py": 'def main():\n    """Say.\n\n    More.\n    """\n' + "    x = 1\n" * 75},
        "interpret_dp.cli:1: main has 76 lines; at most 75",
    ),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_rule_sees_a_planted_breach(breach, tmp_path):
    rule, files, expected = BREACHES[breach]
    assert expected in list(rule(_planted(tmp_path, files)))


# One breach of ruff's configuration a line, after the imports.
BANNED = """\
import json, os, pickle, random, secrets, torch
import numpy as np
from numpy import random as r
from numpy.random import default_rng
from importlib import import_module
np.random.default_rng(0)
r.normal(size=3)
np.random.Generator(np.random.PCG64(0))
torch.randn(3)
os.urandom(8)
pickle.loads(b"")
np.load("a.npy", allow_pickle=True)
eval("1")
json.loads("1")
"""


def test_ruff_finds_randomness_and_files_that_are_run():
    command = [sys.executable, "-m", "ruff", "check", "--output-format=json", "--no-cache"]
    command += ["--select=NPY002,S102,S307,TID251", "--stdin-filename=interpret_dp/ebm/a.py", "-"]
    run = subprocess.run(
        command, input=BANNED, capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    assert {found["location"]["row"] for found in json.loads(run.stdout)} == {1, *range(4, 15)}


def test_proof_rule_sees_missing_pages_and_dangling_names(tmp_path):
    tree = _planted(tmp_path, {"mechanisms/a.py": "", "mechanisms/b.py": ""})
    proofs = tmp_path / "proofs"
    proofs.mkdir()
    (proofs / "a.md").write_text(
        "Code: interpret_dp/mechanisms/a.py and interpret_dp/accounting/gone.py\n"
    )
    assert list(rules.mechanisms_have_proof_pages(tree, proofs)) == [
        "interpret_dp.mechanisms.b:1: no page in docs/proofs names interpret_dp/mechanisms/b.py",
        "a.md: names interpret_dp/accounting/gone.py, which does not exist",
    ]


# ---------------------------------------------------------------------- a reader can follow a fit


MAX_MODULES = 12


@pytest.mark.parametrize("value", ["X", "epsilon"])
def test_value_of_a_fit_enters_few_modules(value):
    modules = trace_fit()[value]

    assert len(modules) <= MAX_MODULES, sorted(modules)
    assert "interpret_dp.ebm.request" in modules
