"""Builds the source distribution and the wheel, and uses the wheel in an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CLASSES = (
    "DPExplainableBoostingClassifier",
    "DPExplainableBoostingRegressor",
    # Without torch: it asks for the extra when it is made.
    "DPLocallyLinearClassifier",
)


def _run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of this checkout on the path, and return what it printed."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
    )


def _succeed(*command: str | Path, cwd: Path) -> str:
    done = _run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Distributions:
    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Environment:
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


@pytest.fixture(scope="module")
def distributions(tmp_path_factory) -> Distributions:
    """Build the sdist from the checkout, and the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _succeed(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Distributions(sdist, wheel)


@pytest.fixture(scope="module")
def environment(distributions, tmp_path_factory) -> Environment:
    """Install the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    created = Environment(folder)
    _succeed(created.python, "-m", "pip", "install", "--quiet", distributions.wheel, cwd=folder)
    return created


@pytest.fixture(scope="module")
def metadata(distributions):
    with zipfile.ZipFile(distributions.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(wheel.read(name).decode())


def test_wheel_holds_the_package_its_types_and_its_licence_alone(distributions):
    with zipfile.ZipFile(distributions.wheel) as wheel:
        names = wheel.namelist()
    assert "interpret_dp/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"interpret_dp", next(top for top in tops if top.endswith(".dist-info"))}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "interpret_dp").rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}


def test_sdist_holds_what_its_tests_need_and_no_data(distributions):
    with tarfile.open(distributions.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "Makefile",
        "README.md",
        "LICENSE",
        "CITATION.cff",
        "CODE_OF_CONDUCT.md",
        "SECURITY.md",
        "benchmarks/results/ledger.md",
        "tests/conftest.py",
        "scripts/constraints.txt",
        "scripts/create_environment.sh",
        "scripts/install_chromium.sh",
        "scripts/install_postgres.sh",
        "tests/ledger/fixtures/version_1.sql",
    } <= names
    data = [name for name in names if name.endswith((".parquet", ".npz", ".db", ".png"))]
    assert [name for name in data if not name.startswith("docs/figures/")] == []


def test_version_has_one_source(distributions, metadata):
    text = (ROOT / "interpret_dp" / "_version.py").read_text()
    version = re.search(r'__version__ = "(.+)"', text)[1]
    assert metadata["Version"] == version
    assert f"-{version}-" in distributions.wheel.name
    # The one copy: whoever cites reads the file, not the package.
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_extras_install_something_that_exists(metadata):
    extras = set(metadata.get_all("Provides-Extra"))
    assert extras == {"all", "dask", "dev", "docs", "llm", "notebook", "postgres", "sql", "test"}
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist")]
    for extra in extras:
        own = [r for r in requirements if r.marker and f'extra == "{extra}"' in str(r.marker)]
        assert own, extra
        for requirement in own:
            if requirement.name == "interpret-dp":
                assert requirement.extras <= extras


_REGISTERED = """
import interpret.ext.glassbox as registered
for name in {classes!r}:
    cls = getattr(registered, name)
    assert cls.__name__ == name, cls
    assert cls.__module__.startswith("interpret_dp."), cls.__module__
    assert cls.explainer_type == "model", cls.explainer_type
from interpret.ext.blackbox import DPLimeTabular
assert DPLimeTabular.explainer_type == "blackbox"
"""


def test_interpret_registers_all_classes_without_a_warning(environment, tmp_path):
    # interpret turns a failure to load into a warning, so warnings must be errors here.
    program = _REGISTERED.format(classes=CLASSES)
    _succeed(environment.python, "-W", "error", "-c", program, cwd=tmp_path)


def test_registration_check_sees_a_plugin_that_fails_to_load(environment, tmp_path):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[interpret_ext_glassbox]\nBroken = no_such_module:Broken\n"
    )
    done = _run(
        environment.python,
        "-W",
        "error",
        "-c",
        _REGISTERED.format(classes=CLASSES),
        cwd=tmp_path,
        PYTHONPATH=str(tmp_path),
    )
    assert done.returncode != 0
    assert "Failed to load entrypoint" in done.stderr


def test_command_line_runs(environment, tmp_path):
    command = environment.folder / "bin" / "interpret-dp"
    shown = _succeed(command, "--help", cwd=tmp_path)
    for subcommand in ("demo", "fit", "show", "ledger", "schema"):
        assert subcommand in shown


def test_installed_package_trains_and_explains(environment, tmp_path):
    """The dependencies are complete: a fit and both plots need nothing that is not declared."""
    program = """
from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.datasets import make_cohort

cohort = make_cohort(2_000)
model = DPExplainableBoostingClassifier(epsilon=4.0, delta=1e-5, schema=cohort.schema)
model.fit(cohort.X, cohort.y)
assert model.explain_global().visualize(0) is not None
assert model.explain_local(cohort.X.head(2), cohort.y.head(2)).visualize(0) is not None
"""
    _succeed(environment.python, "-c", program, cwd=tmp_path)
