"""Write docs/proofs/releases.md: every call in the package that releases something.

``python -m scripts.release_table``, from the repository's root. The table is read from the source,
so that it cannot leave one out; a release without a proof below is an error.
"""

from __future__ import annotations

import argparse
import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "proofs" / "releases.md"

#: Methods of ``ReleaseSession`` that give private sums noise, with the page on their mechanism.
MECHANISMS = {
    "gaussian": ("Gaussian", "lattice_gaussian.md"),
    "gaussian_each": ("Gaussian, several", "lattice_gaussian.md"),
    "sampled_gaussian": ("Gaussian on a sample", "sampled_gaussian.md"),
    "select": ("Gaussian above a threshold", "partition_selection.md"),
    "choose": ("exponential", "exponential_mechanism.md"),
}
#: The page that bounds what one row adds, for the releases of each folder or file.
PROOFS = {
    "interpret_dp/evaluation": "evaluation.md",
    "interpret_dp/ebm": "dp_ebm.md",
    "interpret_dp/fitting/declaring.py": "approximate_bounds.md",
    "interpret_dp/lime": "private_background.md",
    "interpret_dp/llm": "dp_llm.md",
}
HEAD = """# Every release

Written by `python -m scripts.release_table` from the source. Nothing else in the package turns
private sums into public numbers. The row norm is the declared bound on the L2 norm of what one row
adds, as the call gives it; [neighbouring tables](neighbouring_tables.md) derives the sensitivity
from it. Sums are aligned if the parts of any two rows have no negative inner product.

| release | where | mechanism | row norm | aligned | proof of the norm |
|---|---|---|---|---|---|
"""
FOOT = """

## What is checked by tests

`tests/docs/test_releases.py` checks that this page matches the source, and that a new call would
appear on it.
"""


def table() -> str:
    """Return the page, with one line for each call."""
    lines = [
        _line(path, function, call)
        for path in sorted((ROOT / "interpret_dp").rglob("*.py"))
        for function, call in calls(ast.parse(path.read_text(encoding="utf-8")))
    ]
    return HEAD + "\n".join(lines) + FOOT


def calls(module: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    """Yield the calls of a session's methods, with the functions that they are in."""
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value).removeprefix("self.").lstrip("_")
                if owner == "session" and node.func.attr in MECHANISMS:
                    yield function, node


def _line(path: Path, function: ast.FunctionDef, call: ast.Call) -> str:
    place = path.relative_to(ROOT).as_posix()
    assert isinstance(call.func, ast.Attribute)
    mechanism, page = MECHANISMS[call.func.attr]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    norms = [given[name] for name in ("row_norm", "row_norms") if name in given]
    norm = _source(norms[0], function) if norms else "LATTICE"
    aligned = (
        {"True": "yes", "False": "no"}[ast.unparse(given["aligned"])] if "aligned" in given else ""
    )
    names = ", ".join(f"`{name}`" for name in _names(call.args[0], place, function))
    proof = next(found for prefix, found in PROOFS.items() if place.startswith(prefix))
    if call.func.attr == "select":  # a row is in one cell
        proof = page
    return (
        f"| {names} | `{place}`: `{function.name}` | [{mechanism}]({page}) | `{norm}` | {aligned} "
        f"| [{proof.removesuffix('.md')}]({proof}) |"
    )


def _names(value: ast.expr, place: str, function: ast.FunctionDef) -> list[str]:
    """Return the names of a release in the plan: a literal, a constant, or what callers pass."""
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    module = importlib.import_module(place.removesuffix(".py").replace("/", "."))
    if hasattr(module, ast.unparse(value)):
        return [str(getattr(module, ast.unparse(value)))]
    position = [argument.arg for argument in function.args.args].index(ast.unparse(value))
    return [
        str(ast.literal_eval(node.args[position]))
        for node in ast.walk(ast.parse((ROOT / place).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == function.name
    ]


def _source(value: ast.expr, function: ast.FunctionDef) -> str:
    """Return an argument's source; of a local variable, what it is set to."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == ast.unparse(value):
            return ast.unparse(node.value)
    return ast.unparse(value)


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    PAGE.write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()
