"""Print which version of each direct dependency is installed, and where there is a newer one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path


def direct_dependencies(pyproject: Path) -> list[str]:
    """Return the names of the dependencies of a pyproject file, sorted."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return sorted({re.split(r"[\[<>=!~; ]", text)[0] for text in project["dependencies"]})


def newest_versions(names: list[str]) -> dict[str, str]:
    """Ask pip's index for the newest release of each, whatever others ask for."""
    options = ("--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", "-")
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, *names],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = (item["metadata"] for item in json.loads(asked.stdout)["install"])
    return {item["name"].lower().replace("_", "-"): item["version"] for item in found}


if __name__ == "__main__":
    names = direct_dependencies(Path(sys.argv[1]))
    newest = newest_versions(names)
    for name in names:
        installed = version(name)
        note = "" if installed == newest[name] else f"  (held back; the newest is {newest[name]})"
        print(f"{name}=={installed}{note}")
