"""Print pip constraints that pin every direct dependency to the lower bound it declares."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?>=(?P<version>[0-9][0-9.]*)$")


def minimum_versions(pyproject: Path) -> list[str]:
    """Return ``name==version`` lines for the dependencies of a pyproject file.

    Raises
    ------
    ValueError
        If a dependency declares no plain lower bound, which would go untested.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lines = []
    for requirement in project["dependencies"]:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            raise ValueError(
                f"the dependency {requirement!r} has no lower bound to test; "
                "write it as 'name>=version'"
            )
        lines.append(f"{match['name']}=={match['version']}")
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(minimum_versions(Path(sys.argv[1]))) + "\n")
