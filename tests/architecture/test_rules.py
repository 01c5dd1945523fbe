from __future__ import annotations

from pathlib import Path

import pytest

import interpret_dp
from tests.architecture import rules
from tests.architecture.source_tree import SourceTree

PACKAGE = Path(interpret_dp.__path__[0])
PROOFS = PACKAGE.parent / "docs" / "proofs"

RULES = [
    rules.imports_point_down,
    rules.libraries_stay_at_home,
    rules.randomness_stays_in_mechanisms,
    rules.public_rooms_never_touch_rows,
    rules.files_are_read_and_never_run,
    rules.modules_and_functions_are_short,
]


@pytest.fixture(scope="module")
def package() -> SourceTree:
    return SourceTree(PACKAGE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_package_keeps_the_rule(rule, package):
    assert list(rule(package)) == []


def test_every_mechanism_has_a_proof_page(package):
    assert list(rules.mechanisms_have_proof_pages(package, PROOFS)) == []


def test_tree_holds_the_whole_package(package):
    assert {"interpret_dp", "interpret_dp.exceptions", "interpret_dp.schema.schema"} <= set(
        package.modules
    )


# Controls: each rule sees a planted breach, and the same code where it is allowed is no breach.


def _planted(folder: Path, files: dict[str, str]) -> SourceTree:
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
    "upwards": (
        rules.imports_point_down,
        {"accounting/a.py": "import interpret_dp.ledger.b\n", "ledger/b.py": ""},
        "interpret_dp.accounting.a:1: accounting must not import ledger",
    ),
    "upwards, inside a function": (
        rules.imports_point_down,
        {"ledger/a.py": "def f():\n    from ..ebm import b\n", "ebm/b.py": ""},
        "interpret_dp.ledger.a:2: ledger must not import ebm",
    ),
    "upwards, for typing": (
        rules.imports_point_down,
        {
            "backends/a.py": "if TYPE_CHECKING:\n    from interpret_dp.release import door\n",
            "release.py": "def door(): ...\n",
        },
        "interpret_dp.backends.a:2: backends must not import release",
    ),
    "base that imports a room": (
        rules.imports_point_down,
        {"_validate.py": "from interpret_dp.schema import x\n", "schema/x.py": ""},
        "interpret_dp._validate:1: _validate must not import schema",
    ),
    "room without a place": (
        rules.imports_point_down,
        {"helpers/a.py": ""},
        "interpret_dp.helpers:1: the room 'helpers' has no place in the architecture",
    ),
    "torch in ebm": (
        rules.libraries_stay_at_home,
        {"ebm/a.py": "def f():\n    import torch.nn\n"},
        "interpret_dp.ebm.a:2: torch belongs in llm",
    ),
    "dask by name": (
        rules.libraries_stay_at_home,
        {"backends/local.py": "from importlib import import_module\nimport_module('dask.array')\n"},
        "interpret_dp.backends.local:2: dask belongs in backends.dask",
    ),
    "dashboard imports a trainer": (
        rules.imports_point_down,
        {"dashboard/a.py": "from interpret_dp.ebm import b\n", "ebm/b.py": ""},
        "interpret_dp.dashboard.a:1: dashboard must not import ebm",
    ),
    "dash in explanation": (
        rules.libraries_stay_at_home,
        {"explanation/a.py": "from dash import html\n"},
        "interpret_dp.explanation.a:1: dash belongs in dashboard",
    ),
    "numpy.random by attribute": (
        rules.randomness_stays_in_mechanisms,
        {"ebm/a.py": "import numpy as np\nnoise = np.random.normal\n"},
        "interpret_dp.ebm.a:2: uses numpy.random.normal",
    ),
    "numpy.random by from-import": (
        rules.randomness_stays_in_mechanisms,
        {"release.py": "from numpy import random as r\n"},
        "interpret_dp.release:1: imports numpy.random",
    ),
    "a generator made outside mechanisms": (
        rules.randomness_stays_in_mechanisms,
        {"ebm/a.py": "import numpy as np\nrng = np.random.Generator(np.random.PCG64(0))\n"},
        "interpret_dp.ebm.a:2: uses numpy.random.Generator",
    ),
    "os.urandom": (
        rules.randomness_stays_in_mechanisms,
        {"ledger/a.py": "import os\nos.urandom(8)\n"},
        "interpret_dp.ledger.a:2: uses os.urandom",
    ),
    "torch.randn": (
        rules.randomness_stays_in_mechanisms,
        {"llm/a.py": "import torch\ntorch.randn(3)\n"},
        "interpret_dp.llm.a:2: uses torch.randn",
    ),
    "opendp": (
        rules.randomness_stays_in_mechanisms,
        {"backends/a.py": "def f():\n    from opendp.measurements import make_gaussian\n"},
        "interpret_dp.backends.a:2: imports opendp.measurements.make_gaussian",
    ),
    "interpret's own generator": (
        rules.randomness_stays_in_mechanisms,
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
    "a pickle is read": (
        rules.files_are_read_and_never_run,
        {"ebm/a.py": "from pickle import loads as read\nread(b'')\n"},
        "interpret_dp.ebm.a:1: imports pickle.loads",
    ),
    "a pickle is read by NumPy": (
        rules.files_are_read_and_never_run,
        {"llm/a.py": "import numpy as np\ndef f(p):\n    return np.load(p, allow_pickle=True)\n"},
        "interpret_dp.llm.a:3: uses numpy.load",
    ),
    "text is run": (
        rules.files_are_read_and_never_run,
        {"cli.py": "def f(p):\n    return eval(p.read_text())\n"},
        "interpret_dp.cli:2: uses eval",
    ),
    "JSON is read in another way": (
        rules.files_are_read_and_never_run,
        {"editor/a.py": "import json\njson.loads('1')\n"},
        "interpret_dp.editor.a:2: uses json.loads; _documents reads JSON",
    ),
    "long module": (
        rules.modules_and_functions_are_short,
        {"cli.py": "x = 1\n" * 501},
        "interpret_dp.cli:1: 501 lines; at most 500",
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


ALLOWED_CODE = {
    **LAZY_SCHEMA,
    "datasets.py": (
        "import numpy as np\nfrom .schema import Schema\nrng = np.random.default_rng(0)\n"
    ),
    "mechanisms/a.py": "from opendp.measurements import make_gaussian\n",
    "backends/dask.py": "import dask.array\nfrom interpret_dp.schema import encode_table\n",
    "llm/a.py": "import torch\nmodel = torch.nn.Linear(1, 1).eval()\n",
    "audit/a.py": "import pickle\npickle.dumps(1)\n",
    "_documents.py": "import json\njson.loads('1')\n",
    "released/a.py": "from interpret_dp.schema import Schema\n",
    "editor/a.py": "from interpret_dp.released import a\nimport numpy as np\nnp.sqrt(2.0)\n",
    "ebm/a.py": (
        "import numpy as np\nfrom interpret_dp.editor import a\n"
        "from interpret_dp.mechanisms import a\n"
        "def f(rng: np.random.Generator): ...\n"
    ),
    "cli.py": "def main():\n    '''Say.\n\n    More.\n    '''\n" + "    x = 1\n" * 74,
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_accepts_what_is_allowed(rule, tmp_path):
    assert list(rule(_planted(tmp_path, ALLOWED_CODE))) == []


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
