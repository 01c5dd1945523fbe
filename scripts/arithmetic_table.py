"""Write docs/proofs/arithmetic.md: every sum, product and cast of private rows, with its bound.

``python -m scripts.arithmetic_table``, from the repository's root. Bounds are declared in
``scripts/arithmetic.toml`` and nowhere else. Expressions are found in the source, so that neither
the page nor its test can leave one out.
"""

from __future__ import annotations

import argparse
import ast
import math
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT
from interpret_dp.backends.base import MAX_SCORE
from interpret_dp.llm.config import MOST_INPUTS, MOST_PROJECTED
from interpret_dp.schema.declarations import MAX_BINS, MAX_CLASSES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "proofs" / "arithmetic.md"
FACTS = ROOT / "scripts" / "arithmetic.toml"

#: Folders and files whose modules may read rows: a new module in them is covered.
READERS = (
    *(f"interpret_dp/{part}" for part in ("backends", "ebm", "evaluation.py", "fitting", "lime")),
    *(f"interpret_dp/{part}" for part in ("llm", "mechanisms", "schema", "release.py")),
    "interpret_dp/released/scattering.py",
)
#: Calls by name that add, multiply or cast.
CALLS = frozenset(
    {
        *("sum", "nansum", "mean", "prod", "cumsum", "cumprod", "bincount", "at"),
        *("reduceat", "sum_duplicates"),
        *("dot", "vdot", "inner", "outer", "matmul", "einsum", "tensordot", "trace", "norm"),
        *("square", "power", "multiply", "fft2", "ifft2", "astype", "view", "cast", "float32"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp"),
    }
)
#: Largest value of each type; None: no value is too large.
LIMITS: dict[str, float | None] = {
    **{name: int(np.iinfo(name).max) for name in ("int8", "int16", "int32", "int64", "uint16")},
    "int64, modulo": None,
    "float64, whole": 2**53,
    "float64": float(np.finfo(np.float64).max),
    "float32": float(np.finfo(np.float32).max),
    "complex64": float(np.finfo(np.float32).max),
    "Python": None,
}
#: Public sizes of the formulas: meaning, and the most that a request accepts.
SIZES = {
    "d": ("inputs or features of DP-LLM", MOST_INPUTS),
    "p": ("inputs of random projections", MOST_PROJECTED),
    "k": ("classes", MAX_CLASSES),
    "m": ("maps of a class", 10_000),
    "f": ("columns, or terms", 2**22),
    "b": ("bins or levels of a column", MAX_BINS),
    "n": ("rows of a table, which no machine holds", 2**43 - 1),
    "a": ("pixels of an image", 2**22),
}
CONSTANTS = {
    "L": LATTICE,
    "S": MAX_SCORE,
    "P": PRODUCT_UNIT,
}
_SMALL_SIZES = (1, 2, 3, 1000, 2**15 - 1, 2**15)
_FUNCTIONS = {
    "isqrt": math.isqrt,
    "bits": lambda number: max(1, (number - 1).bit_length()),
    "min": min,
    "max": max,
}


class Line(NamedTuple):
    """One expression, its type and the largest value, as a formula of public sizes."""

    module: str
    function: str
    code: str
    dtype: str
    largest: str = ""
    reason: str = ""


def modules() -> list[str]:
    """Return the modules that may read rows, but for those that see public numbers alone."""
    facts = _facts()["public"]
    found = (
        path.relative_to(ROOT).as_posix()
        for reader in READERS
        for path in ([ROOT / reader] if reader.endswith(".py") else (ROOT / reader).rglob("*.py"))
    )
    return sorted(name for name in found if not any(name.startswith(public) for public in facts))


def expressions(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the outermost sums, products, squares and casts, with the functions they are in."""
    yield from _within(module, "", is_inside=False)


def _within(node: ast.AST, function: str, *, is_inside: bool) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        name = function
        if isinstance(child, ast.arguments):
            continue
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{function}.{child.name}".lstrip(".")
        # What a module computes when it is imported sees no row.
        is_one = bool(function) and _is_arithmetic(child)
        if is_one and not is_inside:
            yield function, ast.unparse(child)
        yield from _within(child, name, is_inside=is_inside or is_one)


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        return name in CALLS
    if isinstance(node, ast.BinOp):
        is_product = isinstance(node.op, ast.Mult | ast.Pow | ast.MatMult | ast.LShift)
        return is_product and not _is_constant(node) and not _is_list(node.left)
    if isinstance(node, ast.Assign):
        # Into an array, of another type perhaps.
        target, value = node.targets[0], node.value
        is_store = isinstance(target, ast.Subscript) and not isinstance(value, ast.Constant)
        return is_store and _is_place(target.slice)
    if isinstance(node, ast.AugAssign):
        is_count = isinstance(node.value, ast.Constant | ast.List | ast.JoinedStr)
        is_sum = isinstance(node.op, ast.Add | ast.Sub) and not is_count
        return is_sum or isinstance(node.op, ast.Mult | ast.Pow | ast.MatMult)
    return False


def _is_place(index: ast.AST) -> bool:
    is_slice = isinstance(index, ast.Slice | ast.Tuple)
    return is_slice or ast.unparse(index) in ("row", "rows", "...")


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.List | ast.Tuple)


def _is_constant(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def lines() -> list[Line]:
    """Return the declared lines; a function whose reason is a text has public numbers alone."""
    return [
        Line(module, function, *line)
        for module, functions in _facts().items()
        if module != "public"
        for function, declared in functions.items()
        for line in ([["*", "public", "", declared]] if isinstance(declared, str) else declared)
    ]


def _facts() -> dict[str, Any]:
    return tomllib.loads(FACTS.read_text(encoding="utf-8"))


def largest(line: Line) -> float:
    """Return the largest value of a line's formula, at small sizes and at the largest ones."""
    used = {node.id for node in ast.walk(ast.parse(line.largest)) if isinstance(node, ast.Name)}
    names = sorted(used & set(SIZES))
    values = [
        [size for size in (*_SMALL_SIZES, SIZES[name][1]) if size <= SIZES[name][1]]
        for name in names
    ]
    known = {"__builtins__": {}, **_FUNCTIONS, **CONSTANTS}
    return max(
        eval(line.largest, known, dict(zip(names, point, strict=True)))
        for point in product(*values)
    )


def page() -> str:
    """Return the page."""
    sizes = "\n".join(
        f"| {name} | {what} | {_shown(most)} |" for name, (what, most) in SIZES.items()
    )
    constants = ", ".join(f"{name} = {_shown(value)}" for name, value in CONSTANTS.items())
    rows = "\n".join(
        f"| `{line.module.removeprefix('interpret_dp/')}`: `{line.function}` | `{_code(line)}` "
        f"| {line.dtype} | {_formula(line)} | {_limit(line)} |"
        for line in lines()
        if line.dtype != "public"
    )
    return f"{HEAD}{sizes}\n\nConstants: {constants}.\n{MIDDLE}{rows}\n{FOOT}"


def _code(line: Line) -> str:
    return line.code.replace("|", "\\|")


def _formula(line: Line) -> str:
    text = f"`{line.largest}`" if line.largest else ""
    return f"{text}{': ' if text and line.reason else ''}{line.reason}"


def _limit(line: Line) -> str:
    most = LIMITS[line.dtype]
    return "none" if most is None else _shown(most)


def _shown(number: float) -> str:
    for offset, text in ((0, ""), (1, " - 1")):
        whole = int(number) + offset if number == int(number) else 0
        if whole > 1000 and whole & (whole - 1) == 0:
            return f"2^{whole.bit_length() - 1}{text}"
    return f"{number:,}" if isinstance(number, int) else f"{number:.3g}"


HEAD = """# Arithmetic of rows

Written by `python -m scripts.arithmetic_table`. A bound on what a row adds holds only if no sum,
product or cast on the way leaves its type: NumPy wraps integers around without a word. So each such
expression over private rows has a line here. `scripts/arithmetic.toml` declares its type and its
largest value, as a formula of public sizes. Expressions come from the source: a test fails for one
without a line, and for a line without one. Modules and functions that see public numbers alone have
no line; the same file names each, with the reason.

- **Within a row** nothing leaves its type. Values are cut first, or the row becomes a row of zeros
  if one is not finite.
- **Over rows** integers are added up. What would leave 64 bits wraps around ("int64, modulo"), and
  so does the noise: the noisy sum is a function of the true one. Floats add up only whole numbers
  below 2^53 ("float64, whole"), which is exact in any order.
- **Choices** by the size of a sum need sums that do not wrap: those of a table of fewer than 2^43
  rows.
- **Floats** ("float64", "float32") are used within a row where their rounding is allowed for; the
  limit is that of infinity.

| size | of | at most |
|---|---|---|
"""
MIDDLE = """
| where | expression | type | largest value | limit |
|---|---|---|---|---|
"""
FOOT = """
## What is checked by tests

| claim | test |
|---|---|
| this page is that of the source; formulas are below their limits at all public sizes | \
`tests/docs/test_arithmetic.py` |
| rows at their extremes add what Python's integers say | `tests/contract/test_extreme_rows.py` |
"""


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
