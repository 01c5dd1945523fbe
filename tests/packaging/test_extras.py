"""Each extra by itself: what is missing without it, and that it brings what it is for."""

import sysconfig
import venv

import pytest

from tests.packaging.conftest import ROOT, Environment, run, succeed

pytestmark = pytest.mark.slow

_MODEL = """
import warnings
from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.datasets import make_cohort
cohort = make_cohort(800)
model = DPExplainableBoostingClassifier(epsilon=8.0, schema=cohort.schema)
model.fit(cohort.X, cohort.y)
"""

_USES = {
    "dask": """
import dask.dataframe as dd
from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.datasets import make_cohort
cohort = make_cohort(800)
X, y = (dd.from_pandas(part, npartitions=2) for part in (cohort.X, cohort.y))
model = DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-6, schema=cohort.schema).fit(X, y)
assert model.predict_proba(X).compute().shape == (800, 2)
print("done")
""",
    "excel": f"{_MODEL}model.save_rating_table('rates.xlsx')\nprint('done')",
    "llm": """
from interpret_dp import DPLocallyLinearClassifier
from interpret_dp.datasets import make_cohort
cohort = make_cohort(800)
model = DPLocallyLinearClassifier(epsilon=8.0, schema=cohort.schema, epochs=1.0, engine="opacus")
model.fit(cohort.X, cohort.y)
assert model.guarantee_.epsilon <= 8.0
print("done")
""",
    "notebook": f"{_MODEL}widget = model.edit().widget()\nassert widget.box\nprint('done')",
    # Nobody listens there: whoever gets as far as that has a driver.
    "postgres": """
from interpret_dp import PrivacyLedger
from interpret_dp.exceptions import LedgerError
try:
    PrivacyLedger("postgresql://nobody@127.0.0.1:1/ledger")
except LedgerError as error:
    assert "no server answers there" in str(error), error
    print("done")
""",
    "sites": """
from interpret_dp.sites import SigningKey
assert SigningKey.generate().public
print("done")
""",
    "sql": f"{_MODEL}assert 'SELECT' in model.to_sql('duckdb', table='t')\nprint('done')",
}


# Without Dask nobody has a collection of it to give to a fit.
@pytest.mark.parametrize("extra", [extra for extra in _USES if extra != "dask"])
def test_without_an_extra_the_command_that_installs_it_is_told(environment, tmp_path, extra):
    done = run(environment.python, "-c", _USES[extra], cwd=tmp_path)
    assert done.returncode != 0
    assert f"pip install 'interpret-dp[{extra}]'" in done.stderr


@pytest.mark.parametrize("extra", _USES)
def test_an_extra_brings_what_it_is_for(environment, distributions, tmp_path, extra):
    """On top of the environment without extras, whose packages pip finds through a path file."""
    venv.create(tmp_path / "extra", with_pip=True)
    added = Environment(tmp_path / "extra")
    below = sysconfig.get_path("purelib", vars={"base": str(environment.folder)})
    above = sysconfig.get_path("purelib", vars={"base": str(added.folder)})
    with open(f"{above}/below.pth", "w", encoding="utf-8") as file:
        file.write(f"{below}\n")
    succeed(
        *added.install,
        *("--constraint", ROOT / "scripts" / "constraints.txt"),
        f"{distributions.wheel}[{extra}]",
        cwd=tmp_path,
    )
    assert succeed(added.python, "-c", _USES[extra], cwd=tmp_path).strip().endswith("done")
