"""Rules of the architecture that no linter knows; each yields "module:line: what is wrong".

Which part may import which, the home of each library and of randomness, and that files are never
run, are rules of import-linter and ruff in pyproject.toml.
"""

import ast
import re

from scripts.size import code_lines

MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 75

PUBLIC_ROOMS = {"released", "explanation", "editor", "ui"}
# The modules of `schema` that see declarations alone; the others open tables.
DECLARING_MODULES = {"schema"} | {f"schema.{name}" for name in ("declarations", "schema")}
_ROW_ROOMS = {
    *("mechanisms", "backends", "release", "audit", "fitting", "ebm", "evaluation", "llm", "lime"),
}

RANDOMNESS_HOMES = {"mechanisms", "datasets"}
# Methods that draw numbers whatever object they are called on.
_DRAWING_METHODS = {
    *("branch_rng", "create_rng", "exponential_", "generate_gaussian_random", "generate_seed"),
    *("normal_", "random_", "rvs", "uniform_"),
}


def _at(module, line, message):
    return f"{module.name}:{line}: {message}"


def _below(name, module_or_room):
    return name == module_or_room or name.startswith(f"{module_or_room}.")


def _inner(tree, module_name):
    return module_name.removeprefix(tree.name).removeprefix(".")


def only_mechanisms_call_methods_that_draw(tree):
    """Yield calls of methods that draw; ruff sees the functions and modules that draw."""
    for module in tree.modules.values():
        if module.room in RANDOMNESS_HOMES:
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and node.attr in _DRAWING_METHODS:
                yield _at(module, node.lineno, f"calls .{node.attr}")


def _touches_rows(tree, name):
    place = _inner(tree, name)
    if _below(place, "schema"):
        return place not in DECLARING_MODULES
    return place.split(".")[0] in _ROW_ROOMS


def public_rooms_never_touch_rows(tree):
    """Yield public modules that name, or load by being imported, a module that touches rows."""
    for module in tree.modules.values():
        if module.room not in PUBLIC_ROOMS:
            continue
        for entry, origin in tree.internal_imports[module.name]:
            if _touches_rows(tree, origin):
                yield _at(module, entry.line, f"imports {origin}, which touches rows")
        for loaded in sorted(tree.loaded_by(module.name)):
            if _touches_rows(tree, loaded):
                yield _at(module, 1, f"loads {loaded}, which touches rows")


def modules_and_functions_are_short(tree):
    """Yield modules of more than 500 lines of code, and functions of more than 75."""
    for module in tree.modules.values():
        lines = code_lines(module.path.read_text(encoding="utf-8"))
        if lines > MAX_MODULE_LINES:
            yield _at(module, 1, f"{lines} lines of code; at most {MAX_MODULE_LINES}")
        for node in ast.walk(module.tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                docstring = node.body[0]
                length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield _at(
                    module,
                    node.lineno,
                    f"{node.name} has {length} lines; at most {MAX_FUNCTION_LINES}",
                )


def mechanisms_have_proof_pages(tree, proofs):
    """Yield mechanism modules no proof page names, and pages that name a missing module.

    A page names a module by its path, as ``interpret_dp/mechanisms/additive.py``.
    """
    pages = {page: page.read_text(encoding="utf-8") for page in sorted(proofs.glob("*.md"))}
    for module in tree.modules.values():
        if module.room == "mechanisms" and not module.is_package:
            path = module.name.replace(".", "/") + ".py"
            if not any(path in text for text in pages.values()):
                yield _at(module, 1, f"no page in docs/proofs names {path}")
    for page, text in pages.items():
        for path in sorted(set(re.findall(rf"{tree.name}/[\w/]+\.py", text))):
            if path.removesuffix(".py").replace("/", ".") not in tree.modules:
                yield f"{page.name}: names {path}, which does not exist"
