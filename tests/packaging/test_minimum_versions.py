import re
import tomllib

from packaging.requirements import Requirement

from tests.processes import ROOT, output_of

SCRIPT = ROOT / "scripts" / "minimum_versions.py"
RUN_TIME_EXTRAS = ("dask", "excel", "flare", "llm", "notebook", "postgres", "shap", "sites", "sql")


def test_every_dependency_is_pinned_to_its_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = dict(line.split("==") for line in output_of(SCRIPT, ROOT / "pyproject.toml").split())
    assert len(pins) == len(project["dependencies"])
    for text in project["dependencies"]:
        requirement = Requirement(text)
        assert str(requirement.specifier) == f">={pins[requirement.name]}"


def test_every_dependency_of_use_is_justified_with_its_bound():
    """Whoever adds or moves one has to say what of the guarantee rests on it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in RUN_TIME_EXTRAS)]
    needed = {text for group in groups for text in group}
    named = {text for text in re.findall(r"`([^`\n]+)`", page) if ">=" in text}
    assert named == needed
    # Every other extra repeats these or serves development.
    assert set(extras) == {*RUN_TIME_EXTRAS, "test", "docs", "onnx", "bench", "all", "dev"}
