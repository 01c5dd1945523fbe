"""Builds the source distribution and the wheel, and uses the wheel in an environment of its own."""

import sys
import tarfile
import zipfile

import pytest

from tests.packaging.conftest import ROOT, run, succeed

pytestmark = pytest.mark.slow

CLASSES = (
    "DPExplainableBoostingClassifier",
    "DPExplainableBoostingRegressor",
    "DPLocallyLinearClassifier",
)


def test_wheel_holds_the_package_its_types_and_its_licence_alone(distributions):
    with zipfile.ZipFile(distributions.wheel) as wheel:
        names = wheel.namelist()
    assert "interpret_dp/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"interpret_dp", next(top for top in tops if top.endswith(".dist-info"))}
    kinds = (".py", ".css", ".html", ".js")
    paths = (ROOT / "interpret_dp").rglob("*")
    sources = {str(path.relative_to(ROOT)) for path in paths if path.suffix in kinds}
    assert sources == {name for name in names if name.endswith(kinds)}


def test_sdist_holds_what_its_tests_need_and_no_data(distributions):
    with tarfile.open(distributions.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        *("pyproject.toml", "Makefile", "README.md", "LICENSE", "CITATION.cff", "SECURITY.md"),
        *("benchmarks/results/ledger.md", "tests/conftest.py", "scripts/constraints.txt"),
        *("scripts/create_environment.sh", "tests/ledger/fixtures/version_1.sql"),
    } <= names
    data = [name for name in names if name.endswith((".parquet", ".npz", ".db", ".png"))]
    assert [name for name in data if not name.startswith("docs/figures/")] == []


_REGISTERED = """
import interpret.ext.glassbox as registered
for name in {classes!r}:
    cls = getattr(registered, name)
    assert cls.__name__ == name, cls
    assert cls.__module__.startswith("interpret_dp."), cls.__module__
    assert cls.explainer_type == "model", cls.explainer_type
from interpret.ext.blackbox import DPLimeTabular, DPShapTabular
assert DPLimeTabular.explainer_type == DPShapTabular.explainer_type == "blackbox"
"""


def test_interpret_registers_all_classes_without_a_warning(environment, tmp_path):
    # interpret turns a failure to load into a warning, so warnings must be errors here.
    program = _REGISTERED.format(classes=CLASSES)
    succeed(environment.python, "-W", "error", "-c", program, cwd=tmp_path)


_USE = """
import sys
from pathlib import Path

import interpret_dp
from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger, load_model
from interpret_dp.datasets import make_cohort

assert Path(interpret_dp.__file__).is_relative_to(sys.prefix), interpret_dp.__file__
cohort = make_cohort(2_000)
ledger = PrivacyLedger("sqlite:///privacy.db")
ledger.create_budget("cohort", 8.0, 1e-5)
model = DPExplainableBoostingClassifier(
    epsilon=4.0, delta=1e-5, schema=cohort.schema, ledger=ledger, dataset="cohort"
)
model.fit(cohort.X, cohort.y)
assert model.explain_global().visualize(0) is not None
assert model.explain_local(cohort.X.head(2), cohort.y.head(2)).visualize(0) is not None
model.save("model.json")
loaded = load_model("model.json", ledger)
assert (loaded.predict_proba(cohort.X) == model.predict_proba(cohort.X)).all()
assert loaded.guarantee_ == model.guarantee_
"""


def test_installed_package_trains_explains_saves_and_loads(environment, tmp_path):
    """The dependencies are complete: nothing here needs what is not declared."""
    succeed(environment.python, "-c", _USE, cwd=tmp_path)
    # What the program saved is what the command line shows.
    command = environment.folder / "bin" / "interpret-dp"
    ledger = ("--ledger", "sqlite:///privacy.db")
    shown = succeed(command, "show", "model.json", "--html", "model.html", *ledger, cwd=tmp_path)
    assert "epsilon 4 at delta 1e-05, of this model" in " ".join(shown.split())
    assert "<title>" in (tmp_path / "model.html").read_text(encoding="utf-8")
    module = succeed(
        environment.python, "-m", "interpret_dp", "ledger", "show", *ledger, cwd=tmp_path
    )
    assert "cohort" in module


_TYPED = """
from interpret_dp import Categorical, Continuous, Guarantee, PrivacyLedger, Schema
from interpret_dp import DPExplainableBoostingClassifier

schema = Schema({"age": Continuous(18, 95)}, target=Categorical(["no", "yes"]))
model = DPExplainableBoostingClassifier(epsilon=1.0, schema=schema)
promise: Guarantee = model.guarantee_
figure: float = promise.epsilon
left: float = PrivacyLedger.in_memory().remaining("ward")
"""


def _strictly_checked(environment, folder, program):
    """Run the checker of this environment over a user's program, with the installed wheel."""
    (folder / "user.py").write_text(program)
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    return run(
        *(sys.executable, "-m", "mypy", "--python-executable", environment.python),
        *("--cache-dir", folder / "cache", "user.py"),
        cwd=folder,
    )


def test_types_of_the_installed_package_are_used(environment, tmp_path):
    done = _strictly_checked(environment, tmp_path, _TYPED)
    assert done.returncode == 0, done.stdout
    wrong = _TYPED.replace("figure: float", "figure: str")
    done = _strictly_checked(environment, tmp_path, wrong)
    assert 'expression has type "float", variable has type "str"' in done.stdout
