"""Lines of code of the package and its tests, without docstrings, comments and blank lines."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]


def code_lines(source: str) -> int:
    """Return the number of lines of a module that are neither docstring, comment nor blank."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    return sum(
        bool(text := line.strip()) and not text.startswith("#") and number not in docstrings
        for number, line in enumerate(source.split("\n"), 1)
    )


def main() -> None:
    """Print the lines and modules of the package, of each folder in it, and of the tests."""
    folders = [ROOT / "interpret_dp", *sorted((ROOT / "interpret_dp").glob("*/")), ROOT / "tests"]
    for folder in folders:
        sizes = [code_lines(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")]
        if sizes:
            name = folder.relative_to(ROOT).as_posix()
            print(f"{name:28}{sum(sizes):7,} lines in {len(sizes):3} modules, at most {max(sizes)}")


if __name__ == "__main__":
    main()
