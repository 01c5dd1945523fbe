"""Every sum, product and cast of private rows has a line with a bound, and the bounds hold."""

import ast

import pytest

from scripts.arithmetic_table import LIMITS, PAGE, ROOT, expressions, largest, lines, modules, page

LINES = lines()


def differences(module, source):
    """Return what a module computes without a line, and the lines that nothing computes."""
    own = [line for line in LINES if line.module == module]
    public = {line.function for line in own if line.code == "*"}
    found = {(name, code) for name, code in expressions(ast.parse(source)) if name not in public}
    return found ^ {(line.function, line.code) for line in own if line.code != "*"}


def sources():
    return [(module, (ROOT / module).read_text(encoding="utf-8")) for module in modules()]


@pytest.mark.parametrize(("module", "source"), sources(), ids=modules())
def test_each_expression_has_a_line_and_each_line_an_expression(module, source):
    assert not differences(module, source)
    functions = {name for name, _ in expressions(ast.parse(source))}
    assert {line.function for line in LINES if line.module == module} <= functions


def test_lines_are_of_modules_that_exist():
    assert {line.module for line in LINES} <= set(modules())


@pytest.mark.parametrize(
    "added",
    [
        "np.square(rows)",
        "rows * rows",
        "rows ** 2",
        "rows @ rows.T",
        "np.dot(rows, rows)",
        "np.einsum('ij,ij->i', rows, rows)",
        "rows.sum()",
        "np.cumsum(rows)",
        "rows.astype(np.int32)",
        "np.int64(rows)",
        "rows.view(np.int8)",
    ],
)
def test_an_expression_more_is_found(added):
    source = f"class New:\n    def total(self, rows):\n        return [{added}]\n"
    assert differences("interpret_dp/backends/new.py", source) == {("New.total", added)}


def test_a_new_module_that_reads_rows_is_covered():
    path = ROOT / "interpret_dp" / "llm" / "features.py"
    assert path.relative_to(ROOT).as_posix() in modules()
    folders = {module.split("/")[1] for module in modules()}
    assert {"backends", "ebm", "fitting", "lime", "llm", "mechanisms", "schema"} <= folders


@pytest.mark.parametrize("line", [line for line in LINES if line.largest], ids=lambda one: one.code)
def test_no_value_leaves_its_type_at_any_public_size(line):
    limit = LIMITS[line.dtype]
    assert limit is None or largest(line) <= limit


def test_a_line_without_a_formula_says_why():
    assert all(one.largest or one.reason or one.dtype in ("public", "Python") for one in LINES)


def test_page_is_that_of_the_source():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m scripts.arithmetic_table"
