"""Reads a package's syntax trees: its modules, what each imports, and where names come from."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_IMPORTING_CALLS = {"import_module", "__import__", "import_optional"}


@dataclass(frozen=True)
class Import:
    """One imported module, or ``module.name`` of a from-import, by its full dotted name."""

    target: str
    line: int
    runs_at_import: bool
    """False inside functions and under TYPE_CHECKING."""


@dataclass(frozen=True)
class Module:
    """A parsed module of the package."""

    name: str
    path: Path
    is_package: bool
    tree: ast.Module

    @property
    def room(self):
        """Return the part directly under the package: "ebm" for ``interpret_dp.ebm.estimators``."""
        return [*self.name.split("."), "__init__"][1]

    @cached_property
    def imports(self):
        """Return all imports, relative ones resolved, lazy ones and those for typing included."""
        return tuple(self._walk(self.tree, runs_at_import=True))

    def _walk(self, node, runs_at_import):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            runs_at_import = False
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from self._walk(child, runs_at_import=False)
            for child in node.orelse:
                yield from self._walk(child, runs_at_import)
            return
        for target in self._targets(node):
            yield Import(target, getattr(node, "lineno", 0), runs_at_import)
        for child in ast.iter_child_nodes(node):
            yield from self._walk(child, runs_at_import)

    def _targets(self, node):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = self._absolute(node)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and ast.unparse(node.func).rsplit(".", 1)[-1] in _IMPORTING_CALLS
        ):
            yield str(node.args[0].value)

    def _absolute(self, node):
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])

    @cached_property
    def aliases(self):
        """Return what each imported name stands for: ``{"np": "numpy"}``."""
        known = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    root = alias.name.split(".")[0]
                    known[alias.asname or root] = alias.name if alias.asname else root
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                for alias in node.names:
                    known[alias.asname or alias.name] = f"{base}.{alias.name}"
        return known


class SourceTree:
    """All modules of one package.

    Parameters
    ----------
    folder : Path
        The package's folder, whose name is the package's name.
    """

    def __init__(self, folder):
        self.name = folder.name
        self.modules = {}
        for path in sorted(folder.rglob("*.py")):
            parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
            self.modules[name] = Module(name, path, is_package, tree)

    def origin(self, target):
        """Return the module of this package that an imported name comes from, None for others'.

        A name that a package passes on, lazily or not, comes from the module that defines it.
        """
        if target.split(".")[0] != self.name:
            return None
        seen = set()
        while target not in self.modules and target not in seen:
            seen.add(target)
            parent, _, name = target.rpartition(".")
            module = self.modules.get(parent)
            if module is None:
                target = parent
            else:
                passed_on = module.aliases.get(name, "")
                target = passed_on if passed_on.split(".")[0] == self.name else parent
        return target if target in self.modules else None

    @cached_property
    def internal_imports(self):
        """Return for each module the imports that lead to another one of this package, with it."""
        found = {
            name: [(entry, self.origin(entry.target)) for entry in module.imports]
            for name, module in self.modules.items()
        }
        return {
            name: [(entry, origin) for entry, origin in entries if origin not in (None, name)]
            for name, entries in found.items()
        }

    def loaded_by(self, name):
        """Return the modules of this package that importing one of them runs, itself included."""
        loaded = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in loaded or current not in self.modules:
                continue
            loaded.add(current)
            parent = current.rpartition(".")[0]
            if parent:
                waiting.append(parent)
            for entry, origin in self.internal_imports[current]:
                if entry.runs_at_import:
                    waiting.append(origin)
        return loaded
