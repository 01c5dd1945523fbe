import json
import sys

import pytest

from tests.processes import output_of

HEAVY = (
    *("anywidget", "click", "dash", "dp_accounting", "interpret", "ipywidgets", "jinja2"),
    *("matplotlib", "numba", "pandas", "plotly", "pyarrow", "scipy", "sklearn", "sqlalchemy"),
    "torch",
)

PROBE = """
import json, sys
before = set(sys.modules)
{statement}
print(json.dumps(sorted({{name.split(".")[0] for name in set(sys.modules) - before}})))
"""


def _probe(statement):
    """Return the top-level packages that a statement loads in a fresh process."""
    return set(json.loads(output_of("-W", "error", "-c", PROBE.format(statement=statement))))


def test_probe_sees_a_heavy_import():
    assert "pandas" in _probe("import pandas")


def test_package_loads_nothing_but_itself():
    """That takes a few milliseconds; all else is loaded at first use."""
    assert _probe("import interpret_dp") - sys.stdlib_module_names == {"interpret_dp"}


def test_import_loads_nothing_heavy():
    loaded = _probe(
        "import interpret_dp, interpret_dp.accounting, interpret_dp.editor, interpret_dp.ledger, "
        "interpret_dp.schema"
    )
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.thorough
def test_registered_classes_load_no_plotting_and_no_torch():
    """Importing interpret.ext.glassbox or blackbox imports every plugin: all users pay for ours."""
    loaded = _probe(
        "import interpret_dp.ebm.estimators, interpret_dp.lime.explainer, "
        "interpret_dp.llm.estimator"
    )
    assert loaded.isdisjoint(
        {"click", "dash", "jinja2", "matplotlib", "plotly", "sqlalchemy", "torch"}
    )


TABLES = """
import pandas, pyarrow
from interpret_dp.schema import Continuous, encode_column, open_table
for table in (pandas.DataFrame({{"a": [1]}}), pyarrow.table({{"a": [1, None]}})):
    encode_column(open_table(table).column(0), Continuous(0, 1), 2)
"""


def test_tables_of_other_libraries_load_no_polars():
    assert "polars" not in _probe(TABLES.format())


HELP = """
import contextlib, io
from interpret_dp.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main({words}) == 0
"""


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], []], ids=str)
def test_help_loads_nothing_heavy(words):
    loaded = _probe(HELP.format(words=words))
    assert "click" in loaded
    assert loaded.isdisjoint({*HEAVY, "numpy"} - {"click"})
