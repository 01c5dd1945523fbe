"""The rules of the architecture; each yields what breaks it, as "module:line: what is wrong"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import Module, SourceTree

MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 75

_BASE = {
    "exceptions",
    "_documents",
    "_figures",
    "_interpret",
    "_notebook",
    "_validate",
    "_optional",
    "_version",
}
_PUBLIC = {"accounting", "schema", "released", "explanation", "editor"}
_PRIVATE = {"accounting", "schema", "ledger", "mechanisms", "backends", "release"}
_TRAINERS = _PUBLIC | _PRIVATE
_EXPLAINERS = {"fitting", "ebm", "llm", "lime", "tune"}
_ALL_BELOW_CLI = _TRAINERS | _EXPLAINERS | {"audit", "dashboard", "datasets"}

# What each room may import besides itself and the base.
ALLOWED: dict[str, set[str]] = {
    **{room: set() for room in _BASE},
    "accounting": set(),
    "schema": set(),
    "ledger": {"accounting"},
    "mechanisms": {"accounting", "schema"},
    "backends": {"accounting", "schema"},
    "release": {"ledger", "mechanisms", "backends", "accounting", "schema"},
    "released": {"accounting", "schema"},
    "explanation": {"released", "accounting", "schema"},
    "editor": {"explanation", "released", "accounting", "schema"},
    "fitting": _TRAINERS,
    "ebm": _TRAINERS | {"fitting"},
    "llm": _TRAINERS | {"fitting", "ebm"},
    "lime": _TRAINERS | {"fitting", "ebm"},
    "tune": _TRAINERS | {"fitting", "ebm"},
    "datasets": {"schema"},
    "audit": _TRAINERS | _EXPLAINERS | {"datasets"},
    "dashboard": _PUBLIC | {"ledger"},
    "cli": _ALL_BELOW_CLI,
    "__main__": {"cli"},
    "__init__": _ALL_BELOW_CLI | {"cli"},
}

# Where each library may be imported: a room, or one module of it.
HOMES: dict[str, set[str]] = {
    "torch": {"llm"},
    "opacus": {"llm"},
    "dask": {"backends.dask"},
    "distributed": {"backends.dask"},
    "dash": {"dashboard"},
    "dash_cytoscape": {"dashboard"},
    "ipywidgets": {"editor.notebook", "editor.notebook_controls"},
    "anywidget": {"editor.notebook"},
    "opendp": {"mechanisms"},
    "sqlalchemy": {"ledger"},
}

PUBLIC_ROOMS = {"released", "explanation", "editor", "dashboard"}
# The modules of `schema` that see declarations alone; the others open tables.
DECLARING_MODULES = {
    "schema",
    "schema.arguments",
    "schema.declarations",
    "schema.document",
    "schema.schema",
}
_ROW_ROOMS = {"mechanisms", "backends", "release", "audit"} | _EXPLAINERS

RANDOMNESS_HOMES = {"mechanisms", "datasets"}
_RANDOM_NAMES = re.compile(
    r"^(numpy\.random|random|secrets|opendp|os\.(urandom|getrandom)"
    r"|torch\.(rand\w*|normal|bernoulli|multinomial|poisson|Generator|manual_seed|distributions)"
    r"|sklearn\.utils\.(check_random_state|shuffle|resample)"
    r"|scipy\.stats\.qmc)(\.|$)"
)
_GENERATOR_TYPE = "numpy.random.Generator"
# Methods that draw numbers whatever object they are called on.
_DRAWING_METHODS = {
    "branch_rng",
    "create_rng",
    "exponential_",
    "generate_gaussian_random",
    "generate_seed",
    "normal_",
    "random_",
    "rvs",
    "uniform_",
}

# What runs code that a file holds, or reads JSON in which a changed byte may go unseen.
_RUNS_FILES = re.compile(
    r"^(pickle\.(load|loads|Unpickler)|joblib\.load|numpy\.(load|fromfile|memmap)|torch\.load"
    r"|pandas\.(read_pickle|read_hdf)|yaml\.\w*load\w*|eval|exec|runpy\.\w+"
    r"|(cloudpickle|dill|shelve|marshal|skops)(\..*)?)$"
)
_LAX_JSON = {"json.load", "json.loads", "json.JSONDecoder"}
JSON_HOME = "_documents"


def _at(module: Module, line: int, message: str) -> str:
    return f"{module.name}:{line}: {message}"


def _below(name: str, module_or_room: str) -> bool:
    return name == module_or_room or name.startswith(f"{module_or_room}.")


def _inner(tree: SourceTree, module_name: str) -> str:
    return module_name.removeprefix(tree.name).removeprefix(".")


def imports_point_down(tree: SourceTree) -> Iterator[str]:
    """Yield imports between rooms that the architecture does not allow."""
    for module in tree.modules.values():
        if module.room not in ALLOWED:
            yield _at(module, 1, f"the room {module.room!r} has no place in the architecture")
            continue
        allowed = ALLOWED[module.room] | _BASE | {module.room}
        if module.room in _BASE:
            allowed = _BASE
        for entry, origin in tree.internal_imports(module):
            room = tree.modules[origin].room
            if room not in allowed:
                yield _at(module, entry.line, f"{module.room} must not import {room}")


def libraries_stay_at_home(tree: SourceTree) -> Iterator[str]:
    """Yield imports of a library outside the rooms that may use it."""
    for module in tree.modules.values():
        place = _inner(tree, module.name)
        for entry in module.imports:
            homes = HOMES.get(entry.target.split(".")[0])
            if homes is not None and not any(_below(place, home) for home in homes):
                library = entry.target.split(".")[0]
                yield _at(module, entry.line, f"{library} belongs in {', '.join(sorted(homes))}")


def randomness_stays_in_mechanisms(tree: SourceTree) -> Iterator[str]:
    """Yield every use of a source of randomness outside the rooms that may draw.

    A generator that ``mechanisms`` made may be handed on: to name its type is no breach, to make
    one is.
    """
    for module in tree.modules.values():
        if module.room in RANDOMNESS_HOMES:
            continue
        for entry in module.imports:
            if _RANDOM_NAMES.match(entry.target) and entry.target != _GENERATOR_TYPE:
                yield _at(module, entry.line, f"imports {entry.target}")
        called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
        # Each longest chain a.b.c once: its beginning a.b is an attribute of the tree as well.
        inner = {
            id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)
        }
        for node in ast.walk(module.tree):
            if not isinstance(node, (ast.Attribute, ast.Name)) or id(node) in inner:
                continue
            dotted = module.dotted(node)
            if dotted == _GENERATOR_TYPE and id(node) not in called:
                continue
            if isinstance(node, ast.Attribute) and node.attr in _DRAWING_METHODS:
                yield _at(module, node.lineno, f"calls .{node.attr}")
            elif dotted is not None and "." in dotted and _RANDOM_NAMES.match(dotted):
                yield _at(module, node.lineno, f"uses {dotted}")


def files_are_read_and_never_run(tree: SourceTree) -> Iterator[str]:
    """Yield every name that unpickles or runs a file, and JSON that is not read strictly."""
    for module in tree.modules.values():
        for entry in module.imports:
            if _RUNS_FILES.match(entry.target):
                yield _at(module, entry.line, f"imports {entry.target}")
        for node in ast.walk(module.tree):
            dotted = module.dotted(node) if isinstance(node, (ast.Attribute, ast.Name)) else None
            if dotted is None:
                continue
            if _RUNS_FILES.match(dotted):
                yield _at(module, node.lineno, f"uses {dotted}")
            elif dotted in _LAX_JSON and module.room != JSON_HOME:
                yield _at(module, node.lineno, f"uses {dotted}; {JSON_HOME} reads JSON")


def _touches_rows(tree: SourceTree, name: str) -> bool:
    place = _inner(tree, name)
    if _below(place, "schema"):
        return place not in DECLARING_MODULES
    return place.split(".")[0] in _ROW_ROOMS


def public_rooms_never_touch_rows(tree: SourceTree) -> Iterator[str]:
    """Yield public modules that name, or load by being imported, a module that touches rows."""
    for module in tree.modules.values():
        if module.room not in PUBLIC_ROOMS:
            continue
        for entry, origin in tree.internal_imports(module):
            if _touches_rows(tree, origin):
                yield _at(module, entry.line, f"imports {origin}, which touches rows")
        for loaded in sorted(tree.loaded_by(module.name)):
            if _touches_rows(tree, loaded):
                yield _at(module, 1, f"loads {loaded}, which touches rows")


def modules_and_functions_are_short(tree: SourceTree) -> Iterator[str]:
    """Yield modules of more than 500 lines, and functions of more than 75 without docstring."""
    for module in tree.modules.values():
        lines = len(module.path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_MODULE_LINES:
            yield _at(module, 1, f"{lines} lines; at most {MAX_MODULE_LINES}")
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


def mechanisms_have_proof_pages(tree: SourceTree, proofs: Path) -> Iterator[str]:
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
