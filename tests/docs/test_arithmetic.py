"""Every sum, product and cast of private rows has a line with a bound, and the bounds hold."""

import ast

import pytest

from scripts import arithmetic_table as facts

LINES = facts.lines()


def differences(module, source):
    """Return what a module computes without a line, and the lines that nothing computes."""
    own = [line for line in LINES if line.module == module]
    public = {line.function for line in own if line.code == "*"}
    found = {found for found in facts.expressions(ast.parse(source)) if found[0] not in public}
    return found ^ {(line.function, line.code) for line in own if line.code != "*"}


@pytest.mark.parametrize("module", facts.modules())
def test_each_expression_has_a_line_and_each_line_an_expression(module):
    source = (facts.ROOT / module).read_text(encoding="utf-8")
    assert not differences(module, source)
    functions = {name for name, _ in facts.expressions(ast.parse(source))}
    assert {line.function for line in LINES if line.module == module} <= functions


EXPRESSIONS = [
    *("np.square(rows)", "rows * rows", "rows ** 2", "rows @ rows.T", "np.dot(rows, rows)"),
    *("np.einsum('ij,ij->i', rows, rows)", "rows.sum()", "np.cumsum(rows)", "np.int64(rows)"),
    *("rows.astype(np.int32)", "rows.view(np.int8)", "rows *= rows", "total += rows"),
    "codes[rows] = found",
]


@pytest.mark.parametrize("added", EXPRESSIONS)
def test_an_expression_more_is_found(added):
    source = f"class New:\n    def total(self, rows):\n        {added}\n"
    assert differences("interpret_dp/backends/new.py", source) == {("New.total", added)}


def test_a_new_module_that_reads_rows_is_covered(monkeypatch, tmp_path):
    monkeypatch.setattr(facts, "ROOT", tmp_path)
    for reader in facts.READERS:
        folder = tmp_path / reader.removesuffix(".py")
        folder.mkdir(parents=True)
        (folder / "new.py").touch()
    expected = {f"{reader}/new.py" for reader in facts.READERS if not reader.endswith(".py")}
    assert expected <= set(facts.modules())


@pytest.mark.parametrize("line", [one for one in LINES if one.largest], ids=lambda one: one.code)
def test_no_value_leaves_its_type_at_any_public_size(line):
    limit = facts.LIMITS[line.dtype]
    assert limit is None or facts.largest(line) <= limit


def test_control_the_squares_that_left_64_bits():
    cut = facts.Line("features.py", "_lattice_sums", "", "int64", "d * (16 * L)**2")
    assert facts.largest(cut) > facts.LIMITS[cut.dtype]


def test_lines_are_of_modules_that_exist_and_say_why():
    assert {line.module for line in LINES} <= set(facts.modules())
    assert all(one.largest or one.reason or one.dtype in ("public", "Python") for one in LINES)


def test_page_is_that_of_the_source():
    found = facts.PAGE.read_text(encoding="utf-8")
    assert found == facts.page(), "run python -m scripts.arithmetic_table"
